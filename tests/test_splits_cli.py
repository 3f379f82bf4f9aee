"""`hornboost evaluate` and `report` with splits in time, beside folds at random."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

import hornboost as hb
from hornboost.report import report_html

FEW = ["--estimator", "c2rib", "--rounds", "3"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hb.datasets.churn(120, seed=1).write(tmp_path_factory.mktemp("churn"))


def test_a_split_takes_the_place_of_folds_at_random(folder: Path, run: Any) -> None:
    shown = json.loads(run("evaluate", folder, *FEW, "--split", "2023-01-01", "--json").out)
    (fold,) = shown["folds"]
    assert (fold["fold"], fold["from"]) == (1, "2023-01-01")
    ((train, test),) = hb.Database.from_folder(folder).folds(time="2023-01-01")
    assert (fold["train"], fold["test"]) == (len(train), len(test))
    assert shown["mean"] == {name: fold[name] for name in shown["mean"]}
    assert set(shown["mean"]) == {"accuracy", "auroc", "aurpc", "rules", "seconds"}
    _, y = hb.Database.from_folder(folder).examples()
    assert shown["majority"] == pytest.approx((y.iloc[test] == "0").mean())


def test_both_are_shown_if_both_are_asked_for(folder: Path, run: Any) -> None:
    asked = ["evaluate", folder, *FEW, "--rolling", "2", "--cv", "3"]
    shown = json.loads(run(*asked, "--json").out)
    assert len(shown["folds"]) == 3
    assert [fold["fold"] for fold in shown["in_time"]["folds"]] == [1, 2]
    assert set(shown["in_time"]["mean"]) == set(shown["mean"])
    text = run(*asked).out
    assert re.search(r"accuracy \d+\.\d% ± \d+\.\d% over 3 folds; always", text)
    assert re.search(r"from +train +test +accuracy", text)
    assert re.search(r"accuracy \d+\.\d% ± \d+\.\d% over 2 splits in time; always", text)


SCHEMA = """
[target]
table = "day"
key = ["id"]
label = "y"
time = "seen"

[tables.day]
file = "day.csv"
columns = [
  { name = "id", type = "key" },
  { name = "x", type = "numeric" },
  { name = "seen", type = "numeric" },
  { name = "y", type = "numeric" },
]
"""


def test_a_number_is_evaluated_in_time(tmp_path: Path, run: Any) -> None:
    (tmp_path / "schema.toml").write_text(SCHEMA)
    (tmp_path / "day.csv").write_text("id,x,seen,y\n" + "".join(f"{k},{k % 7},{k},{k % 7 + 0.5}\n" for k in range(80)))
    asked = ["evaluate", tmp_path, "--set", "rounds=3"]
    (fold,) = json.loads(run(*asked, "--split", "60", "--json").out)["folds"]
    assert (fold["train"], fold["test"]) == (60, 20)
    assert "over a split in time; always guessing the mean" in run(*asked, "--split", "60").out


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--split", "2001-01-01"], "no example to learn from is before 2001-01-01"),
        (["--split", "2031-01-01"], "no example to predict is from 2031-01-01 on"),
        (["--split", "soon"], "'soon' is no moment to split at; give a date such as 2024-01-01"),
        (["--split", "2023-01-01", "--rolling", "3"], "give one of them"),
        (["--rolling", "99"], "too few for 99 rolling origins"),
        (["--rolling", "2", "--horizon", "soon"], "'soon' is no horizon"),
        (["--horizon", "90d"], "give --split or --rolling as well"),
    ],
)
def test_what_cannot_be_split_is_refused_in_a_sentence(
    folder: Path, run: Any, options: list[str], sentence: str
) -> None:
    refused = run("evaluate", folder, *options)
    assert refused.code == 1
    assert sentence in refused.err
    assert "Traceback" not in refused.err


def test_examples_without_a_time_cannot_be_split_by_it(tmp_path: Path, run: Any) -> None:
    folder = hb.datasets.churn(50).write(tmp_path, times=False)
    assert "the examples have no time to split by" in run("evaluate", folder, "--rolling", "3").err


def test_the_report_shows_both_if_asked(folder: Path, tmp_path: Path, run: Any) -> None:
    model, page = tmp_path / "model.json", tmp_path / "report.html"
    run("fit", folder, *FEW, "-o", model)
    run("report", model, "--data", folder, "-o", page, "--cv", "2", "--split", "2023-01-01", "--examples", "5")
    text = page.read_text(encoding="utf-8")
    assert '<th scope="row">2023-01-01</th>' in text
    assert "mean in time" in text
    assert "mean of 2 stratified folds" in text
    run("report", model, "--data", folder, "-o", page, "--cv", "0", "--examples", "5")
    assert "mean in time" not in page.read_text(encoding="utf-8")
    refused = run("report", model, "--data", folder, "-o", page, "--split", "2001-01-01")
    assert "no example to learn from is before 2001-01-01" in refused.err


def test_the_report_says_why_there_is_no_evaluation_in_time() -> None:
    database = hb.datasets.churn(60, seed=1).database()
    X, y = database.examples()
    model = hb.C2RIBClassifier(database, rounds=2, random_state=0).fit(X, y)
    told = {"cv": 0, "explained": 3, "rolling": 2}
    assert "There is no evaluation in time: splits in time are of the database" in report_html(
        model, X[:9], y[:9], **told
    )
    assert "The data has no labels, so there are no splits in time." in report_html(model, X, **told)
    assert "mean in time" in report_html(model, X, y, **told)
