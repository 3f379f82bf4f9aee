"""Tests on aggregates: the rows that lead to a row of the target are grouped by their key, once for each path.

Every function is written so that each database computes the very value that Python does, or refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hornboost.errors import ClauseError
from hornboost.logic.aggregate import Aggregate, Route
from hornboost.logic.clause import Test
from hornboost.logic.text import print_path
from hornboost.sql import names, sums
from hornboost.sql.columns import ColumnPlace
from hornboost.sql.literals import double, text
from hornboost.sql.moments import compare_moment, is_missing_moment
from hornboost.sql.nominals import distinct_value, has_text, text_value
from hornboost.sql.numbers import as_double, is_missing_number, is_never_nan

if TYPE_CHECKING:
    from sqlglot import exp

    from hornboost.sql.conditions import Conditions

COLUMNS = 500
"""Columns in one common table expression: PostgreSQL allows 1664."""


@dataclass(eq=False)
class Grouped:
    """The rows at the end of a route, grouped by the key that leads to them.

    `rows` are values of each row and `columns` those of a group, by their text, with what they are called.
    """

    route: Route
    name: str
    rows: dict[str, tuple[exp.Expr, str]] = field(default_factory=dict)
    columns: dict[str, tuple[exp.Expr, str]] = field(default_factory=dict)

    def row(self, value: exp.Expr) -> exp.Column:
        """A value of each row, for use in a value of the group."""
        return names.column("r", self.rows.setdefault(value.sql(), (value, f"x{len(self.rows) + 1}"))[1])

    def column(self, value: exp.Expr) -> str:
        """What a value of the group is called."""
        return self.columns.setdefault(value.sql(), (value, f"a{len(self.columns) + 1}"))[1]


@dataclass(eq=False)
class GroupedValues:
    """The values of a nominal column at the end of a route: the most frequent one of each group, and its share."""

    route: Route
    name: str
    column: str


class AggregateTests:
    """Writes the tests of one statement, and the common table expressions that they look at.

    `routes` are the joins of each path by its text.
    """

    def __init__(self, write: Conditions, target: str, routes: Mapping[str, Route], prefix: str) -> None:
        self._write = write
        self._target = target
        self._routes = routes
        self._prefix = prefix
        self._groups: list[Grouped | GroupedValues] = []

    def condition(self, test: Test) -> exp.Condition:
        """Whether the row of the target known as "t" passes a test, once `joined` has been applied."""
        aggregate = test.column
        assert isinstance(aggregate, Aggregate)
        route = self._routes[print_path(aggregate.path)]
        place = None if aggregate.column is None else self._place(route, aggregate.column)
        if aggregate.function in ("mode", "mode_share"):
            assert place is not None
            return self._of_values(test, aggregate.function, route, place)
        group = self._group(route)
        where = None if aggregate.where is None else self._where(route, aggregate.where)
        if aggregate.function in ("count", "share"):
            return self._of_rows(test, aggregate.function, group, where)
        assert place is not None
        if aggregate.function == "distinct":
            counted = exp_count_distinct(group.row(distinct_value(place, self._write.dialect)))
            return self._compared(test, _or_zero(names.column(group.name, group.column(counted))))
        if place.type.kind == "date":
            return self._of_moments(test, aggregate.function, group, place, where)
        return self._of_numbers(test, aggregate.function, group, place, where)

    def _of_rows(self, test: Test, function: str, group: Grouped, where: exp.Expr | None) -> exp.Condition:
        from sqlglot import exp

        every = exp.Count(this=exp.Star())
        some = every if where is None else exp.Count(this=group.row(_one_if(where)))
        if function == "count":
            return self._compared(test, _or_zero(names.column(group.name, group.column(some))))
        share = exp.Div(this=exp.cast(some, "double"), expression=exp.cast(every, "double"))
        return self._compared(test, names.column(group.name, group.column(share)))

    def _of_numbers(
        self, test: Test, function: str, group: Grouped, place: ColumnPlace, where: exp.Expr | None
    ) -> exp.Condition:
        from sqlglot import exp

        dialect = self._write.dialect
        value = as_double(place, dialect)
        whole = place.type.stored == "integer"
        if function in ("min", "max"):
            shown = value
            conditions: list[exp.Expr] = [] if where is None else [where]
            if not is_never_nan(place, dialect):
                conditions.append(exp.Not(this=exp.paren(is_missing_number(place, dialect))))
            if conditions:
                shown = exp.Case(ifs=[exp.If(this=exp.and_(*conditions, copy=False), true=value)])
            call = exp.Min(this=group.row(shown)) if function == "min" else exp.Max(this=group.row(shown))
            return self._compared(test, names.column(group.name, group.column(call)))
        row = group.row(sums.counted(value, where, squared=function == "std"))
        written = {"sum": sums.total, "mean": sums.mean, "std": sums.variance}[function]
        found = names.column(group.name, group.column(written(row, dialect, whole=whole)))
        return self._compared(test, found, squared=function == "std")

    def _of_moments(
        self, test: Test, function: str, group: Grouped, place: ColumnPlace, where: exp.Expr | None
    ) -> exp.Condition:
        """The first and the last moment by counts of those before and after a threshold.

        So that moments are compared as everywhere.
        """
        from sqlglot import exp

        dialect = self._write.dialect
        present = exp.Not(this=exp.paren(is_missing_moment(place, dialect)))
        parts = [present] if where is None else [where, present]
        every = _or_zero(names.column(group.name, group.column(exp.Count(this=group.row(_one_if(*parts))))))
        if test.op == "missing":
            return exp.EQ(this=every, expression=exp.Literal.number(0))
        assert isinstance(test.value, str)
        if test.op == "=":
            raise ClauseError(f"'{test}': a date is compared with >= or <=; use these")
        passing = compare_moment(place, test.op, test.value, dialect)
        passing_parts = [passing] if where is None else [where.copy(), passing]
        some = _or_zero(names.column(group.name, group.column(exp.Count(this=group.row(_one_if(*passing_parts))))))
        found = exp.GT(this=some, expression=exp.Literal.number(0))
        if (function == "max") == (test.op == ">="):
            return found
        return exp.and_(found, exp.EQ(this=some.copy(), expression=every), copy=False)

    def _of_values(self, test: Test, function: str, route: Route, place: ColumnPlace) -> exp.Condition:
        from sqlglot import exp

        known = [group for group in self._groups if isinstance(group, GroupedValues)]
        found = next((group for group in known if (group.route, group.column) == (route, place.name)), None)
        if found is None:
            text_value(place, self._write.dialect)  # which may be refused
            found = GroupedValues(route, self._name(), place.name)
            self._groups.append(found)
        if function == "mode_share":
            return self._compared(test, names.column(found.name, "s"))
        value = names.column(found.name, "v")
        if test.op == "missing":
            return exp.Is(this=value, expression=exp.null())
        return exp.EQ(this=value, expression=text(str(test.value)))

    def _compared(self, test: Test, value: exp.Expr, *, squared: bool = False) -> exp.Condition:
        from sqlglot import exp

        if test.op == "missing":
            return exp.Is(this=value, expression=exp.null())
        assert test.value is not None
        bound = float(test.value)
        operator: type[exp.Condition] = {">=": exp.GTE, "<=": exp.LTE, "=": exp.EQ}[test.op]
        if not squared:
            return operator(this=value, expression=double(bound, self._write.dialect))
        if test.op == "=":
            parts = [Test(test.column, ">=", bound), Test(test.column, "<=", bound)]
            return exp.and_(*(self._compared(part, value.copy(), squared=True) for part in parts), copy=False)
        limit = sums.square_bound(test.op, bound)
        return operator(this=value, expression=double(limit, self._write.dialect))

    def ctes(self) -> list[tuple[str, exp.Query]]:
        """The common table expressions that the tests written so far look at."""
        return [
            (group.name, self._of_group(group) if isinstance(group, Grouped) else self._of_frequent(group))
            for group in self._groups
        ]

    def joined(self, query: exp.Select) -> exp.Select:
        """The query over rows of the target known as "t", with their aggregates at its side."""
        from sqlglot import exp

        for group in self._groups:
            first = group.route[0]
            here = self._write.place(self._target, "t", first.before)
            key = self._write.key(here, self._write.place(first.table, "p0", first.column))
            on = exp.EQ(this=names.column(group.name, "k"), expression=key)
            query = query.join(names.table(group.name), on=on, join_type="left", copy=False)
        return query

    def _of_group(self, group: Grouped) -> exp.Select:
        from sqlglot import exp

        rows = self._rows(group.route, [names.named(value, name) for value, name in group.rows.values()])
        columns = [names.named(value, name) for value, name in group.columns.values()]
        key = names.column("r", "k")
        query = exp.select(names.named(key, "k"), *columns, copy=False).from_(
            rows.subquery("r", copy=False), copy=False
        )
        return query.group_by(key.copy(), copy=False)

    def _of_frequent(self, group: GroupedValues) -> exp.Select:
        """Of equally frequent values the first, in the order of their bytes."""
        from sqlglot import exp

        shown = text_value(self._place(group.route, group.column), self._write.dialect)
        key, value, times = names.column("r", "k"), names.column("r", "v"), names.column("r", "n")
        rows = self._rows(group.route, [names.named(shown, "v")])
        counts = exp.select(key, value, names.named(exp.Count(this=exp.Star()), "n"), copy=False)
        counts = counts.from_(rows.subquery("r", copy=False), copy=False)
        counts = counts.where(exp.Not(this=exp.Is(this=value.copy(), expression=exp.null())), copy=False)
        counts = counts.group_by(key.copy(), value.copy(), copy=False)
        order: exp.Expr = value.copy()
        if self._write.dialect.name == "postgres":
            order = exp.Collate(this=order, expression=names.identifier("C"))
        over = exp.Order(
            expressions=[
                exp.Ordered(this=times.copy(), desc=True, nulls_first=False),
                exp.Ordered(this=order, nulls_first=False),
            ]
        )
        place = exp.Window(this=exp.RowNumber(), partition_by=[key.copy()], order=over)
        every = exp.Window(this=exp.Sum(this=times.copy()), partition_by=[key.copy()])
        share = exp.Div(this=exp.cast(times, "double"), expression=exp.cast(every, "double"))
        ranked = exp.select(key.copy(), value.copy(), names.named(share, "s"), names.named(place, "place"), copy=False)
        ranked = ranked.from_(counts.subquery("r", copy=False), copy=False)
        query = exp.select(key.copy(), value.copy(), names.column("r", "s"), copy=False)
        first = exp.EQ(this=names.column("r", "place"), expression=exp.Literal.number(1))
        return query.from_(ranked.subquery("r", copy=False), copy=False).where(first, copy=False)

    def _rows(self, route: Route, values: Sequence[exp.Expr]) -> exp.Select:
        """The rows at the end of a route, each with the key by which the target leads to it."""
        from sqlglot import exp

        first, *others = route
        start = self._write.place(first.table, "p0", first.column)
        key = self._write.key(start, self._write.place(self._target, "t", first.before))
        query = exp.select(names.named(key, "k"), *values, copy=False)
        query = query.from_(self._write.sources.facts(first.table, "p0"), copy=False)
        before = first.table
        for number, step in enumerate(others, start=1):
            one = self._write.place(before, f"p{number - 1}", step.before)
            on = self._write.equal(one, self._write.place(step.table, f"p{number}", step.column))
            query = query.join(self._write.sources.facts(step.table, f"p{number}"), on=on, copy=False)
            before = step.table
        return query

    def _where(self, route: Route, where: tuple[str, str]) -> exp.Condition:
        return has_text(self._place(route, where[0]), where[1], self._write.dialect)

    def _place(self, route: Route, column: str) -> ColumnPlace:
        return self._write.place(route[-1].table, f"p{len(route) - 1}", column)

    def _group(self, route: Route) -> Grouped:
        for group in self._groups:
            if isinstance(group, Grouped) and group.route == route and len(group.columns) < COLUMNS:
                return group
        self._groups.append(Grouped(route, self._name()))
        return self._groups[-1]  # type: ignore[return-value]

    def _name(self) -> str:
        return f"{self._prefix}path_{len(self._groups) + 1}"


def exp_count_distinct(value: exp.Expr) -> exp.Expr:
    from sqlglot import exp

    return exp.Count(this=exp.Distinct(expressions=[value]))


def _one_if(*conditions: exp.Expr) -> exp.Expr:
    from sqlglot import exp

    return exp.Case(ifs=[exp.If(this=exp.and_(*conditions, copy=False), true=exp.Literal.number(1))])


def _or_zero(value: exp.Expr) -> exp.Expr:
    """A count, which is NULL where no row leads to a row of the target."""
    from sqlglot import exp

    return exp.Coalesce(this=value, expressions=[exp.Literal.number(0)])
