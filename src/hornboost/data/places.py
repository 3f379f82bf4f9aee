"""Where examples lie in a database that is divided into partitions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray


class Places(NamedTuple):
    """The partition of each example, and its row in the partition's own target table, from which its keys are taken.

    Without rows, the partitions know keys by the same codes as the database that the examples were encoded with.
    """

    partition: NDArray[np.integer]
    row: NDArray[np.integer] | None = None


class SharedRows(NamedTuple):
    """The rows of a table in a partition that others have as well: of how many in all, which rows they are here, under
    which numbers all partitions know them, and which of them this is the first to have.
    """

    n: int
    rows: NDArray[np.int64]
    numbers: NDArray[np.int64]
    own: NDArray[np.bool_]

    @classmethod
    def none(cls) -> SharedRows:
        """No row is in two partitions."""
        return cls(0, np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.bool_))

    @classmethod
    def all(cls, n: int, *, is_first: bool) -> SharedRows:
        """Every partition has all rows."""
        return cls(n, np.arange(n), np.arange(n), np.full(n, is_first))
