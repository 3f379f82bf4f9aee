"""A model reads with its own types: a few rows of text mean what they mean among all of the training rows."""

from __future__ import annotations

import io
import json

import numpy as np
import pandas as pd
import pytest

import hornboost as hb
from hornboost.data import Database
from hornboost.errors import DataError

N = 120
TASK = {"target": "t", "key": "id", "label": "label", "positive": "yes", "foreign_keys": [("c.ref", "t.id")]}
OPTIONS = ["--target", "t", "--key", "id", "--label", "label", "--positive", "yes", "--link", "c.ref=t.id"]
CODES = [
    "1.50",
    "1.5",
    "007",
    "7",
    "1E5",
    "+5",
    "NA",
    "None",
    "nan",
    "inf",
    "true",
    "2020-01-01",
    "2020-01-01 00:00",
    "2020-01-01T00:00Z",
]


@pytest.fixture
def told(run):
    """Run `hornboost` with arguments, and give what it prints."""

    def call(*arguments):
        code, out, err = run(*arguments)
        assert not code, err
        return out

    return call


def write(folder, codes, rows, own=False):
    """Rows whose label is whether their code is the first;
    the code is a column of the target, or of the table behind it.
    """
    folder.mkdir()
    label = ["yes" if code == codes[0] else "no" for code in codes]
    t = pd.DataFrame({"id": range(len(codes)), "label": label}).iloc[rows]
    c = pd.DataFrame({"ref": range(len(codes)), "code": codes}).iloc[rows]
    (t.assign(code=c["code"]) if own else t).to_csv(folder / "t.csv", index=False)
    (c[["ref"]] if own else c).to_csv(folder / "c.csv", index=False)
    return folder


def written(text):
    return pd.read_csv(io.StringIO(text)).set_index("id")["prediction"]


@pytest.mark.parametrize("own", [False, True], ids=["related", "own"])
@pytest.mark.parametrize("code", CODES)
def test_a_part_of_the_training_rows_gets_the_same_predictions(code, own, tmp_path, told):
    codes = [(code, "x", "y")[i % 3] for i in range(N)]
    full = Database.from_folder(write(tmp_path / "full", codes, range(N), own), **TASK)
    X, y = full.examples()
    model = hb.C2RIBClassifier(full, rounds=3, random_state=0).fit(X, y)
    assert (model.predict(X) == y).all()
    model.save(tmp_path / "m.json")
    part = write(tmp_path / "part", codes, range(0, N, 3), own)
    loaded = hb.load(tmp_path / "m.json", Database.from_folder(part, **TASK))
    rows, _ = loaded.database.examples()
    assert set(loaded.predict(rows)) == {"yes"}
    assert loaded.decision_function(rows).tolist() == model.decision_function(X.iloc[::3]).tolist()
    from_command = written(told("predict", tmp_path / "m.json", part, "--link", "c.ref=t.id"))
    assert set(from_command) == {"yes"}
    explained = told("explain", tmp_path / "m.json", part, "--key", "3", "--link", "c.ref=t.id")
    assert f'code="{code}"' in explained


@pytest.mark.parametrize("token", ["NA", "?", "None", ""])
def test_a_batch_whose_numbers_and_dates_are_all_missing_is_read(token, tmp_path, told):
    rng = np.random.default_rng(0)
    size = rng.normal(size=N).round(3)
    t = pd.DataFrame({"id": range(N), "size": size, "day": "2020-01-02", "label": np.where(size > 0, "yes", "no")})
    t.loc[size > 0, "day"] = "2020-01-01"
    c = pd.DataFrame({"ref": range(N), "weight": -size})
    for name, rows in (("full", range(N)), ("part", range(5))):
        (tmp_path / name).mkdir()
        hide = {} if name == "full" else {"size": token, "day": token}
        t.iloc[rows].assign(**hide).to_csv(tmp_path / name / "t.csv", index=False)
        c.iloc[rows].assign(**({} if name == "full" else {"weight": token})).to_csv(
            tmp_path / name / "c.csv", index=False
        )
    told("fit", tmp_path / "full", *OPTIONS, "--rounds", "5", "-o", tmp_path / "m.json")
    predicted = written(told("predict", tmp_path / "m.json", tmp_path / "part", "--link", "c.ref=t.id"))
    assert len(predicted) == 5
    assert predicted.nunique() == 1


