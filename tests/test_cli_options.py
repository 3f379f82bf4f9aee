"""What a user says about a source on the command line: sides, types, groups; and sources that state a task."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hornboost as hb
from hornboost.errors import DataError

FEW = ["--estimator", "c2rib", "--rounds", "2"]


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shop")
    rng = np.random.default_rng(0)
    ids = np.arange(1, 61)
    customers = pd.DataFrame({"customer": ids, "household": ids % 7, "zip": 10 * (ids % 4)})
    customers["churned"] = np.where(rng.random(60) < 0.2, "maybe", np.where(ids % 3 == 0, "yes", "no"))
    customers.to_csv(folder / "customers.csv", index=False)
    households = pd.DataFrame({"household": range(7), "town": list("aabbccc")})
    households.to_csv(folder / "households.csv", index=False)
    return folder


def inspected(run: Any, *arguments: object) -> Any:
    return json.loads(run("inspect", *arguments, "--json").out)


def test_either_side_may_be_named(shop: Path, run: Any) -> None:
    task = [shop, "--target", "customers", "--label", "churned"]
    shown = inspected(run, *task, "--negative", "no", "--where", "churned=yes", "--where", "churned=no")
    assert shown["target"]["positive"] == "yes"
    assert list(inspected(run, *task, "--negative", "no")["classes"]) == ["maybe or yes", "no"]
    assert list(inspected(run, *task, "--positive", "no", "--negative", "maybe or yes")["classes"]) == [
        "maybe or yes",
        "no",
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--negative", "noo"], "label 'churned': the negative value 'noo' does not occur; did you mean 'no'?"),
        (["--negative", "no", "--positive", "no"], "the value 'no' is named both as positive and as negative"),
        (["--negative", "no", "--predicts", "numbers"], "numbers have no negative value; leave out 'negative'"),
        (["--where", "zap=1"], "shop0: the task: table 'customers' has no column 'zap'; did you mean 'zip'?"),
        (["--type", "customers.zip"], "--type: 'customers.zip' is not of the form table.column=type"),
        (["--type", "customers.zap=nominal"], "table 'customers' has no column 'zap'; did you mean 'zip'?"),
        (["--type", "customer.zip=nominal"], "there is no table 'customer'; did you mean 'customers'?"),
        (["--type", "customers.zip=text"], "unknown type 'text' of customers.zip"),
        (["--type", "customers.zip=date", "--type", "customers.zip=key"], "has both the type 'date' and 'key'"),
    ],
)
def test_what_is_not_understood_is_one_sentence(shop: Path, run: Any, arguments: list[str], message: str) -> None:
    result = run("inspect", shop, "--target", "customers", "--label", "churned", *arguments)
    assert (result.code, message in result.err, len(result.err.splitlines())) == (1, True, 1)


def column(shown: Any, name: str) -> str:
    return str(next(row["type"] for row in shown["columns"] if row["column"] == name))


def test_types_replace_inferred_ones_and_those_of_a_schema(shop: Path, run: Any, tmp_path: Path) -> None:
    task = ["--target", "customers", "--label", "churned"]
    assert column(inspected(run, shop, *task), "zip") == "numeric"
    nominal = ["--type", "customers.zip=nominal"]
    assert column(inspected(run, shop, *task, *nominal), "zip") == "nominal"
    run("convert", shop, tmp_path / "with", *task)
    assert column(inspected(run, tmp_path / "with"), "zip") == "numeric"
    assert column(inspected(run, tmp_path / "with", *nominal), "zip") == "nominal"
    assert hb.Database.from_folder(tmp_path / "with", types={"customers.zip": "nominal"}).tables["customers"]


def test_a_schema_names_one_side_and_the_user_the_other(shop: Path, run: Any, tmp_path: Path) -> None:
    task = ["--target", "customers", "--label", "churned", "--where", "churned=yes", "--where", "churned=no"]
    run("convert", shop, tmp_path / "with", *task, "--positive", "yes")
    assert [inspected(run, tmp_path / "with", *sides)["target"]["positive"] for sides in SIDES] == ["yes", "no", "no"]


SIDES: list[list[str]] = [[], ["--positive", "no"], ["--negative", "yes"]]

PROGRAMS = {
    "aleph": {
        "t.b": ":- modeh(1, east(+train)).\n:- modeb(*, load(+train, #load)).\nload(t1, box). load(t2, disc).\n",
        "t.f": "east(t1).\n",
        "t.n": "east(t2).\n",
    },
    "popper": {
        "bk.pl": "load(t1, box). load(t2, disc).\n",
        "exs.pl": "pos(east(t1)).\nneg(east(t2)).\n",
        "bias.pl": "head_pred(east, 1).\nbody_pred(load, 2).\n",
    },
    "srlearn": {
        "facts.txt": "load(t1, box).\nload(t2, disc).\n",
        "pos.txt": "east(t1).\n",
        "neg.txt": "east(t2).\n",
        "background.txt": "mode: east(+train).\nmode: load(+train, #load).\n",
    },
}


@pytest.mark.parametrize("kind", PROGRAMS)
def test_a_logic_program_has_two_sides(kind: str, tmp_path: Path, run: Any) -> None:
    for name, text in PROGRAMS[kind].items():
        (tmp_path / name).write_text(text)
    for option, positive in (([], "true"), (["--positive", "false"], "false"), (["--negative", "true"], "false")):
        assert inspected(run, tmp_path, *option)["target"]["positive"] == positive
    message = "has no use here; leave it out"
    for option in (["--label", "east"], ["--type", "load.load=nominal"], ["--key", "train"]):
        assert message in run("inspect", tmp_path, *option).err
    assert "'flase' does not occur" in run("inspect", tmp_path, "--positive", "flase").err


def test_a_program_can_be_reported_on(tmp_path: Path, run: Any) -> None:
    for name, text in PROGRAMS["aleph"].items():
        (tmp_path / name).write_text(text)
    model, page = tmp_path / "m.json", tmp_path / "page.html"
    assert run("fit", tmp_path, "--estimator", "kbs", "-o", model).code == 0
    result = run("report", model, "--data", tmp_path, "--cv", "0", "-o", page)
    assert (result.code, page.exists()) == (0, True), result.err


def test_a_table_that_a_model_needs_is_missed_by_the_model(run: Any, tmp_path: Path) -> None:
    rows = pd.DataFrame({"row_id": range(20), "y": ["a", "b"] * 10})
    more = pd.DataFrame({"row_id": range(20), "x": ["u", "v"] * 10})
    for folder in ("whole", "part"):
        (tmp_path / folder).mkdir()
        rows.to_csv(tmp_path / folder / "rows.csv", index=False)
    more.to_csv(tmp_path / "whole" / "more.csv", index=False)
    model = tmp_path / "m.json"
    assert run("fit", tmp_path / "whole", "--target", "rows", "--label", "y", *FEW, "-o", model).code == 0
    expected = "hornboost: part: the model needs the table 'more', which this database does not have\n"
    assert run("predict", model, tmp_path / "part").err == expected
    more.rename(columns={"x": "z"}).to_csv(tmp_path / "part" / "more.csv", index=False)
    assert "part: the model needs the column 'x' of table 'more'" in run("predict", model, tmp_path / "part").err


@pytest.mark.parametrize("groups", ["household", "customers.household", "households.town"])
def test_groups_stay_together(shop: Path, groups: str) -> None:
    for options in ({}, {"exclude_columns": ["customers.zip"]}):
        db = hb.Database.from_folder(shop, target="customers", label="churned", **options)
        household = db.examples()[0]["household"].to_numpy()
        of = household if groups != "households.town" else np.array(list("aabbccc"))[household]
        folds = db.folds(groups=groups, n_splits=3)
        assert sorted(np.concatenate([test for _, test in folds])) == list(range(60))
        assert all(not set(of[train]) & set(of[test]) for train, test in folds)
        assert len(db.folds(groups=groups)) == len(set(of))


def test_groups_may_be_what_rules_must_not_see_and_may_be_missing() -> None:
    rows = pd.DataFrame({"id": range(8), "of": ["a", "a", "b", "b", "c", "c", None, None], "y": [0, 1] * 4})
    db = hb.Database.from_frames({"t": rows}, "t", key="id", label="y", exclude_columns=["t.of"])
    assert "of" not in db.examples()[0].columns
    folds = db.folds(groups="of")
    assert len(folds) == 5
    assert {tuple(test) for _, test in folds if len(test) == 1} == {(6,), (7,)}


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ({"groups": "town"}, "table 'customers' has no column 'town'"),
        ({"groups": "house.town"}, "there is no table 'house'; did you mean 'households'"),
        ({"groups": "churned"}, "this is the label"),
        ({"groups": "household", "n_splits": 8}, "7 groups are too few for 8 folds; take at most 7"),
        ({"groups": "household", "n_splits": 1}, "must be an int in"),
        ({"groups": "household", "rolling": 2}, "ask for one kind at a time"),
        ({"n_splits": 3}, "name a column as groups"),
        ({"groups": [1, 2]}, "groups are named by a column"),
    ],
)
def test_groups_that_cannot_be_are_one_sentence(shop: Path, asked: dict[str, Any], message: str) -> None:
    db = hb.Database.from_folder(shop, target="customers", label="churned")
    with pytest.raises(DataError, match=message):
        db.folds(**asked)


def test_evaluate_and_report_by_group(shop: Path, run: Any, tmp_path: Path) -> None:
    task = [shop, "--target", "customers", "--label", "churned", "--positive", "yes"]
    result = run("evaluate", *task, *FEW, "--groups", "households.town")
    assert "over 3 folds by households.town;" in result.out
    assert "give one of them" in run("evaluate", *task, *FEW, "--groups", "zip", "--folds", "known").err
    run("fit", *task, *FEW, "-o", tmp_path / "m.json")
    asked = ["report", tmp_path / "m.json", "--data", shop, "-o", tmp_path / "page.html", "--examples", "0"]
    assert run(*asked, "--groups", "households.town").code == 0
    assert "3 folds that keep each &#39;households.town&#39; together" in (tmp_path / "page.html").read_text()
    assert "too few for 5 folds" in run(*asked, "--groups", "households.town", "--cv", "5").err


def test_rows_without_a_label_are_counted_among_those_asked_for(run: Any, tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": range(30), "x": range(30), "region": ["north", "west", "west"] * 10})
    frame["label"] = [None if i % 15 == 0 else "ab"[i % 2] for i in range(30)]
    frame.to_csv(tmp_path / "t.csv", index=False)
    given = ["--label", "label", "--where", "region=north", *FEW, "-o", tmp_path / "m.json"]
    result = run("fit", tmp_path / "t.csv", *given)
    assert result.code == 0, result.err
    assert "left out 2 of 10 rows of 't' whose 'label' is missing" in result.err


@pytest.mark.parametrize(
    ("setting", "value"),
    [
        ("aggregates=True", True),
        ("aggregates=true", True),
        ("aggregates=False", False),
        ("max_rules=None", None),
        ("max_rules=null", None),
        ("max_rules=3", 3),
    ],
)
def test_values_are_set_as_python_or_json_spells_them(setting: str, value: Any) -> None:
    from hornboost.cli.learner import Learner, make_estimator

    found = make_estimator(Learner(settings=[setting]), None).get_params(deep=False)[setting.partition("=")[0]]
    assert (type(found), found) == (type(value), value)


def test_settings_without_effect_or_of_the_other_task_are_refused(run: Any, tmp_path: Path) -> None:
    frame = pd.DataFrame(
        {"id": range(40), "x": np.arange(40.0), "amount": np.arange(40) / 3, "count": [*range(10)] * 4}
    )
    frame.to_csv(tmp_path / "t.csv", index=False)
    fit = ["fit", tmp_path / "t.csv", "-o", tmp_path / "m.json", "--label"]
    told = run(*fit, "count", "--exclude", "amount", "--set", "loss=poisson").err
    assert "the label 'count' is read as classes, and 'loss' is for numbers; say --predicts numbers" in told
    told = run(*fit, "amount", "--set", "class_weight=balanced").err
    assert "the label 'amount' is read as numbers, and 'class_weight' is for classes; say --predicts classes" in told
    assert "--set: 'quantile' has no effect" in run(*fit, "amount", "--set", "quantile=0.9").err
    misspelt = run(*fit, "amount", "--set", "loss=quantil", "--set", "quantile=0.9").err
    assert "The 'loss' parameter of HornBoostRegressor must be" in misspelt
    assert run(*fit, "amount", "--rounds", "2", "--set", "l2=.5", "--set", "learning_rate=1.").code == 0
    both = run(*fit, "amount", "--rounds", "3", "--set", "rounds=5").err
    assert "--rounds and --set rounds both give 'rounds'; leave one of them out" in both
    seeds = run(*fit, "amount", "--seed", "0", "--set", "random_state=5").err
    assert "--seed and --set random_state both give 'random_state'; leave one of them out" in seeds
    c2rib = ("count", "--exclude", "amount", "--estimator", "c2rib", "--features", "none", "--set", "features=margin")
    assert "--features and --set features both give 'features'; leave one of them out" in run(*fit, *c2rib).err
    twice = run(*fit, "amount", "--set", "rounds=2", "--set", "rounds=3").err
    assert "--set gives 'rounds' twice; leave one of them out" in twice
    assert run(*fit, "amount", "--rounds", "2", "--set", "loss=quantile", "--set", "quantile=0.9").code == 0
    assert not list(tmp_path.glob("*.tmp"))


def test_columns_that_a_shell_would_not_read_are_quoted_where_they_are_advised(run: Any, tmp_path: Path) -> None:
    frame = pd.DataFrame({"id": range(200), "row & no": range(1, 201), "y": ["a", "b"] * 100})
    frame.to_csv(tmp_path / "t.csv", index=False)
    assert "--exclude 't.row & no'" in run("inspect", tmp_path / "t.csv", "--label", "y", "--key", "id").out
