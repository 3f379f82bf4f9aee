"""What findings ask to declare: options of a reader, as Python writes them and as the command line does."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Options = Mapping[str, Any]
"""Options of a reader: `times`, `known_later`, `exclude_columns` and `exclude_tables`."""


def of_times(times: Mapping[str, str]) -> Options:
    """Times of rows."""
    return {"times": dict(times)} if times else {}


def of_later(table: str, dating: str, columns: Sequence[str]) -> Options:
    """Columns that are filled in at a later time than their row."""
    return {"known_later": {table: {dating: list(columns)}}}


def of_column(table: str, column: str) -> Options:
    """A column that is to be left out."""
    return {"exclude_columns": [f"{table}.{column}"]}


def of_table(table: str) -> Options:
    """A table that is to be left out."""
    return {"exclude_tables": [table]}


def together(declared: Iterable[Options]) -> dict[str, Any]:
    """All of several declarations.

    >>> together([of_times({"loan": "granted"}), of_times({"trans": "date"}), of_column("loan", "status")])
    {'times': {'loan': 'granted', 'trans': 'date'}, 'exclude_columns': ['loan.status']}
    """
    found: dict[str, Any] = {}
    for options in declared:
        for name, value in options.items():
            if name == "known_later":
                for table, by_column in value.items():
                    found.setdefault(name, {}).setdefault(table, {}).update(by_column)
            elif name == "times":
                found.setdefault(name, {}).update(value)
            else:
                kept = found.setdefault(name, [])
                kept += [item for item in value if item not in kept]
    return found


def python_text(options: Options) -> str:
    """Options as arguments.

    >>> python_text(of_times({"loan": "granted"}))
    "times={'loan': 'granted'}"
    """
    return ", ".join(f"{name}={value!r}" for name, value in options.items())


def command_text(options: Options) -> str:
    """The same on the command line.

    >>> command_text(together([of_times({"loan": "granted"}), of_later("card", "closed", ["reason"])]))
    '--time loan.granted --known-later card.closed=reason'
    """
    words = []
    for table, column in options.get("times", {}).items():
        words += ["--time", f"{table}.{column}"]
    for table, by_column in options.get("known_later", {}).items():
        for dating, columns in by_column.items():
            words += ["--known-later", f"{table}.{dating}" + ("=" + ",".join(columns) if columns else "")]
    for column in options.get("exclude_columns", ()):
        words += ["--exclude", column]
    for table in options.get("exclude_tables", ()):
        words += ["--exclude-table", table]
    return shlex.join(words)
