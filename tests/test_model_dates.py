"""Dates in the rows that a model predicts: read in the order that it learned from, and never made of plain numbers."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hornboost as hb
from hornboost.errors import DataError

DAYS = [dt.date(2025, 1, 1) + dt.timedelta(days=5 * i) for i in range(60)]
TASK: dict[str, Any] = {"target": "jobs", "label": "late", "key": "job"}


def written(dates: list[Any], labelled: bool = False) -> pd.DataFrame:
    """One job a date, of which those until the end of April were late."""
    frame = pd.DataFrame({"job": np.arange(len(dates)), "due": dates})
    return frame.assign(late=["yes" if day < dt.date(2025, 5, 1) else "no" for day in DAYS]) if labelled else frame


def related(dates: list[Any]) -> dict[str, pd.DataFrame]:
    """The same with the dates in a table of their own."""
    jobs = pd.DataFrame({"job": np.arange(len(dates))})
    return {"jobs": jobs, "steps": pd.DataFrame({"job": jobs["job"], "due": dates})}


def as_csv(folder: Path, tables: dict[str, pd.DataFrame]) -> hb.Database:
    folder.mkdir()
    for name, frame in tables.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    return hb.Database.from_folder(folder, target="jobs", key="job")


def as_parquet(folder: Path, tables: dict[str, pd.DataFrame]) -> hb.Database:
    folder.mkdir()
    for name, frame in tables.items():
        frame.to_parquet(folder / f"{name}.parquet", index=False)
    return hb.Database.from_folder(folder, target="jobs", key="job")


def as_duckdb(folder: Path, tables: dict[str, pd.DataFrame]) -> hb.Database:
    import duckdb

    folder.mkdir()
    with duckdb.connect(folder / "jobs.duckdb") as connection:
        for name, frame in tables.items():
            connection.register("frame", frame)
            connection.execute(f"CREATE TABLE {name} AS FROM frame")
    links = [("steps.job", "jobs.job")]
    return hb.Database.from_duckdb(folder / "jobs.duckdb", target="jobs", key="job", foreign_keys=links)


READERS = [as_csv, as_parquet, as_duckdb]


@pytest.fixture(scope="module")
def day_first() -> list[str]:
    return [f"{day:%d/%m/%Y}" for day in DAYS]


@pytest.fixture(scope="module")
def single(tmp_path_factory: pytest.TempPathFactory, day_first: list[str]) -> Path:
    """A model of one table that learned from dates with the day first."""
    frame, path = written(day_first, labelled=True), tmp_path_factory.mktemp("single") / "model.json"
    hb.C2RIBClassifier(rounds=1, random_state=0).fit(frame[["due"]], frame["late"]).save(path)
    return path


@pytest.fixture(scope="module")
def relational(tmp_path_factory: pytest.TempPathFactory, day_first: list[str]) -> Path:
    """One that looks at the dates of another table."""
    folder = tmp_path_factory.mktemp("relational")
    tables = related(day_first)
    tables["jobs"] = written(day_first, labelled=True).drop(columns="due")
    for name, frame in tables.items():
        frame.to_csv(folder / f"{name}.csv", index=False)
    db = hb.Database.from_folder(folder, **TASK)
    model = hb.C2RIBClassifier(db, rounds=1, random_state=0).fit(*db.examples())
    assert "due<=" in str(model.rules_[0].clause)
    model.save(folder / "model.json")
    return folder / "model.json"


@pytest.mark.parametrize("reader", READERS)
def test_the_learned_order_holds_whatever_stands_beside_a_date(
    run: Any, tmp_path: Path, relational: Path, reader: Callable[..., hb.Database]
) -> None:
    reader(tmp_path / "a", related(["09/02/2025", "03/06/2025"]))
    source = tmp_path / "a" / "jobs.duckdb" if reader is as_duckdb else tmp_path / "a"
    said = run("predict", relational, source).out.splitlines()
    assert [line.split(",")[-1] for line in said[1:]] == ["yes", "no"]
    database = reader(tmp_path / "b", related(["09/02/2025", "09/30/2025"]))
    source = tmp_path / "b" / "jobs.duckdb" if reader is as_duckdb else tmp_path / "b"
    refused = run("predict", relational, source).err
    assert "table 'steps', column 'due': row 2 holds '09/30/2025', which is not a date with the day first" in refused
    with pytest.raises(
        DataError, match=r"table 'steps', column 'due': (row 2 holds '09/30/2025'|the month comes first)"
    ):
        hb.load(relational, database=database)


def test_the_learned_order_holds_in_the_rows_that_are_passed_in(run: Any, tmp_path: Path, single: Path) -> None:
    model = hb.load(single)
    assert model.predict(written(["09/02/2025", "03/06/2025"])).tolist() == ["yes", "no"]
    wrong = written(["09/02/2025", "09/30/2025"])
    with pytest.raises(
        DataError, match="column 'due': row 2 holds '09/30/2025', which is not a date with the day first"
    ):
        model.predict(wrong)
    as_csv(tmp_path / "b", {"jobs": wrong})
    assert "row 2 holds '09/30/2025'" in run("predict", single, tmp_path / "b").err


def test_a_declared_order_holds_for_what_a_model_learns_from(tmp_path: Path) -> None:
    frame = written([f"{day:%m/%d/%Y}" for day in DAYS], labelled=True)
    frame.to_csv(tmp_path / "jobs.csv", index=False)
    types = {"jobs.due": "day-first"}
    message = "row 4 holds '01/16/2025', which is not a date with the day first"
    with pytest.raises(DataError, match=message):
        hb.Database.from_folder(tmp_path, **TASK, types=types)
    with pytest.raises(DataError, match=message):
        hb.Database.from_frames({"jobs": frame}, **TASK, types=types)


@pytest.mark.parametrize("number", [20250201, 45700, 250201])
@pytest.mark.parametrize("reader", READERS)
def test_plain_numbers_are_no_dates_to_a_model_of_dates(
    run: Any, tmp_path: Path, relational: Path, reader: Callable[..., hb.Database], number: int
) -> None:
    database = reader(tmp_path / "a", related([number, number]))
    source = tmp_path / "a" / "jobs.duckdb" if reader is as_duckdb else tmp_path / "a"
    message = f"table 'steps', column 'due': row 1 holds '?{number}'?, "
    assert pd.Series([run("predict", relational, source).err]).str.contains(message).all()
    with pytest.raises(hb.HornBoostError, match=f"{message}|as date, and here it is numeric"):
        hb.load(relational, database=database)


def test_plain_numbers_are_no_dates_in_the_rows_that_are_passed_in(run: Any, tmp_path: Path, single: Path) -> None:
    numbers = written([None, 20250201])
    for frame in (numbers, written([20250201, 250201])):
        with pytest.raises(DataError, match=r"column 'due': 20250201(.0)? is a number where dates were learned from"):
            hb.load(single).predict(frame)
    as_csv(tmp_path / "b", {"jobs": numbers.astype("Int64")})
    assert "row 2 holds '20250201'" in run("predict", single, tmp_path / "b").err
    nothing = written([np.nan, np.nan])
    assert len(hb.load(single).predict(nothing)) == 2


def test_dates_that_were_learned_as_numbers_of_days_stay_so(run: Any, tmp_path: Path) -> None:
    counted = [(day - dt.date(1970, 1, 1)).days for day in DAYS]
    written(counted, labelled=True).to_csv(tmp_path / "jobs.csv", index=False)
    db = hb.Database.from_folder(tmp_path, **TASK, types={"jobs.due": "date"})
    hb.C2RIBClassifier(db, rounds=1, random_state=0).fit(*db.examples()).save(tmp_path / "model.json")
    batch = written([counted[0], counted[-1]])
    database = as_csv(tmp_path / "b", {"jobs": batch})
    assert hb.load(tmp_path / "model.json", database=database).predict(batch).tolist() == ["yes", "no"]
    said = run("predict", tmp_path / "model.json", tmp_path / "b").out.splitlines()
    assert [line.split(",")[-1] for line in said[1:]] == ["yes", "no"]


def test_a_base_learner_that_knows_numbers_only_gets_dates_by_the_same_rules(day_first: list[str]) -> None:
    from sklearn.tree import DecisionTreeRegressor

    frame = written(day_first, labelled=True)
    model = hb.LogitBoostClassifier(base=DecisionTreeRegressor(max_depth=1), rounds=2)
    model.fit(frame[["due"]], frame["late"])
    assert model.predict(pd.DataFrame({"due": ["09/02/2025", "03/06/2025"]})).tolist() == ["yes", "no"]
    with pytest.raises(
        DataError, match="column 'due': row 2 holds '09/30/2025', which is not a date with the day first"
    ):
        model.predict(pd.DataFrame({"due": ["09/02/2025", "09/30/2025"]}))
    with pytest.raises(DataError, match="column 'due': 20250201 is a number where dates were learned from"):
        model.predict(pd.DataFrame({"due": [20250201, 250201]}))
