"""Dates and times: comparisons to the microsecond, in UTC whatever the time zone of the session."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hornboost.logic.moment import DAY, exact_moment, is_moment, moment_of, moment_text
from hornboost.sql.columns import ColumnPlace
from hornboost.sql.dialects import Dialect
from hornboost.sql.literals import double, number, text
from hornboost.sql.numbers import as_double

if TYPE_CHECKING:
    from sqlglot import exp

EXACT = 2**53
"""Microseconds beyond it are not all doubles, so that Python compares what is nearest."""

_ENDS = ("-infinity", "infinity")
_ZONE = "[0-9]:[0-9].*(Z|[+-][0-9][0-9](:?[0-9][0-9])?)$"
"""What ends a text with an offset from UTC, as a regular expression."""

_FIRST, _LAST = exact_moment("0001-01-01"), exact_moment("9999-12-31T23:59:59.999999")
_FIRST_NS, _LAST_NS = exact_moment("1678-01-01"), exact_moment("2262-01-01")
"""Years in which 64 bits count nanoseconds."""


def compare_moment(place: ColumnPlace, op: str, value: str, dialect: Dialect) -> exp.Condition:
    """Whether the moment in a column is at least (`>=`) or at most (`<=`) a value."""
    from sqlglot import exp

    operator = exp.GTE if op == ">=" else exp.LTE
    _check_order(place, dialect)
    stored = place.type.stored
    if stored in ("integer", "double", "float"):
        days = exp.Mul(this=as_double(place, dialect), expression=number(float(DAY)))
        return operator(this=days, expression=double(moment_of(value), dialect))
    if _is_inexact(value, stored, dialect):
        return _compare_doubles(place, op, moment_of(value), dialect)
    if dialect.name == "sqlite":
        value = _whole_day(value, op) if stored == "date" else value
        return operator(this=_in_sqlite(place), expression=_sqlite_constant(value, stored))
    if stored == "timestamp" and dialect.name == "duckdb" and op == "<=" and value not in _ENDS:
        return _before_the_next(place, value)
    kind = _kind(stored, value)
    moment = in_utc(place, dialect) if stored == "text" else _read(_filled(place), kind, dialect)
    return operator(this=moment, expression=_constant(value, kind))


def _check_order(place: ColumnPlace, dialect: Dialect) -> None:
    """Refuse dates that are stored as text with the day or the month first."""
    if (place.type.stored or "").startswith("text "):
        raise place.refusal(dialect, "reads no dates in that order", "store them as DATE, or as 2025-12-31")


def is_moment_at(place: ColumnPlace, value: str, dialect: Dialect) -> exp.Condition:
    """Whether a column holds the moment that has this text."""
    from sqlglot import exp

    stored = str(place.type.stored)
    if not is_moment(value) or (
        value not in _ENDS and value != moment_text(exact_moment(value), day_only=stored == "date")
    ):
        return exp.false()
    if not _FIRST <= exact_moment(value) <= _LAST and not (value in _ENDS and dialect.name in ("duckdb", "postgres")):
        problem = f"cannot compare it with '{value}' as Python does"
        raise place.refusal(dialect, problem, "leave the column out or replace dates outside the years 1 to 9999")
    if dialect.name == "sqlite":
        return exp.EQ(this=_in_sqlite(place), expression=_sqlite_constant(value, stored))
    if stored == "timestamp" and dialect.name == "duckdb" and value not in _ENDS:
        begun = exp.GTE(this=place.column, expression=_constant(value, "timestamp"))
        return exp.and_(begun, _before_the_next(place, value), copy=False)
    return exp.EQ(this=_cast(place.column, stored), expression=_constant(value, stored))


def is_missing_moment(place: ColumnPlace, dialect: Dialect) -> exp.Condition:
    """NULL, or where text is stored an empty one; in DuckDB any text that spells no moment."""
    from sqlglot import exp

    return exp.Is(this=_moment(place, dialect), expression=exp.null())


def in_utc(place: ColumnPlace, dialect: Dialect) -> exp.Expr:
    """A column of moments as a timestamp without a zone, to the microsecond."""
    from sqlglot import exp

    _check_order(place, dialect)
    if place.type.stored == "timestamptz" and dialect.name != "bigquery":
        return exp.AtTimeZone(this=_moment(place, dialect), zone=text("UTC"))
    if place.type.stored == "timestamp" and dialect.name == "duckdb":
        return _cut_off(place)
    if place.type.stored == "text":
        return _text_in_utc(_filled(place), dialect)
    return _read(_filled(place), "timestamp", dialect)


def _text_in_utc(value: exp.Expr, dialect: Dialect) -> exp.Expr:
    """A text as a timestamp; DuckDB and PostgreSQL would leave out its offset from UTC."""
    from sqlglot import exp

    plain = _read(value, "timestamp", dialect)
    if dialect.name == "bigquery":  # which takes texts without an offset for UTC
        return _cast(_cast(value, "timestamptz"), "timestamp")
    if dialect.name not in ("duckdb", "postgres"):
        return plain
    has_zone = exp.RegexpLike(this=value.copy(), expression=text(_ZONE))
    zoned = exp.AtTimeZone(this=_read(value.copy(), "timestamptz", dialect), zone=text("UTC"))
    return exp.Case(ifs=[exp.If(this=has_zone, true=zoned)], default=plain)


def _cut_off(place: ColumnPlace) -> exp.Expr:
    """A column of DuckDB as a timestamp without its nanoseconds.

    A cast would round those of a TIMESTAMP_NS, which Python cuts off. The column may be of another type, even text.
    """
    from sqlglot import exp

    rounded = exp.TryCast(this=place.column, to=exp.DataType.build("timestamp"))
    before = exp.Sub(
        this=rounded.copy(), expression=exp.Interval(this=exp.Literal.string("1"), unit=exp.var("MICROSECOND"))
    )
    is_later = exp.GT(this=_finely(rounded.copy()), expression=_finely(place.column))
    return exp.Case(ifs=[exp.If(this=is_later, true=before)], default=rounded)


def _finely(value: exp.Expr) -> exp.Expr:
    """A time to the nanosecond in DuckDB; NULL in other centuries."""
    from sqlglot import exp

    return exp.TryCast(this=value, to=exp.DataType.build("timestamp_ns", dialect="duckdb"))


def utc_constant(value: str) -> exp.Expr:
    """A moment as a timestamp without a zone."""
    return _constant(value, "timestamp")


def in_microseconds(place: ColumnPlace, dialect: Dialect) -> exp.Expr:
    """A column of moments as counts of microseconds; numbers are days."""
    from sqlglot import exp

    _check_order(place, dialect)
    if place.type.stored in ("integer", "double", "float"):
        return exp.Mul(this=as_double(place, dialect), expression=number(float(DAY)))
    return _microseconds(place, dialect)


def microseconds(value: exp.Expr, dialect: Dialect) -> exp.Expr:
    """A moment as a count of microseconds; of a text in SQLite, whose own functions know no more than milliseconds."""
    from sqlglot import exp

    million = exp.Literal.number(1_000_000)
    if dialect.name == "postgres":
        return exp.Mul(this=exp.Extract(this=exp.var("EPOCH"), expression=value), expression=million)
    if dialect.name == "duckdb":
        return _call("EPOCH_US", value)
    if dialect.name != "sqlite":
        return _call("UNIX_MICROS", exp.cast(value, "timestamptz"))
    seconds = exp.cast(_sqlite_seconds(value, "%s"), "int")
    fraction = exp.cast(_call("ROUND", exp.Mul(this=million, expression=_sqlite_fraction(value))), "int")
    return exp.Add(this=exp.Mul(this=seconds, expression=million.copy()), expression=fraction)


def _is_inexact(value: str, stored: str | None, dialect: Dialect) -> bool:
    """Whether a threshold must be compared as Python does it, by doubles.

    No literal says it, or the doubles near it are too far apart.
    """
    if value in _ENDS:
        return dialect.name not in ("duckdb", "postgres")
    count = exact_moment(value)
    return abs(count) > EXACT if stored in ("timestamp", "timestamptz") else not _FIRST <= count <= _LAST


def _filled(place: ColumnPlace) -> exp.Expr:
    """The column, with NULL for an empty text."""
    from sqlglot import exp

    return exp.Nullif(this=place.column, expression=text("")) if place.type.stored == "text" else place.column


def _moment(place: ColumnPlace, dialect: Dialect) -> exp.Expr:
    """The column as it is stored; in DuckDB as dates or times, should it hold them as text."""
    stored = place.type.stored
    if dialect.name != "duckdb" or stored not in ("date", "timestamp", "timestamptz", "text"):
        return _filled(place)
    return in_utc(place, dialect) if stored == "text" else _read(place.column, stored, dialect)


def _kind(stored: str | None, value: str) -> str:
    """The type in which a column is compared; a day is enough for dates if the threshold is one."""
    if stored == "date" and (value in _ENDS or exact_moment(value) % DAY == 0):
        return "date"
    return "timestamptz" if stored == "timestamptz" else "timestamp"


def _constant(value: str, kind: str) -> exp.Expr:
    if value in _ENDS:
        return _cast(text(value), kind)
    moment = moment_text(exact_moment(value), day_only=kind != "timestamptz")
    return _cast(text(moment + "+00:00" if kind == "timestamptz" else moment), kind)


def _read(value: exp.Expr, kind: str, dialect: Dialect) -> exp.Expr:
    """A column as dates or times. DuckDB may hold them as text, in which Python takes words such as NA for missing."""
    from sqlglot import exp

    return exp.TryCast(this=value, to=exp.DataType.build(kind)) if dialect.name == "duckdb" else _cast(value, kind)


def _cast(value: exp.Expr, kind: str) -> exp.Expr:
    """A cast to date, timestamp or timestamptz; in Spark a plain TIMESTAMP is one of the session's time zone."""
    from sqlglot import exp

    return exp.cast(value, "timestampntz" if kind == "timestamp" else kind)


