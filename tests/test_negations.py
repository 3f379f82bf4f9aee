"""Tests `column!="value"`: what they mean everywhere, and how HornBoost finds them without a further pass."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import hornboost as hb
from hornboost.engine import Numbers, Visible, with_negations
from hornboost.errors import ClauseError
from hornboost.learners.problem import Problem
from hornboost.logic.aggregate import Aggregate, TableStep
from hornboost.logic.clause import Clause, Head, Literal
from hornboost.logic.clause import Test as Condition
from hornboost.report.cards import rule_lines
from in_parts import in_parts

COLOURS = ["red", "green", "blue", "grey"]
SETTING: dict[str, Any] = {"rounds": 8, "max_literals": 3, "max_depth": 0, "aggregates": False, "constants": False}


@pytest.fixture(scope="module")
def shop() -> hb.Database:
    """Two customers, one of whom bought something that is not red; a colour is missing, and one is known too late."""
    customers = pd.DataFrame({"c": [1, 2, 3], "at": pd.to_datetime(["2020-06-01"] * 3), "y": ["a", "b", "a"]})
    bought = pd.DataFrame(
        {
            "c": [1, 1, 2, 2, 3],
            "colour": ["red", "green", "red", None, "blue"],
            "price": [1.0, 2.0, 1.0, 2.0, 3.0],
            "day": pd.to_datetime(["2020-01-01"] * 5),
            "seen": pd.to_datetime([*["2020-02-01"] * 4, "2020-07-01"]),
        }
    )
    return hb.Database.from_frames(
        {"customer": customers, "bought": bought},
        "customer",
        key="c",
        label="y",
        foreign_keys=[("bought.c", "customer.c")],
        times={"customer": "at", "bought": "day"},
        known_later={"bought": {"seen": ["colour"]}},
    )


def coloured(n: int, seed: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Examples that are of class 1 if they are large and not red, but for some noise; a few colours are missing."""
    rng = np.random.default_rng(seed)
    X = pd.DataFrame({name: rng.choice(COLOURS, n).astype(object) for name in ("one", "two", "three")})
    X["size"] = rng.normal(size=n)
    y = ((X["size"] >= 0) & (X["one"] != "red")).to_numpy().astype(int)
    X.loc[rng.random(n) < 0.05, "three"] = None
    return X, np.where(rng.random(n) < 0.05, 1 - y, y)


@pytest.fixture(scope="module")
def learned() -> tuple[hb.HornBoostClassifier, pd.DataFrame, np.ndarray]:
    X, y = coloured(400, 0)
    return hb.HornBoostClassifier(negations=True, random_state=0, **SETTING).fit(X, y), X, y


def negations_of(model: Any) -> list[Condition]:
    return [test for rule in model.rules_ for test in rule.clause.root.tests if test.op == "!="]


def test_some_row_must_have_another_value_that_is_known_by_then(shop: hb.Database) -> None:
    clause = 'y="a" :- customer(c=C), bought(c=C, {}).'
    assert shop.covers(clause.format('colour!="red"')).tolist() == [True, False, False]
    assert shop.covers(clause.format('colour!="black"')).tolist() == [True, True, False]
    assert shop.covers(clause.format('colour!="red", colour!="green"')).tolist() == [False, False, False]
    assert shop.covers(clause.format('colour!="red", colour="green"')).tolist() == [True, False, False]


@pytest.mark.parametrize(
    ("test", "message"),
    [
        (
            'price!="1"',
            "column 'price' is numeric, and '!=' excludes a value of a nominal column; use >= or <= instead",
        ),
        ('c!="1"', "column 'c' is key, and '!=' excludes a value of a nominal column; compare keys by variables"),
        ('age!="90d"', "column 'age' is numeric, and '!='"),
    ],
)
def test_it_is_for_nominal_columns(shop: hb.Database, test: str, message: str) -> None:
    with pytest.raises(ClauseError, match=message):
        shop.covers(f'y="a" :- customer(c=C), bought({test}).')


def test_an_aggregate_is_not_compared_so(shop: hb.Database) -> None:
    mode = Aggregate("mode", (TableStep("bought"),), "colour")
    clause = Clause(Head("y", "a"), (Literal("customer", (), (Condition(mode, "!=", "red"),)),))
    with pytest.raises(ClauseError, match="an aggregate is not compared with '!='; use ="):
        shop.covers(clause)


