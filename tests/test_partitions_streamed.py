"""Partitions of sources that stay on disk are those of the same sources in memory."""

from __future__ import annotations

import json
import os
import sqlite3
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import hornboost as hb
from hornboost.cli.app import app
from hornboost.cli.source import TaskOptions, open_source, streamed_reader
from hornboost.data.partitions import raw
from hornboost.data.partitions.spool import Spool
from hornboost.data.partitions.streamed import partition_streamed
from hornboost.data.readers.folder import ParquetSource
from hornboost.data.value_counts import count_values
from hornboost.errors import DataError, ReadingWarning
from hornboost.memory import bytes_of
from postgres import start_postgres

TASK = TaskOptions(target="loan", label="risky", times={"loan": "granted", "trans": "day"})
SIZES = {"partitions": 3, "depth": 2, "small_table": 25, "max_bins": 30}


def tables() -> dict[str, pd.DataFrame]:
    """Columns of which the first batch tells a type that another one contradicts, and all kinds of keys."""
    rng = np.random.default_rng(3)
    n, m = 50, 300
    loan = pd.DataFrame(
        {
            "loan_id": range(100, 100 + n),
            "account_id": [f"{k % 17:02}" if k % 5 else None for k in range(n)],
            "amount": rng.random(n).round(3),
            "granted": [f"2024-03-{1 + k % 28:02}" for k in range(n)],
            "risky": [None if k % 7 == 0 else "ny"[k % 2] for k in range(n)],
        }
    )
    account = pd.DataFrame(
        {
            "account_id": [f"{k:02}" for k in range(20)],
            "district": [k % 4 for k in range(20)],
            "flag": [k % 2 for k in range(20)],
            "opened": [f"20{10 + k}-01-0{1 + k % 9}T10:00:00" for k in range(20)],
            "rate": [None if k == 3 else k / 7 for k in range(20)],
        }
    )
    trans = pd.DataFrame(
        {
            "trans_id": range(m),
            "account_id": [f"{k % 23:02}" for k in range(m)],
            "symbol": ["", "?", "NA", "x", "y"] * 60,
            "amount": [None if k % 50 == 0 else k if k < 200 else k * 1.25 for k in range(m)],
            "day": [f"2024-02-{1 + k % 28:02}" for k in range(m)],
            "huge": [f"{10**20 + k % 3}" for k in range(m)],
            "code": [str(k) if k < 250 else f"0{k}" for k in range(m)],
        }
    )
    return {"loan": loan, "account": account, "trans": trans}


def as_folder(folder: Path, suffix: str) -> Path:
    folder.mkdir()
    found = tables()
    if suffix == "parquet":
        trans = found["trans"]
        trans["when"], trans["even"] = pd.to_datetime(trans.day), trans.trans_id % 2 == 0
        trans["price"] = [None if k % 9 == 0 else Decimal(k) / 4 for k in range(len(trans))]
        trans["kind"] = trans.symbol.astype("category")
        trans["loan_id"] = [None if k % 6 == 0 else float(k % 40 + 100) for k in range(len(trans))]
    for name, frame in found.items():
        getattr(frame, f"to_{suffix}")(folder / f"{name}.{suffix}", index=False)
    return folder


def as_duckdb(path: Path) -> Path:
    with duckdb.connect(str(path)) as connection:
        for name, frame in tables().items():
            connection.register("frame", frame)
            connection.execute(f"CREATE TABLE {name} AS SELECT * FROM frame").fetchall()
        connection.execute("ALTER TABLE trans ADD COLUMN listed ENUM ('never', 'odd')").fetchall()
        connection.execute("UPDATE trans SET listed = 'odd' WHERE trans_id % 2 = 1").fetchall()
    return path


def as_sqlite(path: Path) -> Path:
    found = tables()
    found["trans"]["any"] = [k if k % 3 else f"t{k}" for k in range(300)]
    found["trans"]["late"] = [None] * 200 + [k / 3 for k in range(100)]
    found["trans"]["spelled"] = [k / 3 if k % 3 else "u" for k in range(300)]
    connection = sqlite3.connect(path)
    for name, frame in found.items():
        frame.to_sql(name, connection, index=False)
    connection.close()
    return path


def as_postgres(folder: Path) -> tuple[Any, str]:
    import adbc_driver_postgresql.dbapi as dbapi

    server = start_postgres(folder)
    with dbapi.connect(server.get_uri()) as connection, connection.cursor() as cursor:
        for name, frame in tables().items():
            cursor.adbc_ingest(name, pa.Table.from_pandas(frame, preserve_index=False), mode="create")
        cursor.execute("ALTER TABLE trans ADD COLUMN price numeric(12, 2), ADD COLUMN wide numeric, ADD COLUMN at date")
        cursor.execute("UPDATE trans SET price = trans_id / 4.0, wide = trans_id / 3.0, at = day::date")
        connection.commit()
    return server, server.get_uri()


