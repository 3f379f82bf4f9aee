"""RelBench's datasets and entity tasks as databases: made in memory by RelBench's own classes where the package is
installed, and by stand-ins with the same attributes everywhere.
"""

from __future__ import annotations

from enum import Enum
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hornboost as hb
from hornboost.errors import DataError

DAY = pd.Timedelta(days=1)
FIRST = pd.Timestamp("2020-01-01")
VAL, TEST = FIRST + 120 * DAY, FIRST + 150 * DAY
WINDOW = 30 * DAY


class StandInType(Enum):
    BINARY_CLASSIFICATION = "binary_classification"
    MULTICLASS_CLASSIFICATION = "multiclass_classification"
    REGRESSION = "regression"
    MULTILABEL_CLASSIFICATION = "multilabel_classification"


class StandInTable:
    def __init__(self, df: Any, fkey_col_to_pkey_table: Any, pkey_col: Any = None, time_col: Any = None) -> None:
        self.df, self.fkey_col_to_pkey_table = df, fkey_col_to_pkey_table
        self.pkey_col, self.time_col = pkey_col, time_col


class StandInDataset:
    """The part of `relbench.base.Dataset` that is used."""

    def get_db(self, upto_test_timestamp: bool = True) -> Any:
        tables = self.make_db().table_dict
        if upto_test_timestamp:
            tables = {name: _upto(table) for name, table in tables.items()}
        return SimpleNamespace(table_dict=tables)


def _upto(table: Any) -> Any:
    if table.time_col is None:
        return table
    df = table.df[table.df[table.time_col] <= TEST]
    return type(table)(df, table.fkey_col_to_pkey_table, table.pkey_col, table.time_col)


class StandInTask:
    def __init__(self, dataset: Any) -> None:
        self.dataset = dataset

    def get_table(self, split: str, mask_input_cols: bool | None = None) -> Any:
        first = {"train": FIRST + 30 * DAY, "val": VAL, "test": TEST}[split]
        times = pd.date_range(first, VAL - WINDOW, freq=WINDOW) if split == "train" else pd.DatetimeIndex([first])
        table = self.make_table(self.dataset.get_db(upto_test_timestamp=False), times)
        if split == "test":
            table.df = table.df[[self.time_col, self.entity_col]]
        return table


def _kit(name: str) -> SimpleNamespace:
    if name == "stand-ins":
        return SimpleNamespace(
            Database=lambda tables: SimpleNamespace(table_dict=tables),
            Table=StandInTable,
            Dataset=StandInDataset,
            EntityTask=StandInTask,
            TaskType=StandInType,
        )
    base = pytest.importorskip("relbench.base", reason="the package relbench is not installed (hornboost[relbench])")
    return SimpleNamespace(
        **{part: getattr(base, part) for part in ("Database", "Table", "Dataset", "EntityTask", "TaskType")}
    )


@pytest.fixture(params=["stand-ins", "relbench"])
def kit(request: pytest.FixtureRequest) -> SimpleNamespace:
    return _kit(request.param)


def frames() -> dict[str, pd.DataFrame]:
    """Customers, and their orders over 200 days; a large order makes another one in the next 30 days likely."""
    rng = np.random.default_rng(0)
    customer = pd.DataFrame({"customer_id": np.arange(60), "region": rng.choice(["north", "south"], 60)})
    day = np.sort(rng.integers(0, 200, 900))
    order = pd.DataFrame(
        {
            "order_id": np.arange(900),
            "customer_id": rng.integers(0, 60, 900),
            "date": FIRST + pd.to_timedelta(day, "D"),
            "amount": rng.integers(1, 100, 900),
        }
    )
    return {"customer": customer, "order": order}


def dataset(kit: SimpleNamespace) -> Any:
    class Shop(kit.Dataset):
        val_timestamp, test_timestamp = VAL, TEST

        def make_db(self) -> Any:
            tables = frames()
            return kit.Database(
                {
                    "customer": kit.Table(tables["customer"], {}, "customer_id"),
                    "order": kit.Table(tables["order"], {"customer_id": "customer"}, "order_id", "date"),
                }
            )

    return Shop()


def task(kit: SimpleNamespace, kind: str, of: Any) -> Any:
    class NextOrders(kit.EntityTask):
        task_type = kit.TaskType(kind)
        entity_col, entity_table, time_col, target_col = "customer_id", "customer", "timestamp", "label"
        timedelta = WINDOW
        metrics: list[Any] = []

        def make_table(self, db: Any, timestamps: Any) -> Any:
            order, parts = db.table_dict["order"].df, []
            for time in timestamps:
                later = order[(order["date"] > time) & (order["date"] <= time + WINDOW)]
                number = later["customer_id"].value_counts().reindex(range(60), fill_value=0)
                spent = later.groupby("customer_id")["amount"].sum().reindex(range(60), fill_value=0)
                label = {"binary_classification": (number > 0).astype(int), "regression": spent.astype(float)}
                label["multiclass_classification"] = number.clip(upper=2)
                parts.append(pd.DataFrame({"timestamp": time, "customer_id": range(60), "label": label[kind].values}))
            return kit.Table(pd.concat(parts, ignore_index=True), {"customer_id": "customer"}, None, "timestamp")

    return NextOrders(of)


