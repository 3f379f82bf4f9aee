"""What was known when: the rows of a table that count for an example, their age, and columns that are filled in later.

A row counts if its time is strictly before the cutoff of the example. How times are written depends on how the columns
are stored: as moments in UTC, as counts of microseconds, or as the plain numbers that they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from typing import Literal as Choice

from hornboost.errors import ClauseError, ModelError
from hornboost.logic.clause import Test
from hornboost.logic.duration import UNITS
from hornboost.logic.moment import exact_moment
from hornboost.sql.columns import ColumnPlace, ColumnType
from hornboost.sql.dialects import Dialect
from hornboost.sql.literals import double
from hornboost.sql.moments import in_microseconds, in_utc, microseconds, utc_constant
from hornboost.sql.numbers import as_double, without_nan

if TYPE_CHECKING:
    from sqlglot import exp

Form = Choice["moment", "count", "number"]

COUNT = ColumnType("date", "microseconds")
"""A column of the statement's own that counts the microseconds of a time."""


@dataclass(frozen=True)
class TableTimes:
    """What is declared of a table: the time of its rows, what rules call their age, and for columns that are filled in
    later the column with the time of that.
    """

    time: str | None = None
    age: str | None = None
    late: Mapping[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> list[str]:
        """The columns that hold times."""
        return list(dict.fromkeys([*([] if self.time is None else [self.time]), *self.late.values()]))


@dataclass(frozen=True)
class Parameter:
    """A cutoff that is given when the statement runs."""

    name: str


AsOf = str | float | Parameter
"""One cutoff for all examples: a moment as text, a number, or what is given later."""


@dataclass(frozen=True)
class Clock:
    """How the times of a statement are compared, in one form for all of them."""

    dialect: Dialect
    form: Form

    @classmethod
    def of(cls, places: list[ColumnPlace], dialect: Dialect) -> Clock:
        """The form that all of some columns have; none of them is a date if one is a plain number."""
        if all(place.type.kind == "numeric" for place in places):
            return cls(dialect, "number")
        stored = {place.type.stored for place in places}
        counted = stored & {"integer", "double", "float"} or (dialect.name == "spark" and "timestamptz" in stored)
        return cls(dialect, "count" if counted or dialect.name == "sqlite" else "moment")

    def time(self, place: ColumnPlace) -> exp.Expr:
        """The time of a row, to be compared with a cutoff."""
        if place.type == COUNT:
            return place.column
        if self.form == "number":
            return as_double(place, self.dialect)
        return in_utc(place, self.dialect) if self.form == "moment" else in_microseconds(place, self.dialect)

    def cutoff(self, place: ColumnPlace) -> exp.Expr:
        """The cutoff of an example, NULL if it has none."""
        return without_nan(place, self.dialect) if self.form == "number" else self.time(place)

    def at(self, moment: AsOf) -> exp.Expr:
        """A cutoff that is the same for all examples."""
        from sqlglot import exp

        if isinstance(moment, Parameter):
            given = self.dialect.parameter(moment.name)
            if self.form == "number":
                return exp.cast(given, "double")
            if self.form == "moment":
                return exp.cast(given, "timestampntz")
            if self.dialect.name == "spark":
                raise ModelError(
                    "Spark would read the cutoff that is given as a parameter in the time zone of the session; "
                    "give the moment itself as as_of"
                )
            is_text = self.dialect.name == "sqlite"
            return microseconds(given if is_text else exp.cast(given, "timestampntz"), self.dialect)
        if self.form == "number":
            return double(float(moment), self.dialect)
        if self.form == "moment":
            return utc_constant(str(moment))
        return exp.Literal.number(exact_moment(str(moment)))

    def before(self, place: ColumnPlace, cutoff: exp.Expr) -> exp.Condition:
        """Whether the time of a row is strictly before a cutoff."""
        from sqlglot import exp

        return exp.LT(this=self.time(place), expression=cutoff.copy())

    def compare_age(self, place: ColumnPlace, cutoff: exp.Expr, test: Test) -> exp.Condition:
        """Whether the age of a row that counts is at least (`>=`) or at most (`<=`) a value."""
        from sqlglot import exp

        if test.op == "missing":
            return exp.false()
        if self.form == "number":
            if not isinstance(test.value, float | int):
                raise ClauseError(f"'{test}': times are numbers here, so that an age is a number as well")
            operator = exp.GTE if test.op == ">=" else exp.LTE
            age = exp.paren(exp.Sub(this=cutoff.copy(), expression=self.time(place)))
            return operator(this=age, expression=double(float(test.value), self.dialect))
        if test.duration is None:
            raise ClauseError(f"'{test}': an age is compared with a length of time such as 90d")
        operator = exp.GTE if test.op == "<=" else exp.LTE
        return operator(this=self.time(place), expression=self._earlier(cutoff, round(test.duration)))

    def _earlier(self, cutoff: exp.Expr, microseconds: int) -> exp.Expr:
        """A length of time before the cutoff."""
        from sqlglot import exp

        length = _interval(microseconds) if self.form == "moment" else exp.Literal.number(microseconds)
        return exp.Sub(this=cutoff.copy(), expression=length)


def _interval(microseconds: int) -> exp.Expr:
    """A length of time in the longest unit of which it is a whole number."""
    from sqlglot import exp

    units = {"d": "DAY", "h": "HOUR", "min": "MINUTE", "s": "SECOND"}
    for unit, length in UNITS.items():
        if microseconds % length == 0:
            return exp.Interval(this=exp.Literal.string(str(microseconds // length)), unit=exp.var(units[unit]))
    return exp.Interval(this=exp.Literal.string(str(microseconds)), unit=exp.var("MICROSECOND"))
