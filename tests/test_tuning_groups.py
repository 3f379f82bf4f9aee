"""Settings that are chosen on whole groups of examples: `groups` names columns whose values are held out together."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss

import hornboost as hb
from benchmarks.groups import contests
from hornboost.boosting import gradient
from hornboost.boosting.folds import folds
from hornboost.estimators.examples import Training


def held_out(groups: Any, monkeypatch: pytest.MonkeyPatch, X: pd.DataFrame, y: Any) -> list[np.ndarray[Any, Any]]:
    """What tuning holds out, as positions in X."""
    found: list[np.ndarray[Any, Any]] = []

    def told(training: Training, *given: Any) -> Any:
        for part in folds(training, *given):
            found.append(part)
            yield part

    monkeypatch.setattr(gradient, "folds", told)
    hb.HornBoostClassifier(groups=groups, max_literals=1, random_state=0).fit(X, y)
    return found


@pytest.mark.parametrize("kind", [str, float])
def test_all_examples_of_a_group_are_held_out_together(kind: type, monkeypatch: pytest.MonkeyPatch) -> None:
    draws = np.random.default_rng(0)
    X = pd.DataFrame({"customer": draws.integers(0, 12, 120).astype(kind), "amount": draws.normal(size=120)})
    parts = held_out("customer", monkeypatch, X, X["amount"] > 0)
    assert len(parts) == 5
    assert np.array_equal(np.sum(parts, axis=0), np.ones(120))
    assert all(not set(X["customer"][part]) & set(X["customer"][~part]) for part in parts)


def test_an_example_of_several_groups_is_held_out_with_any_of_them(monkeypatch: pytest.MonkeyPatch) -> None:
    draws = np.random.default_rng(0)
    X = pd.DataFrame({"a": draws.integers(0, 20, 200), "b": draws.integers(0, 20, 200), "x": draws.normal(size=200)})
    for part in held_out(["a", "b"], monkeypatch, X, X["x"] > 0):
        learned = X[~part]
        hidden = set(range(20)) - set(learned["a"]) - set(learned["b"])
        assert np.array_equal(part, X["a"].isin(hidden) | X["b"].isin(hidden))
        assert len(hidden) == 4


def test_examples_without_a_value_are_groups_of_their_own(monkeypatch: pytest.MonkeyPatch) -> None:
    X = pd.DataFrame({"customer": [None, "c"] * 40, "amount": np.arange(80.0)})
    parts = held_out("customer", monkeypatch, X, np.arange(80) % 4 > 1)
    is_missing = X["customer"].isna().to_numpy()
    assert 0 < max(int(part[is_missing].sum()) for part in parts) < 12
    assert sum(bool(part[~is_missing].any()) for part in parts) == 1


def test_what_is_chosen_on_new_things_is_better_for_new_things() -> None:
    losses = []
    for groups in (None, ["a", "b"]):
        found = []
        for seed in range(3):
            database, is_new = contests(50, 1_200, 1.0, seed)
            X, y = database.examples()
            clf = hb.HornBoostClassifier(database, groups=groups, random_state=0).fit(X[~is_new], y[~is_new])
            found.append(log_loss(y[is_new], clf.predict_proba(X[is_new]), labels=list(clf.classes_)))
        losses.append(np.mean(found))
    assert losses[1] < 0.95 * losses[0]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"groups": "custmer"}, "groups: X has no column 'custmer'; did you mean 'customer'?"),
        ({"groups": "one"}, "groups: all examples have the same 'one', so none can be held out"),
        ({"groups": "label"}, "groups: no fold of 'label' leaves all labels of what it holds out to learn from"),
        ({"groups": "customer", "early_stopping": 3}, "groups: early_stopping holds out single examples, not groups"),
        ({"groups": "custmer", "rounds": 3, "max_literals": 1}, "groups: X has no column 'custmer'"),
    ],
)
def test_groups_that_cannot_be_held_out_are_refused(given: dict[str, Any], message: str) -> None:
    y = np.arange(40) % 3 > 0
    X = pd.DataFrame({"customer": list("abcd") * 10, "one": 1, "amount": np.arange(40.0), "label": y.astype(str)})
    with pytest.raises(hb.HornBoostError, match=message.replace("?", r"\?")):
        hb.HornBoostClassifier(**given, random_state=0).fit(X, y)


def test_the_command_line_takes_groups(run: Any, tmp_path: Path) -> None:
    draws = np.random.default_rng(0)
    frame = pd.DataFrame({"customer": draws.integers(0, 9, 90), "amount": draws.normal(size=90).round(2)})
    frame["good"] = np.where(frame["amount"] > 0, "yes", "no")
    frame.to_csv(tmp_path / "orders.csv", index=False)
    given = [tmp_path / "orders.csv", "--label", "good", "-o", tmp_path / "model.json"]
    done = run("fit", *given, "--set", "groups=customer")
    assert done.code == 0
    assert "tuned by 5-fold cross-validation by customer: " in done.out + done.err
    assert hb.load(tmp_path / "model.json").tuning_.attrs["groups"] == ["customer"]
    wrong = run("fit", *given, "--set", "groups=client")
    assert wrong.code == 1
    assert "groups: X has no column 'client'" in wrong.err
