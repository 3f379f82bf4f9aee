"""Sums, means and variances of doubles that come out the same in every database, in whatever order rows are added.

A number is split into its whole part and its part behind the point, rounded to nine digits; both are added as integers,
and only then are doubles made of them, by the same few operations everywhere.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hornboost.sql.dialects import Dialect
from hornboost.sql.literals import number

if TYPE_CHECKING:
    from sqlglot import exp

LARGEST = 1e15
"""Numbers beyond it are left out, so that thousands of them can be added in 64 bits."""

LARGEST_SQUARED = 3e7
"""The same for numbers that are squared."""

UNITS = 1e9


def counted(value: exp.Expr, where: exp.Expr | None, *, squared: bool = False) -> exp.Expr:
    """The value in rows that count and satisfy a condition, NULL in others."""
    from sqlglot import exp

    largest = LARGEST_SQUARED if squared else LARGEST
    inside = exp.Between(this=value.copy(), low=number(-largest), high=number(largest))
    condition = inside if where is None else exp.and_(where, inside, copy=False)
    return exp.Case(ifs=[exp.If(this=condition, true=value)])


def total(value: exp.Expr, dialect: Dialect, *, whole: bool = False, positive: bool = False) -> exp.Expr:
    """The sum of a value over the rows of a group in which it is not NULL; NULL if there are none.

    There is nothing behind the point of `whole` numbers, and no number below 0 if `positive`.
    """
    from sqlglot import exp

    if whole:
        return exp.cast(added(value), "double")
    parts = added_parts(value, dialect, positive=positive)
    rest = exp.Div(this=exp.cast(parts[1], "double"), expression=number(UNITS))
    return exp.paren(exp.Add(this=exp.cast(parts[0], "double"), expression=rest))


def added_parts(value: exp.Expr, dialect: Dialect, *, positive: bool = False) -> tuple[exp.Expr, exp.Expr]:
    """The sums of the whole parts, and of what is behind the point in units of the ninth digit."""
    from sqlglot import exp

    part = floor(value, dialect, positive=positive)
    behind = exp.paren(exp.Sub(this=value.copy(), expression=part.copy()))
    units = exp.Add(this=exp.Mul(this=behind, expression=number(UNITS)), expression=number(0.5))
    return added(part), added(floor(units, dialect, positive=True))


def mean(value: exp.Expr, dialect: Dialect, *, whole: bool = False) -> exp.Expr:
    """The mean; NULL if there are no rows."""
    from sqlglot import exp

    return exp.Div(this=total(value, dialect, whole=whole), expression=_number_of(value))


def variance(value: exp.Expr, dialect: Dialect, *, whole: bool = False) -> exp.Expr:
    """The sample variance; NULL if there are not two rows. It may come out a little below 0."""
    from sqlglot import exp

    once = total(value, dialect, whole=whole)
    square = exp.paren(exp.Mul(this=value.copy(), expression=value.copy()))
    twice = total(square, dialect, whole=whole, positive=True)
    n = _number_of(value)
    squares = exp.Sub(this=twice, expression=exp.Div(this=exp.Mul(this=once, expression=once.copy()), expression=n))
    others = exp.paren(exp.Sub(this=n.copy(), expression=exp.Literal.number(1)))
    several = exp.GT(this=exp.Count(this=value.copy()), expression=exp.Literal.number(1))
    return exp.Case(ifs=[exp.If(this=several, true=exp.Div(this=exp.paren(squares), expression=others))])


def root(value: float) -> float:
    """The standard deviation of a variance.

    >>> root(2.25), root(-1e-20)
    (1.5, 0.0)
    """
    return math.sqrt(max(value, 0.0))


def square_bound(op: str, bound: float) -> float:
    """The variance beyond which, or up to which, `root` of a variance satisfies a comparison with a bound.

    So that databases need no square roots.

    >>> square_bound(">=", 1.5), square_bound("<=", -1.0), square_bound(">=", 0.0)
    (2.25, -inf, -inf)
    """
    if bound < 0 or (bound == 0 and op == ">="):
        return -math.inf
    if math.isinf(bound):
        return bound
    square = bound * bound
    if op == ">=":
        while root(square) >= bound:
            square = math.nextafter(square, -math.inf)
        while root(square) < bound:
            square = math.nextafter(square, math.inf)
    else:
        while root(square) <= bound:
            square = math.nextafter(square, math.inf)
        while root(square) > bound:
            square = math.nextafter(square, -math.inf)
    return square


def added(value: exp.Expr) -> exp.Expr:
    """The sum of whole numbers in 64 bits, which is exact."""
    from sqlglot import exp

    return exp.cast(exp.Sum(this=exp.cast(value.copy(), "bigint")), "bigint")


def _number_of(value: exp.Expr) -> exp.Expr:
    from sqlglot import exp

    return exp.cast(exp.Count(this=value.copy()), "double")


def floor(value: exp.Expr, dialect: Dialect, *, positive: bool = False) -> exp.Expr:
    """The largest whole number that is not larger, for which SQLite may have no function; its casts cut off."""
    from sqlglot import exp

    if dialect.name != "sqlite":
        return exp.Floor(this=value.copy())
    cut = exp.cast(value.copy(), "bigint")
    above = exp.paren(exp.LT(this=value.copy(), expression=cut.copy()))
    return cut if positive else exp.paren(exp.Sub(this=cut, expression=above))