def content(folder: Path) -> Any:
    """The manifest without checksums, since Parquet also says whether a column could be null."""
    found = json.loads((folder / "manifest.json").read_text())["manifest"]
    return {name: value for name, value in found.items() if name != "files"}


def test_what_is_being_done_is_told(tmp_path: Path) -> None:
    hb.datasets.bank(60, transactions=3, seed=0).write(tmp_path / "bank")
    read, heard = streamed_reader(str(tmp_path / "bank"), TaskOptions()), []
    assert read is not None
    partition_streamed(read, tmp_path / "parts", 10**9, progress=lambda *step: heard.append(step), **SIZES)
    stages = list(dict.fromkeys(what for what, _, _ in heard))
    assert stages == ["looking at the columns", "reading tables", "following keys", "writing partitions"]
    for stage in stages:
        done, of = zip(*((done, of) for what, done, of in heard if what == stage), strict=True)
        assert list(done) == list(range(of[0]))
        assert set(of) == {len(done)}


def check_same(source: str, options: TaskOptions, folder: Path) -> None:
    open_source(source, options).partition(folder / "loaded", **SIZES)
    read = streamed_reader(source, options)
    assert read is not None
    partition_streamed(read, folder / "streamed", 10**9, **SIZES)
    assert content(folder / "streamed") == content(folder / "loaded")
    for file in (folder / "loaded").rglob("*.parquet"):
        one, two = pq.read_table(file), pq.read_table(folder / "streamed" / file.relative_to(folder / "loaded"))
        assert one.cast(two.schema).equals(two), file
    assert {path.name for path in folder.iterdir() if path.name.startswith(".")} == set()


@pytest.fixture(autouse=True)
def small_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """So small that types cannot be told from one of them."""
    monkeypatch.setattr(raw, "BATCH", 64)


@pytest.mark.parametrize("kind", ["csv", "schema", "parquet", "duckdb", "sqlite", "postgres"])
def test_a_stream_is_read_as_the_source_in_memory_is(kind: str, tmp_path: Path) -> None:
    options = TASK
    server = None
    if kind == "postgres":
        pytest.importorskip("pgserver")
        server, source = as_postgres(tmp_path / "server")
    elif kind in ("duckdb", "sqlite"):
        source = str((as_duckdb if kind == "duckdb" else as_sqlite)(tmp_path / "source"))
    else:
        source = str(as_folder(tmp_path / "source", "parquet" if kind == "parquet" else "csv"))
    if kind == "schema":
        open_source(source, TASK).write_schema(Path(source) / "schema.toml")
        options = TaskOptions()
    (tmp_path / "made").mkdir()
    try:
        check_same(source, options, tmp_path / "made")
    finally:
        if server is not None:
            server.cleanup()


def test_columns_of_every_type_and_tables_without_rows_are_read_alike(tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "m.parquet").mkdir(parents=True)
    (tmp_path / "made").mkdir()
    pd.DataFrame({"id": range(40), "y": ["ab"[k % 3 == 0] for k in range(40)]}).to_parquet(source / "t.parquet")
    for number in range(2):
        columns = {
            "id": pa.array(range(10 * number, 10 * number + 10)),
            "u": pa.array([2**63 + k for k in range(10)], pa.uint64()),
            "length": pa.array(range(10), pa.duration("s")),
            "of day": pa.array(range(10), pa.time64("us")),
            "day": pa.array([k * 365 for k in range(10)], pa.date32()),
            "nothing": pa.nulls(10),
            "F": pa.array([1.0, -0.0, 0.0, float("inf"), float("nan"), None, 2, 3, 4, 5]),
            "f": pa.array([True, None] * 5),
            "list": pa.array([[1]] * 10),
        }
        pq.write_table(pa.table(columns), source / "m.parquet" / f"{number}.parquet")
    pq.write_table(pa.table({"id": pa.array([], pa.int64()), "x": pa.array([], pa.string())}), source / "n.parquet")
    (source / "o o.csv").write_text("id,x\n")
    check_same(str(source), TaskOptions(target="t", label="y"), tmp_path / "made")


