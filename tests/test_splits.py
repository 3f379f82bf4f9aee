"""Splits in time: what is learned from, what is predicted, and what is refused."""

from __future__ import annotations

from datetime import date, datetime, timedelta
from typing import Any

import numpy as np
import pandas as pd
import pytest

import hornboost as hb
from hornboost.errors import DataError

DAYS = ["2024-01-01", "2024-01-31", "2024-03-01", "2024-03-01", "2024-04-15", "2024-06-01"]


def database(seen: Any = None, labels: str = "ynynyn", **options: Any) -> hb.Database:
    column = pd.to_datetime(DAYS) if seen is None else seen
    table = pd.DataFrame({"id": range(len(column)), "x": 1.0, "seen": column, "y": list(labels)})
    declared = {"times": {"t": "seen"}, **options}
    return hb.Database.from_frames({"t": table}, target="t", key="id", label="y", **declared)


def parts(db: hb.Database, **options: Any) -> list[tuple[list[int], list[int]]]:
    return [(train.tolist(), test.tolist()) for train, test in db.folds(**options)]


@pytest.mark.parametrize(
    "moment",
    ["2024-03-01", date(2024, 3, 1), datetime(2024, 3, 1), pd.Timestamp("2024-03-01"), np.datetime64("2024-03-01")],
    ids=lambda moment: type(moment).__name__,
)
def test_before_a_moment_is_learned_and_from_it_on_predicted(moment: Any):
    assert parts(database(), time=moment) == [([0, 1], [2, 3, 4, 5])]


def test_several_moments_predict_up_to_the_next():
    assert parts(database(), time=["2024-03-01", "2024-04-15"]) == [([0, 1], [2, 3]), ([0, 1, 2, 3], [4, 5])]


@pytest.mark.parametrize("horizon", ["30d", timedelta(days=30), pd.Timedelta(days=30)])
def test_an_example_whose_label_was_not_yet_known_is_in_neither_part(horizon: Any):
    # 2024-01-31 and 30 days are 2024-03-01, the moment itself: known just then
    assert parts(database(), time="2024-03-01", horizon=horizon) == [([0, 1], [2, 3, 4, 5])]
    assert parts(database(labels="ynynyn"), time="2024-04-15", horizon="46d") == [([0, 1], [4, 5])]


def test_a_horizon_is_a_number_where_times_are():
    db = database([1, 2, 3, 4, 5, 6])
    assert parts(db, time=5, horizon=2) == [([0, 1, 2], [4, 5])]
    assert parts(db, time=4.5) == [([0, 1, 2, 3], [4, 5])]


def test_rolling_origins_keep_equal_times_together_and_learn_from_ever_more():
    db = hb.datasets.churn(200).database()
    when = pd.to_datetime(db.examples()[0]["taken"])
    folds = db.folds(rolling=5)
    assert len(folds) == 5
    for (train, test), (more, _) in zip(folds, [*folds[1:], (np.arange(len(when)), None)], strict=True):
        assert when.iloc[train].max() < when.iloc[test].min()
        assert set(more) >= {*train, *test}
    assert {*folds[0][0], *(row for _, test in folds for row in test)} == set(range(len(when)))


def test_rolling_origins_divide_distinct_times_evenly():
    db = database(np.arange(60), "yn" * 30)
    assert [(len(train), len(test)) for train, test in db.folds(rolling=5)] == [(10 * k, 10) for k in range(1, 6)]
    assert [(len(train), len(test)) for train, test in db.folds(rolling=4, horizon=20)] == [
        (9, 8),
        (17, 8),
        (25, 8),
        (33, 8),
    ]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"time": "2023-05-01"}, "no example to learn from is before 2023-05-01; the times go from 2024-01-01 to"),
        ({"time": "2025-05-01"}, "no example to predict is from 2025-05-01 on; the times go from 2024-01-01 to 2024"),
        ({"time": "2024-03-01", "horizon": "99d"}, "no example to learn from is 99d or more before 2024-03-01"),
        ({"time": ["2024-03-01", "2024-03-09", "2024-04-01"]}, "from 2024-03-09 on and before 2024-04-01"),
        ({"time": ["2024-03-01", "2024-02-01"]}, "must be in order"),
        ({"time": []}, "must be in order"),
        ({"time": "soon"}, "'soon' is no moment to split at; give a date such as 2024-01-01"),
        ({"time": 7}, "7 is no moment to split at"),
        ({"time": "2024-03-01", "horizon": "soon"}, "'soon' is no horizon; give a length of time such as 90d"),
        ({"time": "2024-03-01", "horizon": "-3d"}, "'-3d' is no horizon"),
        ({"time": "2024-03-01", "horizon": 3}, "3 is no horizon"),
        ({"time": "2024-03-01", "rolling": 3}, "at a moment or at a number of moments"),
        ({"horizon": "3d"}, "at a moment or at a number of moments"),
        ({"rolling": 0}, r"must be an int in \[1, inf\)"),
        ({"rolling": 5}, "4 distinct times of examples are after the first, too few for 5 rolling origins; take at"),
        ({"rolling": 1, "horizon": "999d"}, "0 distinct times of examples are 999d or more after the first"),
        ({"name": "known", "time": "2024-03-01"}, "the folds 'known' are known, not made in time"),
    ],
)
def test_what_cannot_be_split_is_refused_in_a_sentence(options: dict[str, Any], sentence: str):
    with pytest.raises(DataError, match=sentence):
        database().folds(**options)


def test_one_class_to_learn_from_is_refused():
    with pytest.raises(DataError, match="all 2 examples to learn from, before 2024-03-01, are of the class 'y'"):
        database(labels="yynynn").folds(time="2024-03-01")


def test_examples_without_a_time_cannot_be_split_by_it():
    with pytest.raises(DataError, match=r"the examples have no time to split by; name the column .* --time t.column"):
        database(times=None).folds(rolling=2)
