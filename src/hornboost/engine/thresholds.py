"""Thresholds of aggregates and ages: few enough to try all of them in every round, and short enough to read."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hornboost.logic.duration import UNITS

MOST = 64
"""Bins of an aggregate, each of about as many values."""

DIGITS = 17
"""That tell all doubles apart."""

SMALLEST = 324
"""No double is smaller than ten to the negative of it."""


class Bins(NamedTuple):
    """Neighbouring values that no threshold tells apart: the smallest and the largest of each bin."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def threshold(self, place: int, *, at_least: bool, exact: bool) -> float:
        """What the values from a bin on are at least, or those up to it at most; a value itself if `exact`."""
        low, high = self._limits(place, at_least=at_least)
        return (high if at_least else low) if exact else between(low, high, at_least=at_least)

    def length(self, place: int, *, at_least: bool) -> float:
        """The same for lengths of time, which are positive."""
        low, high = self._limits(place, at_least=at_least)
        return nicest_duration(max(low, 0.0), high, at_least=at_least)

    def _limits(self, place: int, *, at_least: bool) -> tuple[float, float]:
        """Between what a threshold lies."""
        if at_least:
            return -math.inf if place == 0 else float(self.high[place - 1]), float(self.low[place])
        return float(self.high[place]), math.inf if place == len(self.low) - 1 else float(self.low[place + 1])


def binned(values: NDArray[np.float64], codes: NDArray[np.int32]) -> tuple[Bins, NDArray[np.int32]]:
    """Distinct values in rising order as at most MOST bins, and the codes of examples, which are ranks, in bins.

    >>> bins, codes = binned(np.arange(128.0), np.arange(128, dtype=np.int32))
    >>> len(bins.low), bins.high[:2].tolist(), codes[:4].tolist()
    (64, [1.0, 3.0], [0, 0, 1, 1])
    """
    if len(values) <= MOST:
        return Bins(values, values), codes
    # not by the number of examples: one that is repeated would be told from one of twice the weight
    places = np.arange(len(values)) * MOST // len(values)
    starts = np.searchsorted(places, np.arange(MOST))
    ends = np.append(starts[1:], len(values)) - 1
    found = np.where(codes >= 0, places[codes], codes).astype(np.int32)
    return Bins(values[starts], values[ends]), found


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