def doubtful(folder: Path, suffix: str = "csv") -> Path:
    """A table with columns that are nearly numbers, dates or keys, whose odd cells come late."""
    folder.mkdir()
    t = pd.DataFrame({"id": range(60), "y": ["n", "y"] * 30})
    rows = range(300)
    visit = pd.DataFrame(
        {
            "visit_id": [100 if k == 299 else k for k in rows],
            "id": [k % 60 for k in rows],
            "cost": ["-" if k in (150, 151) else f"{k % 90 / 4}" for k in rows],
            "weight": ["heavy" if k % 30 == 29 else f"{k % 7}" for k in rows],
            "paid": [f"0{1 + k % 9}/0{1 + k % 8}/2024" for k in rows],
            "sent": ["soon" if k == 200 else f"2024-03-{1 + k % 28:02}" for k in rows],
        }
    )
    for name, frame in {"t": t, "visit": visit}.items():
        getattr(frame, f"to_{suffix}")(folder / f"{name}.{suffix}", index=False)
    return folder


@pytest.mark.parametrize("suffix", ["csv", "semicolons", "parquet"])
def test_partitions_keep_what_is_doubtful_about_how_rows_were_read(suffix: str, tmp_path: Path) -> None:
    source = str(doubtful(tmp_path / "source", "parquet" if suffix == "parquet" else "csv"))
    if suffix == "semicolons":
        text = (tmp_path / "source" / "visit.csv").read_text().replace(",", ";").replace(".", ",")
        (tmp_path / "source" / "visit.csv").write_text(text)
    options = TaskOptions(target="t", label="y", types={"visit.weight": "numeric"})
    (tmp_path / "made").mkdir()
    check_same(source, options, tmp_path / "made")
    said = open_source(source, options).reading_warnings
    for sentence in (
        "visit.weight: 10 of 300 values are no numbers and count as missing, such as 'heavy' in row 30",
        "visit.cost is read as text, because row 151 holds '-', where 298 of 300 values are numbers",
        "visit.paid looks like dates, such as '01/01/2024', but is read as text, because whether the day or the month",
        "visit.sent looks like dates, such as '2024-03-01', but is read as text, because row 201 holds 'soon'",
        "visit.visit_id would be the primary key, but 1 of its values stands in several of 300 rows, such as '100'",
    ):
        assert any(one.startswith(sentence) for one in said), sentence
    for made in ("loaded", "streamed"):
        parts = hb.Database.from_partitions(tmp_path / "made" / made)
        assert parts.reading_warnings == said
        with pytest.warns(ReadingWarning, match="visit.cost is read as text"):
            hb.C2RIBClassifier(parts, rounds=1, max_bins=30, random_state=0).fit(*parts.examples())


def test_values_are_counted_in_batches_as_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hornboost.data.value_counts.MERGED", 8)
    rng = np.random.default_rng(0)
    words = [None if k % 11 == 0 else str(number) for k, number in enumerate(rng.integers(0, 60, 500))]
    found = count_values([pa.chunked_array([words[start : start + 7]], pa.string()) for start in range(0, 500, 7)])
    assert found.values.to_pylist() == [word for word in dict.fromkeys(words) if word is not None]
    assert found.counts.tolist() == [words.count(word) for word in found.values.to_pylist()]
    assert found.first.tolist() == [words.index(word) for word in found.values.to_pylist()]
    assert found.missing == words.count(None)


def test_the_command_tells_what_is_doubtful_where_it_partitions_and_where_it_learns(run: Any, tmp_path: Path) -> None:
    source, folder = doubtful(tmp_path / "source"), tmp_path / "parts"
    made = run("partition", source, "-o", folder, "--target", "t", "--label", "y", "--partitions", 2)
    learned = run("fit", folder, "-o", tmp_path / "model.json", "--estimator", "c2rib", "--rounds", 1)
    for done in (made, learned):
        assert done.code == 0
        assert done.err.count("visit.cost is read as text, because row 151 holds '-'") == 1
    assert "give such options to 'hornboost partition'" in learned.err
    assert "read as text" not in run("predict", tmp_path / "model.json", folder, "-o", tmp_path / "scores.csv").err


def test_nothing_of_a_parquet_file_stays_in_memory_when_its_rows_went_by(tmp_path: Path) -> None:
    numbers = np.random.default_rng(0).random((2, 200_000))
    pq.write_table(pa.table({"one": numbers[0], "two": numbers[1]}), tmp_path / "m.parquet", row_group_size=20_000)
    source, before = ParquetSource("m", tmp_path / "m.parquet"), pa.total_allocated_bytes()
    rows = Spool(tmp_path, 0).parquet(source).rows
    for _ in rows.batches(["one", "two"]):
        pass
    source.read("one")
    del _
    until = time.monotonic() + 10.0  # Arrow's threads let go of what they read when they come to it
    while pa.total_allocated_bytes() - before >= 100_000 and time.monotonic() < until:
        time.sleep(0.05)
    assert pa.total_allocated_bytes() - before < 100_000


