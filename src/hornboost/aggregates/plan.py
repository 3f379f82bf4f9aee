"""Which aggregates there are, and what they are called."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hornboost.aggregates.paths import TablePath, is_unique
from hornboost.data.table import Column, Table

NUMERIC = ("mean", "sum", "min", "max", "std", "last")
SPREAD = ("distinct", "mode", "mode_share")
FUNCTIONS = ("count", "share", *NUMERIC, *SPREAD)


class RowFilter(NamedTuple):
    """Which rows an aggregate looks at: those with a value of a column, and those of some age at most."""

    where: tuple[str, str] | None = None
    within: float | None = None


@dataclass(frozen=True)
class AggregateColumn:
    """One column to compute: `function` is one of FUNCTIONS, or "value" on a path that leads to one row at most.

    A `column` that the table does not hold is the age of its rows, of which `within` is the largest that counts.
    """

    name: str
    function: str
    path: TablePath
    column: str | None = None
    where: tuple[str, str] | None = None
    within: float | None = None

    @property
    def rows(self) -> RowFilter:
        return RowFilter(self.where, self.within)

    def typed(self, table: Table, values: NDArray[Any], *, is_dated: bool) -> Column:
        """The column that values of an aggregate of rows of `table` are; `is_dated` says that cutoffs are dates."""
        own = None if self.column is None else table.columns.get(self.column)
        if own is not None and (self.function == "mode" or (self.function == "last" and own.kind == "nominal")):
            return replace(own, name=self.name, values=values)
        numbers = values.astype(np.float64)
        if self.column is not None and own is None:
            return Column(self.name, "numeric", numbers, is_age=is_dated)
        is_date = own is not None and own.is_date and self.function in ("min", "max", "last")
        return Column(self.name, "numeric", numbers, is_date=is_date)


def plan(
    paths: Sequence[TablePath],
    tables: Mapping[str, Table],
    functions: Sequence[str],
    dates: str | None,
    where: Mapping[TablePath, Mapping[str, Sequence[str]]],
    dated: Collection[str] = (),
) -> list[AggregateColumn]:
    """The aggregates of every path.

    `dates` names the example's date that others are subtracted from, `where` the values to look at.

    In the tables of `dated` there is a last row.
    """
    out: list[AggregateColumn] = []
    for path in paths:
        columns = tables[path.table].attributes
        numeric = [f for f in NUMERIC if f in functions and (f != "last" or path.table in dated)]
        if path.single:
            out += [AggregateColumn(_shown(path, column, dates), "value", path, column.name) for column in columns]
            continue
        if "count" in functions:
            out.append(AggregateColumn(f"count({path.label})", "count", path))
        out += _numeric(path, columns, numeric, dates, None)
        spread = [function for function in SPREAD if function in functions]
        out += [
            AggregateColumn(f"{function}({path.label}.{column.name})", function, path, column.name)
            for column in tables[path.table].columns.values()
            for function in spread
            if column.kind == "nominal" or (function == "distinct" and _repeats(path, column))
        ]
        for name, values in where.get(path, {}).items():
            for value in values:
                shown = f'{path.label} where {name}="{value}"'
                out += [
                    AggregateColumn(f"{f}({shown})", f, path, None, (name, value))
                    for f in ("count", "share")
                    if f in functions
                ]
                out += _numeric(path, columns, numeric, dates, (name, value))
    return out


def _numeric(
    path: TablePath,
    columns: Sequence[Column],
    functions: Sequence[str],
    dates: str | None,
    where: tuple[str, str] | None,
) -> list[AggregateColumn]:
    condition = "" if where is None else f' where {where[0]}="{where[1]}"'
    return [
        AggregateColumn(f"{function}({_shown(path, column, dates)}{condition})", function, path, column.name, where)
        for column in columns
        if column.kind == "numeric"
        for function in functions
        # a sum of dates counts days of nothing
        if not (column.is_date and function == "sum")
    ]


def _shown(path: TablePath, column: Column, dates: str | None) -> str:
    return (
        f"{dates} - {path.label}.{column.name}"
        if column.is_date and dates is not None
        else f"{path.label}.{column.name}"
    )


def _repeats(path: TablePath, column: Column) -> bool:
    """Whether counting the distinct identifiers of a key says more than counting the rows."""
    return column.kind == "key" and column.name != path.steps[-1].to_column and not is_unique(column)
