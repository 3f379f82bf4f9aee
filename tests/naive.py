"""Slow, obvious references. They work on plain Python rows and share no code with the package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hornboost.logic.clause import Clause, Literal
from hornboost.logic.clause import Test as Condition

Row = Mapping[str, Any]
Binding = dict[str, Any]


def covers(
    tables: Mapping[str, Sequence[Row]], clause: Clause, target: str, examples: Sequence[Row] | None = None
) -> list[bool]:
    """Which rows of the target table, or which other `examples`, a clause covers, by trying all rows for all literals.

    None and NaN are missing; keys are compared as they are, `=` compares texts, dates are ISO texts.
    """
    root = next(position for position, literal in enumerate(clause.body) if literal.table == target)
    others = [literal for position, literal in enumerate(clause.body) if position != root]

    def extends(binding: Binding | None, literals: Sequence[Literal]) -> bool:
        if binding is None:
            return False
        if not literals:
            return all(
                None not in (binding[left], binding[right]) and binding[left] != binding[right]
                for left, right in clause.unequal
            )
        return any(extends(bound(binding, literals[0], row), literals[1:]) for row in tables[literals[0].table])

    return [
        extends(bound({}, clause.body[root], row), others) for row in (tables[target] if examples is None else examples)
    ]


def bound(binding: Binding, literal: Literal, row: Row) -> Binding | None:
    """The binding with the variables that the row gives values to, or None if the row does not fit."""
    if not all(holds(condition, row[condition.column]) for condition in literal.tests):
        return None
    binding = dict(binding)
    for column, variable in literal.bindings:
        if variable in binding and (row[column] is None or binding[variable] != row[column]):
            return None
        binding[variable] = row[column]
    return binding


def holds(condition: Condition, value: Any) -> bool:
    missing = value is None or value != value
    if missing or condition.op == "missing":
        return missing and condition.op == "missing"
    if condition.op == "=":
        return str(value) == condition.value
    return value >= condition.value if condition.op == ">=" else value <= condition.value
