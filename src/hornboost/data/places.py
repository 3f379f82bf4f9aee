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
