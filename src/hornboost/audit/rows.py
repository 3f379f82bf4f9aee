"""Rows that came about at or after the time of the prediction."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hornboost.audit.declarations import of_times
from hornboost.audit.examples import AuditedExamples, Due, ReachedRows
from hornboost.audit.finding import Finding
from hornboost.data.table import Column, Table


def unused_rows(examples: AuditedExamples) -> Iterator[Finding]:
    """Rows after the cutoffs in tables whose times are declared: no rule sees them."""
    due = examples.due
    for table in examples.database.tables.values():
        if due is None or table.times is None or not examples.target.times:
            continue
        reached = examples.reached(table.name)
        later = _later(examples, due, reached, table.times)
        if len(later):
            text = (
                f"{_count(later, reached, table, examples)} are not before {examples.target.name}.{due.column}; as "
                f"{table.name}.{table.times.name} is declared, no rule sees them"
            )
            yield Finding("unused rows", table.name, text, examples.witnesses(table, later, table.times.name))


def later_rows(examples: AuditedExamples) -> Iterator[Finding]:
    """Rows after the time of the prediction in tables without a declared time."""
    due = examples.due
    if due is None:
        return
    for table in examples.database.tables.values():
        times = due.times if table is examples.target else examples.time_of(table)
        if table.times is not None or times is None:
            continue
        if table is examples.target:
            times = table.columns[due.column]
        reached = examples.reached(table.name)
        later = _later(examples, due, reached, times)
        if not len(later) or not (times.numbers[later.rows] > due.times.numbers[later.example]).any():
            continue
        text = (
            f"{_count(later, reached, table, examples)} are of the time of the prediction or later "
            f"({table.name}.{times.name} against {due.about(examples.target.name)})"
        )
        shares = examples.shares(later.example)
        text += f"; {shares} reach such a row" if shares else ""
        declared = {examples.target.name: due.column} if not due.is_declared else {}
        options = of_times(declared | {table.name: times.name})
        yield Finding("later rows", table.name, text, examples.witnesses(table, later, times.name), options)


def _later(examples: AuditedExamples, due: Due, reached: ReachedRows, times: Column) -> ReachedRows:
    """The pairs in which a row is not before the example; rows without a time are none."""
    return reached.of(times.numbers[reached.rows] >= due.times.numbers[reached.example])


def _count(later: ReachedRows, reached: ReachedRows, table: Table, examples: AuditedExamples) -> str:
    n, n_rows = np.unique(later.example).size, np.unique(later.rows).size
    share = f"{len(later) / max(len(reached), 1):.0%}"
    return (
        f"{n_rows:,} rows of {table.name}, reached by {n:,} of {examples.sample.size:,} examples "
        f"({share} of what they reach there),"
    )
