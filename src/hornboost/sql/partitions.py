"""What is asked of DuckDB when a database is cut into partitions.

Table number `t` is `e{t}`: its rows by number (`place`) and its columns `c0`, `c1`, … `r{t}` says which rows are in
which part, and after how many joins they were reached; `k{d}` the same of the keys of domain number `d`. No name of a
user's is part of a statement, since DuckDB does not tell `A` from `a`: only numbers are put into it, and a path.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from string import Template

UNORDERED = "SET preserve_insertion_order = false"
"""Rows have numbers, and whatever needs an order asks for it."""


def _filled(statement: str, **parts: int | str) -> str:
    """A statement with numbers, or with statements that were filled themselves, in the places for them."""
    return Template(statement).substitute(parts)


def _quoted(path: str) -> str:
    return "'" + path.replace("'", "''") + "'"


def setting(name: str, value: str) -> str:
    """Set an option of DuckDB.

    >>> setting("temp_directory", "it's")
    "SET temp_directory = 'it''s'"
    """
    return _filled("SET $name = $value", name=name, value=_quoted(value))


def keep(table: int) -> str:
    """Keep what is incoming as the rows of a table."""
    return _filled("CREATE TABLE e$t AS SELECT * FROM incoming", t=table)


def counted(table: int) -> str:
    """The number of rows."""
    return _filled("SELECT count(*) FROM e$t", t=table)


def all_rows(table: int, n_columns: int) -> str:
    """All columns of all rows, in order."""
    return _filled("SELECT $columns FROM e$t ORDER BY place", t=table, columns=_columns(range(n_columns)))


def _columns(numbers: Sequence[int]) -> str:
    return ", ".join(f"c{k}" for k in numbers) or "place"


def key_counts(table: int, column: int) -> str:
    """How many keys there are, how many rows have one, their squares added up over keys, and the most of a key."""
    statement = """
SELECT count(*), coalesce(sum(n), 0), coalesce(sum(n * n), 0), coalesce(max(n), 0)
FROM (SELECT count(*) AS n FROM e$t WHERE c$c IS NOT NULL GROUP BY c$c)"""
    return _filled(statement, t=table, c=column)


def repeated_tuple(table: int, columns: Sequence[int]) -> str:
    """The values that two rows have in some columns, if there are such."""
    statement = "SELECT $columns FROM e$t GROUP BY $columns HAVING count(*) > 1 LIMIT 1"
    return _filled(statement, t=table, columns=_columns(columns))


def without_key(table: int, column: int) -> str:
    """The first row without a value in a column, if there is one."""
    return _filled("SELECT min(place) FROM e$t WHERE c$c IS NULL", t=table, c=column)


def contradicted(table: int, out: int, carried: int, other: int, joined: int, column: int) -> str:
    """A row of the other table that is joined and does not hold what the rows that lead to it hold, if there is one."""
    statement = """
WITH held AS (
    SELECT c$out AS key, min(c$carried) AS low, max(c$carried) AS high, count(*) > count(c$carried) AS gap
    FROM e$t WHERE c$out IS NOT NULL GROUP BY c$out HAVING count(c$carried) > 0)
SELECT 1 FROM e$other JOIN held ON e$other.c$joined = held.key
WHERE gap OR low <> high OR c$column IS NULL OR c$column <> high LIMIT 1"""
    return _filled(statement, t=table, out=out, carried=carried, other=other, joined=joined, column=column)


def distinct(columns: Sequence[tuple[int, int]]) -> str:
    """The distinct values of some columns of one type, without the missing one, in rising order."""
    return _filled("SELECT DISTINCT value FROM ($held) ORDER BY value", held=_values(columns))


def n_distinct(columns: Sequence[tuple[int, int]]) -> str:
    """How many there are."""
    return _filled("SELECT count(*) FROM (SELECT DISTINCT value FROM ($held))", held=_values(columns))


def _values(columns: Sequence[tuple[int, int]]) -> str:
    one = "SELECT c$c AS value FROM e$t WHERE c$c IS NOT NULL"
    return " UNION ALL ".join(_filled(one, t=table, c=column) for table, column in columns)


def n_missing(table: int, column: int) -> str:
    """How many rows have no value in a column."""
    return _filled("SELECT count(*) - count(c$c) FROM e$t", t=table, c=column)


def span(table: int, column: int) -> str:
    """How many rows there are, how many have no time in a column, and the first and the last time."""
    return _filled("SELECT count(*), count(*) - count(c$c), min(c$c), max(c$c) FROM e$t", t=table, c=column)


def dangling(table: int, column: int, other: int, to: int) -> str:
    """How many rows have a value in a column, and of how many no row of the other has it."""
    statement = """
