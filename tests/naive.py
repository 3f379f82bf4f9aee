"""Slow, obvious references. They work on plain Python rows and share no code with the package."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from hornboost.logic.aggregate import Aggregate
from hornboost.logic.clause import Clause, Literal
from hornboost.logic.clause import Test as Condition

Row = Mapping[str, Any]
Binding = dict[str, Any]


def covers(
    tables: Mapping[str, Sequence[Row]], clause: Clause, target: str, examples: Sequence[Row] | None = None
) -> list[bool]:
    """Which rows of the target table, or which other `examples`, a clause covers, by trying all rows for all literals.

    None and NaN are missing; keys are compared as they are, `=` and `!=` compare texts, dates are ISO texts.
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
    if condition.op in ("=", "!="):
        return (str(value) == condition.value) == (condition.op == "=")
    return value >= condition.value if condition.op == ">=" else value <= condition.value


def aggregated(
    tables: Mapping[str, Sequence[Row]],
    aggregate: Aggregate,
    route: Sequence[tuple[str, str, str]],
    example: Row,
    time: str = "",
) -> Any:
    """The value of an aggregate of an example, whose path joins (column before, table, column) after another.

    `time` is the cell of a row that holds its time.
    """
    rows = [example]
    for before, table, column in route:
        rows = [row for one in rows for row in tables[table] if row[column] is not None and one[before] == row[column]]
    if aggregate.within is not None:
        recent = [row for row in rows if row[aggregate.within[0]] <= length_of(aggregate.within[1])]
        # a share of recent rows is one of all rows, unless a value is counted among the recent ones
        rows = rows if aggregate.function == "share" and aggregate.where is None else recent
    else:
        recent = rows
    chosen = recent
    if aggregate.where is not None:
        chosen = [row for row in recent if str(row[aggregate.where[0]]) == aggregate.where[1]]
    if aggregate.function == "count":
        return len(chosen)
    if aggregate.function == "share":
        return len(chosen) / len(rows) if rows else None
    if aggregate.function == "last":
        chosen = [row for row in chosen if row[aggregate.column] is not None]
        chosen = [row for row in chosen if row[aggregate.column] == row[aggregate.column]]
        found = [row[aggregate.column] for row in chosen if row[time] == max(other[time] for other in chosen)]
        is_text = found and isinstance(found[0], str)
        return max(found, key=str.encode if is_text else None, default=None)
    found = [row[aggregate.column] for row in chosen]
    values = [value for value in found if value is not None and value == value]
    if aggregate.function == "distinct":
        return len(set(values))
    if aggregate.function in ("min", "max"):
        return {"min": min, "max": max}[aggregate.function](values, default=None)
    if aggregate.function in ("mode", "mode_share"):
        counts = sorted((-values.count(value), value.encode()) for value in set(values))
        if not counts:
            return None
        return counts[0][1].decode() if aggregate.function == "mode" else -counts[0][0] / len(values)
    values = [value for value in values if abs(value) <= (3e7 if aggregate.function == "std" else 1e15)]
    if len(values) < (2 if aggregate.function == "std" else 1):
        return None
    if aggregate.function == "std":
        square = rounded_sum([value * value for value in values])
        variance = (square - rounded_sum(values) * rounded_sum(values) / len(values)) / (len(values) - 1)
        return math.sqrt(max(variance, 0.0))
    return rounded_sum(values) / (len(values) if aggregate.function == "mean" else 1)


def length_of(length: str | float) -> float:
    """How old rows are at most."""
    if not isinstance(length, str):
        return length
    unit = next(unit for unit in ("min", "d", "h", "s") if length.endswith(unit))
    return float(length.removesuffix(unit)) * {"d": 86_400e6, "h": 3_600e6, "min": 60e6, "s": 1e6}[unit]


def rounded_sum(values: Sequence[float]) -> float:
    """The sum of numbers, each with nine digits behind the point."""
    whole = sum(math.floor(value) for value in values)
    behind = sum(math.floor((value - math.floor(value)) * 1e9 + 0.5) for value in values)
    return float(whole) + float(behind) / 1e9
