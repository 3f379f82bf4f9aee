"""Tables that stay on disk: their rows come a batch at a time, in the Arrow types in which a reader hands them over."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from hornboost.data.values import stored_type
from hornboost.stopping import check

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 1 << 16
"""Rows of a batch."""


class RawTable(Protocol):
    """Rows on disk."""

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns, in order."""

    @property
    def n_rows(self) -> int:
        """The number of rows."""

    def batches(self, columns: Sequence[str]) -> Iterator[list[pa.ChunkedArray]]:
        """Some columns, a list of their values a batch; one batch at least, always in the same order and types."""


class ParquetRows:
    """A Parquet file, or a folder of them, where it lies; see `readers.folder.ParquetSource`."""

    def __init__(self, files: Sequence[pa.ParquetFile], columns: Sequence[str]) -> None:
        self._files = files
        self.columns = columns
        self.n_rows = sum(file.metadata.num_rows for file in files)

    def batches(self, columns: Sequence[str]) -> Iterator[list[pa.ChunkedArray]]:
        if self.n_rows == 0:
            yield from _nothing(self._files[0].schema_arrow, columns)
        for file in self._files:
            for batch in file.iter_batches(BATCH, columns=list(columns)):
                check()
                yield _checked(batch, columns)


class SpooledRows:
    """Rows that came from elsewhere, kept in an Arrow file."""

    def __init__(self, path: Path, rows: Iterable[pa.Table]) -> None:
        import pyarrow as pa

        self._path = path
        self.columns: list[str] = []
        self.n_rows = 0
        self.listed: dict[str, pa.Array] = {}
        """What dictionaries name: an enumeration may list values that no row has, which are categories nonetheless."""
        writer = None
        options = pa.ipc.IpcWriteOptions(compression="lz4")
        try:
            for table in rows:
                check()
                plain = self._without_dictionaries(table)
                if writer is None:
                    self.columns = plain.column_names
                    writer = pa.ipc.new_file(str(path), plain.schema, options=options)
                writer.write_table(plain, BATCH)
                self.n_rows += plain.num_rows
        finally:
            if writer is not None:
                writer.close()

    def _without_dictionaries(self, table: pa.Table) -> pa.Table:
        """Dictionaries may not change within an Arrow file."""
        import pyarrow as pa

        for position, field in enumerate(table.schema):
            if pa.types.is_dictionary(field.type):
                values = table.column(position)
                known = [self.listed[field.name]] if field.name in self.listed else []
                chunks = [*known, *(chunk.dictionary for chunk in values.chunks)]
                self.listed[field.name] = pa.chunked_array(chunks, field.type.value_type).unique()
                table = table.set_column(position, field.name, values.cast(field.type.value_type))
        return table

    def batches(self, columns: Sequence[str]) -> Iterator[list[pa.ChunkedArray]]:
        import pyarrow as pa

        included = [self.columns.index(name) for name in columns]
        options = pa.ipc.IpcReadOptions(included_fields=included)
        with pa.OSFile(str(self._path)) as file, pa.ipc.open_file(file, options=options) as reader:
            if self.n_rows == 0:
                yield from _nothing(reader.schema, columns)
            for number in range(reader.num_record_batches):
                check()
                yield _checked(reader.get_batch(number), columns)


class TypedRows:
    """Text of which columns are read in other types, the same for every batch."""

    def __init__(self, rows: RawTable, kinds: Mapping[str, TextReading]) -> None:
        self._rows = rows
        self._kinds = kinds
        self.columns, self.n_rows = rows.columns, rows.n_rows

    def batches(self, columns: Sequence[str]) -> Iterator[list[pa.ChunkedArray]]:
        for batch in self._rows.batches(columns):
            yield [
                self._kinds[name].convert(values) if name in self._kinds else values
                for name, values in zip(columns, batch, strict=True)
            ]


class TextReading(Protocol):
    """How the texts of a column are read."""

    def convert(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """Texts in the type of the column."""


def distinct_values(rows: RawTable, column: str) -> pa.ChunkedArray:
    """Each value of a column once, null among them; holds these alone in memory, at most twice."""
    import pyarrow as pa
    import pyarrow.compute as pc

    listed = getattr(rows, "listed", {}).get(column)
    found: list[pa.Array] = [] if listed is None else [listed]
    size = merged = 0
    kind: pa.DataType = pa.null()
    for (values,) in rows.batches([column]):
        plain = values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values
        kind = plain.type
        if stored_type(kind) is None:
            return plain.slice(0, 0)  # such values are left out, and have no order to tell them apart by
        if pa.types.is_null(kind):
            found = [pa.nulls(min(1, rows.n_rows))]
            break
        found.append(pc.unique(plain))
        size += len(found[-1])
        if size > 2 * merged + 4 * BATCH:
            found = [pc.unique(pa.chunked_array(found, kind))]
            size = merged = len(found[0])
    return pa.chunked_array([pc.unique(pa.chunked_array(found, kind))] if len(found) > 1 else found, kind)


def _nothing(schema: pa.Schema, columns: Sequence[str]) -> Iterator[list[pa.ChunkedArray]]:
    table = schema.empty_table()
    yield [table.column(name) for name in columns]


def _checked(batch: pa.RecordBatch, columns: Sequence[str]) -> list[pa.ChunkedArray]:
    import pyarrow as pa

    batch.validate(full=True)  # a damaged file can hold codes beyond its dictionary, and bytes that are no text
    return [pa.chunked_array([batch.column(name)]) for name in columns]
