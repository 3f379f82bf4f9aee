"""The information of features where rows and values have times, against databases that hold only what examples see."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hornboost as hb
from hornboost.activation.pool import FeaturePool
from hornboost.engine import Engine
from hornboost.engine.joins import Visible

N = 60
LATE = ("d", "n", "closed")


def tables(seed: int) -> dict[str, list[dict[str, Any]]]:
    """Examples of fewer entities with times from 0 to 9, their parts, and what hangs on the parts."""
    draw = random.Random(seed)
    target = [
        {"e": k, "t": draw.randrange(25), "when": float(draw.randrange(10)), "y": draw.choice("01")} for k in range(N)
    ]

    def when() -> float | None:
        return draw.choice([None, *map(float, range(10))])

    part = [
        {"t": draw.randrange(27), "p": k, "when": when(), "closed": when(), "c": draw.choice("uv")}
        | {"d": draw.choice("mn"), "n": draw.choice([None, 1.0, 2.0, 3.0, 4.0])}
        for k in range(120)
    ]
    far = [{"p": draw.randrange(120), "when": when(), "w": draw.choice("gh")} for _ in range(150)]
    return {"target": target, "part": part, "far": far}


def dated(rows: dict[str, list[dict[str, Any]]], unit: str | None = None) -> hb.Database:
    frames = {name: pd.DataFrame(found) for name, found in rows.items()}
    for frame in frames.values() if unit else ():
        for column in {"when", "closed"} & set(frame.columns):
            frame[column] = pd.Timestamp("2024-02-27") + pd.to_timedelta(frame[column], unit=unit)
    return read(frames, times=dict.fromkeys(frames, "when"), known_later={"part": {"closed": ["d", "n"]}})


def read(frames: dict[str, pd.DataFrame], **options: Any) -> hb.Database:
    return hb.Database.from_frames(
        frames,
        target="target",
        key="e",
        label="y",
        positive="1",
        keys={"target": {"e": "e", "t": "t"}, "part": {"t": "t", "p": "p"}, "far": {"p": "p"}},
        **options,
    )


def seen(rows: dict[str, list[dict[str, Any]]]) -> hb.Database:
    """Each example with a copy of its own of all that it sees, and with ages as plain numbers."""
    copies: dict[str, list[dict[str, Any]]] = {"target": [], "part": [], "far": []}
    for example in rows["target"]:
        cutoff, number = example["when"], example["e"]
        copies["target"].append({"e": number, "t": number, "y": example["y"]})
        for row in rows["part"]:
            if row["t"] == example["t"] and row["when"] is not None and row["when"] < cutoff:
                known = row["closed"] is not None and row["closed"] < cutoff
                hidden = {} if known else dict.fromkeys(LATE)
                place = {"t": number, "p": number * 1000 + row["p"], "age": cutoff - row["when"]}
                copies["part"].append({**row, **hidden, **place})
                copies["far"] += [
                    {"p": place["p"], "w": other["w"], "age": cutoff - other["when"]}
                    for other in rows["far"]
                    if other["p"] == row["p"] and other["when"] is not None and other["when"] < cutoff
                ]
    frames = {name: pd.DataFrame(found).drop(columns="when", errors="ignore") for name, found in copies.items()}
    types = {"part.n": "numeric", "part.closed": "numeric", "part.age": "numeric", "far.age": "numeric"}
    return read(frames, types=types)


def pool_of(db: hb.Database) -> tuple[FeaturePool, np.ndarray]:
    X, y = db.examples()
    classes = (np.asarray(y) == "1").astype(np.int32)
    engine = Engine(db, db.encode(X), max_depth=2)
    masses = np.random.default_rng(3).uniform(0.5, 1.5, len(X))
    return FeaturePool(engine, classes, np.ones(len(X))), masses


def information(db: hb.Database, kind: str) -> dict[str, float]:
    pool, masses = pool_of(db)
    names = [f"{feature.table}.{feature.column}" for feature in pool.features]
    if kind == "existential":
        found = pool.rank_existential((masses * 2**40).astype(np.int64))[1]
    else:
        found = pool.rank(masses)[1]
        everything = np.arange(len(names))
        if kind == "conditional":
            found = pool.conditional(names.index("part.c"), everything, masses, True)
        if kind == "repartitioned":
            found = pool.information(everything, masses, True)
    return {name: float(value) for name, value in zip(names, found, strict=True) if not name.startswith("target")}


@pytest.mark.parametrize("kind", ["spread", "existential", "conditional", "repartitioned"])
def test_features_inform_as_copies_of_what_examples_see(kind: str) -> None:
    for seed in range(12):
        rows = tables(seed)
        found, wanted = information(dated(rows), kind), information(seen(rows), kind)
        assert found.keys() == wanted.keys()
        assert found == pytest.approx(wanted, abs=1e-9), seed
        assert "part.age" in found
        assert "far.age" in found


def test_an_age_of_dates_informs_as_one_of_numbers() -> None:
    rows = tables(1)
    assert information(dated(rows, "D"), "spread") == pytest.approx(information(dated(rows), "spread"), abs=1e-9)


def test_a_learner_with_an_active_age_sees_it_and_nothing_else() -> None:
    pool, _ = pool_of(dated(tables(2), "D"))
    number = next(k for k, feature in enumerate(pool.features) if (feature.table, feature.column) == ("part", "age"))
    visible = pool.visible([number])
    assert visible == Visible(frozenset({("part", "age")}), frozenset({"part"}))
    frontier = pool.engine.frontier(pool.engine.root(), visible)
    tests = [frontier.refinement(candidate).test for candidate in range(len(frontier))]
    assert {str(test.column) for test in tests if test is not None} == {"age"}


@pytest.mark.parametrize("features", ["margin", "V5", "V12"])
def test_boosters_with_active_features_run_on_dated_data(features: str) -> None:
    db = hb.datasets.bank(200, transactions=10, dated=True, seed=1).database()
    X, y = db.examples()
    model = hb.C2RIBClassifier(db, rounds=8, features=features, random_state=0).fit(X, y)
    assert any("." in name for entry in model.history_["active_features"] for name in entry)
    assert model.predict(X).shape == (200,)
