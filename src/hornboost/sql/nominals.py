"""Nominal columns: whether a value has a certain text, by the rule that gives each type its text."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from hornboost.sql.columns import ColumnPlace
from hornboost.sql.dialects import Dialect
from hornboost.sql.literals import text
from hornboost.sql.moments import is_moment_at
from hornboost.sql.numbers import compare_number, is_missing_number

if TYPE_CHECKING:
    from sqlglot import exp

_WHOLE = re.compile(r"-?\d+", re.ASCII)
_DECIMAL = re.compile(r"-?(?:0|[1-9]\d*)(?:\.(\d+))?", re.ASCII)
_TIME = re.compile(r"\d\d:\d\d:\d\d(?:\.\d{6})?", re.ASCII)
_DIGITS = 15
"""Decimal digits that a double keeps."""


def has_text(place: ColumnPlace, value: str, dialect: Dialect) -> exp.Condition:
    """Whether the text of a column's value is `value`."""
    from sqlglot import exp

    stored = place.type.stored or "unknown"
    if "\0" in value and dialect.name in ("sqlite", "postgres"):
        if dialect.name == "postgres":  # whose texts hold no such character
            return exp.false()
        raise place.refusal(dialect, "ends a statement at the character NUL, which a value holds", "replace it")
    if stored == "text":
        return exp.EQ(this=as_text(place, dialect), expression=text(value))
    if stored == "integer":
        return exp.EQ(this=exp.cast(place.column, "text"), expression=text(value))
    if stored == "boolean":
        return _is_boolean(place, value, dialect)
    if stored in ("double", "float"):
        number = _float_of(value, stored)
        return exp.false() if number is None else compare_number(place, "=", number, dialect)
    if stored.startswith("decimal"):
        return _is_decimal(place, value, dialect)
    if stored in ("date", "timestamp", "timestamptz"):
        return is_moment_at(place, value, dialect)
    if stored == "time":
        return _is_time(place, value, dialect)
    if stored == "unknown":
        return _has_text_of_any_type(place, value, dialect)
    raise place.refusal(dialect, "has no text for it", "declare the column numeric")


def has_other_text(place: ColumnPlace, value: str, dialect: Dialect) -> exp.Condition:
    """Whether a column's value is not missing, and its text is not `value`."""
    from sqlglot import exp

    same = has_text(place, value, dialect)
    if place.type.stored in ("text", "integer", "boolean") and isinstance(same, exp.EQ):  # nothing is missing but NULL
        return exp.NEQ(this=same.this, expression=same.expression)
    found = (is_missing_nominal(place, dialect), same)
    return exp.and_(*(exp.Not(this=exp.paren(one)) for one in found), copy=False)


def as_text(place: ColumnPlace, dialect: Dialect) -> exp.Expr:
    """A column as text that is compared byte by byte: in SQLite a column may have a collation that ignores case."""
    from sqlglot import exp

    found = exp.cast(place.column, "text")
    return exp.Collate(this=found, expression=exp.var("BINARY")) if dialect.name == "sqlite" else found


def text_value(place: ColumnPlace, dialect: Dialect) -> exp.Expr:
    """The text of a column's value, where the database has the same as Python; it is compared byte by byte."""
    from sqlglot import exp

    stored = place.type.stored
    found: exp.Expr = exp.cast(place.column, "text")
    if stored == "boolean" and dialect.name == "sqlite":
        yes, no = (_is_boolean(place, value, dialect) for value in ("true", "false"))
        return exp.Case(ifs=[exp.If(this=yes, true=text("true")), exp.If(this=no, true=text("false"))])
    if stored not in ("text", "integer", "boolean", None):
        raise place.refusal(dialect, "has another text for it than Python", "store it as text, or leave the column out")
    return exp.DPipe(this=found, expression=text("")) if dialect.name == "sqlite" else found


def distinct_value(place: ColumnPlace, dialect: Dialect) -> exp.Expr:
    """A column's value, of which there are as many different ones as there are texts; NULL if it is missing."""
    from sqlglot import exp

    stored = place.type.stored
    if stored in ("text", "integer", "boolean"):
        return text_value(place, dialect)
    present = exp.Not(this=exp.paren(is_missing_nominal(place, dialect)))
    return exp.Case(ifs=[exp.If(this=present, true=place.column)])


