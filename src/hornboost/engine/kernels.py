"""Numba kernels: array passes over entries, pairs and weights, and nothing else.

An *entry* is a row bound at a node of the join tree; entries are sorted by example. A *segment* is the run of entries of
one example. A *pair* says that an example satisfies a condition; the pairs of all conditions behind one join are kept by
segment, so that weighted coverage is one histogram. `nan`-free: every attribute is an int32 code, negative for no value.
"""

from __future__ import annotations

import numba as nb
import numpy as np

_jit = nb.njit(nogil=True, cache=True, boundscheck=False)


@_jit
def count_reached(codes, offsets):
    """How many rows the join reaches from all entries together."""
    n_codes = offsets.size - 1
    total = np.int64(0)
    for code in codes:
        if 0 <= code < n_codes:
            total += offsets[code + 1] - offsets[code]
    return total


@_jit
def _keeps(row, entry, equal_columns, equal_codes, unequal_columns, unequal_codes):
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


@_jit
def expand(example, codes, offsets, order, equal_columns, equal_codes, unequal_columns, unequal_codes, allowed):
    """The entries of a new node: every row that each entry's key reaches and that passes the constraints.

    `allowed` is a mask over the rows of the table, or empty when all are allowed.
    """
    n_codes = offsets.size - 1
    total = np.int64(0)
    for entry in range(codes.size):
        code = codes[entry]
        if 0 <= code < n_codes:
            for at in range(offsets[code], offsets[code + 1]):
                row = order[at]
                if (allowed.size == 0 or allowed[row]) and _keeps(
                    row, entry, equal_columns, equal_codes, unequal_columns, unequal_codes
                ):
                    total += 1
    rows = np.empty(total, np.int32)
    up = np.empty(total, np.int32)
    examples = np.empty(total, np.int32)
    n = 0
    for entry in range(codes.size):
        code = codes[entry]
        if 0 <= code < n_codes:
            for at in range(offsets[code], offsets[code + 1]):
                row = order[at]
                if (allowed.size == 0 or allowed[row]) and _keeps(
                    row, entry, equal_columns, equal_codes, unequal_columns, unequal_codes
                ):
                    rows[n] = row
                    up[n] = entry
                    examples[n] = example[entry]
                    n += 1
    return examples, rows, up


@_jit
def expand_all(example, n_rows, equal_columns, equal_codes, unequal_columns, unequal_codes, allowed):
    """Entries of a node that shares no key with its ancestors: every allowed row for every entry."""
    candidates = np.arange(n_rows) if allowed.size == 0 else np.flatnonzero(allowed)
    total = 0
    for entry in range(example.size):
        for row in candidates:
            if _keeps(row, entry, equal_columns, equal_codes, unequal_columns, unequal_codes):
                total += 1
    rows = np.empty(total, np.int32)
    up = np.empty(total, np.int32)
    examples = np.empty(total, np.int32)
    n = 0
    for entry in range(example.size):
        for row in candidates:
            if _keeps(row, entry, equal_columns, equal_codes, unequal_columns, unequal_codes):
                rows[n] = row
                up[n] = entry
                examples[n] = example[entry]
                n += 1
    return examples, rows, up


@_jit
def has_live_child(up, alive, n_parents):
    """Which parent entries have a live entry below them."""
    found = np.zeros(n_parents, np.bool_)
    for entry in range(up.size):
        if alive[entry]:
            found[up[entry]] = True
    return found


@_jit
def keep_below(up, alive, parent_alive):
    """Clear, in place, the entries whose parent died; says whether any was cleared."""
    changed = False
    for entry in range(up.size):
        if alive[entry] and not parent_alive[up[entry]]:
            alive[entry] = False
            changed = True
    return changed


@_jit
def drops_within(example, alive, covered):
    """Whether a covered example loses entries: a loss of whole examples needs no new entries."""
    for entry in range(alive.size):
        if not alive[entry] and covered[example[entry]]:
            return True
    return False


@_jit
def compact(example, rows, up, alive, parent_map):
    """The live entries of a node, with `up` renumbered by `parent_map` (empty: parents keep their numbers)."""
    n = 0
    for entry in range(alive.size):
        if alive[entry]:
            n += 1
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


@_jit
def pair_capacity(lo, hi, example, codes, offsets, sizes, numeric):
    """Bounds for `build_pairs` on entries lo..hi: pairs, segments, and the longest segment in rows."""
    n_codes = offsets.size - 1
    pairs = np.int64(0)
    segments = np.int64(0)
    longest = np.int64(0)
    entry = lo
    while entry < hi:
        who = example[entry]
        length = np.int64(0)
        while entry < hi and example[entry] == who:
            if n_codes < 0:
                length += 1
            else:
                code = codes[entry]
                if 0 <= code < n_codes:
                    length += offsets[code + 1] - offsets[code]
            entry += 1
        if length > 0:
            segments += 1
            longest = max(longest, length)
            pairs += 1
            for a in range(sizes.size):
                if numeric[a]:
                    pairs += 3
                else:
                    pairs += min(length, sizes[a]) + 1
    return pairs, segments, longest


