from __future__ import annotations

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hornboost as hb
from hornboost import stopping
from hornboost.engine import Engine, blocks, covers, roots, to_clause
from hornboost.engine import engine as engine_module
from hornboost.engine import seeded_closings as closings_module
from hornboost.engine.frontier import Refinement
from hornboost.engine.seeded import SeededEngine
from hornboost.learners.clauses import weights_in_units
from hornboost.learners.objectives import CurvePoint, auroc_gain, clause_area
from hornboost.learners.seeded import Budget, SeededSearch
from hornboost.logic.clause import Head
from hornboost.stopping import OUT_OF_TIME, fitting, learning
from random_databases import RandomCase, cases
from test_engine import with_room_for


def encoded(case: RandomCase):
    database = case.database()
    examples = database.encode(database.examples()[0])
    return database, examples


def clause_of(specs, examples):
    return to_clause(specs, Head("y", "1"), [column.name for column in examples.keys])


def is_threshold(refinement: Refinement) -> bool:
    return refinement.test is not None and refinement.test.op in (">=", "<=")


@given(cases(n_clauses=1), st.integers(0, 10**6))
@settings(max_examples=25)
def test_every_literal_has_the_weight_of_the_clause_evaluated_afresh_and_covers_the_seed(
    case: RandomCase, number: int
) -> None:
    database, examples = encoded(case)
    rng = np.random.default_rng(number)
    weights = weights_in_units(rng.uniform(0.1, 1.0, examples.n_rows), np.ones(examples.n_rows))
    classes = rng.integers(0, 2, examples.n_rows).astype(np.int32)
    seed = int(rng.integers(examples.n_rows))
    engine = SeededEngine(Engine(database, examples))
    position = engine.root()
    for _ in range(3):
        literals = engine.literals(position, seed)
        if len(literals) == 0:
            break
        table = engine.score(position, literals, weights, classes)
        for i in rng.permutation(len(literals))[:12]:
            refined = engine.refine(position, literals, int(i))
            expected = covers(database, clause_of(refined.specs, examples), examples)
            assert refined.covered.tolist() == expected.tolist()
            assert expected[seed]
            assert table[i].tolist() == [int(weights[expected & (classes == label)].sum()) for label in (0, 1)]
        position = engine.refine(position, literals, int(rng.integers(len(literals))))


@given(cases(n_clauses=1), st.integers(0, 10**6))
@settings(max_examples=15)
def test_the_literals_are_the_conditions_of_the_engine_that_the_seed_satisfies(case: RandomCase, number: int) -> None:
    database, examples = encoded(case)
    rng = np.random.default_rng(number)
    seed = int(rng.integers(examples.n_rows))
    engine = Engine(database, examples)
    seeded = SeededEngine(Engine(database, examples))
    state, position = engine.root(), seeded.root()
    for _ in range(2):
        literals = seeded.literals(position, seed)
        steps = [literals.refinement(i) for i in range(len(literals))]
        assert len(set(steps)) == len(steps)
        frontier = engine.frontier(state)
        every = [frontier.refinement(c) for c in range(len(frontier))]
        satisfied = {step for step in every if not is_threshold(step) and engine.refine(state, step).covered[seed]}
        found = {step for step in steps if not is_threshold(step)}
        assert all(step.joins and step.joins[-1].equal for step in found ^ satisfied)
        for step in satisfied - found:  # a closing that says nothing about the covered examples is not listed
            without = replace(step, joins=(*step.joins[:-1], replace(step.joins[-1], equal=())))
            np.testing.assert_array_equal(engine.refine(state, step).covered, engine.refine(state, without).covered)
        if not steps:
            break
        chosen = int(rng.integers(len(steps)))
        state, position = engine.refine(state, steps[chosen]), seeded.refine(position, literals, chosen)


def one_to_many() -> tuple[hb.Database, pd.DataFrame]:
    parent = pd.DataFrame({"p": [1, 2, 3, 4], "y": ["1", "1", "0", "0"]})
    child = pd.DataFrame(
        {"p": [1, 1, 1, 2, 3, 4], "x": [1.0, 5.0, 9.0, 7.0, 3.0, np.nan], "c": ["a", "b", "b", "a", "c", None]}
    )
    database = hb.Database.from_frames(
        {"parent": parent, "child": child}, target="parent", key="p", label="y", positive="1"
    )
    return database, database.examples()[0]


