"""Numba kernels that follow joins, and nothing else: which rows lie behind which entries, and which of them live.

An *entry* is a row bound at a node of a tree of joins; `up` leads from an entry to the one above it, in whose order
entries are sorted. What a key reaches and what equals or differs is said in `key_kernels`. A row has a *feature* when
it passes each of its conditions: those of feature f are numbered `first[f]` to `first[f + 1]`, a row of `what` holds a
kind, a column of the matrix of doubles (or of the flags below) and another column, and a row of `bounds` the ends of an
interval. NaN is missing. `cutoffs` are those of the entries' examples, from which the ages of rows are counted, and up
to which values that are known later count; they are empty where nothing asks for them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from hornboost.engine.key_kernels import (
    Bits,
    Codes,
    Floats,
    Int,
    Longs,
    Mask,
    distinct,
    end,
    fits,
    is_marked,
    leads,
    same,
    seen_end,
    slot,
)
from hornboost.jit import inner, jit

_LOW, _MIXING = 2**32 - 1, 0x9E3779B1
"""The lower half of a hash, and what it is multiplied by: no product overflows."""

INTERVAL, MISSING, SAME, DIFFER, NEEDS, AGE, LATE_INTERVAL, LATE_MISSING, UNEQUAL, LATE_UNEQUAL = range(10)


@inner
def _cutoff(entry: Int, cutoffs: Floats) -> Any:
    return cutoffs[entry] if cutoffs.size > 0 else np.nan


@inner
def _has(
    row: Int,
    entry: Int,
    f: Int,
    cutoff: Any,
    matrix: Floats,
    flags: Mask,
    first: Longs,
    what: Longs,
    bounds: Floats,
) -> bool:
    """Whether a row has a feature.

    What it needs below is left out for an entry of -1, below which nothing is known yet.
    """
    for c in range(first[f], first[f + 1]):
        kind = what[c, 0]
        if kind == NEEDS:
            passes = entry < 0 or flags[entry, what[c, 1]]
        else:
            value = matrix[row, what[c, 1]]
            if kind == INTERVAL:
                passes = bounds[c, 0] <= value <= bounds[c, 1]
            elif kind == MISSING:
                passes = np.isnan(value)
            elif kind == SAME:
                passes = same(value, matrix[row, what[c, 2]])
            elif kind == DIFFER:
                passes = distinct(value, matrix[row, what[c, 2]])
            elif kind == AGE:
                passes = bounds[c, 0] <= cutoff - value <= bounds[c, 1]
            elif kind == LATE_INTERVAL:
                passes = matrix[row, what[c, 2]] < cutoff and bounds[c, 0] <= value <= bounds[c, 1]
            elif kind == UNEQUAL:
                passes = value >= 0.0 and value != bounds[c, 0]
            elif kind == LATE_UNEQUAL:
                passes = matrix[row, what[c, 2]] < cutoff and value >= 0.0 and value != bounds[c, 0]
            else:
                passes = not matrix[row, what[c, 2]] < cutoff or np.isnan(value)
        if not passes:
            return False
    return True


@jit
def seen_stops(codes: Codes, offsets: Longs, times: Floats, cutoffs: Floats) -> Longs:
    """Where for each entry the rows of its key end that are before its cutoff; those without a time come last."""
    stops = np.zeros(codes.size, np.int64)
    for entry in range(codes.size):
        code = codes[entry]
        if leads(code, offsets):
            stops[entry] = seen_end(code, offsets, times, cutoffs[entry])
    return stops


@jit
def count_reached(codes: Codes, offsets: Longs, stops: Longs) -> Int:
    """How many rows a join reaches from all entries together."""
    total = 0
    for entry in range(codes.size):
        code = codes[entry]
        if leads(code, offsets):
            total += end(code, entry, offsets, stops) - offsets[code]
    return total


@jit
def count_repeated(codes: Codes, offsets: Longs, stops: Longs, times: Codes) -> Int:
    """The same, where an entry stands for as many as `times` says."""
    total = 0
    for entry in range(codes.size):
        code = codes[entry]
        if leads(code, offsets):
            total += times[entry] * (end(code, entry, offsets, stops) - offsets[code])
    return total


@jit
def distinct_keys(example: Codes, keys: Codes, kept: Codes, times: Codes) -> Int:
    """The first entry of an example with each set of keys, a row of the matrix a key, and how many there are of it.

    `kept` and `times` are filled; returns how many differ. Keys are looked up by a hash, in a table whose places count
    as free where they were taken for an earlier example.
    """
    longest = run = 0
    for entry in range(example.size):
        run = run + 1 if entry > 0 and example[entry] == example[entry - 1] else 1
        longest = max(longest, run)
    size = 2
    while size < 2 * longest:
        size *= 2
    places = np.full(size, -1, np.int32)
    mask = np.uint64(size - 1)
    n = first = 0
    for entry in range(example.size):
        if entry > 0 and example[entry] != example[entry - 1]:
            first = n
        mixed = np.uint64(0)
        for k in range(keys.shape[0]):
            mixed = ((mixed ^ np.uint64(np.uint32(keys[k, entry]))) & np.uint64(_LOW)) * np.uint64(_MIXING)
            mixed ^= mixed >> np.uint64(32)
        at = mixed & mask
        while True:
            known = places[at]
            if known < first:
                places[at] = n
                kept[n] = entry
                times[n] = 1
                n += 1
                break
            equal = True
            for k in range(keys.shape[0]):
                equal &= keys[k, kept[known]] == keys[k, entry]
            if equal:
                times[known] += 1
                break
            at = (at + np.uint64(1)) & mask
    return n


@jit
def cuts(example: Codes, codes: Codes, offsets: Longs, stops: Longs, size: Int) -> Longs:
    """Bounds of runs of entries that reach about `size` rows each, none of which cuts an example in two."""
    n_codes = offsets.size - 1
    found = np.empty(example.size + 2, np.int64)
    found[0] = 0
    n = 1
    reached: Int = 0
    for entry in range(example.size):
        if reached >= size and example[entry] != example[entry - 1]:
            found[n] = entry
            n += 1
            reached = 0
        code = codes[entry]
        if n_codes < 0:
            reached += 1
        elif leads(code, offsets):
            reached += end(code, entry, offsets, stops) - offsets[code]
    found[n] = example.size
    return found[: n + 1].copy()


@jit
def mark_pairs(offsets: Longs, column: Codes, marks: Bits) -> None:
    """Mark the bits of the pairs of keys that rows have: that of the index, and that of a column in its order."""
    for code in range(offsets.size - 1):
        for at in range(offsets[code], offsets[code + 1]):
            if column[at] >= 0:
                place = slot(code, column[at], marks)
                marks[place >> np.uint64(3)] |= np.uint8(np.uint64(1) << (place & np.uint64(7)))


@jit
def marked(codes: Codes, offsets: Longs, stops: Longs, others: Codes, marks: Bits, kept: Longs) -> tuple[Int, bool]:
    """The entries whose two keys some row may have together, and whether another one leads to rows."""
    n = 0
    dropped = False
    for entry in range(codes.size):
        code = codes[entry]
        if leads(code, offsets):
            if others[entry] >= 0 and is_marked(code, others[entry], marks):
                kept[n] = entry
                n += 1
            elif offsets[code] < end(code, entry, offsets, stops):
                dropped = True
    return n, dropped


@jit
def marked_behind(
    codes: Codes,
    offsets: Longs,
    keys: Codes,
    next_offsets: Longs,
    others: Codes,
    marks: Bits,
    kept: Codes,
    up: Codes,
) -> tuple[Int, bool]:
    """`marked` of all rows behind some entries, which are looked at where they are: only those that are kept are held.

    `keys` are those of the rows in the order of the index, `others` those of the entries. `kept` and `up` are filled
    with places of the index, and the entry that each lies behind.
    """
    n = 0
    dropped = False
    for entry in range(codes.size):
        code = codes[entry]
        if not leads(code, offsets):
            continue
        other = others[entry]
        for at in range(offsets[code], offsets[code + 1]):
            key = keys[at]
            if not leads(key, next_offsets):
                continue
            if other >= 0 and is_marked(key, other, marks):
                kept[n] = at
                up[n] = entry
                n += 1
            elif not dropped:
                dropped = next_offsets[key] < next_offsets[key + 1]
    return n, dropped


@jit
def reached_by_key(offsets: Longs, keys: Codes, next_offsets: Longs) -> Longs:
    """How many rows a second join reaches from the rows of each key, whose own keys are in the order of the index."""
    out = np.zeros(offsets.size - 1, np.int64)
    for code in range(out.size):
        for at in range(offsets[code], offsets[code + 1]):
            if leads(keys[at], next_offsets):
                out[code] += next_offsets[keys[at] + 1] - next_offsets[keys[at]]
    return out


@jit
def expand(
    codes: Codes,
    offsets: Longs,
    order: Codes,
    stops: Longs,
    cutoffs: Floats,
    equal_columns: Codes,
    equal_codes: Codes,
    unequal_columns: Codes,
    unequal_codes: Codes,
    allowed: Mask,
    matrix: Floats,
    first: Longs,
    what: Longs,
    bounds: Floats,
) -> tuple[Codes, Codes]:
    """The entries of a new node: every row behind each entry that fits the join.

    Rows, and the entry that each lies behind.

    `allowed` is a mask over the rows of the table, or empty when all are allowed. If there are features, a row must
    have one of them, as far as that is about the row itself.
    """
    constrained = equal_columns.shape[0] + unequal_columns.shape[0] > 0
    filtered = allowed.size > 0
    n_features = first.size - 1
    no_flags, alone = np.empty((0, 0), np.bool_), np.int64(-1)
    room = count_reached(codes, offsets, stops)
    rows = np.empty(room, np.int32)
    up = np.empty(room, np.int32)
    n = 0
    for entry in range(codes.size):
        code = codes[entry]
        if not leads(code, offsets):
            continue
        for at in range(offsets[code], end(code, entry, offsets, stops)):
            row = order[at]
            keep = not filtered or allowed[row]
            if keep and constrained:
                keep = fits(at, entry, equal_columns, equal_codes, unequal_columns, unequal_codes)
            if keep and n_features > 0:
                keep = False
                for f in range(n_features):
                    if _has(row, alone, f, _cutoff(entry, cutoffs), matrix, no_flags, first, what, bounds):
                        keep = True
                        break
            if keep:
                rows[n] = row
                up[n] = entry
                n += 1
    if n < room:
        return rows[:n].copy(), up[:n].copy()
    return rows, up


@jit
def has_live_child(up: Codes, alive: Mask, n_parents: Int) -> Mask:
    """Which parent entries have a live entry below them."""
    found = np.zeros(n_parents, np.bool_)
    for entry in range(up.size):
        if alive[entry]:
            found[up[entry]] = True
    return found


@jit
def keep_below(up: Codes, alive: Mask, parent_alive: Mask) -> None:
    """Clear, in place, the entries whose parent died."""
    for entry in range(up.size):
        alive[entry] &= parent_alive[up[entry]]


@jit
def drops_within(example: Codes, alive: Mask, covered: Mask) -> bool:
    """Whether a covered example loses entries: a loss of whole examples needs no new entries."""
    n_lost = 0
    for entry in range(alive.size):
        n_lost += not alive[entry] and covered[example[entry]]
    return n_lost > 0


@jit
def compact(
    example: Codes, rows: Codes, up: Codes, alive: Mask, parent_map: Codes
) -> tuple[Codes, Codes, Codes, Codes]:
    """The live entries of a node, with `up` renumbered by `parent_map` (empty: parents keep their numbers)."""
    n = 0
    for entry in range(alive.size):
        n += alive[entry]
    new_example = np.empty(n, np.int32)
    new_rows = np.empty(n, np.int32)
    new_up = np.empty(n, np.int32)
    entry_map = np.full(alive.size, -1, np.int32)
    n = 0
    for entry in range(alive.size):
        if alive[entry]:
            new_example[n] = example[entry]
            new_rows[n] = rows[entry]
            parent = up[entry]
            new_up[n] = parent if parent_map.size == 0 else parent_map[parent]
            entry_map[entry] = n
            n += 1
    return new_example, new_rows, new_up, entry_map


@jit
def exists(
    codes: Codes,
    offsets: Longs,
    order: Codes,
    stops: Longs,
    cutoffs: Floats,
    equal_columns: Codes,
    equal_codes: Codes,
    unequal_columns: Codes,
    unequal_codes: Codes,
    matrix: Floats,
    first: Longs,
    what: Longs,
    bounds: Floats,
    out: Mask,
) -> None:
    """Set out[entry, f] where some row behind the entry has feature f, which is about the row alone."""
    n_features = out.shape[1]
    no_flags, alone = np.empty((0, 0), np.bool_), np.int64(-1)
    for entry in range(codes.size):
        code = codes[entry]
        if not leads(code, offsets):
            continue
        open_features = n_features
        for at in range(offsets[code], end(code, entry, offsets, stops)):
            row = order[at]
            if not fits(at, entry, equal_columns, equal_codes, unequal_columns, unequal_codes):
                continue
            for f in range(n_features):
                if not out[entry, f] and _has(
                    row, alone, f, _cutoff(entry, cutoffs), matrix, no_flags, first, what, bounds
                ):
                    out[entry, f] = True
                    open_features -= 1
            if open_features == 0:
                break


@jit
def combine(
    rows: Codes,
    up: Codes,
    cutoffs: Floats,
    matrix: Floats,
    flags: Mask,
    first: Longs,
    what: Longs,
    bounds: Floats,
    out: Mask,
) -> None:
    """Set out[up, f] where an entry has feature f, with `flags` telling what was found below each entry.

    `cutoffs` are those of the entries above.
    """
    for entry in range(rows.size):
        above = up[entry]
        for f in range(out.shape[1]):
            if not out[above, f] and _has(
                rows[entry], entry, f, _cutoff(above, cutoffs), matrix, flags, first, what, bounds
            ):
                out[above, f] = True


@jit
def first_below(
    parents: Longs,
    f: Int,
    rows: Codes,
    up: Codes,
    cutoffs: Floats,
    matrix: Floats,
    flags: Mask,
    first: Longs,
    what: Longs,
    bounds: Floats,
) -> Longs:
    """Below each of some entries the first one that has feature f; there is one."""
    found = np.empty(parents.size, np.int64)
    for k in range(parents.size):
        entry = np.searchsorted(up, parents[k])
        cutoff = _cutoff(parents[k], cutoffs)
        while not _has(rows[entry], entry, f, cutoff, matrix, flags, first, what, bounds):
            entry += 1
        found[k] = entry
    return found


@jit
def first_row(
    parents: Longs,
    f: Int,
    codes: Codes,
    offsets: Longs,
    order: Codes,
    stops: Longs,
    cutoffs: Floats,
    equal_columns: Codes,
    equal_codes: Codes,
    unequal_columns: Codes,
    unequal_codes: Codes,
    matrix: Floats,
    first: Longs,
    what: Longs,
    bounds: Floats,
) -> Codes:
    """Behind each of some entries the first row that has feature f, which is about the row alone; there is one."""
    found = np.empty(parents.size, np.int32)
    no_flags, alone = np.empty((0, 0), np.bool_), np.int64(-1)
    for k in range(parents.size):
        entry = parents[k]
        for at in range(offsets[codes[entry]], end(codes[entry], entry, offsets, stops)):
            row = order[at]
            if fits(at, entry, equal_columns, equal_codes, unequal_columns, unequal_codes) and _has(
                row, alone, f, _cutoff(entry, cutoffs), matrix, no_flags, first, what, bounds
            ):
                found[k] = row
                break
    return found
