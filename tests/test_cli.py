"""The command line, verb by verb, in process: what it prints, writes and returns."""

from __future__ import annotations

import json
import os
import re
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import hornboost as hb

TABLES = {name: table.to_pandas() for name, table in hb.datasets.bank(150, transactions=6, seed=1).tables.items()}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return hb.datasets.bank(150, transactions=6, seed=1).write(tmp_path_factory.mktemp("bank"))


@pytest.fixture(scope="module")
def model(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    database = hb.Database.from_folder(folder)
    path = tmp_path_factory.mktemp("model") / "model.json"
    hb.C2RIBClassifier(database, rounds=8, random_state=0).fit(*database.examples()).save(path)
    return path


def expected_scores(model: Path, folder: Path) -> pd.DataFrame:
    database = hb.Database.from_folder(folder)
    X, _ = database.examples()
    return pd.DataFrame({"loan_id": X["loan_id"], "score_of_1": hb.load(model, database=database).decision_function(X)})


def rules_in(path: Path) -> Any:
    return json.loads(path.read_bytes())["model"]["rules"]


def test_fit_writes_the_model_that_the_library_learns(run: Any, folder: Path, model: Path, tmp_path: Path) -> None:
    result = run("fit", folder, "-o", tmp_path / "m.json", "--rounds", 8)
    assert (result.code, result.out) == (0, "")
    assert "HornBoostClassifier on 150 rows of 'loan': predicts 'risky' (positive \"1\") from 7 tables" in result.err
    database = hb.Database.from_folder(folder)
    hb.HornBoostClassifier(database, rounds=8, random_state=0).fit(*database.examples()).save(tmp_path / "own.json")
    assert rules_in(tmp_path / "m.json") == rules_in(tmp_path / "own.json")
    result = run("fit", folder, "-o", tmp_path / "m.json", "--rounds", 8, "--estimator", "c2rib")
    assert "C2RIBClassifier on 150 rows" in result.err
    assert rules_in(tmp_path / "m.json") == rules_in(model)


def test_rounds_are_lines_of_a_fit_over_partitions_alone(run: Any, folder: Path, tmp_path: Path) -> None:
    options = ["--estimator", "c2rib", "--rounds", 2, "-o", tmp_path / "m.json"]
    assert "round 1" not in run("fit", folder, *options).err
    assert run("partition", folder, "-o", tmp_path / "parts", "--partitions", 2).code == 0
    assert "hornboost: round 1" in run("fit", tmp_path / "parts", *options).err
    assert "round 1" not in run("fit", folder, *options).err


@pytest.mark.parametrize("dated", [False, True])
def test_a_folder_of_partitions_is_inspected_and_learned_from(run: Any, tmp_path: Path, dated: bool) -> None:
    folder = hb.datasets.bank(60, transactions=6, dated=dated, seed=1).write(tmp_path / "bank")
    assert run("partition", folder, "-o", tmp_path / "parts", "--partitions", 2).code == 0
    inspected = run("inspect", tmp_path / "parts")
    assert (inspected.code, "predicts loan.risky" in inspected.out) == (0, True), inspected.err
    assert json.loads(run("inspect", tmp_path / "parts", "--json").out)["classes"]
    options = ["--estimator", "c2rib", "--rounds", 1, "-o", tmp_path / "m.json"]
    assert run("fit", tmp_path / "parts", *options).code == 0
    assert run("predict", tmp_path / "m.json", tmp_path / "parts").code == 0


def test_fit_says_in_json_what_it_did(run: Any, folder: Path, tmp_path: Path) -> None:
    result = run("fit", folder, "-o", tmp_path / "m.json", "--rounds", 3, "--json")
    content = json.loads(result.out)
    assert content["estimator"] == "HornBoostClassifier"
    assert content["interrupted"] is False
    assert 0.5 < content["training_accuracy"] <= 1


def sources(tmp_path: Path) -> dict[str, list[object]]:
    """The same tables in every kind of source that states no task, with the options that state it."""
    csv = tmp_path / "csv"
    csv.mkdir()
    for name, frame in TABLES.items():
        frame.to_csv(csv / f"{name}.csv", index=False)
    with duckdb.connect(tmp_path / "bank.duckdb") as connection:
        for name, frame in TABLES.items():
            connection.register("source", frame)
            connection.execute(f'CREATE TABLE "{name}" AS SELECT * FROM source')
            connection.unregister("source")
    lite = sqlite3.connect(tmp_path / "bank.sqlite")
    for name, frame in TABLES.items():
        frame.to_sql(name, lite, index=False)
    lite.close()
    options = ["--target", "loan", "--label", "risky", "--positive", "1"]
    return {
        kind: [place, *options]
        for kind, place in (("csv", csv), ("duckdb", tmp_path / "bank.duckdb"), ("sqlite", tmp_path / "bank.sqlite"))
    }


def test_the_same_tables_give_the_same_rules_from_every_source_and_predict_alike(run: Any, tmp_path: Path) -> None:
    rules = {}
    for kind, (place, *options) in sources(tmp_path).items():
        result = run("fit", place, *options, "-o", tmp_path / f"{kind}.json", "--rounds", 5)
        assert result.code == 0, result.err
        rules[kind] = [
            rule["clause"] for rule in json.loads((tmp_path / f"{kind}.json").read_bytes())["model"]["rules"]
        ]
        predicted = run("predict", tmp_path / "csv.json", place, "-o", tmp_path / f"{kind}.csv")
        assert predicted.code == 0, predicted.err
    assert rules["csv"] == rules["duckdb"] == rules["sqlite"]
    assert (
        (tmp_path / "csv.csv").read_text()
        == (tmp_path / "duckdb.csv").read_text()
        == (tmp_path / "sqlite.csv").read_text()
    )


def test_predict_writes_keys_scores_probabilities_and_predictions(
    run: Any, model: Path, folder: Path, tmp_path: Path
) -> None:
    result = run("predict", model, folder, "-o", tmp_path / "out.csv")
    assert result.code == 0, result.err
    frame = pd.read_csv(tmp_path / "out.csv", dtype={"prediction": str})
    assert list(frame.columns) == ["loan_id", "score_of_1", "probability_of_1", "prediction"]
    wanted = expected_scores(model, folder)
    assert frame["score_of_1"].tolist() == wanted["score_of_1"].tolist()
    assert run("predict", model, folder).out == (tmp_path / "out.csv").read_text()
    assert [row["score_of_1"] for row in json.loads(run("predict", model, folder, "--json").out)] == wanted[
        "score_of_1"
    ].tolist()
    assert run("predict", model, folder, "-o", tmp_path / "out.parquet").code == 0
    assert pd.read_parquet(tmp_path / "out.parquet")["score_of_1"].tolist() == wanted["score_of_1"].tolist()


def test_the_stated_positive_class_is_what_scores_and_probabilities_speak_of_and_columns_name_it(
    run: Any, folder: Path, tmp_path: Path
) -> None:
    output = tmp_path / "m.json"
    assert run("fit", folder, "-o", output, "--rounds", 4, "--positive", "0").code == 0
    records = json.loads(run("predict", output, folder, "--json").out)
    assert list(records[0]) == ["loan_id", "score_of_0", "probability_of_0", "prediction"]
    for row in records:
        assert (row["probability_of_0"] >= 0.5) == (row["score_of_0"] >= 0) == (row["prediction"] == "0")
    with duckdb.connect() as connection:
        for name, frame in TABLES.items():
            connection.register(name, frame)
        rows = (
            connection.sql(run("sql", output).out.rstrip().rstrip(";")).df().sort_values("loan_id").to_dict("records")
        )
    for row, scored in zip(sorted(records, key=lambda row: row["loan_id"]), rows, strict=True):
        assert scored == pytest.approx(row, abs=1e-12)
    first = records[0]
    (one,) = json.loads(run("explain", output, folder, "--key", first["loan_id"], "--json").out)
    assert (one["about"], one["score"]) == ("0", pytest.approx(first["score_of_0"]))
    assert one["probability"] == pytest.approx(first["probability_of_0"])
    assert (
        f'for "0": probability {one["probability"]:.3f}'
        in run("explain", output, folder, "--key", first["loan_id"]).out
    )
    assert 'for "0", before any rule fires' in run("rules", output).out
    assert json.loads(run("rules", output, "--json").out)["start"].keys() == {"0"}


def test_a_key_with_the_name_of_an_output_is_not_overwritten(run: Any, tmp_path: Path) -> None:
    n = 60
    keys = [f"order{k}" for k in range(n)]
    pd.DataFrame({"prediction": keys, "label": ["yes", "no"] * (n // 2)}).to_csv(tmp_path / "t.csv", index=False)
    pd.DataFrame({"ref": keys, "kind": ["u", "v"] * (n // 2)}).to_csv(tmp_path / "c.csv", index=False)
    task = [
        "--target",
        "t",
        "--key",
        "prediction",
        "--label",
        "label",
        "--positive",
        "yes",
        "--link",
        "c.ref=t.prediction",
    ]
    assert run("fit", tmp_path, *task, "--rounds", 2, "-o", tmp_path / "m.json").code == 0
    first = json.loads(run("predict", tmp_path / "m.json", tmp_path, "--json").out)[0]
    assert (first["prediction"], first["hb_prediction"]) == ("order0", "yes")


def test_compound_keys_with_commas_are_told_apart(run: Any, tmp_path: Path) -> None:
    keys = [("a,b", "c"), ("a", "b,c"), *((f"x{k}", "y") for k in range(40))]
    frame = pd.DataFrame(keys, columns=["k1", "k2"]).assign(x=[k % 2 for k in range(42)])
    frame.assign(label=np.where(frame["x"] == 1, "yes", "no")).to_csv(tmp_path / "t.csv", index=False)
    pd.DataFrame({"k1": ["a,b"], "z": [1]}).to_csv(tmp_path / "c.csv", index=False)
    task = [
        "--target",
        "t",
        "--key",
        "k1",
        "--key",
        "k2",
        "--label",
        "label",
        "--positive",
        "yes",
        "--link",
        "c.k1=t.k1",
    ]
    assert run("fit", tmp_path, *task, "--rounds", 1, "-o", tmp_path / "m.json").code == 0
    explain = ["explain", tmp_path / "m.json", tmp_path, "--missed", 0, "--key"]
    assert "2 examples are called so; put quotes around parts that hold commas" in run(*explain, "a,b,c").err
    assert 'k1="a,b", k2="c": predicted "no"' in run(*explain, '"a,b",c').out
    assert 'k1="a", k2="b,c": predicted "yes"' in run(*explain, 'a,"b,c"').out
    assert 'k1="x3", k2="y"' in run(*explain, "x3,y").out


def test_predict_needs_no_label(run: Any, model: Path, tmp_path: Path) -> None:
    for name, frame in TABLES.items():
        frame.drop(columns="risky", errors="ignore").to_csv(tmp_path / f"{name}.csv", index=False)
    result = run("predict", model, tmp_path)
    assert result.code == 0, result.err
    assert len(result.out.splitlines()) == 151
    unlabelled = run("predict", model, tmp_path, "--unlabelled")
    assert (unlabelled.code, unlabelled.out) == (0, result.out)
    assert "'loan' has no column 'risky', so that all of its rows are predicted" in unlabelled.err
    assert "no column 'riski'" in run("predict", model, tmp_path, "--unlabelled", "--label", "riski").err


def test_predict_names_what_a_source_lacks(run: Any, model: Path, tmp_path: Path) -> None:
    for name, frame in TABLES.items():
        if name != "trans":
            frame.to_csv(tmp_path / f"{name}.csv", index=False)
    result = run("predict", model, tmp_path)
    assert result.code == 1
    assert "table 'trans'" in result.err
    TABLES["trans"].drop(columns="account_id").to_csv(tmp_path / "trans.csv", index=False)
    result = run("predict", model, tmp_path)
    assert result.code == 1
    assert "'account_id'" in result.err
    assert "trans" in result.err


def test_rules_prints_votes_and_rules_in_three_forms(run: Any, model: Path) -> None:
    loaded = hb.load(model)
    text = run("rules", model).out
    for rule in loaded.rules_:
        assert f"{rule.votes[0]:+.4f}  {rule.clause}  % " in text
    assert len(run("rules", model, "--top", 1).out.splitlines()) == 2
    assert run("rules", model, "--prolog").out == loaded.to_prolog()
    content = json.loads(run("rules", model, "--json").out)
    assert {row["rule"] for row in content["rules"]} == {str(rule.clause) for rule in loaded.rules_}
    assert content["training"]["estimator"] == "C2RIBClassifier"


def test_the_votes_that_rules_prints_add_up_to_the_score(run: Any, folder: Path, tmp_path: Path) -> None:
    path, database = tmp_path / "m.json", hb.Database.from_folder(folder)
    X, y = database.examples()
    settings: dict[str, Any] = {"rounds": 4, "max_literals": 2, "corrective": True, "aggregates": False}
    clf = hb.HornBoostClassifier(database, **settings, random_state=0).fit(X, y)
    clf.save(path)
    about_0 = tmp_path / "about_0.json"
    given = ("--positive", "0", "--set", "rounds=4", "--set", "max_literals=2", "-o", about_0)
    assert run("fit", folder, *given).code == 0
    for model, sign in ((path, 1), (about_0, -1)):
        printed = run("rules", model).out.splitlines()
        if sign == -1:  # rules are for "1"
            assert printed.pop() == 'a vote above zero speaks for "0", one below zero for "1"'
        start = printed.pop()
        total = np.full(len(X), float(start.split()[0]))
        for line in printed:
            parts = re.fullmatch(r"(\S+)  (.*\.)  % .* right(?:; (\S+) otherwise)?", line)
            assert parts is not None
            vote, text, otherwise = parts.groups()
            total += np.where(database.covers(hb.Clause.parse(text)), float(vote), float(otherwise or 0))
        np.testing.assert_allclose(total, sign * hb.load(model, database).decision_function(X), atol=1e-3)


def test_explain_shows_a_witness_and_what_others_lacked(run: Any, model: Path, folder: Path) -> None:
    wanted = expected_scores(model, folder)
    key = int(wanted["loan_id"][int(np.argmax(wanted["score_of_1"]))])
    text = run("explain", model, folder, "--key", key).out
    assert f'loan_id={key}: predicted "1"' in text
    assert "because of " in text
    two = json.loads(run("explain", model, folder, "--key", key, "--key", 2, "--json").out)
    assert [one["keys"] for one in two] == [{"loan_id": key}, {"loan_id": 2}]
    assert two[0]["fired"][0]["witnesses"]
    result = run("explain", model, folder, "--key", "9999999")
    assert (result.code, result.out) == (1, "")
    assert "there is no example with loan_id = '9999999'" in result.err


def test_the_printed_sql_scores_in_duckdb_as_predict_does(run: Any, model: Path, folder: Path, tmp_path: Path) -> None:
    text = run("sql", model).out
    with duckdb.connect() as connection:
        for name, frame in TABLES.items():
            connection.register(name, frame)
        rows = sorted(connection.execute(text).fetchall())
    assert [row[1] for row in rows] == expected_scores(model, folder).sort_values("loan_id")["score_of_1"].tolist()
    assert "DOUBLE PRECISION" in run("sql", model, "--dialect", "postgres").out
    assert run("sql", model, "--dialect", "oracle").code == 1
    written = run("sql", model, "-o", tmp_path / "score.sql")
    assert (written.out, (tmp_path / "score.sql").read_text()) == ("", text)
    assert written.err == f"wrote the statement for duckdb to {tmp_path / 'score.sql'}\n"


def test_inspect_shows_tables_links_classes_and_warnings(run: Any, folder: Path, tmp_path: Path) -> None:
    text = run("inspect", folder).out
    assert "Database: 7 tables, " in text
    assert "account.account_id" in text
    assert "predicts loan.risky: 0 (" in text
    content = json.loads(run("inspect", folder, "--json").out)
    assert content["target"] == {"table": "loan", "key": ["loan_id"], "label": "risky", "positive": "1"}
    assert sum(content["classes"].values()) == 150
    assert "[tables.loan]" in run("inspect", folder, "--toml").out


def test_inspect_says_first_that_it_chose_the_target_itself(run: Any, tmp_path: Path) -> None:
    for name, frame in TABLES.items():
        frame.to_csv(tmp_path / f"{name}.csv", index=False)
    said = "no target was named, so 'account' is taken, the first table; choose with --target TABLE --label COLUMN"
    assert run("inspect", tmp_path).out.splitlines()[1] == said
    named = run("inspect", tmp_path, "--target", "loan").out
    assert "no target was named" not in named
    assert named.splitlines()[1] == "no label was named; fit would learn 'risky' of table 'loan'"


def test_evaluate_reports_every_fold_and_the_mean(run: Any, folder: Path) -> None:
    result = run("evaluate", folder, "--cv", 3, "--rounds", 4)
    assert result.code == 0, result.err
    assert [line.split()[0] for line in result.out.splitlines()] == ["fold", "1", "2", "3", "mean", "accuracy"]
    content = json.loads(run("evaluate", folder, "--cv", 3, "--rounds", 4, "--json").out)
    assert len(content["folds"]) == 3
    assert content["mean"]["accuracy"] == pytest.approx(np.mean([fold["accuracy"] for fold in content["folds"]]))
    assert "too few for 100 folds" in run("evaluate", folder, "--cv", 100).err


def test_convert_writes_a_folder_that_gives_the_same_model(run: Any, folder: Path, model: Path, tmp_path: Path) -> None:
    for option, name in (("--csv", "as_csv"), ("", "as_parquet")):
        assert run("convert", folder, tmp_path / name, *[option][: len(option)]).code == 0
        fit = ["fit", tmp_path / name, "-o", tmp_path / f"{name}.json", "--rounds", 8, "--estimator", "c2rib"]
        assert run(*fit).code == 0
        assert rules_in(tmp_path / f"{name}.json") == rules_in(model)
    assert "exists already" in run("convert", folder, tmp_path / "as_csv").err
    assert sorted(os.listdir(tmp_path)) == ["as_csv", "as_csv.json", "as_parquet", "as_parquet.json"]


def single_csv(path: Path, name: str = "patients.csv") -> Path:
    rng = np.random.default_rng(0)
    size = rng.normal(size=80).round(3)
    pd.DataFrame(
        {
            "id": np.arange(80),
            "size": size,
            "kind": rng.choice(["a", "b"], 80),
            "class": np.where(size > 0, "sick", "well"),
        }
    ).to_csv(path / name, index=False)
    return path / name


def test_one_csv_file_is_enough_and_the_label_is_guessed_aloud(run: Any, tmp_path: Path) -> None:
    place = single_csv(tmp_path)
    result = run("fit", place, "-o", tmp_path / "m.json", "--rounds", 4)
    assert result.code == 0, result.err
    assert "learning 'class' of table 'patients'" in result.err
    single_csv(tmp_path, "others.csv")
    frame = pd.DataFrame(json.loads(run("predict", tmp_path / "m.json", tmp_path / "others.csv", "--json").out))
    assert frame["prediction"].tolist() == pd.read_csv(place)["class"].tolist()
    assert frame["id"].tolist() == list(range(80))
    assert "id=3: predicted" in run("explain", tmp_path / "m.json", place, "--key", 3).out
    sql = run("sql", tmp_path / "m.json", "--table", "patients", "--key", "id").out
    with duckdb.connect() as connection:
        connection.register("patients", pd.read_csv(place))
        scores = dict(row[:2] for row in connection.execute(sql).fetchall())
    assert scores == dict(zip(frame["id"], frame["score_of_well"], strict=True))


def test_arff_aleph_and_srlearn_are_sources_too(run: Any, tmp_path: Path) -> None:
    (tmp_path / "weather.arff").write_text(
        "@relation weather\n@attribute wind numeric\n@attribute play {yes,no}\n@data\n"
        + "\n".join(f"{k},{'yes' if k < 15 else 'no'}" for k in range(30))
    )
    assert run("fit", tmp_path / "weather.arff", "-o", tmp_path / "a.json", "--rounds", 2).code == 0
    aleph = tmp_path / "aleph"
    aleph.mkdir()
    (aleph / "t.b").write_text(
        ":- modeh(1, east(+train)).\n:- modeb(*, car(+train, #shape)).\n"
        + "".join(f"car(t{k}, {'u' if k < 10 else 'v'}).\n" for k in range(20))
    )
    (aleph / "t.f").write_text("".join(f"east(t{k}).\n" for k in range(10)))
    (aleph / "t.n").write_text("".join(f"east(t{k}).\n" for k in range(10, 20)))
    for place in (aleph, aleph / "t.b", aleph / "t"):
        assert run("inspect", place).code == 0
    result = run("fit", aleph, "-o", tmp_path / "b.json", "--rounds", 2, "--set", "aggregates=false")
    assert result.code == 0, result.err
    assert "car(" in run("rules", tmp_path / "b.json").out
    assert "--target has no use here" in run("inspect", aleph, "--target", "car").err
    srlearn = tmp_path / "srlearn"
    srlearn.mkdir()
    for name, source in (("pos", "t.f"), ("neg", "t.n")):
        (srlearn / f"{name}.txt").write_text((aleph / source).read_text())
    (srlearn / "facts.txt").write_text("".join(f"car(t{k}, {'u' if k < 10 else 'v'}).\n" for k in range(20)))
    (srlearn / "modes.txt").write_text("east(+train).\ncar(+train, #shape).\n")
    assert run("inspect", srlearn).code == 0


def test_an_interrupted_fit_saves_the_model_learned_so_far_and_ends_with_130(folder: Path, tmp_path: Path) -> None:
    script = (
        "import os, signal, sys, hornboost.cli.progress as progress\n"
        "from contextlib import contextmanager\n"
        "@contextmanager\n"
        "def after_four(total, what=''):\n"
        "    yield lambda row: os.kill(os.getpid(), signal.SIGINT) if row['round'] == 4 else None\n"
        "progress.fit_progress = after_four\n"
        "from hornboost.cli import main\n"
        f"sys.argv = ['hornboost', 'fit', {str(folder)!r}, '-o', {str(tmp_path / 'm.json')!r}, '--rounds', '1000']\n"
        "main()\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 130, result.stderr
    assert "Traceback" not in result.stderr
    assert "interrupted; kept" in result.stderr
    loaded = hb.load(tmp_path / "m.json", database=hb.Database.from_folder(folder))
    assert 1 <= len(loaded.rules_) <= 4
    assert len(loaded.predict(loaded.database.examples()[0])) == 150


def test_a_parameter_of_any_estimator_can_be_set_and_a_wrong_one_is_one_sentence(
    run: Any, folder: Path, tmp_path: Path
) -> None:
    output = ["-o", tmp_path / "m.json"]
    assert run("fit", folder, *output, "--rounds", 2, "--set", "max_literals=1", "--max-depth", 1).code == 0
    assert json.loads((tmp_path / "m.json").read_bytes())["model"]["training"]["parameters"]["max_literals"] == 1
    for options, message in (
        (["--set", "max_literal=1"], "did you mean 'max_literals'"),
        (["--set", "max_literals=-1"], "must be an int in the range"),
        (["--set", "nothing"], "not of the form name=value"),
        (["--estimator", "c3rib"], "did you mean 'c2rib'"),
        (["--features", "V17"], "features"),
        (["--label", "riski"], "did you mean 'risky'"),
        (["--target", "lone"], "did you mean 'loan'"),
        (["--link", "loan.a=b.c"], "schema.toml states the links"),
    ):
        if options[0] == "--link":
            parted = run("partition", folder, "-o", tmp_path / "parts", "--partitions", 2, *options)
            assert (parted.code, message in parted.err) == (1, True)
        result = run("fit", folder, *output, "--rounds", 2, *options)
        assert result.code == 1, (options, result.err)
        assert message in result.err
        assert result.err.count("\n") <= 2


@pytest.mark.parametrize("estimator", ["prankboost", "rankboost", "kbs", "adaboost", "logitboost", "mlynx"])
def test_other_estimators_learn_save_and_predict_through_the_same_verbs(
    run: Any, folder: Path, tmp_path: Path, estimator: str
) -> None:
    few = ["--set", "max_length=2"] if estimator == "mlynx" else ["--rounds", 3]
    result = run("fit", folder, "--estimator", estimator, *few, "-o", tmp_path / "m.json")
    assert result.code == 0, result.err
    predicted = run("predict", tmp_path / "m.json", folder)
    assert predicted.code == 0, predicted.err
    with duckdb.connect() as connection:
        for name, frame in TABLES.items():
            connection.register(name, frame)
        rows = sorted(connection.execute(run("sql", tmp_path / "m.json").out).fetchall())
    lines = [line.split(",") for line in predicted.out.splitlines()[1:]]
    np.testing.assert_allclose(
        [row[1] for row in rows], [float(line[1]) for line in sorted(lines, key=lambda line: int(line[0]))], atol=1e-12
    )


def test_a_source_without_anything_to_learn_says_why(run: Any, tmp_path: Path) -> None:
    (tmp_path / "flat.csv").write_text("x,class\n" + "1,a\n1,b\n" * 20)
    result = run("fit", tmp_path / "flat.csv", "-o", tmp_path / "m.json")
    assert result.code == 0
    assert "nothing was learned: no attribute varies" in result.err


def test_the_demo_shows_the_whole(run: Any) -> None:
    result = run("demo", "--loans", 400)
    assert result.code == 0, result.err
    for part in (
        "Which of them are risky?",
        "settings were tried on held-out parts of these loans",
        "rounds; rules of up to",
        "planted",
        "Held-out loans",
        "because of",
        "WITH ",
        "DuckDB scored 400 loans",
        "is 0.",
        "hornboost fit FOLDER --target TABLE --label COLUMN -o model.json",
    ):
        assert part in result.out
    assert result.out.count("(100% the same loans)") == 3


def test_the_demo_takes_a_number_of_rounds(run: Any) -> None:
    result = run("demo", "--loans", 100, "--rounds", 2)
    assert result.code == 0, result.err
    assert "  2 rounds; rules of up to" in result.out
    assert "DuckDB scored 100 loans" in result.out


def test_completion_offers_the_verbs_and_the_estimators() -> None:
    def completed(words: Sequence[str]) -> str:
        environment = {
            **os.environ,
            "_HORNBOOST_COMPLETE": "complete_bash",
            "COMP_WORDS": " ".join(words),
            "COMP_CWORD": str(len(words) - 1),
        }
        code = "import sys; sys.argv=['hornboost']; from hornboost.cli.app import app; app(prog_name='hornboost')"
        return subprocess.run(
            [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60, check=False
        ).stdout

    assert "explain" in completed(["hornboost", "e"]).split()
    assert completed(["hornboost", "fit", "x", "--estimator", "pr"]).split() == ["prankboost"]


def test_a_column_that_names_single_rows_is_pointed_out(run: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {"size": rng.normal(size=300), "phone": [f"p{k:04}" for k in range(300)], "class": rng.choice(["a", "b"], 300)}
    )
    frame["phone"] = frame["phone"].where(frame.index != 3, "p0001")
    frame.to_csv(tmp_path / "people.csv", index=False)
    assert (
        "people.phone (299 distinct values in 300 rows) looks like an identifier"
        in run("inspect", tmp_path / "people.csv").out
    )
    fitted = run("fit", tmp_path / "people.csv", "--rounds", 1, "-o", tmp_path / "m.json")
    assert "people.phone (299 distinct values in 300 rows) looks like an identifier" in fitted.err
    assert (
        "identifier"
        not in run("fit", tmp_path / "people.csv", "--exclude", "phone", "--rounds", 1, "-o", tmp_path / "m.json").err
    )


def test_progress_is_drawn_on_a_terminal_and_nowhere_else(run: Any, folder: Path, tmp_path: Path) -> None:
    import pty

    arguments = ["fit", str(folder), "--rounds", "30", "-o", str(tmp_path / "m.json")]
    code, _, piped = run(*arguments)
    assert code == 0
    assert "\x1b[" not in piped
    command = [sys.executable, "-m", "hornboost", *arguments]
    controller, terminal = pty.openpty()
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=terminal, env={**os.environ, "TERM": "xterm"}
    ) as process:
        os.close(terminal)
        drawn = b""
        try:
            while part := os.read(controller, 4096):
                drawn += part
        except OSError:  # the terminal closes with its last writer
            pass
    os.close(controller)
    assert process.returncode == 0
    assert b"/30" in drawn
    assert b"rules, loss" in drawn


def test_rounds_are_the_estimators_own_unless_they_are_given_and_refused_where_there_are_none() -> None:
    from hornboost.cli.learner import ESTIMATORS, Learner, make_estimator
    from hornboost.errors import DataError

    for name, (class_name, _) in ESTIMATORS.items():
        own = getattr(hb, class_name)().get_params().get("rounds")
        assert make_estimator(Learner(name), None).get_params().get("rounds") == own
    assert make_estimator(Learner("kbs", rounds=7), None).rounds == 7
    with pytest.raises(DataError, match="the estimator 'mlynx' has no parameter 'rounds'; leave it out"):
        make_estimator(Learner("mlynx", rounds=7), None)


def test_the_label_may_be_a_group_of_values_in_every_verb(run: Any, tmp_path: Path) -> None:
    rows = [f"{i},{i % 7},{'abcd'[i % 7 // 2]}" for i in range(140)]
    (tmp_path / "t.csv").write_text("\n".join(["id,x,y", *rows]))
    columns = ", ".join(f'{{name="{name}", type="{kind}"}}' for name, kind in [("id", "key"), ("x", "numeric")])
    for negative, named in (("", "not a or c"), ('negative=["b", "d"]', "b or d")):
        (tmp_path / "schema.toml").write_text(
            f'[tables.t]\nfile="t.csv"\ncolumns=[{columns}, {{name="y", type="nominal"}}]\n'
            f'[target]\ntable="t"\nkey=["id"]\nlabel="y"\npositive=["a", "c"]\n{negative}\n'
        )
        model, page, scores = tmp_path / "m.json", tmp_path / "r.html", tmp_path / "p.csv"
        assert run("fit", tmp_path, "-o", model, "--rounds", 3).code == 0
        assert run("predict", model, tmp_path, "-o", scores).code == 0
        assert set(pd.read_csv(scores)["prediction"]) <= {"a or c", named}
        assert run("report", model, "--data", tmp_path, "-o", page, "--cv", 2).code == 0
        assert "a or c" in page.read_text()


def test_a_time_of_day_in_a_database_may_be_the_label(run: Any, tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "d.duckdb") as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT range AS id, range % 2 AS x, TIME '08:00' AS \"at\" FROM range(40)"
        )
        connection.execute("UPDATE t SET \"at\" = '20:00' WHERE x = 0")
    done = run("fit", tmp_path / "d.duckdb", "--target", "t", "--label", "at", "-o", tmp_path / "m.json")
    assert done.code == 0, done.err
    assert hb.load(tmp_path / "m.json").classes_.tolist() == ["08:00:00", "20:00:00"]


def test_an_empty_text_names_no_source_and_no_label(run: Any, folder: Path, tmp_path: Path) -> None:
    done = run("fit", "", "-o", tmp_path / "m.json")
    assert (done.code, done.err) == (
        1,
        "hornboost: the source is named by an empty text; give a folder, a file or an address\n",
    )
    done = run("fit", folder, "--label", "", "-o", tmp_path / "m.json")
    assert (done.code, done.err.count("\n")) == (1, 1)
    assert "has no column ''" in done.err


@pytest.mark.parametrize("verb", ["fit", "evaluate"])
def test_the_number_of_rounds_may_be_left_to_the_estimator(run: Any, folder: Path, tmp_path: Path, verb: str) -> None:
    output = ["-o", tmp_path / "m.json"] if verb == "fit" else ["--cv", 2]
    done = run(verb, folder, "--estimator", "hornboost", *output)
    assert done.code == 0, done.err


def test_rows_without_a_key_have_one_number_with_and_without_a_label(run: Any, tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [k % 7 for k in range(60)], "class": ["yes" if k % 7 > 3 else "no" for k in range(60)]})
    frame.loc[[4, 9, 30], "class"] = None
    frame.to_csv(tmp_path / "t.csv", index=False)
    model, source = tmp_path / "m.json", tmp_path / "t.csv"
    assert run("fit", source, "--label", "class", "--rounds", 3, "-o", model).code == 0
    new, every = (
        pd.DataFrame(json.loads(run("predict", model, source, "--json", *only).out)).set_index("row")
        for only in (["--unlabelled"], [])
    )
    assert list(new.index) == [5, 10, 31]
    assert new.equals(every.loc[[5, 10, 31]])


def test_fit_says_what_mining_left_out(run: Any, folder: Path, tmp_path: Path) -> None:
    few = ["--estimator", "mlynx", "--set", "max_length=2", "--set", "max_patterns=5"]
    result = run("fit", folder, "-o", tmp_path / "m.json", *few)
    assert result.code == 0
    assert result.err.count("max_patterns=5 was reached") == 1
    told = json.loads(run("fit", folder, "-o", tmp_path / "n.json", "--json", *few).out)
    assert "max_patterns=5 was reached" in told["left_out"][0]["reason"]


def test_fit_says_what_was_chosen_and_on_what_evidence(run: Any, folder: Path, tmp_path: Path) -> None:
    done = run("fit", folder, "--estimator", "hornboost", "--max-rules", 3, "-o", tmp_path / "m.json")
    assert done.code == 0, done.err
    (line,) = [line for line in done.err.splitlines() if line.startswith("tuned by")]
    assert re.fullmatch(
        r"tuned by 5-fold cross-validation: up to \d refinements? a rule, .*\d+ rounds?; held-out log-loss 0\.\d+", line
    )
    assert 1 <= len(json.loads((tmp_path / "m.json").read_bytes())["model"]["rules"]) <= 3
    done = run("fit", folder, "--estimator", "hornboost", "--max-rules", 3, "-o", tmp_path / "m.json", "--json")
    told = json.loads(done.out)["tuning"]
    assert (told["loss"], told["folds"]) == ("log_loss", 5)
    assert sum(trial["chosen"] for trial in told["trials"]) == 1


def test_evaluate_tries_models_of_at_most_so_many_rules(run: Any, folder: Path) -> None:
    done = run("evaluate", folder, "--cv", 2, "--max-rules", 2, "--json")
    assert done.code == 0, done.err
    alone = run("evaluate", folder, "--cv", 2, "--estimator", "c2rib", "--rounds", 3, "--max-rules", 2)
    assert (alone.code, alone.err.splitlines()[-1]) == (
        1,
        "hornboost: the estimator 'c2rib' has no parameter 'max_rules'; leave it out",
    )
    assert json.loads(done.out) != json.loads(run("evaluate", folder, "--cv", 2, "--max-rules", 1, "--json").out)


def test_what_is_not_tuned_says_nothing_of_it(run: Any, folder: Path, tmp_path: Path) -> None:
    done = run("fit", folder, "--estimator", "c2rib", "--rounds", 3, "-o", tmp_path / "m.json")
    assert "tuned by" not in done.err
    done = run("fit", folder, "--estimator", "c2rib", "--rounds", 3, "-o", tmp_path / "m.json", "--json")
    assert json.loads(done.out)["tuning"] is None


def test_estimators_without_max_rules_refuse_it(run: Any, folder: Path, tmp_path: Path) -> None:
    done = run("fit", folder, "--estimator", "c2rib", "--max-rules", 3, "-o", tmp_path / "m.json")
    assert (done.code, done.err.splitlines()[-1]) == (
        1,
        "hornboost: the estimator 'c2rib' has no parameter 'max_rules'; leave it out",
    )


def test_a_model_without_rules_is_shown_by_all_commands(run: Any, tmp_path: Path) -> None:
    draws = np.random.default_rng(1)
    frame = pd.DataFrame(draws.normal(size=(60, 8)).round(3), columns=list("abcdefgh"))
    frame["good"] = np.where(draws.integers(0, 2, 60) > 0, "yes", "no")
    frame.to_csv(tmp_path / "noise.csv", index=False)
    model = tmp_path / "model.json"
    done = run("fit", tmp_path / "noise.csv", "--label", "good", "-o", model)
    assert done.code == 0
    assert "learned 0 rules" in done.out + done.err
    for command in (
        ["rules", model],
        ["rules", model, "--json"],
        ["explain", model, tmp_path / "noise.csv", "--key", "1"],
        ["predict", model, tmp_path / "noise.csv"],
        ["sql", model],
        ["report", model, "--data", tmp_path / "noise.csv", "-o", tmp_path / "report.html"],
    ):
        shown = run(*command)
        assert shown.code == 0, shown.err
