"""Whether a clause, or a tree of joins as from a checkpoint, fits the tables.

The engine itself trusts what it is given.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from hornboost.aggregates.attach import aggregate_type
from hornboost.data.table import Column, Table
from hornboost.engine.tree import Join, Spec
from hornboost.errors import ClauseError, DataError
from hornboost.logic.aggregate import Aggregate
from hornboost.logic.clause import Clause, Test
from hornboost.logic.duration import is_duration
from hornboost.logic.text import MOST_LITERALS

if TYPE_CHECKING:
    from hornboost.data import Database
    from hornboost.engine.engine import Engine


def check_clause(database: Database, clause: Clause) -> None:
    """Refuse, in one sentence, a clause that does not fit the tables; its first literal stands for the examples.

    Examples may have further columns than their table; tests on those are looked at when the examples are there.
    """
    n = len(clause.body)
    if n > MOST_LITERALS:
        raise ClauseError(
            f"the clause has {n:,} literals, and at most {MOST_LITERALS} can be followed; split it into several"
        )
    domains: dict[str, tuple[str | None, str]] = {}
    for k, literal in enumerate(clause.body):
        columns = _tables_columns(database, literal.table)
        for name, variable in literal.bindings:
            if name not in columns:
                raise DataError.unknown_column(literal.table, name, columns)
            if columns[name].kind != "key":
                kind = f"is {columns[name].kind}, not a key, so it takes no variable ('{variable}')"
                raise ClauseError(f"table '{literal.table}': column '{name}' {kind}")
            domain, where = domains.setdefault(variable, (columns[name].domain, f"{literal.table}.{name}"))
            if domain != columns[name].domain:
                raise ClauseError(
                    f"variable '{variable}' joins {where} with {literal.table}.{name}, which are keys of "
                    "different things"
                )
        for test in literal.tests:
            if isinstance(test.column, Aggregate):
                check_aggregate(database, test, is_root=k == 0)
            elif test.column in columns:
                check_test(literal.table, columns[test.column], test)
            elif k > 0:
                _check_time(database.tables[literal.table], test)
            else:
                _refuse_cutoff(database.tables[literal.table], test)


def check_aggregate(database: Database, test: Test, *, is_root: bool) -> None:
    """Refuse a test on an aggregate that the database cannot compute, or on another row than the target's."""
    assert isinstance(test.column, Aggregate)
    if not is_root:
        raise ClauseError(
            f"the aggregate '{test.column}' stands in another literal than that of the target table "
            f"'{database.target.table}'; move it there"
        )
    if test.op == "!=":
        raise ClauseError(f"'{test}': an aggregate is not compared with '!='; use =, >=, <= or 'is missing' instead")
    column = aggregate_type(database, test.column)
    if test.op in (">=", "<=") and column.is_age != (test.duration is not None):
        what = "an age, so it is compared with a length of time such as 90d" if column.is_age else "no age of dates"
        raise ClauseError(f"'{test}': the aggregate '{test.column}' is {what}")
    check_test(database.target.table, column, test)


def check_test(table: str, column: Column, test: Test) -> None:
    """Refuse a test that says nothing about values of the column's kind."""
    if test.op in (">=", "<=") and column.kind != "numeric":
        raise ClauseError(
            f"table '{table}': column '{column.name}' is {column.kind}, so it has no order for '{test.op}'; "
            "use = instead"
        )
    if test.op == "!=" and column.kind != "nominal":
        raise ClauseError(
            f"table '{table}': column '{column.name}' is {column.kind}, and '!=' excludes a value of a nominal column; "
            + ("use >= or <= instead" if column.kind == "numeric" else "compare keys by variables, as in A != B")
        )
    if test.op == "=" and column.kind == "numeric":
        try:
            float(test.value or "")
        except ValueError:
            raise ClauseError(
                f"table '{table}': column '{column.name}' is numeric, and {test.value!r} is no number"
            ) from None