def test_the_command_partitions_and_other_verbs_read_the_folder(tmp_path: Path) -> None:
    source, folder = as_folder(tmp_path / "source", "csv"), tmp_path / "parts"
    given = ["--target", "loan", "--label", "risky", "--time", "loan.granted", "--time", "trans.day"]
    sizes = ["--partitions", "2", "--memory", "1GB", "--small-table", "0"]
    found = CliRunner().invoke(app, ["partition", str(source), "-o", str(folder), *given, *sizes])
    assert found.exit_code == 0, found.output
    assert "wrote 2 partitions" in found.output
    shown = CliRunner().invoke(app, ["inspect", str(folder)]).output
    assert "370 rows in 2 partitions" in shown
    assert "trans (300 rows)" in shown
    again = CliRunner().invoke(app, ["inspect", str(folder), "--label", "other"])
    assert "its manifest states the task, so --label has no use here" in str(again.exception)


def test_a_declared_key_that_is_none_is_refused(tmp_path: Path) -> None:
    source = as_folder(tmp_path / "source", "csv")
    open_source(str(source), TASK).write_schema(source / "schema.toml")
    for column, problem in (("2,", "the value '2' occurs twice"), (",", "row 4 has no 'trans_id'")):
        lines = (source / "trans.csv").read_text().splitlines(keepends=True)
        lines[4] = column + lines[4].split(",", 1)[1]
        (source / "trans.csv").write_text("".join(lines))
        read = streamed_reader(str(source), TaskOptions())
        assert read is not None
        with pytest.raises(DataError, match=problem):
            partition_streamed(read, tmp_path / "parts", 10**9, **SIZES)
    assert [path.name for path in tmp_path.iterdir()] == ["source"]


def test_a_value_that_is_no_number_is_named(tmp_path: Path) -> None:
    source = as_folder(tmp_path / "source", "csv")
    open_source(str(source), TASK).write_schema(source / "schema.toml")
    text = (source / "trans.csv").read_text()
    (source / "trans.csv").write_text(text.replace(",373.75,", ",cheap,"))
    read = streamed_reader(str(source), TaskOptions())
    assert read is not None
    with pytest.raises(
        DataError, match=r"trans\.csv: table 'trans', column 'amount': a row holds 'cheap', which is not"
    ):
        partition_streamed(read, tmp_path / "parts", 10**9, **SIZES)


def test_a_full_disk_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(28, os.strerror(28))

    source = as_folder(tmp_path / "source", "parquet")
    monkeypatch.setattr("hornboost.data.partitions.writer._measured", full)
    read = streamed_reader(str(source), TASK)
    assert read is not None
    with pytest.raises(DataError, match="No space left on device"):
        partition_streamed(read, tmp_path / "parts", 10**9, **SIZES)
    assert [path.name for path in tmp_path.iterdir()] == ["source"]


def test_the_memory_asked_for_is_enough_and_less_is_refused(tmp_path: Path) -> None:
    source, folder = str(as_folder(tmp_path / "source", "csv")), tmp_path / "parts"
    read = streamed_reader(source, TASK)
    assert read is not None
    with pytest.raises(DataError, match=r"--memory: 511\.0 MB are too few; give at least 512 MB"):
        partition_streamed(read, folder, bytes_of("511MB"), **SIZES)
    partition_streamed(read, folder, bytes_of("512MB"), **SIZES)
    assert folder.exists()
    facts = tmp_path / "facts"
    facts.mkdir()
    for name, text in (("bk.pl", "p(a)."), ("exs.pl", "pos(f(a))."), ("bias.pl", "head_pred(f,1).\nbody_pred(p,1).")):
        (facts / name).write_text(text + "\n")
    given = ["partition", str(facts), "-o", str(tmp_path / "other"), "--partitions", "2", "--memory", "much"]
    assert "--memory: 'much' is no amount of memory" in str(CliRunner().invoke(app, given).exception)


def test_partitions_without_a_label_say_that_they_are_not_for_learning(tmp_path: Path) -> None:
    source, folder = as_folder(tmp_path / "source", "csv"), tmp_path / "parts"
    made = CliRunner().invoke(app, ["partition", str(source), "-o", str(folder), "--target", "loan", "--partitions=2"])
    assert made.exit_code == 0, made.output
    assert "no label was named, so nothing can be learned from them" in made.output
    assert "hornboost fit" not in made.output
    for command in (["fit", str(folder), "-o", str(tmp_path / "model.json")], ["evaluate", str(folder)]):
        found = CliRunner().invoke(app, command)
        assert "parts: the partitions were made without a label" in str(found.exception)
