"""Times of every type and from every source: the same moments, and what cannot be compared is refused."""

from __future__ import annotations

import sqlite3
import warnings
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import hornboost as hb
from hornboost.data.times import encode_time

DAYS = ["2024-01-04", "2024-01-05", "2024-02-29", None]
MICROSECONDS = [1704326400000000.0, 1704412800000000.0, 1709164800000000.0, np.nan]
EAST = timezone(timedelta(hours=2))


def numbers(column: Any) -> list[float]:
    return [] if column is None else column.numbers.tolist()


def loans(granted: Any, **more: Any) -> pd.DataFrame:
    return pd.DataFrame({"loan": [1, 2, 3, 4], "granted": granted, "ok": ["y", "n", "y", "n"], **more})


def read(frame: Any, **options: Any) -> hb.Database:
    given = {"key": "loan", "label": "ok", "times": {"loan": "granted"}, **options}
    return hb.Database.from_frames({"loan": frame}, "loan", **given)


@pytest.mark.parametrize(
    "values",
    [
        DAYS,
        [None if day is None else date.fromisoformat(day) for day in DAYS],
        [None if day is None else datetime.fromisoformat(day) for day in DAYS],
        [None if day is None else datetime.fromisoformat(day).replace(tzinfo=UTC) for day in DAYS],
        [None if day is None else datetime.fromisoformat(day + "T02:00").replace(tzinfo=EAST) for day in DAYS],
        [None if day is None else f"{day}T02:00:00+02:00" for day in DAYS],
        [None if day is None else f"{day} 00:00:00" for day in DAYS],
        [None if day is None else f"{day}T00:00:00Z" for day in DAYS],
        pd.to_datetime(pd.Series(DAYS)),
        pd.to_datetime(pd.Series(DAYS)).dt.tz_localize("UTC").dt.tz_convert("Europe/Prague"),
        pd.Series(pd.to_datetime(pd.Series(DAYS)), dtype="datetime64[s]"),
        pd.Series(DAYS, dtype="category"),
        pd.Series(pd.array(DAYS, dtype="string")),
    ],
    ids=str,
)
def test_the_same_dates_of_any_type_are_the_same_moments(values: Any) -> None:
    db = read(loans(values))
    times = db.tables["loan"].times
    assert times is not None
    assert times.is_date
    assert np.array_equal(numbers(times), MICROSECONDS, equal_nan=True)
    X, _ = db.examples()
    assert numbers(db.encode(X).times) == MICROSECONDS[:3]


@pytest.mark.parametrize("kind", [pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("ns", "UTC"), pa.string()])
def test_arrow_and_polars_give_the_same_moments(kind: pa.DataType) -> None:
    days = pa.array([None if day is None else date.fromisoformat(day) for day in DAYS], pa.date32())
    table = pa.table({"loan": [1, 2, 3, 4], "granted": days.cast(kind), "ok": ["y", "n", "y", "n"]})
    for frame in (table, pl.from_arrow(table)):
        db = read(frame)
        assert np.array_equal(numbers(db.tables["loan"].times), MICROSECONDS, equal_nan=True)
        assert numbers(db.encode(db.examples()[0]).times) == MICROSECONDS[:3]


@pytest.mark.parametrize("values", [[1, 2, 3, 4], [1.5, -2.0, 3e9, 0.0], ["1", "2", "3", "4"], [0, 1, 1, 0]], ids=str)
def test_any_numbers_are_times(values: list[Any]) -> None:
    db = read(loans(values))
    times = db.tables["loan"].times
    assert times is not None
    assert not times.is_date
    assert numbers(times) == [float(value) for value in values]
    assert numbers(db.encode(db.examples()[0]).times) == numbers(times)
    X, _ = db.examples(as_of=17)
    assert set(numbers(db.encode(X).times)) == {17.0}


def test_times_of_day_among_dates_are_not_lost() -> None:
    db = read(loans([date(2024, 1, 4), datetime(2024, 1, 4, 12), None, date(2024, 1, 5)]))
    half_a_day = 43_200_000_000.0
    found = numbers(db.tables["loan"].times)
    assert found[1] - found[0] == half_a_day
    assert found[3] - found[1] == half_a_day


