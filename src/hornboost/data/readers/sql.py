"""DuckDB, SQLite and PostgreSQL: tables in Arrow, keys and links from the catalogue."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hornboost.data.partitions.raw import BATCH
from hornboost.data.partitions.spool import StreamedSource
from hornboost.data.readers.address import said_safely
from hornboost.data.readers.decimals import WIDEST, with_decimals
from hornboost.data.readers.inferred import declared_types, infer_task, time_columns, with_dates, with_model
from hornboost.data.readers.selection import select_tables
from hornboost.data.readers.sqlite_rows import sqlite_batches
from hornboost.data.readers.typed import convert_text
from hornboost.data.schema import ForeignKey, Home
from hornboost.data.source import ArrowSource, Source
from hornboost.data.times import check_zones
from hornboost.data.values import to_text
from hornboost.errors import DataError, did_you_mean
from hornboost.logic.moment import DAY
from hornboost.sql import catalogue
from hornboost.sql.catalogue import count_rows, read_columns
from hornboost.sql.dialects import DUCKDB, POSTGRES, SQLITE
from hornboost.sql.partitions import setting

if TYPE_CHECKING:
    import pyarrow as pa

    from hornboost.data.model_columns import ModelColumn
    from hornboost.data.partitions.spool import Spool


@dataclass(eq=False)
class Catalogue:
    """What a database says about itself.

    The columns to read of each table and the casts to read them with, keys and links.
    """

    location: str
    columns: dict[str, dict[str, tuple[str, ...]]] = field(default_factory=dict)
    primary_keys: dict[str, tuple[str, ...]] = field(default_factory=dict)
    foreign_keys: list[ForeignKey] = field(default_factory=list)
    warnings: list[tuple[str, str]] = field(default_factory=list)
    derived: dict[str, str] = field(default_factory=dict)
    """Tables that hold no rows of their own, with the word for what they are."""
    home: Home | None = None
    decimals: dict[str, dict[str, int | None]] = field(default_factory=dict)
    """By table the columns of decimals that are read as text, with their scales; None where each value has its own."""
    times: set[tuple[str, str]] = field(default_factory=set)
    """The columns with times of day, which are read only if they are declared."""

    def add(self, table: str, column: str, casts: tuple[str, ...] | None, kind: str) -> None:
        """A column with the types that it is cast to; None for a type that cannot be used."""
        self.columns.setdefault(table, {})
        if casts is None:
            problem = f"{self.location}: {table}.{column} is left out: values of type '{kind}' are not supported"
            self.warnings.append((table, problem))
        else:
            self.columns[table][column] = casts

    def add_links(self, rows: Iterable[tuple[str, str, str, str]]) -> None:
        """Foreign keys as (table, column, referenced table, referenced column)."""
        self.foreign_keys += [ForeignKey(*row) for row in rows]


def read_duckdb(database: Any, options: Mapping[str, Any], schema: str, spool: Spool | None = None) -> dict[str, Any]:
    """The arguments of `Database` for a DuckDB file or connection."""
    import duckdb

    location = "the DuckDB connection"
    own = isinstance(database, str | Path)
    again: dict[str, Any] = {}
    if own:
        path = _existing(database, "DuckDB")
        location, again = path.name, {"again": partial(_read_as, read_duckdb, path, options, schema)}
        try:
            database = duckdb.connect(path, read_only=True)
        except duckdb.Error as error:
            raise DataError(
                f"{location}: the file cannot be opened by DuckDB ({_first_line(error)}); check the path"
            ) from None
    try:
        found = _duckdb_catalogue(database, location, schema)
        if spool is not None:
            database.execute(setting("memory_limit", f"{spool.memory >> 20}MB")).fetchall()
        return again | _read(
            found,
            options,
            lambda table, casts: database.sql(read_columns(table, schema, casts, DUCKDB)).to_arrow_table(),
            spool=spool,
            stream=lambda table, casts: _duckdb_batches(database.sql(read_columns(table, schema, casts, DUCKDB))),
        )
    except duckdb.Error as error:
        raise DataError(
            f"{location}: DuckDB cannot read the tables ({_first_line(error)}); check them with a SELECT"
        ) from None
    finally:
        if own:
            database.close()


def _duckdb_catalogue(connection: Any, location: str, schema: str) -> Catalogue:
    def rows(statement: str) -> list[Any]:
        return list(connection.execute(statement, [schema]).fetchall())

    found = Catalogue(location, home=Home("duckdb", schema))
    found.derived = {row[0]: "view" for row in rows(catalogue.DUCKDB_VIEWS)}
    known = found.derived.keys() | {row[0] for row in rows(catalogue.DUCKDB_TABLES)}
    for table, column, kind in rows(catalogue.DUCKDB_COLUMNS):
        if table in known:
            unusable = kind.endswith("]") or kind.startswith(
                ("STRUCT", "MAP", "UNION", "BLOB", "BIT", "INTERVAL", "TIME", "VARIANT")
            )
            supported = not unusable or kind.startswith("TIMESTAMP") or kind == "TIME"
            if kind == "TIME":
                found.times.add((table, column))
            casts = ("text",) if kind.startswith(("UUID", "JSON")) else ()
            found.add(table, column, casts if supported else None, kind)
    for table, kind, names, other, others in rows(catalogue.DUCKDB_CONSTRAINTS):
        if kind == "PRIMARY KEY":
            found.primary_keys[table] = tuple(names)
        elif kind == "FOREIGN KEY":
            found.add_links((table, name, other, to) for name, to in zip(names, others, strict=True))
    return found


def _duckdb_batches(relation: Any) -> Iterator[pa.Table]:
    import pyarrow as pa

    reader = (getattr(relation, "to_arrow_reader", None) or relation.fetch_arrow_reader)(BATCH)  # so in DuckDB 1
    yield reader.schema.empty_table()
    for batch in reader:
        yield pa.Table.from_batches([batch])


def read_sqlite(path: str | Path, options: Mapping[str, Any], spool: Spool | None = None) -> dict[str, Any]:
    """The arguments of `Database` for a SQLite file."""
    import pyarrow as pa

    dbapi = _adbc("sqlite")
    path = _existing(path, "SQLite")
    try:
        # as a quoted address, since '%', '?' and '#' in a path would have the meaning that they have there
        with dbapi.connect(f"{path.resolve().as_uri()}?mode=ro") as connection, connection.cursor() as cursor:
            found, dates = _sqlite_catalogue(cursor, path.name)
            return {"again": partial(_read_as, read_sqlite, path, options)} | _read(
                found,
                options,
                lambda table, casts: _sqlite_table(cursor, table, casts, path.name),
                dates,
                spool=spool,
                stream=lambda table, casts: sqlite_batches(path, table, list(casts)),
            )
    except (dbapi.Error, pa.ArrowInvalid) as error:
        raise DataError(
            f"{path.name}: SQLite cannot read the tables ({_first_line(error)}); check that the file is a database"
        ) from None


def _read_as(
    read: Callable[..., dict[str, Any]],
    path: Path,
    options: Mapping[str, Any],
    *rest: str,
    model: Mapping[tuple[str, str], ModelColumn],
) -> dict[str, Any]:
    """A file once more, with the types of a model's columns."""
    return read(path, {**options, "model": model}, *rest)


