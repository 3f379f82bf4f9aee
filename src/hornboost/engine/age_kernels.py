"""Numba kernels that find the ages of rows in the view of each example, and nothing else."""

from __future__ import annotations

import numpy as np

from hornboost.engine.key_kernels import Codes, Floats, Int, Longs, end, fits, leads
from hornboost.jit import inner, jit


@jit
def age_extremes(
    lo: Int,
    hi: Int,
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
    times: Floats,
    youngest: Floats,
    oldest: Floats,
) -> None:
    """Note for each example the smallest and the largest age of the rows behind one join, from the entries lo..hi.

    `times` are in the order of the index, and rising within a key: its first and its last row that fit will do. With
    `offsets` empty the entries' own rows (`codes`) are looked at. NaN says that no row is known yet.
    """
    constrained = equal_columns.shape[0] + unequal_columns.shape[0] > 0
    for entry in range(lo, hi):
        code = codes[entry]
        first, last = np.int64(code), np.int64(code)
        if offsets.size > 0:
            if not leads(code, offsets):
                continue
            first, last = offsets[code], end(code, entry, offsets, stops) - 1
            if constrained:
                while first <= last and not fits(
                    first, entry, equal_columns, equal_codes, unequal_columns, unequal_codes
                ):
                    first += 1
                while first < last and not fits(
                    last, entry, equal_columns, equal_codes, unequal_columns, unequal_codes
                ):
                    last -= 1
            if first > last:
                continue
        who = example[entry]
        small, large = cutoffs[entry] - times[last], cutoffs[entry] - times[first]
        if not youngest[who] <= small:
            youngest[who] = small
        if not oldest[who] >= large:
            oldest[who] = large


@inner
def _rising(values: Floats) -> Longs:
    """The places of positive numbers in rising order, NaN last: sorted by their bits, digit by digit, where many."""
    if values.size < 5_000:
        return np.argsort(values, kind="mergesort")
    bits = values.view(np.uint64)
    order, moved = np.arange(values.size), np.empty(values.size, np.int64)
    for shift in range(0, 64, 16):
        starts = np.zeros(65_537, np.int64)
        for k in range(bits.size):
            starts[((bits[k] >> np.uint64(shift)) & np.uint64(65_535)) + np.uint64(1)] += 1
        if starts.max() == bits.size:
            continue
        for digit in range(65_536):
            starts[digit + 1] += starts[digit]
        for k in range(order.size):
            digit = (bits[order[k]] >> np.uint64(shift)) & np.uint64(65_535)
            moved[starts[digit]] = order[k]
            starts[digit] += 1
        order, moved = moved, order
    return order


@inner
def _ranked(values: Floats) -> tuple[Floats, Codes]:
    """The distinct values in rising order, and the rank of each value among them; -1 for NaN."""
    order = _rising(values)
    distinct = np.empty(values.size, np.float64)
    rank = np.full(values.size, -1, np.int32)
    n = 0
    for at in order:
        value = values[at]
        if not np.isnan(value):
            if n == 0 or distinct[n - 1] != value:
                distinct[n] = value
                n += 1
            rank[at] = n - 1
    return distinct[:n].copy(), rank


@jit
def age_conditions(youngest: Floats, oldest: Floats) -> tuple[Floats, Floats, Codes]:
    """The distinct ages of oldest and of youngest rows, and the tightest condition of each example on either.

    Conditions `>=` are numbered by falling age, then those `<=` by rising age; -1 says that there is none.
    """
    old, at_least = _ranked(oldest)
    young, at_most = _ranked(youngest)
    codes = np.full((2, oldest.size), -1, np.int32)
    for who in range(oldest.size):
        if at_least[who] >= 0:
            codes[0, who] = old.size - 1 - at_least[who]
        if at_most[who] >= 0:
            codes[1, who] = old.size + at_most[who]
    return old, young, codes
