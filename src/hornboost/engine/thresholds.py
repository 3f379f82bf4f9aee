"""Thresholds of aggregates: few enough to try all of them in every round, and short enough to read."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

MOST = 64
"""Bins of an aggregate, each of about as many values."""

DIGITS = 17
"""That tell all doubles apart."""


class Bins(NamedTuple):
    """Neighbouring values that no threshold tells apart: the smallest and the largest of each bin."""

    low: NDArray[np.float64]
    high: NDArray[np.float64]

    def threshold(self, place: int, *, at_least: bool, exact: bool) -> float:
        """What the values from a bin on are at least, or those up to it at most; a value itself if `exact`."""
        if at_least:
            low = -math.inf if place == 0 else float(self.high[place - 1])
            value = float(self.low[place])
            return value if exact else between(low, value, at_least=True)
        high = math.inf if place == len(self.low) - 1 else float(self.low[place + 1])
        value = float(self.high[place])
        return value if exact else between(value, high, at_least=False)


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
