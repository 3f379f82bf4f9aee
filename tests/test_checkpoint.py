"""A fit that was broken off goes on from its checkpoint to the model of an unbroken one."""

from __future__ import annotations

import math
import os
import re
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hornboost as hb
from hornboost import C2RIBClassifier, HornBoostClassifier, datasets
from hornboost.boosting import gradient, tuning
from hornboost.engine import needs
from hornboost.engine.needs import ENTRY_BYTES, Needs
from hornboost.errors import ModelError
from hornboost.learners.newton import NewtonSearch
from hornboost.memory import PYTHON
from hornboost.model import checkpoint, seal, whole
from hornboost.model.diagnosis import NothingLearnedWarning
from hornboost.stopping import OUT_OF_TIME, Stopped


class Stop(Exception):  # noqa: N818
    """The machine goes down."""


def stop_after(n: int) -> Any:
    def callback(row: dict[str, Any]) -> None:
        if row["round"] == n:
            raise Stop

    return callback


def trains() -> tuple[hb.Database, pd.DataFrame, pd.Series]:
    db = hb.datasets.trains(150, noise=0.1, seed=2).database()
    return db, *db.examples()


def saved(model: C2RIBClassifier, folder: Path) -> bytes:
    model.save(folder / "model.json")
    return (folder / "model.json").read_bytes()


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"features": "margin", "stall": 3},
        {"features": "V3"},
        {"early_stopping": 5},
        {"class_weight": "balanced", "max_literals": 3},
    ],
)
def test_a_fit_goes_on_to_the_same_model(settings: dict[str, Any], tmp_path: Path) -> None:
    db, X, y = trains()
    given: dict[str, Any] = {"rounds": 25, "random_state": 1, **settings}
    whole = C2RIBClassifier(db, **given).fit(X, y)
    broken = C2RIBClassifier(db, **given, checkpoint=tmp_path / "run.json", callbacks=[stop_after(4)])
    with pytest.raises(Stop):
        broken.fit(X, y)
    seen: list[int] = []
    resumed = C2RIBClassifier(
        db, **given, checkpoint=tmp_path / "run.json", callbacks=[lambda row: seen.append(row["round"])]
    ).fit(X, y)
    assert saved(resumed, tmp_path) == saved(whole, tmp_path)
    untimed = [model.history_.drop(columns="seconds") for model in (whole, resumed)]
    pd.testing.assert_frame_equal(*untimed)
    assert seen == list(range(1, len(whole.history_) + 1))


def test_known_rounds_are_not_searched_for_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    db, X, y = trains()
    given: dict[str, Any] = {"random_state": 1, "checkpoint": tmp_path / "run.json"}
    C2RIBClassifier(db, rounds=10, **given).fit(X, y)
    searched = []
    from hornboost.boosting import c2rib

    grow = c2rib.grow
    monkeypatch.setattr(c2rib, "grow", lambda *args, **settings: searched.append(1) or grow(*args, **settings))
    longer = C2RIBClassifier(db, rounds=14, **given).fit(X, y)
    assert len(searched) == 4
    assert len(longer.history_) == 14
    assert len(C2RIBClassifier(db, rounds=3, **given).fit(X, y).history_) == 3
    assert len(searched) == 4


def test_several_classes_go_on_with_the_one_that_was_broken_off(tmp_path: Path) -> None:
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True, as_frame=True)
    given: dict[str, Any] = {"rounds": 6, "random_state": 0}
    whole = C2RIBClassifier(**given).fit(X, y)
    calls = []

    def in_the_second_class(row: dict[str, Any]) -> None:
        calls.append(row)
        if len(calls) == 9:
            raise Stop

    with pytest.raises(Stop):
        C2RIBClassifier(**given, checkpoint=str(tmp_path / "iris.json"), callbacks=[in_the_second_class]).fit(X, y)
    resumed = C2RIBClassifier(**given, checkpoint=str(tmp_path / "iris.json")).fit(X, y)
    assert saved(resumed, tmp_path) == saved(whole, tmp_path)


