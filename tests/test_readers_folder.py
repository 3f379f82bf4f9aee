"""Folders of CSV and Parquet files, with a schema and by inference."""

from __future__ import annotations

import gzip
import os

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hornboost.data import Database, parse_schema
from hornboost.errors import DataError

SCHEMA = """
[target]
table = "loan"
key = ["loan"]
label = "good"
positive = "1"

[tables.loan]
file = "loan.csv"
primary_key = ["loan"]
columns = [
  { name = "loan", type = "key" },
  { name = "account", type = "key" },
  { name = "amount", type = "numeric" },
  { name = "granted", type = "date" },
  { name = "good", type = "nominal" },
]

[tables.account]
file = "account.csv"
columns = [{ name = "account", type = "key" }, { name = "the town", type = "nominal" }]

[[foreign_keys]]
from = "loan.account"
to = "account.account"
"""
LOAN = "loan,account,amount,granted,good\r\nl1,1,2.5,1970-01-02,1\r\nl2,3,,,0\r\n"
ACCOUNT = 'account,the town\r\n1,"a ""big"", one\nby the sea"\r\n2,\r\n'


def folder_of(path, schema=SCHEMA, **files):
    texts = {"loan.csv": LOAN, "account.csv": ACCOUNT} | {name.replace("__", "."): text for name, text in files.items()}
    for name, text in texts.items():
        if text is not None:
            (path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
    if schema is not None:
        (path / "schema.toml").write_text(schema)
    return path


def test_csv_is_read_with_quotes_line_breaks_and_empty_fields_as_missing(tmp_path):
    db = Database.from_folder(folder_of(tmp_path))
    town = db.tables["account"].columns["the town"]
    assert list(town.categories) == ['a "big", one\nby the sea']
    assert town.values.tolist() == [0, -1]
    np.testing.assert_array_equal(db.tables["loan"].columns["amount"].values, [2.5, np.nan])
    np.testing.assert_array_equal(db.tables["loan"].columns["granted"].values, [86_400e6, np.nan])
    assert db.tables["loan"].columns["granted"].is_date
    assert db.links[0].dangling == 1


def test_examples_of_files_are_pandas_with_decoded_values(tmp_path):
    X, y = Database.from_folder(folder_of(tmp_path)).examples()
    assert X["loan"].tolist() == ["l1", "l2"]
    assert X["account"].tolist() == [1, 3]
    assert X["granted"].iloc[0] == pd.Timestamp("1970-01-02")
    assert y.tolist() == ["1", "0"]
    assert y.name == "good"


def test_gzip_and_parquet_give_the_same_tables_as_csv(tmp_path):
    plain = Database.from_folder(folder_of(tmp_path))
    other = tmp_path / "other"
    other.mkdir()
    (other / "schema.toml").write_text(
        SCHEMA.replace("loan.csv", "loan.csv.gz").replace("account.csv", "account.parquet")
    )
    (other / "loan.csv.gz").write_bytes(gzip.compress(LOAN.encode()))
    pq.write_table(
        pa.table({"account": [1, 2], "the town": ['a "big", one\nby the sea', None]}), other / "account.parquet"
    )
    packed = Database.from_folder(other)
    for name, table in plain.tables.items():
        for column in table.columns.values():
            np.testing.assert_array_equal(packed.tables[name].columns[column.name].values, column.values)


def test_a_folder_of_parquet_files_is_one_table(tmp_path):
    folder_of(tmp_path, SCHEMA.replace("account.csv", "account"), account__csv=None)
    (tmp_path / "account").mkdir()
    for part in (1, 2):
        pq.write_table(
            pa.table({"account": [part], "the town": [f"t{part}"]}), tmp_path / "account" / f"{part}.parquet"
        )
    assert Database.from_folder(tmp_path).tables["account"].n_rows == 2


def test_files_in_folders_of_a_folder_are_read_and_columns_in_their_names_refused(tmp_path):
    folder_of(tmp_path, SCHEMA.replace("account.csv", "account"), account__csv=None)
    for part in (1, 2):
        place = tmp_path / "account" / f"batch{part}"
        place.mkdir(parents=True)
        pq.write_table(pa.table({"account": [part], "the town": [f"t{part}"]}), place / "part-0.parquet")
    assert Database.from_folder(tmp_path).tables["account"].n_rows == 2
    (tmp_path / "account" / "batch2").rename(tmp_path / "account" / "year=2020")
    with pytest.raises(
        DataError, match=r"'year=2020' holds a value of the column 'year', .*add that column to the files"
    ):
        Database.from_folder(tmp_path)


def test_a_folder_named_by_a_value_is_no_folder_of_tools_whatever_its_column_begins_with(tmp_path):
    folder_of(tmp_path, SCHEMA.replace("account.csv", "account"), account__csv=None)
    (tmp_path / "account" / "_year=2020").mkdir(parents=True)
    for place in ("", "_year=2020"):
        pq.write_table(pa.table({"account": [1], "the town": ["t"]}), tmp_path / "account" / place / "part.parquet")
    with pytest.raises(DataError, match="the folder '_year=2020' holds a value of the column '_year'"):
        Database.from_folder(tmp_path)


@pytest.mark.parametrize("beside", [".ipynb_checkpoints", "_temporary/0", ".backup"])
def test_what_tools_keep_beside_the_files_of_a_table_is_not_read(tmp_path, beside):
    folder_of(tmp_path, SCHEMA.replace("account.csv", "account"), account__csv=None)
    for place in ("", "batch", beside):
        (tmp_path / "account" / place).mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"account": [1], "the town": ["t"]}), tmp_path / "account" / place / "part.parquet")
    (tmp_path / "account" / "empty.parquet").mkdir()
    assert Database.from_folder(tmp_path).tables["account"].n_rows == 2


