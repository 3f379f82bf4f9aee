"""From what a user names on the command line (a folder, a file, an address) to a `Database`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hornboost.errors import DataError

if TYPE_CHECKING:
    from hornboost.data import Database
    from hornboost.data.partitions.spool import Spool
    from hornboost.model.file import SavedModel

POSTGRES = ("postgresql://", "postgres://")
TABLE_FILES = (".csv", ".csv.gz", ".parquet")
LABELS = ("label", "class", "target", "y", "outcome", "response", "survived", "churn", "default", "active", "status")
"""Names by which a column is taken for the label when none is given, the likeliest first."""

OPTION_NAMES = {
    "exclude_columns": "exclude",
    "exclude_tables": "exclude-table",
    "types": "type",
    "times": "time",
    "known_later": "known-later",
}
"""What options of the readers are called on the command line, where it is something else."""


@dataclass(frozen=True)
class TaskOptions:
    """What the user says about the task; everything may be left to the source."""

    target: str | None = None
    key: Sequence[str] = ()
    label: str | None = None
    positive: str | None = None
    negative: str | None = field(default=None, kw_only=True)
    task: str | None = None
    exclude: Sequence[str] = ()
    links: Sequence[str] = ()
    schema: str | None = None
    tables: Sequence[str] = ()
    exclude_tables: Sequence[str] = ()
    where: Mapping[str, Sequence[str]] = field(default_factory=dict)
    allow_outside: bool = False
    hints: Mapping[str, Any] = field(default_factory=dict)
    predicts: str | None = None
    times: Mapping[str, str] = field(default_factory=dict)
    known_later: Mapping[str, Mapping[str, Sequence[str]]] = field(default_factory=dict)
    memory: str | None = None
    types: Mapping[str, str] = field(default_factory=dict)

    def reader(self) -> dict[str, Any]:
        """The options as every reader takes them."""
        given = {
            "target": self.target,
            "key": list(self.key) or None,
            "label": self.label,
            "positive": self.positive,
            "negative": self.negative,
            "predicts": self.predicts,
            "exclude_columns": list(self.exclude) or None,
            "tables": list(self.tables) or None,
            "exclude_tables": list(self.exclude_tables) or None,
            "where": {column: list(values) for column, values in self.where.items()} or None,
            "types": dict(self.types) or None,
        }
        return {name: value for name, value in given.items() if value is not None} | self.dating()

    def dating(self) -> dict[str, Any]:
        """What they say about times."""
        given = {"times": self.times, "known_later": self.known_later}
        return {name: value for name, value in given.items() if value}

    def beside_files(self) -> dict[str, Any]:
        """Those that remain where the files of a logic program state the task."""
        from hornboost.data.readers.options import STATED_OPTIONS

        return {name: value for name, value in self.reader().items() if name in STATED_OPTIONS}

    def inferring(self) -> dict[str, Any]:
        """The options of a reader that finds links and types by itself."""
        links = {"links": [_link(text) for text in self.links]} if self.links else {}
        return {**self.hints, **self.reader(), **links}


def open_source(source: str, options: TaskOptions) -> Database:
    """The database behind a source, with the task that the options state."""
    from hornboost.data import Database
    from hornboost.data.readers.folder import named

    if source.lower().startswith(POSTGRES):
        _refuse_memory(options, shown(source))
        return Database.from_postgres(
            source, **options.inferring(), **({"schema": options.schema} if options.schema else {})
        )
    if not source.strip():
        raise DataError("the source is named by an empty text; give a folder, a file or an address")
    path = Path(source)
    try:
        is_folder, exists = path.is_dir(), path.exists()
    except (OSError, ValueError):
        raise DataError(
            f"{shown(source)!r} is no path and no postgresql:// address; give a folder, a file or an address"
        ) from None
    if is_folder:
        return _open_folder(named(path), options)
    if not exists and path.suffix not in (".b", ".f", ".n") and not path.with_name(path.name + ".b").exists():
        raise DataError(
            f"there is no file or folder '{shown(source)}'; give a folder, a database file, a CSV or ARFF "
            "file, or postgresql://…"
        )
    _refuse_memory(options, path.name)
    return _open_file(path, options)


def streamed_reader(source: str, options: TaskOptions) -> Callable[[Spool], dict[str, Any]] | None:
    """What reads a source that may be larger than memory, and leaves its rows on disk; None where it must be loaded."""
    from hornboost.data.partitions.manifest import is_partitioned
    from hornboost.data.readers.folder import read_folder, table_files
    from hornboost.data.readers.popper import is_popper
    from hornboost.data.readers.sql import read_duckdb, read_postgres, read_sqlite

    if source.lower().startswith(POSTGRES):
        return lambda spool: read_postgres(source, options.inferring(), options.schema or "public", spool)
    path = Path(source)
    if path.is_dir() and (path / "schema.toml").exists():
        _check_links(path, options)
        return lambda spool: read_folder(path, options.task, options.reader(), options.allow_outside, spool)
    if path.is_dir() and table_files(path) and not is_popper(path) and not is_partitioned(path):
        return lambda spool: read_folder(path, options.task, options.inferring(), spool=spool)
    if path.is_file():
        start = _first_bytes(path)
        if start.startswith(b"SQLite format 3\0"):
            return lambda spool: read_sqlite(path, options.inferring(), spool)
        if start[8:12] == b"DUCK":
            return lambda spool: read_duckdb(path, options.inferring(), options.schema or "main", spool)
    return None


def open_task(source: str, options: TaskOptions) -> Database:
    """A database with a label: the stated one, the schema's, or the likeliest, which is said."""
    from hornboost.cli.output import note

    database = open_source(source, options)
    if database.target.label is None and database.stored is not None:
        raise DataError(
            f"{database.stored.folder.name}: the partitions were made without a label, so there is nothing to learn; "
            "make them again with 'hornboost partition', and name --target and --label"
        )
    if database.target.label is None:
        table, label = likely_label(database, options, source)
        note(f"no label was named: learning '{label}' of table '{table}' (choose others with --target and --label)")
        database = open_source(source, replace(options, target=table, label=label))
    say_what_was_read(database)
    return database