SQLITE_DERIVED: Mapping[str, str] = {"view": "view", "virtual": "virtual table", "shadow": "part of a virtual table"}


def _sqlite_catalogue(cursor: Any, location: str) -> tuple[Catalogue, set[tuple[str, str]]]:
    found = Catalogue(location)
    dates = set()
    kinds = dict(_rows(cursor, catalogue.SQLITE_TABLES))
    tables = list(kinds)
    found.derived = {table: SQLITE_DERIVED[kind] for table, kind in kinds.items() if kind in SQLITE_DERIVED}
    spelled = {table.casefold(): table for table in tables}
    for table in tables:
        primary = []
        for column, kind, position in _rows(cursor, catalogue.SQLITE_COLUMNS, table):
            found.add(table, column, None if kind.upper() == "BLOB" else (), kind)
            if "DATE" in kind.upper() or "TIME" in kind.upper():
                dates.add((table, column))
            if position:
                primary.append((position, column))
        if primary:
            found.primary_keys[table] = tuple(column for _, column in sorted(primary))
    for table in tables:
        for other, column, to, position in _rows(cursor, catalogue.SQLITE_LINKS, table):
            parent = spelled.get(other.casefold(), other)
            primary_key = found.primary_keys.get(parent, ())
            if to is None and position >= len(primary_key):
                problem = f"refers to '{other}', which has no primary key; name a column"
                raise DataError(f"{location}: the foreign key {table}.{column} {problem}")
            found.add_links([(table, column, parent, to if to is not None else primary_key[position])])
    return found, dates


