"""Mined queries where rows and values have times: a naive interpreter over filtered copies, and nothing of the rest."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import dated
import hornboost as hb
import naive
from hornboost.logic import Clause, Head
from hornboost.logic.clause import Literal
from hornboost.logic.clause import Test as Condition
from hornboost.logic.duration import is_duration, microseconds_of
from hornboost.mining.informative import within_columns
from hornboost.mining.language import Language
from hornboost.mining.limits import Limits
from hornboost.mining.miner import Miner

Rows = dict[str, list[dict[str, Any]]]
HEAD = Head("y", "1")
KEYS = {"target": {"t": "t"}, "part": {"t": "t", "p": "p"}, "edge": {"p1": "p", "p2": "p"}, "note": {"t": "t"}}
TIMES = {"target": "when", "part": "when", "edge": "when"}
LATE = {"part": {"closed": ["d", "n"]}, "target": {"closed": ["z"]}, "note": {"closed": ["w"]}}
TICK = pd.Timedelta(hours=7)
NUMERIC = {"part": ["n"], "edge": ["n"]}


def tables(seed: int) -> Rows:
    """Parts, edges between parts and notes, most of them with times from 0 to 5:
    ties with cutoffs, times that are missing, several examples of one entity, and values that are known later.
    """
    draw = random.Random(seed)
    parts = [f"p{i}" for i in range(4)]

    def pick(values: list[Any], missing: int = 1) -> Any:
        return draw.choice([*(values * 3), *([None] * missing)])

    def when(missing: int = 1) -> Any:
        return pick([0.0, 1.0, 2.0, 3.0, 4.0, 5.0], missing)

    entities = [f"t{i}" for i in range(4)]
    rows: Rows = {
        "target": [
            {"t": draw.choice(entities), "z": pick(["i", "j"]), "y": draw.choice("01"), "when": when(0)}
            | {"closed": when()}
            for _ in range(5)
        ]
    }
    rows["part"] = [
        {"t": pick([*entities, "t9"]), "p": pick(parts), "c": pick(["u", "v"]), "d": pick(["m"])}
        | {"n": pick([1.0, 2.0, 3.0, 4.0]), "when": when(), "closed": when()}
        for _ in range(12)
    ]
    rows["edge"] = [
        {"p1": pick(parts), "p2": pick(parts), "n": pick([1.0, 2.0, 3.0]), "when": when()} for _ in range(7)
    ]
    rows["note"] = [{"t": pick(entities), "w": pick(["g", "h"]), "closed": when()} for _ in range(5)]
    return rows


def database(rows: Rows, times: dict[str, str] | None = None, dates: bool = False) -> hb.Database:
    frames = {name: pd.DataFrame(found) for name, found in rows.items()}
    if dates:
        for frame in frames.values():
            for column in {"when", "closed"} & set(frame.columns):
                frame[column] = pd.Timestamp("2020-02-28") + frame[column].astype(float) * TICK
    late = LATE if times is None else {}
    types = {f"{table}.{column}": "numeric" for table, columns in NUMERIC.items() for column in columns}
    types |= {} if dates else {f"{table}.closed": "numeric" for table in LATE}
    return hb.Database.from_frames(
        frames,
        target="target",
        key="t",
        label="y",
        positive="1",
        keys=KEYS,
        types=types,
        times=TIMES if times is None else times,
        known_later=late,
    )


def unit(dates: bool) -> float:
    return TICK / pd.Timedelta(microseconds=1) if dates else 1.0


def seen(rows: Rows, cutoff: float, unit: float = 1.0) -> Rows:
    """Copies of the tables with what an example of this cutoff sees."""
    return {name: [as_known(name, row, cutoff, unit) for row in visible(name, rows, cutoff)] for name in rows}


def visible(name: str, rows: Rows, cutoff: float) -> list[dict[str, Any]]:
    return [row for row in rows[name] if name not in TIMES or (row["when"] is not None and row["when"] < cutoff)]


def as_known(name: str, row: dict[str, Any], cutoff: float, unit: float = 1.0) -> dict[str, Any]:
    known = dict(row)
    if name in LATE and not (row["closed"] is not None and row["closed"] < cutoff):
        known |= dict.fromkeys(["closed", *LATE[name]["closed"]])
    if name in TIMES:
        known["age"] = (cutoff - row["when"]) * unit
    return known


def covered(rows: Rows, clause: Clause, dates: bool = False) -> list[bool]:
    """The naive interpreter over filtered copies, an example at a time."""
    clause = in_numbers(clause) if dates else clause
    return [
        naive.covers(
            seen(rows, row["when"], unit(dates)), clause, "target", [as_known("target", row, row["when"], unit(dates))]
        )[0]
        for row in rows["target"]
    ]


def in_numbers(clause: Clause) -> Clause:
    """The clause with lengths of time as microseconds, and moments as the ticks that they stand for."""

    def plain(test: Condition) -> Condition:
        if test.op == "=" or not isinstance(test.value, str):
            return test
        if is_duration(test.value):
            return Condition(test.column, test.op, microseconds_of(test.value))
        return Condition(test.column, test.op, (pd.Timestamp(test.value) - pd.Timestamp("2020-02-28")) / TICK)

    body = tuple(
        Literal(literal.table, literal.bindings, tuple(plain(test) for test in literal.tests))
        for literal in clause.body
    )
    return Clause(clause.head, body, clause.unequal)


def mined(
    db: hb.Database, max_length: int, oi: bool = True, max_columns: int | None = None, **limits: Any
) -> tuple[Language, list[tuple[Clause, list[bool]]]]:
    X, _ = db.examples()
    one_class, weights = np.zeros(len(X), np.int32), np.ones(len(X))
    language = Language.of(db, db.encode(X), weights, bins=3, oi=oi, symmetric={}, steps=max_length)
    language = within_columns(language, max_columns, one_class, weights, max_length, 1000)
    miner = Miner(language, one_class, weights, np.array([np.inf, 2.0]), limits=Limits(**limits))
    found = []
    for query in miner.mine(max_length).queries:
        column = np.unpackbits(np.frombuffer(query.covered, np.uint8), count=len(X)).astype(bool)
        found.append((language.clause(query.body, HEAD), column.tolist()))
    return language, found


@pytest.mark.parametrize("dates", [False, True])
@pytest.mark.parametrize("oi", [True, False])
def test_queries_hold_for_the_examples_that_see_their_rows(oi: bool, dates: bool) -> None:
    n_aged = n_known_later = 0
    for seed in range(8):
        rows = tables(seed)
        language, found = mined(
            database(rows, dates=dates), 3, oi, cache_bytes=random.Random(seed).choice([0, 1 << 20])
        )
        for clause, column in found:
            assert covered(rows, clause, dates) == column, (seed, str(clause))
        tests = [test for clause, _ in found for literal in clause.body for test in literal.tests]
        n_aged += sum(test.column == "age" for test in tests)
        n_known_later += sum(test.column in ("closed", "d") for test in tests)
        texts = {str(clause) for clause, _ in found}
        for clause in direct(language):
            assert (sum(covered(rows, clause, dates)) >= 2) == (str(clause) in texts), (seed, str(clause))
    assert n_aged > 50
    assert n_known_later > 50


def direct(language: Language) -> list[Clause]:
    """One literal with one condition on the example's key, for each condition of each table that has no other key."""
    root = Literal("target", (("t", "T"),))
    return [
        Clause(HEAD, (root, Literal(relation.name, (("t", "T"),), tests)))
        for relation in language.relations[1:]
        if relation.columns == ("t",)
        for tests in relation.conditions[1:]
    ]