def say_what_was_read(database: Database) -> None:
    """What of the source was left out, if anything: whole tables, and rows without a label."""
    from hornboost.cli.output import note

    say_which_tables(database)
    for sentence in (*database.reading_warnings, *database.time_warnings):
        note(sentence)
    if database.stored is not None and database.reading_warnings:
        note(
            "this was so when the partitions were made: give such options to 'hornboost partition', and make them again"
        )
    if database.unlabelled_rows.size:
        n, rows = database.unlabelled_rows.size, database.n_asked
        note(f"left out {n:,} of {rows:,} rows of '{database.target.table}' whose '{database.target.label}' is missing")


def say_what_is_undated(database: Database) -> None:
    """Which rows count for nobody, and other things that times make worth knowing."""
    from hornboost.cli.output import note

    for sentence in database.time_warnings:
        note(sentence)


def say_which_tables(database: Database) -> None:
    """The tables of the source that were not read, if there are any."""
    from hornboost.cli.output import note

    if database.left_out:
        read, unread = ", ".join(database.tables), ", ".join(database.left_out)
        note(f"read {read}; left out {unread} (choose with --tables and --exclude-table)")


def open_for_model(source: str, model: SavedModel, options: TaskOptions) -> Database:
    """A database to predict on: the target, keys and types of the model where the source does not state them itself."""
    if not model.is_relational:
        return as_read_by(model, open_source(source, options))
    from hornboost.model.times import dated_by

    hints = {"model": model.columns(), "target": model.target.table, "key": list(model.target.key)}
    database = open_source(source, replace(options, hints={**hints, **options.hints}))
    return dated_by(model, database.read_as(model.columns()))


def as_read_by(model: SavedModel, database: Database) -> Database:
    """The one table of a database in the types of a model of a single table; what is a key here stays one."""
    from hornboost.model.dates import check_dates
    from hornboost.model.times import dated_by

    table = database.tables[database.target.table]
    keys = {column.name for column in table.keys}
    columns = {place: column for place, column in model.columns(table.name).items() if column.name not in keys}
    found = database.read_as(columns)
    check_dates(columns, found)
    return dated_by(model, found)


def _check_links(path: Path, options: TaskOptions) -> None:
    if options.links:
        raise DataError(
            f"{path.name}: schema.toml states the links, so --link has no use here; add a [[foreign_keys]] to it"
        )


