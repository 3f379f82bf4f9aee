"""Conditions on one column: a value of a nominal one, an interval of equal frequency of a numeric one."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hornboost.data.bins import Bins, numbered
from hornboost.data.table import Column, Table
from hornboost.logic.clause import Op, Test
from hornboost.logic.duration import UNITS, duration_text
from hornboost.logic.moment import DAY, moment_text

Condition = tuple[Test, ...]

MAX_VALUES = 1000
"""A nominal column of more values identifies rows rather than describes them; it is left out, and said to be."""


@dataclass(frozen=True, eq=False, slots=True)
class Cut:
    """How the rows of a column are told apart: the numbers of its conditions, one for each category, or for each of
    the intervals `bounds` of its numbers, both ends of which belong to it. One of no conditions tells nothing.
    """

    column: str
    first: int
    size: int
    bounds: NDArray[np.float64] | None = None

    def held(self, column: Column) -> NDArray[np.int32]:
        """The condition that each row satisfies, 0 for none."""
        if self.size == 0:
            return np.zeros(len(column.values), np.int32)
        if self.bounds is None:
            return np.where(column.codes >= 0, column.codes + self.first, 0).astype(np.int32)
        numbers = column.numbers
        held = np.zeros(len(numbers), np.int32)
        for number in range(self.size - 1, -1, -1):  # where two share an end, the first one has it
            low, high = self.bounds[number]
            held[(numbers >= low) & (numbers <= high)] = self.first + number
        return held

    def shares(self, bins: Bins | None, rows: NDArray[np.int64], n_rows: int) -> list[float]:
        """About which share of so many rows satisfies each condition, if so many have each category or bin."""
        if self.size == 0 or self.bounds is None or bins is None:
            return [float(share) for share in rows[: self.size] / n_rows]
        ends = np.append(0, np.cumsum(rows))
        low = np.searchsorted(bins.low, self.bounds[:, 0], side="left")
        high = np.searchsorted(bins.high, self.bounds[:, 1], side="right")
        return [float(share) for share in (ends[np.maximum(high, low)] - ends[low]) / n_rows]

    def renumbered(self, number: NDArray[np.int64]) -> Cut:
        """The same with its conditions under other numbers, which follow one another as before."""
        return replace(self, first=int(number[self.first]) if self.size else self.first)


def cut_of(
    table: str,
    column: Column,
    levels: Bins | None,
    weights: NDArray[np.float64],
    bins: int,
    first: int,
    left_out: list[str],
) -> tuple[Cut, list[Condition]]:
    """How a column is cut, and its conditions, which have numbers from `first` on.

    `weights` are those of training rows with each category, or with a number in each of the `levels`.
    """
    if column.kind == "nominal":
        assert column.categories is not None
        values = [str(value) for value in column.categories]
        if len(values) > MAX_VALUES:
            left_out.append(f"{table}.{column.name} has {len(values)} values, more than {MAX_VALUES}, and was left out")
            return Cut(column.name, first, 0), []
        return Cut(column.name, first, len(values)), [(Test(column.name, "=", value),) for value in values]
    assert levels is not None
    intervals = _intervals(column, gaps_between(levels, weights, bins))
    bounds = np.array([(low, high) for low, high, _ in intervals], np.float64).reshape(-1, 2)
    return Cut(column.name, first, len(intervals), bounds), [tests for _, _, tests in intervals]


def ages_of(
    table: Table, ages: NDArray[np.float64], rows: NDArray[np.int64], bins: int
) -> tuple[NDArray[np.float64], list[Condition]]:
    """The intervals of ages, both ends of each, and the conditions that say so; so many rows have each age."""
    assert table.times is not None
    assert table.age is not None
    is_date = table.times.is_date
    bounds, conditions = [], []
    gaps = [
        _units_apart(low, high) if is_date else _numbers_apart(low, high)
        for low, high in gaps_between(Bins(ages, ages), rows.astype(np.float64), bins)
    ]
    lows, highs = [-np.inf, *(begin for _, begin in gaps)], [*(end for end, _ in gaps), np.inf]
    for low, high in zip(lows, highs, strict=True) if gaps else ():
        ends: list[tuple[Op, float]] = [(">=", low)] if low > -np.inf else []
        ends += [("<=", high)] if high < np.inf else []
        bounds.append((low, high))
        conditions.append(tuple(Test(table.age, op, duration_text(end) if is_date else float(end)) for op, end in ends))
    return np.array(bounds, np.float64).reshape(-1, 2), conditions


def _numbers_apart(low: float, high: float) -> tuple[float, float]:
    """Where an interval ends and the next begins: between the two numbers, or at them where nothing lies between."""
    middle = between(low, high)
    return (middle, middle) if low < middle < high else (low, high)


def _units_apart(low: float, high: float) -> tuple[float, float]:
    """Where an interval of lengths of time ends and the next begins: at a whole number of the longest unit of which
    there is one in between, or at the two lengths where they are neighbours.

    >>> day = UNITS["d"]
    >>> [end / day for end in _units_apart(88.2 * day, 93 * day)], [end / day for end in _units_apart(day, 2 * day)]
    ([91.0, 91.0], [1.0, 2.0])
    """
    for unit in UNITS.values():
        first = (np.floor(low / unit) + 1.0) * unit
        if first < high:
            middle = np.round((low + (high - low) / 2) / unit) * unit
            chosen = float(middle if low < middle < high else first)
            return chosen, chosen
        if low % unit == 0 and high % unit == 0:
            break
    return low, high


def equal_frequency(numbers: NDArray[np.float64], weights: NDArray[np.float64], bins: int) -> list[tuple[float, float]]:
    """At most `bins - 1` gaps between neighbouring values, each as its two ends, that cut the weight most evenly.

    >>> equal_frequency(np.array([1.0, 2.0, 3.0, 4.0, np.nan]), np.ones(5), 2)
    [(2.0, 3.0)]
    """
    levels, codes = numbered(numbers, len(numbers) + 1)
    known = codes >= 0
    return gaps_between(
        levels, np.bincount(codes[known], weights[known], minlength=levels.size).astype(np.float64), bins
    )


def gaps_between(levels: Bins, weights: NDArray[np.float64], bins: int) -> list[tuple[float, float]]:
    """The same where the weight at each level is known; those without any are as if they were not there."""
    held = np.flatnonzero(weights > 0)
    if len(held) < 2:
        return []
    share = np.cumsum(weights[held])
    share = share[:-1] / share[-1]
    gaps = dict.fromkeys(int(np.argmin(np.abs(share - k / bins))) for k in range(1, bins))
    return [(float(levels.high[held[gap]]), float(levels.low[held[gap + 1]])) for gap in gaps]


def _intervals(column: Column, gaps: list[tuple[float, float]]) -> list[tuple[float, float, Condition]]:
    """Intervals that meet in the gaps: at a short number between their ends, or between two days."""
    if not gaps:
        return []
    lows, highs = [-np.inf], []
    for low, high in gaps:
        end, begin = _days_apart(low, high) if column.is_date else _numbers_apart(low, high)
        highs.append(end)
        lows.append(begin)
    highs.append(np.inf)
    intervals = []
    for low, high in zip(lows, highs, strict=True):
        tests = [Test(column.name, ">=", _shown(column, low))] if low > -np.inf else []
        tests += [Test(column.name, "<=", _shown(column, high))] if high < np.inf else []
        intervals.append((low, high, tuple(tests)))
    return intervals


def _days_apart(low: float, high: float) -> tuple[float, float]:
    """Where an interval of times ends and the next begins: on two days, at a midnight, or within a day."""
    if np.isinf(low):
        return low, high
    midnight = (np.floor(low / DAY) + 1.0) * DAY
    if midnight >= high:
        within = np.floor(low + (high - low) / 2)
        return (within, within) if low < within and midnight > high else (low, high)
    return (low, midnight) if low == midnight - DAY else (midnight, midnight)


def _shown(column: Column, value: float) -> float | str:
    return moment_text(value) if column.is_date else float(value)


def between(low: float, high: float) -> float:
    """A number strictly between two, near their middle, with few digits; if there is none, the lower one.

    >>> between(0.1421, 0.1429), between(-1.0, 2.0)
    (0.142..., 0.0)
    """
    if np.isinf(low) or np.isinf(high):
        low, high = (high - 2.0, high) if np.isinf(low) else (low, low + 2.0)
        low, high = (-1.0, 1.0) if np.isinf(low) or np.isinf(high) else (low, high)
    middle = low + (high - low) / 2
    for digits in range(17):
        short = round(middle, digits)
        if low < short < high:
            return float(short) + 0.0
    return middle if low < middle < high else low
