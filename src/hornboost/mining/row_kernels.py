"""What the kernels of mining ask of a row: whether it fits a binding, what conditions it holds, and since when."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hornboost.engine.key_kernels import distinct, same
from hornboost.jit import shared

Codes = NDArray[np.int32]
Places = NDArray[np.uint32]
Words = NDArray[np.uint64]
Floats = NDArray[np.float64]
Cutoffs = Floats | None
"""Up to when each example sees rows and values; None where everything counts for everybody."""


class HeldRows(NamedTuple):
    """The conditions that rows hold, an attribute a column (0 is none), and which of them depend on the example.

    A condition counts for examples whose cutoff is after `since`, where that has rows. The conditions from `first_age`
    on, one for each row of `ages`, are intervals of the time from the row's own of `times` to the cutoff; both ends
    belong to an interval, so that neighbours may share one.
    """

    held: Codes
    since: Floats | None = None
    times: Floats | None = None
    ages: Floats | None = None
    first_age: int = 0


@shared
def fits(
    keys: Codes, equal: Places, unequal: Places, apart: Places, variables: Codes, b: int, row: int | np.uint32
) -> bool:
    """Whether a row fits a binding: `engine.key_kernels.fits` for keys that lie side by side."""
    for p in range(equal.shape[0]):
        if not same(keys[row, equal[p, 0]], variables[b, equal[p, 1]]):
            return False
    for p in range(unequal.shape[0]):
        if not distinct(keys[row, unequal[p, 0]], variables[b, unequal[p, 1]]):
            return False
    for p in range(apart.shape[0]):  # noqa: SIM110
        if not distinct(keys[row, apart[p, 0]], keys[row, apart[p, 1]]):
            return False
    return True


@shared
def are_alike(example: Codes, variables: Codes, b: int, other: int, used: Places) -> bool:
    """Whether a binding asks what another one asks."""
    if example[b] != example[other]:
        return False
    for k in range(used.size):  # noqa: SIM110
        if variables[b, used[k]] != variables[other, used[k]]:
            return False
    return True


@shared
def is_known(since: Floats | None, row: Any, a: int, cutoff: float) -> bool:
    """Whether what a row holds of an attribute, some of which are late, counts up to a cutoff."""
    if since is not None:
        return bool(since[row, a] < cutoff)
    return True


@shared
def is_aged(times: Floats | None, ages: Floats | None, k: Any, row: Any, cutoff: float) -> bool:
    """Whether the age of a row, seen from a cutoff, lies in an interval."""
    if times is not None and ages is not None:
        return bool(ages[k, 0] <= cutoff - times[row] <= ages[k, 1])
    return False


@shared
def holds(
    held: Codes,
    since: Floats | None,
    times: Floats | None,
    ages: Floats | None,
    first_age: int,
    row: Any,
    attribute: int,
    condition: int,
    e: Any,
    cutoffs: Cutoffs,
) -> bool:
    """Whether a row holds a condition, of which the attribute is given, for an example."""
    if cutoffs is not None and since is not None and ages is not None:
        if first_age <= condition < first_age + ages.shape[0]:
            return is_aged(times, ages, condition - first_age, row, cutoffs[e])
        if since.shape[0] > 0 and not is_known(since, row, attribute, cutoffs[e]):
            return False
    return bool(held[row, attribute] == condition)


@shared
def cutoff_of(cutoffs: Cutoffs, e: Any) -> float:
    """Up to when an example sees rows; anything where nothing has a time."""
    if cutoffs is not None:
        return float(cutoffs[e])
    return 0.0