def through_frames(values: list[Any], folder: Path) -> hb.Database:
    return read(loans(values))


def through_objects(values: list[Any], folder: Path) -> hb.Database:
    return read(loans(pd.Series([datetime.fromisoformat(value) for value in values], dtype=object)))


def through_csv(values: list[Any], folder: Path) -> hb.Database:
    loans(values).to_csv(folder / "loan.csv", index=False)
    return hb.Database.from_folder(folder, target="loan", key="loan", label="ok", times={"loan": "granted"})


def through_schema(values: list[Any], folder: Path) -> hb.Database:
    loans(values).to_csv(folder / "loan.csv", index=False)
    columns = '[{name="loan", type="key"}, {name="granted", type="date"}, {name="ok", type="nominal"}]'
    target = '[target]\ntable = "loan"\nkey = "loan"\nlabel = "ok"\ntime = "granted"'
    (folder / "schema.toml").write_text(f"{target}\n[tables.loan]\ncolumns = {columns}\n")
    return hb.Database.from_folder(folder)


def through_sqlite(kind: str) -> Callable[[list[Any], Path], hb.Database]:
    def through(values: list[Any], folder: Path) -> hb.Database:
        connection = sqlite3.connect(folder / "bank.db")
        connection.execute(f"CREATE TABLE loan (loan INTEGER PRIMARY KEY, granted {kind}, ok TEXT)")
        connection.executemany("INSERT INTO loan VALUES (?, ?, ?)", loans(values).itertuples(index=False, name=None))
        connection.commit()
        connection.close()
        return hb.Database.from_sqlite(folder / "bank.db", "loan", label="ok", times={"loan": "granted"})

    return through


EVERYWHERE = [
    through_frames,
    through_csv,
    through_schema,
    pytest.param(through_sqlite("TEXT"), id="sqlite text"),
    pytest.param(through_sqlite("DATETIME"), id="sqlite datetime"),
]


@pytest.mark.parametrize("through", [*EVERYWHERE, through_objects])
def test_times_with_and_without_a_zone_in_one_column_are_refused(through: Any, tmp_path: Path) -> None:
    with pytest.raises(hb.HornBoostError, match=r"column 'granted': '.*' has a time zone and '.*' has none"):
        through(["2024-01-04T00:00:00", "2024-01-05T00:00:00+02:00", "2024-01-06T01:00:00", "2024-01-07"], tmp_path)


@pytest.mark.parametrize("through", [*EVERYWHERE, through_objects])
def test_times_of_several_zones_are_the_instants_that_they_denote(through: Any, tmp_path: Path) -> None:
    values = ["2024-01-04T00:00:00+00:00", "2024-01-04T02:00:00+02:00", "2024-01-03T19:00:00-05:00"]
    found = numbers(through([*values, "2024-01-05T00:00:00+00:00"], tmp_path).tables["loan"].times)
    assert found == [MICROSECONDS[0]] * 3 + [MICROSECONDS[1]]


@pytest.mark.parametrize("through", EVERYWHERE)
def test_text_that_is_no_time_is_refused_with_its_row(through: Any, tmp_path: Path) -> None:
    with pytest.raises(hb.HornBoostError, match="column 'granted': row 3 holds 'soon', which is not a date"):
        through(["2024-01-04", "2024-01-05", "soon", "2024-01-07"], tmp_path)


@pytest.mark.parametrize(
    "values",
    [
        pd.to_timedelta([1, 2, 3, 4], unit="D"),
        [True, False, True, False],
        [datetime(2024, 1, 1).time()] * 4,
        [[1], [2], [3], [4]],
    ],
    ids=["durations", "booleans", "times of day", "lists"],
)
def test_types_that_are_no_times_are_refused(values: Any) -> None:
    with pytest.raises(hb.HornBoostError, match=r"column 'granted': values of type '.*' are no times"):
        read(loans(values))


def test_a_target_of_which_no_row_has_a_time_is_refused() -> None:
    with pytest.raises(hb.HornBoostError, match="none of 4 examples has a time up to which it may look"):
        read(loans(pd.Series([None] * 4, dtype="datetime64[ns]")))


