"""The distinct values of a numeric column as thresholds know them: one by one, or in bins of neighbours."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hornboost.dtypes import CODE, MISSING
from hornboost.stopping import check

AT_ONCE = 1 << 22
"""Values that are looked at in one go: some tenths of a second, so that Ctrl-C and time limits need not wait longer."""

MAX_BINS = 1 << 16
"""Distinct values of a column up to which each of them is a threshold."""


class Bins(NamedTuple):
    """Neighbouring values that no threshold tells apart: the smallest and the largest of each bin.

    Where every value has a bin of its own, both are the same array.
    """

    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @property
    def size(self) -> int:
        return int(self.low.size)

    def at_most(self, most: int) -> Bins:
        """The same values in no more than so many bins, each of about as many values.

        >>> Bins.of(np.array([4.0, 1.0, 2.0, 9.0, 2.0])).at_most(2)
        Bins(low=array([1., 4.]), high=array([2., 9.]))
        """
        if self.size <= most:
            return self
        starts = bin_starts(self.size, most, float(self.low[0]), float(self.high[-1]))
        return Bins(self.low[starts], self.high[np.append(starts[1:], self.size) - 1])

    def number(self, values: NDArray[np.float64]) -> NDArray[np.int32]:
        """The bin of each of some values, each of which lies in one."""
        return (np.searchsorted(self.low, values, side="right") - 1).astype(CODE)

    @classmethod
    def of(cls, values: NDArray[np.float64]) -> Bins:
        """Each distinct value in a bin of its own; NaN is none."""
        distinct = ranks(values)[0]
        return cls(distinct, distinct)


def bin_starts(size: int, most: int, first: float, last: float) -> NDArray[np.int64]:
    """With which of so many distinct values, from the first to the last, each of at most so many bins begins.

    Infinite ones have bins of their own, so that the largest and the smallest finite value are ends of bins.

    >>> bin_starts(6, 3, 1.0, 9.0), bin_starts(6, 3, 1.0, math.inf)
    (array([0, 2, 4]), array([0, 3, 5]))
    """
    # by distinct values, not by rows: one that is repeated would be told from one of twice the weight
    before, after = int(math.isinf(first)), int(math.isinf(last))
    if most <= before + after or size <= most:
        before = after = 0
    n, n_bins = size - before - after, min(most, size) - before - after
    finite = np.searchsorted(np.arange(n) * n_bins // max(n, 1), np.arange(n_bins))
    return np.concatenate([np.arange(before), before + finite, np.arange(size - after, size)])


def most_each(sizes: Sequence[int], most: int) -> int:
    """How many bins each of some columns may have so that all of them together have no more than so many.

    >>> most_each([10, 500, 900], 410), most_each([10, 50], 410)
    (200, 50)
    """
    left, n = most, len(sizes)
    for size in sorted(sizes):
        if size * n > left:
            return max(left // n, 2)
        left, n = left - size, n - 1
    return max(sizes, default=0)


def ranks(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    """The distinct values in rising order and each value's rank among them, -1 for NaN; linear in the rows."""
    if values.size <= AT_ONCE:
        return _ranks(values)
    parts = []
    for start in range(0, values.size, AT_ONCE):
        check()
        parts.append(_ranks(values[start : start + AT_ONCE]))
    distinct, out = np.unique(np.concatenate([own for own, _ in parts])), np.empty(values.size, CODE)
    for start, (own, codes) in zip(range(0, values.size, AT_ONCE), parts, strict=True):
        check()
        place = np.append(np.searchsorted(distinct, own), MISSING).astype(CODE)
        out[start : start + AT_ONCE] = place[codes]
    return distinct, out


def _ranks(values: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.int32]]:
    import pyarrow as pa

    values = values + 0.0  # -0.0 and 0.0 are one value
    encoded = pa.array(values, from_pandas=True).dictionary_encode()
    distinct = np.asarray(encoded.dictionary.to_numpy(zero_copy_only=False), np.float64)
    rank = np.empty(distinct.size + 1, CODE)
    order = np.argsort(distinct, kind="stable")
    rank[order] = np.arange(distinct.size, dtype=CODE)
    rank[-1] = MISSING
    indices = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False)
    return distinct[order], rank[indices]


def numbered(values: NDArray[np.float64], most: int, levels: Bins | None = None) -> tuple[Bins, NDArray[np.int32]]:
    """At most so many bins of the values, and the one of each, -1 for NaN.

    `levels` are those of a larger set of values, of which these are some.

    >>> numbered(np.array([7.0, 1.0, np.nan, 5.0]), 2)
    (Bins(low=array([1., 7.]), high=array([5., 7.])), array([ 1,  0, -1,  0], dtype=int32))
    """
    distinct, codes = ranks(values)
    own = Bins(distinct, distinct)
    bins = (own if levels is None else levels).at_most(most)
    if bins is own:
        return bins, codes
    place = np.append(bins.number(distinct), CODE(MISSING))
    return bins, place[codes]
