"""Columns in a statement: where they are, and how their values are stored."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from hornboost.errors import ModelError
from hornboost.sql import names

if TYPE_CHECKING:
    from sqlglot import exp

    from hornboost.sql.dialects import Dialect


class ColumnType(NamedTuple):
    """What a column is to a rule (key, nominal, numeric, date) and what it is stored as,
    in the words of `docs/values.md`.

    `stored` is "text", "boolean", "integer", "double", "float", "decimal(s)", "decimal", "date", "time", "timestamp",
    "timestamptz" or "duration"; None where that is not known.
    """

    kind: str | None = None
    stored: str | None = None


Types = Mapping[tuple[str, str], ColumnType]
"""The types of columns by table and name; a column that is not in it is of unknown type."""


class ColumnPlace(NamedTuple):
    """A column of a table that goes by an alias; it is missing where `known` does not hold."""

    table: str
    alias: str
    name: str
    type: ColumnType = ColumnType()
    known: exp.Condition | None = None

    @property
    def column(self) -> exp.Expr:
        """The column in SQL."""
        from sqlglot import exp

        plain = names.column(self.alias, self.name)
        return plain if self.known is None else exp.Case(ifs=[exp.If(this=self.known.copy(), true=plain)])

    def refusal(self, dialect: Dialect, problem: str, way_out: str) -> ModelError:
        """The sentence that says why there is no SQL that agrees with Python."""
        what = f"the column '{self.name}' of table '{self.table}' is stored as {self.type.stored}"
        return ModelError(f"{what}, and {dialect.title} {problem}; {way_out}")
