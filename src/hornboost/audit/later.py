"""Values that are filled in after the time of the prediction, in rows that were there before."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hornboost.audit.declarations import of_later, of_times, together
from hornboost.audit.evidence import CHANCE, is_related
from hornboost.audit.examples import AuditedExamples, Due, ReachedRows
from hornboost.audit.finding import Finding
from hornboost.data.table import Column, Table

Mask = NDArray[np.bool_]


def later_values(examples: AuditedExamples) -> Iterator[Finding]:
    """Times that lie after the prediction in rows from before, and the columns that are filled in at these times.

    A time with gaps, which is filled in when something happens, is told in any case. One that every row has may be
    known beforehand, as a date on which a loan falls due: it is told if what is later, or a value that only later rows
    have, has to do with the class.
    """
    due = examples.due
    if due is None:
        return
    for table in examples.database.tables.values():
        seen = _seen_rows(examples, due, table)
        row_time = None if table is examples.target else examples.time_of(table)
        for column in examples.comparable(table):
            if row_time is not None and column.name == row_time.name:
                continue
            moments = column.numbers[seen.rows]
            later = moments >= due.times.numbers[seen.example]
            if not (moments > due.times.numbers[seen.example]).any():
                continue
            signs = [later, *(_of_later(other, seen, later) for other in _others(table, column))]
            if column.missing.any() or any(_tells_the_class(examples, seen, rows) for rows in signs):
                with_it = _filled_in_with(table, column, seen, later)
                yield _finding(examples, due, table, column, seen.of(later), with_it)


def _seen_rows(examples: AuditedExamples, due: Due, table: Table) -> ReachedRows:
    """The rows of a table that are there when predictions are due; of the target the examples' own."""
    if table is examples.target:
        return ReachedRows(examples.sample, examples.rows[examples.sample])
    reached, times = examples.reached(table.name), examples.time_of(table)
    if times is None:
        return reached
    return reached.of(times.numbers[reached.rows] < due.times.numbers[reached.example])


def _filled_in_with(table: Table, column: Column, seen: ReachedRows, later: Mask) -> list[str]:
    """The columns whose values come at a later time.

    They have values only where there is a time, or a value of theirs occurs only in rows that are filled in later.
    """
    found = []
    rows = np.unique(seen.rows)
    missing = column.missing[rows]
    for other in _others(table, column):
        gaps = other.missing[rows]
        comes_with = missing.any() and gaps.any() and not (missing & ~gaps).any() and gaps.mean() < 1.0
        if comes_with or _of_later(other, seen, later).any():
            found.append(other.name)
    return found


def _others(table: Table, column: Column) -> list[Column]:
    return [other for other in table.attributes if other.name != column.name and other.name not in table.late]


def _of_later(other: Column, seen: ReachedRows, later: Mask) -> Mask:
    """The rows with a value that occurs in later ones only, so often that it is no chance."""
    if other.kind != "nominal" or later.all():
        return np.zeros(later.size, bool)
    codes = other.codes[seen.rows]
    known = codes >= 0
    assert other.categories is not None
    total = np.bincount(codes[known], minlength=other.categories.size)
    of_later = np.bincount(codes[known & later], minlength=other.categories.size)
    only = (of_later == total) & (later.mean() ** of_later < CHANCE)
    return np.asarray(known & only[codes])


def _tells_the_class(examples: AuditedExamples, seen: ReachedRows, later: Mask) -> bool:
    if not examples.is_labelled:
        return False
    reaches = np.zeros(examples.rows.size, bool)
    reaches[seen.example[later]] = True
    return is_related(reaches[examples.sample], examples.y[examples.sample], examples.is_of_numbers)


def _finding(
    examples: AuditedExamples, due: Due, table: Table, column: Column, later: ReachedRows, with_it: list[str]
) -> Finding:
    place = f"{table.name}.{column.name}"
    n_rows, n = np.unique(later.rows).size, np.unique(later.example).size
    text = (
        f"{place} is of the time of the prediction or later ({due.about(examples.target.name)}) in {n_rows:,} rows "
        f"that were there before it, reached by {n:,} of {examples.sample.size:,} examples"
    )
    if with_it:
        names = " and ".join(f"{table.name}.{name}" for name in with_it)
        text += f"; {names} {'is' if len(with_it) == 1 else 'are'} filled in with it"
    shares = examples.shares(later.example)
    text += f"; {shares} reach such a row" if shares and table is not examples.target else ""
    cutoff = {} if due.is_declared else {examples.target.name: due.column}
    options = together([of_times(cutoff), of_later(table.name, column.name, with_it)])
    row_time = None if table is examples.target else examples.time_of(table)
    first = [*([] if row_time is None else [row_time.name]), column.name, *with_it]
    return Finding("later values", place, text, examples.witnesses(table, later, *first), options)
