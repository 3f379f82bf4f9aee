"""What `convert` writes is read back as the same database, as CSV and as Parquet, or it is refused."""

from __future__ import annotations

import sqlite3
import tempfile
from contextlib import closing
from pathlib import Path

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hornboost.cli.folder import write_folder
from hornboost.data import Database
from hornboost.errors import DataError
from hornboost.logic.moment import LAST

TEXTS = st.one_of(
    st.none(),
    st.sampled_from(
        [
            "",
            " ",
            "NA",
            "NULL",
            "1.50",
            "007",
            "a\rb",
            "a\nb",
            "a\r\nb",
            '"',
            '""',
            ",",
            "'",
            "\ufeff",
            "\x00",
            "é",
            "-",
            "#",
        ]
    ),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
)
NUMBERS = st.one_of(st.none(), st.floats(allow_nan=False), st.integers(-(2**53), 2**53).map(float))
KEYS = st.one_of(st.none(), st.integers(-(2**63), 2**63 - 1))
MOMENTS = st.one_of(
    st.none(), st.integers(-(2**53), 2**53), st.sampled_from([LAST, -LAST, 0, 86_400_000_000, 317_147_356_800_000_000])
)


@st.composite
def tables(draw):
    n = draw(st.integers(2, 8))

    def rows(values):
        return draw(st.lists(values, min_size=n, max_size=n))

    t = {
        "id": pa.array(range(n)),
        "name key": pa.array(rows(TEXTS), pa.string()),
        "number key": pa.array(rows(KEYS), pa.int64()),
        'a "quoted", name': pa.array(rows(TEXTS), pa.string()),
        "x": pa.array(rows(NUMBERS), pa.float64()),
        "w": pa.array(rows(MOMENTS), pa.int64()).view(pa.timestamp("us")),
        "flag": pa.array(rows(st.sampled_from([True, False, None])), pa.bool_()),
        "label": pa.array(["a", "b"] * (n // 2) + ["a"] * (n % 2)),
    }
    u = {"t": pa.array(rows(st.integers(0, n))), "name": pa.array(rows(TEXTS), pa.string())}
    return {"t": pa.table(t), "the u": pa.table(u)}


def content(database):
    """Every table as the texts, numbers and moments that it holds."""
    found = {}
    for name, table in database.tables.items():
        for column in table.columns.values():
            if column.kind == "key":
                values = [
                    None if value is None else str(value)
                    for value in database.domains[column.domain].decode(column.codes).to_pylist()
                ]
            elif column.kind == "nominal":
                values = [None if code < 0 else column.categories[code] for code in column.codes]
            else:
                values = [None if np.isnan(value) else value for value in column.numbers.tolist()]
            found[name, column.name] = (column.kind, column.is_date, values)
    return found


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@settings(max_examples=60)
@given(frames=tables())
def test_a_converted_database_is_the_same(suffix, frames):
    links = [("the u.t", "t.id"), ("the u.name", "t.name key")]
    keys = {"t": {"number key": "number"}}
    database = Database.from_frames(frames, "t", key="id", label="label", positive="a", foreign_keys=links, keys=keys)
    with tempfile.TemporaryDirectory() as place:
        write_folder(database, Path(place) / "out", suffix)
        again = Database.from_folder(Path(place) / "out")
        assert content(again) == content(database)
        assert again.examples()[1].tolist() == database.examples()[1].to_pylist()
        assert (again.target, again.links) == (database.target, database.links)


def test_a_single_column_with_missing_values_is_no_csv(tmp_path):
    frames = {"t": pd.DataFrame({"id": [1, 2], "label": ["a", "b"]}), "u": pd.DataFrame({"word": ["x", None]})}
    database = Database.from_frames(frames, "t", key="id", label="label")
    with pytest.raises(DataError, match="table 'u': its only column 'word' has missing values"):
        write_folder(database, tmp_path / "out", "csv")
    assert not list(tmp_path.iterdir())
    write_folder(database, tmp_path / "out", "parquet")


def test_keys_that_csv_files_read_as_whole_numbers_are_no_csv(tmp_path):
    database = Database.from_frames({"t": pd.DataFrame({"id": ["1.0", "2.0"], "label": ["a", "b"]})}, "t", key="id")
    with pytest.raises(DataError, match=r"table 't': the keys 'id' are texts such as '1\.0', which are read from CSV"):
        write_folder(database, tmp_path / "out", "csv")
    write_folder(database, tmp_path / "out", "parquet")
    assert content(Database.from_folder(tmp_path / "out")) == content(database)


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("labels", [[True, False], [1.0, 0.0], [1, 0], ["1.50", ""]])
def test_labels_of_any_type_keep_their_text(labels, suffix, tmp_path):
    frame = pd.DataFrame({"id": range(4), "label": labels * 2})
    database = Database.from_frames({"t": frame}, "t", key="id", label="label", positive=labels[0])
    write_folder(database, tmp_path / "out", suffix)
    assert Database.from_folder(tmp_path / "out").target == database.target


def written(frame: pd.DataFrame, kind: str, place: Path) -> Path:
    """A table `t` as a folder of files, or as a database."""
    if kind in ("csv", "parquet"):
        place.mkdir()
        frame.to_csv(place / "t.csv", index=False) if kind == "csv" else frame.to_parquet(place / "t.parquet")
    elif kind == "duckdb":
        with duckdb.connect(str(place)) as connection:
            connection.execute("create table t as select * from frame")
    else:
        with closing(sqlite3.connect(place)) as connection:
            frame.to_sql("t", connection, index=False)
    return place


NUMERIC_LABELS = {
    "fractions": ([0.1 + i / 3 for i in range(40)], ()),
    "many whole numbers": ([i * i for i in range(60)], ()),
    "counts": ([0, 1, 2, 1, 0, 3] * 10, ("--predicts", "numbers")),
    "gaps": ([1.5, None, 0.1, 2.0] * 10, ()),
}


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
@pytest.mark.parametrize("kind", ["csv", "parquet", "duckdb", "sqlite"])
@pytest.mark.parametrize(("labels", "options"), NUMERIC_LABELS.values(), ids=NUMERIC_LABELS)
def test_a_label_of_numbers_is_converted_to_the_same_numbers(run, labels, options, kind, suffix, tmp_path):
    source = written(pd.DataFrame({"id": range(len(labels)), "y": labels}), kind, tmp_path / "source")
    stated = ("--target", "t", "--key", "id", "--label", "y", *options)
    flags = ("--csv",) if suffix == "csv" else ()
    assert run("convert", source, tmp_path / "out", *stated, *flags).code == 0
    again = Database.from_folder(tmp_path / "out")
    assert again.label_kind == "numbers"
    X, y = again.examples()
    known = {i: value for i, value in enumerate(labels) if value is not None}
    assert dict(zip(X["id"], y, strict=True)) == known
    before, after = run("inspect", source, *stated).out, run("inspect", tmp_path / "out").out
    assert [line for line in after.splitlines() if line.startswith("predicts t.y: numbers")] == [
        line for line in before.splitlines() if line.startswith("predicts")
    ]


@pytest.mark.parametrize("where", [{"region": "north"}, {"hidden": "a"}, {"y": [0.5, 2.5]}])
def test_a_converted_condition_keeps_the_numbers_that_are_examples(where, tmp_path):
    frame = pd.DataFrame(
        {"id": range(8), "region": ["north", "west"] * 4, "hidden": list("aabbaabb"), "y": [i + 0.5 for i in range(8)]}
    )
    database = Database.from_frames({"t": frame}, "t", key="id", label="y", where=where, exclude_columns=["hidden"])
    write_folder(database, tmp_path / "out", "parquet")
    again = Database.from_folder(tmp_path / "out")
    assert again.examples()[1].tolist() == database.examples()[1].tolist()