def test_a_planted_rule_is_found(learned: tuple[Any, pd.DataFrame, np.ndarray]) -> None:
    model, X, y = learned
    assert [(test.column, test.op) for test in model.rules_[0].clause.root.tests] == [("size", ">="), ("one", "!=")]
    assert model.rules_[0].clause.root.tests[1].value == "red"
    plain = hb.HornBoostClassifier(negations=False, random_state=0, **SETTING).fit(X, y)
    assert not negations_of(plain)
    assert model.history_["training_loss"].iloc[0] < plain.history_["training_loss"].iloc[0]


def test_a_value_that_was_never_seen_is_another_one(
    learned: tuple[Any, pd.DataFrame, np.ndarray], tmp_path: Path
) -> None:
    model, X, _ = learned
    new = pd.concat([X.head(40), X.head(40).assign(one="pink"), X.head(40).assign(two=None)], ignore_index=True)
    scores = model.decision_function(new)
    seen = model.decision_function(X.head(40).assign(one="green"))
    np.testing.assert_array_equal(scores[40:80], seen)
    model.save(tmp_path / "model.json")
    np.testing.assert_array_equal(hb.load(tmp_path / "model.json").decision_function(new), scores)
    examples = new.assign(row=range(len(new)))
    with duckdb.connect() as connection:
        connection.register("examples", examples)
        rows = connection.execute(model.to_sql("duckdb")).df().sort_values("row")
    np.testing.assert_allclose(rows["score_of_1"], scores, rtol=0, atol=1e-12)
    with sqlite3.connect(":memory:") as connection:
        examples.to_sql("examples", connection, index=False)
        rows = pd.read_sql(model.to_sql("sqlite"), connection).sort_values("row")
    np.testing.assert_allclose(rows["score_of_1"], scores, rtol=0, atol=1e-12)


def test_older_versions_refuse_a_file_with_it_and_read_others(
    learned: tuple[Any, pd.DataFrame, np.ndarray], tmp_path: Path
) -> None:
    model, X, y = learned
    plain = hb.HornBoostClassifier(negations=False, random_state=0, **SETTING).fit(X, y)
    for one, version in ((model, 5), (plain, 4)):
        one.save(tmp_path / "model.json")
        assert json.loads((tmp_path / "model.json").read_text())["version"] == version


def test_explanations_and_reports_say_what_is_not(learned: tuple[Any, pd.DataFrame, np.ndarray]) -> None:
    model, X, _ = learned
    rule = next(rule for rule in model.rules_ if any(test.op == "!=" for test in rule.clause.root.tests))
    (line,) = rule_lines(rule.clause)
    assert "is not" in [relation for _, relation, _ in line.conditions]
    explained = model.explain(X[(X["size"] > 1.0) & (X["one"] == "red")].head(1), missed=len(model.rules_))
    assert "one!=\"red\" does not hold in table 'examples'" in str(explained)


