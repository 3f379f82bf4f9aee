"""Rows with times as an example sees them: with their time and age, and without what was filled in later."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from hornboost.data.table import Table
from hornboost.logic.duration import duration_text, readable
from hornboost.logic.moment import moment_text


def is_dated(table: Table) -> bool:
    """Whether what an example sees of a row depends on its cutoff."""
    return table.times is not None or bool(table.late)


def cutoff_of(examples: Table, e: int) -> float:
    """Up to when an example may look."""
    assert examples.times is not None
    return float(examples.times.numbers[e])


def seen(table: Table, row: int, record: Mapping[str, Any], cutoff: float) -> dict[str, Any]:
    """The cells of a row that an example sees, with its time and its age, which is a text where times are dates."""
    cells = dict(record)
    for column, dating in table.late.items():
        if not table.columns[dating].numbers[row] < cutoff:
            cells[column] = None
    if table.times is not None and table.age is not None:
        time, is_date = float(table.times.numbers[row]), table.times.is_date
        cells[table.times.name] = moment_text(time) if is_date else time
        cells[table.age] = duration_text(cutoff - time) if is_date else cutoff - time
    return cells


def age_text(table: Table, row: int, cutoff: float) -> str:
    """How old a row is to an example, in words."""
    assert table.times is not None
    age = cutoff - float(table.times.numbers[row])
    return readable(age) if table.times.is_date else f"{age:.15g}"
