"""Splits in time: learn from the examples before a moment, and predict those from then on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hornboost.data.table import Column
from hornboost.data.times import encode_time
from hornboost.errors import DataError
from hornboost.logic.duration import duration_text, microseconds_of
from hornboost.logic.moment import moment_text

if TYPE_CHECKING:
    from hornboost.data.database import Database

Times = NDArray[np.float64]
Positions = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Split:
    """The examples to learn from, which were before a moment, and those to predict, from that moment on.

    `moment` is text; both parts are positions in `examples()`.
    """

    moment: str
    train: Positions
    test: Positions


def splits_in_time(
    database: Database, time: Any = None, rolling: int | None = None, horizon: Any = None
) -> list[Split]:
    """Divide the examples at a moment, at each of several, or at as many as asked for; see `Database.folds`."""
    place, cutoffs = _cutoffs(database)
    if (time is None) == (rolling is None):
        raise DataError(f"{place}: a split in time is at a moment or at a number of moments; say one of them")
    gap = 0.0 if horizon is None else _length(horizon, cutoffs, place)
    if rolling is not None:
        moments = _spread(cutoffs, rolling, gap, place)
    else:
        moments = [_moment(value, cutoffs, place) for value in (time if isinstance(time, list | tuple) else [time])]
    if not moments or any(later <= earlier for earlier, later in pairwise(moments)):
        raise DataError(f"{place}: the moments to split at must be in order, each later than the one before")
    labels = np.asarray(database.examples()[1]) if database.label_kind == "classes" else None
    ends = [*moments[1:], np.inf]
    return [_split(cutoffs, labels, moment, end, gap, place) for moment, end in zip(moments, ends, strict=True)]


def _cutoffs(database: Database) -> tuple[str, Column]:
    """Where errors are, and the time of each example."""
    target = database.target.table
    place, times = f"{database.schema.location}: table '{target}'", database.tables[target].times
    if times is None:
        raise DataError(
            f"{place}: the examples have no time to split by; name the column of their cutoffs, by "
            f"times={{'{target}': column}}, --time {target}.column or time = \"column\" in the schema"
        )
    return f"{place}, time '{times.name}'", times.holding(times.numbers[database.example_rows])


def _split(cutoffs: Column, labels: NDArray[Any] | None, moment: float, end: float, gap: float, place: str) -> Split:
    times = cutoffs.numbers
    train = np.flatnonzero((times < moment) & (times + gap <= moment))
    test = np.flatnonzero((times >= moment) & (times < end))
    shown = _shown(moment, cutoffs)
    range_of = f"the times go from {_shown(times.min(), cutoffs)} to {_shown(times.max(), cutoffs)}"
    if train.size == 0:
        early = f"{_shown_length(gap, cutoffs)} or more before" if gap else "before"
        raise DataError(f"{place}: no example to learn from is {early} {shown}; {range_of}")
    if test.size == 0:
        until = "" if end == np.inf else f" and before {_shown(end, cutoffs)}"
        raise DataError(f"{place}: no example to predict is from {shown} on{until}; {range_of}")
    if labels is not None and (labels[train] == labels[train[0]]).all():
        raise DataError(
            f"{place}: all {train.size:,} examples to learn from, before {shown}, are of the class "
            f"'{labels[train[0]]}', so nothing can be learned; choose a later moment"
        )
    return Split(shown, train, test)


def _spread(cutoffs: Column, n: Any, gap: float, place: str) -> list[float]:
    """Moments after which parts of nearly equal size are predicted, the first of them from as many examples at least.

    Examples of one time stay together.
    """
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 1:
        raise DataError(f"{place}: the number of rolling origins must be an int in [1, inf). Got {n!r} instead.")
    distinct, counts = np.unique(cutoffs.numbers, return_counts=True)
    before = np.concatenate([[0], np.cumsum(counts)])
    known = np.minimum(before[np.searchsorted(distinct, distinct - gap, side="right")], before[:-1])
    possible = int((known > 0).sum())
    if possible < n:
        way_out = f"take at most {possible}" if possible else "split at random"
        after = f"{_shown_length(gap, cutoffs)} or more after the first" if gap else "after the first"
        few = f"{possible} distinct times of examples are {after}, too few for {n} rolling origins"
        raise DataError(f"{place}: {few}; {way_out}")
    rest = before[-1] - before[:-1]
    first = min(int((known * n >= rest).argmax()) or len(distinct), len(distinct) - n)
    first = max(first, len(distinct) - possible)
    chosen = [first]
    for k in range(1, n):
        ideal = before[first] + k * rest[first] / n
        nearest = int(np.abs(before[:-1] - ideal).argmin())
        chosen.append(min(max(nearest, chosen[-1] + 1), len(distinct) - n + k))
    return [float(distinct[at]) for at in chosen]


def _moment(value: Any, cutoffs: Column, place: str) -> float:
    import pyarrow as pa

    plain = value.astype("datetime64[us]").item() if isinstance(value, np.datetime64) else value
    try:
        read = encode_time("time", pa.chunked_array([pa.array([plain], from_pandas=True)]), place)
    except (DataError, pa.ArrowException, TypeError, ValueError):
        read = None
    if read is None or read.is_date != cutoffs.is_date or read.missing.any():
        kind = "a date such as 2024-01-01" if cutoffs.is_date else "a number"
        raise DataError(f"{place}: {value!r} is no moment to split at; give {kind}")
    return float(read.numbers[0])


def _length(value: Any, cutoffs: Column, place: str) -> float:
    """How long after an example's time its outcome is known."""
    found: float | None = None
    if isinstance(value, timedelta):
        found = value / timedelta(microseconds=1) if cutoffs.is_date else None
    elif isinstance(value, str) and cutoffs.is_date:
        try:
            found = microseconds_of(value)
        except ValueError:
            found = None
    elif not cutoffs.is_date:
        try:
            found = float(value)
        except (TypeError, ValueError):
            found = None
    if found is None or not 0 <= found < np.inf:
        kind = "a length of time such as 90d" if cutoffs.is_date else "a number of at least 0"
        raise DataError(f"{place}: {value!r} is no horizon; give {kind}")
    return found


def _shown(moment: float, cutoffs: Column) -> str:
    return moment_text(moment) if cutoffs.is_date else f"{moment:.15g}"


def _shown_length(length: float, cutoffs: Column) -> str:
    return duration_text(length) if cutoffs.is_date else f"{length:.15g}"