def test_thresholds_are_the_seeds_own_values_in_both_directions() -> None:
    database, X = one_to_many()
    engine = SeededEngine(Engine(database, database.encode(X)))
    literals = engine.literals(engine.root(), 0)
    tests = [str(step.test) for i in range(len(literals)) if (step := literals.refinement(i)).test is not None]
    assert tests == ["x>=9", "x>=5", "x>=1", "x<=1", "x<=5", "x<=9", 'c="a"', 'c="b"']


def test_after_a_test_only_values_of_the_rows_that_pass_it_are_legal() -> None:
    database, X = one_to_many()
    engine = SeededEngine(Engine(database, database.encode(X), max_depth=1))
    literals = engine.literals(engine.root(), 0)
    steps = [literals.refinement(i) for i in range(len(literals))]
    at = next(i for i, step in enumerate(steps) if str(step.test) == 'c="b"')
    position = engine.refine(engine.root(), literals, at)
    literals = engine.literals(position, 0)
    below = [str(step.test) for i in range(len(literals)) if (step := literals.refinement(i)).node == 1]
    assert below == ["x>=9", "x>=5", "x<=5", "x<=9", 'c="b"']


def test_literals_come_by_number_of_joins_then_in_schema_order() -> None:
    database = hb.datasets.skewed_pairs(800, seed=1).database()
    X, _ = database.examples()
    engine = SeededEngine(Engine(database, database.encode(X)))
    literals = engine.literals(engine.root(), 0)
    joins = [len(literals.refinement(i).joins) for i in range(len(literals))]
    assert joins == sorted(joins)
    assert set(joins) == {1, 2}


def test_seeds_looked_up_together_have_the_literals_of_each_alone() -> None:
    database = hb.datasets.skewed_pairs(800, seed=1).database()
    examples = database.encode(database.examples()[0])
    together, alone = (SeededEngine(Engine(database, examples, cache_bytes=0)) for _ in range(2))
    together.expect([5, 3, 700, 5], 1)
    for seed in (3, 700, 5, 8):  # 8 was not expected
        found, expected = (engine.literals(engine.root(), seed) for engine in (together, alone))
        assert len(found) > 100
        for column in ("option", "raw", "candidate"):
            assert getattr(found, column).tolist() == getattr(expected, column).tolist()


def test_classes_that_learn_in_turns_each_have_their_seeds_looked_up_together(monkeypatch: pytest.MonkeyPatch) -> None:
    database = hb.datasets.skewed_pairs(800, seed=1).database()
    engine = SeededEngine(Engine(database, database.encode(database.examples()[0]), cache_bytes=0))
    looked_up: list[list[int]] = []
    look_up = engine._of_seeds
    monkeypatch.setattr(engine, "_of_seeds", lambda seeds: looked_up.append(sorted(seeds)) or look_up(seeds))
    engine.expect([3, 5], 0)
    engine.expect([7, 9], 1)
    for seed in (3, 7, 5, 9):
        engine.literals(engine.root(), seed)
    assert looked_up == [[3, 5], [7, 9]]


def test_keys_and_chains_reach_what_the_engine_reaches() -> None:
    database = hb.datasets.skewed_pairs(1500, seed=2).database()
    examples = database.encode(database.examples()[0])
    weights, classes = weights_in_units(np.ones(1500), np.ones(1500)), (np.arange(1500) % 3 == 0).astype(np.int32)
    engine = Engine(database, examples)
    frontier = engine.frontier(engine.root())
    known = dict(
        zip(
            map(frontier.refinement, range(len(frontier))),
            engine.score(frontier, weights, classes, 2).tolist(),
            strict=True,
        )
    )
    seeded = SeededEngine(Engine(database, examples))
    literals = seeded.literals(seeded.root(), 7)
    table = seeded.score(seeded.root(), literals, weights, classes).tolist()
    compared = [known[step] == row for i, row in enumerate(table) if (step := literals.refinement(i)) in known]
    assert len(compared) > 200
    assert all(compared)


def test_a_join_over_the_cap_is_refused_for_keys_as_for_examples() -> None:
    database = hb.datasets.skewed_pairs(1500, seed=2).database()
    examples = database.encode(database.examples()[0])
    plain, seeded = (with_room_for(200_000, Engine(database, examples)) for _ in range(2))
    plain.frontier(plain.root())
    SeededEngine(seeded).literals(SeededEngine(seeded).root(), 0)
    assert plain.refused
    assert seeded.refused == plain.refused


