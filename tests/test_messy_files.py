"""Files as people have them: what is wrong or unusual in them is read rightly, or said with the way out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import hornboost as hb


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
