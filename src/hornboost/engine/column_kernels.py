"""Numba kernels over conditions on one row an example, and nothing else.

An example has one value of each column, or none, so that one number tells all conditions on the column that it
satisfies: its *slot*. The slots of a numeric column are its `>=` thresholds, by falling value, then `is missing`; those
of a nominal one its values and `is missing`. One more slot stands for none of these.

`bases` is where the slots of each column begin and all of them end, `firsts` the first condition on each, and
`n_thresholds` how many thresholds it has in each direction.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hornboost.engine.key_kernels import Codes, Int, Longs, Mask
from hornboost.jit import jit

SlotNumbers = NDArray[np.uint16]


@jit
def slots_of(
    segment_end: Longs, pairs: Codes, bases: Longs, firsts: Longs, n_thresholds: Longs, slots: SlotNumbers
) -> bool:
    """Fill in the slot of each example, a row, in each column; False where an example has more than one value.

    An example's pairs come column after column. Of a number there are two: the tightest thresholds in both directions.
    """
    n_columns = firsts.size
    begin = 0
    for who in range(segment_end.size):
        for column in range(n_columns):
            slots[who, column] = bases[column + 1] - bases[column] - 1
        column = 0
        for p in range(begin, segment_end[who]):
            while column + 1 < n_columns and pairs[p] >= firsts[column + 1]:
                column += 1
            place, n = pairs[p] - firsts[column], n_thresholds[column]
            if n <= place < 2 * n:
                if slots[who, column] != 2 * n - 1 - place:
                    return False
                continue
            if slots[who, column] != bases[column + 1] - bases[column] - 1:
                return False
            slots[who, column] = place if place < n else place - n
        begin = segment_end[who]
    return True


@jit
def add_channels(
    lo: Int, hi: Int, slots: SlotNumbers, bases: Longs, channels: Longs, covered: Mask, table: Longs
) -> None:
    """Add each covered example's signed numbers, a column a channel, to its slot of every column; examples lo..hi."""
    n_channels, n_columns = np.uint64(channels.shape[1]), np.uint64(slots.shape[1])
    cells = table.reshape(-1)
    for who in range(np.uint64(lo), np.uint64(hi)):  # unsigned: no index counts from the end
        if not covered[who]:
            continue
        if n_channels == 2:  # the common case without the inner loop
            first, second = channels[who, 0], channels[who, 1]
            if first != 0 or second != 0:
                for column in range(n_columns):
                    at = (np.uint64(bases[column]) + np.uint64(slots[who, column])) * np.uint64(2)
                    cells[at] += first
                    cells[at + np.uint64(1)] += second
            continue
        for column in range(n_columns):
            at = (np.uint64(bases[column]) + np.uint64(slots[who, column])) * n_channels
            for k in range(n_channels):
                cells[at + k] += channels[who, k]


@jit
def add_weights(
    lo: Int, hi: Int, slots: SlotNumbers, bases: Longs, weights: Longs, covered: Mask, classes: Codes, table: Longs
) -> None:
    """Add the weight of each covered example to its slot of every column, by class; examples lo..hi."""
    n_classes, n_columns = np.uint64(table.shape[1]), np.uint64(slots.shape[1])
    cells = table.reshape(-1)
    for who in range(np.uint64(lo), np.uint64(hi)):
        weight = weights[who] * np.int64(covered[who])
        if weight != 0:
            label = np.uint64(classes[who])
            for column in range(n_columns):
                at = np.uint64(bases[column]) + np.uint64(slots[who, column])
                cells[at * n_classes + label] += weight


@jit
def put(table: Longs, bases: Longs, firsts: Longs, n_thresholds: Longs, out: Longs, whole: bool) -> None:
    """Add the sums by slot to those by condition; of thresholds to all that hold if `whole`, or to the tightest one."""
    for column in range(firsts.size):
        base, first, n = bases[column], firsts[column], n_thresholds[column]
        for k in range(table.shape[1]):
            total = np.int64(0)
            for slot in range(n):
                total = table[base + slot, k] + (total if whole else 0)
                out[first + slot, k] += total
            total = np.int64(0)
            for slot in range(n - 1, -1, -1):
                total = table[base + slot, k] + (total if whole else 0)
                out[first + 2 * n - 1 - slot, k] += total
            for slot in range(n, bases[column + 1] - base - 1):
                out[first + n + slot, k] += table[base + slot, k]


@jit
def sum_up(
    slots: SlotNumbers,
    bases: Longs,
    firsts: Longs,
    n_thresholds: Longs,
    channels: Longs,
    covered: Mask,
    out: Longs,
    whole: bool,
) -> None:
    """`add_channels` of all examples and `put` in one call."""
    table = np.zeros((bases[-1], out.shape[1]), np.int64)
    add_channels(np.int64(0), np.int64(slots.shape[0]), slots, bases, channels, covered, table)
    put(table, bases, firsts, n_thresholds, out, whole)


@jit
def weigh(
    slots: SlotNumbers,
    bases: Longs,
    firsts: Longs,
    n_thresholds: Longs,
    weights: Longs,
    covered: Mask,
    classes: Codes,
    out: Longs,
    whole: bool,
) -> None:
    """`add_weights` of all examples and `put` in one call."""
    table = np.zeros((bases[-1], out.shape[1]), np.int64)
    add_weights(np.int64(0), np.int64(slots.shape[0]), slots, bases, weights, covered, classes, table)
    put(table, bases, firsts, n_thresholds, out, whole)