@_jit
def build_pairs(
    lo,
    hi,
    bare,
    example,
    codes,
    offsets,
    order,
    equal_columns,
    equal_codes,
    unequal_columns,
    unequal_codes,
    attributes,
    selected,
    sizes,
    numeric,
    bases,
    stamp_bases,
    stamp,
    key_stamp,
    pairs,
    segment_example,
    segment_end,
    buffer,
):
    """All (example, condition) pairs behind one join, for all selected attributes, in one pass over the entries lo..hi.

    Conditions are numbered: 0 the bare literal (when `bare`); then for each attribute from its base on, a nominal one its values and
    then `is missing`; a numeric one `>=` by falling value, `<=` by rising value and then `is missing`. For a numeric
    attribute only the tightest satisfied threshold is emitted (the largest and the smallest value of the example); a
    cumulative sum gives the others. With `offsets` empty the entries' own rows (`codes`) are looked at.
    Returns the numbers of pairs and segments, and whether the constraints dropped anything.
    """
    n_codes = offsets.size - 1
    constrained = equal_columns.shape[0] + unequal_columns.shape[0] > 0
    n_pairs = np.int64(0)
    n_segments = np.int64(0)
    dropped = False
    entry = lo
    while entry < hi:
        who = example[entry]
        length = 0
        while entry < hi and example[entry] == who:
            code = codes[entry]
            if n_codes < 0:
                buffer[length] = code
                length += 1
            elif 0 <= code < n_codes:
                if constrained:
                    for at in range(offsets[code], offsets[code + 1]):
                        row = order[at]
                        if _keeps(row, entry, equal_columns, equal_codes, unequal_columns, unequal_codes):
                            buffer[length] = row
                            length += 1
                        else:
                            dropped = True
                elif key_stamp[code] != who:
                    key_stamp[code] = who
                    for at in range(offsets[code], offsets[code + 1]):
                        buffer[length] = order[at]
                        length += 1
            entry += 1
        if length == 0:
            continue
        if bare:
            pairs[n_pairs] = 0
            n_pairs += 1
        for a in range(selected.size):
            column = attributes[selected[a]]
            base = bases[a]
            size = sizes[a]
            missing = False
            if numeric[a]:
                largest = np.int32(-1)
                smallest = np.int32(2147483647)
                for i in range(length):
                    value = column[buffer[i]]
                    missing |= value < 0
                    largest = max(largest, value)
                    smallest = min(smallest, value if value >= 0 else np.int32(2147483647))
                if largest >= 0:
                    pairs[n_pairs] = base + size - 1 - largest
                    pairs[n_pairs + 1] = base + size + smallest
                    n_pairs += 2
                if missing:
                    pairs[n_pairs] = base + 2 * size
                    n_pairs += 1
            else:
                seen = stamp_bases[a]
                for i in range(length):
                    value = column[buffer[i]]
                    if value >= 0:
                        if stamp[seen + value] != who:
                            stamp[seen + value] = who
                            pairs[n_pairs] = base + value
                            n_pairs += 1
                    elif value == -1:
                        missing = True
                if missing:
                    pairs[n_pairs] = base + size
                    n_pairs += 1
        segment_example[n_segments] = who
        segment_end[n_segments] = n_pairs
        n_segments += 1
    return n_pairs, n_segments, dropped


@_jit
def compress(pairs, n_raw):
    """Renumber the conditions that occur, in place and in order; returns the raw number of each."""
    if n_raw <= 8 * pairs.size + 1024:
        number = np.full(n_raw, -1, np.int32)
        for raw in pairs:
            number[raw] = 0
        n = 0
        for raw in range(n_raw):
            if number[raw] == 0:
                number[raw] = n
                n += 1
        conditions = np.empty(n, np.int32)
        for raw in range(n_raw):
            if number[raw] >= 0:
                conditions[number[raw]] = raw
        for p in range(pairs.size):
            pairs[p] = number[pairs[p]]
        return conditions
    ordered = np.sort(pairs)
    n = 0
    for p in range(ordered.size):
        if p == 0 or ordered[p] != ordered[p - 1]:
            ordered[n] = ordered[p]
            n += 1
    conditions = ordered[:n].copy()
    for p in range(pairs.size):
        pairs[p] = np.searchsorted(conditions, pairs[p])
    return conditions


@_jit
def histogram(lo, hi, segment_example, segment_start, pairs, weights, classes, out):
    """Add each example's weight to every condition that it satisfies, by class; segments lo..hi."""
    for segment in range(lo, hi):
        who = segment_example[segment]
        weight = weights[who]
        if weight != 0:
            label = classes[who]
            for p in range(segment_start[segment], segment_start[segment + 1]):
                out[pairs[p], label] += weight


@_jit
def cumulate(out, starts, stops):
    """Turn "tightest threshold" sums into sums per threshold, in place, over the ranges of numeric conditions."""
    for k in range(starts.size):
        for i in range(starts[k] + 1, stops[k]):
            for label in range(out.shape[1]):
                out[i, label] += out[i - 1, label]


@_jit
def count_pairs(segment_example, segment_start, counts):
    """Add a block's number of pairs of each example to `counts`, one place to the right."""
    for segment in range(segment_example.size):
        counts[segment_example[segment] + 1] += segment_start[segment + 1] - segment_start[segment]


@_jit
def merge_pairs(segment_example, segment_start, pairs, shift, fill, merged):
    """Append a block's pairs to the lists of the examples; `fill` says where each example's list goes on."""
    for segment in range(segment_example.size):
        who = segment_example[segment]
        at = fill[who]
        for p in range(segment_start[segment], segment_start[segment + 1]):
            merged[at] = pairs[p] + shift
            at += 1
        fill[who] = at


@_jit
def class_totals(weights, classes, covered, out):
    """Weight covered by class."""
    for who in range(weights.size):
        if covered[who]:
            out[classes[who]] += weights[who]
