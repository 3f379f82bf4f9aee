"""Tables and examples for DuckDB, and queries that run on them.

In the SQL, tables and columns go by their positions and nominal values by their codes, so that no text of the user is
ever part of it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import numpy as np

from hornboost.aggregates.paths import Hop
from hornboost.data.table import Column, Table
from hornboost.sql import aggregates as sql
from hornboost.sql.dialects import DUCKDB

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
    from sqlglot import exp


@dataclass(frozen=True)
class Queries:
    """Runs queries on tables as `shown` in Arrow; `as_of` names dates, among them the target's."""

    tables: Mapping[str, Table]
    target: str
    shown: Callable[[Column], pa.Array]
    as_of: Mapping[str, str] = field(default_factory=dict)

    def relation(self, table: str) -> str:
        """What a table is called."""
        return f"table{list(self.tables).index(table)}"

    def name(self, table: str, column: str) -> str:
        """What a column is called."""
        return f"c{list(self.tables[table].columns).index(column)}"

    def rows(self, steps: Sequence[Hop]) -> sql.PathRows:
        """The rows at the end of a path."""
        found = []
        for step in steps:
            time = self.name(step.to_table, self.as_of[step.to_table]) if step.to_table in self.as_of else None
            before, after = self.name(step.table, step.column), self.name(step.to_table, step.to_column)
            found.append(sql.PathStep(before, self.relation(step.to_table), after, time))
        return sql.PathRows(found)

    def run(self, examples: Table, queries: Sequence[exp.Select]) -> list[dict[str, Any]]:
        """The results in the order of the queries.

        Each worker has a DuckDB of one thread: with several, sums of floats differ in their last bits from run to run.
        """
        import duckdb
        from sqlglot import exp

        used = {table.name for query in queries for table in query.find_all(exp.Table)}
        relations = {
            self.relation(name): self._arrow(table)
            for name, table in self.tables.items()
            if self.relation(name) in used
        }
        relations[sql.EXAMPLES] = self._examples(examples)
        workers = min(n_workers(), max(len(queries), 1))
        idle: SimpleQueue[duckdb.DuckDBPyConnection] = SimpleQueue()
        for _ in range(workers):
            connection = duckdb.connect(config={"threads": 1})
            for name, relation in relations.items():
                connection.register(name, relation)
            idle.put(connection)

        def run(text: str) -> dict[str, Any]:
            connection = idle.get()
            try:
                return {name: np.ma.asarray(values) for name, values in connection.sql(text).fetchnumpy().items()}
            finally:
                idle.put(connection)

        with ThreadPoolExecutor(workers) as pool:
            results = list(pool.map(run, [DUCKDB.text(query) for query in queries]))
        for _ in range(workers):
            idle.get().close()
        return results

    def _examples(self, examples: Table) -> pa.Table:
        """The example's number `e`, its date `d`, and its keys at the positions that they have in the target table."""
        import pyarrow as pa

        columns: dict[str, Any] = {sql.EXAMPLE: pa.array(np.arange(examples.n_rows, dtype=np.int32))}
        if self.target in self.as_of:
            columns[sql.MOMENT] = self.shown(examples.columns[self.as_of[self.target]])
        for position, name in enumerate(self.tables[self.target].columns):
            if name in examples.columns and examples.columns[name].kind == "key":
                columns[f"c{position}"] = self.shown(examples.columns[name])
        return pa.table(columns)

    def _arrow(self, table: Table) -> pa.Table:
        import pyarrow as pa

        return pa.table({f"c{position}": self.shown(column) for position, column in enumerate(table.columns.values())})


def n_workers() -> int:
    """Connections that work side by side."""
    return os.cpu_count() or 1
