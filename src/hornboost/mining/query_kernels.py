"""Compiled loops of query mining: from the bindings of a query to the coverage of all of its refinements.

A pass returns the conditions that are frequent (0 is the bare literal), the support of each by class, and the examples that each holds for
as packed bits. Bindings are sorted by example.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray


class Shape(NamedTuple):
    """A literal that may be added: the rows of an index under a variable of the query, with these demands on their keys.

    `equal` lists pairs (key column, variable) that must also be equal, `differ` those that must not be, `apart` pairs of key columns that
    hold distinct new variables, `fresh` the key columns of new variables, and `used` the variables that matter besides the example's own.
    """

    variable: int
    offsets: NDArray[np.int64]
    rows: NDArray[np.int32]
    keys: NDArray[np.int32]
    equal: NDArray[np.int64]
    differ: NDArray[np.int64]
    apart: NDArray[np.int64]
    fresh: NDArray[np.int64]
    used: NDArray[np.int64]


class Tally(NamedTuple):
    """What a pass counts: the conditions that each row holds (0 for none) out of how many, and the examples' classes and weights.

    A condition is frequent where its weight in some class, or in all (the last of `thresholds`), reaches its threshold.
    """

    held: NDArray[np.int32]
    n_conditions: int
    classes: NDArray[np.int32]
    weights: NDArray[np.float64]
    thresholds: NDArray[np.float64]


Counted = tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.uint8]]


@njit(nogil=True, cache=True, inline="always")
def _fits(keys, equal, differ, apart, variables, b, row):  # type: ignore[no-untyped-def]
    for p in range(equal.shape[0]):
        value = keys[row, equal[p, 0]]
        if value < 0 or value != variables[b, equal[p, 1]]:
            return False
    for p in range(differ.shape[0]):
        value, other = keys[row, differ[p, 0]], variables[b, differ[p, 1]]
        if value < 0 or other < 0 or value == other:
            return False
    for p in range(apart.shape[0]):
        value, other = keys[row, apart[p, 0]], keys[row, apart[p, 1]]
        if value < 0 or other < 0 or value == other:
            return False
    return True


@njit(nogil=True, cache=True, inline="always")
def _is_like_the_one_before(example, variables, b, used):  # type: ignore[no-untyped-def]
    if b == 0 or example[b] != example[b - 1]:
        return False
    for k in range(used.size):  # noqa: SIM110
        if variables[b, used[k]] != variables[b - 1, used[k]]:
            return False
    return True


@njit(nogil=True, cache=True, inline="always")
def _mark(condition, e, c, weight, latest, support, hits):  # type: ignore[no-untyped-def]
    if latest[condition] != e:
        latest[condition] = e
        support[c, condition] += weight
        hits[condition, e >> 3] |= np.uint8(128 >> (e & 7))


@njit(nogil=True, cache=True)
def _frequent(thresholds, support):  # type: ignore[no-untyped-def]
    found = np.empty(support.shape[1], np.int64)
    n = 0
    for condition in range(support.shape[1]):
        total = 0.0
        reached = False
        for c in range(support.shape[0]):
            total += support[c, condition]
            reached = reached or support[c, condition] >= thresholds[c]
        if total > 0 and (reached or total >= thresholds[-1]):
            found[n] = condition
            n += 1
    return found[:n]


@njit(nogil=True, cache=True)
def count_reached(variables: NDArray[np.int32], shape: Shape) -> int:
    """The rows that a join reaches from all bindings."""
    variable, offsets = shape.variable, shape.offsets
    total = 0
    for b in range(variables.shape[0]):
        code = variables[b, variable]
        if 0 <= code < offsets.size - 1:
            total += offsets[code + 1] - offsets[code]
    return total


def count_literal(
    example: NDArray[np.int32], variables: NDArray[np.int32], shape: Shape, tally: Tally, known: NDArray[np.uint16]
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.uint8], NDArray[np.uint16]]:
    """Count a new literal, bare and with each of its conditions, and tell how many of them each example reaches.

    Bindings in a row that ask the same are asked once, and all of them where the joined variable decides. An example that reaches as many
    as are `known` to be within its reach, from a more general query, is asked no further.
    """
    counted: tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.uint8], NDArray[np.uint16]]
    counted = _count_literal(example, variables, *shape, *tally, known)
    return counted


@njit(nogil=True, cache=True)
def _count_literal(  # type: ignore[no-untyped-def]
    example,
    variables,
    variable,
    offsets,
    rows,
    keys,
    equal,
    differ,
    apart,
    _fresh,
    used,
    held,
    n_conditions,
    classes,
    weights,
    thresholds,
    known,
):
    latest = np.full(n_conditions, -1, np.int32)
    support = np.zeros((thresholds.size - 1, n_conditions))
    hits = np.zeros((n_conditions, (classes.size + 7) // 8), np.uint8)
    reached = np.zeros(classes.size, np.uint16)
    decisive = used.size == 1 and used[0] == variable and offsets.size <= example.size
    asked = np.full(offsets.size if decisive else 0, -1, np.int32)
    # written out, and indexed without signs: with calls to `_fits` and `_mark` this loop measures two to three times slower
    for b in range(example.size):
        e = np.uint32(example[b])
        code = variables[b, variable]
        if reached[e] >= known[e] or code < 0 or code >= offsets.size - 1:
            continue
        if asked.size:
            if asked[code] == e:
                continue
            asked[code] = e
        elif _is_like_the_one_before(example, variables, b, used):
            continue
        for at in range(offsets[code], offsets[code + 1]):
            row = np.uint32(rows[at])
            fits = True
            for p in range(equal.shape[0]):
                value = keys[row, equal[p, 0]]
                if value < 0 or value != variables[b, equal[p, 1]]:
                    fits = False
                    break
            if not fits:
                continue
            for p in range(differ.shape[0]):
                value, other = keys[row, differ[p, 0]], variables[b, differ[p, 1]]
                if value < 0 or other < 0 or value == other:
                    fits = False
                    break
            if not fits:
                continue
            for p in range(apart.shape[0]):
                value, other = keys[row, apart[p, 0]], keys[row, apart[p, 1]]
                if value < 0 or other < 0 or value == other:
                    fits = False
                    break
            if not fits:
                continue
            if latest[0] != e:
                latest[0] = e
                reached[e] += 1
                support[classes[e], 0] += weights[e]
                hits[0, e >> 3] |= np.uint8(128 >> (e & 7))
            for a in range(held.shape[1]):
                condition = np.uint32(held[row, a])
                if latest[condition] != e:
                    latest[condition] = e
                    reached[e] += 1
                    support[classes[e], condition] += weights[e]
                    hits[condition, e >> 3] |= np.uint8(128 >> (e & 7))
            if reached[e] >= known[e]:
                break
    return _frequent(thresholds, support), support, hits, reached


@njit(nogil=True, cache=True)
def count_tests(example: NDArray[np.int32], rows: NDArray[np.int32], tally: Tally) -> Counted:
    """Count each further condition on a literal that is bound to `rows`."""
    held, n_conditions, classes, weights, thresholds = tally
    latest = np.full(n_conditions, -1, np.int32)
    support = np.zeros((thresholds.size - 1, n_conditions))
    hits = np.zeros((n_conditions, (classes.size + 7) // 8), np.uint8)
    for b in range(example.size):
        e = example[b]
        for a in range(held.shape[1]):
            _mark(held[rows[b], a], e, classes[e], weights[e], latest, support, hits)
    return _frequent(thresholds, support), support, hits


@njit(nogil=True, cache=True)
def select(
    example: NDArray[np.int32],
    variables: NDArray[np.int32],
    rows: NDArray[np.int32],
    held: NDArray[np.int32],
    attribute: int,
    condition: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """The bindings whose last row holds a condition."""
    n = 0
    for b in range(rows.size):
        n += held[rows[b], attribute] == condition
    examples, kept, found = np.empty(n, np.int32), np.empty((n, variables.shape[1]), np.int32), np.empty(n, np.int32)
    n = 0
    for b in range(rows.size):
        if held[rows[b], attribute] == condition:
            examples[n], found[n] = example[b], rows[b]
            for v in range(variables.shape[1]):
                kept[n, v] = variables[b, v]
            n += 1
    return examples, kept, found


def extend(
    example: NDArray[np.int32],
    variables: NDArray[np.int32],
    shape: Shape,
    held: NDArray[np.int32],
    attribute: int,
    condition: int,
    limit: int,
) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]:
    """The bindings that a new literal gives, up to one more than `limit`: their examples, variables and rows.

    An `attribute` of -1 asks for no condition.
    """
    made: tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.int32]]
    made = _extend(example, variables, *shape, held, attribute, condition, limit)
    return made


@njit(nogil=True, cache=True)
def _extend(  # type: ignore[no-untyped-def]
    example, variables, variable, offsets, rows, keys, equal, differ, apart, fresh, _used, held, attribute, condition, limit
):
    room, n = 16 + example.size, 0
    up, found = np.empty(room, np.int32), np.empty(room, np.int32)
    for b in range(example.size):
        code = variables[b, variable]
        if code < 0 or code >= offsets.size - 1 or n > limit:
            continue
        for at in range(offsets[code], offsets[code + 1]):
            if n > limit:
                break
            row = rows[at]
            if (attribute < 0 or held[row, attribute] == condition) and _fits(keys, equal, differ, apart, variables, b, row):
                if n == room:
                    room *= 2
                    up, found = np.append(up, up), np.append(found, found)
                up[n], found[n] = b, row
                n += 1
    before = variables.shape[1]
    examples, longer = np.empty(n, np.int32), np.empty((n, before + fresh.size), np.int32)
    for i in range(n):
        examples[i] = example[up[i]]
        for v in range(before):
            longer[i, v] = variables[up[i], v]
        for k in range(fresh.size):
            longer[i, before + k] = keys[found[i], fresh[k]]
    return examples, longer, found[:n].copy()
