"""Rows of a SQLite table a batch at a time, in the types that all of its rows have together.

A column of SQLite may hold anything in any row: it is of whole numbers if all of its values are, of floats if all are
numbers, and otherwise of text, as in `readers.sql`, where all rows are read at once.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hornboost.data.partitions.raw import BATCH
from hornboost.data.values import value_text
from hornboost.errors import DataError
from hornboost.sql.catalogue import read_columns, types_held
from hornboost.sql.dialects import SQLITE

if TYPE_CHECKING:
    import pyarrow as pa


def sqlite_batches(path: Path, table: str, columns: Sequence[str]) -> Iterator[pa.Table]:
    """The rows of some columns."""
    import pyarrow as pa

    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as connection:
        held = connection.execute(types_held(table, columns)).fetchone()
        kinds = [_kind(held[3 * k : 3 * k + 3], f"{path.name}: {table}.{name}") for k, name in enumerate(columns)]
        yield pa.schema(list(zip(columns, kinds, strict=True))).empty_table()
        try:
            found = connection.execute(read_columns(table, None, dict.fromkeys(columns, ()), SQLITE))
            while rows := found.fetchmany(BATCH):
                yield pa.table({name: _column([row[k] for row in rows], kinds[k]) for k, name in enumerate(columns)})
        except sqlite3.OperationalError as error:
            raise DataError(f"{path.name}: table '{table}' cannot be read ({error}); check its text") from None


def _kind(held: Sequence[int | None], place: str) -> pa.DataType:
    import pyarrow as pa

    has_text, has_real, has_blob = held
    if has_blob:
        raise DataError(f"{place} holds binary values, which a stream cannot read; leave the column out")
    return pa.string() if has_text else pa.float64() if has_real else pa.int64()


def _column(values: list[Any], kind: pa.DataType) -> pa.Array:
    import pyarrow as pa

    if pa.types.is_string(kind):
        values = [value if value is None or isinstance(value, str) else value_text(value) for value in values]
    elif pa.types.is_floating(kind):
        values = [None if value is None else float(value) for value in values]
    return pa.array(values, kind)
