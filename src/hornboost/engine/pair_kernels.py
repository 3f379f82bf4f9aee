"""Numba kernels that turn the rows behind a join into pairs and weigh them, and nothing else.

An *entry* is a row bound at a node of the join tree; entries are sorted by example. A *segment* is the run of entries
of one example. A *pair* says that an example satisfies a condition; the pairs of all conditions behind one join are
kept by segment, so that weighted coverage is one histogram. Every attribute is an int32 code, negative for no value.
Indices in the inner loops are unsigned, which spares the check for negative ones: it makes the histogram three times as
fast.
"""

from __future__ import annotations

import numpy as np

from hornboost.engine.key_kernels import Codes, Floats, Int, Longs, Mask, end, fits, leads
from hornboost.jit import inner, jit


@jit
def capacity(
    lo: Int, hi: Int, example: Codes, codes: Codes, offsets: Longs, stops: Longs, sizes: Longs, numeric: Mask
) -> tuple[Int, Int, Int]:
    """Bounds for `build_pairs` on entries lo..hi: pairs, segments, and the longest segment in rows."""
    n_codes = offsets.size - 1
    pairs = 1
    segments = longest = 0
    entry = lo
    while entry < hi:
        who = example[entry]
        length: Int = 0
        while entry < hi and example[entry] == who:
            code = codes[entry]
            if n_codes < 0:
                length += 1
            elif leads(code, offsets):
                length += end(code, entry, offsets, stops) - offsets[code]
            entry += 1
        if length > 0:
            segments += 1
            longest = max(longest, length)
            pairs += 3
            for a in range(sizes.size):
                pairs += 3 if numeric[a] else min(length, sizes[a]) + 1
    return pairs, segments, longest


@jit
def build_pairs(
    lo: Int,
    hi: Int,
    bare: bool,
    example: Codes,
    codes: Codes,
    offsets: Longs,
    order: Codes,
    stops: Longs,
    cutoffs: Floats,
    equal_columns: Codes,
    equal_codes: Codes,
    unequal_columns: Codes,
    unequal_codes: Codes,
    attributes: Codes,
    selected: Longs,
    sizes: Longs,
    numeric: Mask,
    bases: Longs,
    stamp_bases: Longs,
    late: Longs,
    dates: Floats,
    ages: Codes,
    pairs: Codes,
    n_segments: Int,
    longest: Int,
) -> tuple[Int, Codes, Longs, bool]:
    """All (example, condition) pairs behind one join, for all selected attributes, in one pass over the entries lo..hi.

    Conditions are numbered: 0 the bare literal (when `bare`); then for each attribute from its base on, a nominal one
    its values and then `is missing`; a numeric one `>=` by falling value, `<=` by rising value and then `is missing`.
    For a numeric attribute only the tightest satisfied threshold is emitted (the largest and the smallest value of the
    example); a cumulative sum gives the others. A row of `attributes` holds the codes in the order of the index, so
    that the rows of one key lie side by side; with `offsets` empty the entries' own rows (`codes`) are looked at.

    Where an attribute is `late`, a value counts if the date in that row of `dates` is before the example's cutoff, and
    is missing otherwise. `ages` numbers for each example the tightest condition on the age of its rows in both
    directions (-1: none), from the base behind those of all attributes on; without columns it says nothing.

    `pairs` is filled; its size and the last two arguments come from `capacity`. Returns how many pairs there are, the
    example of each segment and where its pairs end, and whether the constraints dropped a row.
    """
    n_codes = offsets.size - 1
    constrained = equal_columns.shape[0] + unequal_columns.shape[0] > 0
    segment_example = np.empty(n_segments, np.int32)
    segment_end = np.empty(n_segments, np.int64)
    positions = np.empty(longest, np.int32)
    gathered = np.empty((1, longest), np.int32)
    stamp = np.full(stamp_bases[-1], -1, np.int32)
    # a key reached twice tells nothing new; marks for all keys of a large domain would cost more than they save
    key_stamp = np.full(max(n_codes, 0) if n_codes <= 8 * (hi - lo) else 0, -1, np.int32)
    n_pairs = 0
    segment = 0
    dropped = False
    entry = lo
    while entry < hi:
        who = example[entry]
        only = entry + 1 == hi or example[entry + 1] != who
        begin = entry
        first: Int = 0
        length: Int = 0
        in_a_row = only and n_codes >= 0 and not constrained
        if in_a_row:
            code = codes[entry]
            if leads(code, offsets):
                first = offsets[code]
                length = end(code, entry, offsets, stops) - first
            entry += 1
        while not in_a_row and entry < hi and example[entry] == who:
            code = codes[entry]
            if n_codes < 0:
                positions[length] = code
                length += 1
            elif leads(code, offsets) and (constrained or key_stamp.size == 0 or key_stamp[code] != who):
                if key_stamp.size:
                    key_stamp[code] = who
                for at in range(offsets[code], end(code, entry, offsets, stops)):
                    if not constrained or fits(at, entry, equal_columns, equal_codes, unequal_columns, unequal_codes):
                        positions[length] = at
                        length += 1
                    else:
                        dropped = True
            entry += 1
        if length == 0:
            continue
        if bare:
            pairs[n_pairs] = 0
            n_pairs += 1
        for a in range(selected.size):
            k = selected[a]
            is_late = late.size > 0 and late[a] >= 0
            if is_late:
                for i in range(length):
                    place = first + i if in_a_row else np.int64(positions[i])
                    known = dates[late[a], place] < cutoffs[begin]
                    gathered[0, i] = attributes[k, place] if known else np.int32(-1)
            elif not in_a_row:
                for i in range(length):
                    gathered[0, i] = attributes[k, positions[i]]
            in_place = in_a_row and not is_late
            source = attributes if in_place else gathered
            row, start = (k, first) if in_place else (0, 0)
            if numeric[a]:
                n_pairs = _extremes(source, row, start, length, bases[a], sizes[a], pairs, n_pairs)
            else:
                n_pairs = _distinct(
                    source, row, start, length, bases[a], sizes[a], stamp, stamp_bases[a], who, pairs, n_pairs
                )
        if ages.shape[1] > 0:
            for direction in range(2):
                if ages[direction, who] >= 0:
                    pairs[n_pairs] = bases[selected.size] + ages[direction, who]
                    n_pairs += 1
        segment_example[segment] = who
        segment_end[segment] = n_pairs
        segment += 1
    return n_pairs, segment_example[:segment], segment_end[:segment], dropped


