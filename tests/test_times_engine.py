"""Times in the engine: every count against a naive interpreter that asks one example after the other,
over copies of the tables with nothing in them but what was known at its cutoff.
"""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime, timedelta
from random import Random

import numpy as np
import pandas as pd
import pytest

import hornboost as hb
from dated_databases import DatedCase, dated_case, with_ages
from hornboost.engine import Coverage, Engine, covers, to_clause
from hornboost.engine.ages import Ages, age_interval
from hornboost.engine.seeded import SeededEngine
from hornboost.engine.tree import Spec
from hornboost.logic.clause import Clause, Head
from random_databases import random_clause

pytestmark = pytest.mark.filterwarnings("ignore:the examples see no row that has a time")
START = datetime(2024, 1, 1)
SEEDS = [range(start, start + 50) for start in range(0, 500, 50)]


def clause_of(specs: tuple[Spec, ...], engine: Engine) -> Clause:
    return to_clause(specs, Head("label", "1"), [column.name for column in engine.examples.keys])


def weighted(rng: Random, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Weights that tell every set of at most 60 examples from every other, and classes."""
    return np.array([1 << k for k in range(n)], np.int64), np.array([rng.randrange(2) for _ in range(n)], np.int32)


def totals(covered: np.ndarray | list[bool], weights: np.ndarray, classes: np.ndarray) -> list[int]:
    return [int(weights[np.asarray(covered) & (classes == label)].sum()) for label in (0, 1)]


def engine_of(rng: Random, case: DatedCase) -> Engine:
    database = case.database()
    constants = tuple(database.domains) if rng.random() < 0.3 else ()
    depth = rng.choice([1, 2, 2, 3])
    examples = database.encode(case.examples())
    return Engine(database, examples, max_depth=depth, look_ahead=rng.randint(1, depth), constants=constants)


@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_every_refinement_covers_what_was_known_to_each_example(seeds: range) -> None:
    for seed in seeds:
        rng = Random(seed)
        case = dated_case(rng)
        engine = engine_of(rng, case)
        weights, classes = weighted(rng, len(case.rows))
        state = engine.root()
        for _ in range(3):
            frontier = engine.frontier(state)
            scores = engine.score(frontier, weights, classes, 2).tolist()
            some = rng.sample(range(len(frontier)), min(12, len(frontier)))
            for candidate in some:
                refined = engine.refine(state, frontier.refinement(candidate))
                assert totals(refined.covered, weights, classes) == scores[candidate], (seed, refined.specs)
            ages = [candidate for candidate in some if "age" in str(frontier.refinement(candidate).test)]
            for candidate in (chosen := some[:3] + ages[:2]):
                refined = engine.refine(state, frontier.refinement(candidate))
                clause = clause_of(refined.specs, engine)
                expected = case.covered(clause)
                assert totals(expected, weights, classes) == scores[candidate], (seed, str(clause))
                assert covers(engine.database, clause, engine.examples).tolist() == expected, (seed, str(clause))
            useful = [candidate for candidate in chosen if any(scores[candidate])]
            if not useful:
                break
            state = engine.refine(state, frontier.refinement(rng.choice(useful)))


@pytest.mark.parametrize("seeds", SEEDS, ids=str)
def test_clauses_cover_what_was_known_to_each_example_and_their_witnesses_were_known(seeds: range) -> None:
    for seed in seeds:
        rng = Random(seed)
        case = dated_case(rng)
        clauses = [random_clause(rng, case.case.tables, rng.randint(1, 4)) for _ in range(4)]
        clauses = [with_ages(rng, case, clause) for clause in clauses]
        database = case.database()
        examples = database.encode(case.examples())
        coverage = Coverage.of(database, clauses)
        found = coverage.covered(examples)
        expected = np.array([case.covered(clause) for clause in clauses]).T
        assert found.tolist() == expected.tolist(), seed
        for at, trace in coverage.traced(examples):
            assert at == 0
            for k, clause in enumerate(clauses):
                covered = np.flatnonzero(found[:, k])
                rows = trace.witnesses(k, covered)
                for place, who in enumerate(covered):
                    witnesses = {position: int(found[place]) for position, found in rows.items()}
                    assert are_witnesses(case, clause, case.rows[who], witnesses), (seed, str(clause))


def are_witnesses(case: DatedCase, clause: Clause, example: dict, witnesses: dict[int, int]) -> bool:
    """Whether a clause covers an example when each literal may look at one row of its table alone."""
    tables = {table.name: table for table in case.case.tables}
    alone = [replace(tables["target"], rows=case.target.rows)]
    body = [clause.body[0]]
    for position in range(1, len(clause.body)):
        table = tables[clause.body[position].table]
        alone.append(replace(table, name=f"{table.name} {position}", rows=[table.rows[witnesses[position]]]))
        body.append(replace(clause.body[position], table=f"{table.name} {position}"))
    timed = {table.name for table, own in zip(alone, clause.body, strict=True) if own.table in case.timed}
    late = {
        table.name: case.late[own.table]
        for table, own in zip(alone, clause.body, strict=True)
        if own.table in case.late
    }
    few = replace(case, case=replace(case.case, tables=tuple(alone)), timed=frozenset(timed), late=late)
    return few.covered(replace(clause, body=tuple(body)), [example]) == [True]


@pytest.mark.parametrize("seeds", SEEDS[:2], ids=str)
def test_literals_of_a_seed_weigh_what_was_known_to_each_example(seeds: range) -> None:
    for seed in seeds:
        rng = Random(seed)
        case = dated_case(rng)
        database = case.database()
        engine = SeededEngine(Engine(database, database.encode(case.examples())))
        weights, classes = weighted(rng, len(case.rows))
        position, who = engine.root(), rng.randrange(len(case.rows))
        for _ in range(3):
            literals = engine.literals(position, who)
            scores = engine.score(position, literals, weights, classes).tolist()
            chosen = rng.sample(range(len(literals)), min(5, len(literals)))
            for i in chosen:
                refined = engine.refine(position, literals, i)
                clause = clause_of(refined.specs, engine.engine)
                expected = case.covered(clause)
                assert refined.covered.tolist() == expected, (seed, str(clause))
                assert expected[who], (seed, str(clause))
                assert totals(expected, weights, classes) == scores[i], (seed, str(clause))
            if not chosen:
                break
            position = engine.refine(position, literals, rng.choice(chosen))


def small(is_date: bool = True) -> hb.Database:
    """Two loans of one account with payments before, at and after their dates; one has no date."""
    days = [0, 10, 20, 20, None, 30]
    loan, payment = (
        [20, 25],
        [None if day is None else (START + timedelta(days=day) if is_date else day) for day in days],
    )
    return hb.Database.from_frames(
        {
            "loan": pd.DataFrame(
                {
                    "loan": [1, 2],
                    "account": [7, 7],
                    "granted": [START + timedelta(days=day) if is_date else day for day in loan],
                    "ok": ["no", "yes"],
                }
            ),
            "payment": pd.DataFrame({"account": [7] * 6, "paid": payment, "amount": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]}),
        },
        target="loan",
        key="loan",
        label="ok",
        keys={"loan": {"account": "account"}, "payment": {"account": "account"}},
        times={"loan": "granted", "payment": "paid"},
    )


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("amount<=1", [True, True]),
        ("amount>=3", [False, True]),
        ("amount>=5", [False, False]),
        ("age<=5d", [False, True]),
        ("age<=10d", [True, True]),
        ("age>=25d", [False, True]),
        ("age>=480h, age<=20d", [True, False]),
        ("age is missing", [False, False]),
    ],
)
def test_a_row_on_the_day_itself_or_without_a_day_does_not_count(body: str, expected: list[bool]) -> None:
    db = small()
    assert db.covers(Clause.parse(f'ok="yes" :- loan(account=A), payment(account=A, {body}).')).tolist() == expected
    assert db.covers(Clause.parse(f'ok="yes" :- loan(loan=L), payment({body}).')).tolist() == expected


def test_the_earlier_examples_of_the_target_are_seen_and_the_example_itself_is_not() -> None:
    db = small()
    assert db.covers(Clause.parse('ok="yes" :- loan(account=A), loan(account=A).')).tolist() == [False, True]
    assert db.covers(Clause.parse('ok="yes" :- loan(account=A), loan(account=A, age<=4d).')).tolist() == [False, False]


@pytest.mark.parametrize(
    ("is_date", "body", "message"),
    [
        (True, "payment(account=A, age<=5)", "age is a length of time, and 5.0 is none; write 90d"),
        (False, "payment(account=A, age<=5d)", "are numbers, and so is age; write a number where '5d' stands"),
        (True, 'payment(account=A, paid<="2024-01-01")', "'paid' itself cannot be tested.*use age"),
        (True, "payment(account=A, days<=5d)", "no column 'days'"),
    ],
)
def test_tests_on_times_are_refused_and_those_on_ages_must_be_ages(is_date: bool, body: str, message: str) -> None:
    with pytest.raises(hb.HornBoostError, match=message):
        small(is_date).covers(Clause.parse(f'ok="yes" :- loan(account=A), {body}.'))


def test_the_time_of_an_example_cannot_be_tested_and_a_table_without_times_has_no_ages() -> None:
    with pytest.raises(hb.HornBoostError, match="'granted' is the moment up to which an example may look"):
        small().covers(Clause.parse('ok="yes" :- loan(granted>="2024-01-01").'))
    with pytest.raises(hb.HornBoostError, match="no column 'age'"):
        hb.datasets.bank(20).database().covers(
            Clause.parse('risky="1" :- loan(account_id=A), trans(account_id=A, age<=5d).')
        )
    with pytest.raises(hb.HornBoostError, match="no column 'age'"):
        small().covers(Clause.parse('ok="yes" :- loan(account=A, age<=5d).'))


def test_thresholds_of_ages_are_round_and_tell_the_examples_apart_as_their_own_ages_would() -> None:
    rng = Random(0)
    for _ in range(300):
        is_date = rng.random() < 0.5
        scale = rng.choice([1, 1_000_000, 3_600_000_000, 86_400_000_000]) if is_date else rng.choice([1e-7, 0.25, 1e6])
        values = np.unique([float(rng.randint(1, 500)) * scale for _ in range(rng.randint(1, 8))])
        ages = Ages.of(values, values, 10)
        for place, value in enumerate(values):
            least = age_interval(ages.test(len(values) - 1 - place, "age", is_date))
            most = age_interval(ages.test(len(values) + place, "age", is_date))
            assert ((values >= least[0]) == (values >= value)).all()
            assert ((values <= most[1]) == (values <= value)).all()
    days = Ages.of(np.array([10.2, 88.3, 95.2]) * 86_400e6, np.array([0.3, 88.3, 95.2]) * 86_400e6, 10)
    assert [str(days.test(offset, "age", True)) for offset in range(5)] == [
        "age>=90d",
        "age>=50d",
        "age>=10d",
        "age<=40d",
        "age<=90d",
    ]


def test_infinite_ages_have_thresholds_that_can_be_written() -> None:
    ages = Ages.of(np.array([5.0, np.inf]), np.array([5.0]), 10)
    assert [str(ages.test(offset, "age", False)) for offset in range(3)] == ["age>=10", "age>=2", "age<=5"]
