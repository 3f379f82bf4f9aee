"""Compiled loops of query mining: from sets of bits, the conditions that examples reach, to supports and coverage.

A word has 64 conditions; those of a family are counted slot by slot (see `query_kernels`).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hornboost.jit import inner, jit
from hornboost.mining.row_kernels import Codes, Words

_FIRST_BIT = np.empty(64, np.int64)
_FIRST_BIT[[((0x03F79D71B4CB0A89 << k) % (1 << 64)) >> 58 for k in range(64)]] = np.arange(64)
"""The place of a bit by a product whose highest six bits differ for all 64 of them (de Bruijn)."""


@inner
def _first_bit(word: np.uint64) -> tuple[np.uint64, int]:
    """The lowest bit of a word, alone and as a number."""
    lowest = word & (~word + np.uint64(1))
    return lowest, _FIRST_BIT[(lowest * np.uint64(0x03F79D71B4CB0A89)) >> np.uint64(58)]


@jit
def supports(
    reached: Words, n_conditions: int, classes: Codes, weights: NDArray[np.float64], n_classes: int
) -> NDArray[np.float64]:
    """The weight by class of the examples that reach each condition, slot by slot."""
    n_slots, n_examples, width = reached.shape
    support = np.zeros((n_slots * n_conditions, n_classes))
    for slot in range(n_slots):
        for e in range(n_examples):
            for w in range(width):
                left = reached[slot, e, w]
                while left:
                    bit, place = _first_bit(left)
                    left ^= bit
                    support[slot * n_conditions + 64 * w + place, classes[e]] += weights[e]
    return support


@jit
def frequent(support: NDArray[np.float64], thresholds: NDArray[np.float64]) -> NDArray[np.int64]:
    """The conditions whose weight in some class, or in all (the last of `thresholds`), reaches its threshold."""
    found = np.empty(support.shape[0], np.int64)
    n = 0
    for k in range(support.shape[0]):
        total = 0.0
        reached = False
        for c in range(support.shape[1]):
            total += support[k, c]
            reached = reached or support[k, c] >= thresholds[c]
        if total > 0 and (reached or total >= thresholds[-1]):
            found[n] = k
            n += 1
    return found[:n].copy()


@jit
def hits(reached: Words, n_conditions: int, found: NDArray[np.int64]) -> NDArray[np.uint8]:
    """The examples that reach some conditions, as bits; the conditions are counted slot by slot."""
    n_examples = reached.shape[1]
    out = np.zeros((found.size, (n_examples + 7) // 8), np.uint8)
    for k in range(found.size):
        slot, condition = found[k] // n_conditions, found[k] % n_conditions
        w, bit = condition >> 6, np.uint64(1) << np.uint64(condition & 63)
        for e in range(n_examples):
            if reached[slot, e, w] & bit:
                out[k, e >> 3] |= np.uint8(128 >> (e & 7))
    return out


@jit
def by_slot(found: NDArray[np.int64], n_conditions: int, n_slots: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where the conditions of each slot start, and the last ones end, and which they are; `found` counts them slot by
    slot.
    """
    starts = np.zeros(n_slots + 1, np.int64)
    for k in range(found.size):
        starts[found[k] // n_conditions + 1] += 1
    return np.cumsum(starts), found % n_conditions


@jit
def tally(
    reached: Words,
    n_conditions: int,
    classes: Codes,
    weights: NDArray[np.float64],
    n_classes: int,
    thresholds: NDArray[np.float64],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], NDArray[np.uint8]]:
    """The frequent conditions: where those of each slot start, which they are, their supports, and whom they cover."""
    support = supports(reached, n_conditions, classes, weights, n_classes)
    found = frequent(support, thresholds)
    starts, conditions = by_slot(found, n_conditions, reached.shape[0])
    return starts, conditions, support[found], hits(reached, n_conditions, found)
