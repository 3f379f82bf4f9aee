from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import cross_val_score
from sklearn.multiclass import OneVsRestClassifier

import hornboost as hb
from hornboost import stopping
from hornboost.jit import jit
from hornboost.model.diagnosis import NothingLearnedWarning
from hornboost.stopping import (
    INTERRUPTED,
    OUT_OF_TIME,
    Stopped,
    check,
    fitting,
    holding,
    learning,
    now,
    off_the_clock,
    unstopped,
    untimed,
    working,
)

FOREVER = 10**6


@pytest.fixture(scope="module")
def bank() -> tuple[hb.Database, Any, Any]:
    database = hb.datasets.bank(2000, transactions=20, noise=0.2, seed=0).database()
    return (database, *database.examples())


@pytest.fixture(autouse=True)
def same_handler_afterwards() -> Iterator[None]:
    before = signal.getsignal(signal.SIGINT)
    yield
    assert signal.getsignal(signal.SIGINT) is before


def press_ctrl_c() -> None:
    os.kill(os.getpid(), signal.SIGINT)


def after(seconds: float, work: Callable[[], Any]) -> None:
    """Do the work and press Ctrl-C meanwhile, at a moment that may lie within a kernel;
    one that comes late is waited for.
    """
    timer = threading.Timer(seconds, press_ctrl_c)
    timer.start()
    work()
    timer.join()
    time.sleep(5)


def test_ctrl_c_waits_until_the_block_is_left() -> None:
    reached = []

    @holding()
    @holding()
    def work() -> None:
        press_ctrl_c()
        reached.append(1)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert reached == [1]


def test_work_that_ignores_ctrl_c_goes_on_ignoring_it() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with fitting(), learning() as ending:
            press_ctrl_c()
            check()
        assert ending.reason is None
    finally:
        signal.signal(signal.SIGINT, before)


def test_who_had_a_handler_installed_is_told_when_the_work_is_done() -> None:
    told: list[Any] = []

    @holding()
    def work() -> None:
        press_ctrl_c()
        told.append("the work is done")

    before = signal.signal(signal.SIGINT, lambda number, frame: told.append(number))
    try:
        with pytest.raises(KeyboardInterrupt):
            work()
        assert told == ["the work is done", signal.SIGINT]
    finally:
        signal.signal(signal.SIGINT, before)


def test_ctrl_c_pressed_again_later_ends_the_work_at_once_and_errors_of_broken_calls_are_not_shown(
    monkeypatch: Any,
) -> None:
    monkeypatch.setattr("hornboost.stopping.PATIENCE", 0.0)

    @fitting()
    def fit() -> None:
        with learning():
            press_ctrl_c()
            time.sleep(0.01)
            try:
                press_ctrl_c()
            except KeyboardInterrupt:
                raise SystemError("returned a result with an exception set") from None

    with pytest.raises(KeyboardInterrupt):
        fit()


def test_a_search_ends_at_the_next_check_and_the_rest_of_the_fit_is_done() -> None:
    done: list[str | None] = []

    @fitting()
    def fit() -> None:
        with learning() as ending:
            press_ctrl_c()
            done.append("until the check")
            check()
            done.append("never")
        check()
        done.append(ending.reason)

    with pytest.raises(KeyboardInterrupt):
        fit()
    assert done == ["until the check", INTERRUPTED]


def test_time_ends_a_search_but_neither_the_fit_nor_what_is_untimed() -> None:
    done = []
    with fitting(0.0):
        with learning() as ending:
            with untimed():
                check()
                done.append("untimed")
            check()
            done.append("never")
        check()
        done.append(ending.reason)
    assert done == ["untimed", OUT_OF_TIME]
    check()


def test_work_without_a_result_to_keep_is_ended_at_a_check_and_not_before() -> None:
    done = []

    @working()
    def work() -> None:
        press_ctrl_c()
        done.append("until the check")
        check()
        done.append("never")

    with pytest.raises(KeyboardInterrupt):
        work()
    assert done == ["until the check"]


def test_nothing_ends_what_must_not_be_done_by_half() -> None:
    done = []
    with fitting(0.0), learning():
        with unstopped():
            check()
            done.append("whole")
        check()
        done.append("never")
    assert done == ["whole"]


@pytest.mark.parametrize("seconds", [0.0, 0.05, 0.2])
def test_ctrl_c_in_a_prediction_is_a_keyboard_interrupt(bank: Any, seconds: float) -> None:
    database, X, y = bank
    model = hb.C2RIBClassifier(database, rounds=20, random_state=0).fit(X, y)

    def predict() -> None:
        while True:
            model.predict(X)

    with pytest.raises(KeyboardInterrupt):
        after(seconds, predict)


def test_a_fit_within_another_has_no_more_time_than_that() -> None:
    with fitting(0.0), fitting(60.0), learning() as ending:
        check()
    assert ending.reason == OUT_OF_TIME


def test_other_threads_have_limits_of_their_own_and_hear_no_signals() -> None:
    found: list[str | None] = []

    def work() -> None:
        with fitting(0.0), learning() as ending:
            check()
        found.append(ending.reason)
        check()

    with fitting(), learning():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        check()
    assert found == [OUT_OF_TIME]


