"""Conditions on the rows of a statement: tests, and keys that are equal or differ.

A column whose type is not known is taken for text, numbers or times without a zone, as the test asks for, and keys of
unknown types are compared as the database does.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hornboost.errors import ClauseError
from hornboost.logic.clause import Test
from hornboost.sql import keys
from hornboost.sql.columns import ColumnPlace, ColumnType, Types
from hornboost.sql.dialects import Dialect
from hornboost.sql.moments import compare_moment, is_missing_moment
from hornboost.sql.nominals import has_text, is_missing_nominal
from hornboost.sql.numbers import compare_number, is_missing_number
from hornboost.sql.sources import Sources

if TYPE_CHECKING:
    from sqlglot import exp

    from hornboost.sql.aggregate_tests import AggregateTests


@dataclass(frozen=True)
class Conditions:
    """Writes conditions on columns of known types in one dialect, over tables that `sources` names."""

    dialect: Dialect
    types: Types = field(default_factory=dict)
    sources: Sources = field(default_factory=Sources)
    aggregates: AggregateTests | None = None

    def place(self, table: str, alias: str, name: str) -> ColumnPlace:
        """A column of the table known as `alias`, with its type."""
        return ColumnPlace(table, alias, name, self.types.get((table, name), ColumnType()))

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
            return self.test(self.place(table, alias, test.column), test)
        if self.aggregates is None:
            raise ClauseError(
                f"a clause alone does not know the foreign keys behind '{test.column}'; use to_sql of an estimator"
            )
        return self.aggregates.condition(test)

    def test(self, place: ColumnPlace, test: Test) -> exp.Condition:
        """Whether a row passes a test of the column at `place`."""
        if test.op == "missing":
            missing = {"numeric": is_missing_number, "date": is_missing_moment}.get(
                place.type.kind or "", is_missing_nominal
            )
            return missing(place, self.dialect)
        if test.op == "=":
            return has_text(place, str(test.value), self.dialect)
        if isinstance(test.value, str):
            return compare_moment(place, test.op, test.value, self.dialect)
        return compare_number(place, test.op, test.value, self.dialect)

    def some(self, condition: exp.Condition) -> exp.Expr:
        """Whether a condition is true in some row of a group."""
        from sqlglot import exp

        if self.dialect.name == "duckdb":  # sqlglot would cast the condition to a boolean, which it is
            return exp.Anonymous(this="BOOL_OR", expressions=[condition])
        return exp.LogicalOr(this=condition)
