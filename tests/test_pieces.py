"""Joins that lead to more entries than are held at once: the same to the last candidate, piece by piece."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hornboost as hb
from dated_databases import dated_case
from hornboost.engine import Engine, engine, pieces
from hornboost.engine.make import make_engine
from hornboost.engine.needs import ENTRY_BYTES, Needs
from hornboost.engine.partitioned import PartitionedEngine
from hornboost.engine.tree import Join, Ref
from hornboost.errors import LimitError
from hornboost.memory import PYTHON, bytes_of
from test_engine import Walk, follow, listed, people_and_things, some, walks
from test_times_engine import weighted

AT_ONCE = st.sampled_from([1, 5, 50])


@some(25)
@given(walks(), AT_ONCE)
def test_candidates_sums_and_states_are_those_of_an_engine_without_a_limit(walk: Walk, at_once: int) -> None:
    whole, divided = walk.engine(), walk.engine(max_entries=at_once)
    for path in walk.paths(whole):
        here, there = follow(whole, path), follow(divided, path)
        assert here.covered.tolist() == there.covered.tolist()
        for one, other in zip(here.entries, there.entries, strict=True):
            np.testing.assert_array_equal(one.example, other.example)
            np.testing.assert_array_equal(one.rows, other.rows)
            np.testing.assert_array_equal(one.up, other.up)
        ours, theirs = whole.frontier(here), divided.frontier(there)
        assert listed(ours) == listed(theirs)
        np.testing.assert_array_equal(walk.score(whole, ours), walk.score(divided, theirs))
    assert not divided.refused


@pytest.mark.filterwarnings("ignore:the examples see no row that has a time")
def test_ages_are_numbered_over_all_pieces(monkeypatch) -> None:
    n_pieces = [0]
    joined = engine.joined_block

    def noted(found: Any, *others: Any) -> Any:
        n_pieces[0] += len(found)
        return joined(found, *others)

    monkeypatch.setattr(engine, "joined_block", noted)
    for seed in range(12):
        rng = Random(seed)
        case = dated_case(rng)
        database = case.database()
        examples, max_bins = database.encode(case.examples()), rng.choice([2, 10**6])
        whole = Engine(database, examples, max_bins=max_bins)
        divided = Engine(database, examples, max_bins=max_bins, max_entries=rng.choice([1, 5]))
        weights, classes = weighted(rng, len(case.rows))
        here, there = whole.root(), divided.root()
        for _ in range(3):
            ours, theirs = whole.frontier(here), divided.frontier(there)
            assert listed(ours) == listed(theirs), seed
            scores = whole.score(ours, weights, classes, 2)
            assert scores.tolist() == divided.score(theirs, weights, classes, 2).tolist()
            useful = np.flatnonzero(scores.sum(axis=1))
            if not useful.size:
                break
            step = ours.refinement(int(rng.choice(list(useful))))
            here, there = whole.refine(here, step), divided.refine(there, step)
    assert n_pieces[0] > 100


ESTIMATORS: list[tuple[Any, dict[str, Any]]] = [
    (hb.C2RIBClassifier, {"rounds": 3}),
    (hb.C2RIBClassifier, {"rounds": 4, "features": "margin"}),
    (hb.HornBoostClassifier, {"rounds": 4, "max_depth": 3, "aggregates": False}),  # which reach no more than that
    (hb.PRankBoostClassifier, {"rounds": 3}),
    (hb.KBSClassifier, {"rounds": 2, "base": "clause"}),
    (hb.LogitBoostClassifier, {"rounds": 2, "base": "clause"}),
]


@pytest.mark.parametrize(("estimator", "options"), ESTIMATORS, ids=lambda value: getattr(value, "__name__", "options"))
def test_the_model_is_the_same_from_pieces(estimator: Any, options: dict[str, Any]) -> None:
    database = hb.datasets.bank(60, transactions=6, seed=0).database()
    X, y = database.examples()

    def learned(**limits: Any) -> list[tuple[str, tuple[float, ...]]]:
        model = estimator(database, random_state=0, **options, **limits).fit(X, y)
        assert not model.refused_
        return [(str(rule.clause), rule.votes) for rule in model.rules_]

    whole = learned()
    assert whole
    assert learned(max_entries=5) == whole


def test_a_piece_is_the_state_of_its_examples() -> None:
    database = people_and_things()
    whole = Engine(database, database.encode(database.examples()[0]), look_ahead=1)
    owns = Join("owns", "person", Ref(0, "person"))
    state = whole.refine(whole.root(), hb.engine.Refinement(0, (owns,)))
    n = len(state.entries[0])
    some_of_it = pieces.piece(state, 1, n)
    assert len(some_of_it.entries[0]) == n - 1
    again = pieces.joined_state([(0, 1, pieces.piece(state, 0, 1)), (1, n, some_of_it)], whole.root())
    np.testing.assert_array_equal(again.entries[1].up, state.entries[1].up)
    np.testing.assert_array_equal(again.entries[1].example, state.entries[1].example)


def with_room_for(database: hb.Database, entries: int) -> int:
    return PYTHON + sum(Needs.of(database)) + ENTRY_BYTES * entries


def test_a_join_that_does_not_fit_the_memory_is_an_error_that_names_it() -> None:
    database = people_and_things()
    narrow = Engine(database, database.encode(database.examples()[0]), memory_limit=with_room_for(database, 3))
    with pytest.raises(LimitError, match=r"owns\.person reaches 6 rows, and there is memory for 3; raise memory_limit"):
        narrow.checked_reach(narrow.root(), 0, (Join("owns", "person", Ref(0, "person")),))


def test_tables_that_do_not_fit_the_memory_are_told_before_anything_is_learned() -> None:
    database = people_and_things()
    with pytest.raises(
        LimitError, match=r"the tables take .* of memory, .* more than memory_limit=100 B; raise it, or"
    ):
        Engine(database, database.encode(database.examples()[0]), memory_limit=100)
    X, y = database.examples()
    with pytest.raises(LimitError, match="memory_limit=200 B"):
        hb.C2RIBClassifier(database, memory_limit="200B").fit(X, y)


def test_a_limit_that_is_given_is_one_of_the_process_with_python() -> None:
    needs = Needs.of(people_and_things())
    assert needs.room_within(PYTHON + sum(needs) + 7) == 7
    with pytest.raises(LimitError, match=r"Python itself takes 524\.3 MB of memory, the tables take .* more than"):
        needs.room_within(PYTHON + sum(needs))
    assert needs.room_within(None) == bytes_of(None) - sum(needs)


@pytest.mark.parametrize(("estimator", "options"), ESTIMATORS, ids=lambda value: getattr(value, "__name__", "options"))
def test_the_model_is_the_same_where_the_examples_are_divided_for_want_of_memory(
    estimator: Any, options: dict[str, Any]
) -> None:
    database = hb.datasets.bank(60, transactions=6, seed=0).database()
    X, y = database.examples()
    options = {"aggregates": False, **options} if estimator is hb.HornBoostClassifier else options

    def learned(**limits: Any) -> list[tuple[str, tuple[float, ...]]]:
        model = estimator(database, random_state=0, **options, **limits).fit(X, y)
        assert not model.refused_
        return [(str(rule.clause), rule.votes) for rule in model.rules_]

    assert learned(memory_limit=with_room_for(database, 120)) == learned()


def test_examples_are_divided_where_they_reach_more_together_than_there_is_memory_for() -> None:
    database = hb.datasets.bank(60, transactions=6, seed=0).database()
    examples = database.encode(database.examples()[0])
    assert type(make_engine(database, examples)) is Engine
    narrow = make_engine(database, examples, memory_limit=with_room_for(database, 120))
    assert isinstance(narrow, PartitionedEngine)
    assert 2 < narrow.parts.n <= 60
    hopeless = make_engine(database, examples, memory_limit=with_room_for(database, 1), look_ahead=1)
    hopeless.frontier(hopeless.root())
    assert "trans" in {joins[0].table for joins in hopeless.refused}