@pytest.mark.parametrize("code", ["1.50", "NA", "2020-01-01"])
def test_a_single_table_is_read_with_the_types_of_the_model_too(code, tmp_path, told):
    codes = [(code, "x", "y")[i % 3] for i in range(N)]
    table = pd.DataFrame(
        {"id": range(N), "code": codes, "label": ["yes" if value == code else "no" for value in codes]}
    )
    table.to_csv(tmp_path / "t.csv", index=False)
    table.iloc[::3].to_csv(tmp_path / "part.csv", index=False)
    told(
        "fit",
        tmp_path / "t.csv",
        "--key",
        "id",
        "--label",
        "label",
        "--positive",
        "yes",
        "--rounds",
        "3",
        "-o",
        tmp_path / "m.json",
    )
    assert set(pd.read_csv(io.StringIO(told("predict", tmp_path / "m.json", tmp_path / "part.csv")))["prediction"]) == {
        "yes"
    }


def test_numbers_passed_for_text_whose_spelling_is_lost_are_refused():
    frame = pd.DataFrame({"k": range(4), "code": ["1.50", "x", "1.50", "x"], "label": ["1", "0", "1", "0"]})
    database = Database.from_frames({"t": frame}, "t", key="k", label="label")
    with pytest.raises(
        DataError, match=r"column 'code': the database holds text here, and the values passed in are of type 'double'"
    ):
        database.encode(pd.DataFrame({"k": [0], "code": [1.5]}))
    assert database.encode(pd.DataFrame({"k": [0, 1], "code": [np.nan, np.nan]})).columns["code"].values.tolist() == [
        -1,
        -1,
    ]
    assert database.encode(pd.DataFrame({"k": [0], "code": [3]})).columns["code"].categories.tolist() == [
        "1.50",
        "3",
        "x",
    ]


def test_values_stored_otherwise_are_spelled_as_the_model_spells_them(tmp_path, told):
    import duckdb

    connection = duckdb.connect()
    connection.execute(
        "CREATE TABLE t AS SELECT i AS id, CASE WHEN i % 3 = 0 THEN 'yes' ELSE 'no' END AS label FROM range(120) r(i)"
    )
    connection.execute(
        "CREATE TABLE c AS SELECT i AS ref, (i % 3 + 0.5)::DECIMAL(9, 2) AS d, (i % 3 = 0) AS b, (i % 3)::DOUBLE AS f,"
        " TIMESTAMP '2020-01-01' + (i % 3) * INTERVAL 1 day AS w FROM range(120) r(i)"
    )
    X, y = Database.from_duckdb(connection, **TASK).examples()
    (tmp_path / "part").mkdir()
    pd.DataFrame({"id": range(0, 9, 3)}).to_csv(tmp_path / "part" / "t.csv", index=False)
    written = {"d": "0.5", "b": "True", "f": "0.0", "w": "2020-01-01"}
    pd.DataFrame({"ref": range(0, 9, 3), **written}).to_csv(tmp_path / "part" / "c.csv", index=False)
    for column in written:
        hidden = [name for name in written if name != column]
        database = Database.from_duckdb(connection, **TASK, types={f"c.{column}": "nominal"}, exclude_columns=hidden)
        hb.C2RIBClassifier(database, rounds=2, random_state=0).fit(X, y).save(tmp_path / "m.json")
        predicted = told("predict", tmp_path / "m.json", tmp_path / "part", "--link", "c.ref=t.id")
        assert set(pd.read_csv(io.StringIO(predicted))["prediction"]) == {"yes"}, column


def test_declared_columns_of_text_keep_their_spelling(tmp_path):
    (tmp_path / "t.csv").write_text('id,code,ref,label\n1.50,1.0,10,a\n2.50,1E5,"",b\n')
    (tmp_path / "u.csv").write_text("ref\n10\n1.50\n")
    options = {
        "target": "t",
        "key": "id",
        "label": "label",
        "types": {"t.code": "nominal"},
        "foreign_keys": [("u.ref", "t.id")],
    }
    database = Database.from_folder(tmp_path, **options, keys={"t": ["ref"]})
    assert database.tables["t"].columns["code"].categories.tolist() == ["1.0", "1E5"]
    assert database.domains["t.id"].values.to_pylist() == ["1.50", "2.50", "10"]
    assert database.examples()[0]["ref"].tolist() == ["10", ""]


def test_keys_that_are_missing_are_null_in_json(tmp_path, told):
    (tmp_path / "t.csv").write_text(
        "a,b,x,label\n" + "".join(f"{i},{i if i % 2 else ''},{i % 4},{'yn'[i % 2]}\n" for i in range(40))
    )
    (tmp_path / "c.csv").write_text("ref\n" + "".join(f"{i}\n" for i in range(40)))
    link = ["--link", "c.ref=t.a"]
    options = ["--target", "t", "--key", "a", "--key", "b", "--label", "label", "--rounds", "2", *link]
    told("fit", tmp_path, *options, "-o", tmp_path / "m.json")
    rows = json.loads(told("predict", tmp_path / "m.json", tmp_path, *link, "--json"))
    assert [(row["a"], row["b"]) for row in rows[:2]] == [(0, None), (1, 1)]
