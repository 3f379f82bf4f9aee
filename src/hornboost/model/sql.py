"""A model as one SQL statement: what `hornboost.sql` needs to know about it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from hornboost.data.build import Target
from hornboost.errors import ModelError
from hornboost.logic.clause import Clause, Literal
from hornboost.model.ensemble import Ensemble
from hornboost.model.outputs import output_names
from hornboost.model.plan import Group, Plan
from hornboost.sql.conditions import Conditions
from hornboost.sql.dialects import Dialect
from hornboost.sql.names import free_prefix
from hornboost.sql.outputs import Outputs
from hornboost.sql.statement import Statement


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
    conditions = Conditions(Dialect.named(dialect, ModelError))
    clauses = [rule.clause.rooted(target.table) for rule in ensemble.rules]
    apart = [_is_apart(clause, target.table) for clause in clauses]
    plan = Plan.of([clause for clause, alone in zip(clauses, apart, strict=True) if not alone], target.table)
    places = iter(plan.of_clause)
    features = [clause if alone else next(places) for clause, alone in zip(clauses, apart, strict=True)]
    tables = [literal.table for clause in clauses for literal in clause.body]
    prefix = free_prefix([*tables, *(() if target.key else columns)])
    about = ensemble.about(target.positive)
    outputs = Outputs(ensemble, about, output_names(ensemble.classes, about, target.key or columns, prefix), prefix)
    return Statement(outputs, target.key, plan.root, features, conditions).text(probability=probability)


def _is_apart(clause: Clause, target: str) -> bool:
    """Whether the literals of a clause close on each other, so that no table of it can be aggregated by itself."""
    return not _is_aggregable(Plan.of([clause], target).root)


def _is_aggregable(group: Group) -> bool:
    return all(below.is_local and _is_aggregable(below) for below in group.groups)


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