def _compare_doubles(place: ColumnPlace, op: str, value: float, dialect: Dialect) -> exp.Condition:
    """A comparison of microseconds as doubles."""
    from sqlglot import exp

    operator = exp.GTE if op == ">=" else exp.LTE
    condition: exp.Condition = operator(
        this=exp.cast(_microseconds(place, dialect), "double"), expression=double(value, dialect)
    )
    if dialect.name != "duckdb":
        return condition
    end = exp.cast(text("infinity" if op == ">=" else "-infinity"), "timestamp")  # which has no count of microseconds
    return exp.or_(condition, exp.EQ(this=_moment(place, dialect), expression=end), copy=False)


def _microseconds(place: ColumnPlace, dialect: Dialect) -> exp.Expr:
    if dialect.name == "spark" and place.type.stored != "timestamptz":
        raise place.refusal(
            dialect, "counts its microseconds in the time zone of the session", "store it with a time zone"
        )
    return microseconds(place.column if dialect.name == "sqlite" else _moment(place, dialect), dialect)


def _before_the_next(place: ColumnPlace, value: str) -> exp.Condition:
    """Before the next microsecond: DuckDB would round the nanoseconds of a TIMESTAMP_NS, which count as cut off."""
    from sqlglot import exp

    following = exact_moment(value) + 1
    end = _constant(moment_text(following), "timestamp")
    is_before: exp.Condition = exp.LT(
        this=exp.TryCast(this=place.column, to=exp.DataType.build("timestamp")), expression=end
    )
    if not _FIRST_NS <= following <= _LAST_NS:
        return is_before
    return exp.Coalesce(this=exp.LT(this=_finely(place.column), expression=end.copy()), expressions=[is_before])