@pytest.mark.parametrize(
    ("sign", "kind"),
    [
        ("_delta_log/0.json", "a Delta"),
        (".hoodie/hoodie.properties", "a Hudi"),
        ("metadata/v1.metadata.json", "an Iceberg"),
    ],
)
def test_tables_whose_files_hold_deleted_rows_are_refused(tmp_path, sign, kind):
    folder_of(tmp_path, SCHEMA.replace("account.csv", "account"), account__csv=None)
    (tmp_path / "account" / sign).parent.mkdir(parents=True)
    (tmp_path / "account" / sign).write_text("{}")
    (tmp_path / "account" / "data").mkdir()
    pq.write_table(pa.table({"account": [1], "the town": ["t"]}), tmp_path / "account" / "data" / "part.parquet")
    with pytest.raises(DataError, match=f"account: the folder is {kind} table, whose files may also hold deleted rows"):
        Database.from_folder(tmp_path)


def test_a_file_may_be_found_by_the_name_of_its_table(tmp_path):
    db = Database.from_folder(folder_of(tmp_path, SCHEMA.replace('file = "loan.csv"\n', "")))
    assert db.tables["loan"].n_rows == 2


def test_options_change_the_task_of_the_schema(tmp_path):
    db = Database.from_folder(folder_of(tmp_path), exclude_columns=["amount"], positive="0")
    assert "amount" not in db.tables["loan"].columns
    assert db.target.positive == "0"


def test_a_held_out_file_gives_further_examples(tmp_path):
    folder_of(tmp_path, SCHEMA + '[[folds]]\nname = "given"\nfile = "test.csv"\n', test__csv=LOAN.replace("l1", "l9"))
    db = Database.from_folder(tmp_path)
    X, y = db.examples(held_out="given")
    assert X["loan"].tolist() == ["l9", "l2"]
    assert y.tolist() == ["1", "0"]
    with pytest.raises(DataError, match=r"the folds 'given' are a file of their own; use examples\(held_out='given'\)"):
        db.folds("given")
    with pytest.raises(DataError, match=r"there is no held-out file 'gven'; did you mean 'given'\?"):
        db.examples(held_out="gven")


