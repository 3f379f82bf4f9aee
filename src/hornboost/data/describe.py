"""A database in words: links with their dangling keys, a frame with a row per column, text and HTML summaries."""

from __future__ import annotations

import html
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hornboost.data.domain import Domain
from hornboost.data.schema import Schema
from hornboost.data.table import Column, Table
from hornboost.data.text_numbers import without_decimals
from hornboost.errors import counted

if TYPE_CHECKING:
    from hornboost.data.database import Database


@dataclass(frozen=True)
class Link:
    """A foreign key, the number of rows with a value in it, and how many of those refer to no row."""

    table: str
    column: str
    to_table: str
    to_column: str
    rows: int
    dangling: int


def count_dangling(schema: Schema, tables: Mapping[str, Table], domains: Mapping[str, Domain]) -> tuple[Link, ...]:
    """The foreign keys between visible columns."""
    links = []
    for key in schema.foreign_keys:
        start = tables[key.table].columns.get(key.column) if key.table in tables else None
        end = tables[key.to_table].columns.get(key.to_column) if key.to_table in tables else None
        if start is None or end is None:
            continue
        present = np.zeros(domains[str(end.domain)].size + 1, dtype=bool)
        present[end.codes] = True
        given = start.codes[start.codes >= 0]
        links.append(Link(key.table, key.column, key.to_table, key.to_column, given.size, int((~present[given]).sum())))
    return tuple(links)


def about_dangling(database: Database) -> Iterator[str]:
    """Sentences about links that lead nowhere, with the reason where that is a matter of spelling."""
    for link in database.links:
        if link.dangling:
            start, end = f"{link.table}.{link.column}", f"{link.to_table}.{link.to_column}"
            reason = "" if database.stored is not None else _about_decimals(database, link)
            yield f"{link.dangling} of {link.rows} rows of {start} refer to no row of {end}{reason}"


def _about_decimals(database: Database, link: Link) -> str:
    """That one side of a link spells as '46.0' what is '46' on the other, if it does."""
    import pyarrow as pa
    import pyarrow.compute as pc

    sides = [(link.table, link.column), (link.to_table, link.to_column)]
    columns = [database.tables[table].columns[column] for table, column in sides]
    values = database.domains[str(columns[0].domain)].values
    if values.type == pa.int64():
        return ""
    texts = [values.take(pa.array(np.unique(column.codes[column.codes >= 0]))) for column in columns]
    for own, other in ((0, 1), (1, 0)):
        decimals = texts[own].filter(pc.ends_with(texts[own], ".0"))
        found = decimals.filter(pc.is_in(without_decimals(decimals), value_set=texts[other]))
        if len(found):
            place, example = ".".join(sides[own]), found[0].as_py()
            whole = example.removesuffix(".0")
            return f": {place} has the text '{example}', which is another key than {whole}; write whole numbers there"
    return ""


def type_name(column: Column) -> str:
    """The type of a column as a schema writes it."""
    return "date" if column.is_date else column.kind


def describe_frame(database: Database) -> Any:
    """A row per column of each table."""
    import pandas as pd

    rows = []
    for table in database.tables.values():
        for column in (*table.columns.values(), *([] if table.times is None else [table.times])):
            links = [link for link in database.links if (link.table, link.column) == (table.name, column.name)]
            rows.append(
                {
                    "table": table.name,
                    "rows": n_rows(database, table),
                    "column": column.name,
                    "type": type_name(column),
                    "domain": column.domain or "",
                    **_counts(database, table, column),
                    "links": "; ".join(_link_text(link) for link in links) or _about_time(table, column, database),
                }
            )
    return pd.DataFrame(rows, columns=["table", "rows", "column", "type", "domain", "distinct", "missing", "links"])


def n_rows(database: Database, table: Table) -> int:
    """The rows of a table, also where they are in partitions."""
    return table.n_rows if database.stored is None else database.stored.manifest.table(table.name).rows


def _counts(database: Database, table: Table, column: Column) -> dict[str, int]:
    """How many distinct values a column has, and in how many rows it has none."""
    if database.stored is None:
        return {"distinct": _distinct(column), "missing": int(column.missing.sum())}
    entry = database.stored.manifest.table(table.name)
    found = next(known for known in (*entry.columns, entry.times) if known is not None and known.name == column.name)
    return {"distinct": found.distinct, "missing": found.missing}


def _distinct(column: Column) -> int:
    if column.kind == "numeric":
        return int(np.unique(column.numbers[~column.missing]).size)
    return int(np.count_nonzero(np.bincount(column.codes[column.codes >= 0])))


def _about_time(table: Table, column: Column, database: Database) -> str:
    """What times say about a column: that it is one, or when its values are known."""
    if column is table.times:
        return "cutoff of the examples" if table.name == database.target.table else "time of the row"
    return f"filled in at {table.late[column.name]}" if column.name in table.late else ""


def _link_text(link: Link) -> str:
    return f"{link.to_table}.{link.to_column}" + (f" ({link.dangling} dangling)" if link.dangling else "")


def headline(database: Database) -> str:
    """One line: how much there is, and what is predicted."""
    rows = sum(n_rows(database, table) for table in database.tables.values())
    target = database.target
    what = f"predict {target.table}.{target.label}" if target.label is not None else f"rows of {target.table}, no label"
    if target.positive is not None:
        what += f' (positive "{target.positive}")'
    tables = len(database.tables)
    parts = "" if database.stored is None else f" in {counted(database.stored.n, 'partition')}"
    return f"Database: {counted(tables, 'table')}, {counted(rows, 'row')}{parts}; {what}"


def _columns_text(table: Table) -> str:
    names = [f"{column.name}:{type_name(column)}" for column in table.columns.values()]
    time = "" if table.times is None else f"; time {table.times.name}"
    return ", ".join(names[:12]) + (f", … ({len(names)} columns)" if len(names) > 12 else "") + time


def summary_text(database: Database) -> str:
    """The tables, their links and the warnings, a line each."""
    width = max(len(name) for name in database.tables)
    lines = [headline(database)]
    lines += [
        f"  {name:<{width}} {n_rows(database, table):>10,} rows  {_columns_text(table)}"
        for name, table in database.tables.items()
    ]
    lines += [f"  {link.table}.{link.column} -> {_link_text(link)}" for link in database.links]
    lines += [f"  inferred: {note}" for note in database.inferred]
    lines += [f"  warning: {warning}" for warning in database.warnings]
    return "\n".join(lines)


def summary_html(database: Database) -> str:
    """The same for a notebook; every name is escaped."""
    rows = "".join(
        f"<tr><td>{html.escape(name)}</td><td>{n_rows(database, table):,}</td>"
        f"<td>{html.escape(_columns_text(table))}</td></tr>"
        for name, table in database.tables.items()
    )
    notes = [f"{link.table}.{link.column} → {_link_text(link)}" for link in database.links]
    notes += [f"inferred: {note}" for note in database.inferred] + [
        f"warning: {warning}" for warning in database.warnings
    ]
    items = "".join(f"<li>{html.escape(note)}</li>" for note in notes)
    head = "<tr><th>table</th><th>rows</th><th>columns</th></tr>"
    return f"<div><p>{html.escape(headline(database))}</p><table>{head}{rows}</table><ul>{items}</ul></div>"