def is_missing_nominal(place: ColumnPlace, dialect: Dialect) -> exp.Condition:
    """NULL, or NaN where numbers are stored: a text 'NaN' is a value like any other."""
    from sqlglot import exp

    stored = place.type.stored
    if stored in ("double", "float") or (stored or "").startswith("decimal"):
        return is_missing_number(place, dialect)
    null = exp.Is(this=place.column, expression=exp.null())
    if stored is not None or dialect.nan_text is None:
        return null
    nan: exp.Condition = exp.EQ(this=exp.cast(place.column, "text"), expression=text(dialect.nan_text))
    return exp.or_(null, _if_float(place, nan, dialect), copy=False)


def _has_text_of_any_type(place: ColumnPlace, value: str, dialect: Dialect) -> exp.Condition:
    """Where nothing is known of the column, a float that is whole has two texts, Python's and the database's."""
    from sqlglot import exp

    same = exp.EQ(this=as_text(place, dialect), expression=text(value))
    other = dialect.whole_float.format(value)
    if other == value or not _WHOLE.fullmatch(value):
        return same
    float_text = exp.EQ(this=exp.cast(place.column, "text"), expression=text(other))
    return exp.paren(exp.or_(same, _if_float(place, float_text, dialect), copy=False))


def _if_float(place: ColumnPlace, condition: exp.Condition, dialect: Dialect) -> exp.Condition:
    """The condition, if the column holds floats, of which the database itself knows."""
    from sqlglot import exp

    if dialect.type_function is None:
        return condition
    kind = exp.cast(exp.Anonymous(this=dialect.type_function, expressions=[place.column]), "text")
    return exp.and_(exp.In(this=kind, expressions=[text(name) for name in dialect.float_types]), condition, copy=False)


def _is_boolean(place: ColumnPlace, value: str, dialect: Dialect) -> exp.Condition:
    from sqlglot import exp

    if value not in ("true", "false"):
        return exp.false()
    found = exp.cast(place.column, "text")
    if dialect.name == "sqlite":  # where booleans are numbers, or texts
        return exp.In(this=found, expressions=[text("1" if value == "true" else "0"), text(value)])
    return exp.EQ(this=found, expression=text(value))


def _float_of(value: str, stored: str) -> float | None:
    """The number that has this text, if there is one."""
    try:
        number = np.float64(value) if stored == "double" else np.float32(value)
    except ValueError:
        return None
    whole = bool(np.isfinite(number)) and number == int(number) and abs(float(number)) < 2**63
    return float(number) if value == (str(int(number)) if whole else str(number)) and value != "nan" else None


def _is_decimal(place: ColumnPlace, value: str, dialect: Dialect) -> exp.Condition:
    from sqlglot import exp

    found = _DECIMAL.fullmatch(value)
    scale = re.fullmatch(r"decimal\((\d+)\)", str(place.type.stored))
    decimals = (found[1] or "") if found else ""
    if found is None or (len(decimals) != int(scale[1]) if scale else decimals.endswith("0")):
        return exp.false()
    if dialect.name == "sqlite":
        if len(value.strip("-").replace(".", "").lstrip("0")) > _DIGITS:
            raise place.refusal(
                dialect, f"keeps decimals as doubles, which cannot tell {value} from its neighbours", "store it as text"
            )
        return compare_number(place, "=", float(value), dialect)
    kind = "decimal" if scale is None or dialect.name == "postgres" else f"decimal(38, {scale[1]})"
    return exp.EQ(this=exp.cast(place.column, kind), expression=exp.cast(text(value), kind))


def _is_time(place: ColumnPlace, value: str, dialect: Dialect) -> exp.Condition:
    from sqlglot import exp

    if not _TIME.fullmatch(value):
        return exp.false()
    if dialect.name in ("sqlite", "spark"):
        raise place.refusal(dialect, "has no type of times of day", "store it as text")
    return exp.EQ(this=exp.cast(place.column, "time"), expression=exp.cast(text(value), "time"))