def test_what_the_schema_does_not_say_is_a_warning(tmp_path):
    db = Database.from_folder(folder_of(tmp_path, SCHEMA.replace('file = "loan.csv"', 'file = "loan.csv"\nrows = 7'),
                                        account__csv="account,the town,more\n1,a,b\n"))  # fmt: skip
    assert "loan.csv: table 'loan' has 2 rows where the schema says 7" in db.warnings
    assert "account.csv: table 'account' has columns that are not in the schema and are left out: more" in db.warnings


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (
            {"loan__csv": LOAN + "l3,1\r\n"},
            r"loan.csv: row 3 has 2 fields where the first line names 5; correct the row",
        ),
        (
            {"loan__csv": LOAN.replace("2.5", "much")},
            r"loan.csv: table 'loan', column 'amount': row 1 holds 'much', which is not a number",
        ),
        (
            {"loan__csv": LOAN.replace("1970-01-02", "soon")},
            r"loan.csv: table 'loan', column 'granted': row 1 holds 'soon', .* not a date",
        ),
        (
            {"loan__csv": LOAN.replace("account", "acount")},
            r"loan.csv: table 'loan' has no key column 'account'; did you mean 'acount'\?",
        ),
        (
            {"loan__csv": LOAN.replace("l2", "l1")},
            r"loan.csv: table 'loan', primary key 'loan': the value 'l1' occurs twice",
        ),
        ({"loan__csv": LOAN.replace("l2", "")}, r"loan.csv: table 'loan', primary key 'loan': row 2 has no 'loan'"),
        ({"loan__csv": LOAN.splitlines()[0] + "\n"}, r"loan.csv: the target table 'loan' has no rows"),
        ({"loan__csv": LOAN.encode().replace(b"l2", b"\xff\xfe")}, r"loan.csv: the file is not UTF-8 text"),
        ({"loan__csv": b"\xff\xfe" + LOAN.encode()}, r"loan.csv: the file is not UTF-8 text"),
        ({"loan__csv": ""}, r"loan.csv: the file is empty; write a line of column names first"),
        ({"loan__csv": LOAN.replace("amount", "good")}, r"loan.csv: the column 'good' occurs twice in the first line"),
        ({"account__csv": None}, r"schema.toml: the file 'account.csv' of table 'account' is not in the folder"),
    ],
)
def test_bad_files_are_refused_in_one_sentence(tmp_path, files, message):
    with pytest.raises(DataError, match=message) as caught:
        Database.from_folder(folder_of(tmp_path, **files))
    assert "\n" not in str(caught.value)


def test_a_broken_gzip_or_parquet_file_is_named(tmp_path):
    folder_of(tmp_path, SCHEMA.replace("loan.csv", "loan.csv.gz"))
    (tmp_path / "loan.csv.gz").write_bytes(gzip.compress(LOAN.encode() * 100)[:60])
    with pytest.raises(DataError, match=r"loan.csv.gz: the file cannot be read"):
        Database.from_folder(tmp_path)
    (tmp_path / "schema.toml").write_text(SCHEMA.replace("loan.csv", "loan.parquet"))
    (tmp_path / "loan.parquet").write_bytes(b"nothing of the sort")
    with pytest.raises(DataError, match=r"loan.parquet: the file is no Parquet that can be read"):
        Database.from_folder(tmp_path)


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        (
            "account",
            [[1], [2]],
            r"loan.parquet: table 'loan', key column 'account': values of type 'list.*' cannot be keys",
        ),
        (
            "amount",
            ["much", "2"],
            r"loan.parquet: table 'loan', column 'amount': row 1 holds 'much', which is not a number",
        ),
        ("amount", [[1], [2]], r"loan.parquet: table 'loan', column 'amount': values of type 'list.*' are not numbers"),
        (
            "granted",
            [True, False],
            r"loan.parquet: table 'loan', column 'granted': values of type 'bool' are not dates",
        ),
        ("loan", ["l1", "l1"], r"loan.parquet: table 'loan', primary key 'loan': the value 'l1' occurs twice"),
        (None, None, r"loan.parquet: table 'loan' has no column 'granted'"),
    ],
)
def test_parquet_of_wrong_types_is_refused_in_one_sentence(tmp_path, column, values, message):
    folder_of(tmp_path, SCHEMA.replace("loan.csv", "loan.parquet"))
    table = {
        "loan": ["l1", "l2"],
        "account": [1, 2],
        "amount": [1.5, None],
        "granted": ["1970-01-02", None],
        "good": ["1", "0"],
    }
    table = table | {column: values} if column else {name: table[name] for name in table if name != "granted"}
    pq.write_table(pa.table(table), tmp_path / "loan.parquet")
    with pytest.raises(DataError, match=message) as caught:
        Database.from_folder(tmp_path)
    assert "\n" not in str(caught.value)


