"""Numba kernels of scoring, and nothing else.

A row passes a *feature* when it passes each of its conditions: an interval of a column of the float matrix (`kind` 0), a missing
value (1), two columns with one value (2) or with two values (3), a flag of a feature below it (4). NaN is missing.
Compiled loops take the fields of the tuples, not the tuples: machine code on disk would name types that another version may not have.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hornboost.data.jit import inner, jit

Codes = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]
Int = Any
"""A Python integer, or numpy's when the kernels run uncompiled."""

INTERVAL, MISSING, SAME, DIFFER, NEEDS = 0, 1, 2, 3, 4


class Conditions(NamedTuple):
    """The conditions of all features of a group: those of feature f are numbered `first[f]` to `first[f + 1]`."""

    first: Longs
    kind: Longs
    column: Longs
    other: Longs
    low: Floats
    high: Floats


class Edges(NamedTuple):
    """A join: the key code of each entry above, the index behind it, and further columns that must equal or differ."""

    codes: Codes
    offsets: Longs
    order: Codes
    equal_columns: Codes
    equal_codes: Codes
    unequal_columns: Codes
    unequal_codes: Codes


@inner
def _passes(
    row: Int,
    entry: Int,
    f: Int,
    matrix: Floats,
    flags: Flags,
    first: Longs,
    kind_of: Longs,
    column: Longs,
    other_column: Longs,
    low: Floats,
    high: Floats,
) -> bool:
    for c in range(first[f], first[f + 1]):
        kind = kind_of[c]
        if kind == NEEDS:
            if entry >= 0 and not flags[entry, column[c]]:
                return False
            continue
        value = matrix[row, column[c]]
        if kind == INTERVAL:
            if not (value >= low[c] and value <= high[c]):
                return False
        elif kind == MISSING:
            if not np.isnan(value):
                return False
        else:
            other = matrix[row, other_column[c]]
            if np.isnan(value) or np.isnan(other) or (value == other) != (kind == SAME):
                return False
    return True


@inner
def _reaches(row: Int, entry: Int, equal_columns: Codes, equal_codes: Codes, unequal_columns: Codes, unequal_codes: Codes) -> bool:
    for k in range(equal_columns.shape[0]):
        code = equal_columns[k, row]
        if code < 0 or code != equal_codes[k, entry]:
            return False
    for k in range(unequal_columns.shape[0]):
        code = unequal_columns[k, row]
        other = unequal_codes[k, entry]
        if code < 0 or other < 0 or code == other:
            return False
    return True


def exists(edges: Edges, matrix: Floats, conditions: Conditions, out: Flags) -> None:
    """Set out[entry, f] where some row behind the entry passes feature f, whose conditions are about the row alone."""
    _exists(*edges, matrix, *conditions, out)


@jit
def _exists(
    codes: Codes,
    offsets: Longs,
    order: Codes,
    equal_columns: Codes,
    equal_codes: Codes,
    unequal_columns: Codes,
    unequal_codes: Codes,
    matrix: Floats,
    first: Longs,
    kind_of: Longs,
    column: Longs,
    other_column: Longs,
    low: Floats,
    high: Floats,
    out: Flags,
) -> None:
    n_codes = offsets.size - 1
    n_features = out.shape[1]
    no_flags, alone = np.empty((0, 0), np.bool_), np.int64(-1)
    for entry in range(codes.size):
        code = codes[entry]
        if not 0 <= code < n_codes:
            continue
        open_features = n_features
        for at in range(offsets[code], offsets[code + 1]):
            row = order[at]
            if not _reaches(row, entry, equal_columns, equal_codes, unequal_columns, unequal_codes):
                continue
            for f in range(n_features):
                if not out[entry, f] and _passes(row, alone, f, matrix, no_flags, first, kind_of, column, other_column, low, high):
                    out[entry, f] = True
                    open_features -= 1
            if open_features == 0:
                break


def candidates(edges: Edges, matrix: Floats, conditions: Conditions) -> tuple[Codes, Codes]:
    """The rows behind each entry that pass the conditions about the row itself of some feature: rows, and their entry above."""
    return _candidates(*edges, matrix, *conditions)


@jit
def _candidates(
    codes: Codes,
    offsets: Longs,
    order: Codes,
    equal_columns: Codes,
    equal_codes: Codes,
    unequal_columns: Codes,
    unequal_codes: Codes,
    matrix: Floats,
    first: Longs,
    kind_of: Longs,
    column: Longs,
    other_column: Longs,
    low: Floats,
    high: Floats,
) -> tuple[Codes, Codes]:
    n_codes = offsets.size - 1
    no_flags, alone = np.empty((0, 0), np.bool_), np.int64(-1)
    room = 0
    for code in codes:
        if 0 <= code < n_codes:
            room += offsets[code + 1] - offsets[code]
    rows = np.empty(room, np.int32)
    up = np.empty(room, np.int32)
    n = 0
    for entry in range(codes.size):
        code = codes[entry]
        if not 0 <= code < n_codes:
            continue
        for at in range(offsets[code], offsets[code + 1]):
            row = order[at]
            if not _reaches(row, entry, equal_columns, equal_codes, unequal_columns, unequal_codes):
                continue
            for f in range(first.size - 1):
                if _passes(row, alone, f, matrix, no_flags, first, kind_of, column, other_column, low, high):
                    rows[n] = row
                    up[n] = entry
                    n += 1
                    break
    return rows[:n].copy(), up[:n].copy()


def combine(rows: Codes, up: Codes, matrix: Floats, flags: Flags, conditions: Conditions, out: Flags) -> None:
    """Set out[up, f] where an entry passes feature f, with `flags` telling what was found below each entry."""
    _combine(rows, up, matrix, flags, *conditions, out)


@jit
def _combine(
    rows: Codes,
    up: Codes,
    matrix: Floats,
    flags: Flags,
    first: Longs,
    kind_of: Longs,
    column: Longs,
    other_column: Longs,
    low: Floats,
    high: Floats,
    out: Flags,
) -> None:
    for entry in range(rows.size):
        above = up[entry]
        for f in range(out.shape[1]):
            if not out[above, f] and _passes(rows[entry], entry, f, matrix, flags, first, kind_of, column, other_column, low, high):
                out[above, f] = True


@jit
def add_votes(covered: Flags, of_rule: Longs, votes: Floats, otherwise: Floats, scores: Floats) -> None:
    """Add each rule's vote to each example's scores, in the order of the rules, so that every sum is made in one order."""
    for example in range(scores.shape[0]):
        for r in range(of_rule.size):
            if covered[example, of_rule[r]]:
                for k in range(scores.shape[1]):
                    scores[example, k] += votes[r, k]
            else:
                for k in range(scores.shape[1]):
                    scores[example, k] += otherwise[r, k]
