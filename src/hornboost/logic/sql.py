"""Clauses as SQL: the rows that a clause covers, as one boolean expression over nested EXISTS.

Numbers are compared as doubles and nominal values as text, whatever the columns are stored as; a whole number's text also stands for
a float's, since many databases print 7 as 7.0. NaN counts as missing, although most hold it equal to itself and above every number.
Dialects: duckdb, sqlite, postgres, spark, bigquery.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hornboost.errors import ClauseError, did_you_mean
from hornboost.logic.clause import Clause, Test
from hornboost.logic.text import print_number

if TYPE_CHECKING:
    from sqlglot import exp

_WHOLE = re.compile(r"-?\d+", re.ASCII)


@dataclass(frozen=True)
class _Dialect:
    """What databases disagree on: the text of a float that is whole, and NaN's order, text and types."""

    whole_float: str = "{}.0"
    nan_above_all: bool = True
    nan_text: str | None = "NaN"
    type_function: str | None = "TYPEOF"
    float_types: tuple[str, ...] = ()


_DIALECTS = {
    "duckdb": _Dialect(nan_text="nan", float_types=("DOUBLE", "FLOAT")),
    "sqlite": _Dialect(nan_above_all=False, nan_text=None),
    "postgres": _Dialect("{}", type_function="PG_TYPEOF", float_types=("double precision", "real", "numeric")),
    "spark": _Dialect(float_types=("double", "float")),
    "bigquery": _Dialect("{}", nan_above_all=False, type_function=None),
}


def clause_to_sql(clause: Clause, dialect: str = "duckdb", key: str | Sequence[str] | None = None) -> str:
    """One SELECT of the target rows that the clause covers: `key`, or the columns bound in the root literal, or all columns.

    >>> print(clause_to_sql(Clause.parse('y="1" :- a(id=K), b(a=K, kind="x").')))
    SELECT "t0"."id" FROM "a" AS "t0" WHERE EXISTS(SELECT 1 FROM "b" AS "t1" WHERE "t1"."a" = "t0"."id" AND CAST("t1"."kind" AS TEXT) = 'x')
    """
    from sqlglot import exp

    if key is None:
        names = list(dict.fromkeys(column for column, _ in clause.root.bindings))
    else:
        names = [key] if isinstance(key, str) else list(key)
    columns = [_column("t0", name) for name in names]
    if not columns:
        columns = [exp.Column(this=exp.Star(), table=exp.to_identifier("t0", quoted=True))]
    query = exp.select(*columns).from_(_table(clause.root.table, "t0"))
    condition = coverage_condition(clause, "t0", dialect)
    if not isinstance(condition, exp.Boolean):
        query = query.where(condition, copy=False)
    return query.sql(dialect=dialect)


def coverage_condition(clause: Clause, root_alias: str = "t0", dialect: str = "duckdb") -> exp.Condition:
    """A sqlglot condition that is true for the rows of the target table, known as `root_alias`, that the clause covers.

    >>> coverage_condition(Clause.parse('y="1" :- a(x>=2).'), "t0", "sqlite").sql("sqlite")
    'CAST("t0"."x" AS REAL) >= 2'
    """
    from sqlglot import exp

    if dialect not in _DIALECTS:
        raise ClauseError(f"there is no SQL dialect '{dialect}'{did_you_mean(dialect, _DIALECTS)}")
    conditions = _Translation(clause, root_alias, dialect).conditions()
    return exp.and_(*conditions, copy=False) if conditions else exp.true()


class _Translation:
    """The EXISTS nest of one clause: literals that share no unbound variable go into separate subqueries.

    A subquery refers to the query right around it and no further, which is all that Spark and BigQuery can decorrelate.
    """

    def __init__(self, clause: Clause, root_alias: str, dialect: str) -> None:
        self._body = clause.body
        self._unequal = clause.unequal
        self._dialect = dialect
        names = [f"t{position}" for position in range(len(clause.body))]
        self._aliases = [root_alias, *(name + "_" if name == root_alias else name for name in names[1:])]

    def conditions(self) -> list[exp.Condition]:
        return self._conditions([0], {}, list(range(1, len(self._body))))

    def _conditions(self, inside: list[int], outer: dict[str, exp.Column], rest: list[int]) -> list[exp.Condition]:
        """What a query over the literals `inside` demands, with subqueries for those of `rest`."""
        from sqlglot import exp

        conditions: list[exp.Condition] = []
        scope = dict(outer)
        for position in inside:
            alias, literal = self._aliases[position], self._body[position]
            for name, variable in literal.bindings:
                column = _column(alias, name)
                if variable in scope:
                    conditions.append(exp.EQ(this=column, expression=scope[variable].copy()))
                scope[variable] = column
            conditions += [_test_condition(alias, test, self._dialect) for test in literal.tests]
        for left, right in self._unequal:
            if left in scope and right in scope and not (left in outer and right in outer):
                conditions.append(exp.NEQ(this=scope[left].copy(), expression=scope[right].copy()))
        conditions += [self._exists(group, scope) for group in self._groups(rest, scope.keys())]
        return conditions

    def _exists(self, group: list[int], outer: dict[str, exp.Column]) -> exp.Condition:
        from sqlglot import exp

        inside = [self._first(group, outer.keys())]
        while True:
            rest = [position for position in group if position not in inside]
            bound = self._variables(inside)
            known = bound | outer.keys()
            far = [part for part in self._groups(rest, known) if self._touched(part, known) & (outer.keys() - bound)]
            if not far:
                break
            inside.append(self._first(far[0], outer.keys() - bound))
        query = exp.select("1").from_(_table(self._body[inside[0]].table, self._aliases[inside[0]]))
        for position in inside[1:]:
            query = query.join(_table(self._body[position].table, self._aliases[position]), join_type="cross", copy=False)
        return exp.Exists(this=query.where(*self._conditions(inside, outer, rest), copy=False))

    def _groups(self, positions: list[int], known: Iterable[str]) -> list[list[int]]:
        """The literals in sets that share no variable, and no inequality, outside `known`."""
        groups: list[tuple[list[int], set[str]]] = []
        for position in positions:
            members, names = [position], self._touched([position], known).difference(known)
            for other in [group for group in groups if group[1] & names]:
                groups.remove(other)
                members, names = other[0] + members, other[1] | names
            groups.append((members, names))
        return [sorted(members) for members, _ in groups]

    def _touched(self, positions: list[int], known: Iterable[str]) -> set[str]:
        """The variables of the literals, and those that their unknown ones must differ from."""
        variables = self._variables(positions)
        fresh = variables.difference(known)
        return variables.union(*(pair for pair in self._unequal if fresh.intersection(pair)))

    def _variables(self, positions: list[int]) -> set[str]:
        return {variable for position in positions for _, variable in self._body[position].bindings}

    def _first(self, positions: list[int], names: Iterable[str]) -> int:
        joined = (position for position in positions if not self._variables([position]).isdisjoint(names))
        return next(joined, positions[0])