def read(kit: SimpleNamespace, kind: str) -> tuple[hb.Database, Any]:
    shop = dataset(kit)
    asked = task(kit, kind, shop)
    return hb.Database.from_relbench(shop, asked), asked


def test_tables_keys_times_and_splits_are_relbench_s(kit: SimpleNamespace) -> None:
    db, asked = read(kit, "binary_classification")
    assert db.times == {"examples": "timestamp", "order": "date"}
    links = {f"{link.table}.{link.column} -> {link.to_table}.{link.to_column}" for link in db.links}
    assert links == {
        "order.customer_id -> customer.customer_id",
        "examples.customer_id -> customer.customer_id",
    }
    assert (db.target.label, db.target.positive, db.label_kind) == ("label", "1", "classes")
    assert [column.name for column in db.tables["examples"].columns.values()] == ["customer_id"]
    assert db.tables["order"].n_rows == (frames()["order"]["date"] <= TEST).sum()

    X, y = db.examples()
    ((train, val),) = db.folds()
    for part, split in ((train, "train"), (val, "val")):
        table = asked.get_table(split).df
        assert list(X["customer_id"].iloc[part]) == list(table["customer_id"])
        assert list(y.iloc[part]) == list(table["label"])
        assert list(X["timestamp"].iloc[part]) == list(table["timestamp"] + pd.Timedelta(microseconds=1))
    X_test, y_test = db.examples(labelled=False)
    assert y_test is None
    assert list(X_test["customer_id"]) == list(asked.get_table("test").df["customer_id"])


def test_an_example_sees_what_relbench_lets_it_see(kit: SimpleNamespace) -> None:
    db, _ = read(kit, "binary_classification")
    X, _ = db.examples()
    large = frames()["order"].query("amount >= 90")
    assert large["date"].isin(X["timestamp"] - pd.Timedelta(microseconds=1)).any()
    seen = [
        bool((large[large["customer_id"] == row.customer_id]["date"] < row.timestamp).any()) for row in X.itertuples()
    ]
    clause = hb.Clause.parse('label="1" :- examples(customer_id=C), order(customer_id=C, amount>=90).')
    assert db.covers(clause).tolist() == seen


@pytest.mark.parametrize(
    ("kind", "learner"),
    [
        ("binary_classification", hb.HornBoostClassifier),
        ("multiclass_classification", hb.HornBoostClassifier),
        ("regression", hb.HornBoostRegressor),
    ],
)
def test_every_kind_of_entity_task_is_learned_and_predicted(kit: SimpleNamespace, kind: str, learner: Any) -> None:
    db, asked = read(kit, kind)
    assert db.label_kind == ("numbers" if kind == "regression" else "classes")
    X, y = db.examples()
    ((train, val),) = db.folds("split")
    model = learner(db, rounds=5, max_literals=2, random_state=0).fit(X.iloc[train], y.iloc[train])
    assert len(model.predict(X.iloc[val])) == len(val)
    predicted = model.predict(db.examples(labelled=False)[0])
    assert len(predicted) == len(asked.get_table("test").df)
    if kind != "regression":
        assert set(predicted) <= set(y)


def test_other_tasks_and_objects_are_refused_in_a_sentence() -> None:
    kit = _kit("stand-ins")
    shop = dataset(kit)
    for call, sentence in (
        (lambda: hb.Database.from_relbench(shop, task(kit, "multilabel_classification", shop)), "is not of one class"),
        (lambda: hb.Database.from_relbench(shop, "churn"), "loads no task by the name 'churn'; pass the task itself"),
        (lambda: hb.Database.from_relbench(3, task(kit, "regression", shop)), "a 'int' is no RelBench dataset"),
    ):
        with pytest.raises(DataError, match=sentence):
            call()


def test_a_dataset_by_name_needs_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "relbench", None)
    with pytest.raises(DataError, match=r"pip install 'hornboost\[relbench\]'"):
        hb.Database.from_relbench("rel-f1", "driver-dnf")


def test_a_column_that_a_task_completes_is_seen_in_its_own_row_s_neighbours_only() -> None:
    base = pytest.importorskip("relbench.base", reason="the package relbench is not installed (hornboost[relbench])")
    shop = dataset(_kit("relbench"))
    asked = base.AutoCompleteTask(shop, base.TaskType.REGRESSION, "order", "amount")
    db = hb.Database.from_relbench(shop, asked)
    assert "amount" not in db.tables["order"].columns
    assert db.tables["order"].n_rows == 900
    y = db.examples()[1]
    assert len(y) == (frames()["order"]["date"] <= TEST).sum()
    assert len(db.examples(labelled=False)[0]) == 900 - len(y)
    own = hb.Clause.parse("amount += 1 :- examples(order_id=O), order(order_id=O).")
    assert db.covers(own).all()
