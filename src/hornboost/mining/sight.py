"""What examples see of rows and values that have a time: what is strictly before their cutoffs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hornboost.data.table import Table

if TYPE_CHECKING:
    from hornboost.data import Database

Floats = NDArray[np.float64]


def known_since(table: Table, column: str) -> Floats | None:
    """From when on the values of a column are known, row by row and NaN for never; None where their row's time says."""
    dating = table.late.get(column)
    return None if dating is None else table.columns[dating].numbers


def latest_cutoffs(database: Database, examples: Table, tables: Sequence[str], steps: int) -> dict[str, Floats]:
    """For each row of some tables the latest cutoff of an example that reaches it along these, by whatever keys.

    It is minus infinity where none does, and plus infinity for all others where nothing has a time. Of two examples
    that follow the same keys, the later one sees all that the earlier one does, so that only the latest matters.
    """
    cutoffs = np.full(examples.n_rows, np.inf) if examples.times is None else examples.times.numbers
    # the last place, which null keys lead to, is reached by nobody
    known = {name: np.full(domain.size + 1, -np.inf) for name, domain in database.domains.items()}
    for column in examples.keys:
        at, codes = known[column.domain or ""], column.codes
        inside = (codes >= 0) & (codes < at.size - 1)
        np.maximum.at(at, codes[inside], cutoffs[inside])
    followed = {name: database.tables[name] for name in tables}
    rows = {name: np.full(table.n_rows, -np.inf) for name, table in followed.items()}
    for _ in range(steps):
        before = {name: latest.copy() for name, latest in known.items()}
        for name, table in followed.items():
            for column in table.keys:
                np.maximum(rows[name], before[column.domain or ""][column.codes], out=rows[name])
            if table.times is not None:
                rows[name][~(table.times.numbers < rows[name])] = -np.inf
            seen = rows[name] > -np.inf
            for column in table.keys:
                codes = column.codes
                passed = seen & (codes >= 0)
                np.maximum.at(known[column.domain or ""], codes[passed], rows[name][passed])
    return rows