@inner
def _extremes(codes: Codes, row: Int, first: Int, length: Int, base: Int, size: Int, pairs: Codes, n_pairs: Int) -> Int:
    """Append the conditions on the largest and the smallest of some codes of a row; returns the new number of pairs."""
    largest = np.int32(-1)
    lowest = np.int32(2147483647)
    smallest = np.uint32(4294967295)
    for at in range(np.uint64(first), np.uint64(first + length)):
        value = codes[row, at]
        largest = max(largest, value)
        lowest = min(lowest, value)
        smallest = min(smallest, np.uint32(value))  # a missing value is the largest without a sign
    if largest >= 0:
        pairs[n_pairs] = base + size - 1 - largest
        pairs[n_pairs + 1] = base + size + smallest
        n_pairs += 2
    if lowest < 0:
        pairs[n_pairs] = base + 2 * size
        n_pairs += 1
    return n_pairs


@inner
def _distinct(
    codes: Codes,
    row: Int,
    first: Int,
    length: Int,
    base: Int,
    size: Int,
    stamp: Codes,
    stamp_base: Int,
    who: Int,
    pairs: Codes,
    n_pairs: Int,
) -> Int:
    """Append a condition for each distinct one of some codes of a row; returns the new number of pairs."""
    missing = False
    n = np.uint64(n_pairs)
    for at in range(np.uint64(first), np.uint64(first + length)):
        value = codes[row, at]
        if value >= 0:
            # without a branch: whether a value is new cannot be foreseen
            seen = np.uint64(stamp_base + value)
            pairs[n] = base + value
            n += np.uint64(stamp[seen] != who)
            stamp[seen] = who
        elif value == -1:
            missing = True
    if missing:
        pairs[n] = base + size
        n += np.uint64(1)
    return np.int64(n)


