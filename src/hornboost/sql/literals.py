"""Numbers and texts as SQL constants that every database reads as exactly the same value."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from hornboost.logic.text import print_number

if TYPE_CHECKING:
    from sqlglot import exp

    from hornboost.sql.dialects import Dialect


def text(value: str) -> exp.Literal:
    """A text as a constant."""
    from sqlglot import exp

    return exp.Literal.string(value)


def number(value: float | None) -> exp.Expr:
    """A finite number as a double.

    Without an exponent some databases would read a decimal, which is rounded or converted.

    >>> number(0.1).sql(), number(-3.0).sql(), number(1e300).sql()
    ('0.1e0', '-3', '1e+300')
    """
    from sqlglot import exp

    digits = print_number(value).removeprefix("-")
    literal = exp.Literal.number(digits + "e0" if "." in digits and "e" not in digits else digits)
    return exp.Neg(this=literal) if value is not None and value < 0 else literal


def double(value: float | None, dialect: Dialect) -> exp.Expr:
    """A number that may be infinite."""
    from sqlglot import exp

    if value is None or not math.isinf(value):
        return number(value)
    if dialect.name == "sqlite":
        return exp.Literal.number("9e999" if value > 0 else "-9e999")
    return exp.cast(text("Infinity" if value > 0 else "-Infinity"), "double")