SELECT count(*), count(*) FILTER (c$c NOT IN (SELECT c$to FROM e$other WHERE c$to IS NOT NULL))
FROM e$t WHERE c$c IS NOT NULL"""
    return _filled(statement, t=table, c=column, other=other, to=to)


def start(table: int, n_tables: int, domains: Mapping[int, str]) -> list[str]:
    """Put every row of the target into the part that `parts` gives it; nothing else is reached yet."""
    rows = "CREATE TABLE r$t (place BIGINT, part INTEGER, step INTEGER)"
    keys = "CREATE TABLE k$d (key $kind, part INTEGER, step INTEGER)"
    return [
        *(_filled(rows, t=number) for number in range(n_tables)),
        *(_filled(keys, d=number, kind=kind) for number, kind in domains.items()),
        _filled("INSERT INTO r$t SELECT place, part, 0 FROM parts", t=table),
    ]


def spread(domain: int, columns: Sequence[tuple[int, int]], step: int) -> str:
    """Add the keys of the rows that the last step reached."""
    one = "SELECT c$c AS key, part FROM e$t JOIN r$t USING (place) WHERE step = $step AND c$c IS NOT NULL"
    held = " UNION ALL ".join(_filled(one, t=table, c=column, step=step - 1) for table, column in columns)
    statement = """
INSERT INTO k$d SELECT DISTINCT key, part, $step FROM ($held) AS held ANTI JOIN k$d AS known USING (key, part)"""
    return _filled(statement, d=domain, step=step, held=held)


def gathered(table: int, columns: Sequence[tuple[int, int]], step: int) -> str:
    """Add the rows of a table that hold one of these keys; `columns` are numbers of columns with their domains."""
    one = "SELECT place, part FROM e$t JOIN k$d ON c$c = key WHERE step = $step"
    found = " UNION ALL ".join(_filled(one, t=table, c=column, d=domain, step=step) for column, domain in columns)
    statement = """
INSERT INTO r$t SELECT DISTINCT place, part, $step FROM ($found) AS found ANTI JOIN r$t AS known USING (place, part)"""
    return _filled(statement, t=table, step=step, found=found)


def rows_of_part(table: int, part: int) -> str:
    """The numbers of the rows of a part, in order."""
    return _filled("SELECT place FROM r$t WHERE part = $part ORDER BY place", t=table, part=part)


def n_rows_of_parts(table: int) -> str:
    """How many rows each part has."""
    return _filled("SELECT part, count(*) FROM r$t GROUP BY part", t=table)


def shared_rows(table: int) -> str:
    """Number the rows that several parts have, and tell the first of these."""
    statement = """
CREATE OR REPLACE TABLE s AS SELECT place, row_number() OVER (ORDER BY place) - 1 AS shared, min(part) AS first_part
FROM r$t GROUP BY place HAVING count(*) > 1"""
    return _filled(statement, t=table)


N_SHARED = "SELECT count(*) FROM s"
"""How many rows several parts have."""


def not_included(table: int, columns: Sequence[int], other: int, keys: Sequence[int]) -> str:
    """A row of the other table to whose keys no row of the table has the same, if there is one."""
    same = " AND ".join(f"one.c{column} = two.c{key}" for column, key in zip(columns, keys, strict=True))
    known = " AND ".join(f"two.c{key} IS NOT NULL" for key in keys)
    statement = """
SELECT 1 FROM e$other AS two WHERE $known AND NOT EXISTS (SELECT 1 FROM e$t AS one WHERE $same) LIMIT 1"""
    return _filled(statement, t=table, other=other, same=same, known=known)


def by_part(table: int, n_columns: int) -> str:
    """Put the rows of each part together in `w`, so that a part is found without looking at the others."""
    statement = """
CREATE OR REPLACE TABLE w AS SELECT part, $columns FROM e$t JOIN r$t USING (place) ORDER BY part, place"""
    return _filled(statement, t=table, columns=", ".join(["place", *(f"c{k}" for k in range(n_columns))]))


def write_part(
    table: int,
    n_columns: int,
    path: str,
    part: int | None = None,
    *,
    put_together: bool = False,
    some_shared: bool = False,
) -> str:
    """Write the rows of a part, or all rows, as Parquet in the order of the source.

    `put_together` says that `by_part` was asked before, `some_shared` that `shared_rows` was, and found some: these get
    their numbers, and whether this part is the first that has them.
    """
    held, columns = "e$t" if part is None else "w WHERE part = $part", _columns(range(n_columns))
    if part is not None and not put_together:
        held = "e$t WHERE place IN (SELECT place FROM r$t WHERE part = $part)"
    if some_shared:
        held = _filled("(SELECT * FROM $held) LEFT JOIN s USING (place)", held=held)
        columns += ", shared, first_part = $part AS own"
    statement = """
COPY (SELECT $columns FROM $held ORDER BY place) TO $path (FORMAT parquet, COMPRESSION zstd)"""
    numbers = {"t": table, "part": -1 if part is None else part}
    return _filled(statement, columns=_filled(columns, **numbers), held=_filled(held, **numbers), path=_quoted(path))
