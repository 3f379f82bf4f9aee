"""What examples see of rows and values that have a time: what is strictly before their cutoffs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hornboost.data.table import Column, Table
from hornboost.dtypes import MISSING

if TYPE_CHECKING:
    from hornboost.data import Database

Floats = NDArray[np.float64]


def known_since(table: Table, column: str) -> Floats | None:
    """From when on the values of a column are known, row by row and NaN for never; None where their row's time says."""
    dating = table.late.get(column)
    return None if dating is None else table.columns[dating].numbers


def in_own_view(examples: Table) -> Table:
    """Examples without the values that are not known yet at their own cutoffs."""
    if examples.times is None or not examples.late:
        return examples
    cutoffs, columns = examples.times.numbers, dict(examples.columns)
    for name, column in examples.columns.items():
        known = known_since(examples, name)
        if known is not None:
            columns[name] = _without(column, ~(known < cutoffs))
    return replace(examples, columns=columns)


def _without(column: Column, hidden: NDArray[np.bool_]) -> Column:
    values = column.values.copy()
    values[hidden] = np.nan if column.kind == "numeric" else MISSING
    return column.holding(values)


def latest_cutoffs(database: Database, examples: Table, steps: int) -> dict[str, Floats]:
    """For each row of each table the latest cutoff of an example that reaches it, whatever keys are followed.

    It is minus infinity where none does, and plus infinity for all others where nothing has a time. Of two examples
    that follow the same keys, the later one sees all that the earlier one does, so that only the latest matters.
    """
    cutoffs = np.full(examples.n_rows, np.inf) if examples.times is None else examples.times.numbers
    known = {name: np.full(domain.size, -np.inf) for name, domain in database.domains.items()}
    for column in examples.keys:
        at = known[column.domain or ""]
        codes = column.codes
        inside = (codes >= 0) & (codes < at.size)
        np.maximum.at(at, codes[inside], cutoffs[inside])
    rows = {name: np.full(table.n_rows, -np.inf) for name, table in database.tables.items()}
    for _ in range(steps):
        before = {name: latest.copy() for name, latest in known.items()}
        for name, table in database.tables.items():
            for column in table.keys:
                codes = column.codes
                np.maximum(
                    rows[name], np.where(codes >= 0, before[column.domain or ""][codes], -np.inf), out=rows[name]
                )
            if table.times is not None:
                rows[name][~(table.times.numbers < rows[name])] = -np.inf
            seen = rows[name] > -np.inf
            for column in table.keys:
                codes = column.codes
                passed = seen & (codes >= 0)
                np.maximum.at(known[column.domain or ""], codes[passed], rows[name][passed])
    return rows
