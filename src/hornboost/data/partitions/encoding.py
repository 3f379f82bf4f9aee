"""The columns of a table that stays on disk: what is known of them without their rows, and their rows encoded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from hornboost.data.convert import factorize, remap, to_moments, to_numbers
from hornboost.data.partitions.raw import distinct_values
from hornboost.data.partitions.spool import StreamedSource
from hornboost.data.partitions.warehouse import columns_of
from hornboost.data.schema import TableSchema
from hornboost.data.table import Column, Table
from hornboost.data.values import as_integers, check_key, is_text, stored_type, to_text

if TYPE_CHECKING:
    import pyarrow as pa


class Outlined:
    """A table on disk as `build` is to see it: enough of each column to tell its type, and all of its categories.

    That is each distinct value of nominals and of times that are written as text, one value of other attributes, and of
    a key one that says whether all are whole numbers.
    """

    whole = False

    def __init__(self, source: StreamedSource, schema: TableSchema, times: set[str]) -> None:
        self.name, self.location, self.columns = source.name, source.location, source.columns
        self.stored = source.stored
        self.n_rows = source.n_rows
        self._source = source
        self._types = {column.name: column.type for column in schema.columns}
        self._times = times
        self._found: dict[str, pa.ChunkedArray] = {}

    def read(self, column: str) -> pa.ChunkedArray:
        if column not in self._found:
            self._found[column] = self._read(column)
        return self._found[column]

    def drop(self, column: str) -> None:
        self._found.pop(column, None)

    def _read(self, column: str) -> pa.ChunkedArray:
        rows, kind = self._source.rows, self._types[column]
        if kind == "nominal" and column not in self._times:
            return distinct_values(rows, column)
        first = _first_value(self._source, column)
        if is_text(first.type):
            if kind == "key":
                return _like_all(self._source, column)
            return distinct_values(rows, column) if column in self._times else first.slice(0, 0)
        if kind == "key" and stored_type(first.type) != "integer":
            return distinct_values(rows, column)
        return first


def _first_value(source: StreamedSource, column: str) -> pa.ChunkedArray:
    """One value of a column that is not null, or null if all are, in its type."""
    import pyarrow as pa

    values = pa.chunked_array([], pa.null())
    for (batch,) in source.rows.batches([column]):
        values = batch.cast(batch.type.value_type) if pa.types.is_dictionary(batch.type) else batch
        if values.null_count < len(values):
            return values.drop_null().slice(0, 1)
    return values.slice(0, 1)


def _like_all(source: StreamedSource, column: str) -> pa.ChunkedArray:
    """A text that is a whole number if all of a column are; none if there is none."""
    import pyarrow as pa

    found = pa.chunked_array([], pa.string())
    for (values,) in source.rows.batches([column]):
        distinct = factorize(values)[1].drop_null()
        if len(distinct) and as_integers(distinct.cast(pa.string())) is None:
            return pa.chunked_array([["x"]])
        found = pa.chunked_array([["0"]]) if len(distinct) else found
    return found


class Encoder:
    """Makes of the rows on disk what `build` makes of rows in memory, a batch at a time."""

    def __init__(self, source: StreamedSource, schema: TableSchema, table: Table, key_types: Mapping[str, str]) -> None:
        self._source = source
        self._types = {column.name: column.type for column in schema.columns}
        self._table = table
        self._key_types = key_types
        self._columns = columns_of(table)
        self._times = {*table.late.values(), *([] if table.times is None else [table.times.name])}
        self._categories: dict[str, pa.Array] = {}

    @property
    def schema(self) -> pa.Schema:
        """The columns of the encoded rows, and their types."""
        import pyarrow as pa

        kinds = [self._kind(column) for column in self._columns]
        return pa.schema([("place", pa.int64()), *((f"c{k}", kind) for k, kind in enumerate(kinds))])

    def _kind(self, column: Column) -> pa.DataType:
        import pyarrow as pa

        if column.kind == "key":
            return pa.int64() if self._key_types[str(column.domain)] == "int64" else pa.string()
        return pa.int32() if column.kind == "nominal" else pa.float64()

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The encoded rows."""
        import pyarrow as pa

        schema, start = self.schema, 0
        for values in self._source.rows.batches([column.name for column in self._columns]):
            n = len(values[0]) if values else 0
            encoded = [self._encoded(column, held) for column, held in zip(self._columns, values, strict=True)]
            yield pa.record_batch([pa.array(np.arange(start, start + n)), *encoded], schema=schema)
            start += n

    def _encoded(self, column: Column, values: pa.ChunkedArray) -> pa.Array:
        import pyarrow as pa

        place = f"{self._source.location}: table '{self._table.name}', column '{column.name}'"
        if column.kind == "key":
            check_key(values, place)
            return _keys(values, self._kind(column))
        if column.kind == "nominal":
            return self._codes(column, values)
        is_moment = column.is_date if column.name in self._times else self._types[column.name] == "date"
        numbers = to_moments(values, place) if is_moment else to_numbers(values, place)[0]
        return pa.array(numbers, from_pandas=True)

    def _codes(self, column: Column, values: pa.ChunkedArray) -> pa.Array:
        import pyarrow as pa
        import pyarrow.compute as pc

        if column.name not in self._categories:
            self._categories[column.name] = pa.array(column.categories, pa.string())
        codes, distinct = factorize(values)
        known = pc.index_in(to_text(distinct), value_set=self._categories[column.name], skip_nulls=True)
        mapped = remap(codes, np.asarray(known.fill_null(-1).to_numpy(zero_copy_only=False), np.int32))
        return pa.array(mapped, mask=mapped < 0)


def _keys(values: pa.ChunkedArray, kind: pa.DataType) -> pa.Array:
    """Keys as 64-bit integers or text, whichever all keys of their domain are."""
    import pyarrow as pa

    if pa.types.is_integer(values.type) and values.type != pa.uint64() and kind == pa.int64():
        return values.cast(kind).combine_chunks()
    codes, distinct = factorize(values)
    texts = to_text(distinct).cast(kind)
    return texts.take(pa.array(np.maximum(codes, 0), mask=codes < 0)) if len(texts) else pa.nulls(len(codes), kind)


def stripped(tables: Mapping[str, Table], kept: set[str]) -> dict[str, Table]:
    """The tables without the rows of all but some."""
    return {name: table if name in kept else _empty(table) for name, table in tables.items()}


def _empty(table: Table) -> Table:
    def without(column: Column) -> Column:
        return column.holding(np.empty(0) if column.kind == "numeric" else np.empty(0, np.int32))

    columns: dict[str, Any] = {name: without(column) for name, column in table.columns.items()}
    return Table(table.name, columns, 0, times=None if table.times is None else without(table.times), late=table.late)