def test_a_checkpoint_of_another_fit_is_refused(tmp_path: Path) -> None:
    db, X, y = trains()
    given: dict[str, Any] = {"rounds": 3, "random_state": 1, "checkpoint": tmp_path / "run.json"}
    C2RIBClassifier(db, **given).fit(X, y)
    before = (tmp_path / "run.json").read_bytes()
    other_tables = hb.datasets.trains(150, noise=0.1, seed=3).database()
    weights = [2.0] + [1.0] * (len(X) - 1)
    for model, data, weight in (
        (C2RIBClassifier(db, **{**given, "max_literals": 2}), (X, y), None),
        (C2RIBClassifier(db, **{**given, "max_depth": 1}), (X, y), None),
        (C2RIBClassifier(db, **{**given, "random_state": 2}), (X, y), None),
        (C2RIBClassifier(db, **given), (X[:-1], y[:-1]), None),
        (C2RIBClassifier(db, **given), (X, y), weights),
        (C2RIBClassifier(other_tables, **given), other_tables.examples(), None),
    ):
        with pytest.raises(
            ModelError,
            match=r"run\.json: this checkpoint is of other data or other settings; name another file, or delete",
        ):
            model.fit(*data, sample_weight=weight)
    assert (tmp_path / "run.json").read_bytes() == before
    assert (
        len(
            C2RIBClassifier(
                db,
                **{
                    **given,
                    "n_jobs": 2,
                    "random_state": np.int64(1),
                    "max_depth": np.int64(2),
                    "time_limit": 60.0,
                    "cache_bytes": 0,
                },
            )
            .fit(X, y)
            .history_
        )
        == 3
    )


def test_a_file_that_can_no_longer_be_written_costs_neither_the_model_nor_the_error(tmp_path: Path) -> None:
    db, X, y = trains()
    folder = tmp_path / "runs"
    given: dict[str, Any] = {"rounds": 4, "random_state": 1, "checkpoint": folder / "run.json"}

    def remove(row: dict[str, Any]) -> None:
        if row["round"] == 2:
            (folder / "run.json").unlink()
            folder.rmdir()

    folder.mkdir()
    with pytest.warns(UserWarning, match="the checkpoint could not be written, and the fit goes on: .*run.json"):
        model = C2RIBClassifier(db, **given, callbacks=[remove]).fit(X, y)
    assert len(model.history_) == 4
    folder.mkdir()
    with pytest.raises(Stop), pytest.warns(UserWarning, match="could not be written"):
        C2RIBClassifier(db, **given, callbacks=[remove, stop_after(2)]).fit(X, y)


@pytest.mark.filterwarnings("ignore::hornboost.model.diagnosis.JoinsLeftOutWarning")
def test_joins_that_were_refused_are_not_forgotten(tmp_path: Path) -> None:
    db, X, y = trains()
    limit = PYTHON + sum(Needs.of(db)) + ENTRY_BYTES
    given: dict[str, Any] = {"rounds": 4, "random_state": 1, "memory_limit": limit}
    whole = C2RIBClassifier(db, **given).fit(X, y)
    for _ in range(2):
        resumed = C2RIBClassifier(db, **given, checkpoint=tmp_path / "run.json").fit(X, y)
        assert resumed.refused_ == whole.refused_
    assert whole.refused_
    with pytest.raises(ModelError, match="found without joins for which there is memory now; give the memory_limit"):
        C2RIBClassifier(db, rounds=6, random_state=1, checkpoint=tmp_path / "run.json").fit(X, y)


