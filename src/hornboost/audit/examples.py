"""The examples as an audit sees them: what they are, when predictions are due, and which rows they reach."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hornboost.data.table import Column, Table
from hornboost.data.time_facts import SAMPLE, Step, looks_timed, reached_pairs, shortest_paths
from hornboost.data.times import time_text

if TYPE_CHECKING:
    import pandas as pd

    from hornboost.data import Database

N_WITNESSES, N_COLUMNS = 5, 8

_BIRTH = re.compile(r"birth|born|\bdob\b|founded", re.IGNORECASE)

Longs = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Due:
    """The time up to which each example may look, in the order of `example_rows`; `is_declared` or guessed."""

    column: str
    times: Column
    is_declared: bool

    def about(self, table: str) -> str:
        """What the times of other rows are compared with."""
        return f"{table}.{self.column}" + ("" if self.is_declared else ", taken for the time of the prediction")


@dataclass(frozen=True, eq=False)
class ReachedRows:
    """Pairs of an example, by its position, and a row of a table."""

    example: Longs
    rows: Longs

    def of(self, chosen: NDArray[np.bool_]) -> ReachedRows:
        return ReachedRows(self.example[chosen], self.rows[chosen])

    def __len__(self) -> int:
        return len(self.rows)


@dataclass(frozen=True, eq=False)
class AuditedExamples:
    """The examples of a database, their classes or numbers, and what they reach."""

    database: Database

    @property
    def target(self) -> Table:
        return self.database.tables[self.database.target.table]

    @property
    def rows(self) -> Longs:
        """The rows of the target table that are examples."""
        return self.database.example_rows

    @cached_property
    def y(self) -> NDArray[Any]:
        """Their labels: text, or numbers."""
        found = self.database.examples()[1]
        return np.asarray(found, np.float64) if self.is_of_numbers else np.array([str(value) for value in found])

    @property
    def is_labelled(self) -> bool:
        return self.database.target.label is not None and self.rows.size > 0

    @property
    def is_of_numbers(self) -> bool:
        return self.database.label_kind == "numbers"

    @cached_property
    def classes(self) -> tuple[NDArray[np.int32], tuple[str, ...]]:
        """The class of each example as a number, and the names of the classes."""
        names, codes = np.unique(self.y, return_inverse=True)
        return codes.astype(np.int32), tuple(str(name) for name in names)

    @cached_property
    def due(self) -> Due | None:
        """When predictions are due: as declared, or by the latest column of the target that looks like a time.

        A date of birth is none, nor is a column with gaps: every example has its time.
        """
        if self.target.times is not None:
            times = self.target.times
            return Due(times.name, times.holding(times.numbers[self.rows]), True)
        candidates = [
            column.holding(column.numbers[self.rows])
            for column in self.target.attributes
            if column.kind == "numeric" and looks_timed(column) and not _BIRTH.search(column.name)
        ]
        whole = [column for column in candidates if not column.missing.any()]
        if not whole:
            return None
        latest = max(whole, key=lambda column: (column.is_date, float(np.median(column.numbers))))
        return Due(latest.name, latest, False)

    def comparable(self, table: Table) -> list[Column]:
        """The columns of a table, none of them declared, that hold times as the examples do."""
        if self.due is None:
            return []
        return [
            column
            for column in table.attributes
            if column.kind == "numeric"
            and column.name not in table.late
            and looks_timed(column)
            and column.is_date == self.due.times.is_date
            and not (table is self.target and column.name == self.due.column)
        ]

    def time_of(self, table: Table) -> Column | None:
        """When the rows of a table came about: as declared, or by the earliest column without gaps."""
        if table.times is not None:
            return table.times
        found = [column for column in self.comparable(table) if not _BIRTH.search(column.name)]
        found = [column for column in found if not column.missing.any()]
        return min(found, key=lambda column: float(np.median(column.numbers)), default=None)

    @cached_property
    def paths(self) -> dict[str, tuple[Step, ...]]:
        """One of the shortest ways to each table; to the target's own rows over a key that several of them share."""
        found = shortest_paths(self.database.tables, self.target.name)
        shared = [key.name for key in self.target.keys if _is_shared(key)]
        found[self.target.name] = ((shared[0], self.target.name, shared[0]),) if shared else ()
        return found

    def reached(self, table: str) -> ReachedRows:
        """The rows of a table that a sample of the examples reaches, whatever their time."""
        path = self.paths.get(table)
        if not path:
            return ReachedRows(np.empty(0, np.int64), np.empty(0, np.int64))
        sample = self.rows[self.sample]
        of_example, rows, _ = reached_pairs(self.database, sample, path)
        found = ReachedRows(self.sample[of_example], rows)
        return found if table != self.target.name else found.of(self.rows[found.example] != rows)

    @cached_property
    def sample(self) -> Longs:
        """The positions of the examples whose rows are looked at."""
        return np.linspace(0, self.rows.size - 1, min(SAMPLE, self.rows.size)).astype(np.int64)

    def witnesses(self, table: Table, found: ReachedRows, *shown: str) -> pd.DataFrame:
        """Some rows, those of the columns first that are `shown`, beside the keys and times of their examples."""
        few = found.of(_few(found.example))
        key = [*self.database.target.key] or [column.name for column in self.target.keys[:1]]
        due = [] if self.due is None else [self.due.column]
        if table is self.target and (few.rows == self.rows[few.example]).all():
            return rows_frame(self.database, table, few.rows, [*key, *due, *shown])
        frame = rows_frame(self.database, self.target, self.rows[few.example], [*key, *due], len(key) + len(due))
        frame.columns = [f"{self.target.name}.{name}" for name in frame.columns]
        own = [column.name for column in table.keys[:1]]
        other = rows_frame(self.database, table, few.rows, [*own, *shown], N_COLUMNS - len(frame.columns))
        prefix = f"other {table.name}" if table is self.target else table.name
        other.columns = [f"{prefix}.{name}" for name in other.columns]
        return frame.join(other)

    def shares(self, who: Longs) -> str:
        """Of which share of each class some examples are; nothing where numbers are predicted, or no label is."""
        if not self.is_labelled or self.is_of_numbers:
            return ""
        codes, names = self.classes
        among = np.zeros(codes.size, bool)
        among[who] = True
        parts = [
            f'{among[self.sample][codes[self.sample] == code].mean():.0%} of "{name}"'
            for code, name in enumerate(names)
            if (codes[self.sample] == code).any()
        ]
        return " and ".join(parts) if len(parts) == 2 else ", ".join(parts[:6])


