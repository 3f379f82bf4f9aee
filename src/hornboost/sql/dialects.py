"""The dialects, what they disagree on, and how a query becomes text in one of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from hornboost.errors import HornBoostError, did_you_mean

if TYPE_CHECKING:
    from sqlglot import exp

_LINE_BREAK = "__SQLGLOT__LB__"
"""What sqlglot puts in the place of line breaks while it indents; a user's text that says so would become one."""


@dataclass(frozen=True)
class Dialect:
    """What databases disagree on.

    `whole_float` is the text of a float that is whole, `nan_above_all` says whether NaN is larger than every number;
    where the type of a column is not known, `type_function` finds it when the statement runs, and `float_types` are
    those that can hold NaN.
    """

    name: str
    title: str
    whole_float: str = "{}.0"
    nan_above_all: bool = True
    nan_text: str | None = "NaN"
    type_function: str | None = "TYPEOF"
    float_types: tuple[str, ...] = ()

    @classmethod
    def named(cls, name: str, error: type[HornBoostError]) -> Dialect:
        """The dialect of this name, or an error that suggests one."""
        if name not in _DIALECTS:
            hint = did_you_mean(name, DIALECTS)
            known = "" if "known are" in hint else f" Known are {', '.join(DIALECTS)}"
            raise error(f"there is no SQL dialect '{name}'{hint}{known}")
        return _DIALECTS[name]

    def parameter(self, name: str) -> exp.Expr:
        """A value that is given when the statement runs.

        It is called as the database itself calls it, in which PostgreSQL has numbers and no names.
        """
        from sqlglot import exp

        marks = {"duckdb": f"${name}", "postgres": "$1", "bigquery": f"@{name}"}
        return exp.var(marks.get(self.name, f":{name}"))

    def text(self, query: exp.Expr, *, pretty: bool = False) -> str:
        """A query in this dialect, indented if that changes no name and no value."""
        return query.sql(dialect=self.name, pretty=pretty and _can_be_indented(query), max_text_width=140)


DUCKDB = Dialect("duckdb", "DuckDB", nan_text="nan", float_types=("DOUBLE", "FLOAT"))
SQLITE = Dialect("sqlite", "SQLite", nan_above_all=False, nan_text=None, float_types=("real",))
POSTGRES = Dialect(
    "postgres", "PostgreSQL", "{}", type_function="PG_TYPEOF", float_types=("double precision", "real", "numeric")
)
SPARK = Dialect("spark", "Spark", float_types=("double", "float"))
BIGQUERY = Dialect("bigquery", "BigQuery", "{}", nan_above_all=False, type_function=None)
_DIALECTS = {dialect.name: dialect for dialect in (DUCKDB, SQLITE, POSTGRES, SPARK, BIGQUERY)}
DIALECTS = tuple(_DIALECTS)


def _can_be_indented(query: exp.Expr) -> bool:
    from sqlglot import exp

    texts = [node.this for node in query.find_all(exp.Literal) if node.is_string]
    names = [node.this for node in query.find_all(exp.Identifier)]
    return not any(_LINE_BREAK in text for text in (*texts, *names)) and not any("\n" in name for name in names)