def _check_time(table: Table, test: Test) -> None:
    """Refuse a test on another name than the age of a table's rows, or with a value that is no age."""
    age, times = table.age, table.times
    if times is None or test.column != age:
        if times is not None and test.column == times.name:
            raise ClauseError(
                f"table '{table.name}': the time '{times.name}' itself cannot be tested, since rules hold as of any "
                f"moment; use {age}, the time from the row to the example's cutoff"
            )
        raise DataError.unknown_column(table.name, str(test.column), [*table.columns, *([age] if age else [])])
    if test.op == "missing":
        return
    is_length = isinstance(test.value, str) and is_duration(test.value)
    if times.is_date and not is_length:
        raise ClauseError(f"table '{table.name}': {age} is a length of time, and {test.value!r} is none; write 90d")
    if not times.is_date and is_length:
        raise ClauseError(
            f"table '{table.name}': the times '{times.name}' are numbers, and so is {age}; write a number "
            f"where '{test.value}' stands"
        )
    if not times.is_date or test.op == "!=":
        check_test(table.name, Column(str(age), "numeric", np.empty(0)), test)


def _refuse_cutoff(table: Table, test: Test) -> None:
    """Refuse a test on the time of the example itself."""
    if table.times is not None and test.column == table.times.name:
        raise ClauseError(
            f"table '{table.name}': '{test.column}' is the moment up to which an example may look, which cannot be "
            "tested, since rules hold as of any moment; use other columns, or the age of rows that it reaches"
        )


def check_specs(engine: Engine, specs: Sequence[Spec]) -> None:
    """Refuse, in one sentence, a tree that does not hang together or names what the tables do not have."""
    if (
        not specs
        or specs[0].parent != -1
        or specs[0].join is not None
        or specs[0].table != engine.database.target.table
    ):
        raise ClauseError("the tree does not begin with the target table")
    for k, spec in enumerate(specs):
        if k > 0:
            if spec.join is None or spec.join.table != spec.table or not 0 <= spec.parent < k:
                raise ClauseError(f"the literal of '{spec.table}' hangs nowhere in the tree")
            _check_join(engine, specs, k, spec.join)
        for test in spec.tests:
            if isinstance(test.column, Aggregate):
                check_aggregate(engine.database, test, is_root=k == 0)
            elif k > 0 and test.column not in _columns(engine, spec.table):
                _check_time(engine.database.tables[spec.table], test)
            else:
                check_test(spec.table, _column(engine, specs, k, test.column), test)


def _check_join(engine: Engine, specs: Sequence[Spec], k: int, join: Join) -> None:
    path, node = set(), specs[k].parent
    while node >= 0:
        path.add(node)
        node = specs[node].parent
    pairs = [*join.equal, *join.unequal, *([] if join.source is None else [(join.column, join.source)])]
    for name, ref in pairs:
        if ref.node not in path:
            raise ClauseError(f"the literal of '{join.table}' refers to one that is not above it")
        mine = _key(join.table, name, _columns(engine, join.table))
        theirs = _key(specs[ref.node].table, ref.column, _node_columns(engine, specs, ref.node))
        if mine.domain != theirs.domain:
            raise ClauseError(
                f"{specs[ref.node].table}.{ref.column} is joined with {join.table}.{name}, which are keys of "
                "different things"
            )


def _column(engine: Engine, specs: Sequence[Spec], node: int, name: str) -> Column:
    columns = _node_columns(engine, specs, node)
    if name not in columns:
        raise DataError.unknown_column(specs[node].table, name, columns)
    return columns[name]


def _key(table: str, name: str, columns: dict[str, Column]) -> Column:
    if name not in columns:
        raise DataError.unknown_column(table, name, columns)
    if columns[name].kind != "key":
        raise ClauseError(
            f"table '{table}': column '{name}' is {columns[name].kind}, not a key, so it cannot be joined"
        )
    return columns[name]


def _node_columns(engine: Engine, specs: Sequence[Spec], node: int) -> dict[str, Column]:
    return dict(engine.examples.columns) if node == 0 else _columns(engine, specs[node].table)


def _columns(engine: Engine, table: str) -> dict[str, Column]:
    return dict(_tables_columns(engine.database, table))


def _tables_columns(database: Database, table: str) -> Mapping[str, Column]:
    if table not in database.tables:
        raise DataError.unknown_table(table, database.tables)
    return database.tables[table].columns
