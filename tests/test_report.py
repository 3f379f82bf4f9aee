from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import hornboost as hb
from hornboost.cli.app import app
from hornboost.cli.learner import ESTIMATORS, Learner, make_estimator
from hornboost.errors import ModelError
from hornboost.report import report_html
from hornboost.report.evaluation import bounded_folds, reliability, stratified_folds
from hornboost.report.examples import Payload, choose, script_json
from hornboost.report.learning import learning_figures
from hornboost.report.schema_graph import Graph
from report_pages import HOSTILE, bank_model, hostile_model, tuned_model

VOID = {"meta", "link", "input", "path", "rect", "br"}


class Page(HTMLParser):
    """The elements of a page, with the text of each, and whether every element was closed in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.words: dict[str, list[str]] = {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert tag in VOID or self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.setdefault(self.open[-1] if self.open else "", []).append(data)

    def data(self) -> Any:
        return json.loads(next(text for text in self.words["script"] if text.startswith("{")))


@pytest.fixture(scope="module")
def bank() -> tuple[hb.C2RIBClassifier, Any, Any, str]:
    clf, X, y = bank_model()
    return clf, X, y, report_html(clf, X, y, cv=3, title="Which loans?")


def test_the_page_has_a_card_for_each_rule_and_is_well_formed(bank: Any) -> None:
    clf, _, _, text = bank
    page = Page(text)
    assert page.open == []
    cards = [attributes for _, attributes in page.elements if attributes.get("class") == "card"]
    assert [float(card["data-vote"]) for card in cards] == [
        rule.confidence(clf.ensemble_.classes) for rule in clf.rules_
    ]
    assert "Which loans?" in "".join(page.words["h1"])
    assert "or takes it away where it speaks for the other class" in text


def test_the_page_loads_nothing(bank: Any) -> None:
    page = Page(bank[3])
    for tag, attributes in page.elements:
        for name in ("src", "href", "srcset", "action", "xlink:href"):
            assert (attributes.get(name) or "#").startswith(("#", "data:,")), (tag, attributes)
    assert "http" not in re.sub(r"http://www\.w3\.org/2000/svg|http-equiv", "", bank[3])
    assert "url(" not in bank[3]
    assert "@import" not in bank[3]


def test_the_coverage_of_a_card_is_the_coverage_of_its_clause(bank: Any) -> None:
    clf, _, y, text = bank
    cards = [attributes for _, attributes in Page(text).elements if attributes.get("class") == "card"]
    for card, rule in zip(cards, clf.rules_, strict=True):
        covered = clf.database.covers(rule.clause)
        assert float(card["data-covered"]) == covered.sum()
        assert float(card["data-precision"]) == pytest.approx((np.asarray(y)[covered] == rule.clause.head.value).mean())


def test_explanations_add_up_to_the_score_and_name_rows_that_exist(bank: Any) -> None:
    clf, X, _, text = bank
    scores = dict(zip(X["loan_id"].astype(str), clf.decision_function(X), strict=True))
    examples = Page(text).data()["examples"]
    assert len(examples) == 120
    assert {one["why"] for one in examples} == {"mistake", "close call", "sure", "random"}
    for one in examples:
        votes = one["start"] + one["more"][1] + sum(vote for _, vote, _ in one["fired"])
        assert votes == pytest.approx(scores[one["key"]], abs=2e-3)
        assert one["score"] == pytest.approx(scores[one["key"]], abs=1e-4)
    orders = {
        tuple(value for _, value, _ in cells if value)
        for one in examples
        for _, _, rows in one["fired"]
        for table, cells in rows
        if table == "order"
    }
    assert orders


def test_cross_validated_metrics_are_those_of_scikit_learn(bank: Any) -> None:
    from sklearn.base import clone
    from sklearn.metrics import roc_auc_score

    clf, X, y, text = bank
    folds = stratified_folds(y, 3, 10_000)
    accuracy, areas = [], []
    for train, test in folds:
        fitted = clone(clf).fit(X.iloc[train], y.iloc[train])
        accuracy.append(fitted.score(X.iloc[test], y.iloc[test]))
        areas.append(roc_auc_score(y.iloc[test] == "1", fitted.predict_proba(X.iloc[test])[:, 1]))
    values = re.findall(r'<span class="value">([^<]*)</span>', text)
    assert values[0] == f"{100 * np.mean(accuracy):.1f} %"
    assert values[1] == f"{np.mean(areas):.3f}"


def test_the_margin_curve_marks_the_rounds_in_which_features_entered(bank: Any) -> None:
    clf, _, _, text = bank
    entered = [(row["round"], row["activated"]) for row in clf.history_.to_dict("records") if row["activated"]]
    assert entered, "the test needs a fit in which a feature enters"
    for number, (at, features) in enumerate(entered, start=1):
        assert f"{number}. round {at}: {', '.join(features)} entered" in text


def test_the_schema_lights_the_joins_that_rules_use() -> None:
    db = hb.datasets.bank(50, transactions=3).database()
    rules = [
        hb.Clause.parse(
            'risky="1" :- loan(account_id=A), disp(account_id=A, client_id=C), client(client_id=C, age<=40).'
        )
    ]
    graph = Graph.of(db, rules, {name: table.n_rows for name, table in db.tables.items()})
    lit = {str(edge) for edge in graph.edges if edge.rules}
    assert lit == {"disp.account_id = loan.account_id", "disp.client_id = client.client_id"}
    assert graph.levels[0] == ["loan"]
    assert sorted(table for level in graph.levels for table in level) == sorted(db.tables)
    assert graph.columns["client"] == {"age": 1}
    assert graph.svg().count('class="edge lit"') == 2


def test_hostile_names_and_values_stay_text_and_long_ones_are_cut_visibly() -> None:
    clf, X, y = hostile_model()
    text = report_html(clf, X, y, cv=2, title=HOSTILE)
    page = Page(text)
    assert page.open == []
    assert [tag for tag, _ in page.elements].count("script") == 2
    assert not [attributes for _, attributes in page.elements if any(name.startswith("on") for name in attributes)]
    assert not [tag for tag, _ in page.elements if tag in ("img", "iframe", "object", "b2")]
    assert len(text) < 1_000_000, "a cell of a megabyte must be cut"
    assert "characters)" in text
    assert "\x00" not in text


def test_a_loaded_model_gives_the_same_rules_and_curves_as_the_fitted_one(bank: Any, tmp_path: Path) -> None:
    clf, X, y, text = bank
    clf.save(tmp_path / "model.json")
    again = report_html(hb.load(tmp_path / "model.json", database=clf.database), X, y, cv=3, title="Which loans?")
    assert again == text


def test_a_report_can_be_made_without_labels_and_without_cross_validation(bank: Any) -> None:
    clf, X, y, _ = bank
    without = report_html(clf, X)
    assert "no labels" in without
    assert "wrong predictions" not in without
    assert "left out" in report_html(clf, X, y, cv=0)


def drawn(text: str, title: str) -> dict[str, int]:
    """The number of points of each line in the figure of this title."""
    figure = text[text.index(f"<h3>{title}</h3>") :]
    lines = re.findall(r'<polyline class="([^"]*)" points="([^"]*)"', figure[: figure.index("</figure>")])
    return {css: len(points.split()) for css, points in lines}


def test_a_ranking_model_has_learning_curves_by_clauses_and_by_rounds(tmp_path: Path) -> None:
    db = hb.datasets.trains(80, noise=0.1, seed=2).database()
    X, y = db.examples()
    clf = hb.PRankBoostClassifier(db, rounds=6, random_state=0).fit(X, y)
    for title in ("Learning curve by clauses evaluated", "Learning curve by round"):
        assert drawn(report_html(clf, X, y, cv=0), title) == {"line main training": 6}
        assert drawn(report_html(clf, X, y, cv=2), title) == {"line fold": 6, "line main training": 6, "line main": 6}
    clf.fit(X, y, eval_set=(X, y)).save(tmp_path / "model.json")
    text = report_html(hb.load(tmp_path / "model.json", database=db), X, y, cv=0)
    assert drawn(text, "Learning curve by round") == {"line main training": 6, "line main": 6}
    assert f"<td>{clf.clauses_evaluated_:,}</td><td>{clf.history_['aurpc'].iloc[-1]:.4f}</td>" in text


def test_a_learning_curve_of_several_classes_counts_the_clauses_of_each() -> None:
    X, y = pd.DataFrame({"x": np.arange(90.0), "z": np.arange(90.0) % 7}), np.repeat(["a", "b", "c"], 30)
    clf = hb.PRankBoostClassifier(rounds=3, random_state=0).fit(X, y)
    text = report_html(clf, X, y, cv=0)
    assert set(drawn(text, "Learning curve by clauses evaluated")) <= {f"line c{k} training" for k in range(3)}
    ends = clf.history_.groupby("class", sort=False)["clauses_evaluated"].last().tolist()
    assert f"<td>{ends[1] - ends[0]:,}</td>" in text


def test_several_classes_have_a_curve_each() -> None:
    X = pd.DataFrame({"x": np.arange(90.0), "z": np.arange(90.0) % 7})
    y = np.repeat(["a", "b", "c"], 30)
    text = report_html(hb.C2RIBClassifier(rounds=5, random_state=0).fit(X, y), X, y, cv=3)
    assert text.count("class a") >= 2
    assert Page(text).open == []


@pytest.mark.parametrize("name", [name for name, (estimator, _) in ESTIMATORS.items() if estimator in hb.__all__])
def test_every_estimator_of_rules_can_be_reported(name: str) -> None:
    db = hb.datasets.trains(80, seed=2).database()
    X, y = db.examples()
    rounds = None if name == "mlynx" else 3
    estimator = make_estimator(Learner(name, rounds=rounds), db)
    text = report_html(estimator.fit(X, y), X, y, cv=2)
    assert Page(text).open == []
    assert "ROC area" in text


def test_a_model_of_one_csv_file_is_reported_from_the_command_line(tmp_path: Path) -> None:
    x = np.arange(60.0)
    frame = pd.DataFrame({"x": x, "z": x % 7, "class": np.where(x >= 30, "high", "low")})
    frame.to_csv(tmp_path / "one.csv", index=False)
    model, page = tmp_path / "model.json", tmp_path / "report.html"
    for arguments in (
        ["fit", "one.csv", "--rounds", "3", "-o", model],
        ["report", model, "--data", "one.csv", "--cv", "2", "-o", page],
    ):
        result = CliRunner().invoke(
            app, [str(tmp_path / "one.csv") if part == "one.csv" else str(part) for part in arguments]
        )
        assert result.exit_code == 0, result.output
    text = page.read_text(encoding="utf-8")
    assert "from 1 table with 60 rows" in text
    assert '"key":"row ' in text
    assert "ROC area" in text


def test_a_model_without_rules_is_reported_as_such() -> None:
    X, y = pd.DataFrame({"x": np.zeros(20)}), np.repeat(["a", "b"], 10)
    text = report_html(hb.C2RIBClassifier(rounds=3, random_state=0).fit(X, y), X, y, cv=2)
    assert "No rule was learned" in text
    assert Page(text).open == []


def test_a_model_without_its_tables_is_refused_in_one_sentence(bank: Any, tmp_path: Path) -> None:
    clf, X, y, _ = bank
    clf.save(tmp_path / "model.json")
    with pytest.raises(ModelError, match="load the model with database="):
        report_html(hb.load(tmp_path / "model.json"), X, y)


def test_the_command_writes_the_page(bank: Any, tmp_path: Path) -> None:
    clf, _, _, _ = bank
    hb.datasets.bank(300, transactions=8, noise=0.05, seed=0).write(tmp_path / "data")
    clf.save(tmp_path / "model.json")
    output = tmp_path / "report.html"
    result = CliRunner().invoke(
        app, ["report", str(tmp_path / "model.json"), "--data", str(tmp_path / "data"), "-o", str(output), "--cv", "2"]
    )
    assert result.exit_code == 0, result.output
    assert "Predicting risky in loan" in output.read_text(encoding="utf-8")


def test_folds_are_bounded_and_keep_the_shares_of_the_classes() -> None:
    y = np.repeat(["a", "b"], [9000, 1000])
    folds = stratified_folds(y, 5, 1000)
    tests = np.concatenate([test for _, test in folds])
    assert len(np.unique(tests)) == len(tests) == 1000
    assert (y[tests] == "b").mean() == pytest.approx(0.1)
    assert all(not set(train) & set(test) for train, test in folds)
    named = bounded_folds([(np.arange(50, 100), np.arange(50)), (np.arange(50), np.arange(50, 100))], 20)
    assert sum(len(test) for _, test in named) == 20
    with pytest.raises(ModelError, match="fewer than two"):
        stratified_folds(["a", "a", "b"], 2, 10)


def test_reliability_bins_are_equally_filled_and_their_intervals_hold_the_share() -> None:
    p = np.linspace(0, 1, 100)
    rows = reliability(p, p > 0.5)
    assert [n for *_, n in rows] == [10] * 10
    assert all(low <= share <= high for _, share, low, high, _ in rows)
    # Wilson's interval of 5 of 10 at 95 %
    ((_, _, low, high, _),) = reliability(np.full(10, 0.5), np.arange(10) < 5, 1)
    assert (low, high) == (pytest.approx(0.2366, abs=1e-4), pytest.approx(0.7634, abs=1e-4))


def test_chosen_examples_are_distinct_and_no_more_than_asked() -> None:
    rng = np.random.default_rng(0)
    chosen = choose(rng.normal(size=500), rng.random(500) < 0.2, 40)
    assert len(set(chosen.rows.tolist())) == len(chosen.rows) == 40
    assert len(choose(np.zeros(3), np.zeros(3, bool), 3).rows) == 3
    assert len(choose(np.zeros(3), np.zeros(3, bool), 0).rows) == 0


def test_data_for_the_script_cannot_end_its_element() -> None:
    hostile = {"<!--": "</script><script>alert(1)</script>", "amp": "&lt;"}
    text = script_json(hostile)
    assert not set("<>&") & set(text)
    assert json.loads(text) == hostile


def test_what_was_chosen_and_the_path_are_told_of_a_loaded_model_as_of_the_fitted_one(tmp_path: Path) -> None:
    clf, X, y = tuned_model()
    html = report_html(clf, X, y, cv=0)
    page = Page(html)
    assert page.open == []
    assert {"path", "chosen"} <= {attributes.get("id") for tag, attributes in page.elements if tag == "section"}
    assert f"{len(clf.tuning_)} settings were tried by 5-fold cross-validation" in html
    assert html.count('<tr class="chosen">') == 1
    path = clf.path_.drop_duplicates("rules", keep="last")
    row = path.iloc[0]
    figures = [f"{row['rules']:.0f}", f"{row['conditions']:.0f}", f"{row['round']:.0f}"]
    figures += [f"{row['training_loss']:.4g}", f"{row['held_out_loss']:.4g}"]
    assert "".join(f"<td>{text}</td>" for text in figures) in html
    assert html.count("<tr data-x=") == len(path)
    clf.save(tmp_path / "m.json")
    loaded = report_html(hb.load(tmp_path / "m.json", database=clf.database), X, y, cv=0)
    parts = [text[text.index('<section id="path"') : text.index('<section id="rules"')] for text in (html, loaded)]
    assert parts[0] == parts[1]


def test_models_that_are_not_tuned_have_no_such_sections(bank: Any) -> None:
    html = bank[3]
    assert '<section id="path"' not in html
    assert '<section id="chosen"' not in html
    assert '<section id="learning"' in html


def test_a_path_without_trials_shows_the_training_loss_only() -> None:
    db = hb.datasets.bank(100, transactions=5, seed=0).database()
    X, y = db.examples()
    clf = hb.HornBoostClassifier(
        db, rounds=4, max_literals=2, max_depth=2, constants=False, aggregates=False, corrective=False, random_state=0
    )
    html = report_html(clf.fit(X, y), X, y, cv=0)
    assert '<section id="path"' in html
    assert '<section id="chosen"' not in html
    assert "held-out examples" not in html[html.index('<section id="path"') : html.index('<section id="rules"')]


def test_the_path_of_a_regressor_is_in_its_report() -> None:
    db = hb.datasets.spending(60, seed=0).database()
    X, y = db.examples()
    reg = hb.HornBoostRegressor(db, max_rules=4, max_literals=1, max_depth=1, corrective=False, random_state=0)
    html = report_html(reg.fit(X, y), X, y, cv=0)
    assert "held-out squared error" in html
    assert html.count("<tr data-x=") == reg.path_["rules"].nunique()


def test_the_examples_of_a_card_are_typical_ones_before_mistakes() -> None:
    payload = Payload({})
    payload.examples = [
        {"right": False, "why": "mistake"},
        {"right": True, "why": "close call"},
        {"right": True, "why": "random"},
    ]
    payload.fired = {0: [0, 1, 2]}
    assert payload.typical() == {0: [2, 1, 0]}


def test_a_falling_margin_is_explained() -> None:
    [figure, *_] = learning_figures([{"round": 1, "mean_margin": 0.5}, {"round": 2, "mean_margin": 0.4}])
    assert "each further one takes part of their share" in figure.caption
