"""A model joins tables by the links that it was learned with: those of a batch may not show in its few rows."""

from __future__ import annotations

import pickle
import sqlite3
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import hornboost as hb
from hornboost.errors import ModelError

Frames = dict[str, pd.DataFrame]


@pytest.fixture(scope="module")
def shop() -> Frames:
    """Customers who buy for much money, two joins away."""
    draw = np.random.default_rng(0)
    customers = pd.DataFrame({"customer": [f"c{k}" for k in range(60)], "age": draw.integers(18, 80, 60)})
    orders = pd.DataFrame({"order": [f"o{k}" for k in range(240)], "customer": draw.choice(customers.customer, 240)})
    items = pd.DataFrame({"order": draw.choice(orders.order, 480), "price": draw.integers(1, 100, 480)})
    spent = items.merge(orders).groupby("customer")["price"].sum().reindex(customers.customer).fillna(0)
    return {"customers": customers.assign(label=np.where(spent > 400, "yes", "no")), "orders": orders, "items": items}


@pytest.fixture(scope="module")
def batch(shop: Frames) -> Frames:
    """New customers only, beside the orders of others: nothing shows that orders belong to customers."""
    return {**shop, "customers": pd.DataFrame({"customer": ["n1", "n2", "n3"], "age": [20, 40, 60]})}


@pytest.fixture(scope="module")
def learned(shop: Frames) -> hb.HornBoostClassifier:
    database = hb.Database.from_frames(shop, target="customers", key="customer", label="label")
    model = hb.HornBoostClassifier(database, rounds=3, random_state=0).fit(*database.examples())
    assert "sum(items.price)" in str(model.rules_[0])
    return model


@pytest.fixture(scope="module")
def file(learned: hb.HornBoostClassifier, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("model") / "model.json"
    learned.save(path)
    return path


def opened(kind: str, frames: Frames, folder: Path) -> hb.Database:
    task = {"target": "customers", "key": "customer"}
    if kind == "frames":
        return hb.Database.from_frames(frames, **task)
    if kind == "folder":
        for name, frame in frames.items():
            frame.to_csv(folder / f"{name}.csv", index=False)
        return hb.Database.from_folder(folder, **task)
    if kind == "sqlite":
        connection = sqlite3.connect(folder / "shop.sqlite")
        for name, frame in frames.items():
            frame.to_sql(name, connection, index=False)
        connection.close()
        return hb.Database.from_sqlite(folder / "shop.sqlite", **task)
    with duckdb.connect(folder / "shop.duckdb") as database:
        for name, frame in frames.items():
            database.from_df(frame).create(name)
    return hb.Database.from_duckdb(folder / "shop.duckdb", **task)


@pytest.mark.parametrize("kind", ["frames", "folder", "sqlite", "duckdb"])
def test_new_keys_that_occur_in_no_related_row_are_predicted(
    kind: str, learned: hb.HornBoostClassifier, file: Path, batch: Frames, tmp_path: Path
) -> None:
    database = opened(kind, batch, tmp_path)
    assert not any(link.to_table == "customers" for link in database.links)
    X = batch["customers"]
    loaded = hb.load(file, database)
    np.testing.assert_array_equal(loaded.predict_proba(X), learned.predict_proba(X))
    assert len(loaded.explain(X)) == 3


def test_known_keys_mean_the_same_beside_other_links(learned: hb.HornBoostClassifier, file: Path, shop: Frames) -> None:
    """Also where the links of a database are declared, and fewer than the model has."""
    X = shop["customers"].drop(columns="label")
    domains = {"customers": {"customer": "customer"}, "orders": {"customer": "customer"}}
    database = hb.Database.from_frames(
        {**shop, "customers": X},
        target="customers",
        key="customer",
        keys=domains,
        foreign_keys=[("items.order", "orders.order")],
    )
    np.testing.assert_array_equal(hb.load(file, database).predict_proba(X), learned.predict_proba(X))


def test_the_command_line_predicts_and_explains_new_keys(
    learned: hb.HornBoostClassifier, file: Path, batch: Frames, tmp_path: Path, run: Any
) -> None:
    opened("folder", batch, tmp_path)
    predicted = run("predict", file, tmp_path)
    assert predicted.code == 0, predicted.err
    expected = learned.predict(batch["customers"])
    assert [line.rsplit(",", 1)[1] for line in predicted.out.splitlines()[1:]] == expected.tolist()
    told = run("explain", file, tmp_path, "--key", "n2")
    assert (told.code, "predicted" in told.out) == (0, True)


def test_what_a_batch_lacks_is_named(file: Path, batch: Frames) -> None:
    lacking = {**batch, "items": batch["items"].drop(columns="order")}
    with pytest.raises(ModelError, match="needs the column 'order' of table 'items', which this database does not"):
        hb.load(file, opened("frames", lacking, Path()))


def test_a_column_without_a_value_is_of_the_models_type(file: Path, batch: Frames) -> None:
    empty = {**batch, "items": batch["items"].assign(price=None)}
    assert len(hb.load(file, opened("frames", empty, Path())).predict(batch["customers"])) == 3


def test_frames_stay_where_they_are(file: Path, batch: Frames) -> None:
    """In another process there is nothing to read again, and what is missing is said with the way out."""
    moved = pickle.loads(pickle.dumps(opened("frames", batch, Path())))
    with pytest.raises(ModelError, match=r"as key, and here it is nominal; declare its foreign key \(foreign_keys="):
        hb.load(file, moved)
