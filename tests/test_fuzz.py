"""Input by the thousand that nobody wrote: each public entry gives a result or one sentence,
within a fixed budget of cases.

A case is its number, so that a failure can be run again; HORNBOOST_FUZZ=100 tries a hundred times as many.
"""

from __future__ import annotations

import gzip
import io
import sqlite3
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import hornboost as hb
from fuzzing import ARFF, BACKGROUND, CSV, FACTS, MODES, OTHER, SCHEMA, SPARSE, cases, forged, mutated
from hornboost.errors import HornBoostError
from hornboost.model import checkpoint, file, seal


def held(call: Callable[[], Any]) -> bool:
    """Whether a call gave a result; otherwise it ends in one sentence of ours, whatever it was given."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            call()
        except HornBoostError as error:
            sentence = str(error)
            assert sentence, "an error without a sentence"
            assert "\n" not in sentence, sentence
            return False
    return True


def used(database: hb.Database) -> None:
    """What every verb does with a database."""
    X, _ = database.examples()
    database.encode(X)
    database.describe()
    str(database)
    hb.data.parse_schema(database.to_schema_toml())


def read_folder(path: Path, **options: Any) -> None:
    used(hb.Database.from_folder(path, **options))


def folder(path: Path, **files: bytes) -> Path:
    for name, content in files.items():
        (path / name.replace("__", ".")).write_bytes(content)
    return path


def test_csv_files(tmp_path: Path) -> None:
    for case in cases(150):
        folder(tmp_path, main__csv=mutated(CSV, case), other__csv=OTHER if case % 3 else mutated(OTHER, case))
        label = "label" if case % 2 else None
        held(partial(read_folder, tmp_path, target="main", label=label))
        if case % 2:
            folder(tmp_path, schema__toml=SCHEMA)
            held(lambda: used(hb.Database.from_folder(tmp_path)))
            (tmp_path / "schema.toml").unlink()


def test_compressed_csv_files(tmp_path: Path) -> None:
    whole = gzip.compress(CSV, mtime=0)
    for case in cases(40):
        folder(tmp_path, main__csv__gz=mutated(whole, case))
        held(lambda: used(hb.Database.from_folder(tmp_path, target="main", label="label")))


def test_schemas(tmp_path: Path) -> None:
    folder(tmp_path, main__csv=CSV, other__csv=OTHER)
    for case in cases(250):
        folder(tmp_path, schema__toml=mutated(SCHEMA, case))

        def read() -> None:
            database = hb.Database.from_folder(tmp_path)
            used(database)
            held(database.folds)

        held(read)


def test_parquet_files(tmp_path: Path) -> None:
    buffer = io.BytesIO()
    frame = pd.read_csv(io.BytesIO(CSV), parse_dates=["when"])
    frame.to_parquet(buffer, index=False, compression=None)
    for case in cases(120):
        folder(tmp_path, main__parquet=mutated(buffer.getvalue(), case))
        held(lambda: used(hb.Database.from_folder(tmp_path, target="main", label="label")))


def test_arff_files(tmp_path: Path) -> None:
    for case in cases(250):
        folder(tmp_path, main__arff=mutated(SPARSE if case % 3 == 0 else ARFF, case))
        held(lambda: used(hb.Database.from_arff(tmp_path / "main.arff")))


def test_aleph_files(tmp_path: Path) -> None:
    for case in cases(200):
        parts = {"k__b": BACKGROUND, "k__f": b"good(t1).\ngood(t3).\n", "k__n": b"good(t2).\n"}
        chosen = list(parts)[case % 5 if case % 5 < 3 else 0]
        folder(tmp_path, **{**parts, chosen: mutated(parts[chosen], case)})
        held(lambda: used(hb.Database.from_aleph(tmp_path / "k")))


def test_srlearn_files(tmp_path: Path) -> None:
    for case in cases(150):
        parts = {
            "modes__txt": MODES,
            "more__txt": b"good(+thing).\n",
            "facts__txt": FACTS,
            "pos__txt": b"good(t1).\n",
            "neg__txt": b"good(t2).\n",
        }
        chosen = list(parts)[case % 5]
        folder(tmp_path, **{**parts, chosen: mutated(parts[chosen], case)})
        held(lambda: used(hb.Database.from_srlearn(tmp_path)))


def test_sqlite_files(tmp_path: Path) -> None:
    with sqlite3.connect(tmp_path / "whole.sqlite") as lite:
        lite.execute("CREATE TABLE other (other TEXT PRIMARY KEY, size REAL)")
        lite.execute(
            "CREATE TABLE main (id INTEGER PRIMARY KEY, other TEXT REFERENCES other(other), day DATE, amount "
            "NUMERIC, label TEXT)"
        )
        lite.executemany("INSERT INTO other VALUES (?, ?)", [("a", 1), ("b", 2.5)])
        lite.executemany(
            "INSERT INTO main VALUES (?, ?, ?, ?, ?)",
            [(k, "ab"[k % 2], "2020-01-01", k / 2, "yn"[k % 2]) for k in range(20)],
        )
    lite.close()
    whole = (tmp_path / "whole.sqlite").read_bytes()
    for case in cases(60):
        (tmp_path / "m.sqlite").write_bytes(mutated(whole, case))
        held(lambda: used(hb.Database.from_sqlite(tmp_path / "m.sqlite", "main", label="label")))


@pytest.mark.parametrize("declared", ["", "INTEGER", "REAL", "TEXT", "DATE", "TIMESTAMP", "BOOLEAN", "NUMERIC", "BLOB"])
def test_sqlite_values_of_any_type_in_any_column(tmp_path: Path, declared: str) -> None:
    values = [
        None,
        1,
        -(2**63),
        1.5,
        float("inf"),
        float("nan"),
        "",
        "x",
        "é",
        "1",
        "2020-01-01",
        "infinity",
        b"",
        b"\xff",
        "a\0b",
        "9" * 40,
    ]
    for case in cases(12):
        rng = np.random.default_rng(case)
        (tmp_path / "m.sqlite").unlink(missing_ok=True)
        with sqlite3.connect(tmp_path / "m.sqlite") as lite:
            lite.execute(f"CREATE TABLE main (id INTEGER, x {declared}, label TEXT)")
            chosen = [values[k] for k in rng.integers(0, len(values), 6)]
            lite.executemany(
                "INSERT INTO main VALUES (?, ?, ?)", [(k, value, "yn"[k % 2]) for k, value in enumerate(chosen)]
            )
        lite.close()
        held(lambda: used(hb.Database.from_sqlite(tmp_path / "m.sqlite", "main", label="label")))


def test_duckdb_files(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "whole.duckdb") as duck:
        duck.execute(
            "CREATE TABLE main AS SELECT i AS id, i % 3 AS other, CASE WHEN i % 2 = 0 THEN 'y' ELSE 'n' END "
            "AS label FROM range(20) r(i)"
        )
    whole = (tmp_path / "whole.duckdb").read_bytes()
    for case in cases(25):
        (tmp_path / "m.duckdb").write_bytes(mutated(whole, case))
        held(lambda: used(hb.Database.from_duckdb(tmp_path / "m.duckdb", "main", label="label")))


@pytest.mark.parametrize(
    "value",
    [
        "'infinity'::TIMESTAMP", "'-infinity'::DATE", "'290000-01-01'::TIMESTAMP", "'5000-01-01 (BC)'::DATE",
        "'inf'::DOUBLE", "'nan'::FLOAT",
        "1e308::DOUBLE", "170141183460469231731687303715884105727::HUGEINT", "18446744073709551615::UBIGINT",
        "123.456::DECIMAL(38, 10)",
        "'12:34:56'::TIME", "INTERVAL 3 DAY", "[1, 2]", "{'a': 1}", "MAP {1: 2}", "'\\xFF'::BLOB", "uuid()", "NULL",
        "'1010'::BIT",
        "'2020-01-01 00:00:00+02'::TIMESTAMPTZ", "'2020-01-01'::TIMESTAMP_NS", "'x'::ENUM ('x', 'y')", "''", "true",
    ],
)  # fmt: skip
def test_duckdb_values_of_every_type(tmp_path: Path, value: str) -> None:
    """Read, learned from, saved and loaded: in the target and behind it."""
    with duckdb.connect() as duck:
        label = "CASE WHEN i % 2 = 0 THEN 'y' ELSE 'n' END AS label"
        mixed = f"CASE WHEN i % 2 = 0 THEN {value} ELSE NULL END"
        duck.execute(f"CREATE TABLE main AS SELECT i AS id, {mixed} AS x, {value} AS z, {label} FROM range(20) r(i)")
        duck.execute(f"CREATE TABLE part AS SELECT i AS id, {mixed} AS x, {value} AS z FROM range(20) r(i)")

        def whole() -> None:
            database = hb.Database.from_duckdb(
                duck, "main", key="id", label="label", foreign_keys=[("part.id", "main.id")]
            )
            used(database)
            model = hb.C2RIBClassifier(database, rounds=2, random_state=0).fit(*database.examples())
            model.save(tmp_path / "m.json")
            loaded = hb.load(tmp_path / "m.json", database=database)
            assert loaded.predict(database.examples()[0]).tolist() == model.predict(database.examples()[0]).tolist()

        held(whole)


@pytest.fixture(scope="module")
def bank() -> hb.Database:
    return hb.datasets.bank(60, transactions=4, seed=1).database()


@pytest.fixture(scope="module")
def content(bank: hb.Database) -> Any:
    model = hb.C2RIBClassifier(bank, rounds=6, features="margin", random_state=0).fit(*bank.examples())
    return seal.unsealed(file.to_bytes(model._saved()), "m", "model", file.VERSION, "")


@pytest.fixture(scope="module")
def single() -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"n": rng.normal(size=60), "c": rng.choice(["a", "b", None], 60), "d": pd.Timestamp("2020-01-01")})
    model = hb.RankBoostClassifier(rounds=4, random_state=0).fit(X, np.array(["u", "v", "w"])[rng.integers(0, 3, 60)])
    return seal.unsealed(file.to_bytes(model._saved()), "m", "model", file.VERSION, ""), X


def resealed(body: Any) -> bytes:
    return seal.sealed("model", file.VERSION, body)


def test_forged_models(bank: hb.Database, content: Any, tmp_path: Path) -> None:
    X, _ = bank.examples()
    loaded = 0
    for case in cases(250):
        (tmp_path / "m.json").write_bytes(resealed(forged(content, case)))
        if held(lambda: hb.load(tmp_path / "m.json")):
            loaded += 1
            model = hb.load(tmp_path / "m.json")
            model.rules_frame()
            repr(model.rules_)
            held(model.to_prolog)
            held(partial(model.to_sql, "sqlite"))
            held(lambda: hb.load(tmp_path / "m.json", database=bank).predict_proba(X))
            held(lambda: str(hb.load(tmp_path / "m.json", database=bank).explain(X[:3])))
    assert loaded > 0


def test_forged_models_of_a_single_table(single: tuple[Any, Any], tmp_path: Path) -> None:
    content, X = single
    for case in cases(150):
        (tmp_path / "m.json").write_bytes(resealed(forged(content, case)))
        held(lambda: hb.load(tmp_path / "m.json").predict_proba(X))
        held(lambda: hb.load(tmp_path / "m.json").to_sql())


def test_damaged_models(content: Any, tmp_path: Path) -> None:
    whole = resealed(content)
    for case in cases(250):
        held(partial(file.from_bytes, mutated(whole, case), "m.json"))


def test_forged_checkpoints(bank: hb.Database, tmp_path: Path) -> None:
    place = tmp_path / "run.json"
    X, y = bank.examples()

    def fit() -> None:
        hb.C2RIBClassifier(bank, rounds=3, random_state=0, max_entries=200, checkpoint=place).fit(X, y)

    fit()
    body = seal.unsealed(place.read_bytes(), "run.json", "checkpoint", checkpoint.VERSION, "")
    for case in cases(80):
        place.write_bytes(seal.sealed("checkpoint", checkpoint.VERSION, forged(body, case)))
        held(fit)


def test_clauses(bank: hb.Database) -> None:
    text = b"""risky="1" :- loan(account_id=A, amount>=1000, duration<=24), trans(account_id=A, date>="1996-01-01",
        k_symbol="penalty", amount is missing), disp(account_id=A, client_id=C), C != A."""
    for case in cases(300):
        spelled = mutated(text, case).decode("utf-8", "replace")

        def read(spelled: str = spelled) -> None:
            clause = hb.Clause.parse(spelled)
            assert hb.Clause.parse(str(clause)) == clause
            held(clause.to_prolog)
            held(lambda: clause.to_sql("duckdb", "loan_id"))
            held(lambda: bank.covers(clause))

        held(read)