@pytest.mark.parametrize("oi", [True, False])
@pytest.mark.filterwarnings("ignore:the examples see no row")
def test_queries_over_random_databases_hold_for_the_examples_that_see_their_rows(oi: bool) -> None:
    n_found = 0
    for seed in range(60):
        case = dated.seeded_case(seed, 0)
        X, _ = case.database.examples()
        weights, one_class = np.ones(len(X)), np.zeros(len(X), np.int32)
        language = Language.of(case.database, case.database.encode(X), weights, bins=3, oi=oi, symmetric={}, steps=2)
        queries = Miner(language, one_class, weights, np.array([np.inf, 1.0])).mine(2).queries
        for query in queries[:100]:
            clause = language.clause(query.body, HEAD)
            column = np.unpackbits(np.frombuffer(query.covered, np.uint8), count=len(X)).astype(bool).tolist()
            assert case.covers(lengths_in_numbers(clause)) == column, (seed, str(clause))
            n_found += 1
    assert n_found > 2000


def lengths_in_numbers(clause: Clause) -> Clause:
    def plain(test: Condition) -> Condition:
        is_length = isinstance(test.value, str) and test.op != "=" and is_duration(test.value)
        return replace(test, value=microseconds_of(str(test.value))) if is_length else test

    body = [replace(literal, tests=tuple(plain(test) for test in literal.tests)) for literal in clause.body]
    return replace(clause, body=tuple(body))


