"""Models learned from partitions on disk are those learned from the database itself, to the byte."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import hornboost as hb
from hornboost.errors import DataError
from school import pairs_at_school

LEARNERS: dict[str, Any] = {
    "c2rib": lambda db: hb.C2RIBClassifier(db, rounds=4, random_state=0),
    "c2rib margin": lambda db: hb.C2RIBClassifier(db, rounds=6, features="margin", random_state=0),
    "kbs": lambda db: hb.KBSClassifier(db, rounds=3, base="clause", random_state=0),
}


@pytest.fixture(scope="module")
def school() -> hb.Database:
    return pairs_at_school()


@pytest.fixture(scope="module")
def parts(school: hb.Database, tmp_path_factory: pytest.TempPathFactory) -> dict[int, hb.Database]:
    folder = tmp_path_factory.mktemp("parts")
    return {n: school.partition(folder / str(n), n, small_table=0) for n in (1, 2, 7, 16)}


def learned(make: Any, database: hb.Database, X: Any, y: Any, file: Path) -> bytes:
    make(database).fit(X, y).save(file)
    return file.read_bytes()


@pytest.mark.parametrize("name", LEARNERS)
def test_the_model_does_not_depend_on_the_number_of_partitions(
    name: str, school: hb.Database, parts: dict[int, hb.Database], tmp_path: Path
) -> None:
    X, y = school.examples()
    expected = learned(LEARNERS[name], school, X, y, tmp_path / "model.json")
    for database in parts.values():
        assert learned(LEARNERS[name], database, X, y, tmp_path / "model.json") == expected
    # the examples that partitions give are the same as well
    assert learned(LEARNERS[name], parts[7], *parts[7].examples(), tmp_path / "model.json") == expected


def test_rows_that_join_nothing_are_divided_too(tmp_path: Path) -> None:
    frame = pd.DataFrame({"x": [k % 10 for k in range(50)], "y": ["ab"[k % 10 > 6] for k in range(50)]})
    one = hb.Database.from_frames({"t": frame}, "t", label="y")
    made = one.partition(tmp_path / "parts", 3, small_table=0)
    X, y = one.examples()
    expected = learned(LEARNERS["c2rib"], one, X, y, tmp_path / "model.json")
    assert learned(LEARNERS["c2rib"], made, X, y, tmp_path / "model.json") == expected


def test_a_learner_goes_no_further_than_the_partitions(school: hb.Database, tmp_path: Path) -> None:
    made = school.partition(tmp_path / "parts", 2, depth=1, small_table=0, max_bins=10)
    X, y = school.examples()
    with pytest.raises(DataError, match=r"max_depth=2 goes further .* within 1 join; set max_depth=1"):
        hb.C2RIBClassifier(made, rounds=2).fit(X, y)
    with pytest.raises(DataError, match="hold some columns in 10 bins"):
        hb.C2RIBClassifier(made, rounds=2, max_depth=1).fit(X, y)


@pytest.mark.parametrize(
    "make", [lambda db: hb.MLynxClassifier(db, max_length=2), lambda db: hb.RelationalPatterns(db, max_length=2)]
)
def test_what_needs_the_rows_here_says_so(make: Any, parts: dict[int, hb.Database]) -> None:
    with pytest.raises(DataError, match="the rows are in 7 partitions and not here; read the source itself for this"):
        make(parts[7]).fit(*parts[7].examples())
