"""What a rule of a Prolog program derives, as a query over tables with a column for each argument."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hornboost.logic.datalog import EQUAL, OF_NUMBERS, UNEQUAL, Argument, DatalogRule, Predicate, Variable
from hornboost.sql import names
from hornboost.sql.dialects import DUCKDB
from hornboost.sql.literals import text

if TYPE_CHECKING:
    from sqlglot import exp


def argument_column(k: int) -> str:
    """The name of the column that holds an argument."""
    return f"c{k}"


def derived_facts(rule: DatalogRule, tables: Mapping[Predicate, str]) -> str:
    """The facts that a rule derives from those in `tables`, for DuckDB.

    >>> from hornboost.logic.datalog import Goal
    >>> x = Variable("X")
    >>> rule = DatalogRule(Goal(("p", 1), (x,)), (Goal(("q", 2), (x, "a")),), (), "")
    >>> print(derived_facts(rule, {("p", 1): "p0", ("q", 2): "p1"}))
    SELECT DISTINCT "g0"."c0" AS "c0" FROM "p1" AS "g0" WHERE "g0"."c1" = 'a'
    """
    from sqlglot import exp

    place: dict[Argument, exp.Expr] = {}

    def term(argument: Argument) -> exp.Expr:
        return place[argument].copy() if isinstance(argument, Variable) else text(argument)

    sources: list[exp.Table] = []
    conditions: list[exp.Expr] = []
    for number, goal in enumerate(goal for goal in rule.goals if goal.holds):
        sources.append(names.table(tables[goal.predicate], f"g{number}"))
        for k, argument in enumerate(goal.arguments):
            column = names.column(f"g{number}", argument_column(k))
            if isinstance(argument, Variable) and argument not in place:
                place[argument] = column
            else:
                conditions.append(column.eq(term(argument)))
    for goal in rule.goals:
        if not goal.holds:
            same = [names.column("n", argument_column(k)).eq(term(one)) for k, one in enumerate(goal.arguments)]
            found = exp.select("1").from_(names.table(tables[goal.predicate], "n")).where(*same)
            conditions.append(exp.not_(exp.Exists(this=found)))
    conditions += [_compared(test.op, term(test.left), term(test.right)) for test in rule.comparisons]
    shown = [names.named(term(one), argument_column(k)) for k, one in enumerate(rule.head.arguments)]
    query = exp.select(*shown).distinct()
    for number, source in enumerate(sources):
        query = query.join(source, join_type="cross") if number else query.from_(source)
    return DUCKDB.text(query.where(*conditions) if conditions else query)


def _compared(op: str, left: exp.Expr, right: exp.Expr) -> exp.Expr:
    from sqlglot import exp

    if op in OF_NUMBERS:
        left, right = (exp.TryCast(this=side, to=exp.DataType.build("double")) for side in (left, right))
    kinds = {"<": exp.LT, ">": exp.GT, "=<": exp.LTE, ">=": exp.GTE}
    kind = exp.EQ if op in EQUAL else exp.NEQ if op in UNEQUAL else kinds[op]
    return kind(this=left, expression=right)
