"""Times of rows and cutoffs of examples: how they are declared, read, checked and handed on."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hornboost as hb
from hornboost.data import parse_schema
from hornboost.estimators.fitted import fitted as fitted_model
from hornboost.model import file
from hornboost.model.seal import sealed

TIMES = {"trans": "date", "loan": "granted"}


def frames() -> dict[str, pd.DataFrame]:
    return {
        "loan": pd.DataFrame(
            {
                "loan_id": [1, 2, 3],
                "account_id": [7, 7, 8],
                "granted": pd.to_datetime(["2024-01-05", "2024-02-01", "2024-03-01"]),
                "ok": ["yes", "no", "yes"],
            }
        ),
        "account": pd.DataFrame({"account_id": [7, 8], "region": ["north", "south"]}),
        "trans": pd.DataFrame(
            {
                "account_id": [7, 7, 8, 8],
                "date": pd.to_datetime(["2024-01-04", "2024-01-05", "2024-02-01", None]),
                "amount": [1.0, 2.0, 3.0, 4.0],
                "closed": pd.to_datetime(["2024-01-06", None, "2024-02-02", None]),
                "reason": ["a", None, "b", None],
            }
        ),
    }


def database(**options: Any) -> hb.Database:
    given = {"key": "loan_id", "label": "ok", "positive": "yes", "times": TIMES, **options}
    return hb.Database.from_frames(given.pop("frames", frames()), "loan", **given)


def test_a_time_is_no_column_that_rules_could_look_at() -> None:
    db = database()
    assert db.times == {"loan": "granted", "trans": "date"}
    assert "date" not in db.tables["trans"].columns
    assert "granted" not in db.tables["loan"].columns
    times = db.tables["trans"].times
    assert times is not None
    assert times.is_date
    assert times.numbers[0] == pd.Timestamp("2024-01-04").value / 1000
    assert np.isnan(times.numbers[3])


def test_the_columns_that_are_known_later_are_kept_with_the_column_that_says_when() -> None:
    db = database(known_later={"trans": {"closed": "reason"}})
    assert db.tables["trans"].late == {"reason": "closed", "closed": "closed"}
    assert db.known_later == {"trans": {"closed": ("reason",)}}


def test_examples_have_their_cutoffs_and_other_ones_may_be_passed_in() -> None:
    db = database()
    X, _ = db.examples()
    cutoffs = db.encode(X).times
    assert cutoffs is not None
    assert cutoffs.numbers.tolist() == (X["granted"].astype("datetime64[us]").astype(np.int64)).tolist()
    later = db.encode(X.assign(granted="2025-06-30")).times
    assert later is not None
    assert set(later.numbers) == {pd.Timestamp("2025-06-30").value / 1000}


def test_without_declarations_nothing_has_a_time() -> None:
    db = database(times=None)
    assert db.times == {}
    assert db.known_later == {}
    assert db.encode(db.examples()[0]).times is None


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"times": {"trans": "dat", "loan": "granted"}}, "table 'trans' has no column 'dat'; did you mean 'date'?"),
        ({"times": {"tran": "date", "loan": "granted"}}, "there is no table 'tran'; did you mean 'trans'?"),
        ({"times": {"trans": "date"}}, "table 'trans' has a time, but the target 'loan' has none"),
        ({"times": {"loan": "loan_id"}}, "'loan.loan_id' is a key, which says no time"),
        ({"times": {"loan": "ok"}}, "'loan.ok' is named both as the time and as the label"),
        ({"times": {"loan": "account_id"}, "keys": {"loan": ["account_id"]}}, "is a key, which says no time"),
        ({"times": ["loan"]}, "times: ['loan'] is not understood"),
        ({"known_later": {"trans": "closed"}}, "known_later: {'trans': 'closed'} is not understood"),
        ({"known_later": {"trans": {"close": ["reason"]}}}, "has no column 'close'; did you mean 'closed'?"),
        ({"known_later": {"trans": {"closed": ["reson"]}}}, "has no column 'reson'; did you mean 'reason'?"),
        ({"known_later": {"trans": {"date": ["reason"]}}}, "'date' is the time of the row itself"),
        ({"known_later": {"trans": {"closed": ["account_id"]}}}, "'trans.account_id' is a key, which cannot be filled"),
        ({"times": None, "known_later": {"trans": {"closed": ["reason"]}}}, "columns that are known later, but"),
    ],
)
def test_what_cannot_be_a_time_is_refused_in_a_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(hb.HornBoostError) as error:
        database(**options)
    assert sentence in str(error.value)


def test_rows_without_a_time_are_counted() -> None:
    assert "1 of 4 rows of trans have no time in 'date': they count for no example" in database().warnings


def test_a_row_of_the_target_without_a_cutoff_is_no_example() -> None:
    tables = frames()
    tables["loan"].loc[1, "granted"] = pd.NaT
    db = database(frames=tables)
    assert list(db.examples()[0]["loan_id"]) == [1, 3]
    sentence = "1 of 3 rows of loan have no time in 'granted': they count for no example, and are none themselves"
    assert sentence in db.warnings


def test_examples_passed_in_without_a_cutoff_are_refused() -> None:
    db = database()
    X, _ = db.examples()
    with pytest.raises(hb.HornBoostError, match="have no column 'granted', which says up to when each may look"):
        db.encode(X.drop(columns="granted"))
    with pytest.raises(hb.HornBoostError, match="row 2 has no time"):
        db.encode(X.assign(granted=["2024-01-01", None, "2024-01-02"]))
    with pytest.raises(hb.HornBoostError, match="these are numbers where the database holds dates"):
        db.encode(X.assign(granted=5))


def test_a_schema_is_written_with_its_times_and_read_again() -> None:
    text = database(known_later={"trans": {"closed": ["reason"]}}).to_schema_toml()
    schema = parse_schema(text)
    assert schema.tables["trans"].time == "date"
    assert schema.tables["loan"].time == "granted"
    assert schema.tables["trans"].known_later == {"closed": ("reason",)}


def fitted(db: hb.Database) -> hb.C2RIBClassifier:
    X, y = db.examples()
    return hb.C2RIBClassifier(db, rounds=3, random_state=0).fit(X, y)


def bank() -> dict[str, pd.DataFrame]:
    """Forty loans, good if a transaction of more than 100 came before them; half of the others have one after."""
    numbers = np.arange(40)
    start = pd.Timestamp("2024-01-01")
    granted = start + pd.to_timedelta(numbers % 7 + 10, unit="D")
    loan = pd.DataFrame({"loan_id": numbers, "account_id": numbers, "granted": granted})
    loan["ok"] = np.where(numbers % 2, "no", "yes")
    loan["checked"] = granted + pd.to_timedelta(numbers // 4 % 2 * 2 - 1, unit="D")
    loan["grade"] = np.where(numbers % 4 < 2, "A", "B")
    before = numbers % 2 == 0
    date = granted + pd.to_timedelta(np.where(before, -3, 0), unit="D")
    trans = pd.DataFrame({"account_id": numbers, "date": date, "amount": np.where(numbers % 4 == 3, 7.0, 200.0)})
    return {"loan": loan, "account": pd.DataFrame({"account_id": numbers}), "trans": trans}


LATER = {"loan": {"checked": ["grade"]}}


def test_a_model_file_keeps_times_late_columns_and_the_names_of_ages(tmp_path: Path) -> None:
    db = database(frames=bank(), known_later=LATER)
    model = fitted(db)
    model.save(tmp_path / "model.json")
    saved = hb.load(tmp_path / "model.json").model
    assert {table: (time.column, time.type, time.age) for table, time in saved.times.items()} == {
        "loan": ("granted", "date", "age"),
        "trans": ("date", "date", "age"),
    }
    assert saved.late == {"loan": {"grade": "checked", "checked": "checked"}}


def test_a_database_without_times_is_read_with_those_of_the_model(tmp_path: Path) -> None:
    db = database(frames=bank(), known_later=LATER)
    model = fitted(db)
    model.save(tmp_path / "model.json")
    X, _ = db.examples()
    tables = bank()
    tables["trans"]["date"] = tables["trans"]["date"].astype(str)
    tables["loan"]["checked"] = tables["loan"]["checked"].astype(str)
    plain = database(frames=tables, times=None)
    assert plain.times == {}
    loaded = hb.load(tmp_path / "model.json", plain)
    assert loaded.database.times == db.times
    assert loaded.database.known_later == db.known_later
    assert (loaded.decision_function(X) == model.decision_function(X)).all()
    assert (hb.load(tmp_path / "model.json", db).decision_function(X) == model.decision_function(X)).all()


def test_cutoffs_may_come_with_the_examples_alone(tmp_path: Path) -> None:
    db = database(frames=bank())
    model = fitted(db)
    model.save(tmp_path / "model.json")
    X, _ = db.examples()
    tables = bank()
    del tables["loan"]["granted"]
    loaded = hb.load(tmp_path / "model.json", database(frames=tables, times=None))
    assert (loaded.decision_function(X) == model.decision_function(X)).all()


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"times": {"loan": "granted"}}, "learned with the time 'date' of table 'trans', and this database has none"),
        (
            {"times": {"loan": "checked", "trans": "date"}, "known_later": None},
            "learned with the time 'granted' of table 'loan', and this database has 'checked'",
        ),
        ({"known_later": None}, "for the model 'grade' of table 'loan' is known with 'checked', and this database"),
    ],
)
def test_other_times_than_the_models_are_refused(tmp_path: Path, options: dict[str, Any], sentence: str) -> None:
    fitted(database(frames=bank(), known_later=LATER)).save(tmp_path / "model.json")
    with pytest.raises(hb.HornBoostError) as error:
        hb.load(tmp_path / "model.json", database(**{"frames": bank(), "known_later": LATER, **options}))
    assert sentence in str(error.value)


def test_times_are_refused_by_a_model_that_was_learned_without() -> None:
    model = fitted(database(frames=bank(), times=None, exclude_columns=["trans.date", "loan.granted", "loan.checked"]))
    with pytest.raises(hb.HornBoostError, match="learned without a time of table 'loan'"):
        fitted_model(model._saved(), database(frames=bank()))


@pytest.mark.parametrize(
    ("place", "value", "sentence"),
    [
        (["times", "trans", "column"], 3, "times.trans.column is no text"),
        (["times", "trans", "type"], "nominal", "times.trans.type"),
        (["times", "trans", "stored"], "blob", "is no type of stored values"),
        (["times", "trans", "age"], "amount", "the time of table 'trans' does not fit its columns"),
        (["times", "trans", "column"], "amount", "the time of table 'trans' does not fit its columns"),
        (["times", "trans", "type"], "numeric", "the time of table 'trans' cannot be compared with that of 'loan'"),
        (["times", "nowhere"], {"column": "a", "type": "date", "age": "age"}, "the time of table 'nowhere' does not"),
        (["times", "loan"], None, "times.loan is no record"),
        (["times"], {}, "the target 'loan' has no time, and others have"),
        (["late", "loan", "grade"], "nothing", "'grade' of table 'loan' has no column that says when"),
        (["late", "loan", "nothing"], "checked", "'nothing' of table 'loan' has no column that says when"),
        (["late", "loan"], [], "late.loan is no record"),
        (["times", "trans", "column"], "day", "fingerprint does not match the schema"),
    ],
)
def test_times_of_a_file_that_do_not_fit_are_refused(place: list[str], value: Any, sentence: str) -> None:
    model = fitted(database(frames=bank(), known_later=LATER))._saved()
    body = json.loads(file.to_bytes(model))["model"]
    part = body
    for name in place[:-1]:
        part = part[name]
    part[place[-1]] = value
    with pytest.raises(hb.HornBoostError) as error:
        file.from_bytes(sealed("model", file.VERSION, body), "model.json")
    assert sentence in str(error.value)
