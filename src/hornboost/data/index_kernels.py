"""The compiled loop behind an index of keys."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hornboost.data.jit import jit


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
