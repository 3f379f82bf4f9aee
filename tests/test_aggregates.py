"""Aggregates over foreign keys against pandas, and what the transformer promises."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from hornboost.aggregates.paths import find_paths
from hornboost.aggregates.reach import rows_reached
from hornboost.data import Database
from hornboost.errors import DataError
from hornboost.estimators.aggregates import RelationalAggregates

N_LOANS, N_ACCOUNTS, N_TRANS = 60, 25, 700
LINKS = [
    ("loan.account", "account.account"),
    ("trans x.account", "account.account"),
    ("account.region", "region.region"),
]
KEYS = {"trans x": {"trans": "trans", "partner": "partner"}}


def frames(seed: int = 0) -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng(seed)

    def holes(values: np.ndarray, rate: float = 0.15) -> pd.Series:
        return pd.Series(values.astype(object)).where(rng.random(len(values)) > rate, None)

    days = pd.Timestamp("1996-01-01") + pd.to_timedelta(rng.integers(0, 200, N_LOANS), unit="D")
    loan = pd.DataFrame({"loan": np.arange(N_LOANS), "account": rng.integers(0, N_ACCOUNTS + 3, N_LOANS), "date": days})
    loan["amount"], loan["good"] = rng.random(N_LOANS), rng.choice(["no", "yes"], N_LOANS)
    account = pd.DataFrame({"account": np.arange(N_ACCOUNTS), "region": holes(rng.choice(["n", "s"], N_ACCOUNTS))})
    account["open"] = rng.random(N_ACCOUNTS)
    account["kind"] = holes(rng.choice(["gold", "tin"], N_ACCOUNTS))
    trans = pd.DataFrame({"trans": np.arange(N_TRANS), "account": rng.integers(0, N_ACCOUNTS - 5, N_TRANS)})
    trans["partner"] = holes(rng.integers(0, 9, N_TRANS).astype(str))
    trans["day"] = pd.Timestamp("1996-01-01") + pd.to_timedelta(rng.integers(0, 200, N_TRANS), unit="D")
    trans["bal ance"] = holes(rng.normal(size=N_TRANS)).astype(float)
    trans['op"x'] = holes(rng.choice(["in'", 'o"ut', "fee"], N_TRANS, p=[0.5, 0.3, 0.2]))
    return {
        "loan": loan,
        "account": account,
        "trans x": trans,
        "region": pd.DataFrame({"region": ["n", "s"], "jobs": [0.1, 0.2]}),
    }


def database(tables: dict[str, pd.DataFrame], **options: Any) -> Database:
    return Database.from_frames(
        tables, target="loan", key="loan", label="good", positive="yes", foreign_keys=LINKS, keys=KEYS, **options
    )


def reached(tables: dict[str, pd.DataFrame]) -> pd.DataFrame:
    """The transactions of each loan, over its account."""
    accounts = tables["loan"][["loan", "account", "date"]].merge(tables["account"][["account"]])
    return accounts.merge(tables["trans x"])


def aligned(values: pd.Series) -> np.ndarray:
    return values.reindex(range(N_LOANS)).to_numpy()


def most_frequent(values: pd.Series) -> str | None:
    counts = values.value_counts()
    return min(counts.index[counts == counts.max()]) if len(counts) else None


@pytest.mark.parametrize("seed", range(3))
def test_aggregates_equal_those_of_pandas(seed):
    tables = frames(seed)
    db = database(tables)
    out = RelationalAggregates(db).fit_transform(db.examples()[0])
    groups = reached(tables).groupby("loan")
    balance = groups["bal ance"]
    for name, function in {"mean": "mean", "sum": "sum", "min": "min", "max": "max", "std": "std"}.items():
        expected = balance.agg(function) if name != "sum" else balance.sum(min_count=1)
        np.testing.assert_allclose(out[f"{name}(trans x.bal ance)"], aligned(expected), rtol=1e-9)
    operation = groups['op"x']
    np.testing.assert_array_equal(out["count(trans x)"], np.nan_to_num(aligned(groups.size())))
    np.testing.assert_array_equal(out['distinct(trans x.op"x)'], np.nan_to_num(aligned(operation.nunique())))
    np.testing.assert_array_equal(out["distinct(trans x.partner)"], np.nan_to_num(aligned(groups["partner"].nunique())))
    modes = pd.Series({loan: most_frequent(values) for loan, values in operation}).reindex(range(N_LOANS))
    assert [None if pd.isna(value) else value for value in out['mode(trans x.op"x)']] == [
        None if pd.isna(value) else value for value in modes
    ]
    share = operation.agg(
        lambda values: values.value_counts().max() / values.count() if values.count() else np.nan
    ).astype(float)
    np.testing.assert_allclose(out['mode_share(trans x.op"x)'], aligned(share))


def test_tables_of_one_row_give_their_columns_as_they_are():
    tables = frames()
    db = database(tables)
    out = RelationalAggregates(db).fit_transform(db.examples()[0])
    one = tables["loan"][["loan", "account"]].merge(tables["account"], how="left").merge(tables["region"], how="left")
    np.testing.assert_array_equal(out["account.open"], one["open"])
    np.testing.assert_array_equal(out["region.jobs"], one["jobs"])
    assert out["account.kind"].fillna("").tolist() == one["kind"].fillna("").tolist()


def test_where_aggregates_the_rows_of_the_values_that_most_training_examples_reach():
    tables = frames()
    db = database(tables)
    X, _ = db.examples()
    train = X.iloc[:20]
    aggregates = RelationalAggregates(db, where=2).fit(train)
    everything = reached(tables)
    support = everything[everything["loan"] < 20].groupby('op"x')["loan"].nunique()
    chosen = sorted(support.index, key=lambda value: (-support[value], value))[:2]
    names = [name for name in aggregates.get_feature_names_out() if name.startswith("share(")]
    assert names == [f'share(trans x where op"x="{value}")' for value in chosen]
    out = aggregates.transform(X)
    for value in chosen:
        groups = everything[everything['op"x'] == value].groupby("loan")
        condition = f'where op"x="{value}"'
        counts = np.nan_to_num(aligned(groups.size()))
        np.testing.assert_array_equal(out[f"count(trans x {condition})"], counts)
        np.testing.assert_allclose(
            out[f"share(trans x {condition})"], counts / aligned(everything.groupby("loan").size())
        )
        np.testing.assert_allclose(out[f"mean(trans x.bal ance {condition})"], aligned(groups["bal ance"].mean()))
        np.testing.assert_allclose(out[f"max(trans x.bal ance {condition})"], aligned(groups["bal ance"].max()))


def test_test_rows_do_not_change_what_is_chosen():
    tables = frames()
    db = database(tables)
    X, _ = db.examples()
    reordered = database({**tables, "loan": tables["loan"].iloc[:20]})
    one, other = (
        RelationalAggregates(db, where=2).fit(X.iloc[:20]),
        RelationalAggregates(reordered, where=2).fit(X.iloc[:20]),
    )
    assert one.aggregates_ == other.aggregates_
    pd.testing.assert_frame_equal(one.transform(X.iloc[20:]), one.transform(X).iloc[20:])


def test_as_of_counts_only_rows_before_the_example():
    tables = frames()
    db = database(tables)
    X, _ = db.examples()
    out = RelationalAggregates(db, as_of={"loan": "date", "trans x": "day"}, where=1).fit_transform(X)
    rows = reached(tables)
    assert (rows["day"] == rows["date"]).any()
    known = rows[rows["day"] < rows["date"]]
    np.testing.assert_array_equal(out["count(trans x)"], np.nan_to_num(aligned(known.groupby("loan").size())))
    np.testing.assert_allclose(out["mean(trans x.bal ance)"], aligned(known.groupby("loan")["bal ance"].mean()))
    ages = (known["date"] - known["day"]).dt.days.groupby(known["loan"])
    np.testing.assert_array_equal(out["min(trans x.age)"], aligned(ages.min()))
    np.testing.assert_allclose(out["mean(trans x.age)"], aligned(ages.mean()))
    assert out["min(trans x.age)"].min() >= 1


def test_as_of_declares_the_times_of_a_database_that_has_none():
    tables = frames()
    times = {"loan": "date", "trans x": "day"}
    undated, dated = database(tables), database(tables, times=times)
    X, _ = dated.examples()
    options = {"where": 1, "windows": 2}
    expected = RelationalAggregates(dated, **options).fit_transform(X)
    pd.testing.assert_frame_equal(RelationalAggregates(undated, as_of=times, **options).fit_transform(X), expected)
    assert "count(trans x where age<=90d)" in expected.columns
    with pytest.raises(DataError, match="the database has times of its own; leave 'as_of' out"):
        RelationalAggregates(dated, as_of=times).fit(X)


def test_unknown_and_missing_keys_reach_nothing():
    db = database(frames())
    X, _ = db.examples()
    aggregates = RelationalAggregates(db).fit(X)
    strange = X.iloc[:2].assign(account=pd.array([99_999, None], dtype="Int64"))
    out = aggregates.transform(strange)
    assert out["count(trans x)"].tolist() == [0, 0]
    assert out[["mean(trans x.bal ance)", "account.open", 'mode_share(trans x.op"x)']].isna().all(axis=None)
    assert out["account.kind"].isna().all()


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow"])
def test_the_frame_that_came_in_goes_out(kind):
    tables = frames()
    db = database(tables)
    X = db.examples()[0].set_index(np.arange(N_LOANS) + 100)
    native = {
        "pandas": lambda: X,
        "polars": lambda: pl.from_pandas(X),
        "arrow": lambda: pa.Table.from_pandas(X, preserve_index=False),
    }[kind]()
    aggregates = RelationalAggregates(db).fit(native)
    out = aggregates.transform(native)
    assert type(out) is type(native)
    names = out.column_names if kind == "arrow" else list(out.columns)
    assert names == aggregates.get_feature_names_out().tolist()
    assert names[:4] == ["loan", "account", "date", "amount"]
    if kind == "pandas":
        assert out.index.equals(X.index)
    expected = RelationalAggregates(db).fit_transform(X)
    np.testing.assert_array_equal(np.asarray(out["count(trans x)"]), expected["count(trans x)"])


def test_set_output_and_clone_and_pipeline_work():
    db = database(frames())
    X, _ = db.examples()
    aggregates = clone(RelationalAggregates(db, functions=("count",)))
    assert aggregates.database is db
    pipeline = make_pipeline(aggregates)
    for kind, frame in {"pandas": pd.DataFrame, "polars": pl.DataFrame}.items():
        for native in (X, pl.from_pandas(X)):
            out = pipeline.set_output(transform=kind).fit_transform(native)
            assert isinstance(out, frame)
            assert "count(trans x)" in out.columns
    assert db.encode(RelationalAggregates(db).fit_transform(X)).columns["count(trans x)"].kind == "numeric"


def test_values_are_the_same_whatever_the_number_of_workers(monkeypatch):
    db = database(frames())
    X, _ = db.examples()
    expected = RelationalAggregates(db, where=1).fit_transform(X)
    monkeypatch.setattr("hornboost.aggregates.compute._workers", lambda: 5)
    monkeypatch.setattr("hornboost.aggregates.compute._SPLIT_ROWS", 1)
    pd.testing.assert_frame_equal(RelationalAggregates(db, where=1).fit_transform(X), expected, check_exact=True)


def test_depth_bounds_the_paths():
    db = database(frames())
    tables = [[path.table for path in find_paths(db.tables, db.links, "loan", depth)] for depth in (1, 2)]
    assert tables == [["account"], ["account", "trans x", "region"]]


def test_two_paths_to_one_table_have_two_names():
    atom = pd.DataFrame({"atom": [1, 2, 3], "charge": [0.1, 0.2, 0.3], "label": ["a", "b", "a"]})
    bond = pd.DataFrame({"bond": [1, 2], "left": [1, 2], "right": [2, 3], "length": [1.0, 2.0]})
    links = [("bond.left", "atom.atom"), ("bond.right", "atom.atom")]
    db = Database.from_frames(
        {"atom": atom, "bond": bond}, target="atom", key="atom", label="label", foreign_keys=links
    )
    out = RelationalAggregates(db, max_depth=1, functions=("sum",)).fit_transform(db.examples()[0])
    np.testing.assert_array_equal(out["sum(bond[atom=left].length)"], [1.0, 2.0, np.nan])
    np.testing.assert_array_equal(out["sum(bond[atom=right].length)"], [np.nan, 1.0, 2.0])


def test_a_row_that_is_reached_twice_counts_twice():
    person = pd.DataFrame({"person": [1, 2], "label": ["a", "b"]})
    member = pd.DataFrame({"person": [1, 1, 2], "club": [5, 5, 6]})
    club = pd.DataFrame({"club": [5, 6], "size": [10.0, 30.0]})
    links = [("member.person", "person.person"), ("member.club", "club.club")]
    tables = {"person": person, "member": member, "club": club}
    db = Database.from_frames(tables, target="person", key="person", label="label", foreign_keys=links)
    out = RelationalAggregates(db, functions=("count", "sum")).fit_transform(db.examples()[0])
    assert out["count(club)"].tolist() == [2, 1]
    assert out["sum(club.size)"].tolist() == [20.0, 30.0]


def test_without_foreign_keys_paths_follow_keys_of_one_domain():
    item, word = (
        pd.DataFrame({"item": ["a", "b"], "label": ["x", "y"]}),
        pd.DataFrame({"name": ["a", "a", "c"], "word": ["v", "u", "u"]}),
    )
    keys = {"item": {"item": "thing"}, "word": {"name": "thing"}}
    db = Database.from_frames(
        {"item": item, "word": word}, target="item", key="item", label="label", keys=keys, foreign_keys=[]
    )
    assert db.links == ()
    out = RelationalAggregates(db, functions=("count", "mode")).fit_transform(db.examples()[0])
    assert out["count(word)"].tolist() == [2, 0]
    assert out["mode(word.word)"].tolist()[0] == "u"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"functions": ("mean", "medium")}, "there is no aggregate function 'medium'"),
        ({"as_of": {"loan": "date", "trans": "day"}}, "there is no table 'trans'; did you mean 'trans x'"),
        ({"as_of": {"loan": "date", "trans x": "days"}}, "no column 'days'; did you mean 'day'"),
        ({"as_of": {"trans x": "day"}}, "'as_of' names no date of the target table 'loan'"),
        ({"as_of": {"loan": "date", "account": "kind"}}, "'kind' is neither date nor number"),
    ],
)
def test_mistakes_are_named(options, message):
    db = database(frames())
    with pytest.raises(DataError, match=message):
        RelationalAggregates(db, **options).fit(db.examples()[0])


@pytest.mark.skipif("HORNBOOST_DATA" not in os.environ, reason="HORNBOOST_DATA names no folder with the real data sets")
def test_every_transaction_of_the_loans_is_known_at_their_date():
    db = Database.from_folder(Path(os.environ["HORNBOOST_DATA"]) / "financial")
    out = RelationalAggregates(
        db, as_of={"loan": "date", "trans": "date", "card": "issued"}, max_depth=3
    ).fit_transform(db.examples()[0])
    assert out["count(trans)"].sum() == db.tables["trans"].n_rows
    assert out["count(card)"].sum() == 36
    assert (out["min(trans.age)"] > 0).all()


def test_last_is_the_value_of_the_latest_row_before_the_example():
    loan = pd.DataFrame({"loan": [1, 2], "day": [10.0, 10.0], "paid": ["yes", "no"]})
    trans = pd.DataFrame(
        {"loan": [1, 1, 1, 1, 2], "day": [3.0, 9.0, 9.0, 11.0, 10.0], "balance": [1.0, 5.0, 7.0, 100.0, 3.0]}
    )
    links = [("trans.loan", "loan.loan")]
    db = Database.from_frames(
        {"loan": loan, "trans": trans}, target="loan", key="loan", label="paid", foreign_keys=links
    )
    out = RelationalAggregates(db, functions=("last",), as_of={"loan": "day", "trans": "day"}).fit_transform(
        db.examples()[0]
    )
    assert out["last(trans.balance)"].tolist()[0] == 7.0
    assert np.isnan(out["last(trans.balance)"].tolist()[1])
    assert not [
        name
        for name in RelationalAggregates(db, functions=("last",)).fit(db.examples()[0]).get_feature_names_out()
        if "last" in name
    ]


def test_the_spread_of_huge_numbers_is_no_error():
    loan = pd.DataFrame({"loan": [1], "paid": ["yes"]})
    item = pd.DataFrame({"loan": [1, 1], "price": [1e300, -1e300]})
    db = Database.from_frames(
        {"loan": loan, "item": item}, target="loan", key="loan", label="paid", foreign_keys=[("item.loan", "loan.loan")]
    )
    out = RelationalAggregates(db, functions=("std",)).fit_transform(db.examples()[0])
    assert out["std(item.price)"].tolist() == [pytest.approx(np.sqrt(2.0) * 1e300)]


def crossing(n: int) -> Database:
    """Every row meets every row, twice over."""
    a = pd.DataFrame({"a": np.arange(n), "g": np.zeros(n, int), "label": ["x", "y"] * (n // 2)})
    b = pd.DataFrame({"g": np.zeros(n, int), "h": np.zeros(n, int), "v": np.arange(n) * 1.0})
    c = pd.DataFrame({"h": np.zeros(n, int), "w": np.arange(n) * 1.0})
    keys = {"A": {"g": "g"}, "B": {"g": "g", "h": "h"}, "C": {"h": "h"}}
    return Database.from_frames(
        {"A": a, "B": b, "C": c}, target="A", key="a", label="label", keys=keys, foreign_keys=[]
    )


def test_paths_that_reach_too_many_rows_are_refused_before_they_are_joined():
    db = crossing(2000)
    X, _ = db.examples()
    with pytest.warns(
        UserWarning, match=r"1 paths reach more than max_entries=50,000,000 rows .*'C' \(8,000,000,000 rows\)"
    ):
        found = RelationalAggregates(db, functions=("count",)).fit(X)
    assert {path.table: count for path, count in found.refused_.items()} == {"C": 2000**3}
    assert [aggregate.name for aggregate in found.aggregates_] == ["count(B)"]


def test_the_rows_that_a_path_reaches_are_those_that_it_joins():
    db = database(frames())
    X, _ = db.examples()
    found = RelationalAggregates(db, max_depth=3, functions=("count",), max_entries=10**9).fit(X)
    counts = found.transform(X)
    for aggregate in found.aggregates_:
        if aggregate.function == "count":
            assert rows_reached(db, db.encode(X), aggregate.path.steps) == counts[aggregate.name].sum()
    assert not found.refused_