def _open_folder(path: Path, options: TaskOptions) -> Database:
    from hornboost.data import Database
    from hornboost.data.partitions.manifest import is_partitioned
    from hornboost.data.readers.folder import table_files
    from hornboost.data.readers.popper import is_popper

    if is_partitioned(path):
        _refuse_options(options, path.name, (), "its manifest states the task")
        return Database.from_partitions(path, options.memory)
    _refuse_memory(options, path.name)
    if (path / "schema.toml").exists():
        _check_links(path, options)
        return Database.from_folder(path, options.task, allow_outside=options.allow_outside, **options.reader())
    if is_popper(path):
        _refuse_options(options, path.name, options.beside_files())
        return Database.from_popper(path, **options.beside_files())
    stems = sorted(path.glob("*.b"))
    whole = [file for file in stems if file.with_suffix(".f").exists() and file.with_suffix(".n").exists()]
    stems = whole or ([] if table_files(path) else stems)
    if stems:
        _refuse_options(options, stems[0].name, options.beside_files())
        return Database.from_aleph(stems[0].with_suffix(""), **options.beside_files())
    if any(path.glob("*facts.txt")) or any(path.glob("train/*facts.txt")):
        _refuse_options(replace(options, target=None), path.name, options.beside_files())
        return Database.from_srlearn(
            path, target=options.target, allow_outside=options.allow_outside, **options.beside_files()
        )
    return Database.from_folder(path, options.task, **options.inferring())


def _open_file(path: Path, options: TaskOptions) -> Database:
    from hornboost.data import Database

    if path.suffix in (".b", ".f", ".n", ".pl") or not path.exists():
        _refuse_options(options, path.name, options.beside_files())
        return Database.from_aleph(path, **options.beside_files())
    if path.suffix.lower() == ".arff":
        given = options.reader()
        return Database.from_arff(
            path, **{name: value for name, value in given.items() if name not in ("target", "key", "tables")}
        )
    if path.name.endswith(TABLE_FILES):
        return _open_table(path, options)
    start = _first_bytes(path)
    if start.startswith(b"SQLite format 3\0"):
        return Database.from_sqlite(path, **options.inferring())
    if start[8:12] == b"DUCK":
        return Database.from_duckdb(
            path, **options.inferring(), **({"schema": options.schema} if options.schema else {})
        )
    raise DataError(
        f"{path.name}: this is no DuckDB, SQLite, CSV, Parquet, ARFF or Aleph file; convert it to one of them"
    )


def _open_table(path: Path, options: TaskOptions) -> Database:
    """One CSV or Parquet file, read as a folder of one table is."""
    from hornboost.data import Database
    from hornboost.data.readers.csv import table_name
    from hornboost.data.readers.inferred import infer_files

    return Database(**infer_files([path], path.name, {"target": table_name(path), **options.inferring()}))


def shown(source: str) -> str:
    """A source as a message may repeat it."""
    from hornboost.data.readers.address import without_password

    return without_password(source)


def _first_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(16)
    except OSError as error:
        raise DataError(f"{path}: the file cannot be read ({error.strerror}); check the path") from None


def _refuse_options(
    options: TaskOptions, place: str, kept: Collection[str], reason: str = "the modes and examples state the task"
) -> None:
    """Refuse what a source states itself; the label of a model that looks at it is no such option."""
    known = {*kept, *(("label", "positive", "negative", "predicts") if "model" in options.hints else ())}
    given = [name for name in options.reader() if name not in known]
    given += [name for name, value in (("task", options.task), ("link", options.links)) if value]
    if given:
        raise DataError(f"{place}: {reason}, so --{OPTION_NAMES.get(given[0], given[0])} has no use here; leave it out")


def _refuse_memory(options: TaskOptions, place: str) -> None:
    """Refuse a limit for open partitions where there are none."""
    if options.memory is not None:
        raise DataError(f"{place}: --memory is for a folder of partitions, and this source is none; leave it out")


def likely_label(database: Database, options: TaskOptions, source: str) -> tuple[str, str]:
    """The table and column that are most likely to be predicted, or an error that says what to name."""
    tables = [options.target] if options.target else list(database.tables)
    found = []
    for table in tables:
        for column in database.tables[table].columns.values():
            plain = column.name.lower()
            if column.kind in ("nominal", "numeric") and plain in LABELS:
                found.append((LABELS.index(plain), table, column.name))
    if found:
        _, table, label = min(found)
        return table, label
    if len(tables) == 1:
        last = list(database.tables[tables[0]].columns.values())[-1]
        if last.kind == "nominal" and last.categories is not None and 2 <= len(last.categories) <= 20:
            return tables[0], last.name
    raise DataError(
        f"{shown(source)}: it is not clear what to predict; "
        "name it with --target TABLE --label COLUMN ('hornboost inspect' lists both)"
    )


def _link(text: str) -> tuple[str, str]:
    left, equals, right = text.partition("=")
    if not equals or "." not in left or "." not in right:
        raise DataError(
            f"--link: '{text}' is not of the form table.column=table.column; "
            "write for example --link order.account=account.id"
        )
    return left.strip(), right.strip()
