"""Influence of rules, importances of columns, and what a fit prints."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hornboost as hb
from hornboost.errors import DataError, ModelError
from hornboost.model.ensemble import Rule
from hornboost.model.influence import column_importances, importances, influences


@pytest.fixture(scope="module")
def db() -> hb.Database:
    return hb.datasets.bank(200, transactions=6, seed=1).database()


@pytest.fixture(scope="module")
def clf(db: hb.Database) -> Any:
    return hb.C2RIBClassifier(db, rounds=8, random_state=0).fit(*db.examples())


def test_influence_is_how_much_scores_of_training_examples_vary(db: hb.Database, clf: Any) -> None:
    expected = [np.std(db.covers(rule.clause) * rule.votes[0]) for rule in clf.rules_]
    np.testing.assert_allclose(clf.rules_frame()["influence"], expected)
    np.testing.assert_allclose(clf.rules_frame(sort="influence")["influence"], sorted(expected, reverse=True))
    with pytest.raises(ModelError, match="no column of numbers 'infl'; did you mean 'influence'"):
        clf.rules_frame(sort="infl")


def rule(text: str, vote: float = 1.0, covered: float = 50.0) -> Rule:
    return Rule(hb.Clause.parse(text), (vote,), (), (0.0, covered))


def test_a_large_vote_for_a_handful_is_not_first() -> None:
    rules = [rule('y="1" :- t(x>=1).', 8.0, 1.0), rule('y="1" :- t(x>=2).', 1.0, 300.0)]
    assert influences(rules, 1000.0).argmax() == 1
    assert influences(rules, None).argmax() == 1  # of a file that does not tell how many there were
    several = Rule(hb.Clause.parse('y="1" :- t(x>=1).'), (1.0, 2.0, 4.0), (1.0, 0.0, 0.0), (5.0, 5.0, 40.0))
    assert influences([several], 100.0) == pytest.approx([4.0 * 0.5])


def test_importances_are_shared_by_the_columns_of_a_rule() -> None:
    rules = [
        rule('y="1" :- a(k=K, j=J, x>=1), b(k=K, x>=2, z="u").'),
        rule('y="1" :- a(k=K, j=J), b(k=K, m=M), c(m=M).'),
        rule('y="1" :- a(k=K, j=J), b(k=K, m=M), c(m=M, j=J, w<=3).'),
    ]
    found = importances(rules, 100.0)
    assert found["importance"].sum() == pytest.approx(1.0)
    known = found["column"].where(found["column"].notna(), "rows")
    shares = {(row.table, column): row.importance * 3 for row, column in zip(found.itertuples(), known, strict=True)}
    third = 1 / 3
    assert shares[("a", "x")] == pytest.approx(third)
    assert shares[("b", "x")] == pytest.approx(third)
    assert shares[("b", "rows")] == pytest.approx(0.5 + 0.5)
    assert shares[("c", "w")] == pytest.approx(0.5)
    own = column_importances(rules, 100.0, ["k", "j", "x"], {})
    np.testing.assert_allclose(own * 3, [0.5 + 1 + 0.5, 0.5, 0.5])


def test_importances_of_models(db: hb.Database, clf: Any, tmp_path: Path) -> None:
    clf.save(tmp_path / "m.json")
    loaded = hb.load(tmp_path / "m.json")
    pd.testing.assert_frame_equal(loaded.importances_, clf.importances_)
    np.testing.assert_array_equal(loaded.feature_importances_, clf.feature_importances_)
    assert clf.feature_importances_.shape == (clf.n_features_in_,)
    names = list(clf.feature_names_in_)
    assert clf.feature_importances_[names.index("account_id")] > 0
    alone = hb.HornBoostClassifier(rounds=3, random_state=0)
    assert not hasattr(alone, "feature_importances_")
    X = np.random.default_rng(0).random((60, 3))
    alone.fit(X, X[:, 1] > 0.5)
    assert alone.feature_importances_.argmax() == 1
    reg = hb.HornBoostRegressor(db, rounds=3, random_state=0).fit(db.examples()[0], np.arange(200.0) % 7)
    assert reg.feature_importances_.sum() == pytest.approx(1.0)


def test_rules_on_the_command_line_begin_with_the_most_influential(clf: Any, run: Any, tmp_path: Path) -> None:
    clf.save(tmp_path / "m.json")
    shown = json.loads(run("rules", tmp_path / "m.json", "--json", "--top", "3").out)["rules"]
    assert [row["rule"] for row in shown] == clf.rules_frame(sort="influence")["rule"].head(3).tolist()
    assert run("rules", tmp_path / "m.json").out.splitlines()[0].split("  ")[1] == shown[0]["rule"]


@pytest.mark.parametrize("every", [1, 3])
def test_verbose_prints_every_so_many_rounds(db: hb.Database, capsys: Any, every: int) -> None:
    X, y = db.examples()
    model = hb.AdaBoostM1Classifier(db, base="clause", rounds=6, verbose=every, random_state=0).fit(X, y)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split("\t")[0] for line in lines] == [f"[{k}]" for k in range(every, 7, every)]
    assert f"error: {model.history_['error'].iloc[every - 1]:.4g}" in lines[0]
    hb.AdaBoostM1Classifier(db, base="clause", rounds=2, random_state=0).fit(X, y)
    assert capsys.readouterr().out == ""


def test_an_eval_set_may_stand_in_a_list(db: hb.Database) -> None:
    X, y = db.examples()
    models = [
        hb.AdaBoostM1Classifier(db, base="clause", rounds=2, random_state=0).fit(X, y, eval_set=given)
        for given in ((X, y), [(X, y)])
    ]
    first, second = (model.history_["log_loss_held_out"].tolist() for model in models)
    assert first == second
    for given in (X, [(X, y), (X, y), (X, y)], [X]):
        with pytest.raises(DataError, match=r"eval_set: one pair \(X, y\) is expected"):
            models[0].fit(X, y, eval_set=given)
