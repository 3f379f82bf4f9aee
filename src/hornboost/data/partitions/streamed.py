"""Partitions of a source that may be larger than memory."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hornboost.data.partitions.encoding import Encoder, Outlined, stripped
from hornboost.data.partitions.spool import Spool, StreamedSource
from hornboost.data.partitions.warehouse import Warehouse, encoded_rows
from hornboost.data.partitions.writer import Progress, new_folder, no_progress, write_partitions
from hornboost.data.schema import Schema, TableSchema
from hornboost.data.source import Source
from hornboost.data.table import Table
from hornboost.data.times import Span, about_times, times_of
from hornboost.errors import DataError
from hornboost.memory import bytes_text
from hornboost.sql import partitions as statements

if TYPE_CHECKING:
    from hornboost.data.database import Database

LEAST = 512_000_000
"""Bytes below which nothing can be done."""

PYTHON, SHARE = 300 << 20, 0.5
"""The bytes that Python takes with what it imports, and what DuckDB may take of the others, as it takes more at times;
the rest is for the examples, and for the distinct values of a column."""


def partition_streamed(
    read: Callable[[Spool], Mapping[str, Any]],
    folder: Path,
    memory: int,
    overwrite: bool = False,
    progress: Progress = no_progress,
    **sizes: int,
) -> None:
    """Write a source in partitions; `read` gives the arguments of `Database`, tables on disk among its sources."""
    if memory < LEAST:
        raise DataError(f"--memory: {bytes_text(memory)} are too few; give at least {LEAST // 1_000_000} MB")
    with _without_rows(), new_folder(folder, overwrite) as temporary, _scratch(folder) as scratch:
        room = int((memory - PYTHON) * SHARE)
        progress("looking at the columns", 0, 1)
        arguments = dict(read(Spool(scratch, room)))
        sources: Mapping[str, Source] = arguments["sources"]
        database = outline(arguments)
        with _warehouse(database, sources, scratch, room, progress) as warehouse:
            _check_keys(database.schema, sources, warehouse)
            _tell_times(database, warehouse)
            write_partitions(database, warehouse, temporary, progress, **sizes)


@contextmanager
def _without_rows() -> Iterator[None]:
    """Name a value that cannot be read without its row: readers count among distinct values, or within a batch."""
    try:
        yield
    except DataError as error:
        raise DataError(re.sub(r"\brow \d+ holds", "a row holds", str(error))) from None


@contextmanager
def _scratch(folder: Path) -> Iterator[Path]:
    """A place for what is only needed meanwhile, on the disk that the partitions go to."""
    with tempfile.TemporaryDirectory(prefix=f".{folder.name[:100]}.", dir=folder.absolute().parent) as path:
        yield Path(path)


def outline(arguments: Mapping[str, Any]) -> Database:
    """The database without the rows that stay on disk."""
    from hornboost.data.database import Database

    schema, task, sources = arguments["schema"], arguments["task"], arguments["sources"]
    times = times_of(schema, task)
    seen = {
        name: Outlined(source, schema.tables[name], _times(schema.tables[name], times.get(name)))
        if isinstance(source, StreamedSource)
        else source
        for name, source in sources.items()
    }
    database = Database(**{**arguments, "sources": seen})
    kept = {name for name, source in sources.items() if source.whole}
    database._built = replace(database._built, tables=stripped(database.tables, kept))
    return database


def _times(table: TableSchema, time: str | None) -> set[str]:
    return {*table.known_later, *([] if time is None else [time])}


@contextmanager
def _warehouse(
    database: Database, sources: Mapping[str, Source], scratch: Path, memory: int, progress: Progress
) -> Iterator[Warehouse]:
    import duckdb
    import pyarrow as pa

    types = {name: "int64" if found.values.type == pa.int64() else "string" for name, found in database.domains.items()}
    connection = duckdb.connect(str(scratch / "warehouse.duckdb"))
    try:
        for name, value in (("memory_limit", f"{memory >> 20}MB"), ("temp_directory", str(scratch / "spilled"))):
            connection.execute(statements.setting(name, value)).fetchall()
        connection.execute(statements.UNORDERED).fetchall()
        for number, (name, table) in enumerate(database.tables.items()):
            progress("reading tables", number, len(database.tables))
            _fill(connection, number, table, database, sources[name], types)
        yield Warehouse(connection, database.tables, types)
    except duckdb.OutOfMemoryException:
        raise DataError(
            f"the memory does not suffice: DuckDB was given {memory >> 20} MB of it; give more with --memory, or make "
            "more partitions"
        ) from None
    except duckdb.Error as error:
        reason = str(error).strip().splitlines()[0]
        raise DataError(f"the partitions cannot be made ({reason}); check the space on the disk") from None
    finally:
        connection.close()


def _fill(
    connection: Any, number: int, table: Table, database: Database, source: Source, types: Mapping[str, str]
) -> None:
    """Put the encoded rows of a table into DuckDB."""
    import pyarrow as pa

    rows: Any
    if isinstance(source, StreamedSource):
        encoder = Encoder(source, database.schema.tables[table.name], table, types)
        rows = pa.RecordBatchReader.from_batches(encoder.schema, encoder.batches())
    else:
        rows = encoded_rows(table, database.domains)
    connection.register("incoming", rows)
    connection.execute(statements.keep(number)).fetchall()
    connection.unregister("incoming")


def _check_keys(schema: Schema, sources: Mapping[str, Source], warehouse: Warehouse) -> None:
    """Refuse a declared primary key that is null or not unique."""
    for name, table in warehouse.tables.items():
        primary = schema.tables[name].primary_key
        if sources[name].whole or not primary or not all(column in table.columns for column in primary):
            continue
        place = f"{sources[name].location}: table '{name}', primary key '{', '.join(primary)}'"
        advice = "correct the rows or take primary_key out of the schema"
        columns = [warehouse.place(name, column) for column in primary]
        for column, (number, k) in zip(primary, columns, strict=True):
            row = warehouse.one(statements.without_key(number, k))
            if row is not None:
                raise DataError(f"{place}: row {row + 1} has no '{column}'; {advice}")
        if len(primary) == 1 and warehouse.is_unique(name, primary[0]):
            continue
        twice = warehouse.rows(statements.repeated_tuple(columns[0][0], [k for _, k in columns]))
        if twice:
            value = ", ".join(str(part) for part in twice[0])
            raise DataError(f"{place}: the value '{value}' occurs twice; {advice}")


def _tell_times(database: Database, warehouse: Warehouse) -> None:
    """What there is to say about times, which the rows on disk tell."""
    target = database.target.table
    spans = {}
    for name, table in warehouse.tables.items():
        if table.times is not None:
            ((rows, missing, first, last),) = warehouse.rows(statements.span(*warehouse.place(name, table.times.name)))
            ends = (float("inf") if first is None else first, float("-inf") if last is None else last)
            spans[name] = Span(rows, missing, *ends)
    database._time_warnings = tuple(about_times(database.tables, target, spans))
    database._first_time = min((span.first for name, span in spans.items() if name != target), default=float("inf"))
