"""Times in the engine: every count against a naive interpreter that asks one example after the other,
over copies of the tables with nothing in them but what was known at its cutoff.
"""

from __future__ import annotations

from dataclasses import replace
from random import Random

import numpy as np
import pytest

from dated_databases import DatedCase, dated_case, with_ages
from hornboost.engine import Coverage, Engine, covers, to_clause
from hornboost.engine.seeded import SeededEngine
from hornboost.engine.tree import Spec
from hornboost.logic.clause import Clause, Head
from random_databases import random_clause

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
            for candidate in rng.sample(range(len(frontier)), min(25, len(frontier))):
                refined = engine.refine(state, frontier.refinement(candidate))
                assert totals(refined.covered, weights, classes) == scores[candidate], (seed, refined.specs)
            ages = [c for c in range(len(frontier)) if "age" in str(frontier.refinement(c).test)]
            chosen = rng.sample(range(len(frontier)), min(4, len(frontier))) + rng.sample(ages, min(2, len(ages)))
            for candidate in chosen:
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


@pytest.mark.parametrize("seeds", SEEDS[:3], ids=str)
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
            chosen = rng.sample(range(len(literals)), min(6, len(literals)))
            ages = [i for i in range(len(literals)) if "age" in str(literals.refinement(i).test)]
            for i in (chosen := chosen + rng.sample(ages, min(2, len(ages)))):
                refined = engine.refine(position, literals, i)
                clause = clause_of(refined.specs, engine.engine)
                expected = case.covered(clause)
                assert refined.covered.tolist() == expected, (seed, str(clause))
                assert expected[who], (seed, str(clause))
                assert totals(expected, weights, classes) == scores[i], (seed, str(clause))
            if not chosen:
                break
            position = engine.refine(position, literals, rng.choice(chosen))
