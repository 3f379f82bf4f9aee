"""Conditions on the rows of a statement: tests, and keys that are equal or differ.

A column whose type is not known is taken for text, numbers or times without a zone, as the test asks for, and keys of
unknown types are compared as the database does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

from hornboost.errors import ClauseError
from hornboost.logic.clause import Test
from hornboost.sql import keys
from hornboost.sql.columns import ColumnPlace, ColumnType, Types
from hornboost.sql.dialects import Dialect
from hornboost.sql.moments import compare_moment, is_missing_moment
from hornboost.sql.nominals import has_other_text, has_text, is_missing_nominal
from hornboost.sql.numbers import compare_number, is_missing_number
from hornboost.sql.sources import CountedTimes, Sources
from hornboost.sql.times import COUNT, Clock, TableTimes

if TYPE_CHECKING:
    from sqlglot import exp

    from hornboost.sql.aggregate_tests import AggregateTests


@dataclass(frozen=True)
class Conditions:
    """Writes conditions on columns of known types in one dialect, over tables that `sources` names.

    `times` says which tables have them; `cutoff` is that of the example for which rows are looked at, where the
    condition stands.
    """

    dialect: Dialect
    types: Types = field(default_factory=dict)
    sources: Sources = field(default_factory=Sources)
    aggregates: AggregateTests | None = None
    times: Mapping[str, TableTimes] = field(default_factory=dict)
    cutoff: exp.Expr | None = None

    def place(self, table: str, alias: str, name: str) -> ColumnPlace:
        """A column of the table known as `alias`, with its type; one that is filled in later is missing up to then."""
        found = self._plain(table, alias, name)
        if self.cutoff is None or table not in self.times or name not in self.times[table].late:
            return found
        dating = self._time(table, alias, self.times[table].late[name])
        return found._replace(known=self.clock.before(dating, self.cutoff))

    def _plain(self, table: str, alias: str, name: str) -> ColumnPlace:
        return ColumnPlace(table, alias, name, self.types.get((table, name), ColumnType()))

    def _time(self, table: str, alias: str, name: str) -> ColumnPlace:
        """A column of times, or of their counts where the statement has them."""
        counted = self.sources.counted.get(table)
        return (
            self._plain(table, alias, name)
            if counted is None
            else ColumnPlace(table, alias, counted.named[name], COUNT)
        )

    @cached_property
    def clock(self) -> Clock:
        """How times are compared in this statement."""
        places = [self._plain(table, "t", name) for table, found in self.times.items() for name in found.columns]
        return Clock.of(places, self.dialect)

    @property
    def is_cutoff_of_examples(self) -> bool:
        """Whether examples have cutoffs of their own."""
        from sqlglot import exp

        return self.cutoff is not None and self.cutoff.find(exp.Column) is not None

    def cutoff_of(self, table: str, alias: str) -> exp.Expr:
        """The cutoff of an example, the row of the target table known as `alias`."""
        time = self.times[table].time
        assert time is not None
        return self.clock.cutoff(self._plain(table, alias, time))

    def time_of(self, table: str, alias: str) -> exp.Expr:
        """The time of a row that counts, to the microsecond."""
        time = self.times[table].time
        assert time is not None
        return self.clock.cutoff(self._time(table, alias, time))

    def with_counts(self, tables: Iterable[str], prefix: str) -> Conditions:
        """The same for SQLite, where the times of some tables are counted once and not for each cutoff anew.

        They are text there, and a row is compared with the cutoffs of many examples.
        """
        if self.dialect.name != "sqlite" or self.clock.form != "count" or not self.is_cutoff_of_examples:
            return self
        counted: dict[str, CountedTimes] = {}
        for table in dict.fromkeys(table for table in tables if table in self.times):
            columns = self.times[table].columns
            counts = {name: self.clock.time(self._plain(table, "t", name)) for name in columns}
            named = {name: f"{prefix}time_{number}" for number, name in enumerate(columns, start=1)}
            counted[table] = CountedTimes(f"{prefix}times_{len(counted) + 1}", counts, named)
        return replace(self, sources=replace(self.sources, counted=counted))

    def counts(self, table: str, alias: str) -> list[exp.Condition]:
        """What must hold for a row of the table known as `alias` to count: that its time is before the cutoff."""
        time = self.times[table].time if table in self.times else None
        if time is None or self.cutoff is None:
            return []
        return [self.clock.before(self._time(table, alias, time), self.cutoff)]

    def key(self, one: ColumnPlace, other: ColumnPlace) -> exp.Expr:
        """The first key in the form in which the two are compared."""
        return keys.key(one, other, self.dialect)

    def equal(self, one: ColumnPlace, other: ColumnPlace) -> exp.Condition:
        """Whether two keys are the same identifier."""
        from sqlglot import exp

        return exp.EQ(this=self.key(one, other), expression=self._right_key(other, one))

    def differ(self, one: ColumnPlace, other: ColumnPlace) -> exp.Condition:
        """Whether two keys are different identifiers, none of them null."""
        from sqlglot import exp

        return exp.NEQ(this=self.key(one, other), expression=self._right_key(other, one))

    def _right_key(self, one: ColumnPlace, other: ColumnPlace) -> exp.Expr:
        """The key on the right of a comparison, where the collation is that of the left."""
        from sqlglot import exp

        found = self.key(one, other)
        return found.this if isinstance(found, exp.Collate) else found

    def condition(self, table: str, alias: str, test: Test) -> exp.Condition:
        """Whether a row of the table known as `alias` passes a test."""
        if isinstance(test.column, str):
            if test.duration is not None or (table in self.times and test.column == self.times[table].age):
                return self._of_age(table, alias, test)
            return self.test(self.place(table, alias, test.column), test)
        if self.aggregates is None:
            raise ClauseError(
                f"a clause alone does not know the foreign keys behind '{test.column}'; use to_sql of an estimator"
            )
        return self.aggregates.condition(test)

    def _of_age(self, table: str, alias: str, test: Test) -> exp.Condition:
        """Whether a row that counts is old or young enough."""
        time = self.times[table].time if table in self.times else None
        if time is None or self.cutoff is None:
            raise ClauseError(f"'{test}': a clause alone does not know the times of rows; use to_sql of an estimator")
        return self.clock.compare_age(self._time(table, alias, time), self.cutoff, test)

    def test(self, place: ColumnPlace, test: Test) -> exp.Condition:
        """Whether a row passes a test of the column at `place`."""
        if test.op == "missing":
            missing = {"numeric": is_missing_number, "date": is_missing_moment}.get(
                place.type.kind or "", is_missing_nominal
            )
            return missing(place, self.dialect)
        if test.op == "=":
            return has_text(place, str(test.value), self.dialect)
        if test.op == "!=":
            return has_other_text(place, str(test.value), self.dialect)
        if isinstance(test.value, str):
            return compare_moment(place, test.op, test.value, self.dialect)
        return compare_number(place, test.op, test.value, self.dialect)

    def some(self, condition: exp.Condition) -> exp.Expr:
        """Whether a condition is true in some row of a group."""
        from sqlglot import exp

        if self.dialect.name == "duckdb":  # sqlglot would cast the condition to a boolean, which it is
            return exp.Anonymous(this="BOOL_OR", expressions=[condition])
        return exp.LogicalOr(this=condition)
