"""What keys determine in the rows that are there: which joins say nothing new."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hornboost.data.convert import distinct_integers
from hornboost.dtypes import CODE

Codes = NDArray[np.int32]


def is_unique(keys: Codes) -> bool:
    """Whether no two rows have the same key; null is none.

    >>> is_unique(np.array([1, -1, 0, -1])), is_unique(np.array([1, 1]))
    (True, False)
    """
    known = keys[keys >= 0]
    return bool(known.size == 0 or np.bincount(known).max() == 1)


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


def are_unique(keys: Sequence[Codes]) -> bool:
    """Whether no two rows have the same keys in some columns, of which null is one.

    >>> are_unique([np.array([1, 1, -1]), np.array([0, 1, 1])]), are_unique([np.array([-1, -1])])
    (True, False)
    """
    numbers = _numbers(keys)
    return distinct_integers(numbers).size == numbers.size


def is_included(keys: Sequence[Codes], others: Sequence[Codes]) -> bool:
    """Whether rows without a null among their keys have others with the same keys.

    >>> is_included([np.array([1, -1]), np.array([2, 5])], [np.array([3, 1]), np.array([0, 2])])
    True
    """
    known = np.logical_and.reduce([column >= 0 for column in keys])
    both = [np.concatenate([other, column[known]]) for other, column in zip(others, keys, strict=True)]
    numbers, n = _numbers(both), len(others[0])
    return bool(np.isin(numbers[n:], numbers[:n]).all())


def _numbers(keys: Sequence[Codes]) -> NDArray[np.int64]:
    """A number for each row, the same for equal rows only."""
    numbers = np.zeros(len(keys[0]), np.int64)
    for column in keys:
        least = int(column.min(initial=0))
        width = int(column.max(initial=0)) - least + 1
        if int(numbers.max(initial=0)) >= 2**62 // width:
            numbers = np.unique(numbers, return_inverse=True)[1].astype(np.int64)
        numbers = numbers * width + (column - least)
    return numbers


def _extremes(keys: Codes, values: Codes, size: int) -> tuple[Codes, Codes]:
    """The smallest and the largest value beside each key."""
    least, most = np.full(size, np.iinfo(np.int32).max, CODE), np.full(size, -1, CODE)
    np.minimum.at(least, keys, values)
    np.maximum.at(most, keys, values)
    return least, most