def _in_sqlite(place: ColumnPlace) -> exp.Expr:
    """SQLite keeps times as texts of several forms, and its own functions know no more than milliseconds."""
    from sqlglot import exp

    if place.type.stored in ("date", None):
        return _call("JULIANDAY", place.column)
    fraction = _call("SUBSTR", _call("PRINTF", text("%.6f"), _sqlite_fraction(place.column)), exp.Literal.number(2))
    return exp.paren(exp.DPipe(this=_sqlite_seconds(place.column, "%Y-%m-%dT%H:%M:%S"), expression=fraction))


def _whole_day(value: str, op: str) -> str:
    """The day with which dates compare as with a moment; SQLite's days are exact, and its moments to a millisecond."""
    count = exact_moment(value)
    return moment_text(-(-count // DAY) * DAY if op == ">=" else count // DAY * DAY)


def _sqlite_constant(value: str, stored: str | None) -> exp.Expr:
    count = exact_moment(value)
    if stored in ("date", None):
        return _call("JULIANDAY", text(moment_text(count)))
    return text(f"{moment_text(count - count % 1_000_000, day_only=False)}.{count % 1_000_000:06}")


def _sqlite_seconds(value: exp.Expr, form: str) -> exp.Expr:
    """The seconds of a time in UTC, without what is behind the point."""
    from sqlglot import exp

    up_to_seconds = _call("SUBSTR", value.copy(), exp.Literal.number(1), exp.Literal.number(19))
    zone = _call("LTRIM", _call("SUBSTR", value.copy(), exp.Literal.number(20)), text(".0123456789"))
    return _call("STRFTIME", text(form), exp.DPipe(this=up_to_seconds, expression=zone))


def _sqlite_fraction(value: exp.Expr) -> exp.Expr:
    """What is behind the point of the seconds, to six digits.

    The cast stops at the first character that is no digit.
    """
    from sqlglot import exp

    behind = _call("SUBSTR", value.copy(), exp.Literal.number(20), exp.Literal.number(7))
    return exp.cast(exp.DPipe(this=text("0"), expression=behind), "double")


def _call(name: str, *arguments: exp.Expr) -> exp.Expr:
    from sqlglot import exp

    return exp.Anonymous(this=name, expressions=list(arguments))
