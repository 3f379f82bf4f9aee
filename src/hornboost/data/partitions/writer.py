"""Writes a folder of partitions, all of it or nothing."""

from __future__ import annotations

import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hornboost.data.describe import Link
from hornboost.data.partitions.assignment import parts_of
from hornboost.data.partitions.examples import example_columns, plain_target
from hornboost.data.partitions.manifest import (
    DICTIONARIES,
    NAME,
    TARGET,
    ColumnEntry,
    DomainEntry,
    FileEntry,
    Manifest,
    TableEntry,
    is_partitioned,
    sealed,
)
from hornboost.data.partitions.plain import plain_schema
from hornboost.data.partitions.reach import reach
from hornboost.data.partitions.warehouse import Warehouse, columns_of
from hornboost.data.table import Column, Table
from hornboost.errors import DataError
from hornboost.sql import partitions as statements
from hornboost.stopping import check

if TYPE_CHECKING:
    from hornboost.data.database import Database

DEPTH = 2
"""Joins from an example up to which its part holds the rows."""

SMALL_TABLE = 10_000
"""Rows of a table up to which every part holds all of it."""

MOST_PARTS = 100_000
MANY_PARTS = 32
"""From more parts on it pays to sort the rows of a table by part, instead of looking through them for each part."""


Progress = Callable[[str, int, int], object]
"""Called with a stage, the steps done and their total."""


def no_progress(stage: str, done: int, total: int) -> None:
    """Show nothing."""


@contextmanager
def new_folder(folder: Path, overwrite: bool = False) -> Iterator[Path]:
    """A temporary folder that becomes the one asked for when the work within is done, and vanishes otherwise."""
    check_new(folder, overwrite)
    try:
        temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name[:100]}.", dir=folder.absolute().parent))
    except OSError as error:
        raise DataError(f"{folder}: the folder cannot be made ({error.strerror}); choose another place") from None
    try:
        yield temporary
        temporary.chmod(0o755)
        if folder.exists():
            old = temporary.with_name(temporary.name + ".old")
            folder.rename(old)
            temporary.rename(folder)
            shutil.rmtree(old, ignore_errors=True)
        else:
            temporary.rename(folder)
    except OSError as error:
        raise DataError(
            f"{folder}: the partitions cannot be written ({error.strerror or error}); nothing was, choose another place"
        ) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def check_new(folder: Path, overwrite: bool) -> None:
    """Refuse a folder that exists, unless it may be replaced."""
    if folder.exists() and not (overwrite and is_partitioned(folder)):
        way_out = "only a folder of partitions is overwritten" if overwrite else "name a folder that does not"
        raise DataError(f"{folder}: it exists already; {way_out}")


def write_partitions(
    database: Database,
    warehouse: Warehouse,
    folder: Path,
    progress: Progress,
    *,
    partitions: int,
    depth: int,
    small_table: int,
    max_bins: int,
) -> None:
    """Write the files and the manifest into a folder; of `database` only the target must have its rows."""
    _Writer(database, warehouse, folder, max_bins, progress).write(partitions, depth, small_table)


