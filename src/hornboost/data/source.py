"""Tables before they are encoded: a reader hands over Arrow columns one at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    import pyarrow as pa


class Source(Protocol):
    """One table of a reader."""

    @property
    def name(self) -> str:
        """The table's name."""

    @property
    def location(self) -> str:
        """Where the table is, for messages: a file, or the name of a database."""

    @property
    def columns(self) -> Sequence[str]:
        """The names of the columns, in order."""

    @property
    def n_rows(self) -> int:
        """The number of rows."""

    @property
    def whole(self) -> bool:
        """Whether `read` gives a value for each row, and not each value once, because the rows stay on disk."""

    @property
    def stored(self) -> Mapping[str, str]:
        """What columns are stored as where that is another type than they are read as."""

    def read(self, column: str) -> pa.ChunkedArray:
        """The values of a column."""

    def drop(self, column: str) -> None:
        """The column will not be asked for again: what is held of it may be freed."""


class DatedSource:
    """A table some of whose columns came as text and are dates, or numbers.

    `stored` says as what they are stored elsewhere.
    """

    whole = True

    def __init__(self, source: Source, dates: Mapping[str, pa.ChunkedArray], stored: Mapping[str, str]) -> None:
        self.name = source.name
        self.location = source.location
        self.columns = source.columns
        self.n_rows = source.n_rows
        self.stored: Mapping[str, str] = {**source.stored, **stored}
        self.decimal_commas: bool = getattr(source, "decimal_commas", False)
        self._source = source
        self._dates = dict(dates)

    def read(self, column: str) -> pa.ChunkedArray:
        return self._dates[column] if column in self._dates else self._source.read(column)

    def drop(self, column: str) -> None:
        self._dates.pop(column, None)
        self._source.drop(column)


class ArrowSource:
    """A table in memory; `columns` may name more columns than were read."""

    def __init__(
        self,
        name: str,
        table: pa.Table,
        location: str,
        columns: Sequence[str] | None = None,
        stored: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.whole = True
        self.stored: Mapping[str, str] = stored or {}
        self.location = location
        self.columns: list[str] = list(table.column_names if columns is None else columns)
        self.n_rows: int = table.num_rows
        self.decimal_commas = False
        """Whether numbers that are text may have a comma for a point."""
        self._columns = dict(zip(table.column_names, table.columns, strict=True))

    def read(self, column: str) -> pa.ChunkedArray:
        return self._columns[column]

    def drop(self, column: str) -> None:
        self._columns.pop(column, None)
