"""Rows that made rules fire, one for each literal, as users see them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hornboost.data.frames import decode_table
from hornboost.data.table import Table
from hornboost.engine.coverage import Coverage, Trace
from hornboost.logic.aggregate import Aggregate, Operand
from hornboost.logic.clause import Clause, Literal
from hornboost.model.ensemble import Ensemble
from hornboost.model.explanation import Witness
from hornboost.model.views import cutoff_of, is_dated, seen


def witnesses_of(
    ensemble: Ensemble, trace: Trace, covered: NDArray[np.bool_]
) -> dict[tuple[int, int], tuple[Witness, ...]]:
    """For each rule and each example that it covers one row for each literal, in the order of the clause."""
    database = trace.coverage.database
    clauses = [rule.clause.rooted(database.target.table) for rule in ensemble.rules]
    fired = [np.flatnonzero(column) for column in covered.T]
    rows = [trace.witnesses(r, of_rule) if of_rule.size else {} for r, of_rule in enumerate(fired)]
    records = _Records.of(trace, clauses, rows)
    found: dict[tuple[int, int], tuple[Witness, ...]] = {}
    for r, (clause, of_rule) in enumerate(zip(clauses, fired, strict=True)):
        if of_rule.size:
            columns = [
                records.witnesses(literal, k, rows[r][k], of_rule)
                for k, literal in enumerate(clause.body)
                if k or literal.tests
            ]
            of_example = zip(*columns, strict=True) if columns else [()] * of_rule.size
            found.update({(r, e): tuple(found) for e, found in zip(of_rule.tolist(), of_example, strict=True)})
    return found


@dataclass(eq=False)
class _Records:
    """Rows of tables as users see them, each table read once: `of_row` leads from a row to its record."""

    coverage: Coverage
    examples: Table
    of_row: dict[tuple[str, bool], dict[int, dict[str, Any]]]

    @classmethod
    def of(cls, trace: Trace, clauses: Sequence[Clause], rows: Sequence[Mapping[int, NDArray[np.int32]]]) -> _Records:
        wanted: dict[tuple[str, bool], list[NDArray[np.int32]]] = {}
        mentioned: dict[Operand, None] = {}
        for clause, chosen in zip(clauses, rows, strict=True):
            for k, found in chosen.items():
                if k or clause.root.tests:
                    wanted.setdefault((clause.body[k].table, k == 0), []).append(found)
            if 0 in chosen:
                mentioned.update(dict.fromkeys(_mentioned(clause.root)))
        database = trace.coverage.database
        of_row = {}
        for (name, is_root), parts in wanted.items():
            table = only(trace.examples, tuple(mentioned)) if is_root else database.tables[name]
            distinct = np.unique(np.concatenate(parts)).astype(np.int64)
            frame = decode_table(table, database.domains, distinct, dates_as_text=True)
            of_row[name, is_root] = dict(zip(distinct.tolist(), map(cells, frame.to_dict("records")), strict=True))
        return cls(trace.coverage, trace.examples, of_row)

    def witnesses(
        self, literal: Literal, position: int, rows: NDArray[np.int32], examples: NDArray[np.int64]
    ) -> list[Witness]:
        """Rows as witnesses of a literal, each for an example; of that itself what the literal mentions is shown."""
        records = self.of_row[literal.table, position == 0]
        keys = [column.name for column in self.coverage.database.tables[literal.table].keys]
        mentioned = tuple(map(str, _mentioned(literal)))
        if position == 0:
            shown = tuple(dict.fromkeys((*(name for name in mentioned if name in keys), *mentioned)))
            counts = {
                str(operand): self.examples.aggregates[rows_behind(operand)].numbers
                for operand in _mentioned(literal)
                if isinstance(operand, Aggregate) and operand.function != "count"
            }
            return [
                Witness(
                    literal.table,
                    {name: records[row][name] for name in mentioned},
                    shown,
                    {name: int(values[row]) for name, values in counts.items()},
                )
                for row in rows.tolist()
            ]
        table = self.coverage.database.tables[literal.table]
        time = [] if table.times is None else [table.times.name]
        shown = tuple(dict.fromkeys((*keys, *mentioned, *time)))
        if not is_dated(table):
            return [Witness(literal.table, records[row], shown) for row in rows.tolist()]
        return [
            Witness(literal.table, seen(table, row, records[row], cutoff_of(self.examples, e)), shown, age=table.age)
            for row, e in zip(rows.tolist(), examples.tolist(), strict=True)
        ]


def rows_behind(aggregate: Aggregate) -> Aggregate:
    """The number of rows that an aggregate is of; of a share also those that it does not count."""
    if aggregate.function == "share":
        return Aggregate("count", aggregate.path, None, None, aggregate.within if aggregate.where else None)
    return Aggregate("count", aggregate.path, None, aggregate.where, aggregate.within)


def _mentioned(literal: Literal) -> tuple[Operand, ...]:
    """The columns that a literal binds or tests, and its aggregates."""
    return tuple(dict.fromkeys((*(column for column, _ in literal.bindings), *(test.column for test in literal.tests))))


def only(table: Table, names: Sequence[Operand]) -> Table:
    """Some columns of the examples: others may hold values that the dictionaries do not know."""
    columns = {str(name): column for name in names if (column := table.column(name)) is not None}
    return Table(table.name, columns, table.n_rows)


def cells(record: Mapping[Any, Any]) -> dict[str, Any]:
    """Plain values; a missing one is None."""
    import pandas as pd

    cells = {str(name): None if pd.isna(value) else value for name, value in record.items()}
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in cells.items()}
