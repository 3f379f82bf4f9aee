"""DuckDB, SQLite and PostgreSQL: tables in Arrow, keys and links from the catalogue."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hornboost.data.readers.address import said_safely
from hornboost.data.readers.inferred import convert_text, infer_task
from hornboost.data.readers.selection import select_tables
from hornboost.data.schema import ForeignKey, Home
from hornboost.data.source import ArrowSource, Source
from hornboost.errors import DataError, did_you_mean
from hornboost.logic.moment import DAY

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(eq=False)
class Catalogue:
    """What a database says about itself: the columns to read of each table as SQL, keys and links."""

    location: str
    columns: dict[str, dict[str, str]] = field(default_factory=dict)
    primary_keys: dict[str, tuple[str, ...]] = field(default_factory=dict)
    foreign_keys: list[ForeignKey] = field(default_factory=list)
    warnings: list[tuple[str, str]] = field(default_factory=list)
    derived: dict[str, str] = field(default_factory=dict)
    """Tables that hold no rows of their own, with the word for what they are."""
    home: Home | None = None

    def add(self, table: str, column: str, expression: str | None, kind: str) -> None:
        """A column with the SQL that reads it; None for a type that cannot be used."""
        self.columns.setdefault(table, {})
        if expression is None:
            problem = f"{self.location}: {table}.{column} is left out: values of type '{kind}' are not supported"
            self.warnings.append((table, problem))
        else:
            self.columns[table][column] = expression

    def add_links(self, rows: Iterable[tuple[str, str, str, str]]) -> None:
        """Foreign keys as (table, column, referenced table, referenced column)."""
        self.foreign_keys += [ForeignKey(*row) for row in rows]


def quote(name: str) -> str:
    """A name as an SQL identifier.

    >>> print(quote('my "own" order'))
    "my ""own"" order"
    """
    return '"' + name.replace('"', '""') + '"'


def text_literal(text: str) -> str:
    """A text as an SQL constant."""
    return "'" + text.replace("'", "''") + "'"


def read_duckdb(database: Any, options: Mapping[str, Any], schema: str) -> dict[str, Any]:
    """The arguments of `Database` for a DuckDB file or connection."""
    import duckdb

    location = "the DuckDB connection"
    own = isinstance(database, str | Path)
    if own:
        path = _existing(database, "DuckDB")
        location = path.name
        try:
            database = duckdb.connect(path, read_only=True)
        except duckdb.Error as error:
            raise DataError(f"{location}: the file cannot be opened by DuckDB ({_first_line(error)}); check the path") from None
    try:
        catalogue = _duckdb_catalogue(database, location, schema)
        return _read(catalogue, options, schema, lambda sql: database.sql(sql).to_arrow_table())
    except duckdb.Error as error:
        raise DataError(f"{location}: DuckDB cannot read the tables ({_first_line(error)}); check them with a SELECT") from None
    finally:
        if own:
            database.close()


def _duckdb_catalogue(connection: Any, location: str, schema: str) -> Catalogue:
    catalogue = Catalogue(location, home=Home("duckdb", schema))
    where = f"database_name = current_database() AND schema_name = {text_literal(schema)}"
    views = f"SELECT view_name FROM duckdb_views() WHERE {where} AND NOT internal"
    catalogue.derived = {row[0]: "view" for row in connection.execute(views).fetchall()}
    tables = f"SELECT table_name FROM duckdb_tables() WHERE {where}"
    known = catalogue.derived.keys() | {row[0] for row in connection.execute(tables).fetchall()}
    columns = f"SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE {where} ORDER BY table_name, column_index"
    for table, column, kind in connection.execute(columns).fetchall():
        if table in known:
            unusable = kind.endswith("]") or kind.startswith(("STRUCT", "MAP", "UNION", "BLOB", "BIT", "INTERVAL", "TIME", "VARIANT"))
            as_text = kind.startswith(("UUID", "JSON"))
            supported = not unusable or kind.startswith("TIMESTAMP")
            expression = f"CAST({quote(column)} AS VARCHAR)" if as_text else quote(column)
            catalogue.add(table, column, expression if supported else None, kind)
    constraints = (
        "SELECT table_name, constraint_type, constraint_column_names, referenced_table, referenced_column_names "
        f"FROM duckdb_constraints() WHERE {where}"
    )
    for table, kind, names, other, others in connection.execute(constraints).fetchall():
        if kind == "PRIMARY KEY":
            catalogue.primary_keys[table] = tuple(names)
        elif kind == "FOREIGN KEY":
            catalogue.add_links((table, name, other, to) for name, to in zip(names, others, strict=True))
    return catalogue


def read_sqlite(path: str | Path, options: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `Database` for a SQLite file."""
    import pyarrow as pa

    dbapi = _adbc("sqlite")
    path = _existing(path, "SQLite")
    try:
        with dbapi.connect(f"file:{path.resolve()}?mode=ro") as connection, connection.cursor() as cursor:
            catalogue, dates = _sqlite_catalogue(cursor, path.name)
            return _read(catalogue, options, None, lambda sql: _sqlite_table(cursor, sql, path.name), dates)
    except (dbapi.Error, pa.ArrowInvalid) as error:
        raise DataError(f"{path.name}: SQLite cannot read the tables ({_first_line(error)}); check that the file is a database") from None