def test_one_cutoff_for_all_is_mined_as_the_filtered_tables() -> None:
    """But for the age, on which filtered tables have no conditions."""
    n_found = 0
    for seed in range(8):
        rows = tables(seed)
        for row in rows["target"]:
            row["when"] = 3.0
        copies = {name: [dict(row) for row in found] for name, found in seen(rows, 3.0).items()}
        copies["target"] = [as_known("target", row, 3.0) for row in rows["target"]]
        for row in itertools.chain(*copies.values()):
            row.pop("when", None), row.pop("age", None)
        _, dated = mined(database(rows), 3)
        _, filtered = mined(database(copies, times={}), 3)
        # an example is not before itself; among filtered copies it could be joined
        found = {str(clause): column for clause, column in dated if "age" not in str(clause)}
        wanted = {
            str(clause): column for clause, column in filtered if all(a.table != "target" for a in clause.literals)
        }
        assert found.items() >= wanted.items()
        assert set(map(tuple, found.values())) == set(map(tuple, wanted.values()))
        n_found += len(wanted)
    assert n_found > 300


def test_what_no_example_sees_changes_nothing() -> None:
    for seed in range(10):
        rows = tables(seed)
        last = max(row["when"] for row in rows["target"])
        other = {name: [dict(row) for row in found] for name, found in rows.items()}
        draw = random.Random(seed)
        n_changed = 0
        for name, found in other.items():
            for row in found:
                hidden = LATE.get(name, {}).get("closed", [])
                if name in TIMES and name != "target" and not (row["when"] is not None and row["when"] < last):
                    hidden = [column for column in row if column not in KEYS[name] and column not in ("when", "closed")]
                elif name not in LATE or (row["closed"] is not None and row["closed"] < last):
                    continue
                for column in hidden:
                    row[column] = draw.choice([entry[column] for entry in rows[name]]) if column not in "n" else 99.0
                n_changed += 1
        assert n_changed > 3
        _, before = mined(database(rows), 3, max_columns=5)
        _, after = mined(database(other), 3, max_columns=5)
        assert [(str(clause), column) for clause, column in before] == [
            (str(clause), column) for clause, column in after
        ]


