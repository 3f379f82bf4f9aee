"""Files as people have them: what is wrong or unusual in them is read rightly, or said with the way out."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Sequence
from datetime import date
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import hornboost as hb
from hornboost.data.partitions.streamed import partition_streamed
from hornboost.data.readers.folder import read_folder
from hornboost.errors import DataError, ReadingWarning


@pytest.fixture
def people(tmp_path: Path) -> Path:
    """People who left if a visit cost more than 80; some costs are written NA, and the last people have no label."""
    rng = np.random.default_rng(1)
    folder = tmp_path / "people"
    folder.mkdir()
    visits = pd.DataFrame({"visit_id": np.arange(1, 181), "person_id": np.repeat(np.arange(1, 61), 3)})
    visits["cost"] = rng.integers(1, 100, len(visits))
    left = visits.groupby("person_id")["cost"].max().gt(80).map({True: "yes", False: "no"})
    left.iloc[-6:] = None
    visits["cost"] = visits["cost"].astype(object).where(rng.random(len(visits)) > 0.1, "NA")
    left.rename("left").reset_index().to_csv(folder / "people.csv", index=False)
    visits.to_csv(folder / "visits.csv", index=False)
    return folder


TASK = ("--target", "people", "--label", "left")


def test_what_convert_writes_is_loaded_by_duckdb_with_the_types_of_the_model(
    run: Any, people: Path, tmp_path: Path
) -> None:
    model, typed = tmp_path / "m.json", tmp_path / "typed"
    assert run("fit", people, *TASK, "--estimator", "c2rib", "--rounds", 2, "-o", model).code == 0
    assert run("convert", people, typed, *TASK).code == 0
    with duckdb.connect() as connection:
        for file in typed.glob("*.parquet"):
            connection.execute(f"CREATE TABLE {file.stem} AS FROM '{file}'")
        scored = connection.sql(run("sql", model).out).df().sort_values("person_id")
        assert set(connection.sql('SELECT DISTINCT "left" FROM people').fetchall()) == {("yes",), ("no",), (None,)}
    run("predict", model, people, "-o", tmp_path / "scores.csv")
    expected = pd.read_csv(tmp_path / "scores.csv").sort_values("person_id")
    np.testing.assert_allclose(scored["score_of_yes"], expected["score_of_yes"])
    assert hb.Database.from_folder(people, target="people", label="left").target.classes == ("no", "yes")


def test_a_bad_cell_among_numbers_is_named_with_the_option_that_helps(run: Any, people: Path, tmp_path: Path) -> None:
    visits = (people / "visits.csv").read_text().splitlines()
    visits[7] = visits[7].rsplit(",", 1)[0] + ",12 EUR"
    (people / "visits.csv").write_text("\n".join(visits))
    (said,) = hb.Database.from_folder(people, target="people", label="left").warnings
    assert said.startswith("visits.cost is read as text, because row 7 holds '12 EUR', where ")
    assert "values are numbers; --type visits.cost=numeric (types= in Python) reads it as numbers" in said
    fitted = [*TASK, "--estimator", "c2rib", "--rounds", 2, "-o", tmp_path / "m.json"]
    assert said in run("fit", people, *fitted).err
    assert said in run("inspect", people, *TASK).out
    done = run("fit", people, *fitted, "--type", "visits.cost=numeric")
    assert re.search(
        r"visits.cost: 1 of \d+ values is no number and counts as missing, such as '12 EUR' in row 7", done.err
    )
    assert "cost>=" in run("rules", tmp_path / "m.json").out
    predicted = run("predict", tmp_path / "m.json", people)
    assert (predicted.code, predicted.err.count("counts as missing")) == (0, 1)
    frames = {name: pd.read_csv(people / f"{name}.csv") for name in ("people", "visits")}
    db = hb.Database.from_frames(frames, "people", label="left", types={"visits.cost": "numeric"})
    assert db.tables["visits"].columns["cost"].missing.sum() == (
        pd.to_numeric(frames["visits"]["cost"], "coerce").isna().sum()
    )


def test_a_bad_cell_in_rows_of_a_frame_is_missing_where_the_column_is_declared_numeric() -> None:
    frame = pd.DataFrame({"x": ["1", "2", "x", "4"], "y": ["a", "b", "a", "b"]})
    db = hb.Database.from_frames({"t": frame}, "t", label="y", types={"t.x": "numeric"})
    assert db.encode(db.examples()[0]).columns["x"].missing.tolist() == [False, False, True, False]
    db = hb.Database.from_frames({"t": frame.replace("x", "NA")}, "t", label="y", types={"t.x": "numeric"})
    assert db.tables["t"].columns["x"].missing.tolist() == [False, False, True, False]
    assert db.encode(frame.replace("x", "NA")).columns["x"].missing.tolist() == [False, False, True, False]
    with pytest.raises(DataError, match="row 1 holds 'a', which is not a number"):
        hb.Database.from_frames({"t": frame.assign(z=frame["y"])}, "t", label="y", types={"t.z": "numeric"})


@pytest.mark.parametrize("reader", ["folder", "frames"])
def test_a_key_that_two_repeated_rows_spoil_is_named(run: Any, people: Path, reader: str) -> None:
    table = pd.read_csv(people / "people.csv").rename(columns={"person_id": "id"})
    table = pd.concat([table, table.iloc[[3, 8]]])
    table.to_csv(people / "people.csv", index=False)
    said = (
        "people.id would be the primary key, but 2 of its values stand in several of 62 rows, such as '4': no other "
        "table is linked to it; remove those rows, or name each link as in --link TABLE.COLUMN=people.id"
    )
    if reader == "frames":
        visits = pd.read_csv(people / "visits.csv")
        db = hb.Database.from_frames({"people": table, "visits": visits}, "people", label="left")
    else:
        db = hb.Database.from_folder(people, target="people", label="left")
        assert said in run("fit", people, *TASK, "--estimator", "c2rib", "--rounds", 1, "-o", people / "m.json").err
        linked = run("inspect", people, *TASK, "--link", "visits.person_id=people.id").out
        assert "would be the primary key" not in linked
        assert re.search(r"person_id +key .* people.id", linked)
    assert said in db.warnings


def test_a_key_that_is_given_is_linked_by_its_name_though_rows_repeat_it(run: Any, people: Path) -> None:
    table = pd.read_csv(people / "people.csv").rename(columns={"person_id": "people_no"})
    pd.concat([table, table.iloc[[3, 8]]]).to_csv(people / "people.csv", index=False)
    visits = pd.read_csv(people / "visits.csv").rename(columns={"person_id": "people_no"})
    visits.to_csv(people / "visits.csv", index=False)
    said = run("inspect", people, *TASK).out
    assert "people.people_no would be the primary key" in said
    assert "people.people_no, visits.people_no hold the same identifiers" not in said
    said = run("inspect", people, *TASK, "--key", "people_no").out
    assert "people.people_no, visits.people_no hold the same identifiers" in said
    assert "would be the primary key" not in said


def test_a_missing_key_spoils_it_too_and_a_foreign_key_is_none(people: Path) -> None:
    table = pd.read_csv(people / "people.csv", dtype=str).rename(columns={"person_id": "id"})
    table.loc[5, "id"] = None
    pairs = pd.DataFrame({"person_id": [*range(1, 40), 39], "weight": 1.5})  # refers to people: not a key of its own
    frames = {"people": table, "visits": pd.read_csv(people / "visits.csv"), "pairs": pairs}
    (said,) = [one for one in hb.Database.from_frames(frames, "people").warnings if "would be" in one]
    assert "people.id would be the primary key, but 1 of 60 rows has none" in said
    frames["people"] = pd.read_csv(people / "people.csv")
    assert not any("would be" in one for one in hb.Database.from_frames(frames, "people").warnings)


def test_a_link_that_is_named_leaves_the_others_to_be_found(run: Any, people: Path) -> None:
    pd.DataFrame({"place_id": [1, 2], "town": ["a", "b"]}).to_csv(people / "places.csv", index=False)
    visits = pd.read_csv(people / "visits.csv").assign(shop=lambda frame: frame["visit_id"] % 2 + 1)
    visits.to_csv(people / "visits.csv", index=False)
    found = json.loads(run("inspect", people, *TASK, "--link", "visits.shop=places.place_id", "--json").out)["links"]
    assert {(link["from"], link["to"]) for link in found} == {
        ("visits.shop", "places.place_id"),
        ("visits.person_id", "people.person_id"),
    }
    only = [("visits.shop", "places.place_id")]
    frames = {name: pd.read_csv(people / f"{name}.csv") for name in ("people", "visits", "places")}
    assert len(hb.Database.from_frames(frames, "people", links=only).links) == 2
    assert len(hb.Database.from_frames(frames, "people", foreign_keys=only).links) == 1


def test_inspect_and_python_warn_of_the_same(run: Any, people: Path) -> None:
    pd.DataFrame({"x": range(3)}).to_csv(people / "alone.csv", index=False)
    table = pd.read_csv(people / "people.csv")
    names = table.assign(note=[f"note {k % 55}" for k in range(len(table))])
    pd.concat([names] * 3).assign(person_id=range(180), note=[f"n{k % 120}" for k in range(180)]).to_csv(
        people / "people.csv", index=False
    )
    warnings = hb.Database.from_folder(people, target="people", label="left").warnings
    assert any("people.note (120 distinct values in 180 rows) looks like an identifier" in one for one in warnings)
    assert any("no link leads from people to alone" in one for one in warnings)
    shown = run("inspect", people, *TASK).out.split("warnings:\n")[1].splitlines()
    assert [line.strip() for line in shown] == list(warnings)
    assert json.loads(run("inspect", people, *TASK, "--json").out)["warnings"] == list(warnings)


DAYS = [date(2024, 1 + k % 12, 1 + k % 28) for k in range(60)]
FORMS = ["%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%Y/%m/%d", "%d-%m-%Y 00:00"]


def bills(form: str, days: Sequence[date] = DAYS) -> pd.DataFrame:
    return pd.DataFrame(
        {
            "bill_id": range(len(days)),
            "due": [day.strftime(form) for day in days],
            "late": ["no", "yes"] * (len(days) // 2),
        }
    )


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("reader", ["frames", "csv", "schema", "parquet", "duckdb", "single"])
def test_dates_are_read_in_any_order_that_the_column_tells(form: str, reader: str, tmp_path: Path) -> None:
    frame, path = bills(form), tmp_path / "bills.csv"
    if reader == "frames":
        db = hb.Database.from_frames({"bills": frame}, "bills", label="late")
    elif reader == "single":
        db = hb.Database.from_single(frame, "bills")
    elif reader == "duckdb":
        with duckdb.connect(tmp_path / "bills.duckdb") as connection:
            connection.register("given", frame)
            connection.execute("CREATE TABLE bills AS FROM given")
        db = hb.Database.from_duckdb(tmp_path / "bills.duckdb", "bills", label="late")
    else:
        frame.to_parquet(path.with_suffix(".parquet")) if reader == "parquet" else frame.to_csv(path, index=False)
        db = hb.Database.from_folder(tmp_path, target="bills", label="late")
        if reader == "schema":
            db.write_schema(tmp_path / "schema.toml")
            db = hb.Database.from_folder(tmp_path)
    column = db.tables["bills"].columns["due"]
    assert (column.is_date, db.warnings) == (True, ())
    assert column.numbers.tolist() == [float(np.datetime64(day, "us").astype(int)) for day in DAYS]


def test_a_model_reads_new_dates_in_the_order_that_it_learned(run: Any, tmp_path: Path) -> None:
    bills("%m/%d/%Y").assign(late=["no" if day.month < 7 else "yes" for day in DAYS]).to_csv(
        tmp_path / "bills.csv", index=False
    )
    model = tmp_path / "m.json"
    assert run("fit", tmp_path, "--target", "bills", "--label", "late", "--rounds", 1, "-o", model).code == 0
    (tmp_path / "new").mkdir()
    new = pd.DataFrame({"bill_id": [1, 2], "due": ["02/11/2024", "11/02/2024"]})
    new.to_csv(tmp_path / "new" / "bills.csv", index=False)
    shown = run("predict", model, tmp_path / "new").out.splitlines()
    assert [line.rsplit(",", 1)[1] for line in shown[1:]] == ["no", "yes"]
    assert hb.load(model).predict(new[["due"]]).tolist() == ["no", "yes"]
    assert "CAST" in run("sql", model).out
    with duckdb.connect(tmp_path / "text.duckdb") as connection:
        connection.execute(f"CREATE TABLE bills AS FROM read_csv('{tmp_path / 'bills.csv'}', all_varchar = true)")
    stored = hb.Database.from_duckdb(tmp_path / "text.duckdb", "bills", label="late")
    clf = hb.C2RIBClassifier(stored, rounds=1, random_state=0).fit(*stored.examples())
    with pytest.raises(hb.HornBoostError, match="stored as text month-first, and DuckDB reads no dates in that order"):
        clf.to_sql("duckdb")


@pytest.mark.parametrize("order", ["day-first", "month-first"])
def test_an_order_that_cannot_be_told_is_asked_for_and_may_be_declared(run: Any, tmp_path: Path, order: str) -> None:
    days = [day for day in DAYS if day.day <= 12]
    frame = bills("%d/%m/%Y" if order == "day-first" else "%m/%d/%Y", days)
    frame.to_csv(tmp_path / "bills.csv", index=False)
    task, option = ("--target", "bills", "--label", "late"), ("--type", f"bills.due={order}")
    said = run("inspect", tmp_path, *task).out
    assert re.search("due +nominal", said)
    assert "whether the day or the month comes first cannot be told: --type bills.due=day-first or" in said
    assert "Nothing was found, but bills.due could not be looked at." in run("audit", tmp_path, *task).out
    assert re.search("due +date", run("inspect", tmp_path, *task, *option).out)
    expected = [float(np.datetime64(day, "us").astype(int)) for day in days]
    types = {"bills.due": order}
    for db in (
        hb.Database.from_folder(tmp_path, target="bills", label="late", types=types),
        hb.Database.from_frames({"bills": frame}, "bills", label="late", types=types),
    ):
        assert db.tables["bills"].columns["due"].numbers.tolist() == expected
        assert db.encode(db.examples()[0].head(2)).columns["due"].numbers.tolist() == expected[:2]
    hb.Database.from_folder(tmp_path, target="bills", types=types).write_schema(tmp_path / "schema.toml")
    with pytest.raises(DataError, match=r"cannot be told; declare the type 'day-first' or 'month-first' \(--type\)"):
        hb.Database.from_folder(tmp_path)
    stated = hb.Database.from_folder(tmp_path, types=types)
    assert stated.tables["bills"].columns["due"].numbers.tolist() == expected


def test_a_word_among_dates_and_years_of_two_digits_are_named() -> None:
    odd = bills("%d.%m.%Y").assign(due=lambda frame: ["soon", *frame["due"][1:]])
    (said,) = hb.Database.from_frames({"bills": odd}, "bills", label="late").warnings
    assert said.endswith("but is read as text, because row 1 holds 'soon'; correct it")
    for odd_day, row in (("31.02.2025", 8), ("2/3/25", 3)):  # no such day, and another form: neither is the first cell
        dues = bills("%d.%m.%Y")["due"].tolist()
        odd = bills("%d.%m.%Y").assign(due=[*dues[: row - 1], odd_day, *dues[row:]])
        (said,) = hb.Database.from_frames({"bills": odd}, "bills", label="late").warnings
        assert said.endswith(f"but is read as text, because row {row} holds '{odd_day}'; correct it")
    (said,) = hb.Database.from_frames({"bills": bills("%d.%m.%y")}, "bills", label="late").warnings
    assert said.endswith("because not all can be read; write them as 2025-12-31")


def test_times_are_suggested_by_options_that_work(run: Any, tmp_path: Path) -> None:
    people = pd.DataFrame({"person_id": range(40), "left": ["no", "yes"] * 20})
    visits = pd.DataFrame({"person_id": [k // 2 for k in range(80)], "at": pd.date_range("2024-01-01", periods=80)})
    task = ("--target", "people", "--label", "left")

    def suggested() -> list[str]:
        people.to_csv(tmp_path / "people.csv", index=False)
        visits.to_csv(tmp_path / "visits.csv", index=False)
        found = json.loads(run("inspect", tmp_path, *task, "--json").out)["could_be_times"]
        assert isinstance(found, list)
        return found

    (said,) = suggested()
    assert "add a column with the time of each prediction to people, and declare both" in said
    assert "(rules then ask for its age, not its date)" in said
    people["joined"] = "2020-01-01"
    joined, visited = suggested()
    assert joined.endswith("nothing comes before it that has one (visits.at): it is no cutoff")
    assert "add a column" in visited
    people["asked"] = "2024-03-01"
    options = suggested()[-1].rsplit("declare both, with ", 1)[1].split()
    assert options == ["--time", "people.asked", "--time", "visits.at"]
    done = run("inspect", tmp_path, *task, *options)
    assert done.code == 0, done.err


def test_labels_that_are_spelt_in_several_ways_are_named(run: Any, people: Path) -> None:
    frame = pd.read_csv(people / "people.csv")
    frame.loc[[1, 2], "left"] = ["No", " no"]
    frame.to_csv(people / "people.csv", index=False)
    said = "people.left has ' no', 'No', 'no', which differ only in case and blanks, as classes of their own"
    assert any(said in line for line in hb.Database.from_folder(people, target="people", label="left").warnings)
    assert said in run("inspect", people, *TASK).out
    assert said in run("fit", people, *TASK, "--estimator", "c2rib", "--rounds", 1, "-o", people.parent / "m.json").err
    assert "differ only in case" not in run("inspect", people, *TASK, "--positive", "yes").out


def test_a_label_of_one_class_is_named_and_gets_no_praise(run: Any, people: Path) -> None:
    frame = pd.read_csv(people / "people.csv")
    frame.assign(left="no").to_csv(people / "people.csv", index=False)
    assert "all labels in people.left are 'no', so there is nothing to tell apart" in run("inspect", people, *TASK).out
    done = run("fit", people, *TASK, "-o", people.parent / "m.json")
    assert done.code == 0
    assert "nothing was learned" in done.err
    assert "right on" not in done.err


def test_a_row_number_is_an_identifier_in_disguise(run: Any, people: Path) -> None:
    frame = pd.read_csv(people / "visits.csv").drop(columns="visit_id")
    frame["line"] = np.random.default_rng(0).permutation(len(frame)) + 7
    frame["place"] = frame["line"].replace(7, 8)
    frame.to_csv(people / "visits.csv", index=False)
    for said in (
        run("inspect", people, *TASK).out,
        run("fit", people, *TASK, "--estimator", "c2rib", "--rounds", 1, "-o", people.parent / "m.json").err,
    ):
        assert "visits.line numbers the 180 rows one by one and looks like an identifier" in said
        assert "visits.place" not in said


def test_a_folder_of_parquet_files_is_a_table_if_it_is_called_so_and_else_named(run: Any, people: Path) -> None:
    part = people / "calls" / "first" / "part-0.parquet"
    part.parent.mkdir(parents=True)
    pd.DataFrame({"call": range(5), "minutes": [1.0, 2.0, 3.0, 4.0, 5.0]}).to_parquet(part)
    (people / "notes").mkdir()
    told = run("inspect", people, *TASK).out
    assert "the folder calls holds Parquet files and is not read; if they are a table, call it calls.parquet" in told
    assert "notes" not in told
    (people / "calls").rename(people / "calls.parquet")
    told = run("inspect", people, *TASK).out
    assert "calls (5 rows)" in told
    assert "is not read" not in told


def test_partitions_in_the_folder_are_not_taken_for_a_table(run: Any, people: Path) -> None:
    (people / "parts").mkdir()
    (people / "parts" / "manifest.json").write_text("{}")
    pd.DataFrame({"call": range(5)}).to_parquet(people / "parts" / "target.parquet")
    assert "is not read" not in run("inspect", people, *TASK).out


def test_a_spreadsheet_in_the_folder_is_named_and_so_is_the_folder_itself(
    run: Any, people: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (people / "more.xlsx").touch()
    assert "more.xlsx is not read; save each of its sheets as a CSV file" in run("inspect", people, *TASK).out
    monkeypatch.chdir(people)
    for here in (".", "../people/../people/."):
        assert run("inspect", here, "--target", "peple").err.startswith("hornboost: people: there is no table 'peple'")
    with pytest.raises(DataError, match=r"^people: "):
        hb.Database.from_folder(Path(), target="peple")
    assert "write the model first, then the data" in run("predict", ".", "model.json").err


@pytest.mark.parametrize("word", ["NA", "N/A", "n/a"])
def test_a_word_for_a_missing_number_leaves_a_column_of_numbers(people: Path, word: str) -> None:
    frame = pd.read_csv(people / "visits.csv", keep_default_na=False)
    frame.replace("NA", word).to_csv(people / "visits.csv", index=False)
    assert (
        hb.Database.from_folder(people, target="people", label="left").tables["visits"].columns["cost"].kind
        == "numeric"
    )


SHOPS = """shop;opened;price;size;note
1;31.12.2023;1.234,50;3;a, b
2;01.02.2024;0,5;4;"c;d"
3;03.02.2024;;5;e
4;05.02.2024;-2;6;f
"""


def shops(delimiter: str, tmp_path: Path) -> Path:
    """The same table with other characters between its columns, and a table that refers to it."""
    text = SHOPS if delimiter == ";" else SHOPS.replace("1.234,50", "1234.50").replace("0,5", "0.5")
    rows = list(csv.reader(text.splitlines(), delimiter=";"))
    with (tmp_path / "shop.csv").open("w", newline="") as file:
        csv.writer(file, delimiter=delimiter).writerows(rows)
    (tmp_path / "sale.csv").write_text("shop,n\n" + "".join(f"{1 + k % 4},{k}\n" for k in range(8)))
    return tmp_path


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("way", ["memory", "schema", "streamed"])
def test_the_delimiter_and_the_decimal_comma_of_a_file_are_found(delimiter: str, way: str, tmp_path: Path) -> None:
    folder = shops(delimiter, tmp_path)
    options = {"target": "sale", "types": {"shop.note": "nominal"}}
    db = hb.Database.from_folder(folder, **options)
    if way == "schema":
        db.write_schema(folder / "schema.toml")
        db = hb.Database.from_folder(folder)
    elif way == "streamed":
        made = tmp_path / "parts"
        sizes = {"partitions": 1, "depth": 1, "small_table": 9, "max_bins": 9}
        partition_streamed(lambda spool: read_folder(folder, None, options, spool=spool), made, 10**9, **sizes)
        db = hb.Database.from_partitions(made).stored.open(0)  # type: ignore[union-attr]
    columns = db.tables["shop"].columns
    price = [None if np.isnan(value) else value for value in columns["price"].numbers]
    assert price == [1234.5, 0.5, None, -2.0]
    assert columns["opened"].is_date
    assert columns["size"].numbers.tolist() == [3.0, 4.0, 5.0, 6.0]
    assert columns["note"].categories is not None
    assert set(columns["note"].categories) == {"a, b", "c;d", "e", "f"}


def test_one_column_and_commas_in_a_header_with_semicolons_stay_what_they_are(tmp_path: Path) -> None:
    (tmp_path / "one.csv").write_text("a;b\nx\ny\n")
    (tmp_path / "two.csv").write_text("a,b;c\n1,x\n2,y\n")
    db = hb.Database.from_folder(tmp_path, target="one")
    assert [list(db.tables[name].columns) for name in ("one", "two")] == [["a;b"], ["a", "b;c"]]


def test_a_bad_cell_among_decimal_commas_is_named_and_may_be_missing(tmp_path: Path) -> None:
    rows = [f"{k};{k},5" for k in range(1, 20)]
    (tmp_path / "t.csv").write_text("\n".join(["id;price", *rows, "20;ask"]))
    plain = hb.Database.from_folder(tmp_path, target="t")
    said = "t.price is read as text, because row 20 holds 'ask', where 19 of 20 values are numbers"
    assert plain.warnings[0].startswith(said)
    assert "1,5" in plain.tables["t"].columns["price"].categories  # type: ignore[operator]
    db = hb.Database.from_folder(tmp_path, target="t", types={"t.price": "numeric"})
    assert db.tables["t"].columns["price"].numbers[:2].tolist() == [1.5, 2.5]
    assert "1 of 20 values is no number and counts as missing, such as 'ask' in row 20" in db.warnings[0]


def test_a_column_of_few_values_is_no_spoilt_key_for_being_called_as_its_table_is() -> None:
    users = pd.DataFrame({"user_id": range(600), "y": list("ababab") * 100})
    ratings = pd.DataFrame({"user_id": np.arange(3000) % 600, "rating": np.arange(3000) % 5 + 1})
    assert hb.Database.from_frames({"users": users, "ratings": ratings}, target="users", label="y").warnings == ()


def test_a_fit_warns_of_numbers_that_are_read_as_text_and_the_command_tells_it_once(run: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"id": range(300), "y": ["n", "y"] * 150})
    visits = pd.DataFrame({"id": np.arange(1200) % 300, "w": [*(f"{x:.2f}" for x in rng.normal(size=1199)), "-"]})
    for name, table in (("t", rows), ("visit", visits)):
        table.to_csv(tmp_path / f"{name}.csv", index=False)
    db = hb.Database.from_frames(
        {"t": rows, "visit": visits}, target="t", key="id", label="y", foreign_keys=[("visit.id", "t.id")]
    )
    message = "visit.w is read as text, because row 1200 holds '-', where 1,199 of 1,200 values are numbers"
    with pytest.warns(ReadingWarning, match=message):
        hb.C2RIBClassifier(db, rounds=1).fit(*db.examples())
    told = run("fit", tmp_path, "--target", "t", "--label", "y", "--rounds", "2", "-o", tmp_path / "m.json").err
    assert told.count(message) == 1


@pytest.mark.parametrize(
    "learner",
    [
        hb.HornBoostClassifier(rounds=1, aggregates=False),
        hb.HornBoostClassifier(rounds=1),
        hb.C2RIBClassifier(rounds=1),
        hb.KBSClassifier(rounds=1),
        hb.MLynxClassifier(max_length=1),
    ],
)
def test_a_warning_about_reading_is_one_about_the_line_that_fits(learner: Any) -> None:
    rows = pd.DataFrame({"id": range(60), "y": ["n", "y"] * 30, "w": [*map(str, range(59)), "-"]})
    db = hb.Database.from_frames({"t": rows}, target="t", key="id", label="y")
    with pytest.warns(ReadingWarning) as caught:
        learner.set_params(database=db, random_state=0).fit(*db.examples())
    assert {warning.filename for warning in caught if warning.category is ReadingWarning} == {__file__}
