"""Numba kernels of the seeded search, and nothing else.

Conditions are numbered as `pair_kernels.build_pairs` numbers them.
"""

from __future__ import annotations

import numpy as np

from hornboost.engine.key_kernels import Bits, Codes, Int, Longs, Mask, end, is_marked, leads, same
from hornboost.jit import inner, jit


@inner
def _doubled(array: Codes) -> Codes:
    """A full array with as much room again."""
    larger = np.empty(2 * array.size, np.int32)
    larger[: array.size] = array
    return larger


@jit
def own_conditions(
    rows: Codes, bare: bool, attributes: Codes, selected: Longs, sizes: Longs, numeric: Mask, bases: Longs
) -> Longs:
    """The conditions that hold on some of the rows, with thresholds at the rows' own values only, in rising order."""
    out = np.empty(1 + 2 * rows.size * selected.size, np.int64)
    n = 0
    if rows.size > 0 and bare:
        out[0] = 0
        n = 1
    for a in range(selected.size):
        column = attributes[selected[a]]
        base = bases[a]
        size = sizes[a]
        for row in rows:
            value = column[row]
            if numeric[a]:
                if value >= 0:
                    out[n] = base + size - 1 - value
                    out[n + 1] = base + size + value
                    n += 2
                else:
                    out[n] = base + 2 * size
                    n += 1
            elif value >= 0:
                out[n] = base + value
                n += 1
            elif value == -1:
                out[n] = base + size
                n += 1
    ordered = np.sort(out[:n])
    n_distinct = 0
    for i in range(n):
        if i == 0 or ordered[i] != ordered[i - 1]:
            ordered[n_distinct] = ordered[i]
            n_distinct += 1
    return ordered[:n_distinct].copy()


@jit
def own_conditions_each(
    n: Int,
    example: Codes,
    rows: Codes,
    bare: bool,
    attributes: Codes,
    selected: Longs,
    sizes: Longs,
    numeric: Mask,
    bases: Longs,
) -> tuple[Longs, Longs]:
    """`own_conditions` of each of the examples 0..n on its rows, one after the other,
    and how many there are of each.
    """
    counts = np.zeros(n, np.int64)
    out = np.empty(256, np.int64)
    n_out = 0
    entry = 0
    while entry < example.size:
        who = example[entry]
        begin = entry
        while entry < example.size and example[entry] == who:
            entry += 1
        found = own_conditions(rows[begin:entry], bare, attributes, selected, sizes, numeric, bases)
        while n_out + found.size > out.size:
            larger = np.empty(2 * out.size, np.int64)
            larger[:n_out] = out[:n_out]
            out = larger
        out[n_out : n_out + found.size] = found
        n_out += found.size
        counts[who] = found.size
    return out[:n_out].copy(), counts


@jit
def weigh_tests(
    raw: Longs,
    attributes: Codes,
    selected: Longs,
    sizes: Longs,
    numeric: Mask,
    bases: Longs,
    at: Longs,
    weights: Longs,
    out: Longs,
) -> None:
    """The weight of the rows `at` (empty: of all rows) that satisfy each condition.

    Every condition is a range of codes.
    """
    a = 0
    for k in range(raw.size):
        while bases[a + 1] <= raw[k]:
            a += 1
        size = sizes[a]
        offset = raw[k] - bases[a]
        low, high = offset, offset
        if numeric[a] and offset < size:
            low, high = size - 1 - offset, size
        elif numeric[a] and offset < 2 * size:
            low, high = np.int64(0), offset - size
        elif numeric[a]:
            low, high = np.int64(-2147483648), np.int64(-1)
        elif offset == size:
            low, high = np.int64(-1), np.int64(-1)
        first, last = np.int32(low), np.int32(high)
        column = attributes[selected[a]]
        total = np.int64(0)
        if at.size == 0:
            for row in range(weights.size):
                total += weights[row] * (first <= column[row] <= last)
        else:
            for i in range(at.size):
                total += weights[i] * (first <= column[at[i]] <= last)
        out[k] = total