def frontiers(problem: Problem) -> Iterator[tuple[Any, Any, Any, Any]]:
    """The frontier of the empty clause and of the one after each of some steps, with sums of random numbers."""
    engine, n = problem.engine, problem.examples.n_rows
    channels = np.random.default_rng(0).integers(-(2**40), 2**40, size=(n, 2))
    tables = {problem.examples.name: problem.examples}
    attributes = {(table.name, column.name) for table in tables.values() for column in table.attributes}
    visible = Visible(frozenset(attributes), frozenset(tables), negations=True)
    state, step = engine.root(), None
    for test in (None, Condition("size", ">=", 0.0), Condition("one", "!=", "red")):
        if test is not None:
            look = engine.look(state, None, Numbers(2, channels), visible)
            found = with_negations(look, channels.sum(axis=0)).frontier
            steps = [found.refinement(candidate) for candidate in range(len(found))]
            same = [
                one
                for one in steps
                if one.test is not None and (one.test.column, one.test.op) == (test.column, test.op)
            ]
            step = next((one for one in same if one.test == test), same[len(same) // 2])
            state = engine.refine(state, step)
        look = engine.look(state, None, Numbers(2, channels), visible)
        yield engine, with_negations(look, channels.sum(axis=0)), channels, look


def problem_of(X: pd.DataFrame, y: np.ndarray, parts: int = 0) -> Problem:
    database = hb.Database.from_frames({"t": X.assign(y=y)}, "t", label="y")
    if parts:
        database = in_parts(database, parts, lambda examples: np.arange(examples.n_rows))
    return hb.HornBoostClassifier(database, random_state=0)._problem(*database.examples(), None)


def test_sums_of_negations_are_those_of_the_clause_evaluated_afresh() -> None:
    seen = []
    for engine, look, channels, plain in frontiers(problem_of(*coloured(120, 3))):
        n = len(plain.frontier)
        for candidate in range(n, len(look.frontier)):
            step = look.frontier.refinement(candidate)
            assert step.test is not None
            assert step.test.op == "!="
            covered = engine.refine(look.state, step).covered
            np.testing.assert_array_equal(look.sums[candidate], channels[covered].sum(axis=0))
        np.testing.assert_array_equal(look.sums[:n], plain.sums)
        seen.append({str(look.frontier.refinement(k).test.column) for k in range(n, len(look.frontier))})
    assert seen == [{"three"}, {"one", "two", "three"}, {"one", "two", "three"}]  # at first a value divides alike


def test_partitions_have_the_same_negations() -> None:
    X, y = coloured(120, 3)
    pairs = zip(frontiers(problem_of(X, y)), frontiers(problem_of(X, y, parts=3)), strict=True)
    for (_, here, _, _), (_, there, _, _) in pairs:
        np.testing.assert_array_equal(here.sums, there.sums)
        steps = [[look.frontier.refinement(k) for k in range(len(look.frontier))] for look in (here, there)]
        assert steps[0] == steps[1]


def test_of_equal_candidates_negations_come_after_other_tests_on_the_same_rows() -> None:
    *_, (_, look, _, plain) = frontiers(problem_of(*coloured(120, 3)))
    n, frontier = len(plain.frontier), look.frontier
    assert frontier.first(np.arange(len(frontier))) == plain.frontier.first(np.arange(n))
    assert frontier.first(np.arange(n, len(frontier))) == n
    assert frontier.first(np.array([n - 1, n])) == n - 1


def test_the_model_is_the_same_from_threads_partitions_and_a_checkpoint(tmp_path: Path) -> None:
    X, y = coloured(300, 4)
    frame = X.assign(y=y, row=range(len(X)))
    database = hb.Database.from_frames({"t": frame}, "t", key="row", label="y")
    stored = database.partition(tmp_path / "parts", 3, small_table=0)
    options = {"negations": True, "random_state": 0, **SETTING}
    place, saved = tmp_path / "run.json", []
    for db, more in (
        (database, {}),
        (database, {"n_jobs": 2}),
        (in_parts(database, 2), {}),
        (stored, {}),
        (database, {"checkpoint": place}),
        (database, {"checkpoint": place}),
    ):
        model = hb.HornBoostClassifier(db, **options, **more).fit(*database.examples())
        assert negations_of(model)
        model.save(tmp_path / "model.json")
        saved.append((tmp_path / "model.json").read_bytes())
    assert len(set(saved)) == 1


def test_examples_of_weight_0_bring_no_negation(tmp_path: Path) -> None:
    X, y = coloured(200, 5)
    X.loc[:99, "one"] = np.where(X.loc[:99, "one"] == "red", "red", "green")
    more = pd.concat([X, X.head(30).assign(one="violet", two="black", three=None)], ignore_index=True)
    models = []
    for rows, labels in ((X, y), (more, np.append(y, 1 - y[:30]))):
        weights = (np.arange(len(rows)) < 100).astype(float)
        for given in ({"negations": True, **SETTING}, {"max_literals": 3}):
            model = hb.HornBoostClassifier(random_state=0, **given)
            models.append([str(rule) for rule in model.fit(rows, labels, sample_weight=weights).rules_])
    assert models[:2] == models[2:]


def test_they_are_tried_where_a_column_has_three_values_and_rounds_are_open() -> None:
    X, y = coloured(400, 0)
    auto = hb.HornBoostClassifier(random_state=0).fit(X, y)
    assert auto.tuning_["negations"].any()
    assert bool(auto.tuning_[auto.tuning_["chosen"]]["negations"].iloc[0]) == bool(negations_of(auto))
    two = X.assign(**{name: np.where(X[name] == "red", "red", "green") for name in ("one", "two", "three")})
    for model, rows in ((hb.HornBoostClassifier(random_state=0), two), (hb.HornBoostClassifier(rounds=5), X)):
        assert not model.fit(rows, y).tuning_["negations"].any()
    number = hb.HornBoostRegressor(rounds=5, negations=True, max_literals=2, random_state=0).fit(X, y.astype(float))
    assert negations_of(number)


def test_several_classes_may_be_told_apart_by_them() -> None:
    X, y = coloured(300, 6)
    y = np.where(X["three"] == "blue", 2, y)
    model = hb.HornBoostClassifier(negations=True, random_state=0, **SETTING).fit(X, y)
    assert negations_of(model)
    database = hb.Database.from_frames({"examples": X.assign(y=y)}, "examples", label="y")
    for rule in model.rules_:
        covered = database.covers(rule.clause)
        assert [(covered & (y == k)).sum() for k in range(3)] == pytest.approx(rule.coverage)