def test_duckdb_gives_times_of_its_types() -> None:
    connection = duckdb.connect()
    connection.execute("CREATE TABLE loan (loan INT PRIMARY KEY, granted TIMESTAMPTZ, ok TEXT)")
    connection.execute("INSERT INTO loan VALUES (1, '2024-01-04 02:00:00+02', 'y'), (2, '2024-01-05 00:00:00+00', 'n')")
    connection.execute("CREATE TABLE trans (loan INT REFERENCES loan (loan), date DATE, hour TIME)")
    connection.execute("INSERT INTO trans VALUES (1, '2024-01-03', '10:00'), (2, '2024-01-04', '11:00')")
    times = {"loan": "granted", "trans": "date"}
    db = hb.Database.from_duckdb(connection, "loan", label="ok", times=times)
    assert numbers(db.tables["loan"].times) == MICROSECONDS[:2]
    assert numbers(db.tables["trans"].times) == [MICROSECONDS[0] - 86_400e6, MICROSECONDS[0]]
    assert "loan.granted has a time zone and trans.date has none: the latter is taken for UTC" in db.warnings
    with pytest.raises(hb.HornBoostError, match=r"values of type 'time64\[us\]' are no times"):
        hb.Database.from_duckdb(connection, "loan", label="ok", times={**times, "trans": "hour"})


@pytest.mark.parametrize(
    ("kind", "stored"),
    [
        (pa.date32(), "date"),
        (pa.timestamp("ns"), "timestamp"),
        (pa.timestamp("us", "UTC"), "timestamptz"),
        (pa.string(), "text"),
    ],
)
def test_encoding_keeps_how_a_time_is_stored(kind: pa.DataType, stored: str) -> None:
    days = pa.array([date(2024, 1, 4)], pa.date32())
    assert encode_time("day", pa.chunked_array([days.cast(kind)]), "here").stored == stored


def dated(granted: Any) -> hb.Database:
    trans = pd.DataFrame({"loan": [1, 2, 3, 4], "date": pd.to_datetime(["2024-01-04"] * 4), "amount": [1.0, 2, 3, 4]})
    return hb.Database.from_frames(
        {"loan": loans(granted), "trans": trans},
        "loan",
        key="loan",
        label="ok",
        times={"loan": "granted", "trans": "date"},
    )


def test_cutoffs_before_every_row_are_said() -> None:
    db = dated(["2023-01-01", "2023-01-02", "2023-01-03", "2024-01-04"])
    sentence = (
        "no row of trans counts for any example: the first has 'date' 2024-01-04, and the last cutoff is 2024-01-04"
    )
    assert sentence in db.warnings
    with pytest.warns(UserWarning, match="the examples see no row that has a time: the last cutoff is 2024-01-04"):
        db.encode(db.examples()[0])


def test_only_examples_that_all_see_nothing_are_said() -> None:
    db = dated(["2023-01-01", "2023-01-02", "2023-01-03", "2024-01-05"])
    assert not any("no row of trans counts" in sentence for sentence in db.warnings)
    X, _ = db.examples()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        db.encode(X)
    with pytest.warns(UserWarning, match="see no row that has a time"):
        db.encode(X.assign(granted="2020-01-01"))


def test_x_of_any_frame_and_type_gives_the_same_model() -> None:
    db = dated(["2024-01-05", "2024-01-04", "2024-02-01", "2024-01-03"])
    X, y = db.examples()
    frames = [X, X.assign(granted=pd.to_datetime(X["granted"])), pl.from_pandas(X), pa.Table.from_pandas(X)]
    models = [hb.C2RIBClassifier(db, rounds=3, random_state=0).fit(frame, y) for frame in frames]
    scores = [model.decision_function(X).tolist() for model in models]
    assert scores == [scores[0]] * 4
    with pytest.raises(hb.HornBoostError, match=r"'.*' has a time zone and '.*' has none"):
        db.encode(
            X.assign(granted=pd.Series([datetime(2024, 1, 1), datetime(2024, 1, 1, tzinfo=EAST)] * 2, dtype=object))
        )