@jit
def mark(pairs: Codes, present: Mask) -> None:
    """Mark the conditions that occur."""
    for p in range(pairs.size):
        present[np.uint32(pairs[p])] = True


@jit
def number_marked(present: Mask) -> tuple[Codes, Codes]:
    """The marked conditions in order, and the new number of each condition."""
    number = np.empty(present.size, np.int32)
    n = 0
    for raw in range(present.size):
        number[raw] = n
        n += present[raw]
    conditions = np.empty(n, np.int32)
    for raw in range(present.size):
        if present[raw]:
            conditions[number[raw]] = raw
    return conditions, number


@jit
def renumber(pairs: Codes, number: Codes, out: Codes) -> None:
    """The pairs with their conditions' new numbers."""
    for p in range(pairs.size):
        out[p] = number[np.uint32(pairs[p])]


@inner
def _by_condition(pairs: Codes, n_raw: Int) -> Codes:
    """The positions of the pairs in the order of their conditions, sorted digit by digit."""
    order = np.empty(pairs.size, np.int32)
    for p in range(pairs.size):
        order[p] = p
    moved = np.empty(pairs.size, np.int32)
    shift = 0
    while (n_raw - 1) >> shift > 0:
        starts = np.zeros(257, np.int64)
        for p in range(pairs.size):
            starts[((pairs[p] >> shift) & 255) + 1] += 1
        for digit in range(256):
            starts[digit + 1] += starts[digit]
        for k in range(order.size):
            digit = (pairs[order[k]] >> shift) & 255
            moved[starts[digit]] = order[k]
            starts[digit] += 1
        order, moved = moved, order
        shift += 8
    return order


@jit
def compress(pairs: Codes, n_raw: Int) -> Codes:
    """Renumber the conditions of the pairs, in place, to those that occur; returns these in order."""
    order = _by_condition(pairs, n_raw)
    conditions = np.empty(pairs.size, np.int32)
    n = 0
    for k in range(order.size):
        condition = pairs[order[k]]
        if n == 0 or conditions[n - 1] != condition:
            conditions[n] = condition
            n += 1
        pairs[order[k]] = n - 1
    return conditions[:n].copy()


@jit
def build_block(
    bare: bool,
    example: Codes,
    codes: Codes,
    offsets: Longs,
    order: Codes,
    stops: Longs,
    cutoffs: Floats,
    equal_columns: Codes,
    equal_codes: Codes,
    unequal_columns: Codes,
    unequal_codes: Codes,
    attributes: Codes,
    selected: Longs,
    sizes: Longs,
    numeric: Mask,
    bases: Longs,
    stamp_bases: Longs,
    late: Longs,
    dates: Floats,
    ages: Codes,
) -> tuple[Codes, Codes, Longs, Codes, bool]:
    """`build_pairs` over all entries and `compress` in one call: on small data the calls are what costs."""
    start = np.int64(0)  # a constant would be another type, and the kernels compiled once more for it
    size, n_segments, longest = capacity(start, example.size, example, codes, offsets, stops, sizes, numeric)
    pairs = np.empty(size, np.int32)
    n_pairs, segment_example, segment_end, dropped = build_pairs(
        start,
        example.size,
        bare,
        example,
        codes,
        offsets,
        order,
        stops,
        cutoffs,
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
        late,
        dates,
        ages,
        pairs,
        n_segments,
        longest,
    )
    pairs = pairs[:n_pairs].copy()
    conditions = compress(pairs, bases[-1])
    return pairs, segment_example, segment_end, conditions, dropped


@jit
def by_example(
    segment_example: Codes, segment_start: Longs, pairs: Codes, n_examples: Int
) -> tuple[Codes, Longs, Codes]:
    """The same pairs with one segment for each example that has any."""
    ends = np.zeros(n_examples + 1, np.int64)
    for segment in range(segment_example.size):
        ends[segment_example[segment] + 1] += segment_start[segment + 1] - segment_start[segment]
    n = 0
    for who in range(n_examples):
        n += ends[who + 1] > 0
        ends[who + 1] += ends[who]
    examples = np.empty(n, np.int32)
    starts = np.zeros(n + 1, np.int64)
    n = 0
    for who in range(n_examples):
        if ends[who + 1] > ends[who]:
            examples[n] = who
            starts[n + 1] = ends[who + 1]
            n += 1
    out = np.empty(pairs.size, np.int32)
    for segment in range(segment_example.size):
        who = segment_example[segment]
        for p in range(segment_start[segment], segment_start[segment + 1]):
            out[ends[who]] = pairs[p]
            ends[who] += 1
    return examples, starts, out


