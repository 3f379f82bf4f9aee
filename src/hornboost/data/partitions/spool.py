"""Sources that are larger than memory: a table on disk, of which a reader sees each distinct value once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hornboost.data.partitions.raw import ParquetRows, RawTable, SpooledRows, TextReading, TypedRows, distinct_values
from hornboost.data.source import Source
from hornboost.data.text_numbers import uses_commas, with_points
from hornboost.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

    from hornboost.data.readers.typed import Declared

KEPT = 1 << 24
"""Bytes of distinct values that are kept for the next time that they are asked for."""


class StreamedSource:
    """A table whose rows stay on disk. Types, categories and keys are decided by the distinct values of a column."""

    whole = False

    def __init__(self, name: str, rows: RawTable, location: str, columns: list[str] | None = None) -> None:
        self.name = name
        self.rows = rows
        self.location = location
        self.columns = list(rows.columns) if columns is None else columns
        self.stored: Mapping[str, str] = {}
        self.is_text = False
        self.decimal_commas = False
        self.categories = frozenset(getattr(rows, "listed", ()))
        self._kept: dict[str, pa.ChunkedArray] = {}

    @property
    def n_rows(self) -> int:
        return self.rows.n_rows

    def read(self, column: str) -> pa.ChunkedArray:
        import pyarrow as pa

        if column in self._kept:
            return self._kept[column]
        try:
            found = distinct_values(self.rows, column)
        except (pa.ArrowException, OSError, IndexError, TypeError) as error:
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise DataError(
                f"{self.location}: the column '{column}' cannot be read ({reason}); write it again"
            ) from None
        if found.nbytes <= KEPT:
            self._kept[column] = found
        return found

    def drop(self, column: str) -> None:
        self._kept.pop(column, None)

    def typed(self, kinds: Mapping[str, TextReading], stored: Mapping[str, str] | None = None) -> StreamedSource:
        """The same table with the text of some columns in other types; `stored` says what they are stored as."""
        made = StreamedSource(self.name, TypedRows(self.rows, kinds), self.location, self.columns)
        made.stored, made.categories = {**self.stored, **(stored or {})}, self.categories
        made.decimal_commas = self.decimal_commas
        return made


def batches_of(source: Source, column: str) -> Iterator[pa.ChunkedArray]:
    """The values of a column, one for each row: all at once, or as they come where the rows stay on disk."""
    if not isinstance(source, StreamedSource):
        yield source.read(column)
        return
    for (values,) in source.rows.batches([column]):
        yield values


class Spool:
    """Keeps rows that come from text or from a server in a folder, for as long as it is there."""

    def __init__(self, folder: Path, memory: int) -> None:
        self.folder = folder
        self.memory = memory
        self._n = 0

    def keep(self, rows: Iterable[pa.Table]) -> SpooledRows:
        """Rows as a table on disk; the first of them, which may be none, tell the types."""
        self._n += 1
        return SpooledRows(self.folder / f"raw{self._n}.arrow", rows)

    def parquet(self, source: Any) -> StreamedSource:
        """A Parquet file, read where it lies."""
        import pyarrow as pa

        made = StreamedSource(source.name, ParquetRows(source.files, source.columns), source.location)
        fields = [field for field in source.files[0].schema_arrow if pa.types.is_dictionary(field.type)]
        made.categories = frozenset(field.name for field in fields) - source.plain_text
        return made

    def csv(self, path: Path, name: str, types: Mapping[str, str] | None) -> StreamedSource:
        """A CSV file: the columns named in `types`, numbers among them as such, or all of them as text."""
        from hornboost.data.readers.csv import csv_header, has_decimal_commas, stream_csv

        header, decimal_commas = csv_header(path), has_decimal_commas(path)
        rows: RawTable = self.keep(stream_csv(path, header if types is None else types))
        numbers = [column for column in rows.columns if types is not None and types[column] == "numeric"]
        if numbers:
            place = f"{path.name}: table '{name}'"
            rows = TypedRows(
                rows,
                {
                    column: NumbersAsText(
                        f"{place}, column '{column}'", decimal_commas and uses_commas(distinct_values(rows, column))
                    )
                    for column in numbers
                },
            )
        made = StreamedSource(name, rows, path.name, header)
        made.is_text, made.decimal_commas = types is None, decimal_commas
        return made

    def typed(self, source: Source, notes: list[str], declared: Mapping[str, Declared]) -> Source:
        """A table of text in the types that all of a column has, as `readers.typed.typed_source` finds them."""
        from hornboost.data.readers.typed import check_moments, text_type

        if not isinstance(source, StreamedSource) or not source.is_text:
            return source
        kinds: dict[str, TextReading] = {}
        stored: dict[str, str] = {}
        for name in source.columns:
            values, place = source.read(name), f"{source.name}.{name}"
            kind, known = declared.get(name, ("", None))
            check_moments(values, kind, known, f"{source.location}: table '{source.name}', column '{name}'")
            found = text_type(values, declared.get(name), place, notes, source.decimal_commas)
            if found is not None:
                kinds[name] = found
                stored |= {} if found.stored is None else {name: found.stored}
            source.drop(name)
        return source.typed(kinds, stored)

    def dated(self, source: StreamedSource, dates: Iterable[str]) -> StreamedSource:
        """A table in which text of columns that are declared as dates is read as dates."""
        import pyarrow as pa

        from hornboost.data.readers.typed import text_type

        kinds: dict[str, TextReading] = {}
        for name in dates:
            values = source.read(name) if name in source.columns else None
            if values is not None and pa.types.is_string(values.type):
                found = text_type(values, None, f"{source.name}.{name}", [])
                if found is not None and found.order is None:  # others are text to SQL
                    kinds[name] = found
        return source.typed(kinds) if kinds else source


@dataclass(frozen=True)
class NumbersAsText:
    """Text that is declared to be numbers."""

    place: str
    has_commas: bool = False

    def convert(self, values: pa.ChunkedArray) -> pa.ChunkedArray:
        """Texts as doubles, missing where there is none."""
        import pyarrow as pa

        from hornboost.data.convert import parse_numbers

        texts = with_points(values) if self.has_commas else values
        return pa.chunked_array([pa.array(parse_numbers(texts, self.place), from_pandas=True)])
