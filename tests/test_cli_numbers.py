"""The command line and the report where the label is a number."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hornboost as hb


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hb.datasets.spending(120, seed=1).write(tmp_path_factory.mktemp("spending"))


@pytest.fixture(scope="module")
def counts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hb.datasets.spending(120, counts=True, seed=1).write(tmp_path_factory.mktemp("orders"))


@pytest.fixture(scope="module")
def model(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "model.json"
    database = hb.Database.from_folder(folder)
    regressor = hb.HornBoostRegressor(database, rounds=8, max_literals=2, aggregates=False, random_state=0)
    regressor.fit(*database.examples()).save(path)
    return path


def test_fit_recognises_a_number_and_says_so(run: Any, folder: Path, model: Path, tmp_path: Path) -> None:
    given = ["--rounds", 8, "--set", "max_literals=2", "--set", "aggregates=false"]
    result = run("fit", folder, "-o", tmp_path / "m.json", *given)
    assert result.code == 0, result.err
    assert "HornBoostRegressor on 120 rows of 'customer': predicts 'spend' (a number) from 3 tables" in result.err
    assert re.search(r"learned \d+ rules in .* s, R² 0\.\d+ on the training examples", result.err)
    rules = [json.loads(path.read_bytes())["model"]["rules"] for path in (tmp_path / "m.json", model)]
    assert rules[0] == rules[1]
    result = run("fit", folder, "-o", tmp_path / "m.json", "--rounds", 2, "--json")
    assert json.loads(result.out)["training_r2"] > 0


def test_evaluate_gives_the_figures_of_numbers(run: Any, folder: Path, counts: Path) -> None:
    given = ["--cv", 3, "--rounds", 8, "--set", "max_literals=2"]
    result = run("evaluate", folder, *given)
    assert result.code == 0, result.err
    assert result.out.split("\n")[0].split() == ["fold", "r2", "mae", "rmse", "rules", "seconds"]
    assert re.search(r"R² 0\.\d+ ± 0\.\d+, RMSE .* over 3 folds; always guessing the mean: RMSE ", result.out)
    content = json.loads(run("evaluate", counts, *given, "--set", "loss=poisson", "--json").out)
    assert content["mean"]["deviance"] > 0
    assert content["baseline"]["rmse"] > content["mean"]["rmse"]
    assert "120 examples are too few for 100 folds" in run("evaluate", folder, "--cv", 100).err


def test_figures_are_about_what_is_predicted(run: Any, folder: Path) -> None:
    given = ["--rounds", 8, "--set", "max_literals=2"]
    quantile = [*given, "--set", "loss=quantile", "--set", "quantile=0.9"]
    content = json.loads(run("evaluate", folder, "--cv", 3, *quantile, "--json").out)
    assert content["mean"]["pinball"] < content["baseline"]["pinball"]
    assert content["baseline"]["below"] == pytest.approx(0.9, abs=0.01)
    text = run("evaluate", folder, "--cv", 3, *quantile).out.splitlines()
    assert text[0].split() == ["fold", "r2", "mae", "rmse", "pinball", "below", "rules", "seconds"]
    assert re.fullmatch(
        r"pinball loss \S+ ± \S+, \d+\.\d% of the labels below the prediction, over 3 folds; "
        r"always guessing the 0\.9 quantile: pinball loss \S+",
        text[-1],
    )
    median = run("evaluate", folder, "--cv", 3, *given, "--set", "loss=absolute").out.splitlines()[-1]
    assert re.fullmatch(r"MAE \S+ ± \S+ over 3 folds; always guessing the median: MAE \S+", median)


def test_fit_tells_the_loss_that_was_asked_for(run: Any, folder: Path, tmp_path: Path) -> None:
    result = run("fit", folder, "-o", tmp_path / "m.json", "--rounds", 3, "--set", "loss=absolute")
    assert re.search(r"learned \d rules in .* s, absolute error \S+ on the training examples", result.err)


def test_many_whole_numbers_as_classes_are_pointed_out(run: Any, tmp_path: Path) -> None:
    frame = pd.DataFrame({"store": range(100), "size": np.arange(100) % 7, "thefts": np.arange(100) % 10})
    frame.to_csv(tmp_path / "stores.csv", index=False)
    result = run("fit", tmp_path / "stores.csv", "--label", "thefts", "-o", tmp_path / "m.json", "--rounds", 2)
    assert "predicts 'thefts' (10 classes; if they are amounts, say --predicts numbers)" in result.err


def test_rules_predictions_and_explanations_are_of_numbers(run: Any, folder: Path, model: Path) -> None:
    text = run("rules", model, "--top", 2).out
    assert re.search(r"^spend (\+=|-=) .* covered, mean .* against ", text)
    assert text.splitlines()[-1].endswith("is the base value, where no rule fires")
    content = json.loads(run("rules", model, "--json").out)
    assert set(content) == {"target", "link", "base", "training", "rules"}
    assert {"rule", "vote", "covered", "mean", "mean of others", "literals", "influence"} == set(content["rules"][0])
    lines = run("predict", model, folder).out.splitlines()
    database = hb.Database.from_folder(folder)
    X, _ = database.examples()
    assert lines[0] == "customer_id,prediction"
    expected = hb.load(model, database=database).predict(X)
    np.testing.assert_array_equal([float(line.split(",")[1]) for line in lines[1:]], expected)
    assert "is the base value" in run("explain", model, folder, "--key", 4).out
    (one,) = json.loads(run("explain", model, folder, "--key", 4, "--json").out)
    assert one["prediction"] == pytest.approx(one["base"] + sum(fired["vote"] for fired in one["fired"]))
    assert "spend is" in run("rules", model, "--prolog").out


def test_what_the_label_is_may_be_said(run: Any, tmp_path: Path) -> None:
    path = tmp_path / "visits.csv"
    rng = np.random.default_rng(0)
    age = rng.integers(20, 80, 200)
    pd.DataFrame({"age": age, "visits": rng.poisson(np.where(age >= 50, 3.0, 1.0))}).to_csv(path, index=False)
    given = ["--label", "visits", "--rounds", 3, "-o", tmp_path / "m.json"]
    assert "HornBoostClassifier" in run("fit", path, *given).err
    result = run("fit", path, *given, "--predicts", "numbers", "--set", "loss=poisson")
    assert result.code == 0, result.err
    assert "HornBoostRegressor on 200 rows of 'visits': predicts 'visits' (a number) from one table" in result.err
    assert "visits *= " in run("rules", tmp_path / "m.json").out
    assert len(run("predict", tmp_path / "m.json", path).out.splitlines()) == 201
    result = run("fit", path, *given, "--predicts", "both")
    assert (result.code, "write 'classes' or 'numbers'" in result.err) == (1, True)
    result = run("inspect", path, "--label", "visits", "--predicts", "numbers")
    assert "predicts visits.visits: numbers (200 rows" in result.out
    result = run("report", tmp_path / "m.json", "--data", path, "--cv", 2, "-o", tmp_path / "report.html")
    assert result.code == 0, result.err


def test_classifiers_are_refused_in_one_sentence(run: Any, folder: Path) -> None:
    result = run("fit", folder, "--estimator", "kbs")
    assert result.code == 1
    assert "the label 'spend' holds numbers, and the estimator 'kbs' predicts classes; take --estimator" in result.err
    result = run("fit", folder, "--features", "margin")
    assert "the estimator 'hornboost' has no parameter 'features'; take --estimator c2rib" in result.err


@pytest.mark.parametrize("loss", ["squared", "poisson"])
def test_the_report_is_about_numbers(folder: Path, counts: Path, loss: str) -> None:
    database = hb.Database.from_folder(counts if loss == "poisson" else folder)
    X, y = database.examples()
    model = hb.HornBoostRegressor(database, rounds=8, max_literals=2, loss=loss, random_state=0).fit(X, y)
    page = hb.report.report_html(model, X, y, cv=2)
    for words in ("Predicted against actual", "Errors by prediction", "R²", "always saying the mean", "Training loss"):
        assert words in page
    for words in ("Right and wrong", "ROC", "any class"):
        assert words not in page
    assert ("Poisson deviance" in page) == (loss == "poisson")
    data = json.loads(re.search(r'id="data">(.*?)</script>', page, re.DOTALL).group(1))  # type: ignore[union-attr]
    assert data["link"] == ("log" if loss == "poisson" else "identity")
    assert {one["why"] for one in data["examples"]} == {"large error", "high", "low", "random"}
    assert "no labels" in hb.report.report_html(model, X, cv=2)
