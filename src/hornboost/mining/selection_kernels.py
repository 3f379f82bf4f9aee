"""Compiled loops of the mutual-information selection: one pass over the candidates for one chosen column."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hornboost.exact.compiled import exp, log
from hornboost.jit import inner, jit

_PAIRS = np.uint64(0x5555555555555555)
_NIBBLES = np.uint64(0x3333333333333333)
_BYTES = np.uint64(0x0F0F0F0F0F0F0F0F)
_COUNT = np.uint64(0x7F)
_ONE, _TWO, _FOUR, _EIGHT, _SIXTEEN, _THIRTY_TWO = (np.uint64(shift) for shift in (1, 2, 4, 8, 16, 32))


@inner
def _popcount(word: np.uint64) -> np.uint64:
    word = word - ((word >> _ONE) & _PAIRS)
    word = (word & _NIBBLES) + ((word >> _TWO) & _NIBBLES)
    word = (word + (word >> _FOUR)) & _BYTES
    word = word + (word >> _EIGHT)
    word = word + (word >> _SIXTEEN)
    word = word + (word >> _THIRTY_TWO)
    return word & _COUNT


@jit
def shared_counts(
    packed: NDArray[np.uint64],
    column: int,
    ends: NDArray[np.int64],
    values: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """out[k] = weight on which both `column` and k are true.

    A bit of the words up to ends[0] weighs values[0], to ends[1] values[1], ….
    """
    for k in range(packed.shape[0]):
        weight = 0.0
        first = 0
        for group in range(ends.size):
            total = np.uint64(0)
            for word in range(first, ends[group]):
                total += _popcount(packed[column, word] & packed[k, word])
            weight += values[group] * total
            first = ends[group]
        out[k] = weight


@jit
def shared_weights(
    packed: NDArray[np.uint64], rows: NDArray[np.int64], weights: NDArray[np.float64], out: NDArray[np.float64]
) -> None:
    """out[k] = weight of those of `rows` on which k is true."""
    for k in range(packed.shape[0]):
        total = 0.0
        for row in rows:
            if (packed[k, row >> 6] >> np.uint64(row & 63)) & _ONE:
                total += weights[row]
        out[k] = total


@jit
def information_with(
    codes: NDArray[np.uint16],
    n_values: NDArray[np.int64],
    other: NDArray[np.uint16],
    n_other: int,
    weights: NDArray[np.float64],
    out: NDArray[np.float64],
) -> None:
    """out[k] = I(k; other) in nats, Di Mauro et al., equation (1); `codes` holds a column a row."""
    table = np.empty((n_values.max(), n_other))
    for k in range(codes.shape[0]):
        used = table[: n_values[k]]
        used[:] = 0.0
        for row in range(codes.shape[1]):
            used[codes[k, row], other[row]] += weights[row]
        by_value = used.sum(axis=1)
        by_other = used.sum(axis=0)
        total = by_value.sum()
        information = 0.0
        for value in range(used.shape[0]):
            for against in range(n_other):
                joint = used[value, against]
                if joint > 0.0:
                    information += joint * log(joint * total / (by_value[value] * by_other[against]))
        out[k] = max(information / total, 0.0)


@jit
def best_prefix(
    codes: NDArray[Any],
    n_values: NDArray[np.int64],
    classes: NDArray[np.int64],
    weights: NDArray[np.float64],
    by_class: NDArray[np.float64],
) -> tuple[int, float, float]:
    """How many of the columns, two or more where there are,
    leave the smallest error and then the smallest log-loss, and both of these.

    Counted with Laplace 1 on these rows. The loss is rounded: the order of summation must not tell equal sets apart.
    """
    cells = np.empty((n_values.max(), by_class.size))
    g = np.empty((codes.shape[1], by_class.size))
    total = by_class.sum()
    for c in range(by_class.size):
        g[:, c] = log(by_class[c] / total)
    best, least_error, least_loss = 0, np.inf, np.inf
    for k in range(codes.shape[0]):
        likely = cells[: n_values[k]]
        likely[:] = 1.0
        for row in range(codes.shape[1]):
            likely[codes[k, row], classes[row]] += weights[row]
        for c in range(by_class.size):
            for value in range(n_values[k]):
                likely[value, c] = log(likely[value, c] / (by_class[c] + n_values[k]))
        error = 0.0
        for row in range(codes.shape[1]):
            first = 0
            for c in range(by_class.size):
                g[row, c] += likely[codes[k, row], c]
                if g[row, c] > g[row, first]:
                    first = c
            if first != classes[row]:
                error += weights[row]
        if error > least_error or (k == 0 and codes.shape[0] > 1):
            continue
        loss = 0.0
        for row in range(codes.shape[1]):
            most = g[row].max()
            likelihood = 0.0
            for c in range(by_class.size):
                likelihood += exp(g[row, c] - most)
            loss += weights[row] * (log(likelihood) + most - g[row, classes[row]])
        loss = round(loss, 9)
        if error < least_error or loss < least_loss:
            best, least_error, least_loss = k + 1, error, loss
    return best, least_error, least_loss
