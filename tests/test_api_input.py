"""What a notebook may pass in: strange names, strange missing values, strange weights."""

from __future__ import annotations

from datetime import time, timedelta
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hornboost as hb
from hornboost.errors import ClauseError, DataError

ESTIMATORS = [
    hb.C2RIBClassifier,
    hb.RankBoostClassifier,
    hb.PRankBoostClassifier,
    hb.KBSClassifier,
    hb.AdaBoostM1Classifier,
    hb.LogitBoostClassifier,
    hb.MLynxClassifier,
]


def test_columns_named_by_numbers_are_named_by_their_text() -> None:
    main = pd.DataFrame({0: [1, 2, 3, 4], 1: ["a", "b", "a", "b"], "y": ["p", "n", "p", "n"]})
    other = pd.DataFrame({0: [1, 1, 2, 4], (1, 2): [0.5, 1.5, 2.5, 3.5]})
    database = hb.Database.from_frames(
        {"main": main, "other": other}, target="main", key=0, label="y", foreign_keys=[("other.0", "main.0")]
    )
    assert list(database.tables["main"].columns) == ["0", "1"]
    assert list(database.tables["other"].columns) == ["0", "(1, 2)"]
    X, y = database.examples()
    assert list(X.columns) == ["0", "1"]
    assert hb.C2RIBClassifier(database, rounds=2, random_state=0).fit(X, y).predict(X).tolist() == y.tolist()
    assert list(main.columns) == [0, 1, "y"]


def test_names_that_are_the_same_as_text_are_refused() -> None:
    frame = pd.DataFrame([[1, 2, 3]], columns=[0, "0", "y"])
    with pytest.raises(DataError, match="table 't' has the column '0' twice"):
        hb.Database.from_frames({"t": frame}, target="t", label="y")


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT, float("nan")])
def test_every_missing_value_of_pandas_is_missing_among_objects(missing: Any) -> None:
    mixed = pd.DataFrame({"x": pd.Series([1, "a", missing, "a"], dtype=object), "y": ["p", "n", "p", "n"]})
    database = hb.Database.from_frames({"t": mixed}, target="t", label="y")
    column = database.tables["t"].columns["x"]
    assert list(column.categories) == ["1", "a"]
    assert column.values.tolist() == [0, 1, -1, 1]
    assert database.encode(mixed[["x"]]).columns["x"].values.tolist() == [0, 1, -1, 1]


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: estimator.__name__)
@pytest.mark.parametrize("weight", [1e308, 5e-324, np.nan, np.inf, -1.0, 0.0])
def test_weights_that_cannot_be_summed_are_refused_in_one_sentence(estimator: Any, weight: float) -> None:
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(ValueError, match=r"(?i)sample.weight") as caught:
        estimator().fit(X, X[:, 0] > 0, sample_weight=np.full(20, weight))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("scale", [1e-140, 1e140])
def test_weights_of_any_common_scale_are_taken(scale: float) -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    y = X[:, 0] > 0
    for estimator in ESTIMATORS:
        model = estimator(random_state=0).fit(X, y, sample_weight=np.full(60, scale))
        assert np.isfinite(model.predict_proba(X)).all()


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_weights_beyond_millions_weigh_examples_as_millions_do(estimator: Any) -> None:
    X = np.random.default_rng(0).normal(size=(60, 2))
    y, weight = X[:, 0] > 0.1 * X[:, 1], np.arange(60) % 3 + 1.0
    once, *others = (
        estimator(random_state=0).fit(X, y, sample_weight=weight * scale).predict_proba(X)
        for scale in (2.0**20, 2.0**50, 2.0**60, 2.0**460)
    )
    assert ((once[:, 1] > 0.5) == y).mean() > 0.9
    for other in others:
        np.testing.assert_array_equal(other, once)


@pytest.mark.parametrize(
    "weights",
    [
        {False: -1, True: 1},
        {False: "x", True: 1},
        {False: np.nan, True: 1},
        {False: 0, True: 0},
        {False: 1e308, True: 1e308},
    ],
)
def test_class_weights_are_checked(weights: dict[bool, Any]) -> None:
    X = np.random.default_rng(0).normal(size=(20, 2))
    with pytest.raises(DataError, match="class_weight"):
        hb.C2RIBClassifier(rounds=2, class_weight=weights).fit(X, X[:, 0] > 0)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda estimator: estimator.__name__)
def test_what_is_no_database_is_refused(estimator: Any) -> None:
    X = pd.DataFrame({"a": [1.0, 2.0, 3.0, 4.0]})
    with pytest.raises(DataError, match=r"'database' is of type 'str'; pass a hornboost.Database"):
        estimator(database="folder").fit(X, [0, 1, 0, 1])
    with pytest.raises(DataError, match=r"'database' is of type 'str'"):
        hb.RelationalAggregates("folder").fit(X)


