"""Keys: two are the same identifier if their texts are equal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hornboost.sql.columns import ColumnPlace
from hornboost.sql.dialects import Dialect
from hornboost.sql.nominals import as_text

if TYPE_CHECKING:
    from sqlglot import exp

_WHOLE = frozenset({"integer", "double", "float", "decimal"})
"""Numbers of which the whole ones have the same text, so that they can be compared as numbers if one side is whole."""


def key(one: ColumnPlace, other: ColumnPlace, dialect: Dialect) -> exp.Expr:
    """The first key in the form in which the two are compared."""
    from sqlglot import exp

    mine, others = one.type.stored, other.type.stored
    if mine is None or others is None:
        return exp.Collate(this=one.column, expression=exp.var("BINARY")) if dialect.name == "sqlite" else one.column
    if {mine, others} <= {"integer", "text"} and "text" in (mine, others):
        return _text_key(one, dialect, alike=mine == others)
    if mine == others or ("integer" in (mine, others) and {mine, others} <= _WHOLE):
        return one.column
    problem = (
        f"compares it otherwise than Python with the key '{other.name}' of table '{other.table}', which is "
        f"stored as {others}"
    )
    raise one.refusal(dialect, problem, "store both as the same type")


def _text_key(place: ColumnPlace, dialect: Dialect, *, alike: bool) -> exp.Expr:
    """A key as text; where both sides are text, only PostgreSQL has types of
    text that it compares otherwise or not at all.
    """
    from sqlglot import exp

    if dialect.name == "sqlite":
        return exp.Collate(this=place.column, expression=exp.var("BINARY")) if alike else as_text(place, dialect)
    return place.column if alike and dialect.name != "postgres" else exp.cast(place.column, "text")