def test_rounds_that_follow_other_joins_are_not_gone_on_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where a time limit ends counting joins, none is left out, and the next fit finds its own rounds."""
    monkeypatch.setattr(needs, "MANY", 20)
    monkeypatch.setattr(needs, "OF_ROWS", 0)
    db = datasets.bank(60, transactions=4, noise=0.1, seed=1).database()
    X, y = db.examples()
    given: dict[str, Any] = {"rounds": 4, "aggregates": False, "constants": False, "random_state": 0}
    whole = HornBoostClassifier(db, **given).fit(X, y)

    def out_of_time(*_: object) -> None:
        raise Stopped(OUT_OF_TIME)

    with monkeypatch.context() as patched:
        patched.setattr(gradient, "narrow", out_of_time)
        cut_short = HornBoostClassifier(db, **given, checkpoint=tmp_path / "run.json").fit(X, y)
    resumed = HornBoostClassifier(db, **given, checkpoint=tmp_path / "run.json").fit(X, y)
    assert str(cut_short.rules_) != str(whole.rules_)
    assert str(resumed.rules_) == str(whole.rules_)


def test_what_is_no_checkpoint_is_refused_in_a_sentence(tmp_path: Path) -> None:
    db, X, y = trains()
    place = tmp_path / "run.json"
    model = C2RIBClassifier(db, rounds=2, random_state=1, checkpoint=place).fit(X, y)
    whole = place.read_bytes()
    model.save(tmp_path / "model.json")
    for content, sentence in (
        (b"", "the file is damaged, cut short or no checkpoint; name another file, or delete this one to begin anew$"),
        (whole[: len(whole) // 2], "the file is damaged, cut short or no checkpoint"),
        (bytes(np.random.default_rng(0).permutation(list(whole)).astype(np.uint8)), "the file is damaged, cut short"),
        (re.sub(rb"(\d)\.0", rb"\g<1>1.0", whole, count=1), "the checksum does not match"),
        ((tmp_path / "model.json").read_bytes(), "this is no checkpoint file of HornBoost; name another file"),
        (
            whole.replace(b'"version": %d' % checkpoint.VERSION, b'"version": %d' % (checkpoint.VERSION + 1)),
            f"the checkpoint has format version {checkpoint.VERSION + 1}",
        ),
    ):
        place.write_bytes(content)
        with pytest.raises(ModelError, match=sentence):
            C2RIBClassifier(db, rounds=2, random_state=1, checkpoint=place).fit(X, y)
    with pytest.raises(ModelError, match="a fit without a seed cannot be gone on with; set random_state to a number"):
        C2RIBClassifier(db, checkpoint=tmp_path / "other.json").fit(X, y)
    for name, sentence in (
        ("x" * 300, "the checkpoint cannot be read"),
        ("a\0b", "the checkpoint cannot be read"),
        ("", "cannot be read"),
    ):
        with pytest.raises(ModelError, match=sentence):
            C2RIBClassifier(db, random_state=1, checkpoint=name).fit(X, y)
    seen: list[dict[str, Any]] = []
    with pytest.raises(ModelError, match="cannot be written"):
        C2RIBClassifier(db, random_state=1, checkpoint=tmp_path / "nowhere" / "run.json", callbacks=[seen.append]).fit(
            X, y
        )
    assert not seen


def test_settings_without_effect_may_change(tmp_path: Path) -> None:
    db, X, y = trains()
    given: dict[str, Any] = {"rounds": 3, "random_state": 1, "checkpoint": tmp_path / "run.json"}
    C2RIBClassifier(db, **given).fit(X, y)
    idle = {"trend_window": 4, "threshold": 1.5, "stall": 3, "ranking": "existential", "validation_fraction": 0.3}
    assert len(C2RIBClassifier(db, **given, **idle).fit(X, y).history_) == 3
    (tmp_path / "run.json").unlink()
    C2RIBClassifier(db, **given, features="margin", early_stopping=9).fit(X, y)
    for name, value in idle.items():
        with pytest.raises(ModelError, match="other settings"):
            C2RIBClassifier(db, **given, features="margin", early_stopping=9, **{name: value}).fit(X, y)


SPEC = ("runs", "east", 0, "clauses", 0)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("runs",), []),
        (("runs", "east"), {}),
        (("runs", "east", 0, "figures"), "x"),
        (("runs", "east", 0, "figures", 0), 10**400),
        (SPEC, []),
        ((*SPEC, 0, "table"), "car"),
        ((*SPEC, 0, "parent"), 0),
        ((*SPEC, 0, "tests"), [["nothing", "=", "x"]]),
        ((*SPEC, 0, "tests"), [["train", "exec", "x"]]),
        ((*SPEC, 0, "tests"), [["train", ">=", 1.0]]),
        ((*SPEC, 0, "tests"), [["train", "=", 1]]),
        ((*SPEC, 0, "tests"), [["train", ">=", "x"]]),
        ((*SPEC, 1, "table"), "nowhere"),
        ((*SPEC, 1, "parent"), 7),
        ((*SPEC, 1, "parent"), 1),
        ((*SPEC, 1, "join"), None),
        ((*SPEC, 1, "join", "column"), "nothing"),
        ((*SPEC, 1, "join", "column"), "length"),
        ((*SPEC, 1, "join", "source"), [3, "train"]),
        ((*SPEC, 1, "join", "source"), [-1, "train"]),
        ((*SPEC, 1, "join", "source"), ["train"]),
        ((*SPEC, 1, "join", "equal"), [["car", 0, "nothing"]]),
        ((*SPEC, 1, "join", "equal"), [["car", 0, "train"]]),
        (("refused",), [1]),
        (("refused",), [[[], -1]]),
    ],
    ids=str,
)
def test_a_forged_checkpoint_is_refused_in_a_sentence(path: tuple[Any, ...], value: Any, tmp_path: Path) -> None:
    db, X, y = trains()
    place = tmp_path / "run.json"
    given: dict[str, Any] = {"rounds": 2, "random_state": 1, "checkpoint": place}
    C2RIBClassifier(db, **given).fit(X, y)
    body = seal.unsealed(place.read_bytes(), "run.json", "checkpoint", checkpoint.VERSION, "")
    path = tuple(next(iter(body["runs"])) if step == "east" else step for step in path)
    at = body
    for step in path[:-1]:
        at = at[step]
    at[path[-1]] = value
    place.write_bytes(seal.sealed("checkpoint", checkpoint.VERSION, body))
    with pytest.raises(ModelError, match=r"run\.json: the checkpoint's content is not valid \(.*\); name another file"):
        C2RIBClassifier(db, **given).fit(X, y)


def test_a_time_limit_that_ends_while_rounds_are_repeated_loses_none(tmp_path: Path) -> None:
    db, X, y = trains()
    given: dict[str, Any] = {"random_state": 1, "checkpoint": tmp_path / "run.json"}
    known = C2RIBClassifier(db, rounds=12, **given).fit(X, y)
    late = C2RIBClassifier(db, rounds=100, time_limit=1e-9, **given).fit(X, y)
    assert late.stopped_ == "the time limit was reached"
    assert len(late.history_) == 12
    np.testing.assert_array_equal(late.predict_proba(X), known.predict_proba(X))
    again = C2RIBClassifier(db, rounds=14, **given).fit(X, y)
    del given["checkpoint"]
    assert saved(again, tmp_path) == saved(C2RIBClassifier(db, rounds=14, **given).fit(X, y), tmp_path)


def test_a_time_limit_that_ends_before_aggregates_are_there_keeps_nothing_found_without_them(tmp_path: Path) -> None:
    db = hb.datasets.bank(60, transactions=5, seed=0).database()
    X, y = db.examples()
    given: dict[str, Any] = {"rounds": 6, "max_depth": 2, "aggregates": True, "random_state": 1}
    unbroken = saved(hb.HornBoostClassifier(db, **given).fit(X, y), tmp_path)
    kept = {**given, "checkpoint": tmp_path / "run.json"}
    with pytest.warns(NothingLearnedWarning, match="the search reached its time_limit"):
        late = hb.HornBoostClassifier(db, **kept, time_limit=1e-9).fit(X, y)
    assert late.stopped_ == "the time limit was reached"
    assert late.left_out_["aggregates"] == "the time limit was reached before they were computed"
    assert not late.rules_
    assert not (tmp_path / "run.json").exists()
    whole_run = hb.HornBoostClassifier(db, **kept).fit(X, y)
    assert any(rule.clause.aggregates for rule in whole_run.rules_)
    again = hb.HornBoostClassifier(db, **{**kept, "rounds": 100}, time_limit=1e-9).fit(X, y)
    assert again.rules_  # what is known is worth the time to repeat it, and the aggregates in it
    later = hb.HornBoostClassifier(db, **kept).fit(X, y)
    assert saved(later.set_params(checkpoint=None), tmp_path) == unbroken


def test_ctrl_c_keeps_the_model_and_its_checkpoint(tmp_path: Path) -> None:
    db, X, y = trains()
    given: dict[str, Any] = {"random_state": 1, "checkpoint": tmp_path / "run.json"}

    def press(row: dict[str, Any]) -> None:
        if row["round"] == 5:
            os.kill(os.getpid(), signal.SIGINT)

    model = C2RIBClassifier(db, rounds=1_000_000, **given, callbacks=[press])
    with pytest.raises(KeyboardInterrupt, match="C2RIBClassifier holds what was learned until then"):
        model.fit(X, y)
    assert model.n_rounds_ == 5
    resumed = C2RIBClassifier(db, rounds=5, **given).fit(X, y)
    np.testing.assert_array_equal(resumed.decision_function(X), model.decision_function(X))


def few_settings(checkpoint: Path | None = None, **given: Any) -> hb.HornBoostClassifier:
    settings = {"max_depth": 1, "aggregates": False, "constants": False, "subsample": 1.0, "corrective": False}
    return hb.HornBoostClassifier(trains()[0], random_state=1, checkpoint=checkpoint, **settings, **given)


def test_trials_are_kept_as_well_and_not_repeated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, X, y = trains()
    found, last, search = [], math.inf, NewtonSearch._search

    def counted(self: Any, *arguments: Any) -> Any:
        if len(found) == last:
            raise Stop
        found.append(1)
        return search(self, *arguments)

    monkeypatch.setattr(NewtonSearch, "_search", counted)
    at_once = few_settings().fit(X, y)
    n_folds, n_rounds, total = at_once.tuning_.attrs["folds"], at_once.n_rounds_, len(found)
    found.clear()
    last = total - n_rounds - 2 * n_folds  # near the end of the last trial
    with pytest.raises(Stop):
        few_settings(tmp_path / "run.json").fit(X, y)
    body = seal.unsealed((tmp_path / "run.json").read_bytes(), "", "checkpoint", checkpoint.VERSION, "")
    under_way = [name for name in body["runs"] if "fold" in name]
    assert len(under_way) == n_folds
    assert len(body["runs"]) == len(at_once.tuning_) + n_folds
    last = math.inf
    resumed = few_settings(tmp_path / "run.json").fit(X, y)
    assert len(found) == total
    assert saved(resumed, tmp_path) == saved(at_once, tmp_path)
    pd.testing.assert_frame_equal(resumed.tuning_, at_once.tuning_)


def test_a_fit_goes_on_to_the_same_model_although_its_tuning_was_cut_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, X, y = trains()
    monkeypatch.setattr(tuning, "BY_CHANCE", 0.0)
    at_once = few_settings(rounds=6).fit(X, y)
    assert at_once.tuning_["chosen"].tolist()[0] is False
    with monkeypatch.context() as patch:
        patch.setattr(gradient, "search", lambda choices, attempt: search_once(choices, attempt))
        assert few_settings(tmp_path / "run.json", rounds=6).fit(X, y).tuning_["chosen"].tolist() == [True]
    resumed = few_settings(tmp_path / "run.json", rounds=6).fit(X, y)
    assert saved(resumed, tmp_path) == saved(at_once, tmp_path)


def search_once(choices: tuning.Choices, attempt: tuning.Attempt) -> tuple[list[tuning.Trial], tuning.Trial | None]:
    """What comes of a search if time is up after the first trial."""
    trials, _ = tuning.search({name: values[:1] for name, values in choices.items()}, attempt)
    return trials, trials[0]


def test_what_killed_processes_left_is_swept_and_what_is_being_written_is_not(tmp_path: Path) -> None:
    place = tmp_path / "run.json"
    handle, being_written = whole._temporary(place)
    (tmp_path / ".run.json.dead.tmp").write_bytes(b"{")
    (tmp_path / ".other.json.dead.tmp").write_bytes(b"{")
    whole.write_whole(place, b"{}")
    names = {path.name for path in tmp_path.iterdir()}
    assert names == {"run.json", ".other.json.dead.tmp", Path(being_written).name}
    os.close(handle)
    whole.write_whole(place, b"[]")
    assert {path.name for path in tmp_path.iterdir()} == {"run.json", ".other.json.dead.tmp"}
    assert place.read_bytes() == b"[]"