SQLITE_DERIVED: Mapping[str, str] = {"view": "view", "virtual": "virtual table", "shadow": "part of a virtual table"}


def _sqlite_catalogue(cursor: Any, location: str) -> tuple[Catalogue, set[tuple[str, str]]]:
    catalogue = Catalogue(location)
    dates = set()
    listing = "SELECT name, type FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite#_%' ESCAPE '#' ORDER BY name"
    kinds = dict(_rows(cursor, listing))
    tables = list(kinds)
    catalogue.derived = {table: SQLITE_DERIVED[kind] for table, kind in kinds.items() if kind in SQLITE_DERIVED}
    spelled = {table.casefold(): table for table in tables}
    for table in tables:
        primary = []
        for column, kind, position in _rows(cursor, f"SELECT name, type, pk FROM pragma_table_info({text_literal(table)}) ORDER BY cid"):
            catalogue.add(table, column, None if kind.upper() == "BLOB" else quote(column), kind)
            if "DATE" in kind.upper() or "TIME" in kind.upper():
                dates.add((table, column))
            if position:
                primary.append((position, column))
        if primary:
            catalogue.primary_keys[table] = tuple(column for _, column in sorted(primary))
    for table in tables:
        sql = f'SELECT "table", "from", "to", seq FROM pragma_foreign_key_list({text_literal(table)}) ORDER BY id, seq'
        for other, column, to, position in _rows(cursor, sql):
            parent = spelled.get(other.casefold(), other)
            primary_key = catalogue.primary_keys.get(parent, ())
            if to is None and position >= len(primary_key):
                problem = f"refers to '{other}', which has no primary key; name a column"
                raise DataError(f"{location}: the foreign key {table}.{column} {problem}")
            catalogue.add_links([(table, column, parent, to if to is not None else primary_key[position])])
    return catalogue, dates


def _sqlite_table(cursor: Any, sql: str, location: str) -> pa.Table:
    import pyarrow as pa

    # The driver takes the types from its first batch: one batch for all rows, so that no later row contradicts it.
    count = _rows(cursor, f"SELECT count(*) FROM ({sql})")[0][0]
    cursor.adbc_statement.set_options(**{"adbc.sqlite.query.batch_rows": max(int(count), 1)})
    cursor.execute(sql)
    table = cursor.fetch_arrow_table()
    for name, column in zip(table.column_names, table.columns, strict=True):
        try:
            column.validate(full=True)
        except pa.ArrowInvalid:
            raise DataError(f"{location}: the column '{name}' holds text that is not UTF-8; convert it to that encoding") from None
    return table


POSTGRES_TYPES: Mapping[str, str] = {
    **dict.fromkeys(["smallint", "integer", "bigint", "real", "double precision", "boolean", "date", "text", "character varying"], "{}"),
    **dict.fromkeys(["timestamp without time zone", "timestamp with time zone"], "{}"),
    **dict.fromkeys(["character", "uuid", "USER-DEFINED", "json", "jsonb", "name", "inet", "xml"], "{}::text"),
    "numeric": "{}::float8",
    "money": "{}::numeric::float8",
}
"""How a column of each PostgreSQL type is read."""