def test_a_folder_that_is_not_there_or_holds_nothing_is_named(tmp_path):
    with pytest.raises(DataError, match=r"there is no folder '.*absent'"):
        Database.from_folder(tmp_path / "absent")
    with pytest.raises(DataError, match=r"has no .csv, .csv.gz or .parquet file"):
        Database.from_folder(tmp_path)


CAR = """id,train,load,wheels,open,weight,built,code
1,7,box,2,1,1.5,1990-01-01,007
2,7,disc,3,0,?,1991-01-01,010
3,8,box,2,1,2,1992-01-01,007
"""
TRAIN = "train,direction\n7,east\n8,west\n"


def inferred(path, **files):
    return folder_of(path, None, loan__csv=None, account__csv=None, **({"car__csv": CAR, "train__csv": TRAIN} | files))


def test_types_keys_and_links_are_inferred_and_each_guess_is_noted(tmp_path):
    db = Database.from_folder(inferred(tmp_path), target="train", label="direction", positive="east")
    kinds = {name: (column.kind, column.is_date) for name, column in db.tables["car"].columns.items()}
    assert kinds == {
        "id": ("key", False), "train": ("key", False), "load": ("nominal", False), "wheels": ("numeric", False),
        "open": ("nominal", False), "weight": ("numeric", False), "built": ("numeric", True), "code": ("nominal",
        False),
    }  # fmt: skip
    assert [(link.table, link.column, link.to_table, link.to_column) for link in db.links] == [
        ("car", "train", "train", "train")
    ]
    assert db.target.key == ("train",)
    notes = "\n".join(db.inferred)
    for part in (
        "car.id is the primary key",
        "car.train refers to train.train",
        "car.open holds only 0 and 1",
        "'?' stands for a missing",
    ):
        assert part in notes
    assert "inferred: car.train refers to train.train" in repr(db)


def test_an_inferred_schema_written_out_gives_the_same_database(tmp_path):
    guessed = Database.from_folder(
        inferred(tmp_path, car__csv=CAR.replace("?", "")), target="train", label="direction", positive="east"
    )
    guessed.write_schema(tmp_path / "schema.toml")
    again = Database.from_folder(tmp_path)
    assert again.inferred == ()
    assert parse_schema(guessed.to_schema_toml(), "x").tables == parse_schema(again.to_schema_toml(), "x").tables
    for name, table in guessed.tables.items():
        for column in table.columns.values():
            np.testing.assert_array_equal(again.tables[name].columns[column.name].values, column.values)


@pytest.mark.parametrize(
    ("column", "parent", "linked"),
    [
        ("train", "train", True), ("train_id", "id", True), ("trainId", "id", True), ("train1", "train", True),
        ("first_train", "train", True), ("weight", "train", False), ("id", "id", False),
    ],
)  # fmt: skip
def test_links_need_names_that_agree(tmp_path, column, parent, linked):
    folder = inferred(
        tmp_path, car__csv=f"x,{column}\n0.5,7\n0.5,7\n", train__csv=f"{parent},direction\n7,east\n8,west\n"
    )
    assert bool(Database.from_folder(folder, target="train", label="direction").links) == linked


def test_a_unique_text_column_that_another_table_repeats_is_a_key(tmp_path):
    folder = inferred(
        tmp_path, car__csv="x,colour\n0.5,red\n0.5,red\n", train__csv="rank,colour,direction\n1,red,east\n1,blue,west\n"
    )
    db = Database.from_folder(folder, target="train", label="direction")
    assert [(link.table, link.column, link.to_table, link.to_column) for link in db.links] == [
        ("car", "colour", "train", "colour")
    ]


def test_links_need_values_that_are_found(tmp_path):
    car = "train,load\n" + "".join(f"{i},box\n" for i in (7, 8, 9, 10, 10))
    db = Database.from_folder(inferred(tmp_path, car__csv=car), target="train", label="direction")
    assert db.links == ()
    assert any("car.train, train.train hold the same identifiers" in note for note in db.inferred)