def rows_frame(
    database: Database, table: Table, rows: Longs, first: Sequence[str] = (), most: int = N_COLUMNS
) -> pd.DataFrame:
    """Rows of a table as values to read: of its columns some first, and so many at most."""
    import pandas as pd

    columns = dict(table.columns)
    if table.times is not None:
        columns[table.times.name] = table.times
    wanted = [name for name in dict.fromkeys([*first, *columns]) if name in columns][:most]
    return pd.DataFrame({name: _values(database, columns[name], rows) for name in wanted})


def _values(database: Database, column: Column, rows: Longs) -> list[Any]:
    if column.kind == "numeric":
        numbers = column.numbers[rows].tolist()
        if column.is_date:
            return [None if number != number else time_text(number, True) for number in numbers]
        return [int(number) if number == number and float(number).is_integer() else number for number in numbers]
    codes = column.codes[rows].tolist()
    if column.kind == "key":
        known = database.domains[str(column.domain)].values  # noqa: PD011
        return [None if code < 0 else known[code].as_py() for code in codes]
    assert column.categories is not None
    return [None if code < 0 else str(column.categories[code]) for code in codes]


def _few(example: Longs) -> NDArray[np.bool_]:
    """The first pair of each of some examples."""
    chosen = np.zeros(example.size, bool)
    chosen[np.unique(example, return_index=True)[1][:N_WITNESSES]] = True
    return chosen


def _is_shared(key: Column) -> bool:
    known = key.codes[key.codes >= 0]
    return bool(known.size and np.bincount(known).max() > 1)