def _sqlite_table(cursor: Any, table: str, casts: Mapping[str, Iterable[str]], location: str) -> pa.Table:
    import pyarrow as pa

    # The driver takes the types from its first batch: one batch for all rows, so that no later row contradicts it.
    count = _rows(cursor, count_rows(table, SQLITE))[0][0]
    cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": max(int(count), 1)})
    cursor.execute(read_columns(table, None, casts, SQLITE))
    rows = cursor.fetch_arrow_table()
    for name, column in zip(rows.column_names, rows.columns, strict=True):
        try:
            column.validate(full=True)
        except pa.ArrowInvalid:
            raise DataError(
                f"{location}: the column '{name}' holds text that is not UTF-8; convert it to that encoding"
            ) from None
    return _with_reals(cursor, table, rows)


def _with_reals(cursor: Any, table: str, rows: pa.Table) -> pa.Table:
    """Floats among texts with all of their digits, of which the driver writes seven."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = [
        name for name, column in zip(rows.column_names, rows.columns, strict=True) if pa.types.is_string(column.type)
    ]
    found = _rows(cursor, catalogue.which_hold_reals(table, texts))[0] if texts else ()
    mixed = [name for name, holds in zip(texts, found, strict=True) if holds]
    if mixed:
        cursor.execute(catalogue.read_with_reals(table, rows.column_names, mixed))
        both = cursor.fetch_arrow_table()
        rows = both.select(range(rows.num_columns))
        for name, reals in zip(mixed, both.columns[rows.num_columns :], strict=True):
            position = rows.column_names.index(name)
            spelled = to_text(reals.combine_chunks())
            rows = rows.set_column(position, name, pc.coalesce(spelled, rows.column(position).combine_chunks()))
    return rows


POSTGRES_TYPES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(
        ["smallint", "integer", "bigint", "real", "double precision", "boolean", "date", "text", "character varying"],
        (),
    ),
    **dict.fromkeys(["timestamp without time zone", "timestamp with time zone"], ()),
    **dict.fromkeys(["character", "uuid", "USER-DEFINED", "json", "jsonb", "name", "inet", "xml"], ("text",)),
    "time without time zone": (),
    "numeric": ("text",),
    "money": ("decimal", "double"),
}
"""The casts with which a column of each PostgreSQL type is read."""


def read_postgres(uri: str, options: Mapping[str, Any], schema: str, spool: Spool | None = None) -> dict[str, Any]:
    """The arguments of `Database` for a PostgreSQL server."""
    dbapi = _adbc("postgresql")
    location = "the PostgreSQL database"
    if not isinstance(uri, str):
        raise DataError(f"{location}: the address is of type '{type(uri).__name__}'; give it as text, postgresql://…")
    try:
        with dbapi.connect(uri) as connection, connection.cursor() as cursor:
            found = _postgres_catalogue(cursor, location, schema)
            return _read(
                found,
                options,
                lambda table, casts: _fetch(cursor, read_columns(table, schema, casts, POSTGRES)),
                spool=spool,
                stream=lambda table, casts: _postgres_batches(cursor, read_columns(table, schema, casts, POSTGRES)),
            )
    except (dbapi.Error, UnicodeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        reason = said_safely(_first_line(error), uri)
    # not within the handler: the driver's own exception, which may hold the address, is no part of this one
    raise DataError(f"{location} cannot be read ({reason}); check the address and your rights")


def _postgres_catalogue(cursor: Any, location: str, schema: str) -> Catalogue:
    found = Catalogue(location, home=Home("postgres", schema))
    found.derived = dict(_rows(cursor, catalogue.POSTGRES_DERIVED, schema))
    for table, column, kind, scale, precision, _ in _rows(cursor, catalogue.POSTGRES_COLUMNS, schema):
        casts = ("bigint",) if kind == "numeric" and scale == 0 and precision <= 18 else POSTGRES_TYPES.get(kind)
        if kind == "numeric" and casts == ("text",):
            found.decimals.setdefault(table, {})[column] = scale if 0 <= scale <= precision <= WIDEST else None
        if kind == "time without time zone":
            found.times.add((table, column))
        found.add(table, column, casts, kind)
    for kind, table, column, other, to in _rows(cursor, catalogue.POSTGRES_CONSTRAINTS, schema):
        if kind == "p":
            found.primary_keys[table] = (*found.primary_keys.get(table, ()), column)
        else:
            found.add_links([(table, column, other, to)])
    return found


def _read(
    known: Catalogue,
    options: Mapping[str, Any],
    fetch: Any,
    dates: Iterable[tuple[str, str]] = (),
    *,
    spool: Spool | None = None,
    stream: Any = None,
) -> dict[str, Any]:
    """Read the tables that are not excluded, and hand on what the catalogue knows.

    With a `spool` tables other than the target are kept on disk, from `stream`, which gives their rows bit by bit.
    """
    if not known.columns:
        where = f" in the schema '{known.home.schema}'" if known.home is not None else ""
        raise DataError(f"{known.location}: there are no tables{where}; give a database that holds them")
    target = options.get("target")
    if target is not None and target not in known.columns:
        raise DataError(f"{known.location}: there is no table '{target}'{did_you_mean(target, known.columns)}")
    selection = select_tables(known.columns, options, known.location, known.derived)
    chosen = with_model(selection.options, {name: known.columns[name] for name in selection.read})
    declared = declared_types(chosen, known.columns, {})
    warnings = [warning for table, warning in known.warnings if table in selection.read]
    sources: dict[str, Source] = {}
    for table in selection.read:
        spelled = _spelled(known, table, declared.get(table, {}))
        times = {name for place, name in time_columns(chosen) if place == table}
        used = spelled | times | ({str(options.get("label"))} if table == (target or selection.read[0]) else set())
        unused = [name for name in known.columns[table] if (table, name) in known.times and name not in used]
        columns = {name: casts for name, casts in known.columns[table].items() if name not in unused}
        warnings += [
            f"{known.location}: {table}.{name} is left out: it holds times of day; declare it nominal to use it"
            for name in unused
        ]
        if columns and spool is not None and table != (target or selection.read[0]):
            scales = known.decimals.get(table, {})
            kept = spool.keep(with_decimals(rows, scales, spelled)[0] for rows in stream(table, columns))
            source = StreamedSource(table, kept, known.location)
            source.stored = {name: "decimal" for name in spelled if name in scales and scales[name] is None}
            for name in times & set(source.columns):
                check_zones(source.read(name), f"{known.location}: table '{table}', column '{name}'")
            sources[table] = spool.dated(source, {name for place, name in dates if place == table} - spelled)
        elif columns:
            rows, stored = with_decimals(fetch(table, columns), known.decimals.get(table, {}), spelled)
            for name in times & set(rows.column_names):
                check_zones(rows.column(name), f"{known.location}: table '{table}', column '{name}'")
            rows = _with_dates(rows, {name for place, name in dates if place == table} - spelled, table)
            sources[table] = ArrowSource(table, rows, known.location, stored=stored)
    unread = set(known.columns) - set(sources)
    links = [link for link in known.foreign_keys if link.table in sources and link.to_table not in unread]
    primary = {table: names for table, names in known.primary_keys.items() if table in sources}
    keys = [(table, name) for table, names in primary.items() for name in names]
    keys += [end for link in links for end in ((link.table, link.column), (link.to_table, link.to_column))]
    notes: list[str] = []
    sources = with_dates(sources, chosen, notes, keys)
    is_for_model = bool(options.get("model"))
    arguments = infer_task(sources, known.location, chosen, primary, tuple(links), is_for_model=is_for_model)
    found = replace(arguments["schema"], home=known.home)
    return arguments | {
        "schema": found,
        "inferred": [*notes, *arguments["inferred"]],
        "warnings": [*warnings, *arguments["warnings"]],
        "left_out": selection.left_out,
    }


def _spelled(known: Catalogue, table: str, declared: Mapping[str, tuple[str, str | None]]) -> set[str]:
    """The columns of a table that are keys or nominal before anything is inferred, so that their text matters."""
    links = [end for link in known.foreign_keys for end in ((link.table, link.column), (link.to_table, link.to_column))]
    keys = {*known.primary_keys.get(table, ()), *(column for place, column in links if place == table)}
    return (keys - declared.keys()) | {name for name, (kind, _) in declared.items() if kind in ("key", "nominal")}


def _with_dates(rows: pa.Table, dates: Collection[str], table: str) -> pa.Table:
    """Text in columns that are declared as dates, as dates."""
    for position, name in enumerate(rows.column_names):
        if name in dates and rows.column(position).type == "string":
            converted, order = convert_text(rows.column(position), f"{table}.{name}", [])
            if order is None:  # others are text to SQL
                rows = rows.set_column(position, name, converted)
    return rows


def _postgres_batches(cursor: Any, statement: str) -> Iterator[pa.Table]:
    import pyarrow as pa

    cursor.execute(statement)
    reader = cursor.fetch_record_batch()
    yield _with_all_ends(reader.schema.empty_table())
    for batch in reader:
        yield _with_all_ends(pa.Table.from_batches([batch]))


def _rows(cursor: Any, statement: str, *parameters: str) -> list[Any]:
    cursor.execute(statement, parameters or None)
    return list(cursor.fetchall())


def _fetch(cursor: Any, statement: str) -> pa.Table:
    cursor.execute(statement)
    return _with_all_ends(cursor.fetch_arrow_table())


def _with_all_ends(table: pa.Table) -> pa.Table:
    for position, values in enumerate(table.columns):
        table = table.set_column(position, table.column_names[position], _with_ends(values))
    return table


_POSTGRES_DAYS = 10_957
"""From 1970-01-01 to 2000-01-01, from which PostgreSQL counts;
its driver adds them to `infinity` too, the last number that there is."""


def _with_ends(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """Dates and times of PostgreSQL with its infinities as other databases have them."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if not (pa.types.is_date32(values.type) or pa.types.is_timestamp(values.type)):
        return values
    width = pa.int32() if pa.types.is_date32(values.type) else pa.int64()
    last = 2 ** (width.bit_width - 1) - 1
    first = -last - 1 + _POSTGRES_DAYS * (1 if width == pa.int32() else DAY)
    chunks = []
    for chunk in values.chunks:
        counts = chunk.view(width)
        for found, meant in ((first - 1, last), (first, -last)):
            counts = pc.if_else(pc.equal(counts, pa.scalar(found, width)), pa.scalar(meant, width), counts)
        chunks.append(counts.view(values.type))
    return pa.chunked_array(chunks, values.type)


def _adbc(name: str) -> Any:
    import importlib

    try:
        return importlib.import_module(f"adbc_driver_{name}.dbapi")
    except ImportError:
        extra = "postgres" if name == "postgresql" else name
        raise DataError(
            f"the driver 'adbc-driver-{name}' is not installed; install it with: pip install 'hornboost[{extra}]'"
        ) from None


def _existing(path: str | Path, kind: str) -> Path:
    path = Path(path)
    if not path.is_file():
        raise DataError(f"there is no {kind} file '{path}'; check the path")
    return path


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