POSTGRES_MATERIALISED = """
        SELECT rel.relname::text, att.attname::text,
            CASE WHEN typ.typtype IN ('e', 'c') THEN 'USER-DEFINED' ELSE format_type(att.atttypid, NULL) END,
            CASE WHEN att.atttypid = 'numeric'::regtype AND att.atttypmod > 0 THEN (att.atttypmod - 4) & 65535 ELSE 1 END,
            CASE WHEN att.atttypid = 'numeric'::regtype AND att.atttypmod > 0 THEN (att.atttypmod - 4) >> 16 ELSE 99 END,
            att.attnum::int
        FROM pg_class rel JOIN pg_namespace space ON space.oid = rel.relnamespace JOIN pg_attribute att ON att.attrelid = rel.oid
        JOIN pg_type typ ON typ.oid = att.atttypid
        WHERE space.nspname = {schema} AND rel.relkind = 'm' AND att.attnum > 0 AND NOT att.attisdropped"""
"""The columns of materialised views, which the information schema does not know."""


def read_postgres(uri: str, options: Mapping[str, Any], schema: str) -> dict[str, Any]:
    """The arguments of `Database` for a PostgreSQL server."""
    dbapi = _adbc("postgresql")
    location = "the PostgreSQL database"
    if not isinstance(uri, str):
        raise DataError(f"{location}: the address is of type '{type(uri).__name__}'; give it as text, postgresql://…")
    try:
        with dbapi.connect(uri) as connection, connection.cursor() as cursor:
            catalogue = _postgres_catalogue(cursor, location, schema)
            return _read(catalogue, options, schema, lambda sql: _fetch(cursor, sql))
    except (dbapi.Error, UnicodeError, ValueError) as error:
        if isinstance(error, DataError):
            raise
        reason = said_safely(_first_line(error), uri)
    # not within the handler: the driver's own exception, which may hold the address, is no part of this one
    raise DataError(f"{location} cannot be read ({reason}); check the address and your rights")


def _postgres_catalogue(cursor: Any, location: str, schema: str) -> Catalogue:
    catalogue = Catalogue(location, home=Home("postgres", schema))
    columns = f"""
        SELECT table_name::text, column_name::text, data_type::text, coalesce(numeric_scale, 1)::int, coalesce(numeric_precision, 99)::int,
            ordinal_position::int
        FROM information_schema.columns WHERE table_schema = {text_literal(schema)}
        UNION ALL {POSTGRES_MATERIALISED.format(schema=text_literal(schema))}
        ORDER BY 1, 6"""
    catalogue.derived = _postgres_derived(cursor, schema)
    for table, column, kind, scale, precision, _ in _rows(cursor, columns):
        pattern = "{}::int8" if kind == "numeric" and scale == 0 and precision <= 18 else POSTGRES_TYPES.get(kind)
        catalogue.add(table, column, None if pattern is None else pattern.format(quote(column)), kind)
    constraints = f"""
        SELECT con.contype::text, rel.relname::text, att.attname::text, other.relname::text, other_att.attname::text
        FROM pg_constraint con JOIN pg_class rel ON rel.oid = con.conrelid JOIN pg_namespace space ON space.oid = rel.relnamespace
        CROSS JOIN LATERAL unnest(con.conkey, con.confkey) WITH ORDINALITY AS part(number, other_number, position)
        JOIN pg_attribute att ON att.attrelid = con.conrelid AND att.attnum = part.number
        LEFT JOIN pg_class other ON other.oid = con.confrelid
        LEFT JOIN pg_attribute other_att ON other_att.attrelid = con.confrelid AND other_att.attnum = part.other_number
        WHERE space.nspname = {text_literal(schema)}
            AND (con.contype = 'p' OR con.contype = 'f' AND other.relnamespace = rel.relnamespace)
        ORDER BY con.oid, part.position"""
    for kind, table, column, other, to in _rows(cursor, constraints):
        if kind == "p":
            catalogue.primary_keys[table] = (*catalogue.primary_keys.get(table, ()), column)
        else:
            catalogue.add_links([(table, column, other, to)])
    return catalogue


