"""A folder of partitions as the driver and the workers see it: the manifest, and the parts that it names."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hornboost.data.bins import Bins
from hornboost.data.built import Built, Labelled, Target
from hornboost.data.convert import factorize, remap
from hornboost.data.describe import Link
from hornboost.data.domain import Domain
from hornboost.data.model_columns import ModelColumn, boolean_categories
from hornboost.data.partitions.examples import built_of
from hornboost.data.partitions.manifest import (
    AGAIN,
    NAME,
    TARGET,
    ColumnEntry,
    DomainEntry,
    Manifest,
    TableEntry,
    read_manifest,
    understood,
)
from hornboost.data.partitions.plain import schema_of, task_of
from hornboost.data.places import SharedRows
from hornboost.data.table import Column, Table
from hornboost.errors import DataError, counted

if TYPE_CHECKING:
    import pyarrow as pa

    from hornboost.data.database import Database

_checked: dict[str, tuple[int, int]] = {}
"""Files whose checksums this process has found right, with their sizes and times of change then."""


class AbsentColumn(Column):
    """A column whose rows lie in the partitions: whoever asks for them here is told so, and never sees none."""

    @property
    def values(self) -> NDArray[Any]:
        raise DataError(f"{self.__dict__['where']}; read the source itself for this")

    @values.setter
    def values(self, where: Any) -> None:
        self.__dict__["where"] = where

    @property
    def nbytes(self) -> int:
        return 0

    def here(self) -> Column:
        return self.holding(np.empty(0) if self.kind == "numeric" else np.empty(0, np.int32))

    def __repr__(self) -> str:
        return f"AbsentColumn({self.name!r}, {self.kind!r})"


class PartitionStore:
    """A folder of partitions. It is small, and pickles as its folder and manifest."""

    def __init__(self, folder: Path, manifest: Manifest | None = None) -> None:
        self.folder = Path(folder).absolute()
        self.manifest = read_manifest(self.folder) if manifest is None else manifest
        self._shared: dict[Any, Any] = {}

    def __getstate__(self) -> dict[str, Any]:
        return {"folder": self.folder, "manifest": self.manifest, "_shared": {}}

    @property
    def n(self) -> int:
        """The number of parts."""
        return self.manifest.partitions

    @property
    def depth(self) -> int:
        """How many joins away from its examples the rows of a part are at most."""
        return self.manifest.depth

    @property
    def max_bins(self) -> int:
        """The levels of a column up to which each distinct value is one."""
        return self.manifest.max_bins

    def check(self, max_depth: int, max_bins: int) -> None:
        """Refuse to look further than the parts reach, or at other thresholds than they know."""
        if max_depth > self.depth:
            raise DataError(
                f"{self.folder.name}: max_depth={max_depth} goes further than the partitions, which hold the rows "
                f"within {counted(self.depth, 'join')}; set max_depth={self.depth}, or partition the "
                f"source with depth={max_depth}"
            )
        if max_bins != self.max_bins and self._has_bins():
            raise DataError(
                f"{self.folder.name}: the partitions hold some columns in {self.max_bins} bins, which cannot be made "
                f"into max_bins={max_bins}; set max_bins={self.max_bins}, or partition the source with {max_bins}"
            )

    def _has_bins(self) -> bool:
        """Whether some column has more distinct values than bins."""
        columns = [column for table in self.manifest.tables for column in _columns(table)]
        return any(column.kind == "numeric" and column.distinct > self.max_bins for column in columns)

    def n_identifiers(self, domain: str) -> int:
        """How many identifiers the key columns of a domain have in all rows."""
        return next(entry.size for entry in self.manifest.domains if entry.name == domain)

    def is_whole(self, table: str) -> bool:
        """Whether every part holds all rows of a table."""
        return self.manifest.table(table).whole

    def is_unique(self, table: str, column: str) -> bool:
        """Whether no two rows of the whole table have the same key."""
        return column in self.manifest.table(table).unique

    def rows_are_unique(self, table: str) -> bool:
        """Whether no two rows of the whole table have the same keys in all columns."""
        return self.manifest.table(table).rows_unique

    def includes(self, table: str, other: str, columns: Sequence[str]) -> bool:
        """Whether each row of the whole other table has a row of the table with some columns as its keys."""
        if "included" not in self._shared:
            self._shared["included"] = frozenset(self.manifest.included)
        return (table, other, *columns) in self._shared["included"]

    def determines(self, table: str, out: str, carried: str, other: str, joined: str, column: str) -> bool:
        """Whether other.joined = table.out always brings other.column = table.carried, in all rows."""
        if "determined" not in self._shared:
            self._shared["determined"] = frozenset(self.manifest.determined)
        return (table, out, carried, other, joined, column) in self._shared["determined"]

    def driver(self) -> Database:
        """The database with the rows of the target, and no rows of other tables."""
        from hornboost.data.database import Database

        with understood(self.folder / NAME):
            held = self._read(TARGET)
            tables, domains = self._tables({self.target.table: held})
            said = self.manifest.said
            state = {
                "_built": built_of(self.manifest.target, held, tables, domains, ()),
                **{f"_{name}": tuple(said[name]) for name in ("inferred", "left_out", "warnings", "time_warnings")},
                "_links": tuple(Link(**link) for link in self.manifest.links),
                "_first_time": float(said["first_time"]),
                "_class_type": self.manifest.target.get("class_type"),
            }
            return Database.stored_as(self, {**self._origin(), **state})

    def with_booleans(self, columns: Mapping[tuple[str, str], ModelColumn]) -> PartitionStore | None:
        """The folder with what a model knows as booleans spelled so, as 0 and 1 of SQLite; None where all are."""
        spelled = {
            place
            for place, column in columns.items()
            if column.type == "nominal" and column.stored == "boolean" and self._are_booleans(*place)
        }
        if not spelled:
            return None
        tables = tuple(
            replace(
                table,
                columns=tuple(
                    replace(column, stored="boolean") if (table.name, column.name) in spelled else column
                    for column in table.columns
                ),
            )
            for table in self.manifest.tables
        )
        return PartitionStore(self.folder, replace(self.manifest, tables=tables))

    def _are_booleans(self, table: str, name: str) -> bool:
        """Whether a column holds booleans in other words."""
        entries = (column for one in self.manifest.tables if one.name == table for column in one.columns)
        entry = next((column for column in entries if column.name == name), None)
        if entry is None or entry.kind != "nominal" or entry.stored == "boolean":
            return False
        return boolean_categories(self._categories(str(entry.categories))) is not None

    def open(self, part: int) -> Database:
        """One part as an ordinary database, all of whose rows of the target may be examples."""
        from hornboost.data.database import Database

        held = {table.name: self._rows(f"part-{part:05}/{table.file}") for table in self.manifest.tables}
        tables, domains = self._tables(held)
        rows = np.arange(tables[self.target.table].n_rows)
        built = Built(tables, domains, Labelled(self.target, rows), np.empty(0, np.int64), {}, ())
        sharing = {table.name: self._sharing(table, held[table.name], part) for table in self.manifest.tables}
        return Database.stored_as(self, {**self._origin(), "_built": built, "_sharing": sharing}, part)

    def _sharing(self, entry: TableEntry, held: _StoredRows, part: int) -> SharedRows:
        if entry.whole:
            return SharedRows.all(held.num_rows, is_first=part == 0)
        if not entry.shared:
            return SharedRows.none()
        numbers = held.column("shared")
        rows = np.flatnonzero(numbers.is_valid().to_numpy())
        own = held.column("own").take(rows).to_numpy()
        return SharedRows(entry.shared, rows, numbers.take(rows).to_numpy(), own.astype(np.bool_))

    @property
    def target(self) -> Target:
        """What is predicted."""
        stated = self.manifest.target["target"]
        return Target(**{**stated, "key": tuple(stated["key"]), "classes": tuple(stated["classes"])})

    def _origin(self) -> dict[str, Any]:
        """What the source was, in the driver and in every part."""
        if "origin" not in self._shared:
            manifest = self.manifest
            self._shared["origin"] = {
                "_schema": schema_of(manifest.schema),
                "_task": task_of(manifest.task),
                "_hidden": frozenset(manifest.target["hidden"]),
                "_target_columns": tuple(manifest.target["columns"]),
            }
        return dict(self._shared["origin"])

    def locate(self, database: Database, examples: Table) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """The part of each of some examples, and its row there; `examples` are encoded by the driver's database.

        An example is found by all keys of its row. Without keys nothing is joined, and any row of any part will do.
        """
        known = database.tables[examples.name]
        if not known.keys:
            part = np.arange(examples.n_rows, dtype=np.int32) % self.n
            return part.astype(np.int32), np.zeros(examples.n_rows, np.int64)
        found = _matched([column.codes for column in known.keys], [examples.columns[c.name].codes for c in known.keys])
        if (found < 0).any():
            row = int((found < 0).argmax())
            names = ", ".join(column.name for column in known.keys)
            raise DataError(
                f"{self.folder.name}: no partition holds an example with the keys of row {row + 1} ({names}), whose "
                f"rows may lie in several; add it to the source and {AGAIN}"
            )
        if "places" not in self._shared:
            held = self._read(TARGET, ["partition", "row"])
            self._shared["places"] = held.column("partition").to_numpy(), held.column("row").to_numpy()
        part, row_there = self._shared["places"]
        return part[found], row_there[found]

    def _tables(self, held: Mapping[str, _StoredRows | pa.Table]) -> tuple[dict[str, Table], dict[str, Domain]]:
        """The tables with these rows, or none, and the dictionaries of their keys."""
        places = {
            (table.name, column.name): (f"c{k}", column)
            for table in self.manifest.tables
            for k, column in enumerate(_columns(table) if table.name in held else ())
        }
        codes: dict[tuple[str, str], Any] = {}
        domains = {}
        for entry in self.manifest.domains:
            shared = self._dictionary(entry.file)["value"] if entry.file is not None else None
            members = [place for place, (_, c) in places.items() if c.kind == "key" and c.domain == entry.name]
            columns = [held[table].column(places[table, name][0]) for table, name in members]
            domains[entry.name], found = _encoded(entry, columns, shared)
            codes |= dict(zip(members, found, strict=True))

        def made(table: str, column: ColumnEntry) -> Column:
            place = table, column.name
            if place not in places or place in codes:
                return self._column(column, codes.get(place))
            return self._column(column, held[table].column(places[place][0]))  # a column at a time: others may go

        tables = {}
        for table in self.manifest.tables:
            n_rows = held[table.name].num_rows if table.name in held else 0
            attributes = {column.name: made(table.name, column) for column in table.columns}
            times = None if table.times is None else made(table.name, table.times)
            tables[table.name] = Table(table.name, attributes, n_rows, times=times, late=table.late)
        return tables, domains

    def _column(self, entry: ColumnEntry, held: Any) -> Column:
        about: dict[str, Any] = {"domain": entry.domain, "is_date": entry.is_date, "stored": entry.stored}
        values: Any = held
        if entry.kind == "numeric":
            levels = self._dictionary(str(entry.levels))
            about["levels"] = Bins(levels["low"].to_numpy(), levels["high"].to_numpy())
            values = None if held is None else np.array(held.to_numpy(), np.float64)  # NaN for null
        elif entry.kind == "nominal":
            about["categories"] = self._categories(str(entry.categories))
            values = None if held is None else np.array(held.fill_null(-1).to_numpy(), np.int32)
            booleans = boolean_categories(about["categories"]) if entry.stored == "boolean" else None
            if booleans is not None:
                about["categories"], mapping = booleans
                values = None if values is None else remap(values, mapping)
        if held is None:
            where = f"{self.folder.name}: the rows are in {self.n} partitions and not here"
            return AbsentColumn(entry.name, entry.kind, where, **about)  # type: ignore[arg-type]
        return Column(entry.name, entry.kind, values, **about)  # type: ignore[arg-type]

    def _categories(self, file: str) -> NDArray[np.object_]:
        if (file, "categories") not in self._shared:
            self._shared[file, "categories"] = np.array(self._dictionary(file)["value"].to_pylist(), object)
        return self._shared[file, "categories"]  # type: ignore[no-any-return]

    def _dictionary(self, file: str) -> dict[str, pa.ChunkedArray]:
        """The columns of a dictionary, read once."""
        if file not in self._shared:
            table = self._read(file)
            self._shared[file] = dict(zip(table.column_names, table.columns, strict=True))
        return self._shared[file]  # type: ignore[no-any-return]

    def _read(self, file: str, columns: list[str] | None = None) -> pa.Table:
        return self._rows(file).read(columns)

    def _rows(self, file: str) -> _StoredRows:
        """The rows of a file, once it is known to be the one that was written."""
        path = self.folder / file
        self._check(file, path)
        return _StoredRows(path)

    def _check(self, file: str, path: Path) -> None:
        """Refuse a file that is missing or other than the one that was written; its content is looked at once."""
        expected = self.manifest.files.get(file)
        if expected is None or not path.is_file():
            raise DataError(f"{path}: the file is missing; copy it from where the partitions were made, or {AGAIN}")
        state = path.stat()
        seen = (state.st_size, state.st_mtime_ns)
        if _checked.get(str(path)) == seen:
            return
        with path.open("rb") as content:
            found = hashlib.file_digest(content, "sha256").hexdigest()
        if state.st_size != expected.bytes or found != expected.sha256:
            raise DataError(
                f"{path}: the checksum is not that of the manifest, so the file was changed or damaged; {AGAIN}"
            )
        _checked[str(path)] = seen


class _StoredRows:
    """The rows of a file, of which a column is read when it is asked for."""

    def __init__(self, path: Path) -> None:
        import pyarrow.parquet as pq

        self._path = path
        with self._told():
            self._file = pq.ParquetFile(path, pre_buffer=False)
        self.num_rows = self._file.metadata.num_rows

    def column(self, name: str) -> pa.ChunkedArray:
        """A column."""
        return self.read([name]).column(0)

    def read(self, columns: list[str] | None = None) -> pa.Table:
        """Some columns, or all, of one chunk each, as dictionaries of several take long to be made into one."""
        with self._told():
            return self._file.read(columns).combine_chunks()

    @contextmanager
    def _told(self) -> Iterator[None]:
        import pyarrow as pa

        try:
            yield
        except (pa.ArrowException, OSError) as error:
            raise DataError(f"{self._path}: the file cannot be read ({str(error).splitlines()[0]}); {AGAIN}") from None


def _columns(entry: TableEntry) -> list[ColumnEntry]:
    return [*entry.columns, *([] if entry.times is None else [entry.times])]


def _encoded(
    entry: DomainEntry, columns: list[pa.ChunkedArray], shared: pa.ChunkedArray | None
) -> tuple[Domain, list[NDArray[np.int32]]]:
    """A dictionary and the codes of the columns that share it: the one given, or that of what they hold."""
    import pyarrow as pa

    kind = pa.int64() if entry.type == "int64" else pa.string()
    if shared is not None:
        domain = Domain(entry.name, shared.combine_chunks().cast(kind))
        return domain, domain.encode_together(columns) if columns else []
    if not columns:
        return Domain(entry.name, pa.array([], kind)), []
    return Domain.merge(entry.name, [factorize(column.cast(kind)) for column in columns])


def _matched(known: list[NDArray[np.int32]], wanted: list[NDArray[np.int32]]) -> NDArray[np.int64]:
    """For each row of the wanted columns the first row of the known ones that equals it, -1 for none."""
    n = len(known[0])
    numbers = np.zeros(n + len(wanted[0]), np.int64)
    for one, two in zip(known, wanted, strict=True):
        codes = np.concatenate([one, two]).astype(np.int64)
        _, numbers = np.unique(numbers * (int(codes.max(initial=0)) + 2) + codes + 1, return_inverse=True)
    first = np.full(int(numbers.max(initial=-1)) + 1, -1, np.int64)
    first[numbers[:n][::-1]] = np.arange(n)[::-1]
    return first[numbers[n:]]