def test_stopping_is_no_error_that_anybody_handles() -> None:
    assert not issubclass(Stopped, Exception)


ENDLESS: dict[str, Callable[[hb.Database], Any]] = {
    "c2rib": lambda db: hb.C2RIBClassifier(db, rounds=FOREVER, random_state=0),
    "depth 3": lambda db: hb.C2RIBClassifier(db, rounds=FOREVER, max_depth=3, random_state=0),
    "threads": lambda db: hb.C2RIBClassifier(db, rounds=FOREVER, max_depth=3, n_jobs=2, random_state=0),
    "margin": lambda db: hb.C2RIBClassifier(db, rounds=FOREVER, features="margin", random_state=0),
    "V12": lambda db: hb.C2RIBClassifier(db, rounds=FOREVER, features="V12", random_state=0),
    "rankboost": lambda db: hb.RankBoostClassifier(db, rounds=FOREVER, random_state=0),
    "path": lambda db: hb.PRankBoostClassifier(db, rounds=FOREVER, weak_learner="path", random_state=0),
    "kbs": lambda db: hb.KBSClassifier(db, base="clause", rounds=FOREVER, random_state=0),
    "stumps": lambda db: hb.KBSClassifier(db, base="stump", rounds=FOREVER, random_state=0),
    "adaboost": lambda db: hb.AdaBoostM1Classifier(db, base="clause", rounds=FOREVER, random_state=0),
    "gradient": lambda db: hb.HornBoostClassifier(db, rounds=FOREVER, max_literals=2, random_state=0),
    "tuning": lambda db: hb.HornBoostClassifier(db, rounds=FOREVER, random_state=0),
    "logitboost": lambda db: hb.LogitBoostClassifier(db, base="clause", rounds=FOREVER, random_state=0),
}


@pytest.mark.parametrize("seconds", [0.0, 0.15, 0.6])
@pytest.mark.parametrize("name", ENDLESS)
def test_ctrl_c_at_any_moment_leaves_a_usable_model_or_none(bank: Any, name: str, seconds: float) -> None:
    database, X, y = bank
    model = ENDLESS[name](database)
    with pytest.raises(KeyboardInterrupt):
        after(seconds, lambda: model.fit(X, y))
    try:
        probabilities = model.predict_proba(X)
    except NotFittedError:
        assert not hasattr(model, "stopped_")
        return
    np.testing.assert_allclose(probabilities.sum(axis=1), 1.0)
    assert np.mean(model.predict(X) == y.to_numpy()) > 0.5
    assert model.stopped_


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("seconds", [0.0, 0.2, 1.0, 2.5])
def test_ctrl_c_leaves_what_mlynx_has_selected_or_no_model(bank: Any, seconds: float) -> None:
    database, X, y = bank
    model = hb.MLynxClassifier(database, max_length=2, min_support=0.4, restarts=FOREVER, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        after(seconds, lambda: model.fit(X, y))
    if hasattr(model, "ensemble_"):
        assert np.mean(model.predict(X) == y.to_numpy()) > 0.5


@pytest.mark.parametrize("seconds", [0.0, 0.3])
def test_ctrl_c_leaves_the_subgroups_found(bank: Any, seconds: float) -> None:
    database, X, y = bank
    found = hb.KBSSubgroups(database, n_subgroups=FOREVER)
    with pytest.raises(KeyboardInterrupt):
        after(seconds, lambda: found.fit(X, y))
    if hasattr(found, "subgroups_"):
        assert found.covers(X).shape == (len(X), len(found.subgroups_))
        assert found.stopped_ in (INTERRUPTED, "all subgroups found")


def test_an_interrupted_model_is_the_one_of_as_many_rounds(bank: Any) -> None:
    database, X, y = bank
    model = hb.C2RIBClassifier(database, rounds=FOREVER, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        after(0.5, lambda: model.fit(X, y))
    whole = hb.C2RIBClassifier(database, rounds=len(model.history_), random_state=0).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), whole.predict_proba(X))


def test_ctrl_c_before_the_first_rule_leaves_no_old_model_either(bank: Any) -> None:
    database, X, y = bank
    model = hb.C2RIBClassifier(database, rounds=1, random_state=0).fit(X, y)

    @fitting()
    def interrupted() -> None:
        press_ctrl_c()
        model.fit(X, y)

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("seconds", [0.2, 0.7])
def test_cross_validation_and_one_against_the_rest_end_with_their_fit(bank: Any, seconds: float) -> None:
    database, X, y = bank
    endless = hb.C2RIBClassifier(database, rounds=FOREVER, random_state=0)
    with pytest.raises(KeyboardInterrupt):
        after(seconds, lambda: cross_val_score(endless, X, y, cv=3))
    with pytest.raises(KeyboardInterrupt):
        after(seconds, lambda: OneVsRestClassifier(endless).fit(X, y))


