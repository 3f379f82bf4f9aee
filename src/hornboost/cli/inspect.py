"""`hornboost inspect` and `hornboost convert`: what a source holds, and the source as a folder that says so itself."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hornboost.cli import options as shared
from hornboost.cli.output import note, say, show_json, show_table
from hornboost.cli.source import TaskOptions
from hornboost.errors import DataError, counted

if TYPE_CHECKING:
    from hornboost.data import Database
    from hornboost.data.time_facts import TimeFacts


@shared.gathers(options=shared.task_options)
def inspect(
    source: shared.Source,
    *,
    options: TaskOptions,
    toml: Annotated[bool, typer.Option("--toml", help="Print the schema as a schema.toml.")] = False,
    as_json: shared.Json = False,
) -> None:
    """Show the tables of SOURCE as found: columns, types, links, what is predicted, what was inferred, and warnings."""
    from hornboost.cli.source import open_source

    database = open_source(source, options)
    if toml:
        say(database.to_schema_toml())
    elif as_json:
        show_json(_as_json(database))
    else:
        _show(database, _about_task(database, options, source))


@shared.gathers(options=shared.task_options)
def convert(
    source: shared.Source,
    folder: Annotated[Path, typer.Argument(help="The folder to make; it must not exist yet.")],
    *,
    options: TaskOptions,
    csv: Annotated[bool, typer.Option("--csv", help="Write CSV files instead of Parquet.")] = False,
) -> None:
    """Write SOURCE as a folder with a file a table and a schema.toml, which every verb reads without guessing."""
    from hornboost.cli.folder import check_new, write_folder
    from hornboost.cli.source import open_source, say_which_tables

    check_new(folder)
    database = open_source(source, options)
    say_which_tables(database)
    for warning in database.warnings:  # among them are columns that are left out, which the folder will lack
        note(warning)
    write_folder(database, folder, "csv" if csv else "parquet")
    note(f"wrote {counted(len(database.tables), 'table')} and schema.toml to {folder}")


def _about_task(database: Database, options: TaskOptions, source: str) -> list[str]:
    """What was left open: the target, and the label, for which `fit` would take the likeliest."""
    from hornboost.cli.source import likely_label

    if database.target.label is not None:
        return []
    first, found = database.target.table, []
    if options.target is None and len(database.tables) > 1:
        found = [
            f"no target was named, so '{first}' is taken, the first table; choose with --target TABLE --label COLUMN"
        ]
    with suppress(DataError):  # then fit asks for it as well
        table, label = likely_label(database, options, source)
        found.append(f"no label was named; fit would learn '{label}' of table '{table}'")
    return found


def _show(database: Database, left_open: Iterable[str]) -> None:
    from hornboost.data.describe import headline

    say(headline(database))
    for line in left_open:
        say(line)
    described = database.describe()
    for table, columns in described.groupby("table", sort=False):
        say()
        say(f"{table} ({counted(int(columns['rows'].iloc[0]), 'row')})")
        rows = [
            (
                f"  {row['column']}",
                row["type"],
                f"{row['distinct']:,}",
                f"{row['missing']:,}",
                row["links"] or _domain(row),
            )
            for row in columns.to_dict("records")
        ]
        show_table(["  column", "type", "distinct", "missing", "links"], rows, right=("distinct", "missing"))
    target = database.target
    if target.label is not None:
        say()
        counts = ", ".join(f"{value} ({count:,})" for value, count in class_counts(database).items())
        say(f"predicts {target.table}.{target.label}: {counts or _numbers(database)}")
        if database.unlabelled_rows.size:
            n = database.unlabelled_rows.size
            they_have, they = ("it has", "it") if n == 1 else ("they have", "they")
            say(f"left out, as {they_have} no label: {counted(n, 'row')} ({they} can be predicted)")
    _show_times(database)
    if database.left_out:
        say()
        say(f"not read: {', '.join(database.left_out)} (choose with --tables and --exclude-table)")
    for title, lines in (("inferred", database.inferred), ("warnings", database.warnings)):
        if lines:
            say()
            say(f"{title}:")
        for line in lines:
            say(f"  {line}")


def _unreached(database: Database) -> dict[str, str]:
    """The tables that no rule looks at by default."""
    from hornboost.data.distances import FARTHEST, unreached

    return unreached(database.tables, database.target.table, FARTHEST)


def _show_times(database: Database) -> None:
    """The tables with a time, the columns that are filled in later, and what could be declared as well."""
    from hornboost.data.time_facts import about_future, suggested_times, time_facts

    facts = time_facts(database) if database.stored is None else []  # what is reached lies in the partitions
    if facts:
        say()
        say(f"{facts[0].table}.{facts[0].column} is the cutoff of the examples, which see only rows from before it:")
        show_table(
            ["  time", "from", "to", "rows", "undated", "reached", "too late"],
            [_time_row(found) for found in facts],
            right=("rows", "undated", "reached", "too late"),
        )
        counted = max(found.examples for found in facts)
        if counted < database.example_rows.size:
            say(f"  (reached by {counted:,} of the examples)")
    lines = [
        f"{', '.join((*columns, dating))} of {table}: missing for cutoffs up to '{dating}'"
        for table, dated in database.known_later.items()
        for dating, columns in dated.items()
    ]
    for title, found in (
        ("filled in later", lines),
        ("about times", list(about_future(facts))),
        ("could be times", suggested_times(database)),
    ):
        if found:
            say()
            say(f"{title}:")
        for line in found:
            say(f"  {line}")


def _time_row(facts: TimeFacts) -> tuple[str, ...]:
    first, last = facts.span
    reached, late = f"{facts.reached:,}", f"{facts.after:,} ({facts.after / max(facts.reached, 1):.0%})"
    counted = (reached, late) if facts.path else ("", "")
    return (f"  {facts.table}.{facts.column}", first, last, f"{facts.rows:,}", f"{facts.undated:,}", *counted)


def _times_json(database: Database) -> dict[str, Any]:
    from hornboost.data.time_facts import suggested_times, time_facts

    facts = [
        {
            "table": found.table,
            "column": found.column,
            "rows": found.rows,
            "undated": found.undated,
            "first": found.span[0] or None,
            "last": found.span[1] or None,
            "examples": found.examples,
            "reached": found.reached,
            "after_cutoff": found.after,
            "path": list(found.path),
        }
        for found in (time_facts(database) if database.stored is None else ())
    ]
    later = {
        table: {dating: list(columns) for dating, columns in dated.items()}
        for table, dated in database.known_later.items()
    }
    return {"times": facts, "known_later": later, "could_be_times": suggested_times(database)}


def _domain(row: dict[str, Any]) -> str:
    return f"identifies {row['domain']}" if row["domain"] and row["domain"] != f"{row['table']}.{row['column']}" else ""


def class_counts(database: Database) -> dict[str, int]:
    """How many examples there are of each class."""
    if not database.target.classes:
        return {}
    _, y = database.examples()
    values = [str(value) for value in y]
    return {name: values.count(name) for name in database.target.classes}


def _numbers(database: Database) -> str:
    """What there is to say about a label that is not of classes, or that no row has."""
    n = database.example_rows.size
    if n == 0:
        return "no row has a label"
    y = database.examples()[1]
    return f"numbers ({counted(n, 'row')}, {counted(y.nunique(), 'distinct value')} from {y.min():g} to {y.max():g})"


def _as_json(database: Database) -> dict[str, Any]:
    from hornboost.data.distances import distances

    target = database.target
    return {
        "target": {"table": target.table, "key": list(target.key), "label": target.label, "positive": target.positive},
        "label_kind": database.label_kind,
        "classes": class_counts(database),
        "unlabelled": database.unlabelled_rows.size,
        "not_read": list(database.left_out),
        "columns": database.describe().to_dict("records"),
        "links": [
            {
                "from": f"{link.table}.{link.column}",
                "to": f"{link.to_table}.{link.to_column}",
                "rows": link.rows,
                "dangling": link.dangling,
            }
            for link in database.links
        ],
        **_times_json(database),
        "inferred": list(database.inferred),
        "warnings": list(database.warnings),
        "joins_away": distances(database.tables, target.table),
        "unreached": _unreached(database),
    }
