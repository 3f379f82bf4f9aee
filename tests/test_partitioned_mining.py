"""Queries mined from partitions: the same as from rows that are here, with the same limits and the same words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dated
import hornboost as hb
from hornboost.errors import DataError
from in_parts import in_parts

pytestmark = pytest.mark.filterwarnings("ignore")


def mined(database: hb.Database, X: Any, y: Any, weights: Any, file: Path, **options: Any) -> list[Any]:
    """The model as a file, its scores, and how it was found."""
    model = hb.MLynxClassifier(database, restarts=3, random_state=0, **options).fit(X, y, weights)
    model.save(file)
    scores = model.predict_proba(X).tobytes()
    return [file.read_bytes(), scores, model.n_patterns_, model.n_candidates_, model.left_out_]


@pytest.mark.parametrize("seed", range(9))
def test_random_databases_give_the_same_model(seed: int, tmp_path: Path) -> None:
    database = dated.seeded_case(seed, 0).database
    X, _ = database.examples()
    draw = np.random.default_rng(seed)
    y, weights = draw.permutation(np.arange(len(X)) % 2), draw.random(len(X)) + 0.1
    options = {
        "max_length": int(draw.choice([1, 2, 2, 3])),
        "max_depth": int(draw.choice([1, 2, 2])),
        "oi": bool(draw.integers(2)),
        "max_patterns": int(draw.choice([30, 1000])),
        "max_bindings": int(draw.choice([20, 100_000])),
        "max_rows": int(draw.choice([500, 10**9])),
        "max_columns": int(draw.choice([2, 64])),
        "cache_bytes": int(draw.choice([0, 1 << 29])),
        "support": str(draw.choice(["overall", "any_class", "positive"])),
    }
    here = mined(database, X, y, weights, tmp_path / "m.json", **options)
    stored = database.partition(tmp_path / "parts", [2, 7, 16][seed % 3], small_table=[0, 3][seed % 2])
    for there in (stored, in_parts(database, 3)):
        assert mined(there, X, y, weights, tmp_path / "m.json", **options) == here


@pytest.fixture(scope="module")
def bank() -> hb.Database:
    return hb.datasets.bank(60, transactions=4, noise=0.1, seed=1).database()


def test_literals_go_no_further_than_the_partitions_and_that_is_said(bank: hb.Database, tmp_path: Path) -> None:
    made = bank.partition(tmp_path / "parts", 3, depth=1, small_table=0)
    X, y = bank.examples()
    few: dict[str, Any] = {"max_length": 2, "restarts": 2, "random_state": 0}
    near = hb.MLynxClassifier(bank, max_depth=1, **few).fit(X, y)
    there = hb.MLynxClassifier(made, **few).fit(X, y)
    assert there.rules_ == near.rules_
    assert there.n_patterns_ < hb.MLynxClassifier(bank, **few).fit(X, y).n_patterns_
    assert there.left_out_[0].startswith("literals more than 1 join away from the example, whose rows the partitions")
    assert near.left_out_ == []
    with pytest.raises(DataError, match="max_depth=2 goes further than the partitions"):
        hb.MLynxClassifier(made, max_depth=2, **few).fit(X, y)


def test_patterns_are_the_same_columns(bank: hb.Database, tmp_path: Path) -> None:
    made = bank.partition(tmp_path / "parts", 7, small_table=10)
    X, y = bank.examples()
    here, there = (hb.RelationalPatterns(one, max_length=2).fit(X, y) for one in (bank, made))
    assert there.clauses_ == here.clauses_
    np.testing.assert_array_equal(there.support_, here.support_)
    np.testing.assert_array_equal(there.transform(X[:20]), here.transform(X[:20]))


def test_a_symmetric_relation_cannot_be_turned_round_in_partitions(tmp_path: Path) -> None:
    molecules = hb.datasets.molecules(20, seed=0).database()
    made = molecules.partition(tmp_path / "parts", 2, small_table=0)
    with pytest.raises(DataError, match="symmetric: the rows of 'bond' are in partitions"):
        hb.MLynxClassifier(made, symmetric={"bond": ("atom1", "atom2")}).fit(*made.examples())


def test_ages_that_are_numbers_are_tested_in_partitions(tmp_path: Path) -> None:
    target = pd.DataFrame({"t": range(6), "when": [5.0, 6.0, 7.0, 8.0, 9.0, 10.0], "y": ["0", "1"] * 3})
    part = pd.DataFrame({"t": [0, 1, 2, 3, 4, 5], "when": [4.0, 1.0, 6.5, 2.0, 9.5, 8.0], "n": 1.0})
    times = {"target": "when", "part": "when"}
    here = hb.Database.from_frames({"target": target, "part": part}, "target", key="t", label="y", times=times)
    there = here.partition(tmp_path / "parts", 3, small_table=0)
    clause = 'y="1" :- target(t=T), part(t=T, age<=2).'
    assert there.covers(clause).tolist() == here.covers(clause).tolist() == [True, False, True, False, False, True]
