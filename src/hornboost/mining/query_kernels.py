"""Compiled loops of query mining: from the bindings of a query to the coverage of all of its refinements.

A pass writes `hits[example, condition]` and adds each newly covered example to `support[class, condition]`; condition 0 is the
bare literal.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray


class Shape(NamedTuple):
    """A literal that may be added: rows of the index under each binding's `code`, with these demands on their keys.

    `assigned[k]` is the variable in key column k or -1 for a new one, `differ[k, v]` whether it must not equal variable v, and `apart`
    lists pairs of key columns that hold distinct new variables.
    """

    code: NDArray[np.int32]
    offsets: NDArray[np.int64]
    rows: NDArray[np.int32]
    keys: NDArray[np.int32]
    assigned: NDArray[np.int64]
    differ: NDArray[np.bool_]
    apart: NDArray[np.int64]


class Tally(NamedTuple):
    """Where a pass counts: attribute codes with the first condition of each, the examples' classes and weights, and what is found."""

    codes: NDArray[np.int32]
    starts: NDArray[np.int64]
    classes: NDArray[np.int32]
    weights: NDArray[np.float64]
    hits: NDArray[np.bool_]
    support: NDArray[np.float64]


@njit(nogil=True, cache=True, inline="always")
def _fits(shape, variables, b, row):  # type: ignore[no-untyped-def]
    for k in range(shape.keys.shape[1]):
        value = shape.keys[row, k]
        v = shape.assigned[k]
        if v >= 0:
            if value < 0 or value != variables[b, v]:
                return False
        else:
            for other in range(variables.shape[1]):
                if shape.differ[k, other] and (value < 0 or variables[b, other] < 0 or value == variables[b, other]):
                    return False
    for p in range(shape.apart.shape[0]):
        one, other = shape.keys[row, shape.apart[p, 0]], shape.keys[row, shape.apart[p, 1]]
        if one < 0 or other < 0 or one == other:
            return False
    return True


@njit(nogil=True, cache=True, inline="always")
def _count(tally, e, row):  # type: ignore[no-untyped-def]
    for a in range(tally.starts.size):
        code = tally.codes[a, row]
        if code >= 0:
            condition = tally.starts[a] + code
            if not tally.hits[e, condition]:
                tally.hits[e, condition] = True
                tally.support[tally.classes[e], condition] += tally.weights[e]


@njit(nogil=True, cache=True)
def count_reached(code: NDArray[np.int32], offsets: NDArray[np.int64]) -> int:
    """The rows that a join reaches from all bindings."""
    total = 0
    for c in code:
        if 0 <= c < offsets.size - 1:
            total += offsets[c + 1] - offsets[c]
    return total


@njit(nogil=True, cache=True)
def count_literal(example: NDArray[np.int32], variables: NDArray[np.int32], shape: Shape, tally: Tally) -> None:
    """Count a new literal, bare and with each of its conditions; where it brings no variable, like bindings in a row are asked once."""
    closed = shape.assigned.min() >= 0
    for b in range(example.size):
        if closed and b > 0 and example[b] == example[b - 1]:
            same = True
            for v in shape.assigned:
                same = same and variables[b, v] == variables[b - 1, v]
            if same:
                continue
        c = shape.code[b]
        if c < 0 or c >= shape.offsets.size - 1:
            continue
        e = example[b]
        for at in range(shape.offsets[c], shape.offsets[c + 1]):
            row = shape.rows[at]
            if _fits(shape, variables, b, row):
                if not tally.hits[e, 0]:
                    tally.hits[e, 0] = True
                    tally.support[tally.classes[e], 0] += tally.weights[e]
                _count(tally, e, row)


@njit(nogil=True, cache=True)
def count_tests(example: NDArray[np.int32], rows: NDArray[np.int32], tally: Tally) -> None:
    """Count each further condition on a literal that is bound to `rows`."""
    for b in range(example.size):
        _count(tally, example[b], rows[b])


@njit(nogil=True, cache=True)
def extend(
    example: NDArray[np.int32], variables: NDArray[np.int32], shape: Shape, wanted: NDArray[np.int32], code: int
) -> tuple[NDArray[np.int32], NDArray[np.int32]]:
    """The bindings that a new literal gives: which earlier one each continues, and its row; `wanted` is a column to be `code`, or empty."""
    total = 0
    for b in range(example.size):
        c = shape.code[b]
        if 0 <= c < shape.offsets.size - 1:
            for at in range(shape.offsets[c], shape.offsets[c + 1]):
                row = shape.rows[at]
                if (wanted.size == 0 or wanted[row] == code) and _fits(shape, variables, b, row):
                    total += 1
    up, found = np.empty(total, np.int32), np.empty(total, np.int32)
    n = 0
    for b in range(example.size):
        c = shape.code[b]
        if 0 <= c < shape.offsets.size - 1:
            for at in range(shape.offsets[c], shape.offsets[c + 1]):
                row = shape.rows[at]
                if (wanted.size == 0 or wanted[row] == code) and _fits(shape, variables, b, row):
                    up[n], found[n] = b, row
                    n += 1
    return up, found
