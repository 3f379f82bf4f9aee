"""A model as one SQL statement: each joined table is aggregated once by its join columns, and the votes are added to a score.

A common table expression holds, for each key, which conditions some row of the table satisfies; a clause whose literals close on
each other (a variable shared beyond neighbours, or `A != B`) is an EXISTS of its own instead.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from hornboost.data.build import Target
from hornboost.errors import ModelError, did_you_mean
from hornboost.logic.clause import Clause, Head, Literal
from hornboost.logic.sql import coverage_condition
from hornboost.logic.text import print_number
from hornboost.model.ensemble import Ensemble
from hornboost.model.outputs import output_names
from hornboost.model.plan import Feature, Group, Plan

if TYPE_CHECKING:
    from sqlglot import exp

DIALECTS = ("duckdb", "sqlite", "postgres", "spark", "bigquery")
TERMS = 200
"""Votes added in one expression: SQLite allows a depth of 1000."""

COLUMNS = 500
"""Conditions in one common table expression: PostgreSQL allows 1664 columns."""

FLAGS = 1500
"""Rules whose coverage is held in columns, so that several scores share it."""


def ensemble_to_sql(
    ensemble: Ensemble, target: Target, dialect: str = "duckdb", *, probability: bool = True, columns: Iterable[str] = ()
) -> str:
    """One SELECT over the target table: its keys (all columns when it has none), score, probability, prediction.

    With two classes the score and the probability are those of the target's positive class, and their columns are named after it; with
    more there is a score and a probability for each class. `columns` are those of the target table, whose names are taken when it has no
    key. SQLite needs its mathematical functions for probabilities; leave them out where they are not compiled in.

    >>> from hornboost.model.ensemble import Rule
    >>> rule = Rule(Clause.parse('y="1" :- a(id=K), b(a=K, kind="x").'), (1.5,))
    >>> print(ensemble_to_sql(Ensemble(("0", "1"), (rule,), (-0.5,)), Target("a", ("id",)), probability=False))
    WITH "hb_1" AS (
      SELECT
        "t"."a" AS "k1",
        BOOL_OR(CAST("t"."kind" AS TEXT) = 'x') AS "c1"
      FROM "b" AS "t"
      GROUP BY
        "t"."a"
    ), "hb_scored" AS (
      SELECT
        "t"."id",
        CAST(-0.5e0 AS DOUBLE) + CASE WHEN "hb_1"."c1" THEN 1.5e0 ELSE 0 END AS "score_of_1"
      FROM "a" AS "t"
      LEFT JOIN "hb_1"
        ON "hb_1"."k1" = "t"."id"
    )
    SELECT
      "id",
      "score_of_1",
      CASE WHEN "score_of_1" > 0 THEN '1' ELSE '0' END AS "prediction"
    FROM "hb_scored"
    """
    if dialect not in DIALECTS:
        raise ModelError(f"there is no SQL dialect '{dialect}'{did_you_mean(dialect, DIALECTS)}")
    return _Statement(ensemble, target, dialect, probability, columns).text()


def renamed(ensemble: Ensemble, target: Target, table: str | None, key: str | Sequence[str] | None) -> tuple[Ensemble, Target]:
    """The same model with the target table called `table` and its rows identified by `key`; None leaves either as it is."""
    if key is not None:
        target = replace(target, key=(key,) if isinstance(key, str) else tuple(key))
    if table is None or table == target.table:
        return ensemble, target

    def rename(literal: Literal) -> Literal:
        return replace(literal, table=table) if literal.table == target.table else literal

    rules = [replace(rule, clause=replace(rule.clause, body=tuple(map(rename, rule.clause.body)))) for rule in ensemble.rules]
    return replace(ensemble, rules=tuple(rules)), replace(target, table=table)


@dataclass(eq=False)
class _Aggregate:
    """The common table expressions of a group (more than one when it has many conditions) and where each feature is in them."""

    group: Group
    names: list[str]
    columns: dict[int, exp.Column] = field(default_factory=dict)


class _Statement:
    def __init__(self, ensemble: Ensemble, target: Target, dialect: str, probability: bool, columns: Iterable[str]) -> None:
        self._ensemble = ensemble
        self._target = target
        self._dialect = dialect
        self._probability = probability
        clauses = [rule.clause.rooted(target.table) for rule in ensemble.rules]
        self._joined = [_is_aggregable(Plan.of([clause], target.table).root) for clause in clauses]
        self._clauses = clauses
        self._plan = Plan.of([clause for clause, joined in zip(clauses, self._joined, strict=True) if joined], target.table)
        taken = tuple(target.key or columns)
        self._prefix = _free_prefix([*(literal.table for clause in clauses for literal in clause.body), *(() if target.key else taken)])
        self._ctes: list[tuple[str, exp.Query]] = []
        self._about = ensemble.about(target.positive)
        self._names = output_names(ensemble.classes, self._about, taken, self._prefix)

    def text(self) -> str:
        from sqlglot import exp

        scored = self._prefix + "scored"
        below = self._aggregates(self._plan.root)
        conditions = self._conditions(below)
        target = _table(self._target.table, "t")
        if len(self._ensemble.intercept) > 1 and len(conditions) <= FLAGS and self._target.key:
            covered = self._prefix + "covered"
            flags = [exp.alias_(cond, f"{self._prefix}r{number}", quoted=True) for number, cond in enumerate(conditions, start=1)]
            rows = exp.select(*self._keys("t"), *flags, copy=False).from_(target, copy=False)
            self._ctes.append((covered, self._with_joins(rows, below)))
            conditions = [_column("t", flag.alias) for flag in flags]
            target, below = _table(covered, "t"), []
        root = exp.select(*self._keys("t"), *self._scores(conditions), copy=False).from_(target, copy=False)
        root = self._with_joins(root, below)
        query = exp.select(*self._outputs(), copy=False).from_(_table(scored), copy=False)
        for name, cte in [*self._ctes, (scored, root)]:
            query = query.with_(exp.to_identifier(name, quoted=True), as_=cte, copy=False)
        return query.sql(dialect=self._dialect, pretty=True, max_text_width=140)

    def _keys(self, alias: str) -> list[exp.Expr]:
        from sqlglot import exp

        if not self._target.key:
            return [exp.Column(this=exp.Star(), table=exp.to_identifier(alias, quoted=True))]
        return [_column(alias, name) for name in self._target.key]

    def _conditions(self, below: Sequence[_Aggregate]) -> list[exp.Condition]:
        """When each rule covers the row of the target table known as "t"."""
        features = iter(self._plan.of_clause)
        conditions = []
        for clause, joined in zip(self._clauses, self._joined, strict=True):
            if joined:
                conditions.append(self._condition(self._plan.root, self._plan.root.features[next(features)], below))
            else:
                conditions.append(coverage_condition(clause, "t", self._dialect))
        return conditions

    def _scores(self, conditions: Sequence[exp.Condition]) -> list[exp.Expr]:
        """The columns of scores. With two classes it is one, unless each of two scores has a calibration of its own."""
        from sqlglot import exp

        sums = [self._sum(k, conditions) for k in range(len(self._ensemble.intercept))]
        if self._is_one_score and len(sums) == 2:
            sums = [_difference([exp.paren(one, copy=False) for one in sums], self._about)]
        elif self._is_one_score and self._sign < 0:
            sums = [exp.Neg(this=exp.paren(sums[0], copy=False))]
        return [exp.alias_(one, name, quoted=True, copy=False) for one, name in zip(sums, self._score_columns, strict=True)]

    @property
    def _is_one_score(self) -> bool:
        scores = len(self._ensemble.intercept)
        return scores == 1 or (scores == 2 and self._ensemble.link == "softmax")

    @property
    def _sign(self) -> int:
        """Whether the single score of two classes speaks for the class that the outputs speak of, or against it."""
        return -1 if len(self._ensemble.classes) == 2 and self._about == 0 else 1

    @property
    def _score_columns(self) -> tuple[str, ...]:
        if len(self._ensemble.intercept) == 2 and not self._is_one_score:
            return self._prefix + "s1", self._prefix + "s2"
        return self._names.scores

    def _sum(self, k: int, conditions: Sequence[exp.Condition]) -> exp.Expr:
        """The intercept and the votes for one score, added from left to right as Python does."""
        from sqlglot import exp

        blocks: list[exp.Expr] = []
        total: exp.Expr = exp.cast(_number(self._ensemble.intercept[k]), "double")
        terms = 0
        for rule, condition in zip(self._ensemble.rules, conditions, strict=True):
            vote, otherwise = rule.votes[k], rule.otherwise[k] if rule.otherwise else 0.0
            if vote == 0.0 == otherwise:
                continue
            if terms == TERMS:
                blocks, total, terms = [*blocks, exp.paren(total, copy=False)], exp.cast(_number(0.0), "double"), 0
            case = exp.Case(ifs=[exp.If(this=condition.copy(), true=_number(vote))], default=_number(otherwise))
            total, terms = exp.Add(this=total, expression=case), terms + 1
        for block in reversed(blocks):
            total = exp.Add(this=block, expression=exp.paren(total, copy=False))
        return total

    def _condition(self, group: Group, feature: Feature, below: Sequence[_Aggregate]) -> exp.Condition:
        """What a row known as "t" must satisfy."""
        from sqlglot import exp

        own = _row_condition(group.table, feature, self._dialect)
        parts = [] if isinstance(own, exp.Boolean) else [own]
        parts += [below[at].columns[number].copy() for at, number in feature.needs]
        return exp.and_(*parts, copy=False) if parts else exp.true()

    def _aggregates(self, group: Group) -> list[_Aggregate]:
        return [self._aggregate(below) for below in group.groups]

    def _aggregate(self, group: Group) -> _Aggregate:
        """Add the common table expressions of a group, those that it needs itself first."""
        from sqlglot import exp

        below = self._aggregates(group)
        result = _Aggregate(group, [])
        keys = [_column("t", column) for column, _ in _links(group)]
        for start in range(0, len(group.features), COLUMNS):
            name = f"{self._prefix}{len(self._ctes) + 1}"
            columns: list[exp.Expr] = [exp.alias_(key, f"k{number}", quoted=True) for number, key in enumerate(keys, start=1)]
            for number, feature in enumerate(group.features[start : start + COLUMNS], start=1):
                found = _some(self._condition(group, feature, below), self._dialect)
                columns.append(exp.alias_(found, f"c{number}", quoted=True))
                result.columns[start + number - 1] = _column(name, f"c{number}")
            query = exp.select(*columns, copy=False).from_(_table(group.table, "t"), copy=False)
            query = self._with_joins(query, below).group_by(*(key.copy() for key in keys), copy=False)
            self._ctes.append((name, query))
            result.names.append(name)
        return result

    def _with_joins(self, query: exp.Select, below: Sequence[_Aggregate]) -> exp.Select:
        from sqlglot import exp

        for aggregate in below:
            for name in aggregate.names:
                on = [
                    exp.EQ(this=_column(name, f"k{number}"), expression=_column("t", outer))
                    for number, (_, outer) in enumerate(_links(aggregate.group), start=1)
                ]
                query = query.join(_table(name), on=exp.and_(*on, copy=False), join_type="left", copy=False)
        return query

    def _outputs(self) -> list[exp.Expr]:
        from sqlglot import exp

        scores = [exp.column(exp.to_identifier(name, quoted=True)) for name in self._score_columns]
        outputs: list[exp.Expr]
        if self._target.key:
            outputs = [exp.column(exp.to_identifier(name, quoted=True)) for name in self._target.key]
            outputs += [score.copy() for score in scores] if self._score_columns == self._names.scores else []
        else:
            outputs = [exp.Star()]
        if self._score_columns != self._names.scores:
            outputs.append(exp.alias_(_difference(scores, self._about), self._names.scores[0], quoted=True))
        if self._probability:
            pairs = zip(self._probabilities(scores), self._names.probabilities, strict=True)
            outputs += [exp.alias_(value, name, quoted=True) for value, name in pairs]
        outputs.append(exp.alias_(self._choice(scores), self._names.prediction, quoted=True))
        return outputs

    def _probabilities(self, scores: Sequence[exp.Expr]) -> list[exp.Expr]:
        """Of each class, or of the one of two that the outputs speak of."""
        from sqlglot import exp

        model = self._ensemble
        if len(model.classes) == 1:
            return [exp.cast(_number(1.0), "double")]
        calibration = model.calibration or [(1.0, 0.0)] * len(scores)
        if len(scores) == 1:
            a, b = (1.0, 0.0) if model.link == "softmax" else calibration[0]
            return [_sigmoid(scores[0] if (a, b) == (1.0, 0.0) else exp.paren(_affine(scores[0], a, self._sign * b)))]
        if model.link == "softmax":
            largest = exp.Greatest(this=scores[0].copy(), expressions=[score.copy() for score in scores[1:]])
            shares = [_exponential(_at_least(exp.Sub(this=score.copy(), expression=largest.copy()), -700.0)) for score in scores]
        else:
            shares = [_sigmoid(exp.paren(_affine(score, a, b))) for score, (a, b) in zip(scores, calibration, strict=True)]
        total = shares[0]
        for share in shares[1:]:
            total = exp.Add(this=total.copy(), expression=share.copy())
        wanted = shares if len(shares) > 2 else [shares[self._about]]
        return [exp.Div(this=share.copy(), expression=exp.paren(total.copy()), typed=True) for share in wanted]

    def _choice(self, scores: Sequence[exp.Expr]) -> exp.Expr:
        """The class with the largest score, the first of equals."""
        from sqlglot import exp

        classes = [exp.Literal.string(value) for value in self._ensemble.classes]
        if len(classes) == 1:
            return classes[0]
        if len(scores) <= 2:
            score = scores[0].copy() if len(scores) == 1 else exp.paren(_difference(scores, self._about))
            positive = (exp.GT if self._about else exp.GTE)(this=score, expression=exp.Literal.number(0))
            return exp.Case(ifs=[exp.If(this=positive, true=classes[self._about])], default=classes[1 - self._about])
        ifs = []
        for k in range(len(classes) - 1):
            wins = [exp.GTE(this=scores[k].copy(), expression=other.copy()) for j, other in enumerate(scores) if j != k]
            ifs.append(exp.If(this=exp.and_(*wins, copy=False), true=classes[k]))
        return exp.Case(ifs=ifs, default=classes[-1])


def _is_aggregable(group: Group) -> bool:
    return all(below.is_local and _is_aggregable(below) for below in group.groups)


def _links(group: Group) -> list[tuple[str, str]]:
    """Pairs of a column of the group's table and the column of the row above that it equals."""
    assert group.join is not None
    assert group.join.source is not None
    return [(group.join.column, group.join.source.column), *((column, ref.column) for column, ref in group.join.equal)]


