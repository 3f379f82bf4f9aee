from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import pytest

import hornboost as hb
from hornboost import FeatureTimelineDisplay, MarginDisplay, PathDisplay
from hornboost.errors import DataError
from hornboost.model.ensemble import Rule

mpl.use("Agg")


@pytest.fixture(scope="module")
def fitted() -> hb.C2RIBClassifier:
    db = hb.datasets.trains(200, seed=1).database()
    X, y = db.examples()
    return hb.C2RIBClassifier(db, rounds=30, features="margin", stall=5, random_state=0).fit(X, y)


def test_margin_display_draws_the_history_and_names_features_where_they_entered(fitted: hb.C2RIBClassifier) -> None:
    display = MarginDisplay.from_estimator(fitted)
    assert np.array_equal(display.lines_[0].get_ydata(), fitted.history_["mean_margin"])
    entered = {
        number: features
        for number, features in zip(fitted.history_["round"], fitted.history_["activated"], strict=True)
        if features
    }
    assert entered, "the test needs a fit in which a feature enters"
    assert display.entered == entered
    assert [text.get_text() for text in display.ax_.texts] == [", ".join(features) for features in entered.values()]


def test_timeline_has_a_bar_for_each_feature_over_the_rounds_in_which_it_was_active(fitted: hb.C2RIBClassifier) -> None:
    display = FeatureTimelineDisplay.from_estimator(fitted)
    rounds = {feature: [] for features in fitted.history_["active_features"] for feature in features}
    for number, features in zip(fitted.history_["round"], fitted.history_["active_features"], strict=True):
        for feature in features:
            rounds[feature].append(number)
    shown = {
        feature: [k for start, stop in spans for k in range(start, stop + 1)]
        for feature, spans in display.spans.items()
    }
    assert shown == rounds
    assert [label.get_text() for label in display.ax_.get_yticklabels()] == list(display.spans)
    assert len(display.bars_) == len(rounds)


def test_displays_draw_on_given_axes(fitted: hb.C2RIBClassifier) -> None:
    import matplotlib.pyplot as plt

    _, (left, right) = plt.subplots(1, 2)
    assert MarginDisplay.from_estimator(fitted, ax=left).ax_ is left
    assert FeatureTimelineDisplay.from_estimator(fitted, ax=right).ax_ is right


def test_a_fit_without_features_has_margins_and_no_timeline() -> None:
    X, y = np.array([[0.0], [1.0], [2.0], [3.0]] * 5), np.array([0, 0, 1, 1] * 5)
    clf = hb.C2RIBClassifier(rounds=3, random_state=0).fit(X, y)
    assert MarginDisplay.from_estimator(clf, ax=False).entered == {}
    with pytest.raises(DataError, match="active_features"):
        FeatureTimelineDisplay.from_estimator(clf)
    with pytest.raises(DataError, match="fit it first"):
        MarginDisplay.from_estimator(hb.C2RIBClassifier())


def test_path_display_draws_the_last_round_of_each_number_of_rules(tmp_path: Path) -> None:
    db = hb.datasets.trains(100, seed=1).database()
    clf = hb.HornBoostClassifier(db, max_rules=5, random_state=0).fit(*db.examples())
    display = PathDisplay.from_estimator(clf)
    training, held_out = display.lines_
    assert training.get_xdata().tolist() == display.path["rules"].tolist() == sorted(set(clf.path_["rules"]))
    assert training.get_ydata()[-1] == clf.path_["training_loss"].iloc[-1]
    assert held_out.get_ydata()[-1] == clf.path_["held_out_loss"].iloc[-1]
    assert display.ax_.get_ylabel() == "Log-loss"
    clf.save(tmp_path / "m.json")
    loaded = PathDisplay.from_estimator(hb.load(tmp_path / "m.json"), ax=display.ax_)
    assert loaded.path["rules"].tolist() == display.path["rules"].tolist()
    assert loaded.figure_ is display.figure_


def test_path_display_without_trials_has_the_training_examples_only() -> None:
    X = np.random.default_rng(0).normal(size=(80, 2))
    reg = hb.HornBoostRegressor(rounds=4, max_literals=1, random_state=0).fit(X, X[:, 0])
    display = PathDisplay.from_estimator(reg)
    assert [line.get_label() for line in display.lines_] == ["training examples"]
    assert display.ax_.get_ylabel() == "Squared error"


def test_path_display_refuses_what_has_no_path(fitted: hb.C2RIBClassifier) -> None:
    for estimator in (fitted, hb.HornBoostClassifier()):
        with pytest.raises(DataError, match="has no path_"):
            PathDisplay.from_estimator(estimator)


def test_several_classes_have_a_margin_curve_each() -> None:
    X = np.arange(30, dtype=float).reshape(-1, 1)
    clf = hb.C2RIBClassifier(rounds=3, random_state=0).fit(X, np.repeat([0, 1, 2], 10))
    assert list(MarginDisplay.from_estimator(clf, ax=False).margins) == ["0", "1", "2"]


def test_rules_print_their_votes_and_show_as_a_table(fitted: hb.C2RIBClassifier) -> None:
    rules = fitted.rules_
    first = rules[0]
    assert repr(rules).splitlines()[0] == f"{first.confidence(('0', '1')):+.3f}  {first.clause}"
    page = rules._repr_html_()
    assert page.count("<tr>") == len(rules) + 1
    assert "&quot;" in page
    assert str(first.clause) not in page, "quotes must be escaped"
    assert f"{first.coverage[1]:,.6g}" in first._repr_html_()


def test_notebooks_show_rules_below_a_fitted_estimator_only(fitted: hb.C2RIBClassifier) -> None:
    assert "eastbound=&quot;1&quot; :- " in fitted._repr_mimebundle_()["text/html"]
    assert "eastbound=&quot;1&quot; :- " in fitted._repr_html_()
    assert ":- " not in hb.C2RIBClassifier()._repr_mimebundle_()["text/html"]


def test_hostile_and_huge_constants_stay_short_text_in_notebooks() -> None:
    clause = hb.Clause.parse('class="<b>" :- examples(x="<script>alert(1)</script>' + "y" * 100_000 + '").')
    shown = Rule(clause, (1.0,), (), (1.0, 2.0))._repr_html_()
    assert "<script>" not in shown
    assert "<b>" not in shown
    assert len(shown) < 2000
    assert "characters)" in shown


def test_explanations_show_as_tables_and_print_as_text(fitted: hb.C2RIBClassifier) -> None:
    X, _ = fitted.database.examples()
    explained = fitted.explain(X[:25])
    page = explained._repr_html_()
    assert page.count("<div>") == 20
    assert "and 5 more examples" in page
    assert "because of" in page
    assert "&quot;" in page
    assert repr(explained[:1]) != repr(explained)
    assert repr(explained) == str(explained), "no dataclasses on a terminal"
    assert fitted.explain(X[:0])._repr_html_() == "<p>no examples</p>"


def test_subgroups_show_as_a_table() -> None:
    X = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]] * 10)
    found = hb.KBSSubgroups(n_subgroups=3).fit(X, np.where(X[:, 0] == 1, "<b>", "no")).subgroups_
    assert found._repr_html_().count("<tr>") == len(found) + 1
    assert "<b>" not in found._repr_html_()
    assert repr(found).splitlines()[0] == str(found[0])


def test_plots_without_matplotlib_say_what_to_install(fitted: hb.C2RIBClassifier, monkeypatch: Any) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(DataError, match=r"pip install 'hornboost\[plots\]'"):
        MarginDisplay.from_estimator(fitted)
