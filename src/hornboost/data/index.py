"""From a key to the rows that hold it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class KeyIndex:
    """Rows by key code.

    Those of code `c` are `rows[offsets[c]:offsets[c + 1]]`, in row order; null keys are in no list.

    Codes at or above `size` are keys that the database does not know: they join nothing.
    """

    offsets: NDArray[np.int64]
    rows: NDArray[np.int32]

    @property
    def size(self) -> int:
        """The number of keys in the domain."""
        return int(self.offsets.size - 1)

    @classmethod
    def build(cls, codes: NDArray[np.int32], size: int) -> KeyIndex:
        """Count and place, in time linear in rows and keys.

        >>> index = KeyIndex.build(np.array([1, 0, -1, 1], dtype=np.int32), 3)
        >>> index.offsets.tolist(), index.rows.tolist()
        ([0, 1, 3, 3], [1, 0, 3])
        """
        from hornboost.data.index_kernels import counting_sort

        return cls(*counting_sort(np.ascontiguousarray(codes), size))