def _row_condition(table: str, feature: Feature, dialect: str) -> exp.Condition:
    """What a feature asks of the row alone, by way of a clause with one literal."""
    variables: dict[str, str] = {}
    for one, other in (*feature.same, *feature.differ):
        variables.setdefault(one, f"V{len(variables)}")
        variables.setdefault(other, f"V{len(variables)}")
    for one, other in feature.same:
        variables[other] = variables[one]
    unequal = tuple((variables[one], variables[other]) for one, other in feature.differ)
    return coverage_condition(Clause(Head("", ""), (Literal(table, tuple(variables.items()), feature.tests),), unequal), "t", dialect)


def _free_prefix(names: Iterable[str]) -> str:
    taken = {name.lower() for name in names}
    prefix = "hb_"
    while any(name.startswith(prefix) for name in taken):
        prefix = "_" + prefix
    return prefix


def _some(condition: exp.Condition, dialect: str) -> exp.Expr:
    """Whether a condition is true in some row of a group."""
    from sqlglot import exp

    if dialect == "duckdb":  # sqlglot would cast the condition to a boolean, which it is
        return exp.Anonymous(this="BOOL_OR", expressions=[condition])
    return exp.LogicalOr(this=condition)


def _sigmoid(score: exp.Expr) -> exp.Expr:
    """1/(1 + exp(-score)), with the score kept where no database overflows."""
    from sqlglot import exp

    bounded = exp.Least(this=_at_least(score, -700.0), expressions=[_number(700.0)])
    denominator = exp.Add(this=_number(1.0), expression=_exponential(exp.Neg(this=bounded)))
    return exp.Div(this=_number(1.0), expression=exp.paren(denominator), typed=True)


