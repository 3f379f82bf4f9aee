"""The engine over partitions: learners cannot tell it from the engine over rows that are here."""

from __future__ import annotations

from random import Random
from typing import Any

import numpy as np
import pytest

from dated_databases import dated_case
from hornboost import Database
from hornboost.data.table import Table
from hornboost.engine import Engine, Numbers, State, Visible, columns, make_engine, reaching
from hornboost.engine.partitioned import PartitionedEngine
from in_parts import in_parts
from random_databases import random_case

PARTS = [1, 2, 7, 16]


def random_examples(seed: int, dated: bool) -> tuple[Database, Table]:
    rng = Random(seed)
    if dated:
        case = dated_case(rng)
        database = case.database()
        return database, database.encode(case.examples())
    plain = random_case(rng, rng.choice([1, 2, 3]), rng.choice([3, 6, 9]), 3, 0)
    database = plain.database()
    return database, database.encode(plain.new_examples.arrow() if rng.random() < 0.3 else plain.target.arrow())


def visibles(rng: Random, database: Database) -> list[Visible | None]:
    """Nothing hidden, or some attributes and then more of them."""
    columns = [(table.name, column.name) for table in database.tables.values() for column in table.attributes]
    columns += [(table.name, str(table.age)) for table in database.tables.values() if table.times is not None]
    some = frozenset(place for place in columns if rng.random() < 0.5)
    return [None, Visible(some, frozenset(database.tables)), Visible(frozenset(columns), frozenset(database.tables))]


def walk(seed: int, here: Engine, there: Engine, visible: Visible | None) -> None:
    """Take the same random steps in both engines, and compare all that can be seen on the way."""
    rng, n = Random(seed), here.examples.n_rows
    draw = np.random.default_rng(seed)
    states: tuple[State, State] = here.root(), there.root()
    for _ in range(4):
        fronts = here.frontier(states[0], visible), there.frontier(states[1], visible)
        assert len(fronts[0]) == len(fronts[1])
        # attributes that came into sight at different times are apart, in the order in which they did
        orders = [sorted(range(len(front)), key=front._order) for front in fronts]
        steps = [[front.refinement(k) for k in order] for front, order in zip(fronts, orders, strict=True)]
        assert steps[0] == steps[1]
        weights, classes = draw.integers(0, 1 << 40, n), draw.integers(0, 3, n).astype(np.int32)
        channels = draw.integers(-(1 << 40), 1 << 40, (n, 2))
        both = list(zip((here, there), fronts, orders, strict=True))
        np.testing.assert_array_equal(*(e.score(f, weights, classes, 3)[order] for e, f, order in both))
        np.testing.assert_array_equal(*(e.sums(f, channels)[order] for e, f, order in both))
        if not steps[0]:
            break
        step = rng.choice(steps[0])
        states = here.refine(states[0], step), there.refine(states[1], step)
        assert states[0].specs == states[1].specs
        np.testing.assert_array_equal(states[0].covered, states[1].covered)
    assert here.refused == there.refused


def look_around(seed: int, here: Engine, there: Engine, visible: Visible | None) -> None:
    """Take random steps, and compare what is seen after each, all of it asked for at once."""
    rng, n = Random(seed), here.examples.n_rows
    draw = np.random.default_rng(seed)
    states: tuple[State, State] = here.root(), there.root()
    step = None
    for _ in range(4):
        numbers = Numbers(3, draw.integers(0, 1 << 40, n), draw.integers(0, 3, n).astype(np.int32))
        if rng.random() < 0.5:
            numbers = Numbers(2, draw.integers(-(1 << 40), 1 << 40, (n, 2)))
        looks = here.look(states[0], step, numbers, visible), there.look(states[1], step, numbers, visible)
        states = looks[0].state, looks[1].state
        assert states[0].specs == states[1].specs
        np.testing.assert_array_equal(states[0].covered, states[1].covered)
        orders = [sorted(range(len(look.frontier)), key=look.frontier._order) for look in looks]
        both = list(zip(looks, orders, strict=True))
        steps = [[look.frontier.refinement(k) for k in order] for look, order in both]
        assert steps[0] == steps[1]
        np.testing.assert_array_equal(*(look.sums[order] for look, order in both))
        if not steps[0]:
            break
        step = rng.choice(steps[0])
    assert here.refused == there.refused


@pytest.mark.filterwarnings("ignore:the examples see no row")
@pytest.mark.parametrize("dated", [False, True])
@pytest.mark.parametrize("by_marks", [False, True])
def test_the_engine_over_partitions_is_the_engine(dated: bool, by_marks: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reaching, "pays", lambda held, rows: by_marks)
    monkeypatch.setattr(columns, "FEW", 1 if by_marks else columns.FEW)
    for seed in range(8):
        database, examples = random_examples(seed, dated)
        rng = Random(seed)
        options: dict[str, Any] = {"max_entries": rng.choice([20, 10**6]), "max_bins": rng.choice([2, 10**6])}
        options["constants"] = [name for name in database.domains if rng.random() < 0.3]
        n, draws = rng.choice(PARTS), np.random.default_rng(seed).integers(0, 16, examples.n_rows)
        divided = in_parts(database, n, lambda rows, draws=draws: draws)
        here, there = (make_engine(one, examples, **options) for one in (database, divided))
        assert isinstance(there, PartitionedEngine)
        for k, visible in enumerate(visibles(rng, database)):
            (walk if (seed + k) % 2 else look_around)(seed, here, there, visible)
