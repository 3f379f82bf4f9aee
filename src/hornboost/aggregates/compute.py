"""The values of aggregates, by DuckDB.

In the SQL, tables and columns go by their positions and nominal values by their codes, so that no text of the user is
ever part of it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hornboost.aggregates.paths import TablePath
from hornboost.aggregates.plan import NUMERIC, SPREAD, AggregateColumn
from hornboost.aggregates.view import cutoffs_are_dates
from hornboost.data.table import Column, Table
from hornboost.logic.moment import DAY
from hornboost.sql import aggregates as sql
from hornboost.sql import names
from hornboost.sql.dialects import DUCKDB

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa
    from sqlglot import exp

    from hornboost.data import Database


_HUGE = 1e150
"""Numbers whose squares DuckDB's stddev_samp cannot hold; it raises an error for them."""

_SPLIT_ROWS = 1_000_000
"""From this many rows on, the columns of one table are computed by several workers."""


@dataclass(frozen=True)
class _Query:
    """A query with a row an example `e`, or an example and value `v`.

    For each value (None for all rows) the aggregates by their column.
    """

    sql: exp.Select
    members: Mapping[int | None, Sequence[tuple[str, AggregateColumn]]]


def _aliased(expressions: Sequence[exp.Expr]) -> list[exp.Expr]:
    return [names.named(expression, f"a{number}") for number, expression in enumerate(expressions)]


def _members(aggregates: Sequence[AggregateColumn]) -> dict[int | None, list[tuple[str, AggregateColumn]]]:
    return {None: [(f"a{number}", aggregate) for number, aggregate in enumerate(aggregates)]}