@jit
def histogram_by_class(segment_example: Codes, segment_start: Longs, pairs: Codes, weights: Longs, out: Longs) -> None:
    """Add the weights of each key to every condition that it satisfies, both classes at once."""
    cells = out.reshape(-1)
    for segment in range(segment_example.size):
        who = np.uint32(segment_example[segment])
        negative = weights[who, np.uint64(0)]
        positive = weights[who, np.uint64(1)]
        start, stop = np.uint64(segment_start[segment]), np.uint64(segment_start[segment + 1])
        if positive != 0:
            for p in range(start, stop):
                at = np.uint64(pairs[p]) * np.uint64(2)
                cells[at] += negative
                cells[at + np.uint64(1)] += positive
        elif negative != 0:
            for p in range(start, stop):
                cells[np.uint64(pairs[p]) * np.uint64(2)] += negative


@jit
def covered_by(segment_example: Codes, segment_end: Longs, pairs: Codes, first: Int, last: Int, n: Int) -> Mask:
    """Which of the n holders of segments satisfy one of the conditions first..last."""
    out = np.zeros(n, np.bool_)
    start = np.int64(0)
    for segment in range(segment_example.size):
        for p in range(start, segment_end[segment]):
            if first <= pairs[p] <= last:
                out[segment_example[segment]] = True
                break
        start = segment_end[segment]
    return out


@jit
def meet(
    keys: Codes,
    offsets: Longs,
    order: Codes,
    onward: Codes,
    closing: Codes,
    back_offsets: Longs,
    back_order: Codes,
    joined: Codes,
    n_keys: Int,
) -> tuple[Codes, Codes]:
    """For each example the rows of a second table, found by its `closing` key,
    that share a key with a row found by its first key.

    `onward` is the shared key of each row of the first table, `joined` that of each row of the second. Returns examples
    and rows.
    """
    stamp = np.full(n_keys, -1, np.int32)
    examples = np.empty(1024, np.int32)
    rows = np.empty(1024, np.int32)
    n = 0
    for example in range(keys.size):
        key, other = keys[example], closing[example]
        if not (leads(key, offsets) and leads(other, back_offsets)):
            continue
        if back_offsets[other] == back_offsets[other + 1]:
            continue
        for at in range(offsets[key], offsets[key + 1]):
            shared = onward[order[at]]
            if shared >= 0:
                stamp[shared] = example
        for at in range(back_offsets[other], back_offsets[other + 1]):
            shared = joined[back_order[at]]
            if shared >= 0 and stamp[shared] == example:
                if n == rows.size:
                    examples, rows = _doubled(examples), _doubled(rows)
                examples[n] = example
                rows[n] = back_order[at]
                n += 1
    return examples[:n].copy(), rows[:n].copy()


@jit
def closing_rows(
    example: Codes, codes: Codes, offsets: Longs, order: Codes, stops: Longs, column: Codes, others: Codes, marks: Bits
) -> tuple[Codes, Codes, bool]:
    """The rows that a join reaches and whose `column`, in the order of the index, equals what each entry asks for.

    Keys that no row has together are not followed.

    Returns examples, rows, and whether the equality dropped a row.
    """
    examples = np.empty(1024, np.int32)
    rows = np.empty(1024, np.int32)
    n = 0
    dropped = False
    for entry in range(codes.size):
        code, other = codes[entry], others[entry]
        if not leads(code, offsets) or offsets[code] == end(code, entry, offsets, stops):
            continue
        if other < 0 or not is_marked(code, other, marks):
            dropped = True
            continue
        for at in range(offsets[code], end(code, entry, offsets, stops)):
            if not same(column[at], other):
                dropped = True
                continue
            if n == rows.size:
                examples, rows = _doubled(examples), _doubled(rows)
            examples[n] = example[entry]
            rows[n] = order[at]
            n += 1
    return examples[:n].copy(), rows[:n].copy(), dropped
