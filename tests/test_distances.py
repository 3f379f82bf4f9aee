"""Tables that no rule can look at are named: before a fit, by it, and on the page about it."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hornboost as hb
from hornboost.data.distances import distances
from hornboost.model.diagnosis import UnreachedWarning


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A chain of tables a, b, ... f, each of which refers to the next, and one that nobody refers to."""
    path = tmp_path_factory.mktemp("chain")
    for name, following in zip("abcdef", "bcdefg", strict=True):
        rows = pd.DataFrame(
            {f"{name}_id": range(40), f"{following}_id": np.arange(40)[::-1], f"x{name}": [1.0, 2.5] * 20}
        )
        rows = rows.drop(columns="g_id", errors="ignore")
        (rows.assign(y=["u", "v"] * 20) if name == "a" else rows).to_csv(path / f"{name}.csv", index=False)
    pd.DataFrame({"word": ["p", "q"]}).to_csv(path / "log.csv", index=False)
    return path


TASK = ["--target", "a", "--label", "y"]
FEW = ["--estimator", "c2rib", "--rounds", "2"]
FAR = "rules of up to 2 joins (max_depth) reach no row of d (3 joins away), e (4 joins away), f (5 joins away)"
APART = "no link leads from a to log: no rule looks there unless a foreign key is declared"


def test_distances_count_joins(folder: Path) -> None:
    db = hb.Database.from_folder(folder, target="a", label="y")
    assert distances(db.tables, "a") == {"b": 1, "c": 2, "d": 3, "e": 4, "f": 5}
    X, y = db.examples()
    with pytest.warns(UnreachedWarning, match="reach no row of d"):
        model = hb.C2RIBClassifier(db, rounds=2, random_state=0).fit(X, y)
    assert model.unreached_ == {name: f"{k} joins away" for name, k in (("d", 3), ("e", 4), ("f", 5))} | {
        "log": "no link leads there"
    }
    deep = hb.HornBoostClassifier(db, rounds=1, random_state=0)
    with pytest.warns(UnreachedWarning, match=r"up to 4 joins \(max_depth\) reach no row of f"):
        deep.fit(X, y)
    assert list(deep.unreached_) == ["f", "log"]
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnreachedWarning)
        hb.C2RIBClassifier(db, rounds=1, max_depth=0, random_state=0).fit(X, y)  # nobody asked for other tables


def test_the_command_line_says_so(folder: Path, run: Any, tmp_path: Path) -> None:
    shown = run("inspect", folder, *TASK).out
    assert "rules of up to 4 joins (max_depth) reach no row of f (5 joins away)" in shown
    assert APART in shown
    found = json.loads(run("inspect", folder, *TASK, "--json").out)
    assert (found["joins_away"]["e"], list(found["unreached"])) == (4, ["f", "log"])
    model, page = tmp_path / "m.json", tmp_path / "page.html"
    told = run("fit", folder, *TASK, *FEW, "-o", model).err
    assert FAR in told
    assert APART in told
    assert "learned 1 rule in" in told or "learned 2 rules in" in told
    run("report", model, "--data", folder, "--cv", "0", "--examples", "0", "-o", page)
    assert FAR in page.read_text()
    whole = ["--max-depth", "5", "--exclude-table", "log"]
    assert "reach no row" not in run("fit", folder, *TASK, *FEW, *whole, "-o", model).err


def test_miners_that_left_something_out_say_it_as_well(folder: Path, run: Any, tmp_path: Path) -> None:
    asked = ["--estimator", "mlynx", "--set", "max_pool=1", "--set", "restarts=1", "-o", tmp_path / "m.json"]
    result = run("fit", folder, *TASK, *asked, "--json")
    assert result.code == 0, result.err
    assert any("max_pool=1" in row["reason"] for row in json.loads(result.out)["left_out"])
