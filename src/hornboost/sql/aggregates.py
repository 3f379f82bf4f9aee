"""Aggregates of the rows that examples reach along a path of joins, for DuckDB.

The examples are the table "examples", known as `r`: their number `e`, their cutoff `d`, and their keys. The tables
along the path are known as `t0`, `t1`, …; the times of their rows are the column `time`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hornboost.sql import names
from hornboost.sql.literals import number

if TYPE_CHECKING:
    from sqlglot import exp

EXAMPLES = "examples"
EXAMPLE, CUTOFF, TIME = "e", "d", "time"
VALUE, COUNT = "v", "n"


@dataclass(frozen=True)
class PathStep:
    """One join of a path: `before` is the key of the row before.

    If it `is_timed`, only rows count that are from strictly before the example's cutoff.
    """

    before: str
    table: str
    column: str
    is_timed: bool = False


@dataclass(frozen=True)
class PathRows:
    """The rows that examples reach along a path."""

    steps: Sequence[PathStep]

    def value(self, column: str, *, elapsed: bool = False, unit: float = 1.0, dating: str | None = None) -> exp.Expr:
        """A column of the last table in a unit, or how long before the cutoff it is.

        It is missing up to the time in the column `dating`.
        """
        from sqlglot import exp

        alias = f"t{len(self.steps) - 1}"
        found: exp.Expr = names.column(alias, column)
        if elapsed:
            found = exp.paren(exp.Sub(this=names.column("r", CUTOFF), expression=found))
        if unit != 1.0:
            found = exp.paren(exp.Div(this=found, expression=number(unit)))
        if dating is None:
            return found
        known = exp.LT(this=names.column(alias, dating), expression=names.column("r", CUTOFF))
        return exp.Case(ifs=[exp.If(this=known, true=found)])

    def is_within(self, length: float) -> exp.Expr:
        """Whether a row of the last table is of some age at most."""
        from sqlglot import exp

        return exp.LTE(this=self.value(TIME, elapsed=True), expression=number(length))

    def time(self) -> exp.Expr:
        """The time of a row of the last table."""
        return self.value(TIME)

    def select(
        self, columns: Sequence[exp.Expr], *, where: exp.Expr | None = None, group: Sequence[exp.Expr] = ()
    ) -> exp.Select:
        """A query over the rows, with the example's number as its first column."""
        from sqlglot import exp

        query = exp.select(names.named(_example(), EXAMPLE), *columns, copy=False).from_(
            names.table(EXAMPLES, "r"), copy=False
        )
        before = "r"
        for position, step in enumerate(self.steps):
            alias = f"t{position}"
            on = exp.EQ(this=names.column(before, step.before), expression=names.column(alias, step.column))
            query = query.join(names.table(step.table, alias), on=on, copy=False)
            if step.is_timed:
                earlier = exp.LT(this=names.column(alias, TIME), expression=names.column("r", CUTOFF))
                query = query.where(earlier, copy=False)
            before = alias
        if where is not None:
            query = query.where(where, copy=False)
        return query.group_by(*group, copy=False) if group else query

    def by_example(self, columns: Sequence[exp.Expr]) -> exp.Select:
        """A row an example."""
        return self.select(columns, group=[_example()])

    def by_value(self, value: exp.Expr, codes: Collection[int], columns: Sequence[exp.Expr]) -> exp.Select:
        """A row an example and each of some values of a column.

        A filter for every value takes DuckDB many times longer.
        """
        from sqlglot import exp

        wanted = exp.In(this=value.copy(), expressions=[exp.Literal.number(code) for code in codes])
        return self.select(
            [names.named(value, VALUE), *columns], where=wanted, group=[_example(), names.column(None, VALUE)]
        )

    def spread(self, value: exp.Expr, columns: Sequence[exp.Expr]) -> exp.Select:
        """A row an example, from the number of rows with each of its values."""
        from sqlglot import exp

        counts = [names.named(value, VALUE), names.named(count(), COUNT)]
        inner = self.select(counts, where=_present(value), group=[_example(), names.column(None, VALUE)])
        query = exp.select(names.named(_example(), EXAMPLE), *columns, copy=False)
        return query.from_(inner.subquery("r", copy=False), copy=False).group_by(_example(), copy=False)

    def frequent(self, value: exp.Expr, limit: int) -> exp.Select:
        """The values that most examples reach, in that order and then by value."""
        from sqlglot import exp

        inner = self.select([names.named(value, VALUE)], where=_present(value)).distinct(copy=False)
        found, times = names.column(None, VALUE), names.column(None, COUNT)
        query = exp.select(found, names.named(count(), COUNT), copy=False).from_(
            inner.subquery("r", copy=False), copy=False
        )
        return (
            query.group_by(found.copy(), copy=False)
            .order_by(times.desc(), found.copy(), copy=False)
            .limit(limit, copy=False)
        )


