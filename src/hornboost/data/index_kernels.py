"""The compiled loops behind an index of keys."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hornboost.jit import inner, jit


@jit
def counting_sort(codes: NDArray[np.int32], size: int) -> tuple[NDArray[np.int64], NDArray[np.int32]]:
    """Rows grouped by code in row order: offsets per code, and the rows; codes outside [0, size) are left out."""
    offsets = np.zeros(size + 1, dtype=np.int64)
    for code in codes:
        if 0 <= code < size:
            offsets[code + 1] += 1
    for code in range(size):
        offsets[code + 1] += offsets[code]
    place = offsets[:-1].copy()
    rows = np.empty(offsets[size], dtype=np.int32)
    for row in range(codes.size):
        code = codes[row]
        if 0 <= code < size:
            rows[place[code]] = row
            place[code] += 1
    return offsets, rows


@jit
def prefix_ends(
    offsets: NDArray[np.int64], times: NDArray[np.float64], codes: NDArray[np.int32], cutoffs: NDArray[np.float64]
) -> NDArray[np.int64]:
    """Where the rows of each code end that are from strictly before its cutoff; times rise within a code, NaN last."""
    ends = np.empty(codes.size, dtype=np.int64)
    for k in range(codes.size):
        low, high, cutoff = offsets[codes[k]], offsets[codes[k] + 1], cutoffs[k]
        while low < high:
            middle = (low + high) // 2
            if times[middle] < cutoff:
                low = middle + 1
            else:
                high = middle
        ends[k] = low
    return ends


FEW = 40
"""Rows that are sooner put in order one by one."""


@inner
def _is_after(time: float, other: float) -> bool:
    """Whether a time comes after another; none at all comes last."""
    return time > other or (np.isnan(time) and not np.isnan(other))


@jit
def sort_within(offsets: NDArray[np.int64], rows: NDArray[np.int32], times: NDArray[np.float64]) -> None:
    """Sort the rows of each code by their times, in place; rows of one time stay in order, those without one are last.

    What is in order already is only looked at.
    """
    for code in range(offsets.size - 1):
        start, stop = offsets[code], offsets[code + 1]
        place = start + 1
        while place < stop and not _is_after(times[place - 1], times[place]):
            place += 1
        if place >= stop:
            continue
        if stop - start > FEW:
            order = np.argsort(times[start:stop], kind="mergesort")
            rows[start:stop] = rows[start:stop][order]
            times[start:stop] = times[start:stop][order]
            continue
        while place < stop:
            time, row, at = times[place], rows[place], place
            while at > start and _is_after(times[at - 1], time):
                times[at], rows[at] = times[at - 1], rows[at - 1]
                at -= 1
            times[at], rows[at] = time, row
            place += 1
