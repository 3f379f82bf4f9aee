"""The λ of gradient boosting fades where rules separate the classes, and stays what it is where labels have noise."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hornboost as hb
from hornboost.boosting import descent, tuning

FIXED = {
    "random_state": 0,
    "learning_rate": 0.3,
    "max_literals": 1,
    "min_gain": 0.0,
    "corrective": False,
    "negations": False,
}


def score_after(rounds: int, n: int) -> float:
    """The log-odds of one of n examples of each class, told apart by one condition, worked out one step at a time."""
    score = 0.0
    for _ in range(rounds):
        p = 1.0 / (1.0 + math.exp(-score))
        l2 = min(1.0, p * (1.0 - p) / (0.05 * 0.25))
        step = n * (1.0 - p) / (n * p * (1.0 - p) + l2)
        score += 0.3 * (step if step <= 1.0 else 1.0 + math.log(step))
    return score


@pytest.mark.parametrize("rounds", [1, 10, 30, 100])
def test_separated_classes_take_the_steps_of_a_fading_l2(rounds: int) -> None:
    X, y = np.arange(40.0)[:, None], np.arange(40) >= 20
    clf = hb.HornBoostClassifier(rounds=rounds, **FIXED).fit(X, y)
    np.testing.assert_allclose(clf.decision_function(X), np.where(y, 1.0, -1.0) * score_after(rounds, 20), rtol=1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_a_sample_of_the_rows_fades_as_all_of_them_do(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    X, y = np.arange(40.0)[:, None], np.arange(40) >= 20
    sampled = {**FIXED, "random_state": seed, "rounds": 100, "subsample": 0.5}
    faded = hb.HornBoostClassifier(**sampled).fit(X, y).decision_function(X)
    monkeypatch.setattr(descent, "FADES", 0.0)
    unfaded = hb.HornBoostClassifier(**sampled).fit(X, y).decision_function(X)
    assert np.abs(faded).mean() > 1.05 * np.abs(unfaded).mean()


def test_a_first_sample_without_rows_does_not_keep_l2_from_fading() -> None:
    X, y = np.arange(20.0)[:, None], np.arange(20) >= 10
    scores = [
        np.abs(hb.HornBoostClassifier(**sampled).fit(X, y).decision_function(X)).mean()
        for sampled in ({**FIXED, "random_state": seed, "rounds": 150, "subsample": 0.1} for seed in range(6))
    ]
    assert min(scores) > 0.9 * max(scores)  # seeds 1 and 4 draw no row in the first round


def test_what_goes_on_from_other_scores_fades_as_from_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    starts, goes_further = [], tuning._goes_further

    def recorded(training: Any, setting: Any, descend: Any, *further: Any) -> bool:
        def descended(*arguments: Any) -> descent.Descent:
            starts.append(descend(*arguments))
            return starts[-1]

        return goes_further(training, setting, descended, *further)

    monkeypatch.setattr(tuning, "_goes_further", recorded)
    database = hb.datasets.molecules(200, seed=0).database()
    hb.HornBoostClassifier(database, random_state=0, aggregates=False).fit(*database.examples())
    assert starts
    assert min(one.first_curvature for one in starts) > 0.2
    assert max(float(np.abs(one.scores).max()) for one in starts) > 1.0


def saved(model: hb.HornBoostClassifier | hb.HornBoostRegressor, folder: Path) -> bytes:
    model.save(folder / "model.json")
    return (folder / "model.json").read_bytes()


def test_noise_keeps_l2_what_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(0)
    X = rng.random((400, 3))
    y = (X[:, 0] > 0.5) ^ (rng.random(400) < 0.1)
    model = saved(hb.HornBoostClassifier(rounds=60, **FIXED).fit(X, y), tmp_path)
    monkeypatch.setattr(descent, "FADES", 0.0)
    assert saved(hb.HornBoostClassifier(rounds=60, **FIXED).fit(X, y), tmp_path) == model


@pytest.mark.parametrize("loss", ["squared", "absolute", "poisson"])
def test_only_losses_whose_curvature_vanishes_fade(loss: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    X = np.arange(40.0)[:, None]
    y = np.where(X[:, 0] >= 20, 5.0, 0.0)
    model = saved(hb.HornBoostRegressor(loss=loss, rounds=60, max_literals=1).fit(X, y), tmp_path)
    monkeypatch.setattr(descent, "FADES", 2.0)  # any curvature is below twice the first one
    assert saved(hb.HornBoostRegressor(loss=loss, rounds=60, max_literals=1).fit(X, y), tmp_path) == model


def test_planted_rules_without_noise_take_few_rounds(monkeypatch: pytest.MonkeyPatch) -> None:
    database = hb.datasets.molecules(400, seed=0).database()
    X, y = database.examples()
    faded = hb.HornBoostClassifier(database, random_state=0).fit(X, y).tuning_
    monkeypatch.setattr(descent, "FADES", 0.0)
    unfaded = hb.HornBoostClassifier(database, random_state=0).fit(X, y).tuning_
    assert faded["rounds"].sum() < unfaded["rounds"].sum()
    assert faded.loc[faded["chosen"], "loss"].item() < unfaded.loc[unfaded["chosen"], "loss"].item()
