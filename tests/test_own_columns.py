"""Conditions on the examples' own rows, summed up by slots: the same sums as by pairs, in all ways to add them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import hornboost as hb
from hornboost.engine import Engine, Frontier, columns
from hornboost.engine.blocks import Pairs

N = 60
CLASSES = 3


def own_frontier(seed: int, n_jobs: int = 1, n_values: int = 7) -> tuple[Engine, Frontier]:
    """The frontier of a table of numbers and names, some of them missing, one column constant and one without any."""
    rng = np.random.default_rng(seed)
    table: dict[str, Any] = {f"x{k}": rng.integers(0, n_values, N).astype(float) for k in range(5)}
    table |= {f"c{k}": rng.choice(["a", "b", "c"], N).astype(object) for k in range(4)}
    for name in ("x1", "x2", "c1"):
        table[name][rng.random(N) < 0.3] = None
    table |= {"constant": np.ones(N), "nothing": np.full(N, np.nan)}
    frame = pd.DataFrame(table | {"id": np.arange(N), "label": rng.choice(["0", "1"], N)})
    db = hb.Database.from_frames({"examples": frame}, target="examples", key="id", label="label")
    engine = Engine(db, db.encode(db.examples()[0]), n_jobs=n_jobs)
    return engine, engine.frontier(engine.root())


def pairs_of(frontier: Frontier) -> Pairs:
    (group,) = frontier.groups
    (pairs,) = group.pairs
    assert pairs.columns is not None
    return pairs


def test_a_column_has_one_slot_for_each_value_one_for_missing_ones_and_one_for_none() -> None:
    _, frontier = own_frontier(0)
    found = pairs_of(frontier).columns
    assert found is not None
    slots = {name: set(found.slots[:, k].tolist()) for k, name in enumerate(_names(frontier))}
    assert slots["x0"] == set(range(7))
    assert slots["x1"] == set(range(8))
    assert slots["c1"] == {0, 1, 2, 3}
    assert slots["constant"] == {0}


def _names(frontier: Frontier) -> list[str]:
    option = frontier.groups[0].options[0]
    return [option.attributes.columns[k].name for k in option.block.attributes]


@pytest.mark.parametrize("n_channels", [1, 2, 6])
@pytest.mark.parametrize("n_jobs", [1, 3])
def test_sums_by_slots_are_those_by_pairs(n_channels: int, n_jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if n_jobs > 1:  # parts of the examples, of some columns and some rows at a time
        monkeypatch.setattr(columns, "LARGE", 0)
        monkeypatch.setattr(columns, "AT_ONCE", 100)
    rng = np.random.default_rng(n_channels)
    for seed in range(5):
        engine, frontier = own_frontier(seed, n_jobs)
        pairs = pairs_of(frontier)
        alone = Pairs.of([frontier.groups[0].options[0].block])
        channels, covered = rng.integers(-9, 9, (N, n_channels)), rng.random(N) < 0.7
        weights, classes = rng.integers(0, 9, N), rng.integers(0, CLASSES, N).astype(np.int32)
        pool = engine.workshop.pool

        def summed(one: Pairs, way: str) -> list[list[int]]:
            by_class = way in ("score", "add_weights")
            out = np.zeros((len(frontier), CLASSES if by_class else n_channels), np.int64)  # noqa: B023
            given = (weights, covered, classes) if by_class else (channels, covered)  # noqa: B023
            getattr(one, way)(*given, out, pool, n_jobs)  # noqa: B023
            return list(out.tolist())

        for way in ("score", "sum_channels", "add_weights", "add_channels"):
            assert summed(pairs, way) == summed(alone, way), way


def test_few_columns_and_columns_of_very_many_values_are_left_to_pairs(monkeypatch: pytest.MonkeyPatch) -> None:
    _, frontier = own_frontier(0)
    option = frontier.groups[0].options[0]
    monkeypatch.setattr(columns, "FEW", len(option.block.attributes) + 1)
    assert option.columns() is None
    monkeypatch.setattr(columns, "FEW", len(option.block.attributes))
    assert option.columns() is not None
    monkeypatch.setattr(columns, "MOST", 3)
    assert option.columns() is None


def test_an_example_of_several_rows_has_no_slot() -> None:
    _, frontier = own_frontier(0)
    option = frontier.groups[0].options[0]
    block = option.block
    numeric = option.attributes.numeric[list(block.attributes)]
    swapped = block.pairs.copy()
    thresholds = np.flatnonzero((swapped >= block.starts[0]) & (swapped < block.stops[0]))
    swapped[thresholds[0]] = block.starts[0] + (swapped[thresholds[0]] + 1 - block.starts[0]) % 7
    assert columns.OwnColumns.of(block, numeric) is not None
    block.pairs[:] = swapped
    assert columns.OwnColumns.of(block, numeric) is None
