"""What readers ask of a database: its tables, columns and constraints, and the rows of a table.

What names a schema or a table is a parameter of the statement, never a part of its text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from hornboost.sql import names
from hornboost.sql.dialects import SQLITE, Dialect

if TYPE_CHECKING:
    from sqlglot import exp

DUCKDB_TABLES = """
SELECT table_name FROM duckdb_tables() WHERE database_name = current_database() AND schema_name = ?"""

DUCKDB_VIEWS = """
SELECT view_name FROM duckdb_views() WHERE database_name = current_database() AND schema_name = ? AND NOT internal"""

DUCKDB_COLUMNS = """
SELECT table_name, column_name, data_type FROM duckdb_columns()
WHERE database_name = current_database() AND schema_name = ? ORDER BY table_name, column_index"""

DUCKDB_CONSTRAINTS = """
SELECT table_name, constraint_type, constraint_column_names, referenced_table, referenced_column_names
FROM duckdb_constraints() WHERE database_name = current_database() AND schema_name = ?"""

SQLITE_TABLES = """
SELECT name, type FROM pragma_table_list WHERE schema = 'main' AND name NOT LIKE 'sqlite#_%' ESCAPE '#' ORDER BY name"""

SQLITE_COLUMNS = "SELECT name, type, pk FROM pragma_table_xinfo(?) WHERE hidden <> 1 ORDER BY cid"
"""Generated columns are listed as hidden, too (2 and 3); 1 are those through which a virtual table takes commands."""


SQLITE_LINKS = """SELECT "table", "from", "to", seq FROM pragma_foreign_key_list(?) ORDER BY id, seq"""

POSTGRES_COLUMNS = """
SELECT table_name::text, column_name::text, data_type::text,
    coalesce(numeric_scale, 1)::int, coalesce(numeric_precision, 99)::int, ordinal_position::int
FROM information_schema.columns WHERE table_schema::text = $1::text
UNION ALL
SELECT rel.relname::text, att.attname::text,
    CASE WHEN typ.typtype IN ('e', 'c') THEN 'USER-DEFINED' ELSE format_type(att.atttypid, NULL) END,
    CASE WHEN att.atttypid = 'numeric'::regtype AND att.atttypmod > 0 THEN (att.atttypmod - 4) & 65535 ELSE 1 END,
    CASE WHEN att.atttypid = 'numeric'::regtype AND att.atttypmod > 0 THEN (att.atttypmod - 4) >> 16 ELSE 99 END,
    att.attnum::int
FROM pg_class rel JOIN pg_namespace space ON space.oid = rel.relnamespace
JOIN pg_attribute att ON att.attrelid = rel.oid
JOIN pg_type typ ON typ.oid = att.atttypid
WHERE space.nspname::text = $1::text AND rel.relkind = 'm' AND att.attnum > 0 AND NOT att.attisdropped
ORDER BY 1, 6"""
"""The second part is about materialised views, which the information schema does not know."""

POSTGRES_DERIVED = """
SELECT rel.relname::text, CASE WHEN rel.relispartition THEN 'partition' WHEN rel.relkind = 'v' THEN 'view'
    WHEN rel.relkind = 'm' THEN 'materialised view' ELSE 'foreign table' END
FROM pg_class rel JOIN pg_namespace space ON space.oid = rel.relnamespace
WHERE space.nspname::text = $1::text
    AND (rel.relkind IN ('v', 'm', 'f') OR rel.relispartition AND rel.relkind IN ('r', 'p'))"""
"""What is no table with rows of its own: views, materialised ones too, foreign tables, and partitions,
whose rows their table has."""

POSTGRES_CONSTRAINTS = """
SELECT con.contype::text, rel.relname::text, att.attname::text, other.relname::text, other_att.attname::text
FROM pg_constraint con
JOIN pg_class rel ON rel.oid = con.conrelid JOIN pg_namespace space ON space.oid = rel.relnamespace
CROSS JOIN LATERAL unnest(con.conkey, con.confkey) WITH ORDINALITY AS part(number, other_number, position)
JOIN pg_attribute att ON att.attrelid = con.conrelid AND att.attnum = part.number
LEFT JOIN pg_class other ON other.oid = con.confrelid
LEFT JOIN pg_attribute other_att ON other_att.attrelid = con.confrelid AND other_att.attnum = part.other_number
WHERE space.nspname::text = $1::text
    AND (con.contype = 'p' OR con.contype = 'f' AND other.relnamespace = rel.relnamespace)
ORDER BY con.oid, part.position"""


def read_columns(table: str, schema: str | None, casts: Mapping[str, Iterable[str]], dialect: Dialect) -> str:
    """The statement that reads columns of a table, each cast to the types in `casts`, one after another.

    >>> from hornboost.sql.dialects import POSTGRES
    >>> read_columns("a", "public", {"x": [], "price": ["decimal", "double"]}, POSTGRES)
    'SELECT "x" AS "x", CAST(CAST("price" AS DECIMAL) AS DOUBLE PRECISION) AS "price" FROM "public"."a"'
    """
    from sqlglot import exp

    columns = []
    for name, kinds in casts.items():
        value: exp.Expr = names.column(None, name)
        for kind in kinds:
            value = exp.cast(value, kind)
        columns.append(names.named(value, name))
    return dialect.text(exp.select(*columns, copy=False).from_(names.table(table, schema=schema), copy=False))


def which_hold_reals(table: str, columns: Iterable[str]) -> str:
    """The SQLite statement that tells of each column whether one of its values is stored as a float.

    >>> print(which_hold_reals("a", ["x"]))
    SELECT MAX(TYPEOF("x") = 'real') FROM "a"
    """
    from sqlglot import exp

    chosen = [exp.Max(this=_is_real(name)) for name in columns]
    return SQLITE.text(exp.select(*chosen, copy=False).from_(names.table(table), copy=False))


def read_with_reals(table: str, columns: Iterable[str], mixed: Iterable[str]) -> str:
    """The SQLite statement that reads columns, and after them those of `mixed` once more,
    only where they are stored as floats.
    """
    from sqlglot import exp

    chosen = [names.named(names.column(None, name), name) for name in columns]
    for name in mixed:
        real = exp.Case(ifs=[exp.If(this=_is_real(name), true=names.column(None, name))])
        chosen.append(names.named(real, name))
    return SQLITE.text(exp.select(*chosen, copy=False).from_(names.table(table), copy=False))


def _is_real(name: str) -> exp.Condition:
    return _is_held_as(name, "real")


def _is_held_as(name: str, kind: str) -> exp.Condition:
    from sqlglot import exp

    held = exp.Anonymous(this="TYPEOF", expressions=[names.column(None, name)])
    return exp.EQ(this=held, expression=exp.Literal.string(kind))


def count_rows(table: str, dialect: Dialect) -> str:
    """The statement that counts the rows of a table."""
    from sqlglot import exp

    return dialect.text(exp.select(exp.Count(this=exp.Star()), copy=False).from_(names.table(table), copy=False))


def types_held(table: str, columns: Iterable[str]) -> str:
    """The SQLite statement that tells of each column whether it holds text, floats and binary values.

    >>> print(types_held("a", ["x"]))
    SELECT MAX(TYPEOF("x") = 'text'), MAX(TYPEOF("x") = 'real'), MAX(TYPEOF("x") = 'blob') FROM "a"
    """
    from sqlglot import exp

    held = [exp.Max(this=_is_held_as(name, kind)) for name in columns for kind in ("text", "real", "blob")]
    return SQLITE.text(exp.select(*held, copy=False).from_(names.table(table), copy=False))