def test_all_classes_have_had_their_rounds_when_several_are_interrupted() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    y = np.where(X[:, 0] > 0.5, "a", np.where(X[:, 1] > 0, "b", "c"))

    def interrupt(row: dict[str, Any]) -> None:
        if row["round"] == 4:
            raise KeyboardInterrupt

    model = hb.C2RIBClassifier(rounds=FOREVER, random_state=0, callbacks=[interrupt])
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert model.history_["class"].value_counts().to_dict() == {"a": 4, "b": 3, "c": 3}
    assert model.score(X, y) > 0.9
    ranks = hb.RankBoostClassifier(rounds=FOREVER, random_state=0, callbacks=[interrupt])
    with pytest.raises(KeyboardInterrupt):
        ranks.fit(X, y)
    np.testing.assert_allclose(ranks.predict_proba(X).sum(axis=1), 1.0)


@pytest.mark.parametrize(
    "make", [hb.C2RIBClassifier, hb.HornBoostClassifier, hb.RankBoostClassifier, hb.PRankBoostClassifier]
)
@pytest.mark.parametrize("depth", [2, 3])
@pytest.mark.filterwarnings("ignore::hornboost.model.diagnosis.NothingLearnedWarning")
def test_no_step_goes_on_after_the_time_limit(bank: Any, monkeypatch: Any, make: Any, depth: int) -> None:
    """The clock goes one second at each look, and between two looks there is little work;
    so few looks after the limit are little time.
    """
    database, X, y = bank
    clock = itertools.count()
    monkeypatch.setattr("hornboost.stopping.now", lambda: float(next(clock)))
    model = make(database, rounds=FOREVER, max_depth=depth, time_limit=60, random_state=0)
    model.fit(X, y)
    assert next(clock) < 70
    assert model.stopped_ == OUT_OF_TIME


def test_no_limit_counts_what_is_off_the_clock(monkeypatch: Any) -> None:
    time_of_day = [100.0]
    monkeypatch.setattr(time, "monotonic", lambda: time_of_day[0])
    with fitting(5.0), learning() as ending:
        with off_the_clock(), off_the_clock():
            time_of_day[0] += 60.0
            check()
        time_of_day[0] += 4.0
        check()
        time_of_day[0] += 2.0
        check()
    assert ending.reason == OUT_OF_TIME


def _twice(x: Any) -> Any:
    return 2 * x


@pytest.mark.skipif(os.environ.get("NUMBA_DISABLE_JIT") == "1", reason="nothing is compiled")
def test_compiling_and_loading_a_kernel_is_off_the_clock(monkeypatch: Any) -> None:
    seen: list[float] = []

    def load(*_: Any) -> None:
        seen.append(now())
        time.sleep(0.01)
        seen.append(now())

    monkeypatch.setattr("hornboost.jit._Cache.load_overload", load)
    monkeypatch.setattr("hornboost.jit._Cache.save_overload", load)
    kernel = jit(_twice)
    assert (kernel(3), kernel(4)) == (6, 8)
    assert len(seen) == 4
    assert len(set(seen)) == 1


def test_a_time_limit_that_leaves_no_rule_is_named(bank: Any) -> None:
    database, X, y = bank
    with pytest.warns(NothingLearnedWarning, match="the search reached its time_limit"):
        hb.C2RIBClassifier(database, time_limit=1e-9, random_state=0).fit(X, y)


def test_a_time_limit_holds_at_depth_3(bank: Any) -> None:
    database, X, y = bank
    hb.C2RIBClassifier(database, rounds=2, max_depth=3, random_state=0).fit(X, y)
    started = time.monotonic()
    model = hb.C2RIBClassifier(database, rounds=FOREVER, max_depth=3, time_limit=0.5, random_state=0).fit(X, y)
    assert time.monotonic() - started < 2.0
    assert model.stopped_ == OUT_OF_TIME


def test_tuning_that_the_time_limit_cut_short_is_told(monkeypatch: Any) -> None:
    ticks = itertools.count()
    monkeypatch.setattr(stopping, "now", lambda: float(next(ticks)))
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    y = (X[:, 0] + 0.5 * rng.normal(size=60) > 0).astype(int)
    cut = hb.HornBoostClassifier(random_state=0, time_limit=200).fit(X, y)
    assert 0 < len(cut.tuning_) < len(hb.HornBoostClassifier(random_state=0, time_limit=1e9).fit(X, y).tuning_)
    assert "before they were tried" in cut.left_out_["further settings"]
    whole = hb.HornBoostClassifier(random_state=0, rounds=2, time_limit=1e9).fit(X, y)
    assert "further settings" not in whole.left_out_


def test_a_callback_that_ends_a_fit_is_the_reason_even_where_no_rule_is_kept() -> None:
    rng = np.random.default_rng(0)
    X, y = rng.random((400, 3)), rng.integers(0, 2, 400)
    model = hb.HornBoostClassifier(
        rounds=20, max_literals=2, early_stopping=50, random_state=1, callbacks=[lambda row: True]
    )
    with pytest.warns(NothingLearnedWarning):
        model.fit(X, y)
    assert model.stopped_ == "a callback asked for the end"
