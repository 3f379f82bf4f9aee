"""Thresholds of aggregates and ages: few enough to try all of them in every round, and short enough to read."""

from __future__ import annotations

import math
from fractions import Fraction

from hornboost.data.bins import Bins
from hornboost.logic.duration import UNITS

MOST = 64
"""Bins of an aggregate, each of about as many values."""

DIGITS = 17
"""That tell all doubles apart."""

SMALLEST = 324
"""No double is smaller than ten to the negative of it."""


def threshold(bins: Bins, place: int, *, at_least: bool, exact: bool) -> float:
    """What the values from a bin on are at least, or those up to it at most; a value itself if `exact`."""
    low, high = _limits(bins, place, at_least=at_least)
    return (high if at_least else low) if exact else between(low, high, at_least=at_least)


def length(bins: Bins, place: int, *, at_least: bool) -> float:
    """The same for lengths of time, which are positive."""
    low, high = _limits(bins, place, at_least=at_least)
    return nicest_duration(max(low, 0.0), high, at_least=at_least)


def _limits(bins: Bins, place: int, *, at_least: bool) -> tuple[float, float]:
    """Between what a threshold lies."""
    if at_least:
        return -math.inf if place == 0 else float(bins.high[place - 1]), float(bins.low[place])
    return float(bins.high[place]), math.inf if place == bins.size - 1 else float(bins.low[place + 1])


def between(low: float, high: float, *, at_least: bool) -> float:
    """The number of fewest digits about half-way between two values.

    Where there is none it is `high` if values from there on are meant (`at_least`), otherwise `low`.

    >>> between(2981.2, 3017.428, at_least=True), between(0.11, 0.12, at_least=False)
    (3000.0, 0.115)
    """
    if math.isinf(low) or math.isinf(high):
        return high if at_least else low
    middle = low + (high - low) / 2
    for digits in range(DIGITS):
        found = float(f"{middle:.{digits}e}")
        if low < found < high:
            return found
    return high if at_least else low


def nicest(low: float, high: float, *, at_least: bool) -> float:
    """The roundest number that is above `low` and at most `high`, or the other way round if not `at_least`.

    Of several that are as round it is the one next to the middle; where there is none, it is the end that counts. No
    end may be negative, and `high` may be infinite.

    >>> nicest(88.3, 95.2, at_least=False), nicest(30.0, 31.0, at_least=True), nicest(0.117, 0.1194, at_least=False)
    (90.0, 31.0, 0.118)
    """
    if math.isinf(high):
        if not at_least:
            return low
        high = 2 * low + 1
    found = _roundest(Fraction(low), Fraction(high), -SMALLEST, at_least=at_least)
    number = math.nan if found is None else float(found)
    if low < number <= high if at_least else low <= number < high:
        return number
    return high if at_least else low


def nicest_duration(low: float, high: float, *, at_least: bool) -> float:
    """The same among lengths of time in microseconds: a round number of the longest unit that fits.

    >>> from hornboost.logic.duration import duration_text
    >>> limits = [(88.3, 95.2), (0.2, 0.7), (30, 31)]
    >>> [duration_text(nicest_duration(low * 86_400e6, high * 86_400e6, at_least=False)) for low, high in limits]
    ['90d', '10h', '30d']
    """
    if math.isinf(high):
        if not at_least:
            return low
        high = 2 * low + UNITS["d"]
    for unit in UNITS.values():
        found = _roundest(Fraction(int(low), unit), Fraction(int(high), unit), 0, at_least=at_least)
        if found is not None:
            return float(found * unit)
    return high if at_least else low


def _roundest(low: Fraction, high: Fraction, least_power: int, *, at_least: bool) -> Fraction | None:
    """The multiple of the largest power of ten between two numbers, one of which counts, next to their middle."""
    power = len(str(int(high)))
    while power >= least_power:
        step = Fraction(10) ** power
        first, last = (low // step + 1, high // step) if at_least else (-(-low // step), -(-high // step) - 1)
        if first <= last:
            return min(max(round((low + high) / (2 * step)), first), last) * step
        power -= 1
    return None
