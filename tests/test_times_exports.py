"""What goes out of a model with times: its SQL, its explanations, and the words beside its rules."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pandas as pd
import pytest

import hornboost as hb
from hornboost.errors import DataError, HornBoostError, ModelError
from hornboost.logic.clause import Clause
from hornboost.model.ensemble import Ensemble, Rule
from hornboost.model.explain import explain
from postgres import start_postgres

TIMES = {"snap": "taken", "trans": "day"}
LATER = {"trans": {"paid": ["how"]}}


def frames(n: int = 150) -> dict[str, pd.DataFrame]:
    """Snapshots of customers, who churn if they have spent much in the last 30 days before."""
    rng = np.random.default_rng(0)
    start = pd.Timestamp("2024-01-01")
    customer = pd.DataFrame({"id": range(30), "region": rng.choice(["a", "b"], 30)})
    snap = pd.DataFrame(
        {"customer": rng.integers(0, 30, n), "taken": start + pd.to_timedelta(rng.integers(20, 200, n), "D")}
    )
    trans = pd.DataFrame(
        {
            "customer": rng.integers(0, 30, 6 * n),
            "day": start + pd.to_timedelta(rng.integers(0, 230, 6 * n), "D"),
            "amount": rng.normal(size=6 * n).round(2),
            "how": rng.choice(["card", "cash"], 6 * n),
        }
    )
    trans["paid"] = trans["day"] + pd.to_timedelta(rng.integers(0, 40, 6 * n), "D")
    trans.loc[rng.random(6 * n) < 0.1, "day"] = pd.NaT
    large = trans[trans["amount"] > 0.9]
    recent = [
        bool(((large["customer"] == who) & (large["day"] < when) & (when - large["day"] <= pd.Timedelta("30D"))).any())
        for who, when in zip(snap["customer"], snap["taken"], strict=True)
    ]
    return {"snap": snap.assign(churned=np.where(recent, "yes", "no")), "trans": trans, "customer": customer}


def database(found: dict[str, pd.DataFrame] | None = None, **options: Any) -> hb.Database:
    return hb.Database.from_frames(
        found or frames(),
        "snap",
        label="churned",
        positive="yes",
        foreign_keys=[("snap.customer", "customer.id"), ("trans.customer", "customer.id")],
        **{"key": "customer", "times": TIMES, "known_later": LATER, **options},
    )


@pytest.fixture(scope="module")
def fitted() -> hb.C2RIBClassifier:
    db = database()
    return hb.C2RIBClassifier(db, rounds=12, random_state=0).fit(*db.examples())


@pytest.fixture(scope="module")
def postgres(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("runtime")))
        from adbc_driver_postgresql import dbapi

        server = start_postgres(Path(tmp_path_factory.mktemp("postgres")))
        with dbapi.connect(server.get_uri()) as connection:
            yield connection
        server.cleanup()


Run = Callable[[str, Any], pd.DataFrame]


def in_duckdb(found: dict[str, pd.DataFrame]) -> Run:
    connection = duckdb.connect()
    for name, frame in found.items():
        connection.register(name, frame)
    return lambda text, given: connection.sql(text, params=None if given is None else {"cutoff": given}).df()


def in_sqlite(found: dict[str, pd.DataFrame]) -> Run:
    connection = sqlite3.connect(":memory:")
    for name, frame in found.items():
        frame.to_sql(name, connection, index=False)
    return lambda text, given: pd.read_sql(text, connection, params=None if given is None else {"cutoff": given})


def in_postgres(postgres: Any, found: dict[str, pd.DataFrame]) -> Run:
    with postgres.cursor() as cursor:
        for name, frame in found.items():
            cursor.execute(f'DROP TABLE IF EXISTS "{name}"')
            import pyarrow as pa

            cursor.adbc_ingest(name, pa.Table.from_pandas(frame, preserve_index=False), mode="create")

    def run(text: str, given: Any) -> pd.DataFrame:
        with postgres.cursor() as cursor:
            cursor.execute(text, None if given is None else (given,))
            return cursor.fetch_arrow_table().to_pandas()

    return run


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "postgres"])
def test_a_fitted_model_predicts_the_same_in_the_database(
    fitted: hb.C2RIBClassifier, dialect: str, request: pytest.FixtureRequest
) -> None:
    found = frames()
    runs = {"duckdb": in_duckdb, "sqlite": in_sqlite}
    run = runs[dialect](found) if dialect in runs else in_postgres(request.getfixturevalue("postgres"), found)
    assert any("age" in str(rule.clause) for rule in fitted.rules_)
    db = fitted.database
    for as_of, given in ((None, None), ("2024-05-03T12:00", None), (":cutoff", "2024-05-03 12:00:00")):
        rows = run(fitted.to_sql(dialect, as_of=as_of), given)
        X = db.examples(as_of=given or as_of)[0]
        expected = X[["customer"]].assign(p=fitted.predict_proba(X)[:, 1])
        keys = ["customer"]
        if as_of is None:
            expected["taken"], rows["taken"] = X["taken"], pd.to_datetime(rows["taken"])
            keys = ["customer", "taken"]
        expected = expected.sort_values([*keys, "p"])
        rows = rows.sort_values([*keys, "probability_of_yes"])
        assert (expected[keys].to_numpy() == rows[keys].to_numpy()).all()
        np.testing.assert_allclose(rows["probability_of_yes"], expected["p"], rtol=0, atol=1e-12)


def test_sqlite_reads_the_text_of_a_time_once_for_all_cutoffs(fitted: hb.C2RIBClassifier) -> None:
    related = {literal.table for rule in fitted.rules_ for literal in rule.clause.body} - {"snap"}
    dated = [table for table in fitted.database.tables.values() if table.times is not None and table.name in related]
    assert dated
    text = fitted.to_sql("sqlite")
    for table in dated:
        assert text.count(f'CAST(STRFTIME(\'%s\', SUBSTR("t"."{table.times.name}", 1, 19)') == 1
    assert "hb_times_" not in fitted.to_sql("sqlite", as_of="2024-05-03") + fitted.to_sql("duckdb")


def test_nanoseconds_are_cut_off_so_that_no_example_sees_itself() -> None:
    moments = pd.Timestamp("2024-01-01") + pd.to_timedelta([1999, 1200, 1_000_000_000], "ns")
    snap = pd.DataFrame({"customer": [1, 1, 1], "taken": moments, "churned": ["yes", "no", "yes"]})
    db = hb.Database.from_frames({"snap": snap}, "snap", key="customer", label="churned", times={"snap": "taken"})
    assert snap["taken"].dtype == "datetime64[ns]"
    for condition in ("", ", age>=0.999999s", ", age<=0.999999s", ", age>=1s"):
        clause = Clause.parse(f'churned="yes" :- snap(customer=C), snap(customer=C{condition}).')
        with duckdb.connect() as connection:
            connection.register("snap", snap)
            rows = connection.sql(statement(db, clause)).df()
        assert (rows["score_of_yes"] > 0).tolist() == db.covers(clause).tolist()


def statement(db: hb.Database, clause: Clause, dialect: str = "duckdb", **options: Any) -> str:
    from hornboost.model.file import SavedModel, saved_schema
    from hornboost.model.sql import model_to_sql
    from hornboost.model.times import saved_late, saved_times

    ensemble = Ensemble(("no", "yes"), (Rule(clause, (1.0,)),), (-0.5,))
    schema = saved_schema(ensemble, db, {})
    model = SavedModel(
        ensemble,
        np.array(["no", "yes"]),
        db.target,
        schema,
        times=saved_times(db, schema),
        late=saved_late(db, schema),
    )
    return model_to_sql(model, dialect, probability=False, **options)


def test_a_column_of_the_target_may_be_called_as_a_cutoff_of_the_statement() -> None:
    found = frames()
    found["snap"]["hb_cutoff"] = "x"
    db = database(found)
    clause = Clause.parse('churned="yes" :- snap(customer=C, hb_cutoff="x"), trans(customer=C, age<=9d).')
    rows = in_duckdb(found)(statement(db, clause), None)
    assert list(rows.columns) == ["customer", "taken", "score_of_yes", "prediction"]
    expected = found["snap"].assign(covered=db.covers(clause))
    assert (rows["score_of_yes"] > 0).sum() == expected["covered"].sum()


@pytest.mark.parametrize("dialect", ["duckdb", "sqlite", "postgres", "spark", "bigquery"])
def test_a_length_of_time_is_an_interval(dialect: str) -> None:
    clause = Clause.parse('churned="yes" :- snap(customer=C), trans(customer=C, age<=90d).')
    text = " ".join(statement(database(), clause, dialect, as_of="2024-06-30").split())
    wanted = {"postgres": "INTERVAL '90 DAY'", "sqlite": "1719705600000000 - 7776000000000"}
    assert wanted.get(dialect, "INTERVAL '90' DAY") in text


def test_moments_that_are_none_are_refused_in_a_sentence(fitted: hb.C2RIBClassifier) -> None:
    for as_of, message in (("yesterday", "is no time"), (17, "cutoffs are dates"), (":a b", "names no parameter")):
        with pytest.raises(HornBoostError, match=message):
            fitted.to_sql(as_of=as_of)
    plain = database(times=None, known_later=None)
    model = hb.C2RIBClassifier(plain, rounds=1, random_state=0).fit(*plain.examples())
    with pytest.raises(ModelError, match="learned without times"):
        model.to_sql(as_of="2024-01-01")


def test_prolog_is_refused_since_facts_do_not_tell_what_counts(fitted: hb.C2RIBClassifier) -> None:
    with pytest.raises(ModelError, match="before the cutoff of each example, which has no form in Prolog"):
        fitted.to_prolog()


def test_rules_say_which_rows_count(fitted: hb.C2RIBClassifier, tmp_path: Path) -> None:
    said = "Rows of trans count if they are from before snap.taken, trans.how only if trans.paid is so."
    assert fitted.rules_frame().attrs["what counts"] == said
    assert said in fitted._repr_html_inner()
    fitted.save(tmp_path / "model.json")
    assert hb.load(tmp_path / "model.json").rules_frame().attrs["what counts"] == said


def test_an_explanation_shows_only_what_the_example_may_see() -> None:
    found = frames()
    db = database(found)
    rules = [
        Rule(Clause.parse(f'churned="yes" :- snap(customer=C), trans(customer=C{condition}).'), (1.0,))
        for condition in ("", ", age<=5d", ', how="cash"', ", how is missing", ", amount>=1, age>=20d")
    ]
    X, _ = db.examples()
    shown = explain(Ensemble(("no", "yes"), tuple(rules), (0.0,)), db, db.encode(X), 5)
    fired = 0
    for one, taken in zip(shown, X["taken"], strict=True):
        assert one.keys["taken"] == str(taken.date())
        for rule in one.fired:
            fired += 1
            (witness,) = rule.witnesses
            assert pd.Timestamp(witness.row["day"]) < taken
            days = (taken - pd.Timestamp(witness.row["day"])).days
            assert witness.row["age"] == f"{days}d"
            assert f'day="{witness.row["day"]}"' in str(witness)
            for test in rule.rule.clause.body[1].tests:
                if test.column == "age":
                    assert days <= 5 if test.op == "<=" else days >= 20
                    assert f"age={days}d" in str(witness)
                if test.column == "how":
                    assert witness.row["how"] == (None if test.op == "missing" else "cash")
            if witness.row["how"] is not None:
                assert pd.Timestamp(witness.row["paid"]) < taken
    assert fired > 100


def test_the_youngest_row_is_one_that_is_joined_by_all_keys() -> None:
    """Rows of both shops are those of customer 1; the last ones of shop "b" have nothing to do with its snapshot."""
    snap = pd.DataFrame({"customer": [1], "shop": ["a"], "taken": ["2024-02-01"], "churned": ["yes"]})
    days = pd.DataFrame({"day": ["2024-01-02", "2024-01-05", "2024-01-20", "2024-01-25"], "shop": ["a", "a", "b", "b"]})
    found = {"snap": snap, "trans": days.assign(customer=1)}
    keys = {"snap": {"customer": "customer", "shop": "shop"}, "trans": {"customer": "customer", "shop": "shop"}}
    db = hb.Database.from_frames(found, target="snap", label="churned", positive="yes", keys=keys, times=TIMES)
    rule = Rule(Clause.parse('churned="yes" :- snap(customer=C, shop=S), trans(customer=C, shop=S, age<=7d).'), (1.0,))
    (told,) = explain(Ensemble(("no", "yes"), (rule,), (0.0,)), db, db.encode(db.examples()[0]), 5)
    assert [missed.failed for missed in told.missed] == [
        "no such row of table 'trans' has age<=7d: the youngest, of 2024-01-05, is 27d old"
    ]


def test_what_did_not_fire_tells_the_age_of_a_row_and_up_to_when_rows_are_looked_for() -> None:
    snap = pd.DataFrame({"customer": [1, 2], "taken": ["2024-02-01", "2024-02-01"], "churned": ["yes", "no"]})
    trans = pd.DataFrame({"customer": [1, 1, 2], "day": ["2024-01-02", "2024-01-12", "2024-02-01"], "how": "card"})
    found = {"snap": snap, "trans": trans, "customer": pd.DataFrame({"id": [1, 2]})}
    db = database(found, known_later=None)
    rules = [
        Rule(Clause.parse(f'churned="yes" :- snap(customer=C), trans(customer=C, {condition}).'), (1.0,))
        for condition in ("age<=7d", 'how="cash"')
    ]
    one, other = explain(Ensemble(("no", "yes"), tuple(rules), (0.0,)), db, db.encode(db.examples()[0]), 5)
    assert [missed.failed for missed in one.missed] == [
        "no such row of table 'trans' has age<=7d: the youngest, of 2024-01-12, is 20d old",
        "no such row of table 'trans' has how=\"cash\" among those before 2024-02-01",
    ]
    assert {missed.failed for missed in other.missed} == {
        "no row of table 'trans' is joined among those before 2024-02-01"
    }
    assert 'customer=1, taken="2024-02-01"' in str(one)


def test_the_cutoffs_of_other_examples_decide_what_they_see() -> None:
    db = database()
    X, _ = db.examples()
    with pytest.raises(DataError, match="taken"):
        db.encode(X.drop(columns="taken"))


@pytest.mark.parametrize("kind", ["VARCHAR", "TIMESTAMPTZ"])
@pytest.mark.parametrize("zone", ["UTC", "America/New_York"])
@pytest.mark.parametrize("source", ["folder", "frames"])
def test_text_with_offsets_is_compared_as_instants_whatever_the_session(
    source: str, zone: str, kind: str, tmp_path: Path
) -> None:
    rng = np.random.default_rng(0)
    moments = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 172_800, 200), unit="s")
    minutes = rng.choice([0, 330, -660], 200)
    offsets = pd.Series(minutes).map({0: "Z", 330: "+05:30", -660: "-11:00"})
    text = (moments + pd.to_timedelta(minutes, unit="min")).strftime("%Y-%m-%dT%H:%M:%S") + offsets
    given = pd.DataFrame({"id": range(200), "paid": text, "y": np.where(moments > "2024-01-02", "late", "early")})
    task: dict[str, Any] = {"target": "t", "key": "id", "label": "y", "positive": "late"}
    given.to_csv(tmp_path / "t.csv", index=False)
    from_folder = source == "folder"
    db = hb.Database.from_folder(tmp_path, **task) if from_folder else hb.Database.from_frames({"t": given}, **task)
    X, y = db.examples()
    model = hb.HornBoostClassifier(db, rounds=2, max_literals=1, random_state=0).fit(X, y)
    assert list(model.predict(X)) == list(y)
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t AS SELECT id, CAST(paid AS {kind}) AS paid FROM given")
    connection.execute(f"SET timezone = '{zone}'")
    scored = connection.sql(model.to_sql("duckdb")).df().sort_values("id")
    assert list(scored["prediction"]) == list(y)
