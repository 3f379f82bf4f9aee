"""A folder of CSV, CSV.gz and Parquet files, with a `schema.toml` or without one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hornboost.data.partitions.manifest import NAME as MANIFEST
from hornboost.data.readers.csv import csv_header, has_decimal_commas, read_csv, table_name
from hornboost.data.readers.inside import inside
from hornboost.data.readers.options import task_from_options, with_times, with_types
from hornboost.data.readers.selection import select_tables
from hornboost.data.schema import Folds, Schema, TableSchema, Task, split_reference
from hornboost.data.schema_file import read_schema
from hornboost.data.source import ArrowSource, Source
from hornboost.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

    from hornboost.data.partitions.spool import Spool

SUFFIXES = (".csv", ".csv.gz", ".parquet")
SPREADSHEETS = (".xlsx", ".xls", ".xlsm", ".ods", ".numbers")


class ParquetSource:
    """A Parquet file, or a folder of them with the same columns, read a column at a time."""

    def __init__(self, name: str, path: Path) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        paths = sorted(_parts(path)) if path.is_dir() else [path]
        if not paths:
            raise DataError(
                f"{path.name}: the folder holds no .parquet file; put the parts of the table into it, or remove it"
            )
        named = [name for part in paths for name in part.relative_to(path).parts[:-1] if "=" in name]
        if named:
            raise DataError(
                f"{path.name}: the name of the folder '{named[0]}' holds a value of the column "
                f"'{named[0].partition('=')[0]}', and columns are read from files only; add that column to the files"
            )
        self.name = name
        self.whole = True
        self.stored: dict[str, str] = {}
        self.location = path.name
        try:
            schemas = [pq.read_schema(part) for part in paths]
            text = [
                field.name
                for field in schemas[0]
                if pa.types.is_string(field.type) or pa.types.is_large_string(field.type)
            ]
            self.plain_text = frozenset(text)
            """Columns that are read as dictionaries, but are not categories."""
            # what Arrow reads ahead it keeps for as long as the file is open, which in the end is all of it
            self.files = [pq.ParquetFile(part, read_dictionary=text, pre_buffer=False) for part in paths]
        except (pa.ArrowException, OSError) as error:
            raise _no_parquet(f"{path.name}: the file", error) from None
        if any(schema.names != schemas[0].names for schema in schemas):
            raise DataError(f"{path.name}: its files do not have the same columns; write them with the same columns")
        self.columns: list[str] = list(schemas[0].names)
        self.n_rows = sum(file.metadata.num_rows for file in self.files)

    def read(self, column: str) -> pa.ChunkedArray:
        import pyarrow as pa

        try:
            parts = [file.read(columns=[column]).column(0) for file in self.files]
            values = pa.chunked_array([chunk for part in parts for chunk in part.chunks], type=parts[0].type)
            values.validate(
                full=True
            )  # a damaged file can hold codes beyond its dictionary, and bytes that are no text
            return values
        except (pa.ArrowException, OSError, IndexError, TypeError) as error:
            raise _no_parquet(f"{self.location}: the column '{column}'", error) from None

    def drop(self, column: str) -> None:
        pass


LAKE_TABLES = {"a Delta": "_delta_log", "a Hudi": ".hoodie", "an Iceberg": "metadata/*.metadata.json"}
"""Tables of which a Parquet file may hold rows that are no longer theirs, and what such a folder holds."""


def _parts(folder: Path) -> Iterator[Path]:
    """The Parquet files in a folder and in folders there, but for what tools keep beside them, such as `_temporary`."""
    for kind, sign in LAKE_TABLES.items():
        if any(folder.glob(sign)):
            raise DataError(
                f"{folder.name}: the folder is {kind} table, whose files may also hold deleted rows; export the "
                "table's current rows as Parquet files to another folder"
            )
    for path in folder.rglob("*.parquet"):
        behind = path.relative_to(folder).parts[:-1]
        if path.is_file() and not any(name.startswith((".", "_")) and "=" not in name for name in behind):
            yield path


def _no_parquet(place: str, error: Exception) -> DataError:
    reason = (str(error).splitlines() or [type(error).__name__])[0]
    return DataError(f"{place} is no Parquet that can be read ({reason}); write it again")


def read_folder(
    folder: Path, task: str | None, options: Mapping[str, Any], allow_outside: bool = False, spool: Spool | None = None
) -> dict[str, Any]:
    """The arguments of `Database` for a folder; files that its schema names must lie in it unless `allow_outside`.

    With a `spool` tables other than the target stay on disk.
    """
    if not folder.is_dir():
        raise DataError(f"there is no folder '{folder}'; give the folder that holds the tables and schema.toml")
    from hornboost.data.partitions.manifest import refuse_partitions
    from hornboost.data.readers.inferred import infer_folder, orders_of
    from hornboost.data.readers.typed import dated_source

    folder = named(folder)
    if not (folder / "schema.toml").exists():
        refuse_partitions(folder)
        return infer_folder(folder, task, options, spool)
    schema = with_types(with_times(read_schema(folder / "schema.toml"), options), options)
    orders = orders_of(options, schema.tables)
    options = {name: value for name, value in options.items() if name != "types"}
    known = schema.task(task) if task or "target" not in options else None
    if options.get("tables") is not None:
        options = _only_tables(schema, known, options)
    chosen = task_from_options(schema, known, options)
    tables = [table for table in schema.tables.values() if table.name not in chosen.exclude_tables]
    whole = {chosen.table, *(split_reference(name, schema.tables)[0] for fold in schema.folds for name in fold.columns)}
    notes: list[str] = []
    sources = {
        table.name: open_table(
            folder, table, schema.location, allow_outside, None if table.name in whole else spool, notes
        )
        for table in tables
    }
    for name, of_columns in orders.items():
        if name in sources:
            sources[name] = dated_source(sources[name], [], sources[name].columns, orders=of_columns)
    return {
        "schema": schema,
        "task": chosen,
        "sources": sources,
        "folder": folder,
        "allow_outside": allow_outside,
        "inferred": notes,
    }


def _only_tables(schema: Schema, task: Task | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """The option `tables` of a schema, as its task states it: by the tables that are excluded."""
    target = options.get("target") or (task.table if task is not None else None)
    selection = select_tables(schema.tables, {**options, "target": target}, schema.location)
    rest = {name: value for name, value in options.items() if name != "tables"}
    return {**rest, "exclude_tables": [name for name in schema.tables if name not in selection.read]}


def read_held_out(
    folder: Path, schema: Schema, task: Task, folds: Folds, allow_outside: bool
) -> tuple[Schema, Task, dict[str, Source]]:
    """Schema, task and source of a file of examples that are not in the target table."""
    table = schema.tables[task.table]
    only = replace(table, primary_key=(), file=folds.file, rows=None)
    part = Schema({table.name: only}, location=schema.location)
    names = {column.name for column in table.columns}
    alone = Task(
        task.table,
        task.key,
        task.label,
        task.positive,
        task.negative,
        task.where,
        tuple(name for name in task.exclude_columns if name.removeprefix(table.name + ".") in names),
        predicts=task.predicts,
        time=task.time,
    )
    return part, alone, {table.name: open_table(folder, only, schema.location, allow_outside)}


def open_table(
    folder: Path,
    table: TableSchema,
    location: str,
    allow_outside: bool,
    spool: Spool | None = None,
    notes: list[str] | None = None,
) -> Source:
    """The file of a table; `notes` takes what there is to say of how it is read."""
    from hornboost.data.readers.typed import keyed_source

    found = None if table.file is not None else _find(folder, table.name)
    name = table.file if table.file is not None else None if found is None else found.name
    path = None if name is None else inside(folder, name, f"{location}: [tables.{table.name}]", allow_outside)
    if path is None or not path.exists():
        wanted = table.file or " or ".join(table.name + suffix for suffix in SUFFIXES)
        raise DataError(
            f"{location}: the file '{wanted}' of table '{table.name}' is not in the folder; "
            "add it or correct the schema"
        )
    source = open_file(path, table.name, {column.name: column.type for column in table.columns}, spool)
    keys = [column.name for column in table.columns if column.type == "key"]
    return source if is_parquet(path) else keyed_source(source, keys, [] if notes is None else notes)


def is_parquet(path: Path) -> bool:
    """Whether a table has types of its own, being one Parquet file or a folder of them."""
    return path.is_dir() or path.suffix == ".parquet"


def open_file(path: Path, name: str, types: Mapping[str, str] | None, spool: Spool | None = None) -> Source:
    """A file as a table: Parquet in its own types, CSV in the given ones, or as text; on disk with a `spool`."""
    if is_parquet(path):
        return ParquetSource(name, path) if spool is None else spool.parquet(ParquetSource(name, path))
    if not path.name.endswith((".csv", ".csv.gz")):
        raise DataError(f"{path.name}: only .csv, .csv.gz and .parquet files can be read; convert the file")
    if not path.is_file():
        raise DataError(f"{path.name}: this is no file; give one that holds a table")
    if spool is not None:
        return spool.csv(path, name, types)
    source = ArrowSource(name, read_csv(path, types), path.name, csv_header(path))
    source.decimal_commas = has_decimal_commas(path)
    return source


def named(folder: Path) -> Path:
    """A folder by a name that messages can call it by, which `.` and `..` are not."""
    return folder if folder.name not in ("", "..") else folder.resolve()


def about_unread(folder: Path) -> list[str]:
    """What in a folder may be meant to be a table and is not read: spreadsheets, and folders of Parquet files."""
    paths = sorted(folder.iterdir())
    return [
        *(
            f"{path.name} is not read; save each of its sheets as a CSV file"
            for path in paths
            if path.suffix.lower() in SPREADSHEETS
        ),
        *(
            f"the folder {path.name} holds Parquet files and is not read; if they are a table, call it "
            f"{path.name}.parquet"
            for path in paths
            if path.is_dir() and not path.name.startswith(".") and not path.name.endswith(SUFFIXES)
            if not (path / MANIFEST).exists() and _holds_parquet(path)
        ),
    ]


def _holds_parquet(folder: Path) -> bool:
    """Whether there are Parquet files in a folder or in one right there; further down would take long to look."""
    return any(next(folder.glob(pattern), None) is not None for pattern in ("*.parquet", "*/*.parquet"))


def table_files(folder: Path) -> Sequence[Path]:
    """The files of a folder that hold tables, by name."""
    return sorted(path for path in folder.iterdir() if path.name.endswith(SUFFIXES) and not path.name.startswith("."))


def _find(folder: Path, name: str) -> Path | None:
    return next((path for path in table_files(folder) if table_name(path) == name), None)
