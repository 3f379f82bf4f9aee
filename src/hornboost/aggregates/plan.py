"""Which aggregates there are, and what they are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
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


ALL_ROWS = RowFilter()


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
            return replace(own.holding(values), name=self.name)
        numbers = values.astype(np.float64)
        if self.column is not None and own is None:
            return Column(self.name, "numeric", numbers, is_age=is_dated)
        is_date = own is not None and own.is_date and self.function in ("min", "max", "last")
        return Column(self.name, "numeric", numbers, is_date=is_date)


def plan(
    paths: Sequence[TablePath],
    tables: Mapping[str, Table],
    functions: Sequence[str],
    cutoff: str | None,
    where: Mapping[TablePath, Mapping[str, Sequence[str]]],
    windows: Mapping[TablePath, Sequence[tuple[str, float]]],
    order: Mapping[str, Sequence[str]],
) -> list[AggregateColumn]:
    """The aggregates of every path; `order` has the columns of each table as they were read, with its time.

    `cutoff` names the example's time that dates are subtracted from, `where` the values to look at, `windows` how old
    rows are at most, as text and as a number. Where rows have times, there is a last one, and all have an age.
    """
    out: list[AggregateColumn] = []
    for path in paths:
        table = tables[path.table]
        columns = [_Shown(_name(path, column, cutoff), column.name, column.is_date) for column in table.attributes]
        if table.times is not None and table.age is not None:
            names = list(order[path.table])  # the age stands where the time was
            place = names.index(table.times.name) if table.times.name in names else len(names)
            at = sum(shown.column in names[:place] for shown in columns)
            columns.insert(at, _Shown(f"{path.label}.{table.age}", table.age, is_moment=True))
        nominal = {column.name for column in table.attributes if column.kind != "numeric"}
        numeric = [shown for shown in columns if shown.column not in nominal]
        if path.single:
            out += [AggregateColumn(shown.text, "value", path, shown.column) for shown in columns]
            continue
        of_rows = [name for name in ("count", "share") if name in functions]
        of_numbers = [name for name in NUMERIC if name in functions and (name != "last" or table.times is not None)]
        if "count" in functions:
            out.append(AggregateColumn(f"count({path.label})", "count", path))
        out += _numeric(path, numeric, of_numbers)
        out += [
            AggregateColumn(f"{function}({path.label}.{column.name})", function, path, column.name)
            for column in table.columns.values()
            for function in SPREAD
            if function in functions
            if column.kind == "nominal" or (function == "distinct" and _repeats(path, column))
        ]
        conditions = [
            (f'{name}="{value}"', RowFilter((name, value)))
            for name, values in where.get(path, {}).items()
            for value in values
        ]
        conditions += [(f"{table.age}<={text}", RowFilter(None, length)) for text, length in windows.get(path, ())]
        for text, rows in conditions:
            shown = f"({path.label} where {text})"
            out += [AggregateColumn(name + shown, name, path, None, *rows) for name in of_rows]
            out += _numeric(path, numeric, of_numbers, text, rows)
    return out


class _Shown(NamedTuple):
    """A column, what it is called, and whether it is a time, of which a sum counts days of nothing."""

    text: str
    column: str
    is_moment: bool


def _numeric(
    path: TablePath, columns: Sequence[_Shown], functions: Sequence[str], text: str = "", rows: RowFilter = ALL_ROWS
) -> list[AggregateColumn]:
    condition = f" where {text}" if text else ""
    return [
        AggregateColumn(f"{function}({shown.text}{condition})", function, path, shown.column, *rows)
        for shown in columns
        for function in functions
        if not (shown.is_moment and function == "sum")
    ]


def _name(path: TablePath, column: Column, cutoff: str | None) -> str:
    plain = f"{path.label}.{column.name}"
    return f"{cutoff} - {plain}" if column.is_date and cutoff is not None else plain


def _repeats(path: TablePath, column: Column) -> bool:
    """Whether counting the distinct identifiers of a key says more than counting the rows."""
    return column.kind == "key" and column.name != path.steps[-1].to_column and not is_unique(column)
