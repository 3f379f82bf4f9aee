"""From the files of a shop to a scored table in six commands with nothing set, and the same in Python.

The cause that is planted three joins away is among the first three rules, and no other setting ranks much better.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold, cross_val_score

import hornboost as hb
from documents import output_of_commands

TASK = "--target customers --label churned"
COMMANDS = f"""
hornboost inspect shop {TASK}
hornboost fit shop {TASK} -o model.json
hornboost rules model.json --top 3 --json
hornboost evaluate shop {TASK} --cv 3 --json
hornboost predict model.json shop --unlabelled -o scores.csv
hornboost sql model.json -o score.sql
"""
BY_HAND = {
    "max_literals": 5,
    "max_depth": 3,
    "aggregates": False,
    "constants": False,
    "corrective": False,
    "subsample": 1.0,
}
"""The best setting that is made by hand, by `python -m benchmarks.shop`."""


class Shop(NamedTuple):
    """The folder in which the commands were run, what was generated there, and what each command printed."""

    place: Path
    data: Any
    printed: list[str]

    def database(self) -> hb.Database:
        return hb.Database.from_folder(self.place / "shop", target="customers", label="churned")


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Shop:
    place = tmp_path_factory.mktemp("place")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        output_of_commands("hornboost demo --files shop")
        printed = [output_of_commands(command) for command in COMMANDS.split("\n") if command]
    return Shop(place, hb.datasets.shop(500, new=50, noise=0.02), printed)


def test_inspect_finds_the_links_the_dates_the_gaps_and_the_customers_without_a_label(shop: Shop) -> None:
    shown = shop.printed[0]
    for start, end in shop.data.plan.foreign_keys:
        assert f"{start} refers to {end}" in shown
    assert "left out, as they have no label: 50 rows" in shown
    described = shop.database().describe().set_index(["table", "column"])
    assert [described.loc[place, "type"] for place in (("orders", "ordered"), ("reviews", "written"))] == ["date"] * 2
    assert all(described.loc[place, "missing"] > 0 for place in (("customers", "born"), ("reviews", "stars")))


def test_the_cause_three_joins_away_is_among_the_first_three_rules(shop: Shop) -> None:
    rules = [hb.Clause.parse(rule["rule"]) for rule in json.loads(shop.printed[2])["rules"]]
    db = shop.database()
    planted = db.covers(hb.Clause.parse(shop.data.rules[0]))
    found = [db.covers(rule) for rule in rules if {literal.table for literal in rule.body} >= {"items", "products"}]
    assert max((covered & planted).sum() / (covered | planted).sum() for covered in found) > 0.8


def test_new_customers_are_scored_as_the_planted_rules_would_have_it(shop: Shop) -> None:
    scores = pd.read_csv(shop.place / "scores.csv")
    truth = hb.datasets.shop(500).tables["customers"].to_pandas().set_index("customer_id")["churned"]
    assert scores["customer_id"].tolist() == list(range(451, 501))
    assert roc_auc_score(truth[scores["customer_id"]] == "yes", scores["probability_of_yes"]) > 0.9


def test_a_view_in_the_database_gives_the_same_scores(shop: Shop) -> None:
    scores = pd.read_csv(shop.place / "scores.csv")
    with duckdb.connect(shop.place / "shop.duckdb") as connection:
        for file in (shop.place / "shop").glob("*.csv"):
            connection.execute(f"CREATE TABLE {file.stem} AS FROM '{file}'")
        connection.execute(f"CREATE VIEW churn_score AS {(shop.place / 'score.sql').read_text(encoding='utf-8')}")
        scored = connection.sql("FROM churn_score WHERE customer_id > 450 ORDER BY customer_id").df()
    pd.testing.assert_frame_equal(scored, scores, check_dtype=False, rtol=0, atol=1e-9)
    again = output_of_commands(f"hornboost inspect {shop.place / 'shop.duckdb'} {TASK}")
    assert "not read: churn_score (view)" in again


def test_python_learns_from_plain_frames_what_the_command_line_learns(shop: Shop) -> None:
    frames = {file.stem: pd.read_csv(file) for file in sorted((shop.place / "shop").glob("*.csv"))}
    db = hb.Database.from_frames(frames, target="customers", label="churned")
    clf = hb.HornBoostClassifier(db, random_state=0).fit(*db.examples())
    assert clf.rules_ == hb.load(shop.place / "model.json").rules_
    new, _ = db.examples(labelled=False)
    scores = pd.read_csv(shop.place / "scores.csv")
    np.testing.assert_allclose(clf.predict_proba(new)[:, 1], scores["probability_of_yes"], rtol=0, atol=1e-12)


def test_no_setting_by_hand_ranks_much_better(shop: Shop) -> None:
    db = shop.database()
    X, y = db.examples()
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    learner = hb.HornBoostClassifier(db, random_state=0, **BY_HAND)
    by_hand = cross_val_score(learner, X, y, cv=folds, scoring="roc_auc").mean()
    printed = shop.printed[3]
    as_it_comes = json.loads(printed[printed.index("{") :])["mean"]["auroc"]
    assert as_it_comes > max(0.9, by_hand - 0.01)
