"""The encoded tables of a database in DuckDB, which may be larger than memory, and what is asked of all their rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import permutations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hornboost.data.bins import Bins, bin_starts
from hornboost.data.domain import Domain
from hornboost.data.table import Column, Table
from hornboost.sql import partitions as statements

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 1 << 16
"""Rows that come out of DuckDB at a time."""


class KeyCounts(NamedTuple):
    """How many keys a column has, in how many rows, how these square up over keys, and how many have one at most."""

    distinct: int
    rows: int
    squares: int
    most: int


class Warehouse:
    """Tables `e0`, `e1`, … in a DuckDB connection: keys as they were read, nominals as codes, the rest as doubles.

    `tables` tells the columns; only the target among them must have its rows. `key_types` is the type of each domain.
    """

    def __init__(self, connection: Any, tables: Mapping[str, Table], key_types: Mapping[str, str]) -> None:
        self.connection = connection
        self.tables = tables
        self.key_types = key_types
        self._counts: dict[tuple[int, int], KeyCounts] = {}
        self.number = {name: t for t, name in enumerate(tables)}
        self.domains: dict[str, list[tuple[int, int]]] = {}
        for name, table in tables.items():
            for k, column in enumerate(columns_of(table)):
                if column.kind == "key":
                    self.domains.setdefault(str(column.domain), []).append((self.number[name], k))

    def run(self, statement: str) -> None:
        """Execute a statement that gives nothing back."""
        self.connection.execute(statement).fetchall()

    def one(self, statement: str) -> Any:
        """The first value of the first row, None if there is no row."""
        found = self.rows(statement)
        return found[0][0] if found else None

    def rows(self, statement: str) -> list[Any]:
        """All rows."""
        return list(self.connection.execute(statement).fetchall())

    def batches(self, statement: str) -> Iterator[pa.RecordBatch]:
        """The result, some rows at a time."""
        found = self.connection.sql(statement)
        # DuckDB 1 calls it by the second name
        yield from (getattr(found, "to_arrow_reader", None) or found.fetch_arrow_reader)(BATCH)

    def place(self, table: str, column: str) -> tuple[int, int]:
        """The numbers of a table and of one of its columns."""
        names = [found.name for found in columns_of(self.tables[table])]
        return self.number[table], names.index(column)

    def n_rows(self, table: str) -> int:
        """The number of rows."""
        return int(self.one(statements.counted(self.number[table])))

    def key_counts(self, table: int, column: int) -> KeyCounts:
        """What is known of a key column; its rows are grouped once."""
        if (table, column) not in self._counts:
            ((distinct, rows, squares, most),) = self.rows(statements.key_counts(table, column))
            self._counts[table, column] = KeyCounts(int(distinct), int(rows), int(squares), int(most))
        return self._counts[table, column]

    def is_unique(self, table: str, column: str) -> bool:
        """Whether no two rows have the same key."""
        return self.key_counts(*self.place(table, column)).most <= 1

    def n_identifiers(self, domain: str) -> int:
        """How many identifiers the columns of a domain have together."""
        places = self.domains[domain]
        return self.key_counts(*places[0]).distinct if len(places) == 1 else self.n_distinct(places)

    def determined(self) -> list[tuple[str, ...]]:
        """The places of which `other.joined = table.out` always brings `other.column = table.carried`."""
        keys = {name: table.keys for name, table in self.tables.items()}
        pairs = [(name, one, two) for name, found in keys.items() for one in found for two in found if one is not two]
        return [
            (table, out.name, carried.name, other, joined.name, column.name)
            for table, out, carried in pairs
            for other, joined, column in pairs
            if out.domain == joined.domain
            and carried.domain == column.domain
            and self._holds(table, out, carried, other, joined, column)
        ]

    def _holds(self, table: str, out: Column, carried: Column, other: str, joined: Column, column: Column) -> bool:
        if (out, carried) == (joined, column) and self.is_unique(table, out.name):
            return True  # the row that a join leads to is the one that it comes from
        one, two = self.place(table, out.name), self.place(table, carried.name)
        three, four = self.place(other, joined.name), self.place(other, column.name)
        return self.one(statements.contradicted(*one, two[1], *three, four[1])) is None

    def rows_are_unique(self, table: str) -> bool:
        """Whether no two rows have the same keys in all key columns."""
        keys = [self.place(table, column.name)[1] for column in self.tables[table].keys]
        return bool(keys) and not self.rows(statements.repeated_tuple(self.number[table], keys))

    def included(self) -> list[tuple[str, ...]]:
        """The places (table, other, columns …) of which each row of the other table, unless it lacks one of these
        columns, has a row in the table whose keys are these.
        """
        found: list[tuple[str, ...]] = []
        for name, table in self.tables.items():
            wanted, keys = [key.domain for key in table.keys], [self.place(name, key.name)[1] for key in table.keys]
            for other, there in self.tables.items() if wanted and table.times is None else ():
                for columns in permutations(there.keys, len(keys)):
                    if other == name or [column.domain for column in columns] != wanted:
                        continue
                    theirs = [self.place(other, column.name)[1] for column in columns]
                    if self.one(statements.not_included(self.number[name], keys, self.number[other], theirs)) is None:
                        found.append((name, other, *(column.name for column in columns)))
        return found

    def levels(self, table: str, column: str, most: int) -> Bins:
        """The distinct values of a numeric column, in rising order, put together to at most so many bins."""
        places = [self.place(table, column)]
        size = self.n_distinct(places)
        if size == 0:
            return Bins(np.empty(0), np.empty(0))
        starts = bin_starts(size, most, *self._picked(places, np.array([0, size - 1])))
        low = self._picked(places, starts)
        high = low if size <= most else self._picked(places, np.append(starts[1:], size) - 1)
        return Bins(low, high)

    def _picked(self, places: Sequence[tuple[int, int]], wanted: NDArray[np.int64]) -> NDArray[np.float64]:
        """The distinct values of some ranks."""
        found, seen = [], 0
        for batch in self.batches(statements.distinct(places)):
            first, last = np.searchsorted(wanted, [seen, seen + batch.num_rows])
            found.append(batch.column(0).to_numpy(zero_copy_only=False)[wanted[first:last] - seen])
            seen += batch.num_rows
        return np.concatenate([np.empty(0), *found]) + 0.0  # -0.0 and 0.0 are one value

    def n_distinct(self, places: Sequence[tuple[int, int]]) -> int:
        """How many distinct values some columns have together."""
        return int(self.one(statements.n_distinct(places)))

    def identifiers(self, domain: str) -> pa.Array:
        """The distinct identifiers of a domain, in rising order."""
        import pyarrow as pa

        kind = pa.int64() if self.key_types[domain] == "int64" else pa.string()
        found = [batch.column(0).cast(kind) for batch in self.batches(statements.distinct(self.domains[domain]))]
        return pa.concat_arrays([pa.array([], kind), *found])


def columns_of(table: Table) -> list[Column]:
    """The columns of a table as they stand in files: in order, and its time last."""
    return [*table.columns.values(), *([] if table.times is None else [table.times])]


def loaded(connection: Any, tables: Mapping[str, Table], domains: Mapping[str, Domain]) -> Warehouse:
    """The tables of a database that is in memory."""
    import pyarrow as pa

    for number, table in enumerate(tables.values()):
        connection.register(f"e{number}", encoded_rows(table, domains))
    key_types = {name: "int64" if domain.values.type == pa.int64() else "string" for name, domain in domains.items()}
    return Warehouse(connection, tables, key_types)


def encoded_rows(table: Table, domains: Mapping[str, Domain]) -> pa.Table:
    """The rows of a table in memory, as they stand in files."""
    import pyarrow as pa

    columns = {f"c{k}": _arrow(column, domains) for k, column in enumerate(columns_of(table))}
    return pa.table({"place": pa.array(np.arange(table.n_rows)), **columns})


def _arrow(column: Column, domains: Mapping[str, Domain]) -> pa.Array:
    import pyarrow as pa

    if column.kind == "key":
        return domains[str(column.domain)].decode(column.codes)
    if column.kind == "nominal":
        return pa.array(column.codes, mask=column.codes < 0)
    return pa.array(column.numbers, from_pandas=True)