@jit
def histogram(
    lo: Int,
    hi: Int,
    segment_example: Codes,
    segment_start: Longs,
    pairs: Codes,
    weights: Longs,
    covered: Mask,
    classes: Codes,
    out: Longs,
) -> None:
    """Add the weight of each covered example to every condition that it satisfies, by class; segments lo..hi."""
    n_classes = np.uint64(out.shape[1])
    cells = out.reshape(-1)
    for segment in range(np.uint64(lo), np.uint64(hi)):  # unsigned: no index counts from the end
        who = np.uint32(segment_example[segment])
        weight = weights[who] * np.int64(covered[who])  # one branch, not two
        if weight != 0:
            label = np.uint64(classes[who])
            for p in range(np.uint64(segment_start[segment]), np.uint64(segment_start[segment + np.uint64(1)])):
                cells[np.uint64(np.uint32(pairs[p])) * n_classes + label] += weight


@jit
def channel_sums(
    lo: Int,
    hi: Int,
    segment_example: Codes,
    segment_start: Longs,
    pairs: Codes,
    channels: Longs,
    covered: Mask,
    out: Longs,
) -> None:
    """Add each covered example's signed numbers, a column a channel, to every condition that it satisfies.

    Looks at the segments lo..hi.
    """
    n_channels = np.uint64(channels.shape[1])
    cells = out.reshape(-1)
    for segment in range(np.uint64(lo), np.uint64(hi)):
        who = np.uint32(segment_example[segment])
        if not covered[who]:
            continue
        if n_channels == 2:  # the common case without the inner loop
            first, second = channels[who, 0], channels[who, 1]
            if first != 0 or second != 0:
                for p in range(np.uint64(segment_start[segment]), np.uint64(segment_start[segment + np.uint64(1)])):
                    at = np.uint64(np.uint32(pairs[p])) * np.uint64(2)
                    cells[at] += first
                    cells[at + np.uint64(1)] += second
            continue
        silent = True
        for k in range(n_channels):
            silent &= channels[who, k] == 0
        if not silent:
            for p in range(np.uint64(segment_start[segment]), np.uint64(segment_start[segment + np.uint64(1)])):
                at = np.uint64(np.uint32(pairs[p])) * n_channels
                for k in range(n_channels):
                    cells[at + k] += channels[who, k]


@jit
def cumulate(out: Longs, starts: Longs, stops: Longs) -> None:
    """Turn "tightest threshold" sums into sums per threshold, in place, over the ranges of numeric conditions."""
    for k in range(starts.size):
        for i in range(starts[k] + 1, stops[k]):
            for label in range(out.shape[1]):
                out[i, label] += out[i - 1, label]


@jit
def weigh(
    segment_example: Codes,
    segment_start: Longs,
    pairs: Codes,
    starts: Longs,
    stops: Longs,
    weights: Longs,
    covered: Mask,
    classes: Codes,
    out: Longs,
) -> None:
    """`histogram` over all segments and `cumulate` in one call."""
    histogram(np.int64(0), segment_example.size, segment_example, segment_start, pairs, weights, covered, classes, out)
    cumulate(out, starts, stops)


@jit
def sum_up(
    segment_example: Codes,
    segment_start: Longs,
    pairs: Codes,
    starts: Longs,
    stops: Longs,
    channels: Longs,
    covered: Mask,
    out: Longs,
) -> None:
    """`channel_sums` over all segments and `cumulate` in one call."""
    channel_sums(np.int64(0), segment_example.size, segment_example, segment_start, pairs, channels, covered, out)
    cumulate(out, starts, stops)


@jit
def class_totals(weights: Longs, classes: Codes, covered: Mask, out: Longs) -> None:
    """Weight covered by class."""
    for who in range(weights.size):
        if covered[who]:
            out[classes[who]] += weights[who]
