"""Aggregates look at what was known before the cutoff: against a naive interpreter over copies of the tables."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

import pandas as pd
import pytest

import hornboost as hb
import naive
from dated_rows import DatedCase, TimeColumn, dated_case
from hornboost.aggregates.attach import computed
from hornboost.aggregates.meaning import Paths
from hornboost.aggregates.paths import find_paths
from hornboost.data.table import Column
from hornboost.errors import HornBoostError
from hornboost.logic.aggregate import SPREAD, Aggregate, KeyStep, Route, TableStep
from hornboost.logic.moment import moment_text
from hornboost.logic.text import print_path
from random_databases import RandomColumn

N_AGGREGATES = 25


@dataclass(frozen=True)
class DatedAggregates:
    """A random database with times, aggregates, and the joins that these follow."""

    dated: DatedCase
    aggregates: tuple[Aggregate, ...]
    routes: Mapping[str, Route]

    def expected(self, rows: list[dict[str, Any]]) -> list[list[Any]]:
        """For each aggregate its value for each row as an example."""
        seen = [(self.dated.seen(row), self.dated.example(row)) for row in rows]
        return [
            [naive.aggregated(tables, one, self.routes[print_path(one.path)], row) for tables, row in seen]
            for one in self.aggregates
        ]


def dated_aggregates(seed: int) -> DatedAggregates:
    rng = Random(seed)
    dated = dated_case(rng, rng.choice([1, 2, 3]), rng.choice([3, 6, 9, 15]))
    database = dated.database()
    routes: dict[str, Route] = {}
    found = []
    paths = find_paths(database.tables, database.links, "target", 2)
    for _ in range(N_AGGREGATES if paths else 0):
        path = rng.choice(paths)
        steps = Paths.of(database).name(path.steps)
        routes[print_path(steps)] = tuple(KeyStep(hop.column, hop.to_table, hop.to_column) for hop in path.steps)
        found.append(random_aggregate(rng, dated, path.table, steps))
    return DatedAggregates(dated, tuple(dict.fromkeys(found)), routes)


def random_aggregate(rng: Random, dated: DatedCase, table: str, steps: tuple[TableStep, ...]) -> Aggregate:
    has_time = table in dated.times
    columns = [column for column in dated.table(table).columns if column.name != "when"]
    nominal = [column for column in columns if column.kind == "nominal"]
    where = within = None
    if nominal and rng.random() < 0.4:
        chosen = rng.choice(nominal)
        where = (chosen.name, str(rng.choice([*chosen.values, "8"])))
    if has_time and rng.random() < 0.5:
        lengths = ["1d", "90d", "6d", "7d", "1s", "12.5h"] if dated.is_date else [0.25, 0.5, 1.0, 2.0, 6.0]
        within = ("age", rng.choice(lengths))
    kind = rng.random()
    if kind < 0.25 or not columns:
        function = "count" if where is None and within is None else rng.choice(["count", "share"])
        return Aggregate(function, steps, None, where, within)
    if kind < 0.4 and has_time:
        return Aggregate(rng.choice(["min", "max"]), steps, "age", where, within)
    column = rng.choice(columns)
    function = rng.choice(functions_of(column, has_time))
    return Aggregate(function, steps, column.name, None if function in SPREAD else where, within)


def functions_of(column: RandomColumn, has_time: bool) -> list[str]:
    last = ["last", "last"] if has_time else []
    if column.kind == "key":
        return ["distinct"]
    if column.kind == "nominal":
        return ["distinct", "mode", "mode_share", *last]
    return ["min", "max", *last] if column.kind == "date" else ["mean", "sum", "min", "max", "std", *last]


def cells(column: Column) -> list[Any]:
    """The values of an aggregate as the naive interpreter has them."""
    if column.kind == "nominal":
        assert column.categories is not None
        return [None if code < 0 else column.categories[code] for code in column.codes]
    return [None if math.isnan(value) else value for value in column.numbers]


def comparable(dated: DatedCase, found: Aggregate, value: Any) -> Any:
    """A date as a number."""
    if not isinstance(value, str):
        return value
    column = next((c for c in dated.table(found.table).columns if c.name == found.column), None)
    return TimeColumn("", "date", "date").number(value) if column is not None and column.kind == "date" else value


@pytest.mark.parametrize("seed", range(300))
def test_aggregates_are_those_of_what_each_example_may_know(seed: int) -> None:
    case = dated_aggregates(seed)
    database = case.dated.database()
    for rows in (case.dated.case.target, case.dated.case.new_examples):
        found = computed(database, database.encode(rows.arrow()), case.aggregates)
        for one, column, expected in zip(case.aggregates, found, case.expected(rows.rows), strict=True):
            assert cells(column) == [comparable(case.dated, one, value) for value in expected], str(one)


def test_moments_of_the_random_columns_read_back() -> None:
    column = TimeColumn("", "date", "timestamp")
    assert moment_text(column.number("2000-01-01 12:30:00.5") or 0.0) == "2000-01-01T12:30:00.500000"


def shop() -> hb.Database:
    """Two customers, asked about at two times each."""
    customer = pd.DataFrame({"customer": [1, 1, 2, 2], "asked": pd.to_datetime(["2024-03-01", "2024-06-01"] * 2)})
    customer["good"] = ["yes", "no", "yes", "no"]
    days = pd.to_datetime(["2024-02-20", "2024-03-01", "2024-05-30", "2024-06-01", None, "2024-01-01"])
    paid = pd.DataFrame({"customer": [1, 1, 1, 1, 1, 2], "day": days, "amount": [1.0, 2.0, 4.0, 8.0, 16.0, 32.0]})
    paid["way"] = ["cash", "card", "cash", "card", "card", None]
    return hb.Database.from_frames(
        {"customer": customer, "paid": paid, "card": paid[["customer", "amount"]]},
        target="customer",
        label="good",
        positive="yes",
        keys={"customer": {"customer": "c"}, "paid": {"customer": "c"}, "card": {"customer": "c"}},
        foreign_keys=[],
        times={"customer": "asked", "paid": "day"},
    )


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("count(paid)>=1", [True, True, True, True]),
        ("count(paid)>=3", [False, True, False, False]),
        ("count(paid where age<=10d)>=1", [True, True, False, False]),
        ("count(paid where age<=9d)>=1", [False, True, False, False]),
        ("sum(paid.amount where age<=100d)>=6", [False, True, True, False]),
        ('sum(paid.amount where way="cash", age<=100d)>=4', [False, True, False, False]),
        ("share(paid where age<=30d)>=0.3", [True, True, False, False]),
        ('share(paid where way="cash", age<=30d)>=1', [True, True, False, False]),
        ("last(paid.amount)>=4", [False, True, True, True]),
        ('last(paid.way)="cash"', [True, True, False, False]),
        ("last(paid.way) is missing", [False, False, True, True]),
        ("min(paid.age)<=10d", [True, True, False, False]),
        ("max(paid.age)>=60d", [False, True, True, True]),
        ("sum(card.amount)>=31", [True, True, True, True]),
    ],
)
def test_conditions_look_at_each_example_s_own_past(condition: str, expected: list[bool]) -> None:
    clause = hb.Clause.parse(f'good="yes" :- customer(customer=C, {condition}).')
    assert shop().covers(clause).tolist() == expected


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("count(card where age<=9d)>=1", "table 'card' has no time, so its rows have no age; declare one"),
        ("last(card.amount)>=1", "table 'card' has no time, so none of its rows is the last; declare one"),
        ("min(card.age)<=9d", "no column 'age'"),
        ("min(paid.day)<=9d", "no column 'day'"),
        ("count(paid where amount<=9d)>=1", "is limited by the age of rows, which is 'age' here"),
        ("count(paid where age<=9)>=1", "the times of 'paid' are dates; write a length of time such as 90d"),
        ("mean(paid.age)<=9d", "there is no mean of a column that is an age"),
        ("min(paid.age)<=9", "is an age, so it is compared with a length of time such as 90d"),
        ("min(paid.amount)<=9d", "is no age of dates"),
        ('last(paid.customer)="1"', "there is no last of a column that is a key"),
    ],
)
def test_what_cannot_be_is_told(condition: str, message: str) -> None:
    with pytest.raises(HornBoostError, match=message):
        shop().covers(hb.Clause.parse(f'good="yes" :- customer(customer=C, {condition}).'))
