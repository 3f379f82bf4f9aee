"""Conditions on one column: a value of a nominal one, an interval of equal frequency of a numeric one."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hornboost.data.table import Column, Table
from hornboost.logic.clause import Op, Test
from hornboost.logic.duration import UNITS, duration_text
from hornboost.logic.moment import DAY, moment_text

Condition = tuple[Test, ...]

MAX_VALUES = 1000
"""A nominal column of more values identifies rows rather than describes them; it is left out, and said to be."""


def conditions_of(
    table: str, column: Column, weights: NDArray[np.float64], bins: int, left_out: list[str]
) -> tuple[NDArray[np.int32], list[Condition]]:
    """For each row the number of the condition that it satisfies, -1 for none, and the conditions.

    `weights` are those of training rows.
    """
    if column.kind == "nominal":
        assert column.categories is not None
        values = [str(value) for value in column.categories]
        if len(values) > MAX_VALUES:
            left_out.append(f"{table}.{column.name} has {len(values)} values, more than {MAX_VALUES}, and was left out")
            return np.full(len(column.values), -1, np.int32), []
        return np.maximum(column.codes, -1), [(Test(column.name, "=", value),) for value in values]
    numbers = column.numbers
    intervals = _intervals(column, equal_frequency(numbers, weights, bins))
    codes = np.full(len(numbers), -1, np.int32)
    for number in range(len(intervals) - 1, -1, -1):
        low, high, _ = intervals[number]
        codes[(numbers >= low) & (numbers <= high)] = number
    return codes, [tests for _, _, tests in intervals]


def ages_of(
    table: Table, ages: NDArray[np.float64], weights: NDArray[np.float64], bins: int
) -> tuple[NDArray[np.float64], list[Condition]]:
    """The intervals of the ages of rows, both ends of each, and the conditions that say so."""
    assert table.times is not None
    assert table.age is not None
    is_date = table.times.is_date
    bounds, conditions = [], []
    gaps = [
        _units_apart(low, high) if is_date else _numbers_apart(low, high)
        for low, high in equal_frequency(ages, weights, bins)
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
    counted = ~np.isnan(numbers) & (weights > 0)
    values, inverse = np.unique(numbers[counted], return_inverse=True)
    if len(values) < 2:
        return []
    share = np.cumsum(np.bincount(inverse, weights[counted]))
    share = share[:-1] / share[-1]
    gaps = dict.fromkeys(int(np.argmin(np.abs(share - k / bins))) for k in range(1, bins))
    return [(float(values[gap]), float(values[gap + 1])) for gap in gaps]


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
