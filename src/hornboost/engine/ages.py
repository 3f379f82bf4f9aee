"""How old the rows behind a join are to the examples that see them: all conditions on it, and what each says.

A row is of another age for every example, so ages have no codes of their own in a table. The conditions behind one join
are about the youngest and the oldest row that each example reaches, and are numbered by the distinct ages of those.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from hornboost.data.bins import Bins
from hornboost.dtypes import CODE
from hornboost.engine import age_kernels as kernels
from hornboost.engine.reach import Codes, Floats, Longs, Reach
from hornboost.engine.thresholds import nicest, nicest_duration
from hornboost.logic.clause import Test
from hornboost.logic.duration import duration_text, is_duration, microseconds_of
from hornboost.stopping import check

NO_AGES: Codes = np.empty((2, 0), np.int32)
"""For passes that do not ask for ages."""


@dataclass(frozen=True, eq=False, slots=True)
class Ages:
    """The conditions on the ages of rows behind a join: `>=` by falling age of `oldest`, `<=` by rising of `youngest`.

    Both hold distinct ages in rising order, or bins of them where they are many.
    """

    oldest: Bins
    youngest: Bins

    @classmethod
    def of(cls, oldest: Floats, youngest: Floats, max_bins: int) -> Ages:
        """The conditions that distinct ages in rising order give."""
        return cls(Bins(oldest, oldest).at_most(max_bins), Bins(youngest, youngest).at_most(max_bins))

    @property
    def edges(self) -> Longs:
        """Where the conditions `>=` begin, where those `<=` do, and where these end."""
        return np.array([0, self.oldest.size, self.oldest.size + self.youngest.size], np.int64)

    @property
    def nbytes(self) -> int:
        return 16 * (self.oldest.size + self.youngest.size)

    def test(self, offset: int, name: str, is_date: bool) -> Test:
        """The condition of a number.

        Its threshold is the one of those that tell the same examples apart that is read most easily.
        """
        if offset < self.oldest.size:
            place = self.oldest.size - 1 - offset
            low, high = (0.0 if place == 0 else self.oldest.high[place - 1]), self.oldest.low[place]
            return Test(name, ">=", _threshold(float(low), float(high), at_least=True, is_date=is_date))
        place = offset - self.oldest.size
        is_last = place == self.youngest.size - 1
        low, high = self.youngest.high[place], (math.inf if is_last else self.youngest.low[place + 1])
        return Test(name, "<=", _threshold(float(low), float(high), at_least=False, is_date=is_date))

    def of_rows(self, ages: Floats) -> tuple[Longs, Longs]:
        """The number of the tightest condition that each of some ages fulfils, in both directions; -1 for none.

        What lies between two neighbouring ages covers what the tighter one covers.
        """
        over = np.searchsorted(self.oldest.high, ages, side="left")
        under = np.searchsorted(self.youngest.low, ages, side="right") - 1
        at_least = np.where(over < self.oldest.size, self.oldest.size - 1 - over, -1)
        return at_least, np.where(under >= 0, self.oldest.size + under, -1)

    def codes(self, youngest: Floats, oldest: Floats) -> Codes:
        """The tightest conditions that examples fulfil, in both directions, by the ages of their rows; -1 for none."""
        at_least = self.oldest.size - 1 - self.oldest.number(oldest)
        at_most = self.oldest.size + self.youngest.number(youngest)
        numbers = np.stack([at_least, at_most]).astype(CODE)
        numbers[np.isnan([oldest, youngest])] = -1
        return numbers


def ages_behind(reach: Reach, times: Floats, max_bins: int) -> tuple[Ages, Codes]:
    """The conditions on ages behind a join whose rows have these times, in its order.

    And for each example the tightest ones that it fulfils, in both directions, -1 where there is none.
    """
    youngest, oldest = extremes_behind(reach, times)
    old, young, codes = kernels.age_conditions(youngest, oldest)
    ages = Ages.of(old, young, max_bins)
    return ages, codes if old.size <= max_bins and young.size <= max_bins else ages.codes(youngest, oldest)


def extremes_behind(reach: Reach, times: Floats) -> tuple[Floats, Floats]:
    """The ages of the youngest and of the oldest row behind a join, for each example; NaN where there is none."""
    n = int(reach.example[-1]) + 1 if reach.example.size else 0
    youngest, oldest = np.full(n, np.nan), np.full(n, np.nan)
    for lo, hi in pairwise(reach.cuts()):
        check()
        kernels.age_extremes(lo, hi, *reach, times, youngest, oldest)
    youngest[np.isinf(youngest)] = np.nan  # all rows are older than any number says
    return youngest, oldest


def _threshold(low: float, high: float, *, at_least: bool, is_date: bool) -> str | float:
    """What the ages from `high` on are at least and those up to `low` are not, or the other way round."""
    if not is_date:
        return nicest(low, high, at_least=at_least)
    return duration_text(nicest_duration(low, high, at_least=at_least))


def age_interval(test: Test) -> tuple[float, float]:
    """The smallest and the largest age that pass a test; none is missing."""
    if test.op == "missing":
        return math.inf, -math.inf
    assert test.value is not None
    is_length = isinstance(test.value, str) and is_duration(test.value)
    bound = microseconds_of(str(test.value)) if is_length else float(test.value)
    return (bound if test.op != "<=" else -math.inf), (bound if test.op != ">=" else math.inf)