def _exponential(value: exp.Expr) -> exp.Expr:
    from sqlglot import exp

    return exp.Exp(this=value)


def _at_least(value: exp.Expr, bound: float) -> exp.Expr:
    from sqlglot import exp

    return exp.Greatest(this=value.copy(), expressions=[_number(bound)])


def _affine(score: exp.Expr, a: float, b: float) -> exp.Expr:
    from sqlglot import exp

    return exp.Add(this=exp.Mul(this=_number(a), expression=score.copy()), expression=_number(b))


def _difference(scores: Sequence[exp.Expr], about: int) -> exp.Expr:
    from sqlglot import exp

    return exp.Sub(this=scores[about].copy(), expression=scores[1 - about].copy())


def _number(value: float) -> exp.Expr:
    """A literal that databases read as exactly this double: without an exponent some would read a rounded decimal."""
    from sqlglot import exp

    text = print_number(abs(value))
    literal = exp.Literal.number(text + "e0" if "." in text and "e" not in text else text)
    return exp.Neg(this=literal) if value < 0 else literal


def _column(alias: str, name: str) -> exp.Column:
    from sqlglot import exp

    return exp.column(exp.to_identifier(name, quoted=True), table=exp.to_identifier(alias, quoted=True))


def _table(name: str, alias: str | None = None) -> exp.Table:
    from sqlglot import exp

    as_ = None if alias is None else exp.TableAlias(this=exp.to_identifier(alias, quoted=True))
    return exp.Table(this=exp.to_identifier(name, quoted=True), alias=as_)
