"""A model as one SQL statement: what `hornboost.sql` needs to know about it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from hornboost.data.built import Target
from hornboost.data.schema import Home
from hornboost.data.times import one_time
from hornboost.engine.plan import JoinGroup, JoinPlan
from hornboost.errors import ModelError
from hornboost.logic.aggregate import Route
from hornboost.logic.clause import Clause
from hornboost.logic.moment import moment_text
from hornboost.model.ensemble import Ensemble
from hornboost.model.file import SavedModel
from hornboost.model.outputs import output_names
from hornboost.sql import names
from hornboost.sql.aggregate_tests import AggregateTests
from hornboost.sql.columns import ColumnType, Types
from hornboost.sql.conditions import Conditions
from hornboost.sql.dialects import Dialect
from hornboost.sql.names import free_prefix
from hornboost.sql.outputs import NumberOutput, Outputs
from hornboost.sql.sources import Mirror, Sources
from hornboost.sql.statement import Statement
from hornboost.sql.times import AsOf, Parameter, TableTimes

if TYPE_CHECKING:
    from sqlglot import exp


def model_to_sql(
    model: SavedModel,
    dialect: str,
    *,
    table: str | None = None,
    key: str | Sequence[str] | None = None,
    schema: str | None = None,
    probability: bool = True,
    as_of: Any = None,
) -> str:
    """The statement of a model; see `to_sql` of the estimators."""
    _check_given(model)
    target = model.target if key is None else replace(model.target, key=(key,) if isinstance(key, str) else tuple(key))
    label = [] if target.label is None else [target.label]
    columns = [*(column.name for column in model.schema[target.table]), *label, *model.hidden]
    columns += [model.times[target.table].column] if target.table in model.times else []
    types = {
        (name, column.name): ColumnType(column.type, _in_database(column.stored))
        for name, found in model.schema.items()
        for column in found
        if not column.given
    }
    types |= {
        (name, time.column): ColumnType(time.type, _in_database(time.stored)) for name, time in model.times.items()
    }
    sources = Sources(
        _schema(model.home, dialect) if schema is None else schema, {} if table is None else {target.table: table}
    )
    sources = replace(
        sources, mirrors=_mirrors(model, free_prefix([*model.schema, *columns, *sources.renamed.values()]))
    )
    return ensemble_to_sql(
        model.ensemble,
        target,
        dialect,
        probability=probability,
        columns=columns,
        types=types,
        sources=sources,
        routes=model.routes,
        times=_times(model),
        as_of=None if as_of is None else _moment(model, as_of),
    )


def _times(model: SavedModel) -> dict[str, TableTimes]:
    """What was declared of the tables, as far as the rules depend on it."""
    used, found = model.used(), {}
    for table in dict.fromkeys([*model.times, *model.late]):
        time, late = model.times.get(table), model.late.get(table, {})
        late = {column: dating for column, dating in late.items() if column in used.get(table, {})}
        if time is not None:
            found[table] = TableTimes(time.column, time.age, late)
        elif late:
            found[table] = TableTimes(late=late)
    return found


def _moment(model: SavedModel, as_of: Any) -> AsOf:
    """One cutoff for all examples as it is written in SQL."""
    time = model.times.get(model.target.table)
    if time is None:
        raise ModelError("as_of: the model was learned without times, so that no moment changes it; leave it out")
    if isinstance(as_of, str) and as_of.startswith(":"):
        if not as_of[1:].isidentifier() or not as_of.isascii():
            raise ModelError(f"as_of: '{as_of}' names no parameter; write one such as :cutoff")
        return Parameter(as_of[1:])
    found = one_time(as_of, time.type == "date", "as_of")
    return moment_text(found) if time.type == "date" else found


def _schema(home: Home | None, dialect: str) -> str | None:
    """The schema that tables are looked up in: their own, where the search path of a session could lead to others."""
    if home is None or home.dialect != dialect or home == ("duckdb", "main"):
        return None
    return home.schema


def _mirrors(model: SavedModel, prefix: str) -> dict[str, Mirror]:
    """The symmetric relations that rules look at, with the columns that they look at."""
    used = model.used()
    tables = [table for table in model.symmetric if table in used]
    return {
        table: Mirror(
            f"{prefix}both_{number}",
            model.symmetric[table],
            list(dict.fromkeys([*used[table], *model.symmetric[table], *_time_columns(model, table)])),
        )
        for number, table in enumerate(tables, start=1)
    }


def _time_columns(model: SavedModel, table: str) -> list[str]:
    return [model.times[table].column] if table in model.times else []


def _in_database(stored: str | None) -> str | None:
    """What a column is stored as where a statement runs: dates in a file, in whatever order, are dates there."""
    return stored if stored is None or stored.startswith("text") else stored.partition(" ")[0]


def _check_given(model: SavedModel) -> None:
    for rule in model.ensemble.rules:
        for column in model.schema[model.target.table]:
            if column.given and any(test.column == column.name for test in rule.clause.root.tests):
                raise ModelError(
                    f"the rule '{rule.clause}' looks at the column '{column.name}', which came with the "
                    "examples and is in no table; "
                    "add it to the table or fit without it"
                )


def ensemble_to_sql(
    ensemble: Ensemble,
    target: Target,
    dialect: str = "duckdb",
    *,
    probability: bool = True,
    columns: Iterable[str] = (),
    types: Types | None = None,
    sources: Sources | None = None,
    routes: Mapping[str, Route] | None = None,
    times: Mapping[str, TableTimes] | None = None,
    as_of: AsOf | None = None,
) -> str:
    """One SELECT over the target table: its keys (all columns when it has none), score, probability, prediction.

    With two classes the score and the probability are those of the target's positive class, and their columns are named
    after it; with more there is a score and a probability for each class; of a number there is the prediction alone.
    `columns` are those of the target table, whose names are taken when it has no key. `types` says how the columns are
    stored (one that it does not hold is taken for what the rules make of it), `sources` where the tables are,
    `routes` the joins behind aggregates, `times` which tables have times. The target's time is the cutoff of each
    example and stands beside its key, unless `as_of` is the cutoff of all. SQLite needs its mathematical functions for
    probabilities; leave them out where they are not compiled in.

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
    conditions = Conditions(Dialect.named(dialect, ModelError), types or {}, sources or Sources(), times=times or {})
    clauses = [rule.clause.rooted(target.table) for rule in ensemble.rules]
    apart = [_is_apart(clause, target.table) for clause in clauses]
    plan = JoinPlan.of([clause for clause, alone in zip(clauses, apart, strict=True) if not alone], target.table)
    places = iter(plan.of_clause)
    features = [clause if alone else next(places) for clause, alone in zip(clauses, apart, strict=True)]
    tables = [literal.table for clause in clauses for literal in clause.body]
    tables += [step.table for route in (routes or {}).values() for step in route]
    tables += conditions.sources.renamed.values()
    prefix = free_prefix([*tables, *(() if target.key and not times else columns)])
    key = target.key
    if target.table in conditions.times:
        conditions = replace(conditions, cutoff=_cutoff(conditions, target, prefix, as_of))
        conditions = conditions.with_counts((table for table in tables if table != target.table), prefix)
        if key and as_of is None:
            key = tuple(dict.fromkeys([*key, str(conditions.times[target.table].time)]))
    if routes:
        conditions = replace(conditions, aggregates=AggregateTests(conditions, target.table, routes, prefix))
    about = ensemble.about(target.positive)
    named = output_names(ensemble.classes, about, key or columns, prefix)
    outputs: Outputs | NumberOutput = Outputs(ensemble, about, named, prefix)
    if ensemble.is_of_numbers:
        outputs = NumberOutput(ensemble, named, prefix)
    return Statement(outputs, key, plan.root, features, conditions).text(probability=probability)


def _cutoff(conditions: Conditions, target: Target, prefix: str, as_of: AsOf | None) -> exp.Expr:
    """The cutoff of the example known as "t": a column of it, of the statement's own if the example has a key."""
    if as_of is not None:
        return conditions.clock.at(as_of)
    return names.column("t", prefix + "cutoff") if target.key else conditions.cutoff_of(target.table, "t")


def _is_apart(clause: Clause, target: str) -> bool:
    """Whether the literals of a clause close on each other, so that no table of it can be aggregated by itself."""
    return not _is_aggregable(JoinPlan.of([clause], target).root)


def _is_aggregable(group: JoinGroup) -> bool:
    return all(below.is_local and _is_aggregable(below) for below in group.groups)
