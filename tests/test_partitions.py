"""Partitions on disk: what they hold, what is read back, and what is refused."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hornboost as hb
from hornboost.data.frames import decode_table
from hornboost.data.partitions import manifest
from hornboost.engine.facts import Facts
from hornboost.errors import DataError
from school import pairs_at_school


@pytest.fixture(scope="module")
def school() -> hb.Database:
    return pairs_at_school()


def rows_of(database: hb.Database, table: str) -> list[tuple[Any, ...]]:
    rows = np.arange(database.tables[table].n_rows)
    frame = decode_table(database.tables[table], database.domains, rows, dates_as_text=True)
    return [tuple(None if pd.isna(value) else value for value in row) for row in frame.itertuples(index=False)]


def keys_of(database: hb.Database, table: str) -> list[dict[str, set[Any]]]:
    """For each row its keys by domain."""
    found = []
    columns = list(database.tables[table].columns.values())
    for row in rows_of(database, table):
        keys: dict[str, set[Any]] = {}
        for column, value in zip(columns, row, strict=False):
            if column.kind == "key" and value is not None:
                keys.setdefault(str(column.domain), set()).add(value)
        found.append(keys)
    return found


def reached(database: hb.Database, start: list[int], depth: int) -> dict[str, set[int]]:
    """The rows within some joins of some rows of the target, row by row."""
    target = database.target.table
    found = {table: set[int]() for table in database.tables}
    found[target] |= set(start)
    keys = {table: keys_of(database, table) for table in database.tables}
    ahead = [(target, row) for row in start]
    for _ in range(depth):
        held = {(domain, value) for t, r in ahead for domain, values in keys[t][r].items() for value in values}
        ahead = [
            (table, row)
            for table in database.tables
            for row, known in enumerate(keys[table])
            if row not in found[table] and any((d, v) in held for d, values in known.items() for v in values)
        ]
        for table, row in ahead:
            found[table].add(row)
    return found


@pytest.mark.parametrize("depth", [1, 2])
def test_a_part_holds_exactly_the_rows_that_its_examples_reach(
    school: hb.Database, tmp_path: Path, depth: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hornboost.data.partitions.writer.MANY_PARTS", 4 * depth)  # both ways to write them
    made = school.partition(tmp_path / "parts", 5, depth=depth, small_table=0)
    assert made.stored is not None
    parts, rows = made.stored.locate(made, made.encode(school.examples(labelled=None)[0]))
    for part in range(5):
        opened = made.stored.open(part)
        own = np.flatnonzero(parts == part)
        expected = reached(school, own.tolist(), depth)
        for table in school.tables:
            everything = rows_of(school, table)
            assert rows_of(opened, table) == [everything[row] for row in sorted(expected[table])], table
        assert [rows_of(opened, "pair")[row] for row in rows[own]] == [rows_of(school, "pair")[row] for row in own]
        assert opened.given_facts is not None
        assert opened.stored is None


def test_examples_labels_and_descriptions_are_those_of_the_source(school: hb.Database, tmp_path: Path) -> None:
    made = school.partition(tmp_path / "parts", 3, small_table=0)
    for labelled in (True, False, None):
        (X, y), (own, labels) = made.examples(labelled=labelled), school.examples(labelled=labelled)
        pd.testing.assert_frame_equal(X, own.reset_index(drop=True)[list(X.columns)], check_dtype=False)
        if labels is None:
            assert y is None
        else:
            pd.testing.assert_series_equal(y, labels.reset_index(drop=True), check_dtype=False)
    pd.testing.assert_frame_equal(made.describe(), school.describe())
    assert (made.target, made.links, made.warnings, made.times) == (
        school.target,
        school.links,
        school.warnings,
        school.times,
    )
    assert made.schema == school.schema
    assert made.tables["taken"].n_rows == 0
    again = pickle.loads(pickle.dumps(made))
    assert again.links == made.links


def test_facts_of_whole_tables_come_from_the_manifest(school: hb.Database, tmp_path: Path) -> None:
    made = school.partition(tmp_path / "parts", 4, small_table=0)
    assert made.stored is not None
    facts = [Facts.of(database) for database in (school, made, made.stored.open(1))]
    keys = [(name, column) for name, table in school.tables.items() for column in table.keys]
    for table, column in keys:
        assert len({fact.is_unique(table, column.name) for fact in facts}) == 1
    for (a, out), (b, carried), (c, joined), (d, column) in product(keys, repeat=4):
        same = a == b and c == d and out.domain == joined.domain and carried.domain == column.domain
        if same and out is not carried and joined is not column:
            places = (a, out.name, carried.name, c, joined.name, column.name)
            assert len({fact.determines(*places) for fact in facts}) == 1, places


def test_categories_and_levels_are_those_of_all_rows(school: hb.Database, tmp_path: Path) -> None:
    made = school.partition(tmp_path / "parts", 7, small_table=0, max_bins=20)
    assert made.stored is not None
    opened = made.stored.open(3)
    grade, hours = opened.tables["taken"].columns["grade"], opened.tables["taught"].columns["hours"]
    assert grade.categories is not None
    assert grade.categories.tolist() == ["A", "B", "C", "D"]
    expected = school.tables["taught"].columns["hours"].levelled(20).levels
    assert hours.levels is not None
    assert expected is not None
    np.testing.assert_array_equal(np.stack(hours.levels), np.stack(expected))


def test_small_tables_are_whole_and_the_manifest_says_so(school: hb.Database, tmp_path: Path) -> None:
    made = school.partition(tmp_path / "parts", 3, small_table=19)
    assert made.stored is not None
    assert [made.stored.is_whole(table) for table in ("course", "taken")] == [True, False]
    assert made.stored.open(2).tables["course"].n_rows == 19


def test_sizes_may_be_integers_of_numpy(school: hb.Database, tmp_path: Path) -> None:
    stored = school.partition(tmp_path / "parts", np.int64(2), depth=np.int32(1)).stored
    assert stored is not None
    assert (stored.n, stored.depth) == (2, 1)


def test_a_target_without_keys_is_dealt_out(tmp_path: Path) -> None:
    one = hb.Database.from_frames(
        {"t": pd.DataFrame({"x": [1.5, -0.0, 0.0, None], "y": ["a", "b", "a", "b"]})}, "t", label="y"
    )
    made = one.partition(tmp_path / "parts", 2, small_table=0)
    assert made.stored is not None
    levels = made.tables["t"].columns["x"].levels
    assert levels is not None
    assert levels.low.tolist() == [0.0, 1.5]
    part, _ = made.stored.locate(made, made.encode(pd.DataFrame({"x": [9.0, 8.0, 7.0]})))
    assert part.tolist() == [0, 1, 0]


def test_a_table_without_rows_stays_one(tmp_path: Path) -> None:
    some = pd.DataFrame({"id": [1, 2], "y": ["a", "b"]})
    none = pd.DataFrame({"id": pd.array([], "Int64"), "other": pd.array([], "string"), "x": pd.array([], "float64")})
    db = hb.Database.from_frames(
        {"t": some, "n": none}, "t", key="id", label="y", keys={"n": {"id": "id", "other": "o"}}
    )
    for size in (0, 10):
        made = db.partition(tmp_path / str(size), 2, small_table=size)
        assert made.stored is not None
        assert made.stored.open(1).tables["n"].n_rows == 0
        assert made.n_identifiers("o") == 0


def test_numbers_too_large_to_be_added_are_known_in_bins_that_end_in_infinity(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    t = pd.DataFrame({"id": range(100), "y": np.where(np.arange(100) % 2 == 0, "a", "b")})
    c = pd.DataFrame({"id": rng.integers(0, 100, 400), "v": rng.normal(size=400).round(2)})
    c.loc[:1, "v"] = 1e300, np.inf
    keys = {"t": {"id": "K"}, "c": {"id": "K"}}
    whole = hb.Database.from_frames({"t": t, "c": c}, target="t", key="id", label="y", positive="a", keys=keys)
    made = whole.partition(tmp_path / "parts", 4, small_table=0, max_bins=20)
    given = {"max_depth": 1, "max_bins": 20, "rounds": 3, "aggregates": True, "random_state": 0}
    one, other = (hb.HornBoostClassifier(database, **given).fit(*database.examples()) for database in (whole, made))
    assert one.left_out_["mean(c.v)"] == "numbers of 'v' are too large to be added exactly"
    assert other.left_out_ == one.left_out_
    assert other.rules_ == one.rules_


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda text: text.replace('"depth": 2', '"depth": NaN', 1), "the manifest is damaged or cut short"),
        (lambda text: text.replace("{", '{"\\ud800": 1, ', 1), "the checksum does not match"),
        (lambda text: resealed(text, lambda it: it.pop("said")), "content is not valid .*'said'"),
        (lambda text: resealed(text, lambda it: it.update(partitions="2")), "manifest.partitions is of type 'str'"),
        (lambda text: resealed(text, lambda it: it["tables"][0].update(rows=None)), r"manifest.tables\[0\].rows is of"),
        (lambda text: resealed(text, lambda it: it["target"].pop("target")), "content is not valid .'target'"),
    ],
)
def test_a_forged_manifest_is_refused_in_a_sentence(
    school: hb.Database, tmp_path: Path, change: Callable[[str], str], told: str
) -> None:
    folder = tmp_path / "parts"
    school.partition(folder, 2)
    place = folder / "manifest.json"
    place.write_text(change(place.read_text()))
    with pytest.raises(DataError, match=told):
        hb.Database.from_partitions(folder)


def resealed(text: str, change: Callable[[dict[str, Any]], object]) -> str:
    """A manifest with other content and the checksum of that."""
    parsed = json.loads(text)
    change(parsed["manifest"])
    parsed.pop("checksum")
    return json.dumps({**parsed, "checksum": manifest._digest(parsed)})


@pytest.mark.parametrize("damage", ["missing", "changed", "manifest", "lost", "version", "unknown", "exists", "again"])
def test_what_is_not_as_it_was_written_is_refused_by_name(school: hb.Database, tmp_path: Path, damage: str) -> None:
    folder = tmp_path / "parts"
    made = school.partition(folder, 2, small_table=0)
    assert made.stored is not None
    taken, place = folder / "part-00001" / "taken.parquet", folder / "manifest.json"
    if damage == "missing":
        taken.unlink()
        with pytest.raises(DataError, match=r"part-00001/taken\.parquet: the file is missing"):
            made.stored.open(1)
    elif damage == "changed":
        taken.write_bytes(taken.read_bytes()[:-1] + b"x")
        with pytest.raises(DataError, match=r"part-00001/taken\.parquet: the checksum is not that of the manifest"):
            made.stored.open(1)
    elif damage == "manifest":
        place.write_text(place.read_text().replace('"depth": 2', '"depth": 3'))
        with pytest.raises(DataError, match=r"manifest\.json: the checksum does not match"):
            hb.Database.from_partitions(folder)
    elif damage == "lost":
        with pytest.raises(DataError, match=r"these are partitions; read them with Database\.from_partitions"):
            hb.Database.from_folder(folder)
        place.unlink()
        with pytest.raises(DataError, match=r"manifest\.json: the manifest of the partitions is missing"):
            hb.Database.from_folder(folder)
    elif damage == "version":
        place.write_text(json.dumps({**json.loads(place.read_text()), "version": 99}))
        with pytest.raises(DataError, match="format version 99, and this HornBoost reads 2"):
            hb.Database.from_partitions(folder)
    elif damage == "unknown":
        X = school.examples()[0].head(1).assign(student="nobody")
        with pytest.raises(
            DataError, match=r"no partition holds an example with the keys of row 1 \(student, teacher\)"
        ):
            made.stored.locate(made, made.encode(X))
    elif damage == "exists":
        with pytest.raises(DataError, match="it exists already"):
            school.partition(folder, 2)
        assert school.partition(folder, 3, overwrite=True).stored.n == 3  # type: ignore[union-attr]
    else:
        with pytest.raises(DataError, match="these are partitions already"):
            made.partition(tmp_path / "other", 2)
        with pytest.raises(DataError, match="the rows of table 'taken' are in 2 partitions and not here"):
            made.index("taken", "course")


def test_what_is_broken_off_leaves_nothing(
    school: hb.Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from hornboost.data.partitions import writer

    for error, raised in ((KeyboardInterrupt(), KeyboardInterrupt), (OSError(28, os.strerror(28)), DataError)):
        monkeypatch.setattr(writer, "sealed", lambda manifest, error=error: (_ for _ in ()).throw(error))
        with pytest.raises(raised):
            school.partition(tmp_path / "parts", 2)
        assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "kind",
    ["bool", "int8", "int64", "float64", "Int64", "boolean", "object", "category", "category of booleans", "missing"],
)
def test_classes_are_handed_out_as_the_numbers_or_booleans_that_they_were(kind: str, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    labels = pd.Series(rng.integers(0, 2, 60))
    if kind == "missing":
        labels = labels.astype(float).where(labels.index != 3)
    elif kind == "category of booleans":
        labels = labels.astype(bool).astype("category")
    else:
        labels = labels.astype(kind)
    rows = pd.DataFrame({"k": range(60), "n": rng.random(60).round(2), "y": labels})
    more = pd.DataFrame({"k": rng.integers(0, 60, 200), "v": rng.integers(0, 9, 200)})
    whole = hb.Database.from_frames(
        {"t": rows, "u": more}, target="t", key="k", label="y", foreign_keys=[("u.k", "t.k")]
    )
    saved = []
    for number, db in enumerate((whole, whole.partition(tmp_path / "parts", 3, small_table=0))):
        X, y = db.examples()
        model = hb.C2RIBClassifier(db, rounds=3, max_depth=2, random_state=0).fit(X, y)
        model.save(tmp_path / f"{number}.json")
        saved.append((tmp_path / f"{number}.json").read_bytes())
        assert np.mean(np.asarray(model.predict(X) == np.asarray(y), bool)) > 0.5
        assert db.examples(labelled=None)[1].isna().sum() == (kind == "missing")
    assert saved[0] == saved[1]


def test_booleans_are_evaluated_as_the_positive_class_is_spelled(run: Any, tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"k": range(80), "n": rng.random(80).round(2)})
    rows["y"] = rows["n"] > 0.5
    whole = hb.Database.from_frames({"t": rows}, target="t", key="k", label="y", positive="true")
    whole.partition(tmp_path / "parts", 2)
    found = json.loads(run("evaluate", tmp_path / "parts", "--rounds", 3, "--cv", 2, "--json").out)
    assert found["mean"]["auroc"] > 0.9
