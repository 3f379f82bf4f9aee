"""What a model file keeps of tuning and of the path to a model, and what is said of them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hornboost as hb
from hornboost.errors import ModelError
from hornboost.model import file, seal
from hornboost.model.tuning import Chosen, told


def table(n: int = 120) -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(3)
    X = pd.DataFrame({name: rng.normal(size=n).round(2) for name in "abc"})
    return X, ((X["a"] > 0.2) & (X["b"] < 0.5) | (rng.random(n) < 0.1)).to_numpy().astype(int)


@pytest.fixture(scope="module")
def model() -> hb.HornBoostClassifier:
    return hb.HornBoostClassifier(random_state=0).fit(*table())


@pytest.fixture(scope="module")
def content(model: hb.HornBoostClassifier) -> bytes:
    return file.to_bytes(model._saved())


def test_a_loaded_model_tells_what_was_tried_and_the_path(model: hb.HornBoostClassifier, tmp_path: Path) -> None:
    model.save(tmp_path / "m.json")
    loaded = hb.load(tmp_path / "m.json")
    pd.testing.assert_frame_equal(loaded.tuning_, model.tuning_, rtol=1e-5)
    pd.testing.assert_frame_equal(loaded.path_, model.path_, rtol=1e-5)
    assert loaded.tuning_.attrs == model.tuning_.attrs == {"loss": "log_loss", "folds": 5}
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "m.json").read_bytes()


def test_losses_are_kept_to_six_digits(content: bytes) -> None:
    kept = json.loads(content)["model"]["training"]
    losses = [*kept["path"]["training_loss"], *kept["path"]["held_out_loss"]]
    losses += [trial["loss"] for trial in kept["tuning"]["trials"]]
    assert losses == [float(f"{loss:.6g}") for loss in losses]


def test_a_regressor_without_trials_keeps_its_path(tmp_path: Path) -> None:
    X, _ = table()
    y = (2 * X["a"] - X["b"]).to_numpy()
    reg = hb.HornBoostRegressor(
        rounds=6, max_literals=1, max_depth=2, aggregates=False, constants=False, corrective=False, random_state=0
    ).fit(X, y)
    reg.save(tmp_path / "m.json")
    loaded = hb.load(tmp_path / "m.json")
    assert len(loaded.tuning_) == 0
    assert loaded.path_["held_out_loss"].isna().all()
    pd.testing.assert_frame_equal(loaded.path_, reg.path_, rtol=1e-5)
    assert loaded.path_.attrs == {"loss": "squared_error"}
    assert Chosen.of(loaded.training_) is None


def test_models_of_other_estimators_and_older_files_have_neither(content: bytes, tmp_path: Path) -> None:
    parsed = json.loads(content)
    for name in ("tuning", "path"):
        del parsed["model"]["training"][name]
    (tmp_path / "old.json").write_bytes(sealed(parsed))
    hb.C2RIBClassifier(rounds=2, random_state=0).fit(*table()).save(tmp_path / "other.json")
    for name in ("old", "other"):
        loaded = hb.load(tmp_path / f"{name}.json")
        assert not hasattr(loaded, "tuning_")
        assert not hasattr(loaded, "path_")


def test_older_files_tell_of_trials_on_all_examples(
    model: hb.HornBoostClassifier, content: bytes, tmp_path: Path
) -> None:
    parsed = json.loads(content)
    for trial in parsed["model"]["training"]["tuning"]["trials"]:
        trial["chosen"] &= trial.pop("subsample") == 1.0
    (tmp_path / "old.json").write_bytes(sealed(parsed))
    loaded = hb.load(tmp_path / "old.json")
    assert loaded.tuning_["subsample"].tolist() == [1.0] * len(model.tuning_)
    assert loaded.tuning_.columns.tolist() == model.tuning_.columns.tolist()


def test_what_is_not_finite_is_left_out(model: hb.HornBoostClassifier) -> None:
    class Other:
        tuning_ = model.tuning_.assign(loss=np.inf)
        path_ = model.path_.assign(training_loss=np.nan)

    Other.tuning_.attrs.update(model.tuning_.attrs)
    assert told(Other) == {"tuning": {"loss": "log_loss", "folds": 5, "trials": []}}


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("tuning",), []),
        (("tuning",), {}),
        (("tuning", "loss"), "<b>"),
        (("tuning", "folds"), 0),
        (("tuning", "folds"), "5"),
        (("tuning", "sample"), "many"),
        (("tuning", "trials"), {}),
        (("tuning", "trials", 0, "loss"), "0.1"),
        (("tuning", "trials", 0, "chosen"), 1),
        (("tuning", "trials", 0, "rounds"), -1),
        (("tuning", "trials", 0, "subsample"), 0.0),
        (("tuning", "trials", 0, "subsample"), "all"),
        (("tuning", "trials", 0, "max_depth"), 1.5),
        (("tuning", "trials", 0, "aggregates"), "<b>"),
        (("tuning", "trials", 0, "more"), 1),
        (("tuning", "trials", 0), {"chosen": True}),
        (("path",), []),
        (("path", "loss"), "loss"),
        (("path", "rules"), [1]),
        (("path", "rules", 0), 10**6),
        (("path", "conditions", 0), -1),
        (("path", "training_loss"), []),
        (("path", "training_loss", 0), None),
        (("path", "held_out_loss", 0), "nan"),
        (("path", "held_out_loss"), [0.5] * 10_000),
    ],
    ids=str,
)
def test_invalid_content_is_refused_although_the_checksum_fits(
    content: bytes, place: tuple[Any, ...], value: object
) -> None:
    parsed = json.loads(content)
    part = parsed["model"]["training"]
    for step in place[:-1]:
        part = part[step]
    part[place[-1]] = value
    with pytest.raises(ModelError, match=r"^m.json: the model's content is not valid"):
        file.from_bytes(sealed(parsed), "m.json")


def test_two_trials_cannot_both_be_chosen(content: bytes) -> None:
    parsed = json.loads(content)
    for trial in parsed["model"]["training"]["tuning"]["trials"]:
        trial["chosen"] = True
    with pytest.raises(ModelError, match="more than one"):
        file.from_bytes(sealed(parsed), "m.json")


def test_what_was_chosen_is_said_in_words() -> None:
    usual = {"max_literals": 3, "max_depth": 2, "aggregates": False, "constants": False, "corrective": False}
    best = {**usual, "aggregates": True, "rounds": 44, "loss": 0.207, "chosen": True}
    trials = [{**usual, "rounds": 9, "loss": 0.3, "chosen": False}, best]
    chosen = Chosen.of({"tuning": {"loss": "log_loss", "folds": 5, "trials": trials}})
    assert chosen is not None
    assert chosen.evidence == "5-fold cross-validation"
    assert chosen.setting == "up to 3 refinements a rule, with aggregates, 44 rounds"
    assert (chosen.loss, chosen.value) == ("log-loss", 0.207)
    one = Chosen.of({"tuning": {"loss": "squared_error", "folds": 1, "trials": [{**best, "max_literals": 1}]}})
    assert one is not None
    assert one.evidence == "a held-out part of the examples"
    assert one.setting == "up to 1 refinement a rule, with aggregates, 44 rounds"


def sealed(parsed: dict[str, Any]) -> bytes:
    return seal.sealed("model", parsed["version"], parsed["model"])
