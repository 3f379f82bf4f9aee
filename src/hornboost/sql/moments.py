"""Dates and times: comparisons to the microsecond, in UTC whatever the time zone of the session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hornboost.logic.moment import DAY, exact_moment, is_moment, moment_text
from hornboost.sql.columns import Place
from hornboost.sql.dialects import Dialect
from hornboost.sql.literals import number, text
from hornboost.sql.numbers import as_double

if TYPE_CHECKING:
    from sqlglot import exp

EXACT = 2**53
"""Microseconds beyond it are not all doubles, so that Python compares what is nearest."""

_ENDS = ("-infinity", "infinity")
_FIRST, _LAST = exact_moment("0001-01-01"), exact_moment("9999-12-31T23:59:59.999999")


def compare_moment(place: Place, op: str, value: str, dialect: Dialect) -> exp.Condition:
    """Whether the moment in a column is at least (`>=`), at most (`<=`) or exactly (`=`) a value."""
    from sqlglot import exp

    stored = place.type.stored
    operator = {">=": exp.GTE, "<=": exp.LTE, "=": exp.EQ}[op]
    if stored in ("integer", "double", "float"):
        days = exp.Mul(this=as_double(place, dialect), expression=number(float(DAY)))
        return operator(this=days, expression=number(float(exact_moment(value))))
    if op != "=" and stored in ("timestamp", "timestamptz") and value not in _ENDS and abs(exact_moment(value)) > EXACT:
        return _compare_doubles(place, op, float(exact_moment(value)), dialect)
    if dialect.name == "sqlite":
        _check_years(place, value, dialect)
        return _in_sqlite(place, operator, value)
    if value not in _ENDS or dialect.name not in ("duckdb", "postgres"):
        _check_years(place, value, dialect)
    if stored == "timestamp" and dialect.name == "duckdb" and op != ">=" and value not in _ENDS:
        return _before_the_next(place, op, value)
    kind = "date" if stored == "date" and (value in _ENDS or "T" not in _canonical(value)) else stored or "timestamp"
    if kind in ("date", "text") and stored != "date":
        kind = "timestamp"
    column: exp.Expr = place.column
    if stored == "text":
        column = exp.Nullif(this=column, expression=text(""))
    return operator(this=exp.cast(column, kind), expression=_constant(value, kind))


def is_missing_moment(place: Place, dialect: Dialect) -> exp.Condition:
    """NULL, or where text is stored an empty one."""
    from sqlglot import exp

    null = exp.Is(this=place.column, expression=exp.null())
    if place.type.stored != "text":
        return null
    return exp.or_(null, exp.EQ(this=place.column, expression=text("")), copy=False)


def _constant(value: str, kind: str) -> exp.Expr:
    from sqlglot import exp

    offset = "+00:00" if kind == "timestamptz" and value not in _ENDS else ""
    moment = value if value in _ENDS else moment_text(exact_moment(value), day_only=kind == "date" or not offset)
    return exp.cast(text(moment + offset), kind)


def _canonical(value: str) -> str:
    return moment_text(exact_moment(value))


def _check_years(place: Place, value: str, dialect: Dialect) -> None:
    if not _FIRST <= exact_moment(value) <= _LAST:
        problem = f"cannot compare it with '{value}' as Python does"
        raise place.refusal(dialect, problem, "leave the column out or replace dates outside the years 1 to 9999")


def _compare_doubles(place: Place, op: str, value: float, dialect: Dialect) -> exp.Condition:
    """A comparison of microseconds as doubles, for the times at which these are not exact."""
    from sqlglot import exp

    operator = exp.GTE if op == ">=" else exp.LTE
    column = place.column
    if dialect.name == "postgres":
        seconds = exp.Extract(this=exp.var("EPOCH"), expression=column)
        count: exp.Expr = exp.Mul(this=seconds, expression=exp.Literal.number(1_000_000))
    elif dialect.name == "duckdb":
        count = exp.Anonymous(this="EPOCH_US", expressions=[column])
    elif dialect.name == "sqlite":
        raise place.refusal(dialect, "counts microseconds of such times inexactly", "leave the column out")
    else:
        count = exp.Anonymous(this="UNIX_MICROS", expressions=[exp.cast(column, "timestamptz")])
    condition: exp.Condition = operator(this=exp.cast(count, "double"), expression=number(value))
    if dialect.name != "duckdb":
        return condition
    end = exp.cast(text("infinity" if op == ">=" else "-infinity"), "timestamp")  # which has no count of microseconds
    return exp.or_(condition, exp.EQ(this=column.copy(), expression=end), copy=False)


def _before_the_next(place: Place, op: str, value: str) -> exp.Condition:
    """At or in a microsecond: DuckDB would round the nanoseconds of a TIMESTAMP_NS, which count as cut off."""
    from sqlglot import exp

    count = exact_moment(value)
    after = exp.LT(this=place.column, expression=_constant(moment_text(count + 1), "timestamp"))
    if op == "<=":
        return after
    return exp.and_(exp.GTE(this=place.column, expression=_constant(value, "timestamp")), after, copy=False)


def _in_sqlite(place: Place, operator: type[exp.Binary], value: str) -> exp.Condition:
    """SQLite keeps times as texts of several forms, and its own functions know no more than milliseconds."""
    from sqlglot import exp

    def call(name: str, *arguments: exp.Expr) -> exp.Expr:
        return exp.Anonymous(this=name, expressions=list(arguments))

    column = place.column
    if place.type.stored in ("date", None):
        return operator(this=call("JULIANDAY", column), expression=call("JULIANDAY", text(_canonical(value))))
    seconds_end, whole = exp.Literal.number(19), exp.Literal.number(1)
    behind = call("SUBSTR", column.copy(), exp.Literal.number(20))
    zone = call("LTRIM", behind, text(".0123456789"))
    seconds = call("STRFTIME", text("%Y-%m-%dT%H:%M:%S"), exp.DPipe(this=call("SUBSTR", column, whole, seconds_end), expression=zone))
    fraction = call("SUBSTR", column.copy(), exp.Literal.number(20), exp.Literal.number(7))
    rounded = call("PRINTF", text("%.6f"), exp.cast(exp.DPipe(this=text("0"), expression=fraction), "double"))
    moment = exp.DPipe(this=seconds, expression=call("SUBSTR", rounded, exp.Literal.number(2)))
    count = exact_moment(value)
    constant = f"{moment_text(count - count % 1_000_000, day_only=False)}.{count % 1_000_000:06}"
    return operator(this=exp.paren(moment), expression=text(constant))


def is_moment_of(value: str, stored: str) -> bool:
    """Whether a nominal value is the text of a moment of this type."""
    if not is_moment(value):
        return False
    return value in _ENDS or value == moment_text(exact_moment(value), day_only=stored == "date")