def _postgres_derived(cursor: Any, schema: str) -> dict[str, str]:
    """What is no table with rows of its own: views, materialised ones too, foreign tables, and partitions, whose rows their table has."""
    sql = f"""
        SELECT rel.relname::text, CASE WHEN rel.relispartition THEN 'partition' WHEN rel.relkind = 'v' THEN 'view'
            WHEN rel.relkind = 'm' THEN 'materialised view' ELSE 'foreign table' END
        FROM pg_class rel JOIN pg_namespace space ON space.oid = rel.relnamespace
        WHERE space.nspname = {text_literal(schema)}
            AND (rel.relkind IN ('v', 'm', 'f') OR rel.relispartition AND rel.relkind IN ('r', 'p'))"""
    return dict(_rows(cursor, sql))


def _read(
    catalogue: Catalogue, options: Mapping[str, Any], schema: str | None, fetch: Any, dates: Iterable[tuple[str, str]] = ()
) -> dict[str, Any]:
    """Read the tables that are not excluded, and hand on what the catalogue knows."""
    if not catalogue.columns:
        where = f" in the schema '{schema}'" if schema else ""
        raise DataError(f"{catalogue.location}: there are no tables{where}; give a database that holds them")
    target = options.get("target")
    if target is not None and target not in catalogue.columns:
        raise DataError(f"{catalogue.location}: there is no table '{target}'{did_you_mean(target, catalogue.columns)}")
    selection = select_tables(catalogue.columns, options, catalogue.location, catalogue.derived)
    sources: dict[str, Source] = {}
    for table in selection.read:
        columns = catalogue.columns[table]
        if not columns:
            continue
        place = (quote(schema) + "." if schema else "") + quote(table)
        rows = fetch(f"SELECT {', '.join(f'{sql} AS {quote(name)}' for name, sql in columns.items())} FROM {place}")
        sources[table] = ArrowSource(table, _with_dates(rows, table, dates), catalogue.location)
    unread = set(catalogue.columns) - set(sources)
    links = [link for link in catalogue.foreign_keys if link.table in sources and link.to_table not in unread]
    primary = {table: names for table, names in catalogue.primary_keys.items() if table in sources}
    arguments = infer_task(sources, catalogue.location, selection.options, primary, tuple(links))
    warnings = [warning for table, warning in catalogue.warnings if table in selection.read]
    found = replace(arguments["schema"], home=catalogue.home)
    return arguments | {"schema": found, "warnings": [*warnings, *arguments["warnings"]], "left_out": selection.left_out}


def _with_dates(rows: pa.Table, table: str, dates: Iterable[tuple[str, str]]) -> pa.Table:
    """Text in columns that are declared as dates, as dates."""
    for position, name in enumerate(rows.column_names):
        if (table, name) in dates and rows.column(position).type == "string":
            rows = rows.set_column(position, name, convert_text(rows.column(position), f"{table}.{name}", []))
    return rows


def _rows(cursor: Any, sql: str) -> list[Any]:
    cursor.execute(sql)
    return list(cursor.fetchall())


def _fetch(cursor: Any, sql: str) -> pa.Table:
    cursor.execute(sql)
    table = cursor.fetch_arrow_table()
    for position, values in enumerate(table.columns):
        table = table.set_column(position, table.column_names[position], _with_ends(values))
    return table


_POSTGRES_DAYS = 10_957
"""From 1970-01-01 to 2000-01-01, from which PostgreSQL counts; its driver adds them to `infinity` too, the last number that there is."""


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
        raise DataError(f"the driver 'adbc-driver-{name}' is not installed; install it with: pip install 'hornboost[{extra}]'") from None


def _existing(path: str | Path, kind: str) -> Path:
    path = Path(path)
    if not path.is_file():
        raise DataError(f"there is no {kind} file '{path}'; check the path")
    return path


def _first_line(error: Exception) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
