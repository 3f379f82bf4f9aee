"""What examples reach along paths, summed up by DuckDB in one query a path and one a nominal column.

Sums are of integers, so they do not depend on the order of rows; all else is made of them here, by the operations that
`sql.sums` writes.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hornboost.aggregates import plan
from hornboost.aggregates.paths import TablePath
from hornboost.aggregates.queries import Queries
from hornboost.data.table import Column, Table
from hornboost.dtypes import CODE, MISSING
from hornboost.logic.aggregate import MOMENTS
from hornboost.sql import aggregates as sql
from hornboost.sql import names, sums
from hornboost.sql.dialects import DUCKDB
from hornboost.stopping import check

if TYPE_CHECKING:
    import pyarrow as pa
    from sqlglot import exp

    from hornboost.data import Database

Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
Where = tuple[str, str] | None
COUNT = ""
"""Stands for the rows themselves among the columns of a path."""

SMALL, SQUARES = " that may be squared", " of squares"


@dataclass(eq=False)
class Reached:
    """The examples, and what is known so far of the rows that they reach."""

    database: Database
    examples: Table
    _sums: dict[tuple[TablePath, Where, str, str], NDArray[Any]] = field(default_factory=dict)
    _values: dict[tuple[TablePath, str], tuple[Longs, Longs, Longs]] = field(default_factory=dict)

    def look(self, aggregates: Iterable[plan.Aggregate]) -> None:
        """Run the queries that aggregates need and that have not been run."""
        queries: list[tuple[exp.Select, Any]] = []
        run = Queries(self.database.tables, self.database.target.table, _arrow)
        wanted: dict[tuple[TablePath, Where], dict[tuple[str, str], None]] = {}
        for found in aggregates:
            if self._is_by_value(found):
                column = found.where[0] if found.where is not None else str(found.column)
                at = (found.path, column)
                if at not in self._values:
                    self._values[at] = (np.empty(0, np.int64),) * 3
                    value = run.rows(found.path.steps).value(run.name(found.path.table, column))
                    queries.append((run.rows(found.path.steps).by_value_counts(value), at))
            for where, name, part in self._parts(found):
                if (found.path, where, name, part) not in self._sums:
                    wanted.setdefault((found.path, where), {})[name, part] = None
        for (path, where), parts in wanted.items():
            queries.append((self._scalars(run, path, where, list(parts)), (path, where, list(parts))))
        check()
        for (_, at), result in zip(queries, run.run(self.examples, [query for query, _ in queries]), strict=True):
            self._keep(at, result)
        check()

    def column(self, found: plan.Aggregate) -> Column:
        """An aggregate as a column of the examples."""
        own = None if found.column is None else self.database.tables[found.path.table].columns[found.column]
        values = self._value_of(found)
        if found.function == "mode":
            assert own is not None
            return Column(found.name, "nominal", values, categories=own.categories)
        is_date = own is not None and own.is_date and found.function in ("min", "max")
        return Column(found.name, "numeric", values.astype(np.float64), is_date=is_date)

    def frequent(self, path: TablePath, column: str, limit: int) -> list[str]:
        """The values of a nominal column that most examples reach, in that order and then by value.

        Examples with the same keys count once, as one of twice the weight does.
        """
        keys = np.column_stack([key.codes for key in self.examples.keys])
        counts_once = np.zeros(self.examples.n_rows, np.bool_)
        counts_once[np.unique(keys, axis=0, return_index=True)[1]] = True
        example, code, _ = self._values[path, column]
        categories = self.database.tables[path.table].columns[column].categories
        assert categories is not None
        times = np.bincount(code[counts_once[example]], minlength=len(categories))
        order = np.argsort(-times, kind="stable")[:limit]
        return [str(categories[k]) for k in order[times[order] > 0]]

    def _is_by_value(self, found: plan.Aggregate) -> bool:
        """Whether the counts of a column's values tell it; those of keys are too many."""
        if found.function in ("count", "share"):
            return found.where is not None
        return found.function in ("mode", "mode_share") or (
            found.function == "distinct" and not self._is_of_keys(found)
        )

    def _is_of_keys(self, found: plan.Aggregate) -> bool:
        return self.database.tables[found.path.table].columns[str(found.column)].kind == "key"

    def _parts(self, found: plan.Aggregate) -> list[tuple[Where, str, str]]:
        """The sums that an aggregate is made of: the condition, the column, and what of it."""
        if found.column is None:
            is_by_value = self._is_by_value(found)
            return [] if is_by_value and found.function == "count" else [(None, COUNT, "count")]
        if self._is_by_value(found):
            return []
        parts: tuple[str, ...] = ("present", "whole", "units")
        if found.function == "std":
            parts = (*(part + SMALL for part in parts), "whole" + SQUARES, "units" + SQUARES)
        elif found.function not in MOMENTS:
            parts = (found.function,)
        return [(found.where, found.column, part) for part in parts]

    def _scalars(self, run: Queries, path: TablePath, where: Where, parts: list[tuple[str, str]]) -> exp.Select:
        rows = run.rows(path.steps)
        condition = None
        if where is not None:
            condition = sql.equals(rows.value(run.name(path.table, where[0])), self._code(path, *where))
        columns = [names.named(sql.count(), "n")]
        for number, (column, part) in enumerate(parts):
            if column != COUNT:
                value = rows.value(run.name(path.table, column))
                columns.append(names.named(_scalar(part, value), f"a{number}"))
        return rows.by_example(columns, where=condition)

    def _keep(self, at: Any, result: dict[str, Any]) -> None:
        example = result[sql.EXAMPLE].filled(0)
        if len(at) == 2:
            self._values[at] = example, result[sql.VALUE].filled(0), result[sql.COUNT].filled(0)
            return
        path, where, parts = at
        for number, (column, part) in enumerate(parts):
            found = result["n" if column == COUNT else f"a{number}"]
            nothing = np.float64(np.nan) if part in ("min", "max") else np.int64(0)
            values: NDArray[Any] = np.full(self.examples.n_rows, nothing)
            values[example] = found.filled(nothing)
            self._sums[path, where, column, part] = values

    def _value_of(self, found: plan.Aggregate) -> NDArray[Any]:
        if self._is_by_value(found):
            return self._of_values(found)
        of = {part: self._sums[found.path, where, column, part] for where, column, part in self._parts(found)}
        if found.function not in MOMENTS:
            return of[found.function]
        small = SMALL if found.function == "std" else ""
        n = of["present" + small].astype(np.float64)
        total = _total(of["whole" + small], of["units" + small])
        with np.errstate(divide="ignore", invalid="ignore"):
            if found.function == "sum":
                return np.where(n > 0, total, np.nan)
            if found.function == "mean":
                return np.where(n > 0, total / n, np.nan)
            variance = (_total(of["whole" + SQUARES], of["units" + SQUARES]) - total * total / n) / (n - 1)
        return np.where(n > 1, np.sqrt(np.maximum(variance, 0.0)), np.nan)

    def _of_values(self, found: plan.Aggregate) -> NDArray[Any]:
        n = self.examples.n_rows
        example, code, times = self._values[found.path, found.where[0] if found.where else str(found.column)]
        if found.function == "distinct":
            return np.bincount(example, minlength=n)
        if found.where is not None:
            here = code == self._code(found.path, *found.where)
            some = np.zeros(n)
            some[example[here]] = times[here]
            if found.function == "count":
                return some
            every = self._sums[found.path, None, COUNT, "count"].astype(np.float64)
            return np.asarray(np.divide(some, every, out=np.full(n, np.nan), where=every > 0))
        order = np.lexsort((code, -times, example))
        example, code, times = example[order], code[order], times[order]
        first = np.flatnonzero(np.append(True, example[1:] != example[:-1])) if len(example) else example
        if found.function == "mode":
            mode = np.full(n, MISSING, CODE)
            mode[example[first]] = code[first]
            return mode
        share = np.full(n, np.nan)
        share[example[first]] = times[first] / np.bincount(example, times, minlength=n)[example[first]]
        return share

    def _code(self, path: TablePath, column: str, value: str) -> int:
        categories = self.database.tables[path.table].columns[column].categories
        assert categories is not None
        found = np.flatnonzero(categories == value)
        return int(found[0]) if len(found) else -1


def _scalar(part: str, value: exp.Expr) -> exp.Expr:
    """A sum over the rows of an example, of a column's numbers or of those that may be squared."""
    from sqlglot import exp

    if part == "distinct":
        return exp.Count(this=exp.Distinct(expressions=[value]))
    if part in ("min", "max"):
        return sql.numeric(part, value)
    kind, squared = part.removesuffix(SMALL).removesuffix(SQUARES), part.endswith((SMALL, SQUARES))
    counted = sums.counted(value, None, squared=squared)
    if part.endswith(SQUARES):
        counted = exp.paren(exp.Mul(this=counted, expression=counted.copy()))
    if kind == "present":
        return exp.Count(this=counted)
    return sums.added_parts(counted, DUCKDB)[kind == "units"]


def _total(whole: NDArray[Any], units: NDArray[Any]) -> Floats:
    return whole.astype(np.float64) + units.astype(np.float64) / sums.UNITS


def _arrow(column: Column) -> pa.Array:
    import pyarrow as pa

    missing = np.isnan(column.values) if column.kind == "numeric" else column.values < 0
    return pa.array(column.values, mask=missing if missing.any() else None)