def test_numbers_and_ages_are_cut_on_what_examples_see() -> None:
    target = pd.DataFrame({"t": [1, 2], "when": [10.0, 20.0], "y": ["0", "1"]})
    part = pd.DataFrame(
        {
            "t": [1, 1, 1, 2, 2, 2, 2],
            "when": [8.0, 9.0, 10.0, 10.0, 18.0, 19.0, np.nan],
            "n": [1.0, 2.0, 500.0, 3.0, 4.0, 700.0, 900.0],
            "closed": [9.0, 9.0, 9.0, 9.0, 9.0, 20.0, 9.0],
        }
    )
    db = hb.Database.from_frames(
        {"target": target, "part": part},
        target="target",
        key="t",
        label="y",
        times={"target": "when", "part": "when"},
        known_later={"part": {"closed": ["n"]}},
    )
    examples = db.encode(db.examples()[0])
    language = Language.of(db, examples, np.ones(2), bins=2, oi=True, symmetric={}, steps=2)
    conditions = [str(tests[0]) for tests in language.relations[2].conditions[1:] if len(tests) == 1]
    assert "n<=2.5" in conditions
    assert "age<=1.5" in conditions
    alone = Language.of(db, examples.take(slice(0, 1)), np.ones(1), bins=2, oi=True, symmetric={}, steps=2)
    told = [str(tests[0]) for tests in alone.relations[2].conditions[1:] if len(tests) == 1]
    assert "n<=1.5" in told
    assert "age>=1.5" in told


def test_an_interval_ends_before_the_next_begins_where_nothing_lies_between() -> None:
    late = pd.Timestamp("2024-02-28 23:59:59.999999")
    for values in ([late, late + pd.Timedelta(microseconds=1)], [1.0, np.nextafter(1.0, 2.0)]):
        X = pd.DataFrame({"when": pd.Series(values * 10)})
        patterns = hb.RelationalPatterns(max_length=1, bins=2).fit(X)
        assert len(patterns.clauses_) == 2
        assert sorted(patterns.transform(X).sum(axis=0)) == [10, 10] == sorted(patterns.support_.sum(axis=1))


def test_an_age_of_dates_is_cut_at_whole_units() -> None:
    day = pd.Timestamp("2024-03-01")
    target = pd.DataFrame({"t": range(4), "when": [day] * 4, "y": ["0", "1"] * 2})
    ages = [pd.Timedelta(days=3, hours=5), pd.Timedelta(days=4), pd.Timedelta(days=88, hours=5), pd.Timedelta(days=93)]
    part = pd.DataFrame({"t": range(4), "when": [day - age for age in ages]})
    db = hb.Database.from_frames(
        {"target": target, "part": part}, "target", key="t", label="y", times={"target": "when", "part": "when"}
    )
    language = Language.of(db, db.encode(db.examples()[0]), np.ones(4), bins=4, oi=True, symmetric={}, steps=2)
    ends = [str(test) for tests in language.relations[2].conditions[1:] for test in tests]
    assert ends == ["age<=86h", "age>=86h", "age<=46d", "age>=46d", "age<=91d", "age>=91d"]


@pytest.mark.parametrize("dates", [False, True])
def test_patterns_and_mlynx_see_the_past_only(dates: bool) -> None:
    for seed in range(4):
        rows = tables(seed)
        db = database(rows, dates=dates)
        X, y = db.examples()
        patterns = hb.RelationalPatterns(db, min_support=0.2, max_length=2, max_columns=None).fit(X, y)
        expected = np.array([covered(rows, clause, dates) for clause in patterns.clauses_]).T
        assert patterns.transform(X).tolist() == expected.tolist()
        assert (patterns.support_.sum(axis=1) == expected.sum(axis=0)).all()
        alone = hb.RelationalPatterns(db, min_support=0.2, max_length=2, support="positive").fit(X, y)
        expected = np.array([covered(rows, clause, dates) for clause in alone.clauses_]).T
        assert (alone.support_.sum(axis=1) == expected.sum(axis=0)).all()
        if len(set(y)) > 1:
            found = hb.KBSSubgroups(db, n_subgroups=5).fit(X, y).subgroups_
            shares = [np.mean(covered(rows, one.clause, dates)) for one in found]
            assert [one.coverage for one in found] == pytest.approx(shares)
            model = hb.MLynxClassifier(db, min_support=0.2, max_length=2, random_state=0).fit(X, y)
            assert len(model.predict(X)) == len(X)