def test_constants_name_known_keys() -> None:
    database = hb.datasets.trains(30, seed=1).database()
    with pytest.raises(DataError, match="constants: there are no keys of '1'"):
        hb.RankBoostClassifier(database, rounds=2, constants=[1, 2]).fit(*database.examples())


def chain(n: int) -> str:
    steps = (f"disp(account_id=A{k}, client_id=C{k}), disp(client_id=C{k}, account_id=A{k + 1})" for k in range(n // 2))
    return f'risky="1" :- loan(account_id=A0), {", ".join(steps)}.'


def test_clauses_without_end_are_one_sentence() -> None:
    database = hb.datasets.bank(20, transactions=2, seed=1).database()
    with pytest.raises(ClauseError, match="literals, and at most 500 can be followed"):
        hb.Clause.parse(chain(10_000))
    clause = hb.Clause.parse(chain(498))
    with pytest.raises(ClauseError, match="a chain of 499 literals nests too deep for SQL"):
        clause.to_sql("duckdb", "loan_id")
    with pytest.raises(ClauseError, match="at most 500"):
        database.covers(hb.Clause(clause.head, clause.body * 3))
    assert hb.Clause.parse(chain(20)).to_sql("duckdb", "loan_id")


def test_examples_without_columns_are_one_sentence() -> None:
    empty = pd.DataFrame(index=range(4))
    for estimator in ESTIMATORS:
        with pytest.raises(ValueError, match=r"column|feature") as caught:
            estimator().fit(empty, [0, 1, 0, 1])
        assert "\n" not in str(caught.value)


class Odd:
    """A value of a type that nobody has heard of."""


@pytest.mark.parametrize("value", ["a\ud800", Decimal("Infinity"), pd.Period("2020"), pd.Interval(0, 1), Odd(), 1j])
def test_objects_that_no_column_can_hold_are_one_sentence_with_the_column(value: Any) -> None:
    frame = pd.DataFrame({"v": pd.Series([value, "x"] * 10, dtype=object), "y": ["a", "b"] * 10})
    for label in ("y", "v"):
        with pytest.raises(DataError, match=r"^column 'v': .*; (convert|decode) it"):
            hb.Database.from_frames({"t": frame}, target="t", label=label)
    with pytest.raises(DataError, match=r"^column 'v': "):
        hb.C2RIBClassifier(rounds=1).fit(frame[["v"]], frame["y"])
    with pytest.raises(DataError):
        hb.Database.from_frames({"t": frame[["y"]]}, target="t", label="y", where={"y": [value]})


def test_whole_numbers_beyond_64_bits_are_their_digits() -> None:
    numbers = [10**30 + k for k in range(20)]
    main = pd.DataFrame({"id": pd.Series(numbers, dtype=object), "y": ["a", "b"] * 10})
    other = pd.DataFrame({"main": pd.Series(numbers, dtype=object), "kind": ["u", "v"] * 10})
    database = hb.Database.from_frames(
        {"t": main, "u": other}, target="t", key="id", label="y", foreign_keys=[("u.main", "t.id")]
    )
    assert database.links[0].dangling == 0
    X, y = database.examples()
    assert hb.C2RIBClassifier(database, rounds=2, random_state=0).fit(X, y).predict(X).tolist() == y.tolist()


@pytest.mark.parametrize("value", [timedelta(1), b"x", [1]])
def test_a_label_or_condition_without_a_text_is_one_sentence(value: Any) -> None:
    frame = pd.DataFrame({"v": pd.Series([value] * 4, dtype=object), "y": ["a", "b"] * 2})
    with pytest.raises(DataError, match=r"label 'v': values of type .* have no text"):
        hb.Database.from_frames({"t": frame}, target="t", label="v")
    with pytest.raises(DataError, match=r"column 'v': values of type .* have no text|has no column 'v'"):
        hb.Database.from_frames({"t": frame}, target="t", label="y", where={"v": ["x"]})


@pytest.mark.parametrize("value", [time(10), b"x", [1]])
def test_a_column_that_is_left_out_is_not_among_the_examples(value: Any) -> None:
    frame = pd.DataFrame(
        {"id": range(20), "v": pd.Series([value] * 20, dtype=object), "x": [0, 1] * 10, "y": ["a", "b"] * 10}
    )
    database = hb.Database.from_frames({"t": frame}, target="t", key="id", label="y")
    X, y = database.examples()
    assert list(X.columns) == ["id", "x"]
    assert hb.C2RIBClassifier(database, rounds=2, random_state=0).fit(X, y).predict(X).tolist() == y.tolist()


def test_names_and_classes_are_unicode() -> None:
    frame = pd.DataFrame({"x": [0, 1] * 10, "y": ["a", "b"] * 10})
    with pytest.raises(DataError, match="no Unicode text"):
        hb.Database.from_frames({"t\udcff": frame}, target="t\udcff", label="y")
    with pytest.raises(DataError, match="no Unicode text"):
        hb.C2RIBClassifier(rounds=1).fit(frame[["x"]], np.array(["a\ud800", "b"] * 10, dtype=object))


@pytest.mark.parametrize("estimator", ESTIMATORS)
@pytest.mark.parametrize(
    ("labels", "types"),
    [
        ([1, "a"], "int and str"),
        ([True, "a"], "bool and str"),
        ([True, 2], "bool and int"),
        ([time(1), time(2)], "time"),
        ([Decimal(1), Decimal(2)], "Decimal"),
        ([b"a", b"b"], "bytes"),
    ],
)
def test_labels_of_types_that_are_no_classes_are_one_sentence(estimator: Any, labels: list[Any], types: str) -> None:
    y = np.array(labels * 5, dtype=object)
    with pytest.raises(DataError, match=rf"Unknown label type: y holds values of type {types}; pass all labels as"):
        estimator().fit(np.arange(10.0)[:, None], y)


@pytest.mark.parametrize("estimator", [*ESTIMATORS, hb.HornBoostRegressor])
@pytest.mark.parametrize("y", [[b"a", b"b"] * 5, np.array([b"a", b"b"] * 5)], ids=["list", "array"])
def test_labels_of_bytes_are_one_sentence(estimator: Any, y: Any) -> None:
    with pytest.raises(DataError, match="Unknown label type: y holds values of type bytes; pass all labels as text"):
        estimator().fit(np.arange(10.0)[:, None], y)


@pytest.mark.parametrize("estimator", [*ESTIMATORS, hb.HornBoostRegressor])
@pytest.mark.parametrize("y", [[1j, 2.0] * 50, np.arange(100) * 1j, pd.Series(np.ones(100) * 1j)])
def test_labels_of_complex_numbers_are_one_sentence(estimator: Any, y: Any) -> None:
    with pytest.raises(DataError, match=r"^Complex data not supported: y holds complex numbers; .*classes.$"):
        estimator().fit(np.arange(100.0)[:, None], y)


@pytest.mark.parametrize("labels", [[1, 2], [1.0, 2], ["a", np.str_("b")], [True, np.False_]])
def test_labels_of_one_kind_may_be_objects(labels: list[Any]) -> None:
    X, y = np.repeat([[0.0], [1.0]], 20, axis=0), np.repeat(np.array(labels, dtype=object), 20)
    assert hb.C2RIBClassifier(rounds=2, random_state=0).fit(X, y).predict(X).tolist() == y.tolist()


def day(moments: list[Any]) -> hb.Database:
    n = len(moments)
    frame = pd.DataFrame({"id": range(n), "x": range(n), "at": moments})
    return hb.Database.from_frames({"day": frame}, target="day", key="id", label="at")


def test_a_few_times_of_day_are_classes_by_their_text_and_many_are_none() -> None:
    database = day([time(8), time(20, 30)] * 10)
    X, y = database.examples()
    assert set(y) == {"08:00:00", "20:30:00"}
    assert set(hb.C2RIBClassifier(database, rounds=2).fit(X, y).classes_) == {"08:00:00", "20:30:00"}
    with pytest.raises(DataError, match="51 distinct times of day are no classes; add a column"):
        day([time(0, minute) for minute in range(51)] * 2)


def test_what_tells_every_row_from_every_other_is_no_label() -> None:
    frame = pd.DataFrame({"id": range(60), "name": [f"n{i}" for i in range(60)], "x": range(60)})
    with pytest.raises(DataError, match="label 'name': each of 60 rows has a value of its own"):
        hb.Database.from_frames({"t": frame}, target="t", key="id", label="name")
    assert hb.Database.from_frames({"t": frame}, target="t", label="id").label_kind == "numbers"


@pytest.mark.parametrize("key", ["id", ["id", "y"]])
def test_the_label_is_no_key(key: Any) -> None:
    frame = pd.DataFrame({"id": [1, 2, 3], "y": ["a", "b", "a"]})
    with pytest.raises(DataError, match=r"'t\.(id|y)' is named both as a key and as the label; choose another label"):
        hb.Database.from_frames({"t": frame}, target="t", key=key, label="id" if key == "id" else "y")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"label": ""}, "table 't' has no column ''"),
        ({"label": "y", "key": ["id", "id"]}, "the key names the column 'id' twice"),
    ],
)
def test_names_that_name_nothing_or_one_thing_twice_are_one_sentence(options: dict[str, Any], message: str) -> None:
    frame = pd.DataFrame({"id": [1, 2, 3], "x": [1, 2, 3], "y": ["a", "b", "a"]})
    with pytest.raises(DataError, match=message):
        hb.Database.from_frames({"t": frame}, target="t", **options)


def test_no_examples_are_one_sentence() -> None:
    frame = pd.DataFrame({"id": range(4), "x": [1, 2] * 2, "y": ["a", "b"] * 2})
    database = hb.Database.from_frames({"t": frame}, target="t", key="id", label="y")
    X, y = database.examples()
    with pytest.raises(DataError, match=r"there are no examples, 0 sample\(s\), to learn from"):
        hb.C2RIBClassifier(database).fit(X.iloc[:0], y.iloc[:0])
