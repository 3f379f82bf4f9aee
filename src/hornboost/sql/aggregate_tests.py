"""Tests on aggregates: the rows that lead to a row of the target are grouped by their key, once for each path.

Every function is written so that each database computes the very value that Python does, or refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hornboost.errors import ClauseError
from hornboost.logic.aggregate import LAST, Aggregate, Route
from hornboost.logic.clause import Test
from hornboost.logic.text import print_path
from hornboost.sql import names, sums
from hornboost.sql.columns import ColumnPlace
from hornboost.sql.literals import double, number, text
from hornboost.sql.moments import compare_moment, is_missing_moment
from hornboost.sql.nominals import distinct_value, has_text, text_value
from hornboost.sql.numbers import as_double, is_missing_number, is_never_nan

if TYPE_CHECKING:
    from sqlglot import exp

    from hornboost.sql.conditions import Conditions

CUTOFF = "cutoff"
"""What the cutoff of an example is called."""

COLUMNS = 500
"""Columns in one common table expression: PostgreSQL allows 1664."""


@dataclass(eq=False)
class Grouped:
    """The rows at the end of a route, grouped by the key that leads to them.

    `rows` are values of each row and `columns` those of a group, by their text, with what they are called; `latest` are
    the names of times among `rows`, with what the latest one of the group is called.
    """

    route: Route
    name: str
    rows: dict[str, tuple[exp.Expr, str]] = field(default_factory=dict)
    columns: dict[str, tuple[exp.Expr, str]] = field(default_factory=dict)
    latest: dict[str, str] = field(default_factory=dict)

    def row(self, value: exp.Expr) -> exp.Column:
        """A value of each row, for use in a value of the group."""
        return names.column("r", self.rows.setdefault(value.sql(), (value, f"x{len(self.rows) + 1}"))[1])

    def is_latest(self, time: exp.Expr) -> exp.Condition:
        """Whether a row is one of the latest of its group by this time, which is NULL in rows that do not count."""
        from sqlglot import exp

        own = self.row(time)
        name = self.latest.setdefault(own.name, f"m{len(self.latest) + 1}")
        return exp.EQ(this=own, expression=names.column("r", name))

    def column(self, value: exp.Expr) -> exp.Column:
        """A value of the group."""
        found = self.columns.setdefault(value.sql(), (value, f"a{len(self.columns) + 1}"))
        return names.column(self.name, found[1])


@dataclass(eq=False)
class GroupedValues:
    """The values of a nominal column at the end of a route: the most frequent one of each group, and its share.

    `within` is how old rows are at most.
    """

    route: Route
    name: str
    column: str
    within: Test | None


class AggregateTests:
    """Writes the tests of one statement, and the common table expressions that they look at.

    `routes` are the joins of each path by its text. Where examples have cutoffs of their own, rows with times are
    looked at for each key together with each cutoff that some example with it has, and grouped by both.
    """

    def __init__(self, write: Conditions, target: str, routes: Mapping[str, Route], prefix: str) -> None:
        self._write = write
        self._target = target
        self._routes = routes
        self._prefix = prefix
        self._groups: list[Grouped | GroupedValues] = []
        self._of_rows_write = write
        if write.is_cutoff_of_examples:
            self._of_rows_write = replace(write, cutoff=names.column("d", CUTOFF))

    def condition(self, test: Test) -> exp.Condition:
        """Whether the row of the target known as "t" passes a test, once `joined` has been applied."""
        aggregate = test.column
        assert isinstance(aggregate, Aggregate)
        route = self._routes[print_path(aggregate.path)]
        if aggregate.function in ("mode", "mode_share"):
            return self._of_values(test, aggregate, route)
        group = self._group(route)
        where = self._where(route, aggregate)
        if aggregate.column is None:
            return self._of_rows(test, aggregate, group, where)
        if self._is_age(route, aggregate.column):
            return self._of_ages(test, aggregate, group, where)
        place = self._place(route, aggregate.column)
        if aggregate.function == "distinct":
            value = distinct_value(place, self._write.dialect)
            counted = exp_count_distinct(group.row(_if(where, value)))
            return self._compared(test, _or_zero(group.column(counted)))
        if aggregate.function == LAST and place.type.kind == "nominal":
            return self._of_last_text(test, group, place, where)
        if place.type.kind == "date":
            return self._of_moments(test, aggregate.function, group, place, where)
        return self._of_numbers(test, aggregate.function, group, place, where)

    def _of_rows(self, test: Test, aggregate: Aggregate, group: Grouped, where: list[exp.Expr]) -> exp.Condition:
        from sqlglot import exp

        some = self._counted(group, where)
        if aggregate.function == "count":
            return self._compared(test, _or_zero(group.column(some)))
        among = [] if aggregate.where is None else self._where(group.route, replace(aggregate, where=None))
        every = self._counted(group, among)
        whole: exp.Expr = exp.cast(every, "double")
        if among:  # of which there may be none beside others
            whole = exp.Nullif(this=whole, expression=number(0.0))
        share = exp.Div(this=exp.cast(some, "double"), expression=whole)
        return self._compared(test, group.column(share))

    def _counted(self, group: Grouped, conditions: Sequence[exp.Expr]) -> exp.Expr:
        """The number of rows that satisfy some conditions."""
        from sqlglot import exp

        return exp.Count(this=group.row(_if(conditions, exp.Literal.number(1))) if conditions else exp.Star())

    def _of_numbers(
        self, test: Test, function: str, group: Grouped, place: ColumnPlace, where: list[exp.Expr]
    ) -> exp.Condition:
        from sqlglot import exp

        dialect = self._write.dialect
        value = as_double(place, dialect)
        whole = place.type.stored == "integer"
        if function in ("min", "max", LAST):
            present = []
            if not is_never_nan(place, dialect):
                present.append(exp.Not(this=exp.paren(is_missing_number(place, dialect))))
            shown: exp.Expr = group.row(_if([*where, *present], value))
            if function == LAST:
                not_null = exp.Not(this=exp.Is(this=value.copy(), expression=exp.null()))
                shown = _if([self._is_latest(group, [*where, *present, not_null])], shown)
            call = exp.Min(this=shown) if function == "min" else exp.Max(this=shown)
            return self._compared(test, group.column(call))
        row = group.row(sums.counted(value, exp.and_(*where, copy=False) if where else None, squared=function == "std"))
        written = {"sum": sums.total, "mean": sums.mean, "std": sums.variance}[function]
        found = group.column(written(row, dialect, whole=whole))
        return self._compared(test, found, squared=function == "std")

    def _of_moments(
        self, test: Test, function: str, group: Grouped, place: ColumnPlace, where: list[exp.Expr]
    ) -> exp.Condition:
        """The first and the last moment by counts of those before and after a threshold.

        So that moments are compared as everywhere.
        """
        from sqlglot import exp

        dialect = self._write.dialect
        present = [*where, exp.Not(this=exp.paren(is_missing_moment(place, dialect)))]
        among = [self._is_latest(group, present)] if function == LAST else []
        passing: exp.Expr | None = None
        if test.op in (">=", "<="):
            passing = compare_moment(place, test.op, str(test.value), dialect)
        return self._by_counts(test, "min" if function == "min" else "max", group, present, passing, among)

    def _of_ages(self, test: Test, aggregate: Aggregate, group: Grouped, where: list[exp.Expr]) -> exp.Condition:
        """The smallest and the largest age in the same way."""
        passing: exp.Expr | None = None
        if test.op in (">=", "<="):
            passing = self._row_test(group.route, replace(test, column=str(aggregate.column)))
        return self._by_counts(test, aggregate.function, group, where, passing, [])

    def _by_counts(
        self,
        test: Test,
        function: str,
        group: Grouped,
        present: list[exp.Expr],
        passing: exp.Expr | None,
        among: list[exp.Condition],
    ) -> exp.Condition:
        """A test of the smallest or largest value by how many rows have one, and in how many of them it passes.

        Of `among`, which are conditions on values of rows in a group, both are counted.
        """
        from sqlglot import exp

        def counted(conditions: list[exp.Expr]) -> exp.Expr:
            if not among:
                return _or_zero(group.column(self._counted(group, conditions)))
            one = group.row(_if(conditions, exp.Literal.number(1)))
            return _or_zero(group.column(exp.Count(this=_if(among, one))))

        every = counted(present)
        if test.op == "missing":
            return exp.EQ(this=every, expression=exp.Literal.number(0))
        if passing is None:
            raise ClauseError(f"'{test}': a date or an age is compared with >= or <=; use these")
        some = counted([*present, passing])
        found = exp.GT(this=some, expression=exp.Literal.number(0))
        if (function == "max") == (test.op == ">="):
            return found
        return exp.and_(found, exp.EQ(this=some.copy(), expression=every), copy=False)

    def _of_last_text(self, test: Test, group: Grouped, place: ColumnPlace, where: list[exp.Expr]) -> exp.Condition:
        """The last text, of several the largest in the order of their bytes."""
        from sqlglot import exp

        value = text_value(place, self._write.dialect)
        present = exp.Not(this=exp.Is(this=value.copy(), expression=exp.null()))
        shown = _if([self._is_latest(group, [*where, present])], group.row(value))
        found = group.column(exp.Max(this=self._by_bytes(shown)))
        if test.op == "missing":
            return exp.Is(this=found, expression=exp.null())
        return exp.EQ(this=found, expression=text(str(test.value)))

    def _is_latest(self, group: Grouped, conditions: list[exp.Expr]) -> exp.Condition:
        """Whether a row is one of the latest that satisfy some conditions."""
        table = group.route[-1].table
        time = self._of_rows_write.time_of(table, f"p{len(group.route) - 1}")
        return group.is_latest(_if([condition.copy() for condition in conditions], time))

    def _by_bytes(self, value: exp.Expr) -> exp.Expr:
        """A text that is compared byte by byte."""
        from sqlglot import exp

        if self._write.dialect.name != "postgres":
            return value
        return exp.Collate(this=value, expression=names.identifier("C"))

    def _of_values(self, test: Test, aggregate: Aggregate, route: Route) -> exp.Condition:
        from sqlglot import exp

        place = self._place(route, str(aggregate.column))
        within = None if aggregate.within is None else Test(aggregate.within[0], "<=", aggregate.within[1])
        found = next(
            (
                group
                for group in self._groups
                if isinstance(group, GroupedValues)
                and (group.route, group.column, group.within) == (route, place.name, within)
            ),
            None,
        )
        if found is None:
            text_value(place, self._write.dialect)  # which may be refused
            found = GroupedValues(route, self._name(), place.name, within)
            self._groups.append(found)
        if aggregate.function == "mode_share":
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

    def ctes(self, examples: exp.Table) -> list[tuple[str, exp.Query]]:
        """The common table expressions that the tests written so far look at; the table of examples is known as "t"."""
        return [
            (
                group.name,
                self._of_group(group, examples) if isinstance(group, Grouped) else self._of_frequent(group, examples),
            )
            for group in self._groups
        ]

    def joined(self, query: exp.Select) -> exp.Select:
        """The query over rows of the target known as "t", with their aggregates at its side."""
        from sqlglot import exp

        for group in self._groups:
            on: list[exp.Expr] = [exp.EQ(this=names.column(group.name, "k"), expression=self._outer_key(group.route))]
            if self._is_by_cutoff(group.route):
                assert self._write.cutoff is not None
                on.append(exp.EQ(this=names.column(group.name, CUTOFF), expression=self._write.cutoff.copy()))
            query = query.join(names.table(group.name), on=exp.and_(*on, copy=False), join_type="left", copy=False)
        return query

    def _outer_key(self, route: Route) -> exp.Expr:
        """The key of the row of the target known as "t" that leads to the rows of a route."""
        here = self._write.place(self._target, "t", route[0].before)
        return self._write.key(here, self._write.place(route[0].table, "p0", route[0].column))

    def _is_by_cutoff(self, route: Route) -> bool:
        """Whether what examples see along a route depends on their own cutoffs."""
        return self._write.is_cutoff_of_examples and any(step.table in self._write.times for step in route)

    def _by(self, route: Route) -> list[exp.Column]:
        """What the rows of a route, known as "r", are grouped by."""
        return [names.column("r", name) for name in (["k", CUTOFF] if self._is_by_cutoff(route) else ["k"])]

    def _of_group(self, group: Grouped, examples: exp.Table) -> exp.Select:
        from sqlglot import exp

        by = self._by(group.route)
        rows = self._rows(group.route, [names.named(value, name) for value, name in group.rows.values()], examples)
        if group.latest:
            ends = []
            for time, name in group.latest.items():
                end = exp.Window(this=exp.Max(this=names.column("r", time)), partition_by=[k.copy() for k in by])
                ends.append(names.named(end, name))
            every = [names.column("r", name) for _, name in group.rows.values()]
            rows = exp.select(*(k.copy() for k in by), *every, *ends, copy=False).from_(
                rows.subquery("r", copy=False), copy=False
            )
        columns = [names.named(value, name) for value, name in group.columns.values()]
        query = exp.select(*by, *columns, copy=False).from_(rows.subquery("r", copy=False), copy=False)
        return query.group_by(*(k.copy() for k in by), copy=False)

    def _of_frequent(self, group: GroupedValues, examples: exp.Table) -> exp.Select:
        """Of equally frequent values the first, in the order of their bytes."""
        from sqlglot import exp

        shown = text_value(self._place(group.route, group.column), self._write.dialect)
        by, value, times = self._by(group.route), names.column("r", "v"), names.column("r", "n")
        rows = self._rows(group.route, [names.named(shown, "v")], examples)
        if group.within is not None:
            rows = rows.where(self._row_test(group.route, group.within), copy=False)
        counts = exp.select(*by, value, names.named(exp.Count(this=exp.Star()), "n"), copy=False)
        counts = counts.from_(rows.subquery("r", copy=False), copy=False)
        counts = counts.where(exp.Not(this=exp.Is(this=value.copy(), expression=exp.null())), copy=False)
        counts = counts.group_by(*(k.copy() for k in by), value.copy(), copy=False)
        over = exp.Order(
            expressions=[
                exp.Ordered(this=times.copy(), desc=True, nulls_first=False),
                exp.Ordered(this=self._by_bytes(value.copy()), nulls_first=False),
            ]
        )
        place = exp.Window(this=exp.RowNumber(), partition_by=[k.copy() for k in by], order=over)
        every = exp.Window(this=exp.Sum(this=times.copy()), partition_by=[k.copy() for k in by])
        share = exp.Div(this=exp.cast(times, "double"), expression=exp.cast(every, "double"))
        ranked = exp.select(*(k.copy() for k in by), value.copy(), copy=False)
        ranked = ranked.select(names.named(share, "s"), names.named(place, "place"), copy=False)
        ranked = ranked.from_(counts.subquery("r", copy=False), copy=False)
        query = exp.select(*(k.copy() for k in by), value.copy(), names.column("r", "s"), copy=False)
        first = exp.EQ(this=names.column("r", "place"), expression=exp.Literal.number(1))
        return query.from_(ranked.subquery("r", copy=False), copy=False).where(first, copy=False)

    def _rows(self, route: Route, values: Sequence[exp.Expr], examples: exp.Table) -> exp.Select:
        """The rows at the end of a route that count, each with the key by which the target leads to it, and the cutoff.

        The keys and cutoffs that examples have are known as "d".
        """
        from sqlglot import exp

        write, first = self._of_rows_write, route[0]
        start = write.place(first.table, "p0", first.column)
        key = write.key(start, write.place(self._target, "t", first.before))
        source = write.sources.facts(first.table, "p0")
        if self._is_by_cutoff(route):
            assert self._write.cutoff is not None
            asked = [names.named(self._outer_key(route), "k"), names.named(self._write.cutoff.copy(), CUTOFF)]
            pairs = exp.select(*asked, copy=False).from_(examples.copy(), copy=False).distinct(copy=False)
            query = exp.select(names.column("d", "k"), names.column("d", CUTOFF), *values, copy=False)
            query = query.from_(pairs.subquery("d", copy=False), copy=False)
            on = [exp.EQ(this=names.column("d", "k"), expression=key), *write.counts(first.table, "p0")]
            query = query.join(source, on=exp.and_(*on, copy=False), copy=False)
        else:
            query = exp.select(names.named(key, "k"), *values, copy=False).from_(source, copy=False)
            query = query.where(*write.counts(first.table, "p0"), copy=False)
        before = first.table
        for position, step in enumerate(route[1:], start=1):
            one = write.place(before, f"p{position - 1}", step.before)
            same = write.equal(one, write.place(step.table, f"p{position}", step.column))
            fits = exp.and_(same, *write.counts(step.table, f"p{position}"), copy=False)
            query = query.join(write.sources.facts(step.table, f"p{position}"), on=fits, copy=False)
            before = step.table
        return query

    def _where(self, route: Route, aggregate: Aggregate) -> list[exp.Expr]:
        """What rows satisfy that an aggregate looks at."""
        found: list[exp.Expr] = []
        if aggregate.where is not None:
            column, value = aggregate.where
            found.append(has_text(self._place(route, column), value, self._write.dialect))
        if aggregate.within is not None:
            found.append(self._row_test(route, Test(aggregate.within[0], "<=", aggregate.within[1])))
        return found

    def _row_test(self, route: Route, test: Test) -> exp.Condition:
        """Whether a row at the end of a route passes a test."""
        return self._of_rows_write.condition(route[-1].table, f"p{len(route) - 1}", test)

    def _is_age(self, route: Route, column: str) -> bool:
        times = self._write.times.get(route[-1].table)
        return times is not None and times.time is not None and column == times.age

    def _place(self, route: Route, column: str) -> ColumnPlace:
        return self._of_rows_write.place(route[-1].table, f"p{len(route) - 1}", column)

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


def _if(conditions: Sequence[exp.Expr], value: exp.Expr) -> exp.Expr:
    """The value where conditions hold, and NULL elsewhere."""
    from sqlglot import exp

    return exp.Case(ifs=[exp.If(this=exp.and_(*conditions, copy=False), true=value)]) if conditions else value


def _or_zero(value: exp.Expr) -> exp.Expr:
    """A count, which is NULL where no row leads to a row of the target."""
    from sqlglot import exp

    return exp.Coalesce(this=value, expressions=[exp.Literal.number(0)])
