"""What keys determine in the rows that are there: which joins say nothing new."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hornboost.dtypes import CODE

Codes = NDArray[np.int32]


def is_unique(keys: Codes) -> bool:
    """Whether no two rows have the same key; null is none.

    >>> is_unique(np.array([1, -1, 0, -1])), is_unique(np.array([1, 1]))
    (True, False)
    """
    known = keys[keys >= 0]
    return bool(known.size == 0 or np.bincount(known).max() == 1)


def value_of_key(keys: Codes, values: Codes) -> Codes | None:
    """The value that stands beside each key, -1 where there is none; None where some key has two. Null says nothing.

    >>> value_of_key(np.array([2, 0, 2]), np.array([5, 7, 5]))
    array([ 7, -1,  5], dtype=int32)
    """
    known = (keys >= 0) & (values >= 0)
    least, most = _extremes(keys[known], values[known], int(keys[known].max(initial=-1)) + 1)
    return most if bool(((least == most) | (most < 0)).all()) else None


def determines(keys: Codes, values: Codes, reached_by: Codes, found: Codes) -> bool:
    """Whether rows with a key that other rows have always hold what those hold beside it.

    `keys` and `values` are two columns of the one table, `reached_by` and `found` of the other.

    >>> determines(np.array([0, 1]), np.array([5, 6]), np.array([1, 1, 2]), np.array([6, 6, 9]))
    True
    """
    known = keys >= 0
    least, most = _extremes(keys[known], values[known], int(max(keys.max(initial=-1), reached_by.max(initial=-1))) + 1)
    reached = reached_by[reached_by >= 0]
    target, shared = found[reached_by >= 0], most[reached] >= 0
    reached, target = reached[shared], target[shared]
    return bool(np.all((least[reached] == target) & (most[reached] == target)))


def _extremes(keys: Codes, values: Codes, size: int) -> tuple[Codes, Codes]:
    """The smallest and the largest value beside each key."""
    least, most = np.full(size, np.iinfo(np.int32).max, CODE), np.full(size, -1, CODE)
    np.minimum.at(least, keys, values)
    np.maximum.at(most, keys, values)
    return least, most
