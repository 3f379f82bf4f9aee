"""Numeric columns: comparisons of doubles, in which NaN is missing as it is in Python."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hornboost.sql.columns import ColumnPlace
from hornboost.sql.dialects import Dialect
from hornboost.sql.literals import double, text

if TYPE_CHECKING:
    from sqlglot import exp

_WITHOUT_NAN = frozenset({"integer", "boolean", "text"})
"""What cannot be NaN, the text because that is no number; the numeric of PostgreSQL can be."""

_NUMBER = r"^\s*[-+]?([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][-+]?[0-9]+)?\s*$"
"""Text that Python reads as a number, as a regular expression."""


def compare_number(place: ColumnPlace, op: str, value: float | None, dialect: Dialect) -> exp.Condition:
    """Whether the number in a column is at least (`>=`), at most (`<=`) or exactly (`=`) a value."""
    from sqlglot import exp

    operator = {">=": exp.GTE, "<=": exp.LTE, "=": exp.EQ}[op]
    number = as_double(place, dialect)
    condition: exp.Condition = operator(this=number, expression=double(value, dialect))
    if op == ">=" and dialect.nan_above_all and place.type.stored not in _WITHOUT_NAN:
        return exp.and_(condition, exp.NEQ(this=number.copy(), expression=_nan()), copy=False)
    return condition


def as_double(place: ColumnPlace, dialect: Dialect) -> exp.Expr:
    """The column as a double; NULL where a text is no number."""
    from sqlglot import exp

    stored = place.type.stored
    if stored in ("duration", "time", "date", "timestamp", "timestamptz"):
        raise place.refusal(dialect, "has no number for it that is Python's", "store it as a number")
    value: exp.Expr = place.column
    if stored == "boolean" and dialect.name == "postgres":
        value = exp.cast(value, "int")
    return _of_text(value, dialect) if stored == "text" else exp.cast(value, "double")


def _of_text(value: exp.Expr, dialect: Dialect) -> exp.Expr:
    """The number that a text spells, NULL if it spells none; also where the same values are now stored as numbers."""
    from sqlglot import exp

    words = exp.cast(value, "text")
    if dialect.name == "sqlite":  # which compares a text with a number as one if it spells one, or else as greater
        is_number: exp.Condition = exp.LTE(this=words, expression=exp.cast(double(math.inf, dialect), "double"))
        found = exp.cast(value.copy(), "double")
    else:
        is_number = exp.RegexpLike(this=words, expression=text(_NUMBER))
        found = exp.TryCast(this=exp.Trim(this=words.copy()), to=exp.DataType.build("double"))
    return exp.Case(ifs=[exp.If(this=is_number, true=found)])


def without_nan(place: ColumnPlace, dialect: Dialect) -> exp.Expr:
    """The column as a double, NULL where it is NaN."""
    from sqlglot import exp

    found = as_double(place, dialect)
    return found if is_never_nan(place, dialect) else exp.Nullif(this=found, expression=_nan())


def is_never_nan(place: ColumnPlace, dialect: Dialect) -> bool:
    """Whether a value that is not NULL is a number."""
    return dialect.nan_text is None or place.type.stored in _WITHOUT_NAN


def is_missing_number(place: ColumnPlace, dialect: Dialect) -> exp.Condition:
    """NULL or NaN."""
    from sqlglot import exp

    stored, number = place.type.stored, as_double(place, dialect)
    null = exp.Is(this=number if stored == "text" else place.column, expression=exp.null())
    if dialect.nan_text is None or stored in _WITHOUT_NAN:
        return null
    if dialect.nan_above_all:
        return exp.or_(null, exp.EQ(this=number.copy(), expression=_nan()), copy=False)
    return exp.or_(null, exp.IsNan(this=number.copy()), copy=False)


def _nan() -> exp.Expr:
    from sqlglot import exp

    return exp.cast(text("NaN"), "double")