def test_work_stops_at_the_deadline() -> None:
    database, X = one_to_many()
    engine = SeededEngine(Engine(database, database.encode(X)))
    reached = []
    with fitting(0.0), learning() as ending:
        reached.append(engine.literals(engine.root(), 0))
    assert (reached, ending.reason) == ([], OUT_OF_TIME)


def test_no_pass_begins_after_the_deadline_wherever_it_falls(monkeypatch) -> None:
    """The clock goes one second at each look; every deadline cuts another step,
    and a search that it cuts has no result.
    """
    database = hb.datasets.skewed_pairs(400, skew=100, seed=1).database()
    X, y = database.examples()
    classes = (np.asarray(y) == "1").astype(np.int32)
    weights, examples = weights_in_units(np.ones(len(y)), np.ones(len(y))), database.encode(X)
    clock, begun = [0.0], []

    def look() -> float:
        clock[0] += 1.0
        return clock[0]

    def watched(pass_over):
        return lambda *arguments: begun.append(clock[0]) or pass_over(*arguments)

    monkeypatch.setattr(stopping, "now", look)
    for module, name in (
        (blocks.Pairs, "score"),
        (blocks, "build_block"),
        (blocks.union_kernels, "united"),
        *((roots.kernels, name) for name in ("meet", "covered_by", "histogram_by_class", "closing_rows")),
    ):
        monkeypatch.setattr(module, name, watched(getattr(module, name)))
    monkeypatch.setattr(roots, "build_block", blocks.build_block)
    monkeypatch.setattr(engine_module, "build_block", blocks.build_block)
    monkeypatch.setattr(closings_module, "build_block", blocks.build_block)
    ends, paths = [], []
    for deadline in range(0, 1000, 13):
        clock[0], begun[:] = -1.0, []
        engine = SeededEngine(Engine(database, examples))
        point = lambda table: (  # noqa: E731
            table[:, 1] / weights[classes == 1].sum(),
            100 * table[:, 0] / weights[classes == 0].sum(),
        )
        climb = None
        with fitting(deadline), learning() as ending:
            climb = SeededSearch(engine, weights, classes, point, clause_area, 5).climb(int(np.flatnonzero(classes)[0]))
        assert all(at <= deadline for at in begun)
        ends.append(clock[0])
        assert (climb is None) == (ending.reason == OUT_OF_TIME)
        paths += [] if climb is None else [[clause.specs for clause in climb.clauses]]
    assert ends[0] <= 2
    assert 1 < len(paths) < len(ends)
    assert len(paths[-1]) > 2
    assert all(path == paths[-1] for path in paths)


def search(objective, budget: Budget, max_literals: int = 5) -> SeededSearch:
    database, X = one_to_many()
    engine = SeededEngine(Engine(database, database.encode(X)))
    classes = np.array([1, 1, 0, 0], np.int32)
    return SeededSearch(
        engine,
        np.array([4, 4, 4, 4]),
        classes,
        lambda table: (table[:, 1] / 8, table[:, 0] / 8),
        objective,
        max_literals,
        budget,
    )


def test_the_climb_takes_the_best_literal_and_stops_when_no_negative_is_covered() -> None:
    climb = search(clause_area, Budget()).climb(0)
    assert len(climb.clauses) == 2
    assert str(climb.clauses[-1].specs[1].tests[0]) == "x>=5"
    assert climb.points == [CurvePoint(1.0, 1.0), CurvePoint(1.0, 0.0)]
    assert climb.score == 1.0


def test_a_gain_of_nothing_ends_the_climb() -> None:
    climb = search(lambda tp, fp, path: np.zeros_like(tp), Budget()).climb(0)
    assert len(climb.clauses) == 1


@pytest.mark.parametrize("clauses", [1, 3, 9, 10])
def test_exactly_the_budget_is_evaluated(clauses: int) -> None:
    budget = Budget(clauses)
    climbs = search(auroc_gain, budget)
    for _ in range(4):
        climbs.climb(0)
    assert budget.evaluated == clauses


def test_a_budget_of_few_clauses_chooses_among_the_first_literals() -> None:
    climb = search(clause_area, Budget(2)).climb(0)  # the bare literal and x>=9
    assert str(climb.clauses[-1].specs[1].tests) == "()" or str(climb.clauses[-1].specs[1].tests[0]) == "x>=9"
