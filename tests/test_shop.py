"""A shop in CSV, DuckDB, SQLite and PostgreSQL, from tables to predictions: which customers will not come back."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
import pandas as pd
import pytest

import hornboost as hb
from hornboost.errors import DataError
from postgres import start_postgres

N, NEW = 90, 12
"""Customers, of which the last are new: nobody knows yet whether they will come back."""


def tables() -> dict[str, pd.DataFrame]:
    """Customers who returned an expensive thing are "bad"; the classes sort so that the positive one comes first."""
    rng = np.random.default_rng(3)
    customers = pd.DataFrame({"customer_id": np.arange(1, N + 1), "region": rng.choice(["north", "south", "west"], N)})
    orders = pd.DataFrame({"order_id": np.arange(1, 3 * N + 1), "customer_id": np.repeat(np.arange(1, N + 1), 3)})
    orders["channel"] = rng.choice(["web", "phone"], len(orders))
    items = pd.DataFrame(
        {"item_id": np.arange(1, 2 * len(orders) + 1), "order_id": np.repeat(orders["order_id"].to_numpy(), 2)}
    )
    items["price"] = rng.gamma(2.0, 20.0, len(items)).round(2)
    items["returned"] = rng.choice(["yes", "no"], len(items), p=[0.2, 0.8])
    reached = items.merge(orders, on="order_id")
    bad = set(reached.loc[(reached["returned"] == "yes") & (reached["price"] >= 45), "customer_id"])
    status: Any = np.array(["bad" if customer in bad else "good" for customer in customers["customer_id"]], object)
    status[-NEW:] = None
    customers["status"] = status
    spend = reached.groupby("customer_id")["price"].sum().round(2)
    customers["spend"] = customers["customer_id"].map(spend)
    return {"customers": customers, "orders": orders, "items": items}


KEYS = {"customers": "customer_id", "orders": "order_id", "items": "item_id"}
LINKS = {"orders": ("customer_id", "customers"), "items": ("order_id", "orders")}
TASK = {"label": "status", "positive": "bad", "exclude_columns": ["spend"]}
OPTIONS = ["--target", "customers", "--label", "status", "--positive", "bad", "--exclude", "spend"]


def statements() -> Iterator[str]:
    """The shop as SQL that every database reads."""
    types = {"int64": "INTEGER", "float64": "DOUBLE PRECISION"}
    for name, frame in tables().items():
        columns = [f"{column} {types.get(str(kind), 'VARCHAR(10)')}" for column, kind in frame.dtypes.items()]
        columns.append(f"PRIMARY KEY ({KEYS[name]})")
        if name in LINKS:
            column, other = LINKS[name]
            columns.append(f"FOREIGN KEY ({column}) REFERENCES {other}({KEYS[other]})")
        yield f"CREATE TABLE {name} ({', '.join(columns)})"
        rows = [
            ", ".join("NULL" if pd.isna(v) else f"'{v}'" if isinstance(v, str) else str(v) for v in row)
            for row in frame.to_numpy()
        ]
        yield f"INSERT INTO {name} VALUES ({'), ('.join(rows)})"


class Shop(NamedTuple):
    kind: str
    address: Any
    execute: Callable[..., Any]

    def database(self, target: str | None = "customers", **options: Any) -> hb.Database:
        reader = getattr(hb.Database, f"from_{self.kind}")
        return reader(self.address, target, **options)

    def learned(self) -> hb.Database:
        return self.database(**TASK)


@pytest.fixture(params=["duckdb", "sqlite", "postgres"])
def shop(request: pytest.FixtureRequest, tmp_path: Path) -> Shop:
    if request.param == "postgres":
        return request.getfixturevalue("postgres_shop")
    path = tmp_path / f"shop.{request.param}"

    def execute(*texts: str) -> Any:
        connection: Any = duckdb.connect(path) if request.param == "duckdb" else sqlite3.connect(path)
        for text in texts:
            found = connection.execute(text)
        rows = found.fetchall()
        if request.param == "sqlite":
            connection.commit()
        connection.close()
        return rows

    execute(*statements())
    return Shop(request.param, path, execute)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    pytest.importorskip("pgserver", reason="pgserver starts the PostgreSQL server of these tests")
    server = start_postgres(tmp_path_factory.mktemp("postgres"))
    yield server
    server.cleanup()


@pytest.fixture
def postgres_shop(server: Any) -> Shop:
    import adbc_driver_postgresql.dbapi as dbapi

    uri = server.get_uri()

    def execute(*texts: str) -> Any:
        with dbapi.connect(uri) as connection, connection.cursor() as cursor:
            for text in texts:
                cursor.execute(text)
            rows = cursor.fetchall() if cursor.description else None
            connection.commit()
        return rows

    execute("DROP SCHEMA public CASCADE", "DROP SCHEMA IF EXISTS other CASCADE", "CREATE SCHEMA public", *statements())
    return Shop("postgres", uri, execute)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "shop"
    place.mkdir()
    for name, frame in tables().items():
        frame.to_csv(place / f"{name}.csv", index=False)
    return place


def test_a_model_kept_as_a_view_is_not_learned_from(shop: Shop, run: Any, tmp_path: Path) -> None:
    model, again = tmp_path / "model.json", tmp_path / "again.json"
    fit = ["fit", shop.address, *OPTIONS, "--rounds", 4]
    code, _, err = run(*fit, "-o", model)
    assert code == 0, err
    assert f"left out {NEW} of {N} rows of 'customers' whose 'status' is missing" in err
    sql = hb.load(model).to_sql(shop.kind, probability=False)
    shop.execute(f"CREATE VIEW churn_score AS {sql}")
    code, _, err = run(*fit, "-o", again)
    assert code == 0, err
    assert "read customers, items, orders; left out churn_score (view)" in err.replace(
        "customers, orders, items", "customers, items, orders"
    )
    assert hb.load(model).rules_ == hb.load(again).rules_
    code, out, _ = run("inspect", shop.address, *OPTIONS)
    assert "not read: churn_score (view)" in out
    assert json.loads(run("inspect", shop.address, *OPTIONS, "--json")[1])["not_read"] == ["churn_score (view)"]
    code, _, err = run("convert", shop.address, tmp_path / "copy", *OPTIONS)
    assert "left out churn_score (view)" in err


def test_convert_names_the_columns_that_the_folder_lacks(shop: Shop, run: Any, tmp_path: Path) -> None:
    shop.execute(f"ALTER TABLE customers ADD COLUMN photo {'BYTEA' if shop.kind == 'postgres' else 'BLOB'}")
    code, _, err = run("convert", shop.address, tmp_path / "copy", *OPTIONS)
    assert code == 0, err
    assert "customers.photo is left out" in err


def test_the_view_scores_as_python_does_new_customers_included(shop: Shop, run: Any, tmp_path: Path) -> None:
    model = tmp_path / "model.json"
    db = shop.learned()
    clf = hb.C2RIBClassifier(db, rounds=4, random_state=0).fit(*db.examples())
    clf.save(model)
    shop.execute(f"CREATE VIEW churn_score AS {clf.to_sql(shop.kind, probability=False)}")
    rows = shop.execute("SELECT customer_id, score_of_bad, prediction FROM churn_score ORDER BY customer_id")
    X, _ = db.examples(labelled=None)
    assert clf.classes_.tolist() == ["bad", "good"]
    np.testing.assert_allclose([row[1] for row in rows], -clf.decision_function(X), rtol=0, atol=1e-12)
    assert [row[2] for row in rows] == clf.predict(X).tolist()
    predicted = json.loads(run("predict", model, shop.address, "--json")[1])
    assert [row["prediction"] for row in predicted] == [row[2] for row in rows]
    new = json.loads(run("predict", model, shop.address, "--unlabelled", "--json")[1])
    assert new == [row for row in predicted if row["customer_id"] > N - NEW]


def test_what_is_named_is_read_and_what_is_excluded_is_not(shop: Shop) -> None:
    shop.execute("CREATE VIEW expensive AS SELECT order_id, price FROM items WHERE price >= 45")
    shop.execute("CREATE VIEW buyers AS SELECT customer_id, status FROM customers")
    assert set(shop.database().tables) == {"customers", "orders", "items"}
    assert set(shop.database(tables=["orders", "expensive"]).tables) == {"customers", "orders", "expensive"}
    assert set(shop.database(foreign_keys=[("expensive.order_id", "orders.order_id")]).tables) == {
        *tables(),
        "expensive",
    }
    assert set(shop.database("buyers", label="status").tables) == {*tables(), "buyers"}
    assert set(shop.database(exclude_tables=["items"]).tables) == {"customers", "orders"}
    assert sorted(shop.database(exclude_tables=["items"]).left_out) == [
        "buyers (view)",
        "expensive (view)",
        "items (excluded)",
    ]


def test_a_model_that_looks_at_a_view_finds_it_again(shop: Shop, run: Any, tmp_path: Path) -> None:
    view = (
        "CREATE VIEW returns AS SELECT o.customer_id, i.price FROM items i JOIN orders o ON o.order_id = "
        "i.order_id WHERE returned = 'yes'"
    )
    shop.execute(view)
    link = ["--link", "returns.customer_id=customers.customer_id"]
    given = ["--tables", "customers,returns", *link, "--rounds", 2, "--set", "aggregates=false"]
    code, _, err = run("fit", shop.address, *OPTIONS, *given, "-o", tmp_path / "m.json")
    assert code == 0, err
    assert "returns(" in run("rules", tmp_path / "m.json")[1]
    code, out, err = run("predict", tmp_path / "m.json", shop.address)
    assert code == 0, err
    assert len(out.splitlines()) == N + 1


def test_a_continuous_label_is_refused_by_classifiers_in_one_sentence(shop: Shop, run: Any, tmp_path: Path) -> None:
    for verb in (["fit", shop.address, "-o", tmp_path / "m.json"], ["evaluate", shop.address]):
        code, out, err = run(*verb, "--target", "customers", "--label", "spend", "--estimator", "c2rib")
        assert (code, out) == (1, "")
        assert "the label 'spend' holds numbers, and the estimator 'c2rib' predicts classes; take --estimator" in err
    code, out, _ = run("inspect", shop.address, "--target", "customers", "--label", "spend")
    assert code == 0
    assert "predicts customers.spend: numbers (90 rows, 90 distinct values" in out
    db = shop.database(label="spend")
    X, y = db.examples()
    assert y.dtype == np.float64
    with pytest.raises(
        DataError, match="Unknown label type: y holds 90 distinct numbers and C2RIBClassifier predicts classes"
    ):
        hb.C2RIBClassifier(db, rounds=1).fit(X, y)


def test_a_number_is_predicted_alike_by_python_and_by_the_database(shop: Shop, run: Any, tmp_path: Path) -> None:
    given = ["--target", "customers", "--label", "spend"]
    code, _, err = run("fit", shop.address, *given, "--rounds", 10, "-o", tmp_path / "m.json")
    assert code == 0, err
    assert "HornBoostRegressor on 90 rows of 'customers': predicts 'spend' (a number) from" in err
    code, out, err = run("predict", tmp_path / "m.json", shop.address)
    assert code == 0, err
    lines = [line.split(",") for line in out.splitlines()]
    assert lines[0] == ["customer_id", "prediction"]
    code, statement, err = run("sql", tmp_path / "m.json", "--dialect", shop.kind)
    assert code == 0, err
    assert {str(key): float(value) for key, value in shop.execute(statement.strip().rstrip(";"))} == {
        key: float(value) for key, value in lines[1:]
    }
    code, out, err = run("explain", tmp_path / "m.json", shop.address, "--key", lines[1][0])
    assert (code, "is the base value" in out) == (0, True), err


CLASSIFIERS = [
    "C2RIBClassifier",
    "RankBoostClassifier",
    "PRankBoostClassifier",
    "KBSClassifier",
    "AdaBoostM1Classifier",
]


@pytest.mark.parametrize("name", [*CLASSIFIERS, "LogitBoostClassifier", "MLynxClassifier", "KBSSubgroups"])
@pytest.mark.parametrize(
    "y", [np.linspace(0, 1, 60), np.arange(60), pd.Series(np.arange(60) + 0.5), np.arange(60).astype(object)]
)
def test_every_classifier_refuses_numbers_and_takes_few_whole_ones(name: str, y: Any) -> None:
    X = pd.DataFrame({"x": np.arange(60) % 7})
    with pytest.raises(
        DataError, match=rf"Unknown label type: y holds .* and {name} predicts classes; use HornBoostRegressor"
    ):
        getattr(hb, name)().fit(X, y)


@pytest.mark.parametrize("missing", [None, float("nan")])
def test_missing_labels_are_refused_in_python_with_the_way_out(missing: Any) -> None:
    with pytest.raises(DataError, match="Input y contains NaN: 1 of 4 labels are missing; leave those rows out"):
        hb.C2RIBClassifier(rounds=1).fit(pd.DataFrame({"x": range(4)}), np.array(["a", "b", "a", missing], object))


def test_python_says_which_class_is_positive_and_keeps_the_order_of_scikit_learn() -> None:
    from sklearn.metrics import roc_auc_score

    frames = tables()
    links = [(f"{table}.{column}", f"{other}.{KEYS[other]}") for table, (column, other) in LINKS.items()]
    db = hb.Database.from_frames(frames, target="customers", key="customer_id", foreign_keys=links, **TASK)
    X, y = db.examples()
    clf = hb.C2RIBClassifier(db, rounds=10, random_state=0).fit(X, y)
    assert (clf.positive_, clf.classes_.tolist()) == ("bad", ["bad", "good"])
    assert roc_auc_score(y, clf.decision_function(X)) > 0.9
    for one, score, probability in zip(clf.explain(X), clf.decision_function(X), clf.predict_proba(X), strict=True):
        assert (one.about, one.score, one.probability) == ("bad", pytest.approx(-score), pytest.approx(probability[0]))
    curve = hb.RecallPrecisionDisplay.from_estimator(clf, X, y, ax=False)
    assert curve.prevalence == pytest.approx((y == "bad").mean())


def test_unlabelled_rows_are_left_out_of_learning_and_told_of(folder: Path, run: Any, tmp_path: Path) -> None:
    code, out, _ = run("inspect", folder, *OPTIONS)
    assert code == 0
    assert f"left out, as they have no label: {NEW} rows" in out
    assert json.loads(run("inspect", folder, *OPTIONS, "--json")[1])["unlabelled"] == NEW
    code, _, err = run("fit", folder, *OPTIONS, "--rounds", 3, "-o", tmp_path / "m.json")
    assert code == 0, err
    assert f"HornBoostClassifier on {N - NEW} rows of 'customers'" in err
    code, _, err = run("evaluate", folder, *OPTIONS, "--rounds", 2, "--cv", 2)
    assert (code, f"left out {NEW} of {N} rows" in err) == (0, True)
    code, _, err = run("report", tmp_path / "m.json", "--data", folder, "--cv", 2, "-o", tmp_path / "report.html")
    assert (code, f"left out {NEW} of {N} rows" in err) == (0, True), err
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert "Scores and probabilities are those of status = bad." in page
    code, _, err = run("convert", folder, tmp_path / "copy", *OPTIONS)
    assert code == 0, err
    assert len(hb.Database.from_folder(tmp_path / "copy").examples(labelled=False)[0]) == NEW


def test_where_chooses_rows_on_every_command(folder: Path, run: Any, tmp_path: Path) -> None:
    frame = tables()["customers"]
    north = int(((frame["region"] == "north") & frame["status"].notna()).sum())
    code, _, err = run("fit", folder, *OPTIONS, "--where", "region=north", "--rounds", 2, "-o", tmp_path / "m.json")
    assert (code, f"on {north} rows of 'customers'" in err) == (0, True), err
    code, out, _ = run("predict", tmp_path / "m.json", folder, "--where", "region=north", "--where", "region=west")
    assert len(out.splitlines()) == 1 + int(frame["region"].isin(["north", "west"]).sum())
    counts = json.loads(run("inspect", folder, *OPTIONS, "--where", "region=north", "--json")[1])["classes"]
    assert sum(counts.values()) == north
    assert run("evaluate", folder, *OPTIONS, "--where", "region=north", "--rounds", 1, "--cv", 2)[0] == 0
    report = [
        "report",
        tmp_path / "m.json",
        "--data",
        folder,
        "--where",
        "region=north",
        "--cv",
        0,
        "-o",
        tmp_path / "r.html",
    ]
    assert run(*report)[0] == 0
    assert f"among {north} rows of <b>customers</b>" in (tmp_path / "r.html").read_text(encoding="utf-8")
    for text in ("region", "spend>=100", "=north", "region==north"):
        code, _, err = run("inspect", folder, *OPTIONS, "--where", text)
        assert (code, "is not of the form column=value" in err) == (1, True)
    code, _, err = run("inspect", folder, *OPTIONS, "--where", "regio=north")
    assert (code, "table 'customers' has no column 'regio'; did you mean 'region'?" in err) == (1, True)


def test_one_csv_file_keeps_its_label_its_positive_class_and_its_name(folder: Path, run: Any, tmp_path: Path) -> None:
    frame = tables()["customers"]
    frame["status"] = np.where(frame["spend"] > frame["spend"].median(), "bad", "good")
    frame.loc[:4, "status"] = None
    frame.to_csv(tmp_path / "customers.csv", index=False)
    model = tmp_path / "m.json"
    code, _, err = run(
        "fit", tmp_path / "customers.csv", "--label", "status", "--positive", "bad", "--rounds", 2, "-o", model
    )
    assert code == 0, err
    assert 'status="bad" :- customers(' in run("rules", model)[1]
    frame.to_csv(tmp_path / "others.csv", index=False)
    rows = json.loads(run("predict", model, tmp_path / "others.csv", "--unlabelled", "--json")[1])
    assert [row["customer_id"] for row in rows] == [1, 2, 3, 4, 5]
    assert set(rows[0]) == {"customer_id", "score_of_bad", "probability_of_bad", "prediction"}
    assert all((row["probability_of_bad"] >= 0.5) == (row["prediction"] == "bad") for row in rows)
    with duckdb.connect() as connection:
        connection.register("customers", frame)
        scored = connection.sql(run("sql", model)[1].rstrip().rstrip(";")).df()
    assert len(scored) == N
    assert {"status", "score_of_bad", "probability_of_bad", "prediction"} <= set(scored.columns)


@pytest.mark.parametrize("estimator", ["rankboost", "c2rib", "kbs"])
def test_a_single_table_is_evaluated_for_the_stated_positive_class(run: Any, tmp_path: Path, estimator: str) -> None:
    frame = tables()["customers"].dropna()
    frame["status"] = np.where(frame["spend"] > frame["spend"].median(), "bad", "good")
    frame.to_csv(tmp_path / "customers.csv", index=False)
    options = ["--label", "status", "--positive", "bad", "--estimator", estimator, "--rounds", 3, "--cv", 2, "--json"]
    content = json.loads(run("evaluate", tmp_path / "customers.csv", *options)[1])
    assert content["positive"] == "bad"
    assert content["mean"]["auroc"] > 0.9


def test_materialised_views_foreign_tables_and_partitions_are_left_out_unless_named(postgres_shop: Shop) -> None:
    shop = postgres_shop
    shop.execute(
        "CREATE MATERIALIZED VIEW total AS SELECT customer_id, count(*) AS n, sum(1.5)::numeric(8, 2) AS s "
        "FROM orders GROUP BY 1"
    )
    shop.execute("CREATE TABLE visit (customer_id integer, day integer) PARTITION BY RANGE (day)")
    shop.execute("CREATE TABLE visit_1 PARTITION OF visit FOR VALUES FROM (0) TO (10)")
    shop.execute("INSERT INTO visit VALUES (1, 2), (2, 3)")
    shop.execute("CREATE SCHEMA other", "CREATE TABLE other.town (town integer PRIMARY KEY)")
    shop.execute("ALTER TABLE customers ADD COLUMN town integer REFERENCES other.town(town)")
    db = shop.database()
    assert set(db.tables) == {*tables(), "visit"}
    assert db.tables["visit"].n_rows == 2
    assert sorted(db.left_out) == ["total (materialised view)", "visit_1 (partition)"]
    named = shop.database(tables=["total", "visit_1"])
    assert set(named.tables) == {"customers", "total", "visit_1"}
    assert [column.kind for column in named.tables["total"].columns.values()] == ["key", "numeric", "numeric"]


def test_full_text_tables_of_sqlite_are_left_out_unless_named(tmp_path: Path) -> None:
    path = tmp_path / "shop.sqlite"
    connection = sqlite3.connect(path)
    for text in [
        *statements(),
        "CREATE VIRTUAL TABLE words USING fts5(note)",
        "INSERT INTO words VALUES ('slow'), ('late')",
    ]:
        connection.execute(text)
    connection.commit()
    connection.close()
    db = hb.Database.from_sqlite(path, "customers", label="status")
    assert set(db.tables) == set(tables())
    assert "words (virtual table)" in db.left_out
    assert "words_data (part of a virtual table)" in db.left_out
    assert hb.Database.from_sqlite(path, "customers", tables=["words"]).tables["words"].n_rows == 2