class Aggregator:
    """Computes aggregates for encoded examples, of the rows and values that each of them may know."""

    def __init__(self, database: Database) -> None:
        self._tables = database.tables
        self._target = database.target.table
        self._has_cutoffs = database.tables[database.target.table].times is not None
        self._unit = float(DAY) if cutoffs_are_dates(database) else 1.0

    def compute(self, examples: Table, aggregates: Sequence[AggregateColumn]) -> dict[str, NDArray[Any]]:
        """The values of each aggregate by its name: counts are 0 and all else is missing where nothing is reached."""
        out = {aggregate.name: self._empty(aggregate, examples.n_rows) for aggregate in aggregates}
        queries = [query for path, members in _by_path(aggregates) for query in self._queries(path, members)]
        for query, result in zip(queries, self._run(examples, [query.sql for query in queries]), strict=True):
            example = result[sql.EXAMPLE].filled(0)
            for code, members in query.members.items():
                rows = slice(None) if code is None else np.flatnonzero(result[sql.VALUE] == code)
                for alias, aggregate in members:
                    out[aggregate.name][example[rows]] = self._decoded(aggregate, result[alias][rows])
        return out

    def frequent_values(
        self, examples: Table, paths: Sequence[TablePath], limit: int
    ) -> dict[TablePath, dict[str, list[str]]]:
        """For each nominal column behind a path, the values that most examples reach,
        in that order and then by value.
        """
        wanted = [
            (path, column)
            for path in paths
            if not path.single
            for column in self._tables[path.table].attributes
            if column.kind == "nominal"
        ]
        queries = [self._rows(path).frequent(self._value(path, column.name), limit) for path, column in wanted]
        out: dict[TablePath, dict[str, list[str]]] = {}
        for (path, column), result in zip(wanted, self._run(examples, queries), strict=True):
            assert column.categories is not None
            out.setdefault(path, {})[column.name] = [str(column.categories[code]) for code in result[sql.VALUE]]
        return out

    def _queries(self, path: TablePath, aggregates: Sequence[AggregateColumn]) -> Iterable[_Query]:
        rows = self._rows(path)
        if path.single:
            yield _Query(rows.select(_aliased([self._value(path, a.column) for a in aggregates])), _members(aggregates))
            return
        conditional = [a for a in aggregates if a.where is not None and a.function in NUMERIC]
        scalars = [a for a in aggregates if a.function not in SPREAD and a not in conditional]
        parts = _workers() if self._tables[path.table].n_rows >= _SPLIT_ROWS else 1
        for part in np.array_split(np.arange(len(scalars)), parts):
            members = [scalars[i] for i in part]
            if members:
                yield _Query(rows.by_example(_aliased([self._scalar(a) for a in members])), _members(members))
        for column in dict.fromkeys(a.column for a in aggregates if a.function in SPREAD):
            members = [a for a in aggregates if a.function in SPREAD and a.column == column]
            values = _aliased([sql.of_spread(a.function) for a in members])
            yield _Query(rows.spread(self._value(path, column), values), _members(members))
        for name in dict.fromkeys(a.where[0] for a in conditional if a.where is not None):
            yield self._conditional(path, name, [a for a in conditional if a.where is not None and a.where[0] == name])

    def _conditional(self, path: TablePath, name: str, aggregates: Sequence[AggregateColumn]) -> _Query:
        """The aggregates of the rows with each of some values of a column."""
        aliases: dict[tuple[str, str | None], str] = {}
        members: dict[int | None, list[tuple[str, AggregateColumn]]] = {}
        for a in aggregates:
            assert a.where is not None
            alias = aliases.setdefault((a.function, a.column), f"a{len(aliases)}")
            members.setdefault(self._code(path, name, a.where[1]), []).append((alias, a))
        values = [self._call(function, path, column) for function, column in aliases]
        codes = [code for code in members if code is not None]
        return _Query(self._rows(path).by_value(self._value(path, name), codes, _aliased(values)), members)

    def _scalar(self, aggregate: AggregateColumn) -> exp.Expr:
        condition = None
        if aggregate.where is not None:
            column, value = aggregate.where
            condition = sql.equals(self._value(aggregate.path, column), self._code(aggregate.path, column, value))
        if aggregate.within is not None:
            condition = sql.both(condition, self._rows(aggregate.path).is_within(aggregate.within))
        if aggregate.function == "count":
            return sql.count(condition)
        if aggregate.function == "share":
            return sql.share(condition)
        return self._call(aggregate.function, aggregate.path, aggregate.column, condition)

    def _call(self, function: str, path: TablePath, column: str | None, condition: exp.Expr | None = None) -> exp.Expr:
        """A function of a numeric column; of several last rows the largest value is taken."""
        value = self._value(path, column)
        if function == "last":
            return sql.last(value, self._rows(path).time(), condition)
        if function == "std" and column in self._tables[path.table].columns:
            numbers = self._tables[path.table].columns[str(column)].numbers
            largest = float(np.abs(numbers[np.isfinite(numbers)]).max(initial=0.0))
            if largest > _HUGE:
                return sql.scaled_std(value, largest, condition)
        return sql.numeric(function, value, condition)

    def _rows(self, path: TablePath) -> sql.PathRows:
        steps = []
        for step in path.steps:
            is_timed = self._tables[step.to_table].times is not None
            before, after = self._name(step.table, step.column), self._name(step.to_table, step.to_column)
            steps.append(sql.PathStep(before, self._relation(step.to_table), after, is_timed))
        return sql.PathRows(steps)

    def _value(self, path: TablePath, column: str | None) -> exp.Expr:
        """A column of the last table, or the age of its rows; dates are in days, before the cutoff if there is one."""
        assert column is not None
        table, rows = self._tables[path.table], self._rows(path)
        if column not in table.columns:
            return rows.value(sql.TIME, elapsed=True, unit=self._unit)
        is_date = table.columns[column].is_date
        dating = None
        if column in table.late:
            dating = f"{sql.TIME}{list(table.columns).index(table.late[column])}"
        unit = float(DAY) if is_date else 1.0
        return rows.value(
            self._name(path.table, column), elapsed=is_date and self._has_cutoffs, unit=unit, dating=dating
        )

    def _relation(self, table: str) -> str:
        return f"table{list(self._tables).index(table)}"

    def _name(self, table: str, column: str) -> str:
        return f"c{list(self._tables[table].columns).index(column)}"

    def _code(self, path: TablePath, column: str, value: str) -> int:
        categories = self._tables[path.table].columns[column].categories
        assert categories is not None
        found = np.flatnonzero(categories == value)
        return int(found[0]) if len(found) else -1

    def _empty(self, aggregate: AggregateColumn, n_rows: int) -> NDArray[Any]:
        if aggregate.function in ("count", "distinct"):
            return np.zeros(n_rows, dtype=np.int64)
        return np.full(n_rows, None, dtype=object) if self._is_nominal(aggregate) else np.full(n_rows, np.nan)

    def _decoded(self, aggregate: AggregateColumn, values: np.ma.MaskedArray[Any, Any]) -> NDArray[Any]:
        if not self._is_nominal(aggregate):
            return (
                values
                if aggregate.function in ("count", "distinct")
                else np.ma.filled(values.astype(np.float64), np.nan)
            )
        categories = self._tables[aggregate.path.table].columns[str(aggregate.column)].categories
        assert categories is not None
        return np.append(categories, np.array([None], dtype=object))[np.ma.filled(values, len(categories))]

    def _is_nominal(self, aggregate: AggregateColumn) -> bool:
        if aggregate.function not in ("value", "mode"):
            return False
        return self._tables[aggregate.path.table].columns[str(aggregate.column)].kind == "nominal"

    def _run(self, examples: Table, queries: Sequence[exp.Select]) -> list[dict[str, Any]]:
        """The results in the order of the queries.

        Each worker has a DuckDB of one thread: with several, sums of floats differ in their last bits from run to run.
        """
        import duckdb
        from sqlglot import exp

        used = {table.name for query in queries for table in query.find_all(exp.Table)}
        relations = {
            self._relation(name): _arrow(table) for name, table in self._tables.items() if self._relation(name) in used
        }
        relations[sql.EXAMPLES] = self._examples(examples)
        workers = min(_workers(), max(len(queries), 1))
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
        """The example's number `e`, its cutoff `d`, and its keys at the positions that they have in the target."""
        import pyarrow as pa

        columns: dict[str, Any] = {sql.EXAMPLE: pa.array(np.arange(examples.n_rows, dtype=np.int32))}
        if examples.times is not None:
            columns[sql.CUTOFF] = _arrow_times(examples.times)
        for position, name in enumerate(self._tables[self._target].columns):
            if name in examples.columns and examples.columns[name].kind == "key":
                columns[f"c{position}"] = _arrow_column(examples.columns[name])
        return pa.table(columns)


def _by_path(aggregates: Sequence[AggregateColumn]) -> list[tuple[TablePath, list[AggregateColumn]]]:
    groups: dict[TablePath, list[AggregateColumn]] = {}
    for aggregate in aggregates:
        groups.setdefault(aggregate.path, []).append(aggregate)
    return list(groups.items())


def _arrow(table: Table) -> pa.Table:
    import pyarrow as pa

    columns = {f"c{position}": _arrow_column(column) for position, column in enumerate(table.columns.values())}
    for position, name in enumerate(table.columns):
        if name in table.late.values():
            columns[f"{sql.TIME}{position}"] = _arrow_times(table.columns[name])
    return pa.table(columns if table.times is None else {**columns, sql.TIME: _arrow_times(table.times)})


def _arrow_times(column: Column) -> pa.Array:
    """Times as the numbers that they are, some of which may be infinite."""
    import pyarrow as pa

    return pa.array(column.numbers, mask=column.missing if column.missing.any() else None)


def _arrow_column(column: Column) -> pa.Array:
    import pyarrow as pa

    missing = ~np.isfinite(column.values) if column.kind == "numeric" else column.values < 0
    return pa.array(column.values, mask=missing if missing.any() else None)


def _workers() -> int:
    return os.cpu_count() or 1