def count(where: exp.Expr | None = None) -> exp.Expr:
    """The number of rows, of those that satisfy a condition."""
    from sqlglot import exp

    return filtered(exp.Count(this=exp.Star()), where)


def share(where: exp.Expr | None) -> exp.Expr:
    """The share of the rows that satisfy a condition."""
    from sqlglot import exp

    return exp.Div(this=count(where), expression=count())


def filtered(aggregate: exp.Expr, where: exp.Expr | None) -> exp.Expr:
    """An aggregate of the rows that satisfy a condition."""
    from sqlglot import exp

    return aggregate if where is None else exp.Filter(this=aggregate, expression=exp.Where(this=where))


def numeric(function: str, value: exp.Expr, where: exp.Expr | None = None) -> exp.Expr:
    """The mean, sum, min, max or std of a value."""
    from sqlglot import exp

    functions = {"mean": exp.Avg, "sum": exp.Sum, "min": exp.Min, "max": exp.Max, "std": exp.StddevSamp}
    return filtered(functions[function](this=value), where)


def scaled_std(value: exp.Expr, scale: float, where: exp.Expr | None = None) -> exp.Expr:
    """The standard deviation of numbers whose squares DuckDB cannot hold."""
    from sqlglot import exp

    small = exp.Div(this=value, expression=number(scale))
    return exp.Mul(this=numeric("std", small, where), expression=number(scale))


def last(value: exp.Expr, time: exp.Expr, where: exp.Expr | None = None) -> exp.Expr:
    """The value of the latest row, of several the largest."""
    from sqlglot import exp

    order = exp.Anonymous(this="ROW", expressions=[time, value.copy()])
    return filtered(exp.ArgMax(this=value, expression=order), where)


def of_spread(function: str) -> exp.Expr:
    """An aggregate in a query of `spread`; of equally frequent values the first in value order is the mode."""
    from sqlglot import exp

    value, times = names.column(None, VALUE), names.column(None, COUNT)
    if function == "distinct":
        return count()
    if function == "mode":
        order = exp.Sub(this=exp.Mul(this=times, expression=exp.Literal.number(2**31)), expression=value.copy())
        return exp.ArgMax(this=value, expression=order)
    return exp.Div(this=exp.Max(this=times), expression=exp.Sum(this=times.copy()))


def both(one: exp.Expr | None, other: exp.Expr) -> exp.Expr:
    """Two conditions, of which the first may be none."""
    from sqlglot import exp

    return other if one is None else exp.and_(one, other, copy=False)


def equals(value: exp.Expr, code: int) -> exp.Expr:
    """Whether a nominal value has this code."""
    from sqlglot import exp

    return exp.EQ(this=value, expression=exp.Literal.number(code))


def _example() -> exp.Column:
    return names.column("r", EXAMPLE)


def _present(value: exp.Expr) -> exp.Expr:
    from sqlglot import exp

    return exp.Not(this=exp.Is(this=value.copy(), expression=exp.null()))