def _test_condition(alias: str, test: Test, dialect: str) -> exp.Condition:
    from sqlglot import exp

    column = _column(alias, test.column)
    if test.op == "missing":
        return _is_missing(column, dialect)
    if test.op == "=":
        return _is_value(column, str(test.value), dialect)
    compare = exp.GTE if test.op == ">=" else exp.LTE
    if isinstance(test.value, str):
        return compare(this=_instant(column, dialect), expression=_instant(exp.Literal.string(test.value), dialect))
    number = exp.cast(column, "double")
    condition = compare(this=number, expression=_double(test.value, dialect))
    if test.op == ">=" and _DIALECTS[dialect].nan_above_all:
        nan = exp.cast(exp.Literal.string("NaN"), "double")
        return exp.and_(condition, exp.NEQ(this=number.copy(), expression=nan), copy=False)
    return condition


def _is_value(column: exp.Column, value: str, dialect: str) -> exp.Condition:
    from sqlglot import exp

    texts = {value, _DIALECTS[dialect].whole_float.format(value)} if _WHOLE.fullmatch(value) else {value}
    text, literals = exp.cast(column, "text"), [exp.Literal.string(text) for text in sorted(texts)]
    return exp.In(this=text, expressions=literals) if len(literals) > 1 else exp.EQ(this=text, expression=literals[0])


def _is_missing(column: exp.Column, dialect: str) -> exp.Condition:
    """NULL, or NaN where the column can hold it: a text 'NaN' is a value like any other."""
    from sqlglot import exp

    traits = _DIALECTS[dialect]
    null = exp.Is(this=column, expression=exp.null())
    if traits.nan_text is None:
        return null
    nan: exp.Condition = exp.EQ(this=exp.cast(column.copy(), "text"), expression=exp.Literal.string(traits.nan_text))
    if traits.type_function is not None:
        kind = exp.cast(exp.Anonymous(this=traits.type_function, expressions=[column.copy()]), "text")
        kinds = [exp.Literal.string(name) for name in traits.float_types]
        nan = exp.and_(exp.In(this=kind, expressions=kinds), nan, copy=False)
    return exp.or_(null, nan, copy=False)


def _double(value: float | None, dialect: str) -> exp.Condition:
    """The number as a literal of type double; without an exponent it would be a decimal in some databases, to be converted at run time."""
    from sqlglot import exp

    text = print_number(value)
    if value is not None and math.isinf(value):
        if dialect == "sqlite":
            return exp.Literal.number("9e999" if value > 0 else "-9e999")
        return exp.cast(exp.Literal.string("Infinity" if value > 0 else "-Infinity"), "double")
    return exp.Literal.number(text + "e0" if "." in text and "e" not in text else text)


def _instant(value: exp.Condition, dialect: str) -> exp.Condition:
    """A date or time in a form that compares rightly with dates, times and ISO texts."""
    from sqlglot import exp

    return exp.Anonymous(this="JULIANDAY", expressions=[value]) if dialect == "sqlite" else exp.cast(value, "timestamp")


def _column(alias: str, name: str) -> exp.Column:
    from sqlglot import exp

    return exp.column(exp.to_identifier(name, quoted=True), table=exp.to_identifier(alias, quoted=True))


def _table(name: str, alias: str) -> exp.Table:
    from sqlglot import exp

    alias_name = exp.TableAlias(this=exp.to_identifier(alias, quoted=True))
    return exp.Table(this=exp.to_identifier(name, quoted=True), alias=alias_name)