class _Writer:
    def __init__(
        self, database: Database, warehouse: Warehouse, folder: Path, max_bins: int, progress: Progress
    ) -> None:
        self.database = database
        self.warehouse = warehouse
        self.folder = folder
        self.max_bins = max_bins
        self.progress = progress
        self.files = _file_names(warehouse.tables)
        self.written: list[str] = []

    def write(self, partitions: int, depth: int, small_table: int) -> None:
        import pyarrow as pa

        database, target = self.database, self.database.target.table
        (self.folder / DICTIONARIES).mkdir()
        part = parts_of(database.tables[target], database.domains, partitions)
        places = pa.table({"place": pa.array(np.arange(part.size)), "part": pa.array(part)})
        self.warehouse.connection.register("parts", places)
        self.progress("following keys", 0, 1)
        reach(self.warehouse, target, depth)
        rows = {name: self.warehouse.n_rows(name) for name in self.warehouse.tables}
        whole = {name for name, count in rows.items() if count <= small_table}
        self._write_target(part, partitions, target in whole)
        counts, shared = {}, {}
        for name in rows:
            shared[name] = 0 if name in whole or partitions == 1 else self._shared(name)
            counts[name] = self._write_parts(name, partitions, name in whole, rows[name], shared[name])
        tables = [
            self._table(table, rows[name], name in whole, counts[name], shared[name]) for name, table in self._tables()
        ]
        manifest = Manifest(
            **self._origin(),
            partitions=partitions,
            depth=depth,
            small_table=small_table,
            max_bins=self.max_bins,
            tables=tuple(tables),
            domains=tuple(self._domain(number, name) for number, name in enumerate(self.warehouse.domains)),
            determined=tuple(self.warehouse.determined()),
            included=tuple(self.warehouse.included()),
            links=tuple(asdict(link) for link in self._links()),
            files={name: _measured(self.folder / name) for name in sorted(self.written)},
        )
        _write_whole(self.folder / NAME, sealed(manifest))

    def _tables(self) -> list[tuple[str, Table]]:
        return list(self.warehouse.tables.items())

    def _origin(self) -> dict[str, Any]:
        from hornboost import __version__

        database = self.database
        return {
            "hornboost": __version__,
            "schema": plain_schema(database.schema),
            "task": asdict(database._task),
            "target": plain_target(database._built)
            | {"hidden": sorted(database._hidden), "columns": list(database._target_columns)}
            | {"class_type": database.class_type},
            "said": {
                "inferred": list(database.inferred),
                "left_out": list(database.left_out),
                "warnings": list(database.reading_warnings),
                "time_warnings": list(database.time_warnings),
                "first_time": str(database.first_time),
            },
        }

    def _write_target(self, part: Any, partitions: int, is_whole: bool) -> None:
        """The rows of the target, with the part of each and its row there."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        name = self.database.target.table
        number = self.warehouse.number[name]
        row = np.arange(part.size, dtype=np.int64)
        for k in range(0 if is_whole else partitions):
            check()
            statement = statements.rows_of_part(number, k)
            held = self.warehouse.connection.sql(statement).to_arrow_table().column(0).to_numpy()
            own = np.flatnonzero(part == k)
            row[own] = np.searchsorted(held, own)
        statement = statements.all_rows(number, len(columns_of(self.warehouse.tables[name])))
        table = self.warehouse.connection.sql(statement).to_arrow_table()
        told = example_columns(self.database._built, part.size)
        for column, values in {**told, "partition": pa.array(part), "row": pa.array(row)}.items():
            table = table.append_column(column, values)
        pq.write_table(table, self.folder / TARGET, compression="zstd")
        self.written.append(TARGET)

    def _shared(self, name: str) -> int:
        """How many rows several parts have, which are numbered in `s`."""
        self.warehouse.run(statements.shared_rows(self.warehouse.number[name]))
        return int(self.warehouse.one(statements.N_SHARED))

    def _write_parts(self, name: str, partitions: int, is_whole: bool, rows: int, shared: int) -> list[int]:
        number, n_columns = self.warehouse.number[name], len(columns_of(self.warehouse.tables[name]))
        counts = dict(self.warehouse.rows(statements.n_rows_of_parts(number)))
        put_together = partitions > MANY_PARTS and not is_whole
        if put_together:
            self.warehouse.run(statements.by_part(number, n_columns))
        for part in range(partitions):
            check()
            self.progress("writing partitions", number * partitions + part, len(self.warehouse.tables) * partitions)
            place = f"part-{part:05}/{self.files[name]}"
            (self.folder / place).parent.mkdir(exist_ok=True)
            path, chosen = str(self.folder / place), None if is_whole else part
            ways = {"put_together": put_together, "some_shared": shared > 0}
            self.warehouse.run(statements.write_part(number, n_columns, path, chosen, **ways))
            self.written.append(place)
        return [rows if is_whole else int(counts.get(part, 0)) for part in range(partitions)]

    def _table(self, table: Table, rows: int, is_whole: bool, parts: list[int], shared: int) -> TableEntry:
        columns = [self._column(table, k, column) for k, column in enumerate(columns_of(table))]
        times = None if table.times is None else columns.pop()
        unique = [column.name for column in table.keys if self.warehouse.is_unique(table.name, column.name)]
        late = dict(table.late)
        return TableEntry(
            table.name,
            self.files[table.name],
            tuple(columns),
            times,
            late,
            rows,
            is_whole,
            tuple(parts),
            tuple(unique),
            self.warehouse.rows_are_unique(table.name),
            shared,
        )

    def _column(self, table: Table, k: int, column: Column) -> ColumnEntry:
        """The entry of a column, and the file of its categories or levels."""
        import pyarrow as pa

        check()
        place = (self.warehouse.number[table.name], k)
        categories, levels, squares = None, None, 0
        file = f"{DICTIONARIES}/{Path(self.files[table.name]).stem}-c{k}.parquet"
        if column.kind == "nominal":
            categories = self._dictionary(file, value=pa.array(column.categories, pa.string()))
            distinct = self.warehouse.n_distinct([place])
        elif column.kind == "numeric":
            bins = self.warehouse.levels(table.name, column.name, self.max_bins)
            levels = self._dictionary(file, low=pa.array(bins.low), high=pa.array(bins.high))
            distinct = bins.size if bins.size < self.max_bins else self.warehouse.n_distinct([place])
        else:
            distinct, _, squares, _ = self.warehouse.key_counts(*place)
        missing = int(self.warehouse.one(statements.n_missing(*place)))
        about = column.domain, column.is_date, column.stored, categories, levels
        return ColumnEntry(column.name, column.kind, *about, distinct, missing, squares)

    def _domain(self, number: int, name: str) -> DomainEntry:
        size = self.warehouse.n_identifiers(name)
        file = None
        if size <= self.max_bins:
            file = self._dictionary(f"{DICTIONARIES}/domain-{number}.parquet", value=self.warehouse.identifiers(name))
        return DomainEntry(name, self.warehouse.key_types[name], size, file)

    def _dictionary(self, file: str, **columns: Any) -> str:
        import pyarrow as pa
        import pyarrow.parquet as pq

        pq.write_table(pa.table(columns), self.folder / file, compression="zstd")
        self.written.append(file)
        return file

    def _links(self) -> list[Link]:
        """The foreign keys between visible columns, with the number of values that lead nowhere."""
        found = []
        tables = self.warehouse.tables
        for key in self.database.schema.foreign_keys:
            ends = ((key.table, key.column), (key.to_table, key.to_column))
            if all(table in tables and column in tables[table].columns for table, column in ends):
                places = [place for end in ends for place in self.warehouse.place(*end)]
                ((rows, dangling),) = self.warehouse.rows(statements.dangling(*places))
                found.append(Link(key.table, key.column, key.to_table, key.to_column, rows, dangling))
        return found


def _file_names(tables: Any) -> dict[str, str]:
    """A file name for each table, whose own name may be anything."""
    names, taken = {}, set()
    for number, name in enumerate(tables):
        plain = name if name.isidentifier() and name.isascii() and len(name) < 100 else f"table{number + 1}"
        plain = plain if plain.lower() not in taken else f"table{number + 1}_"
        taken.add(plain.lower())
        names[name] = f"{plain}.parquet"
    return names


def _measured(path: Path) -> FileEntry:
    with path.open("rb") as file:
        return FileEntry(path.stat().st_size, hashlib.file_digest(file, "sha256").hexdigest())


def _write_whole(path: Path, content: bytes) -> None:
    with path.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