@pytest.mark.parametrize("column", ["yearID", "year_id", "MonthKey"])
def test_numbers_that_tell_a_time_by_their_name_are_no_keys_unless_a_table_lists_them(tmp_path, column):
    train, car = f"train,{column},direction\n1,7,e\n2,8,w\n", f"train,{column},load\n1,7,3\n1,7,4\n2,8,3\n"
    db = Database.from_folder(inferred(tmp_path, car__csv=car, train__csv=train), target="train", label="direction")
    assert db.tables["car"].columns[column].kind == "numeric"
    assert (
        f"car.{column}, train.{column}: the name says that this is a time, so it is numeric and not a key"
        in db.inferred
    )
    (tmp_path / "times.csv").write_text(f"{column},season\n7,dry\n8,wet\n9,dry\n")
    db = Database.from_folder(tmp_path, target="train", label="direction")
    assert db.tables["car"].columns[column].kind == "key"


def test_a_table_that_nothing_joins_is_told_of_with_the_link_that_may_be_missing(tmp_path):
    flights = "".join(f"{i},t{i % 10},a{i % 8},{'yn'[i % 2]}\n" for i in range(40))
    (tmp_path / "flights.csv").write_text(f"flight_id,tail,dest,late\n{flights}")
    (tmp_path / "planes.csv").write_text("tail,seats\n" + "".join(f"t{i},{i % 3}\n" for i in range(2, 60)))
    (tmp_path / "airports.csv").write_text("faa,city\n" + "".join(f"a{i},c{i}\n" for i in range(20)))
    (tmp_path / "words.csv").write_text("word,rank\n" + "".join(f"w{i},{i % 4}\n" for i in range(20)))
    options = {"target": "flights", "label": "late"}
    said = [text for text in Database.from_folder(tmp_path, **options).warnings if text.startswith("nothing joins")]
    assert said == [
        (
            "nothing joins airports: airports.faa holds 100% of the values of flights.dest; if that refers to it, "
            "--link flights.dest=airports.faa (links= in Python) joins them"
        ),
        (
            "nothing joins planes: planes.tail holds 80% of the values of flights.tail; if that refers to it, "
            "--link flights.tail=planes.tail (links= in Python) joins them"
        ),
    ]
    links = [("flights.dest", "airports.faa"), ("flights.tail", "planes.tail")]
    linked = Database.from_folder(tmp_path, **options, links=links)
    assert not [text for text in linked.warnings if text.startswith("nothing joins")]
    assert {link.to_table for link in linked.links} == {"airports", "planes"}
    stated = Database.from_folder(tmp_path, **options, foreign_keys=[])
    assert not [text for text in stated.warnings if text.startswith("nothing joins")]


def test_a_folder_without_a_target_shows_its_tables(tmp_path):
    db = Database.from_folder(inferred(tmp_path))
    assert db.target.label is None
    assert any("no target was named" in note for note in db.inferred)


def test_bad_options_for_a_folder_without_schema_are_named(tmp_path):
    inferred(tmp_path)
    with pytest.raises(DataError, match=r"there is no table 'trian'; did you mean 'train'\?"):
        Database.from_folder(tmp_path, target="trian", label="direction")
    with pytest.raises(DataError, match=r"has no schema.toml with a task 'x'"):
        Database.from_folder(tmp_path, task="x")
    with pytest.raises(DataError, match=r"the foreign key car.trian -> train.train: table 'car' has no column 'trian'"):
        Database.from_folder(tmp_path, target="train", label="direction", foreign_keys=[("car.trian", "train.train")])
    with pytest.raises(DataError, match=r"the foreign key car.train -> trains.train: there is no table 'trains'"):
        Database.from_folder(tmp_path, target="train", label="direction", foreign_keys=[("car.train", "trains.train")])


def test_a_csv_of_ten_thousand_columns_loads(tmp_path):
    names = [f"column {i}" for i in range(9_999)]
    text = (
        ",".join([*names, "y"])
        + "\n"
        + ",".join(["0.5"] * 9_999 + ["a"])
        + "\n"
        + ",".join(["1"] * 9_999 + ["b"])
        + "\n"
    )
    (tmp_path / "wide.csv").write_text(text)
    db = Database.from_folder(tmp_path, target="wide", label="y", positive="a")
    assert {column.kind for column in db.tables["wide"].attributes} == {"numeric"}
    assert len(db.tables["wide"].attributes) == 9_999


