"""What keys mean in a join, stated once for every kernel that follows one.

A key is a code. A negative one is null: it reaches no row, equals nothing and differs from nothing, itself included.
One beyond the domain is a key that the database does not know, and reaches no row either. In matrices of doubles null
is NaN, for which the same comparisons hold.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hornboost.jit import shared

Codes = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]
Bits = NDArray[np.uint8]
Int = Any
"""A Python integer, or numpy's when the kernels run uncompiled."""


@shared
def leads(code: Int, offsets: Longs) -> bool:
    """Whether a key is one of those that an index lists rows for."""
    return bool(0 <= code < offsets.size - 1)


@shared
def end(code: Int, entry: Int, offsets: Longs, stops: Longs) -> Int:
    """Where the rows of a key end that an entry may see: before its `stops`, or all of them where there are none."""
    return stops[entry] if stops.size > 0 else offsets[code + 1]


@shared
def seen_end(code: Int, offsets: Longs, times: Floats | None, cutoff: float) -> Int:
    """Where the rows of a key end that are before a cutoff: their times rise, and those that are missing come last.

    Where rows have no times, all of them are.
    """
    stop = offsets[code + 1]
    if times is not None and times.size > 0:
        start = offsets[code]
        while start < stop:
            middle = (start + stop) >> 1
            if times[middle] < cutoff:
                start = middle + 1
            else:
                stop = middle
    return stop


@shared
def same(key: Any, other: Any) -> bool:
    """Whether two keys are equal and not null."""
    return bool(key >= 0 and key == other)


@shared
def distinct(key: Any, other: Any) -> bool:
    """Whether two keys differ and neither is null."""
    return bool(key >= 0 and other >= 0 and key != other)


@shared
def slot(key: Int, other: Int, marks: Bits) -> Int:
    """Where a pair of keys falls among the bits of some marks, whose number is a power of 2."""
    z = np.uint64(key) * np.uint64(0x9E3779B97F4A7C15) + np.uint64(other) * np.uint64(0xC2B2AE3D27D4EB4F)
    return (z >> np.uint64(32)) & np.uint64(8 * marks.size - 1)


@shared
def is_marked(key: Int, other: Int, marks: Bits) -> bool:
    """Whether some row may have a pair of keys; where it is not marked, none has."""
    at = slot(key, other, marks)
    return bool((marks[at >> np.uint64(3)] >> (at & np.uint64(7))) & np.uint64(1))


@shared
def fits(
    at: Int, entry: Int, equal_columns: Codes, equal_codes: Codes, unequal_columns: Codes, unequal_codes: Codes
) -> bool:
    """Whether the row at a place of the index meets the constraints of a join from an entry.

    A row of the matrices is a column of the table in the order of the index, so that the rows of a key lie side by
    side, or what that must (or must not) equal for each entry.
    """
    for k in range(equal_columns.shape[0]):
        if not same(equal_columns[k, at], equal_codes[k, entry]):
            return False
    for k in range(unequal_columns.shape[0]):  # noqa: SIM110
        if not distinct(unequal_columns[k, at], unequal_codes[k, entry]):
            return False
    return True
