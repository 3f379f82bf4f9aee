"""Encoded tables: what the engine sees of a database."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import chain, count
from typing import Any
from typing import Literal as Choice

import numpy as np
from numpy.typing import NDArray

from hornboost.data.bins import Bins
from hornboost.dtypes import MISSING
from hornboost.logic.aggregate import Aggregate, Operand

Kind = Choice["key", "nominal", "numeric"]


@dataclass(frozen=True, eq=False)
class Column:
    """One typed column.

    - key: `values` are int32 codes into the dictionary of `domain` (columns of one domain can be joined), -1 is null;
    - nominal: `values` are int32 codes into `categories` (sorted strings), -1 is missing;
    - numeric: `values` are float64, NaN is missing; with `is_date`, microseconds since 1970-01-01 in UTC, with
      `is_age` microseconds up to the cutoff.

    `stored` is the type of the values that were read (`data.values.stored_type`), where that is known. `levels` are the
    distinct values of a numeric column, in bins where they are many, where the rows at hand are only some of its rows:
    every value lies in one of them.
    """

    name: str
    kind: Kind
    values: NDArray[np.int32] | NDArray[np.float64]
    domain: str | None = None
    categories: NDArray[np.object_] | None = None
    is_date: bool = False
    stored: str | None = None
    is_age: bool = False
    levels: Bins | None = None

    @property
    def codes(self) -> NDArray[np.int32]:
        """The values of a key or nominal column."""
        return self.values.astype(np.int32, copy=False)

    @property
    def numbers(self) -> NDArray[np.float64]:
        """The values of a numeric column."""
        return self.values.astype(np.float64, copy=False)

    @property
    def nbytes(self) -> int:
        """The memory that the values take here."""
        return self.values.nbytes

    @property
    def missing(self) -> NDArray[np.bool_]:
        """Which rows have no value."""
        return np.isnan(self.values) if self.kind == "numeric" else self.values == MISSING

    def here(self) -> Column:
        """The column with the rows that are at hand, which may be none where a database lies in partitions."""
        return self

    def holding(self, values: NDArray[np.int32] | NDArray[np.float64]) -> Column:
        """The same column of other rows; `dataclasses.replace` takes several times as long."""
        described = self.domain, self.categories, self.is_date, self.stored, self.is_age, self.levels
        return Column(self.name, self.kind, values, *described)

    def levelled(self, most: int) -> Column:
        """The same with its levels, in at most so many bins, so that a part of the rows is numbered as all are."""
        return self if self.kind != "numeric" else replace(self, levels=Bins.of(self.numbers).at_most(most))


@dataclass(frozen=True, eq=False)
class Table:
    """Columns of equal length, in schema order; of examples also aggregates of the rows that they reach.

    `times` says from when on each row is known, and of examples up to when: a row counts for an example if its time is
    strictly before the example's, and one without a time never does. It is no column that tests could look at. `late`
    gives for a column that is filled in after its row the column that holds the time of that; up to then the value is
    missing.
    """

    name: str
    columns: Mapping[str, Column]
    n_rows: int
    aggregates: Mapping[Aggregate, Column] = field(default_factory=dict)
    times: Column | None = None
    late: Mapping[str, str] = field(default_factory=dict)

    def column(self, operand: Operand) -> Column | None:
        """What a test looks at, if it is here."""
        return self.columns.get(operand) if isinstance(operand, str) else self.aggregates.get(operand)

    def take(self, rows: slice | NDArray[np.integer[Any]]) -> Table:
        """Some of the rows."""
        columns = {name: column.holding(column.values[rows]) for name, column in self.columns.items()}
        aggregates = {term: column.holding(column.values[rows]) for term, column in self.aggregates.items()}
        n_rows = len(range(*rows.indices(self.n_rows))) if isinstance(rows, slice) else len(rows)
        times = None if self.times is None else self.times.holding(self.times.values[rows])
        return Table(self.name, columns, n_rows, aggregates, times, self.late)

    def levelled(self, most: int) -> Table:
        """The same rows with the levels of their numeric columns, in at most so many bins each."""
        columns = {name: column.levelled(most) for name, column in self.columns.items()}
        aggregates = {term: column.levelled(most) for term, column in self.aggregates.items()}
        return replace(self, columns=columns, aggregates=aggregates)

    def as_known(self) -> Table:
        """Of examples: without the values that become known only at their cutoffs or later."""
        if not self.late or self.times is None:
            return self
        columns = dict(self.columns)
        for name, dating in self.late.items():
            if name in columns and dating in columns:
                known = self.columns[dating].numbers < self.times.numbers
                seen = self.columns[name].values.copy()
                seen[~known] = np.nan if self.columns[name].kind == "numeric" else MISSING
                columns[name] = self.columns[name].holding(seen)
        return Table(self.name, columns, self.n_rows, self.aggregates, self.times, self.late)

    @property
    def age(self) -> str | None:
        """What rules call the time from a row to the example's cutoff; None where rows have no time."""
        if self.times is None:
            return None
        taken = {*self.columns, self.times.name}
        return next(name for name in chain(["age", "row_age"], (f"row_age_{k}" for k in count(2))) if name not in taken)

    @cached_property
    def keys(self) -> tuple[Column, ...]:
        """The columns that joins may follow."""
        return tuple(column for column in self.columns.values() if column.kind == "key")

    @property
    def attributes(self) -> list[Column]:
        """The columns that tests may look at."""
        return [column for column in self.columns.values() if column.kind != "key"]
