"""The SQL of an ensemble: each joined table is aggregated once by its join columns, and the votes are added to a score.

A common table expression holds, for each key, which conditions some row of the table satisfies; a clause whose literals
close on each other (a variable shared beyond neighbours, or `A != B`) is an EXISTS of its own instead. Where rows have
times and each example its own cutoff, the conditions are held for each key and cutoff that examples ask for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hornboost.logic.clause import Clause, Head, Literal
from hornboost.sql import literals, names
from hornboost.sql.clause import covering
from hornboost.sql.conditions import Conditions
from hornboost.sql.outputs import NumberOutput, Outputs
from hornboost.sql.shapes import FeatureShape, GroupShape

if TYPE_CHECKING:
    from sqlglot import exp

TERMS = 200
"""Votes added in one expression: SQLite allows a depth of 1000."""

COLUMNS = 500
"""Conditions in one common table expression: PostgreSQL allows 1664 columns."""

ASKED = 20
"""Conditions by which rows are left out that ask for nothing: many would take longer than they save."""

FLAGS = 1500
"""Rules whose coverage is held in columns, so that several scores share it."""


@dataclass(eq=False)
class _Aggregate:
    """The common table expressions of a group (more than one when it has many conditions)
    and where each feature is in them; with `dated` they hold a row for each key and cutoff.
    """

    group: GroupShape
    names: list[str]
    dated: bool = False
    columns: dict[int, exp.Column] = field(default_factory=dict)


@dataclass(frozen=True)
class _Rows:
    """The rows known as "t" of a group, or the examples, as the part of a query after SELECT, and how it is written.

    Of a group whose conditions depend on cutoffs they stand beside the keys and cutoffs that are asked for, known as
    "d".
    """

    query: exp.Select
    write: Conditions


class Statement:
    """One SELECT that scores the rows of the target table.

    `features` gives for each rule the feature of `root` that it covers the rows of, or its clause if that must stand by
    itself.
    """

    def __init__(
        self,
        outputs: Outputs | NumberOutput,
        key: Sequence[str],
        root: GroupShape,
        features: Sequence[int | Clause],
        conditions: Conditions,
    ) -> None:
        self._outputs = outputs
        self._key = key
        self._root = root
        self._features = features
        self._write = conditions
        self._ctes = [*conditions.sources.in_both_directions(), *conditions.sources.with_counts()]

    def text(self, *, probability: bool) -> str:
        """The statement in its dialect."""
        from sqlglot import exp

        outputs, prefix = self._outputs, self._outputs.prefix
        target = self._examples()
        below = self._aggregates(self._root, _Rows(exp.Select().from_(target.copy(), copy=False), self._write))
        covered = list(self._covered(below))
        aggregates = self._write.aggregates
        self._ctes += [] if aggregates is None else aggregates.ctes(target)
        if len(outputs.model.intercept) > 1 and len(covered) <= FLAGS and self._key:
            flags = [names.named(condition, f"{prefix}r{number}") for number, condition in enumerate(covered, start=1)]
            rows = exp.select(*self._keys("t"), *flags, copy=False).from_(target, copy=False)
            rows = self._with_joins(rows, self._root, below, self._write)
            self._ctes.append((prefix + "covered", rows if aggregates is None else aggregates.joined(rows)))
            aggregates = None
            covered = [names.column("t", flag.alias) for flag in flags]
            target, below = names.table(prefix + "covered", "t"), []
        scores = outputs.scores([self._sum(k, covered) for k in range(len(outputs.model.intercept))])
        root = exp.select(*self._keys("t"), *scores, copy=False).from_(target, copy=False)
        root = self._with_joins(root, self._root, below, self._write)
        self._ctes.append((prefix + "scored", root if aggregates is None else aggregates.joined(root)))
        query = exp.select(*outputs.columns(self._key, probability=probability), copy=False)
        query = query.from_(names.table(prefix + "scored"), copy=False)
        once = {counted.name for counted in self._write.sources.counted.values()}
        for name, cte in self._ctes:
            query = query.with_(
                names.identifier(name), as_=cte, materialized=True if name in once else None, copy=False
            )
        return self._write.dialect.text(names.without_doubt(query, prefix), pretty=True)

    def _examples(self) -> exp.Table:
        """The table of the examples, in which their cutoffs are written once if they have a key to be called by."""
        from sqlglot import exp

        table, cutoff = self._root.table, self._write.cutoff
        target = self._write.sources.examples(table, "t")
        if not isinstance(cutoff, exp.Column):
            return target
        columns = [names.every_column("t"), names.named(self._write.cutoff_of(table, "t"), cutoff.name)]
        name = self._outputs.prefix + "examples"
        self._ctes.append((name, exp.select(*columns, copy=False).from_(target, copy=False)))
        return names.table(name, "t")

    def _keys(self, alias: str) -> list[exp.Expr]:
        return [names.column(alias, name) for name in self._key] or [names.every_column(alias)]

    def _covered(self, below: Sequence[_Aggregate]) -> Iterator[exp.Condition]:
        """When each rule covers the row of the target table known as "t"."""
        for feature in self._features:
            if isinstance(feature, Clause):
                yield covering(feature, "t", self._write)
            else:
                yield self._condition(self._root, self._root.features[feature], below, self._write)

    def _sum(self, k: int, covered: Sequence[exp.Condition]) -> exp.Expr:
        """The intercept and the votes for one score, added from left to right as Python does."""
        from sqlglot import exp

        model = self._outputs.model
        blocks: list[exp.Expr] = []
        total: exp.Expr = exp.cast(literals.number(model.intercept[k]), "double")
        terms = 0
        for rule, condition in zip(model.rules, covered, strict=True):
            vote, otherwise = rule.votes[k], rule.otherwise[k] if rule.otherwise else 0.0
            if vote == 0.0 == otherwise:
                continue
            if terms == TERMS:
                blocks, total, terms = (
                    [*blocks, exp.paren(total, copy=False)],
                    exp.cast(literals.number(0.0), "double"),
                    0,
                )
            case = exp.Case(
                ifs=[exp.If(this=condition.copy(), true=literals.number(vote))], default=literals.number(otherwise)
            )
            total, terms = exp.Add(this=total, expression=case), terms + 1
        for block in reversed(blocks):
            total = exp.Add(this=block, expression=exp.paren(total, copy=False))
        return total

    def _condition(
        self, group: GroupShape, feature: FeatureShape, below: Sequence[_Aggregate], write: Conditions
    ) -> exp.Condition:
        """What a row known as "t" must satisfy."""
        from sqlglot import exp

        own = covering(_row_clause(group.table, feature), "t", write)
        parts = [] if own == exp.true() else [own]
        parts += [below[at].columns[place].copy() for at, place in feature.needs]
        return exp.and_(*parts, copy=False) if parts else exp.true()

    def _aggregates(self, group: GroupShape, rows: _Rows) -> list[_Aggregate]:
        return [self._aggregate(below, group, rows) for below in group.groups]

    def _aggregate(self, group: GroupShape, above: GroupShape, asking: _Rows) -> _Aggregate:
        """Add the common table expressions of a group, those that it needs itself first.

        `asking` are the rows of the group above it.
        """
        dated = self._write.is_cutoff_of_examples and self._asks_for_cutoffs(group)
        rows, keys = self._dated_rows(group, above, asking) if dated else self._rows(group, above.table)
        below = self._aggregates(group, rows)
        result = _Aggregate(group, [], dated)
        for start in range(0, len(group.features), COLUMNS):
            name = f"{self._outputs.prefix}{len(self._ctes) + 1}"
            columns: list[exp.Expr] = [
                names.named(key.copy(), f"k{number}") for number, key in enumerate(keys, start=1)
            ]
            for number, feature in enumerate(group.features[start : start + COLUMNS], start=1):
                found = self._write.some(self._condition(group, feature, below, rows.write))
                columns.append(names.named(found, f"c{number}"))
                result.columns[start + number - 1] = names.column(name, f"c{number}")
            query = self._with_joins(rows.query.select(*columns), group, below, rows.write)
            self._ctes.append((name, query.group_by(*(key.copy() for key in keys), copy=False)))
            result.names.append(name)
        return result

    def _asks_for_cutoffs(self, group: GroupShape) -> bool:
        """Whether what is known of the rows of a group, or of those below it, depends on the cutoff."""
        return group.table in self._write.times or any(map(self._asks_for_cutoffs, group.groups))

    def _rows(self, group: GroupShape, above: str) -> tuple[_Rows, list[exp.Expr]]:
        """All rows of a group that count, and the keys that they are grouped by."""
        from sqlglot import exp

        place = self._write.place
        keys = [self._write.key(place(group.table, "t", own), place(above, "t", outer)) for own, outer in group.links]
        query = exp.Select().from_(self._write.sources.facts(group.table, "t"), copy=False)
        counting = self._write.counts(group.table, "t")
        return _Rows(query.where(*counting, copy=False) if counting else query, self._write), keys

    def _dated_rows(self, group: GroupShape, above: GroupShape, asking: _Rows) -> tuple[_Rows, list[exp.Expr]]:
        """The rows of a group that count at some cutoff, beside the keys and cutoffs that the rows above ask for."""
        from sqlglot import exp

        place = self._write.place
        pairs = [(place(group.table, "t", own), place(above.table, "t", theirs)) for own, theirs in group.links]
        assert asking.write.cutoff is not None
        outer = [self._write.key(theirs, own) for own, theirs in pairs]
        asked = [names.named(key, f"k{number}") for number, key in enumerate(outer, start=1)]
        asked.append(names.named(asking.write.cutoff.copy(), "cutoff"))
        wanted = self._asked_for(above, group, asking.write)
        name = self._asked(asking.query.select(*asked).where(*wanted, copy=False).distinct(copy=False))
        cutoff = names.column("d", "cutoff")
        write = replace(self._write, cutoff=cutoff)
        keys = [names.column("d", key.alias) for key in asked[:-1]]
        own = [self._write.key(own, theirs) for own, theirs in pairs]
        on = [exp.EQ(this=key.copy(), expression=mine) for key, mine in zip(keys, own, strict=True)]
        query = exp.Select().from_(names.table(name, "d"), copy=False)
        query = query.join(
            self._write.sources.facts(group.table, "t"),
            on=exp.and_(*on, *write.counts(group.table, "t"), copy=False),
            copy=False,
        )
        return _Rows(query, write), [*keys, cutoff]

    def _asked_for(self, above: GroupShape, group: GroupShape, write: Conditions) -> list[exp.Condition]:
        """What a row above must satisfy, its aggregates apart, for some clause to look at the rows of a group."""
        from sqlglot import exp

        place = next(number for number, below in enumerate(above.groups) if below is group)
        found: dict[str, exp.Condition] = {}
        for feature in above.features:
            if any(number == place for number, _ in feature.needs):
                condition = covering(_row_clause(above.table, feature, plain=True), "t", write)
                found[condition.sql()] = condition
        if len(found) > ASKED or exp.true() in found.values():
            return []
        return [exp.or_(*found.values(), copy=False)]

    def _asked(self, query: exp.Select) -> str:
        """The name of a common table expression, that of an equal one if there is one."""
        known = next((name for name, cte in self._ctes if cte == query), None)
        if known is not None:
            return known
        name = f"{self._outputs.prefix}asked_{len(self._ctes) + 1}"
        self._ctes.append((name, query))
        return name

    def _with_joins(
        self, query: exp.Select, group: GroupShape, below: Sequence[_Aggregate], write: Conditions
    ) -> exp.Select:
        """The query on the rows of a group, with the aggregates of the groups below at its side."""
        from sqlglot import exp

        place = write.place
        for aggregate in below:
            table, links = aggregate.group.table, aggregate.group.links
            outer = [write.key(place(group.table, "t", theirs), place(table, "t", own)) for own, theirs in links]
            if aggregate.dated:
                assert write.cutoff is not None
                outer.append(write.cutoff)
            for name in aggregate.names:
                on = [
                    exp.EQ(this=names.column(name, f"k{number}"), expression=key.copy())
                    for number, key in enumerate(outer, start=1)
                ]
                query = query.join(names.table(name), on=exp.and_(*on, copy=False), join_type="left", copy=False)
        return query


def _row_clause(table: str, feature: FeatureShape, *, plain: bool = False) -> Clause:
    """What a feature asks of the row alone, as a clause with one literal; with `plain` of its columns alone."""
    variables: dict[str, str] = {}
    for one, other in (*feature.same, *feature.differ):
        variables.setdefault(one, f"V{len(variables)}")
        variables.setdefault(other, f"V{len(variables)}")
    for one, other in feature.same:
        variables[other] = variables[one]
    unequal = tuple((variables[one], variables[other]) for one, other in feature.differ)
    tests = tuple(test for test in feature.tests if isinstance(test.column, str) or not plain)
    return Clause(Head("", ""), (Literal(table, tuple(variables.items()), tests),), unequal)
