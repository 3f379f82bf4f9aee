"""Windows: how far back aggregates look, a few round lengths that tell the rows of the training examples apart."""

from __future__ import annotations

import numpy as np

from hornboost.aggregates.paths import TablePath
from hornboost.aggregates.reached import RowsReached
from hornboost.aggregates.view import cutoffs_are_dates
from hornboost.logic.duration import microseconds_of

LENGTHS = ("1s", "10s", "1min", "10min", "1h", "6h", "1d", "7d", "30d", "90d", "365d", "1825d")
NUMBERS = tuple(float(f"{digit}e{power}") for power in range(-6, 13) for digit in (1, 2, 5))
"""Where times are numbers."""

MOST = 4
"""Windows of a path."""

FEWEST = 0.1
"""The share of the examples with rows that have one in a window, and of the rows that are older, at least."""


def windows(reached: RowsReached, path: TablePath, most: int = MOST) -> list[tuple[str, str | float]]:
    """The windows of a path whose rows have times: the name of their age, and how old they are at most.

    Lengths that tell something apart are taken evenly, the shortest and the longest among them. The rows are those that
    the examples see, so that nothing is learned from what comes after.
    """
    table = reached.database.tables[path.table]
    if table.times is None or table.age is None:
        return []
    lengths: tuple[str | float, ...] = LENGTHS if cutoffs_are_dates(reached.database) else NUMBERS
    ages = np.array([microseconds_of(length) if isinstance(length, str) else length for length in lengths])
    found = reached.lengths(path, ages)
    many = found.examples >= FEWEST * found.n_examples
    some = found.rows <= (1 - FEWEST) * found.n_rows
    telling = np.flatnonzero(many & some & (found.rows > 0))
    chosen = telling[np.unique(np.linspace(0, telling.size - 1, most).round().astype(int))] if telling.size else telling
    return [(table.age, lengths[k]) for k in chosen.tolist()]