@pytest.mark.parametrize("name", ["../loan.csv", "link.csv", "{outside}", "sub/../../loan.csv"])
def test_files_that_a_schema_names_lie_in_the_folder_unless_asked_otherwise(tmp_path, name):
    (tmp_path / "folder" / "sub").mkdir(parents=True)
    outside = tmp_path / "loan.csv"
    outside.write_text(LOAN)
    named = SCHEMA.replace("loan.csv", name.format(outside=outside))
    folder = folder_of(tmp_path / "folder", named, loan__csv=None)
    (folder / "link.csv").symlink_to(outside)
    with pytest.raises(
        DataError, match=r"schema.toml: \[tables.loan\]: '.*' lies outside the folder 'folder'; move it there"
    ):
        Database.from_folder(folder)
    assert len(Database.from_folder(folder, allow_outside=True).examples()[0]) == 2


def test_a_link_within_the_folder_is_followed(tmp_path):
    folder_of(tmp_path)
    (tmp_path / "loan.csv").rename(tmp_path / "real.csv")
    (tmp_path / "loan.csv").symlink_to("real.csv")
    assert len(Database.from_folder(tmp_path).examples()[0]) == 2


@pytest.mark.parametrize("name", ["", ".", "a\\u0000b", "x" * 5000])
def test_names_that_name_no_file_are_refused(tmp_path, name):
    folder = folder_of(tmp_path, SCHEMA.replace("loan.csv", name))
    for allow_outside in (False, True):
        with pytest.raises(DataError, match=r"schema.toml: (\[tables.loan\]|the file)"):
            Database.from_folder(folder, allow_outside=allow_outside)


def test_held_out_files_lie_in_the_folder_too(tmp_path):
    (tmp_path / "folder").mkdir()
    (tmp_path / "test.csv").write_text(LOAN)
    folder_of(tmp_path / "folder", SCHEMA + '\n[[folds]]\nname = "test"\nfile = "../test.csv"\n')
    with pytest.raises(DataError, match="lies outside the folder"):
        Database.from_folder(tmp_path / "folder").examples(held_out="test")
    assert len(Database.from_folder(tmp_path / "folder", allow_outside=True).examples(held_out="test")[0]) == 2


def test_folders_devices_and_damage_are_one_sentence(tmp_path):
    (tmp_path / "empty.parquet").mkdir()
    with pytest.raises(DataError, match=r"empty.parquet: the folder holds no .parquet file"):
        Database.from_folder(tmp_path)
    (tmp_path / "empty.parquet").rmdir()
    (tmp_path / "loan.csv").mkdir()
    with pytest.raises(DataError, match=r"loan.csv: the folder holds no .parquet file"):
        Database.from_folder(tmp_path)
    (tmp_path / "loan.csv").rmdir()
    os.mkfifo(tmp_path / "loan.csv")
    with pytest.raises(DataError, match=r"loan.csv: this is no file"):
        Database.from_folder(tmp_path)
    (tmp_path / "schema.toml").symlink_to("/dev/zero")
    with pytest.raises(DataError, match=r"schema.toml: this is no file"):
        Database.from_folder(tmp_path)
    (tmp_path / "loan.csv").unlink()
    (tmp_path / "schema.toml").unlink()
    (tmp_path / "loan.csv").write_text("x" * 200_000 + ",y\n1,2\n")
    with pytest.raises(DataError, match="the first line cannot be read"):
        Database.from_folder(tmp_path)


def test_a_schema_that_is_nested_without_end_is_refused():
    for depth in (10, 3_000, 100_000):
        with pytest.raises(DataError):
            parse_schema("a = " + "[" * depth + "]" * depth)


def test_a_table_with_nothing_but_its_label_is_described(tmp_path):
    folder_of(tmp_path, None, loan__csv="label\nyes\nno\n", account__csv=None)
    assert Database.from_folder(tmp_path, target="loan", label="label").describe().empty


def test_a_label_without_a_target_asks_for_the_table_that_has_it(tmp_path):
    (tmp_path / "customers.csv").write_text("id,region\n1,n\n2,s\n")
    (tmp_path / "orders.csv").write_text("id,customer,paid\n1,1,yes\n2,2,no\n")
    sentence = "no target was named; name the table whose 'paid' is to be predicted: 'orders'"
    with pytest.raises(DataError, match=sentence):
        Database.from_folder(tmp_path, label="paid")
    with pytest.raises(DataError, match="table 'customers' has no column 'pay'"):
        Database.from_folder(tmp_path, label="pay")
    noted = Database.from_folder(tmp_path, label="region").inferred
    assert "no target was named: the examples are the rows of 'customers'" in noted
