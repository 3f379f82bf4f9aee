"""Times on the command line: declared, shown, written, and predictions as of a moment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hornboost as hb

LOANS = 40
TASK = ("--target", "loan", "--key", "loan_id", "--label", "ok", "--positive", "yes")
TIMES = ("--time", "trans.date", "--time", "loan.granted")


def tables() -> dict[str, pd.DataFrame]:
    """Loans that are good if a large transaction came before them; on the very day it does not count."""
    numbers = np.arange(LOANS)
    granted = pd.Timestamp("2024-01-11") + pd.to_timedelta(numbers % 7, unit="D")
    date = granted + pd.to_timedelta(np.where(numbers % 2 == 0, -3, 0), unit="D")
    return {
        "loan": pd.DataFrame(
            {"loan_id": numbers, "account_id": numbers, "granted": granted, "ok": np.where(numbers % 2, "no", "yes")}
        ),
        "account": pd.DataFrame({"account_id": numbers}),
        "trans": pd.DataFrame({"account_id": numbers, "date": date, "amount": np.where(numbers % 4 == 3, 7.0, 200.0)}),
    }


def write(folder: Path, frames: dict[str, pd.DataFrame]) -> Path:
    folder.mkdir()
    for name, frame in frames.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return write(tmp_path / "bank", tables())


@pytest.fixture
def model(folder: Path, tmp_path: Path) -> Path:
    db = hb.Database.from_folder(
        folder, target="loan", key="loan_id", label="ok", times={"trans": "date", "loan": "granted"}
    )
    hb.C2RIBClassifier(db, rounds=3, random_state=0).fit(*db.examples()).save(tmp_path / "model.json")
    return tmp_path / "model.json"


def test_fit_learns_from_what_was_known(run: Any, folder: Path, tmp_path: Path) -> None:
    model = tmp_path / "m.json"
    found = run("fit", folder, *TASK, *TIMES, "-o", model, "--rounds", 3, "--estimator", "c2rib")
    assert found.code == 0, found.err
    assert hb.load(model).model.times["trans"].column == "date"


def test_inspect_shows_what_comes_after_the_cutoffs(run: Any, folder: Path) -> None:
    found = run("inspect", folder, *TASK, *TIMES)
    assert "loan.granted is the cutoff of the examples, which see only rows from before it:" in found.out
    line = next(line for line in found.out.splitlines() if line.startswith("  trans.date"))
    assert line.split() == ["trans.date", "2024-01-08", "2024-01-17", "40", "0", "40", "20", "(50%)"]
    told = json.loads(run("inspect", folder, *TASK, *TIMES, "--json").out)
    assert [(time["table"], time["after_cutoff"], time["reached"]) for time in told["times"]] == [
        ("loan", 0, 0),
        ("trans", 20, 40),
    ]
    assert told["times"][1]["path"] == ["loan", "account", "trans"] or told["times"][1]["path"] == ["loan", "trans"]


def test_inspect_suggests_columns_that_look_like_times_with_the_option_to_write(run: Any, tmp_path: Path) -> None:
    frames = tables()
    closed = frames["trans"]["date"] + pd.to_timedelta(5, unit="D")
    frames["trans"]["closed"] = closed.where(np.arange(LOANS) % 3 == 0)
    frames["trans"]["reason"] = np.where(np.arange(LOANS) % 3 == 0, "theft", None)
    folder = write(tmp_path / "bank", frames)
    told = run("inspect", folder, *TASK).out
    assert "declare both, with --time loan.granted --time trans.date" in told
    assert "if it says up to when an example may look, declare it with --time loan.granted" in told
    told = run("inspect", folder, *TASK, *TIMES).out
    assert "declare it with --known-later trans.closed=reason" in told
    found = run("inspect", folder, *TASK, *TIMES, "--known-later", "trans.closed=reason")
    assert "reason, closed of trans: missing for cutoffs up to 'closed'" in found.out
    assert "could be times" not in found.out


def test_inspect_tells_of_columns_that_are_the_time_in_other_numbers(run: Any, tmp_path: Path) -> None:
    frames = tables()
    frames["trans"]["date"] = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(LOANS) // 1.5, unit="D").floor("D")
    frames["trans"]["days"] = (frames["trans"]["date"] - pd.Timestamp("1993-01-01")).dt.days
    found = run("inspect", write(tmp_path / "bank", frames), *TASK, *TIMES)
    assert "trans.days rises with trans.date" in found.out
    assert "leave it out with --exclude trans.days" in found.out
    assert "trans.amount" not in found.out


def test_inspect_says_that_every_cutoff_is_in_the_future(run: Any, tmp_path: Path) -> None:
    frames = tables()
    frames["loan"]["granted"] = pd.Timestamp("2030-01-01")
    found = run("inspect", write(tmp_path / "bank", frames), *TASK, *TIMES)
    assert "every cutoff comes after all rows with a time, of which the last is of 2024-01-17" in found.out


def test_predictions_stand_beside_the_key_and_the_cutoff(run: Any, folder: Path, model: Path) -> None:
    rows = run("predict", model, folder).out.splitlines()
    assert rows[0].startswith("loan_id,granted,")
    assert rows[1].startswith("0,2024-01-11,")
    told = json.loads(run("predict", model, folder, "--json").out)
    assert (told[0]["loan_id"], told[0]["granted"]) == (0, "2024-01-11")


def test_predictions_as_of_a_moment_see_what_was_known_then(run: Any, folder: Path, model: Path) -> None:
    output = run("predict", model, folder, "--as-of", "2024-06-30T12:00")
    assert output.code == 0, output.err
    assert output.out.splitlines()[1].startswith("0,2024-06-30T12:00:00,")
    db = hb.Database.from_folder(folder, target="loan", key="loan_id", label="ok")
    fitted = hb.load(model, db)
    X, _ = fitted.database.examples(as_of="2024-06-30T12:00")
    told = [float(row.split(",")[2]) for row in output.out.splitlines()[1:]]
    scores = fitted.decision_function(X)
    assert told == pytest.approx(list(scores)) or told == pytest.approx(list(-scores))


@pytest.mark.parametrize("moment", ["2024-06-30", "2024-01-12T12:00:00", ":cutoff"])
def test_sql_as_of_a_moment_gives_these_predictions(run: Any, folder: Path, model: Path, moment: str) -> None:
    import duckdb

    statement = run("sql", model, "--as-of", moment).out
    with duckdb.connect() as connection:
        for name in tables():
            connection.execute(f"create table {name} as select * from read_csv('{folder / name}.csv')")
        meant = "2024-01-12T12:00:00" if moment.startswith(":") else moment
        given = {"cutoff": pd.Timestamp(meant)} if moment.startswith(":") else {}
        scored = connection.execute(statement.replace(":cutoff", "$cutoff"), given).df().sort_values("loan_id")
    rows = pd.DataFrame(json.loads(run("predict", model, folder, "--as-of", meant, "--json").out))
    assert scored["prediction"].tolist() == rows["prediction"].tolist()
    np.testing.assert_allclose(scored["score_of_yes"], rows["score_of_yes"])


def test_rows_without_a_cutoff_are_predicted_as_of_a_moment(run: Any, folder: Path, model: Path) -> None:
    loans = pd.read_csv(folder / "loan.csv")
    loans.loc[3, ["granted", "ok"]] = np.nan
    loans.to_csv(folder / "loan.csv", index=False)
    found = run("predict", model, folder)
    assert len(found.out.splitlines()) == LOANS
    assert "1 of 40 rows of loan have no time in 'granted'" in found.err
    assert len(run("predict", model, folder, "--as-of", "2024-06-30").out.splitlines()) == LOANS + 1
    unlabelled = run("predict", model, folder, "--as-of", "2024-06-30", "--unlabelled").out.splitlines()
    assert [row.split(",")[0] for row in unlabelled[1:]] == ["3"]


def test_a_source_without_the_column_of_the_cutoffs_is_predicted_as_of_a_moment(
    run: Any, folder: Path, model: Path
) -> None:
    expected = run("predict", model, folder, "--as-of", "2024-06-30").out
    pd.read_csv(folder / "loan.csv").drop(columns=["granted"]).to_csv(folder / "loan.csv", index=False)
    assert run("predict", model, folder, "--as-of", "2024-06-30").out == expected
    refused = run("predict", model, folder)
    assert refused.code == 1
    assert "have no 'granted', up to which they may look; add the column, or name a moment for all" in refused.err


def test_explanations_name_the_cutoff_of_an_example_that_stands_there_twice(
    run: Any, folder: Path, model: Path
) -> None:
    loans = pd.read_csv(folder / "loan.csv")
    again = loans.iloc[[0]].assign(granted="2024-03-01")
    pd.concat([loans, again]).to_csv(folder / "loan.csv", index=False)
    refused = run("explain", model, folder, "--key", "0")
    assert (
        "there are 2 examples of it, with different values of 'granted'; name one as --key 0,2024-01-11" in refused.err
    )
    found = run("explain", model, folder, "--key", "0,2024-03-01", "--json")
    assert json.loads(found.out)[0]["keys"] == {"loan_id": 0, "granted": "2024-03-01"}


@pytest.mark.parametrize("form", [[], ["--csv"]])
def test_convert_writes_times_that_are_read_again(run: Any, folder: Path, tmp_path: Path, form: list[str]) -> None:
    loans = pd.read_csv(folder / "loan.csv")
    loans.loc[3, "granted"] = None
    loans.to_csv(folder / "loan.csv", index=False)

    found = run("convert", folder, tmp_path / "new", *TASK, *TIMES, *form)
    assert found.code == 0, found.err
    db = hb.Database.from_folder(tmp_path / "new")
    assert db.times == {"loan": "granted", "trans": "date"}
    source = hb.Database.from_folder(
        folder, target="loan", key="loan_id", label="ok", positive="yes", times={"trans": "date", "loan": "granted"}
    )
    pd.testing.assert_frame_equal(db.examples()[0], source.examples()[0])
    for name in ("loan", "trans"):
        one, other = db.tables[name].times, source.tables[name].times
        assert one is not None
        assert other is not None
        assert np.array_equal(one.numbers, other.numbers, equal_nan=True)
    assert len(db.examples(labelled=None, as_of="2024-06-30")[0]) == LOANS


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--time", "trans"], "--time: 'trans' is not of the form table.column"),
        (["--time", "trans.date", "--time", "trans.amount"], "--time: table 'trans' has both 'date' and 'amount'"),
        (["--time", "trans.date"], "table 'trans' has a time, but the target 'loan' has none to compare it with"),
        (["--time", "trans.dat", *TIMES[2:]], "table 'trans' has no column 'dat'; did you mean 'date'?"),
        (["--time", "loan.ok"], "'loan.ok' is named both as the time and as the label"),
        (["--time", "loan.loan_id"], "'loan.loan_id' is a key, which says no time"),
        (["--known-later", "trans"], "--known-later: 'trans' is not of the form table.when=column,column"),
        ([*TIMES, "--known-later", "trans.amount=dat"], "has no column 'dat'"),
        (["--time", "loan.granted", "--time", "trans.amount"], "are numbers and the cutoffs 'loan.granted' are dates"),
    ],
)
def test_what_cannot_be_a_time_is_refused_in_a_sentence(
    run: Any, folder: Path, options: list[str], sentence: str
) -> None:
    found = run("inspect", folder, *TASK, *options)
    assert found.code == 1
    assert sentence in found.err
    assert found.err.count("\n") == 1


@pytest.mark.parametrize("moment", ["soon", "2024-13-01", "17"])
def test_what_is_no_moment_is_refused(run: Any, folder: Path, model: Path, moment: str) -> None:
    found = run("predict", model, folder, "--as-of", moment)
    assert found.code == 1
    assert f"as_of: '{moment}' is no time" in found.err


def test_as_of_needs_a_model_with_times(run: Any, folder: Path, tmp_path: Path) -> None:
    db = hb.Database.from_folder(folder, target="loan", key="loan_id", label="ok")
    hb.C2RIBClassifier(db, rounds=1, random_state=0).fit(*db.examples()).save(tmp_path / "model.json")
    found = run("predict", tmp_path / "model.json", folder, "--as-of", "2024-06-30")
    assert found.code == 1
    assert "have no cutoff that could be another" in found.err
