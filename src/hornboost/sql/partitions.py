"""What is asked of DuckDB when a database is cut into partitions.

Table number `t` is `e{t}`: its rows by number (`place`) and its columns `c0`, `c1`, … `r{t}` says which rows are in
which part, and after how many joins they were reached; `k{d}` the same of the keys of domain number `d`. No name of a
user's is part of a statement, since DuckDB does not tell `A` from `a`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def counted(table: int) -> str:
    """The number of rows."""
    return f"SELECT count(*) FROM e{table}"


def repeated(table: int, column: int) -> str:
    """A key that two rows have, if there is one."""
    return f"SELECT c{column} FROM e{table} WHERE c{column} IS NOT NULL GROUP BY c{column} HAVING count(*) > 1 LIMIT 1"


def contradicted(table: int, out: int, carried: int, other: int, joined: int, column: int) -> str:
    """A row of the other table that is joined and does not hold what the rows that lead to it hold, if there is one."""
    return f"""
WITH held AS (
    SELECT c{out} AS key, min(c{carried}) AS low, max(c{carried}) AS high, count(*) > count(c{carried}) AS gap
    FROM e{table} WHERE c{out} IS NOT NULL GROUP BY c{out} HAVING count(c{carried}) > 0)
SELECT 1 FROM e{other} JOIN held ON e{other}.c{joined} = held.key
WHERE gap OR low <> high OR c{column} IS NULL OR c{column} <> high LIMIT 1"""


def distinct(columns: Sequence[tuple[int, int]], ordered: bool = True) -> str:
    """The distinct values of some columns of one type, without the missing one; in rising order."""
    parts = [f"SELECT c{column} AS value FROM e{table} WHERE c{column} IS NOT NULL" for table, column in columns]
    return f"SELECT DISTINCT value FROM ({' UNION ALL '.join(parts)})" + (" ORDER BY value" if ordered else "")


def n_distinct(columns: Sequence[tuple[int, int]]) -> str:
    """How many there are."""
    return f"SELECT count(*) FROM ({distinct(columns, ordered=False)})"


def n_missing(table: int, column: int) -> str:
    """How many rows have no value in a column."""
    return f"SELECT count(*) - count(c{column}) FROM e{table}"


def dangling(table: int, column: int, other: int, to: int) -> str:
    """How many rows have a value in a column, and of how many no row of the other has it."""
    return f"""
SELECT count(*), count(*) FILTER (c{column} NOT IN (SELECT c{to} FROM e{other} WHERE c{to} IS NOT NULL))
FROM e{table} WHERE c{column} IS NOT NULL"""


def start(table: int, n_tables: int, domains: Mapping[int, str]) -> list[str]:
    """Put every row of the target into the part that `parts` gives it; nothing else is reached yet."""
    made = [f"CREATE TABLE r{t} (place BIGINT, part INTEGER, step INTEGER)" for t in range(n_tables)]
    made += [f"CREATE TABLE k{d} (key {kind}, part INTEGER, step INTEGER)" for d, kind in domains.items()]
    return [*made, f"INSERT INTO r{table} SELECT place, part, 0 FROM parts"]


def spread(domain: int, columns: Sequence[tuple[int, int]], step: int) -> str:
    """Add the keys of the rows that the last step reached."""
    held = " UNION ALL ".join(
        f"SELECT c{column} AS key, part FROM e{table} JOIN r{table} USING (place) "
        f"WHERE step = {step - 1} AND c{column} IS NOT NULL"
        for table, column in columns
    )
    return (
        f"INSERT INTO k{domain} SELECT DISTINCT key, part, {step} FROM ({held}) AS held "
        f"ANTI JOIN k{domain} AS known USING (key, part)"
    )


def gathered(table: int, columns: Sequence[tuple[int, int]], step: int) -> str:
    """Add the rows of a table that hold one of these keys; `columns` are numbers of columns with their domains."""
    found = " UNION ALL ".join(
        f"SELECT place, part FROM e{table} JOIN k{domain} ON c{column} = key WHERE step = {step}"
        for column, domain in columns
    )
    return (
        f"INSERT INTO r{table} SELECT DISTINCT place, part, {step} FROM ({found}) AS found "
        f"ANTI JOIN r{table} AS known USING (place, part)"
    )


def rows_of_part(table: int, part: int) -> str:
    """The numbers of the rows of a part, in order."""
    return f"SELECT place FROM r{table} WHERE part = {part} ORDER BY place"


def n_rows_of_parts(table: int) -> str:
    """How many rows each part has."""
    return f"SELECT part, count(*) FROM r{table} GROUP BY part"


def write_part(table: int, n_columns: int, part: int | None, path: str) -> str:
    """Write the rows of a part, or all rows, as Parquet in the order of the source."""
    columns = ", ".join(f"c{k}" for k in range(n_columns)) or "place"
    where = "" if part is None else f" WHERE place IN (SELECT place FROM r{table} WHERE part = {part})"
    chosen = f"SELECT {columns} FROM e{table}{where} ORDER BY place"
    return f"COPY ({chosen}) TO {_quoted(path)} (FORMAT parquet, COMPRESSION zstd)"


def _quoted(path: str) -> str:
    return "'" + path.replace("'", "''") + "'"
