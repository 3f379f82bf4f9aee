"""Integer keys that pandas wrote as `46.0` are read as integers, wherever a CSV file is declared to have keys."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hornboost as hb

TASK = ["--target", "policies", "--label", "y"]
LINK = ["--link", "drivers.policy=policies.policy"]
FEW = ["--rounds", 3, "--seed", 0]
SAID = "drivers.policy: keys written as '"


def frames(n: int = 120, missing: bool = True) -> dict[str, pd.DataFrame]:
    """Policies with drivers, whose keys are floats, as a missing one makes them in pandas."""
    rng = np.random.default_rng(0)
    drivers = pd.DataFrame({"policy": rng.integers(1, n + 1, 3 * n).astype(float), "v": rng.random(3 * n).round(2)})
    ids = pd.Series(range(1, n + 1))
    risky = ids.isin(drivers.loc[drivers["v"] > 0.8, "policy"])
    policies = pd.DataFrame({"policy": ids, "y": np.where(risky, "a", "b")})
    if missing:
        drivers.loc[len(drivers)] = [np.nan, 0.5]
    return {"policies": policies, "drivers": drivers}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return written(frames(), tmp_path / "data")


def written(tables: dict[str, pd.DataFrame], folder: Path, **options: Any) -> Path:
    folder.mkdir()
    for name, frame in tables.items():
        frame.to_csv(folder / f"{name}.csv", index=False, **options)
    return folder


def with_schema(run: Any, folder: Path) -> Path:
    """The same folder, with the schema that `inspect` finds by itself."""
    text = run("inspect", folder, *TASK).out
    assert "drivers.policy refers to policies.policy" in text
    assert SAID in text
    (folder / "schema.toml").write_text(run("inspect", folder, *TASK, "--toml").out)
    return folder


def predicted(run: Any, model: Path, source: Path, *options: object) -> dict[int, str]:
    result = run("predict", model, source, *options, "-o", source.with_suffix(".out.csv"))
    assert result.code == 0, result.err
    found = pd.read_csv(source.with_suffix(".out.csv"))
    return dict(zip(found["policy"].astype(int), found["prediction"], strict=True))


def test_a_schema_that_inspect_wrote_reads_the_same_keys(run: Any, folder: Path, tmp_path: Path) -> None:
    assert run("fit", folder, *TASK, *FEW, "-o", tmp_path / "inferred.json").code == 0
    before = predicted(run, tmp_path / "inferred.json", folder)
    assert set(before.values()) == {"a", "b"}
    with_schema(run, folder)
    assert predicted(run, tmp_path / "inferred.json", folder) == before
    assert run("fit", folder, *FEW, "-o", tmp_path / "stated.json").code == 0
    assert predicted(run, tmp_path / "stated.json", folder) == before
    said = run("inspect", folder).out
    assert SAID in said
    assert "refer to no row" not in said


@pytest.mark.parametrize("missing", [True, False])
def test_a_link_that_is_named_joins_the_same_rows(run: Any, tmp_path: Path, missing: bool) -> None:
    folder = written(frames(missing=missing), tmp_path / "data")
    said = run("inspect", folder, *TASK, *LINK).out
    assert SAID in said
    assert "refer to no row" not in said
    (link,) = hb.Database.from_folder(
        folder, target="policies", label="y", foreign_keys=[("drivers.policy", "policies.policy")]
    ).links
    assert (link.rows, link.dangling) == (360, 0)


@pytest.mark.parametrize("way", ["inferred", "link", "schema"])
def test_partitions_hold_the_same_keys(run: Any, folder: Path, tmp_path: Path, way: str) -> None:
    if way == "schema":
        with_schema(run, folder)
    options = {"inferred": TASK, "link": [*TASK, *LINK], "schema": []}[way]
    assert run("partition", folder, *options, "-o", tmp_path / "parts", "--partitions", 2).code == 0
    (link,) = hb.Database.from_partitions(tmp_path / "parts").links
    assert (link.rows, link.dangling) == (360, 0)
    assert run("fit", tmp_path / "parts", *FEW, "-o", tmp_path / "parts.json").code == 0
    assert run("fit", folder, *options, *FEW, "-o", tmp_path / "whole.json").code == 0
    rules = [run("rules", tmp_path / name).out for name in ("parts.json", "whole.json")]
    assert rules[0] == rules[1]


@pytest.mark.parametrize("learned", ["integers", "decimals"])
@pytest.mark.parametrize("way", ["inferred", "schema"])
def test_a_small_batch_is_read_as_by_the_rows_that_were_learned_from(
    run: Any, tmp_path: Path, learned: str, way: str
) -> None:
    tables = frames(missing=learned == "decimals")
    if learned == "integers":
        tables["drivers"] = tables["drivers"].astype({"policy": int})
    source = written(tables, tmp_path / "data")
    if way == "schema":
        (source / "schema.toml").write_text(run("inspect", source, *TASK, "--toml").out)
    assert run("fit", source, *([] if way == "schema" else TASK), *FEW, "-o", tmp_path / "m.json").code == 0
    expected = predicted(run, tmp_path / "m.json", source)
    for policy in (1, 2, 3, 4, 5):
        drivers = tables["drivers"][tables["drivers"]["policy"] == policy].astype({"policy": float})
        policies = tables["policies"][tables["policies"]["policy"] == policy]
        batch = written({"policies": policies, "drivers": drivers}, tmp_path / f"batch{policy}")
        assert predicted(run, tmp_path / "m.json", batch) == {policy: expected[policy]}


def test_keys_of_the_target_may_be_written_so_and_words_for_missing_ones_too(tmp_path: Path) -> None:
    orders = pd.DataFrame({"order": range(8), "customer": [1.0, 2.0, np.nan, 3.0] * 2, "late": ["y", "n"] * 4})
    customers = pd.DataFrame({"customer": [1, 2, 3], "town": list("abc")})
    folder = written({"orders": orders, "customers": customers}, tmp_path / "data", na_rep="NA")
    database = hb.Database.from_folder(
        folder,
        target="orders",
        key=["order", "customer"],
        label="late",
        foreign_keys=[("orders.customer", "customers.customer")],
    )
    (link,) = database.links
    assert (link.rows, link.dangling) == (6, 0)
    assert "orders.customer: keys written as '1.0' are read as whole numbers, such as 1" in database.inferred
    assert "orders.customer: 'NA' stands for a missing value" in database.inferred


def test_decimal_commas_are_read_so_in_files_that_have_them(tmp_path: Path) -> None:
    folder = written(frames(), tmp_path / "data", sep=";", decimal=",")
    assert ",0;" in (folder / "drivers.csv").read_text()
    (link,) = hb.Database.from_folder(
        folder, target="policies", label="y", foreign_keys=[("drivers.policy", "policies.policy")]
    ).links
    assert (link.rows, link.dangling) == (360, 0)


@pytest.mark.parametrize("other", ["46", "46.5", "007", "1.50", "1E5", "x.0", "9007199254740994.0"])
@pytest.mark.parametrize("way", ["keys", "schema"])
def test_one_value_that_is_written_otherwise_keeps_all_as_they_are(other: str, way: str, tmp_path: Path) -> None:
    (tmp_path / "t.csv").write_text(f"k,y\n1.0,a\n2.0,b\n{other},a\n")
    if way == "schema":
        columns = '[{ name = "k", type = "key" }, { name = "y", type = "nominal" }]'
        task = '[target]\ntable = "t"\nkey = ["k"]\nlabel = "y"\n'
        (tmp_path / "schema.toml").write_text(f"{task}[tables.t]\ncolumns = {columns}\n")
        database = hb.Database.from_folder(tmp_path)
    else:
        database = hb.Database.from_folder(tmp_path, target="t", key="k", label="y")
    (domain,) = database.domains.values()
    assert domain.values.to_pylist() == ["1.0", "2.0", other]
    assert not any("whole numbers" in note for note in database.inferred)


def test_nominals_and_texts_in_parquet_keep_their_decimals(tmp_path: Path) -> None:
    table = pd.DataFrame({"k": ["1.0", "2.0"], "version": ["1.0", "2.0"], "y": list("ab")})
    table.to_parquet(tmp_path / "t.parquet")
    (domain,) = hb.Database.from_folder(tmp_path, target="t", key="k", label="y").domains.values()
    assert domain.values.to_pylist() == ["1.0", "2.0"]
    table.to_csv(tmp_path / "u.csv", index=False)
    (tmp_path / "t.parquet").unlink()
    database = hb.Database.from_folder(tmp_path, target="u", key="k", label="y", types={"u.version": "nominal"})
    assert list(database.tables["u"].columns["version"].categories) == ["1.0", "2.0"]


@pytest.mark.parametrize("side", ["drivers", "policies"])
def test_a_link_that_leads_nowhere_for_its_spelling_is_told(side: str) -> None:
    tables = {name: frame.dropna() for name, frame in frames().items()}
    tables["drivers"] = tables["drivers"].astype({"policy": int})
    tables[side] = tables[side].assign(policy=[f"{number}.0" for number in tables[side]["policy"]])
    links = [("drivers.policy", "policies.policy")]
    database = hb.Database.from_frames(tables, target="policies", key="policy", label="y", foreign_keys=links)
    (said,) = [warning for warning in database.warnings if "refer to no row" in warning]
    assert said.startswith("360 of 360 rows of drivers.policy refer to no row of policies.policy: ")
    assert f": {side}.policy has the text '" in said
    assert said.endswith("; write whole numbers there")


@pytest.mark.parametrize(
    ("kind", "way_out"),
    [(float, "; --link drivers.policy=policies.policy joins them"), (str, "; write whole numbers there")],
)
def test_a_link_that_is_not_inferred_for_its_spelling_is_told(kind: Any, way_out: str) -> None:
    tables = frames(missing=False)
    tables["drivers"] = tables["drivers"].astype({"policy": kind})
    database = hb.Database.from_frames(tables, target="policies", key="policy", label="y")
    (said,) = [warning for warning in database.warnings if "would refer to" in warning]
    assert said.startswith("drivers.policy would refer to policies.policy, but holds decimals such as ")
    assert said.endswith(way_out)
