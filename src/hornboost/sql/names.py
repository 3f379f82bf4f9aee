"""Columns and tables as SQL names, which are always quoted."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sqlglot import exp


def identifier(name: str) -> exp.Identifier:
    """A name in quotes.

    >>> print(identifier('my "own" order').sql("duckdb"))
    "my ""own"" order"
    """
    from sqlglot import exp

    return exp.Identifier(this=name, quoted=True)


def column(alias: str | None, name: str) -> exp.Column:
    """A column of the table known as `alias`, or of the only table."""
    from sqlglot import exp

    return exp.Column(this=identifier(name), table=None if alias is None else identifier(alias))


def every_column(alias: str) -> exp.Column:
    """All columns of the table known as `alias`."""
    from sqlglot import exp

    return exp.Column(this=exp.Star(), table=identifier(alias))


def table(name: str, alias: str | None = None, schema: str | None = None) -> exp.Table:
    """A table, of a schema if one is named."""
    from sqlglot import exp

    known_as = None if alias is None else exp.TableAlias(this=identifier(alias))
    return exp.Table(this=identifier(name), db=None if schema is None else identifier(schema), alias=known_as)


def named(value: exp.Expr, name: str) -> exp.Alias:
    """A value as a column of this name."""
    from sqlglot import exp

    return exp.Alias(this=value, alias=identifier(name))


def without_doubt(query: exp.Expr, prefix: str) -> exp.Expr:
    """The query with its aliases under a prefix, where a subquery has several tables side by side.

    If two of these have a column "t", DuckDB takes the "t" of "t"."id" for that, and does not look for a table around.
    """
    from sqlglot import exp

    if not any(join.kind == "CROSS" for join in query.find_all(exp.Join)):
        return query
    for node in query.find_all(exp.TableAlias, exp.Column):
        alias = node.this if isinstance(node, exp.TableAlias) else node.args.get("table")
        if isinstance(alias, exp.Identifier) and not alias.name.startswith(prefix):
            alias.set("this", prefix + alias.name)
    return query


def free_prefix(taken: Iterable[str]) -> str:
    """What no name begins with: names that begin so are free.

    >>> free_prefix(["a", "HB_1"])
    '_hb_'
    """
    known = [name.lower() for name in taken]
    prefix = "hb_"
    while any(name.startswith(prefix) for name in known):
        prefix = "_" + prefix
    return prefix
