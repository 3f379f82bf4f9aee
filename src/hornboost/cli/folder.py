"""A database as a folder: a file a table and a `schema.toml`, all of it or nothing."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from hornboost.data.convert import distinct_integers
from hornboost.data.describe import type_name
from hornboost.data.frames import moments_of_numbers
from hornboost.data.labels import LabelKind
from hornboost.data.schema import ColumnSchema, Schema, TableSchema, Task
from hornboost.data.schema_file import write_schema
from hornboost.data.text_numbers import whole_keys
from hornboost.data.values import to_text, value_text
from hornboost.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

    from hornboost.data import Database
    from hornboost.data.table import Column, Table


def write_folder(database: Database, folder: Path, suffix: str) -> None:
    """Write every table that rules may see, the label among the columns of the target."""
    temporary = _beside(folder)
    try:
        schema = _schema(database, suffix)
        if suffix == "csv":
            _check_keys(database)
        for number, (name, table) in enumerate(_tables(database).items()):
            _write(table, temporary / _file(name, number, suffix), name)
        write_schema(schema, temporary / "schema.toml")
        temporary.chmod(0o755)
        temporary.rename(folder)
    except OSError as error:
        raise DataError(
            f"{folder}: the tables cannot be written ({error.strerror or error}); choose another place"
        ) from None
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def check_new(folder: Path) -> None:
    """Refuse a folder that cannot be made, before the source is read."""
    _beside(folder).rmdir()


def _beside(folder: Path) -> Path:
    """A temporary folder, to become the one asked for."""
    if folder.exists():
        raise DataError(f"{folder}: it exists already; name a folder that does not")
    try:
        return Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.absolute().parent))
    except OSError as error:
        raise DataError(f"{folder}: the folder cannot be made ({error.strerror}); choose another place") from None


def _tables(database: Database) -> dict[str, pa.Table]:
    import pyarrow as pa

    columns = {
        name: {column.name: _values(column, database) for column in _columns(table)}
        for name, table in database.tables.items()
    }
    target = database.target
    if target.label is not None:
        columns[target.table][target.label] = _labels(database)
    return {name: pa.table(found) for name, found in columns.items()}


def _labels(database: Database) -> pa.Array:
    """The label of each row of the target: numbers where these are predicted, else the names of the classes."""
    import pyarrow as pa

    n_rows = database.tables[database.target.table].n_rows
    rows, labels = database.labels()
    if database.label_kind == "numbers":
        numbers = np.full(n_rows, np.nan)
        numbers[rows] = labels
        return pa.array(numbers, mask=np.isnan(numbers))
    texts = np.full(n_rows, None, dtype=object)
    texts[rows] = [None if value is None or value != value else value_text(value) for value in labels]
    return pa.array(texts, pa.string())


def _columns(table: Table) -> list[Column]:
    """All columns of a table, its time among them."""
    return [*table.columns.values(), *([] if table.times is None else [table.times])]


def _check_keys(database: Database) -> None:
    """Refuse keys that are another value in a file of text."""
    for name, table in database.tables.items():
        for column in table.keys:
            keys = database.domains[str(column.domain)].decode(distinct_integers(column.codes))
            if whole_keys(keys) is not None:
                texts = f"texts such as '{keys.drop_null()[0]}'"
                raise DataError(
                    f"table '{name}': the keys '{column.name}' are {texts}, which are read from CSV files as whole "
                    "numbers; leave out --csv"
                )


def _values(column: Column, database: Database) -> pa.Array:
    import pyarrow as pa

    if column.kind == "key":
        return database.domains[str(column.domain)].decode(column.codes)
    if column.kind == "nominal":
        assert column.categories is not None
        missing = column.codes < 0
        return pa.array(column.categories, pa.string()).take(pa.array(np.where(missing, 0, column.codes), mask=missing))
    if column.is_date:
        return pa.array(moments_of_numbers(column.numbers))
    return pa.array(column.numbers, mask=column.missing)


def _schema(database: Database, suffix: str) -> Schema:
    target = database.target
    tables = {}
    for number, (name, table) in enumerate(database.tables.items()):
        columns = [ColumnSchema(column.name, type_name(column), column.domain) for column in _columns(table)]  # type: ignore[arg-type]
        if name == target.table and target.label is not None:
            columns.append(ColumnSchema(target.label, "numeric" if database.label_kind == "numbers" else "nominal"))
        known = {column.name for column in columns}
        primary = database.schema.tables[name].primary_key if name in database.schema.tables else ()
        key = primary if known.issuperset(primary) else ()
        time, later = database.times.get(name), database.known_later.get(name, {})
        tables[name] = TableSchema(name, tuple(columns), key, _file(name, number, suffix), table.n_rows, time, later)
    keys = {(table.name, column.name) for table in tables.values() for column in table.columns if column.type == "key"}
    links = tuple(
        link
        for link in database.schema.foreign_keys
        if {(link.table, link.column), (link.to_table, link.to_column)} <= keys
    )
    # classes are text in the folder, which needs no saying, but whole numbers may be either
    predicts: LabelKind | None = "numbers" if database.label_kind == "numbers" else None
    task = Task(target.table, target.key, target.label, predicts=predicts)
    if target.positive is not None:
        task = replace(
            task, positive=(target.positive,), negative=(target.negative,) if target.negative is not None else ()
        )
    if database.n_asked < database.tables[target.table].n_rows:
        task = replace(task, where=_where(database, tables[target.table]))
    return Schema(tables, links, task, name=database.schema.name, title=database.schema.title)


def _where(database: Database, table: TableSchema) -> Mapping[str, tuple[str, ...]]:
    """The condition that makes rows examples.

    It is kept as long as it can be told from what is written; otherwise the condition is that they have a label, which
    is written for no others. Classes may have other names than the values of the source.
    """
    target, where = database.target, database.where
    is_number = database.label_kind == "numbers"
    visible = {column.name for column in table.columns} - ({target.label} if not is_number else set())
    if visible.issuperset(where) or target.label is None:
        return where
    return {} if is_number else {target.label: target.classes}


def _file(name: str, number: int, suffix: str) -> str:
    """A file name for a table whose own name may be anything."""
    plain = name if name.isidentifier() and name.isascii() and len(name) < 100 else f"table{number + 1}"
    return f"{plain}.{suffix}"


def _write(table: pa.Table, path: Path, name: str) -> None:
    if path.suffix == ".csv":
        _write_csv(table, path, name)
    else:
        import pyarrow.parquet as pq

        pq.write_table(table, path)


def _write_csv(table: pa.Table, path: Path, name: str) -> None:
    """Text in quotes, so that an empty one is not taken for a missing value,
    nor a line break within for the end of a row.
    """
    import pyarrow as pa
    import pyarrow.csv as pacsv

    if table.num_columns == 1 and table.column(0).null_count:
        raise DataError(
            f"table '{name}': its only column '{table.column_names[0]}' has missing values, which would be "
            "empty lines; leave out --csv"
        )
    for position, column in enumerate(table.columns):
        if pa.types.is_timestamp(column.type):
            texts = to_text(column.combine_chunks()).to_pylist()
            plain = [None if text is None else text.removesuffix("T00:00:00") for text in texts]
            table = table.set_column(position, table.column_names[position], pa.array(plain, pa.string()))
    pacsv.write_csv(table, path)
