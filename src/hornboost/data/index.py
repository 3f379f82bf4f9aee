"""From a key to the rows that hold it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from hornboost.stopping import check

AT_ONCE = 1 << 16
"""Keys whose rows are put in order between two looks at the clock."""


@dataclass(frozen=True, eq=False)
class KeyIndex:
    """Rows by key code.

    Those of code `c` are `rows[offsets[c]:offsets[c + 1]]`, in row order, or by their times where these are given;
    null keys are in no list.

    Codes at or above `size` are keys that the database does not know: they join nothing.
    """

    offsets: NDArray[np.int64]
    rows: NDArray[np.int32]
    times: NDArray[np.float64] | None = None
    """The time of each of `rows`; without one it is NaN, and these come last."""

    @property
    def size(self) -> int:
        """The number of keys in the domain."""
        return int(self.offsets.size - 1)

    @cached_property
    def most_rows(self) -> int:
        """How many rows the key has that has the most."""
        return int(np.diff(self.offsets).max(initial=0))

    def stops(self, codes: NDArray[np.int32], cutoffs: NDArray[np.float64]) -> NDArray[np.int64]:
        """Where the rows of known codes end that are from strictly before a cutoff each.

        >>> index = KeyIndex.build(np.zeros(3, dtype=np.int32), 1, np.array([5.0, np.nan, 2.0]))
        >>> index.stops(np.zeros(3, dtype=np.int32), np.array([2.0, 5.0, 9.0])).tolist()
        [0, 1, 2]
        """
        from hornboost.data.index_kernels import prefix_ends

        assert self.times is not None
        return np.asarray(prefix_ends(self.offsets, self.times, codes, cutoffs))

    @classmethod
    def build(cls, codes: NDArray[np.int32], size: int, times: NDArray[np.float64] | None = None) -> KeyIndex:
        """Count and place, in time linear in rows and keys; then the rows of each key are sorted by time.

        >>> index = KeyIndex.build(np.array([1, 0, -1, 1], dtype=np.int32), 3)
        >>> index.offsets.tolist(), index.rows.tolist()
        ([0, 1, 3, 3], [1, 0, 3])
        >>> KeyIndex.build(np.array([0, 0, 0], dtype=np.int32), 1, np.array([5.0, np.nan, 2.0])).rows.tolist()
        [2, 0, 1]
        """
        from hornboost.data.index_kernels import counting_sort, sort_within

        offsets, rows = counting_sort(np.ascontiguousarray(codes), size)
        if times is None:
            return cls(offsets, rows)
        in_order = times[rows]
        for start in range(0, size, AT_ONCE):
            check()
            sort_within(offsets[start : start + AT_ONCE + 1], rows, in_order)
        return cls(offsets, rows, in_order)
