"""The statistics of every refinement against the refined clause evaluated afresh,
and the candidates against a brute-force list.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

import hornboost as hb
import naive
from hornboost import Database
from hornboost.engine import (
    Coverage,
    Engine,
    Frontier,
    Numbers,
    Refinement,
    State,
    Visible,
    blocks,
    closing,
    columns,
    covers,
    reach,
    reaching,
    to_clause,
)
from hornboost.engine.tree import Join, Ref, Spec
from hornboost.learners.clauses import weights_in_units
from hornboost.logic.clause import Clause, Head
from hornboost.logic.clause import Test as Condition
from random_databases import RandomCase, RandomColumn, RandomTable, cases

HEAD = Head("label", "1")
CLASSES = 3
Rows = dict[str, list[dict[str, Any]]]


def some(count: int) -> settings:
    """So many cases; they come from seeds, so there is little to shrink."""
    return settings(max_examples=count, phases=[Phase.generate], suppress_health_check=[HealthCheck.too_slow])


@dataclass(frozen=True)
class Walk:
    """A database, examples that it need not know, their classes and weights, and choices of steps."""

    case: RandomCase
    rows: list[dict[str, Any]]
    classes: NDArray[np.int32]
    weights: NDArray[np.int64]
    options: dict[str, Any]
    choice: random.Random

    def engine(
        self, database: Database | None = None, rows: Sequence[dict[str, Any]] | None = None, **options: Any
    ) -> Engine:
        database = self.case.database() if database is None else database
        table = RandomTable("target", self.case.target.columns, self.rows if rows is None else list(rows))
        return Engine(database, database.encode(table.arrow()), **{**self.options, **options})

    def score(self, engine: Engine, frontier: Frontier) -> NDArray[np.int64]:
        return engine.score(frontier, self.weights, self.classes, CLASSES)

    def totals(self, covered: NDArray[np.bool_] | list[bool]) -> list[int]:
        return [int(self.weights[np.asarray(covered) & (self.classes == label)].sum()) for label in range(CLASSES)]

    def covered(self, clause: Clause) -> list[bool]:
        """The naive coverage of the examples: the root literal is bound to them,
        every other literal to the database's rows.
        """
        tables: Rows = {**self.case.rows(), "the examples": self.rows}
        body = (replace(clause.body[0], table="the examples"), *clause.body[1:])
        return naive.covers(tables, replace(clause, body=body), "the examples")

    def paths(self, engine: Engine, steps: int = 3) -> Iterator[list[Refinement]]:
        """The beginnings of a random walk through the frontiers, always to a clause that still covers something."""
        path: list[Refinement] = []
        for step in range(steps + 1):
            yield path
            frontier = engine.frontier(follow(engine, path))
            useful = np.flatnonzero(self.score(engine, frontier).sum(axis=1))
            if not useful.size or step == steps:
                return
            path = [*path, frontier.refinement(int(self.choice.choice(list(useful))))]

    def states(self, engine: Engine, steps: int = 3) -> Iterator[State]:
        return (follow(engine, path) for path in self.paths(engine, steps))


def walks() -> st.SearchStrategy[Walk]:
    return st.builds(
        walk_over, cases(0), st.integers(1, 3), st.integers(1, 3), st.booleans(), st.randoms(use_true_random=True)
    )


def walk_over(case: RandomCase, max_depth: int, look_ahead: int, with_constants: bool, choice: random.Random) -> Walk:
    cells = {column.name: [*column.values, None, *foreign(column)] for column in case.target.columns}
    strangers = [{name: choice.choice(values) for name, values in cells.items()} for _ in range(choice.randint(0, 3))]
    rows = choice.sample([*case.target.rows, *strangers], len(case.target.rows) + len(strangers))
    constants = tuple(case.database().domains) if with_constants else ()
    return Walk(
        case,
        rows,
        np.array([choice.randrange(CLASSES) for _ in rows], np.int32),
        weights_in_units(np.array([choice.choice([0.1, 1.0, 2.5, 7.0]) for _ in rows]), np.ones(len(rows))),
        {"max_depth": max_depth, "look_ahead": look_ahead, "constants": constants},
        choice,
    )


def foreign(column: RandomColumn) -> list[Any]:
    """Values that the database does not hold."""
    if column.domain is not None:
        return [99] if column.storage == "int" else ["nobody"]
    return (
        {"text": ["new"], "int": ["12"], "float": ["3.5"], "bool": []}[column.storage]
        if column.kind == "nominal"
        else []
    )


def follow(engine: Engine, path: Sequence[Refinement]) -> State:
    state = engine.root()
    for refinement in path:
        state = engine.refine(state, refinement)
    return state


def clause_of(state: State, engine: Engine) -> Clause:
    return to_clause(state.specs, HEAD, [column.name for column in engine.examples.keys])


def with_room_for(entries: int, engine: Engine) -> Engine:
    """The engine with memory for so many entries of a literal."""
    engine.workshop.most_entries = entries
    return engine


def listed(frontier: Frontier) -> list[Refinement]:
    return [frontier.refinement(candidate) for candidate in range(len(frontier))]


@some(60)
@given(walks())
def test_every_refinement_has_the_statistics_of_the_refined_clause(walk: Walk) -> None:
    engine = walk.engine()
    for state in walk.states(engine):
        assert state.covered.tolist() == walk.covered(clause_of(state, engine))
        frontier = engine.frontier(state)
        scores = walk.score(engine, frontier).tolist()
        chosen = walk.choice.sample(range(len(frontier)), min(100, len(frontier)))
        for candidate in chosen:
            refinement = frontier.refinement(candidate)
            assert walk.totals(engine.refine(state, refinement).covered) == scores[candidate], refinement
        for candidate in chosen[:6]:
            refined = engine.refine(state, frontier.refinement(candidate))
            as_a_tree = Coverage.of_trees(engine.database, [refined.specs]).covered(engine.examples)
            assert as_a_tree[:, 0].tolist() == refined.covered.tolist()
            clause = clause_of(refined, engine)
            assert walk.totals(walk.covered(clause)) == scores[candidate], str(clause)
            assert walk.totals(covers(engine.database, clause, engine.examples)) == scores[candidate], str(clause)


@some(40)
@given(walks())
def test_no_refinement_that_covers_something_is_left_out(walk: Walk) -> None:
    engine = walk.engine()
    for state in walk.states(engine, steps=2):
        found: dict[tuple[Any, ...], list[Refinement]] = {}
        for refinement in listed(engine.frontier(state)):
            found.setdefault(kind_of(refinement), []).append(refinement)
        for refinement in walk.choice.sample(
            expected := list(brute_force(walk, engine, state)), min(30, len(expected))
        ):
            covered = covers(engine.database, clause_of(engine.refine(state, refinement), engine), engine.examples)
            same = (engine.refine(state, other).covered for other in found.get(kind_of(refinement), []))
            if not covered.any() or any(np.array_equal(covered, other) for other in same):
                continue
            last = refinement.joins[-1] if refinement.joins else None
            assert last is not None, refinement
            if last.equal:  # a closing that every reached row fulfils is the same refinement without it
                without = replace(refinement, joins=(*refinement.joins[:-1], replace(last, equal=())))
                assert covered.tobytes() == engine.refine(state, without).covered.tobytes(), refinement
            # a look-ahead that ends in rows of the first literal's own source: the direct join finds at least as much
            else:
                assert len(refinement.joins) == 2, refinement
                keys = engine.database.tables[last.table].keys
                assert any(reaches_directly(engine, refinement, column.name) for column in keys), refinement


def kind_of(refinement: Refinement) -> tuple[Any, ...]:
    """What must be found exactly; thresholds count as found when one of equal coverage is."""
    test = refinement.test
    exact = test if test is None or test.op in ("=", "missing") else (test.column, test.op)
    return refinement.node, refinement.joins, exact


def reaches_directly(engine: Engine, refinement: Refinement, column: str) -> bool:
    first, second = refinement.joins
    assert second.source is not None
    return column != second.column and engine.facts.determines(
        first.table, second.source.column, first.column, second.table, second.column, column
    )


def brute_force(walk: Walk, engine: Engine, state: State) -> Iterator[Refinement]:
    """Every test on a node, and every chain of literals with every test on its last one, from plain rows."""
    tables = {table.name: table for table in walk.case.tables}
    for node, spec in enumerate(state.specs):
        rows = walk.rows if node == 0 else tables[spec.table].rows
        yield from (Refinement(node, (), test) for test in conditions_of(walk, tables[spec.table], rows))
        for joins in chains(engine, state, node, tables):
            last = tables[joins[-1].table]
            yield Refinement(node, joins)
            yield from (Refinement(node, joins, test) for test in conditions_of(walk, last, last.rows))


def conditions_of(walk: Walk, table: RandomTable, rows: Sequence[dict[str, Any]]) -> Iterator[Condition]:
    constants = walk.options["constants"]
    for column in table.columns:
        if column.kind == "key" and column.domain not in constants:
            continue
        values = {
            row[column.name] for row in rows if row[column.name] is not None and row[column.name] == row[column.name]
        }
        known = {row[column.name] for row in table.rows} if column.kind == "nominal" else values
        if column.domain is not None:
            members = [
                (other, c.name) for other in walk.case.tables for c in other.columns if c.domain == column.domain
            ]
            known = {row[name] for other, name in members for row in other.rows}
        for value in sorted(values & known, key=str):
            if column.kind in ("key", "nominal"):
                yield Condition(column.name, "=", str(value))
            else:
                yield Condition(column.name, ">=", value)
                yield Condition(column.name, "<=", value)
        yield Condition(column.name, "missing")


def chains(engine: Engine, state: State, node: int, tables: dict[str, RandomTable]) -> Iterator[tuple[Join, ...]]:
    room = min(walk_room(engine, state, node), engine.look_ahead)
    if room < 1:
        return
    singles = list(joins_from(state.specs[node], node, node == 0, tables))
    for single in singles:
        yield (single,)
        yield from ((closed,) for closed in closings(state, node, single, tables))
        if room > 1:
            for second in joins_from(Spec(single.table, node, single), -1, False, tables):
                yield (single, second)
                yield from ((single, closed) for closed in closings(state, node, second, tables, single.source))
    if room > 2:
        pairs = [
            (single, second)
            for single in singles
            for second in joins_from(Spec(single.table, node, single), -1, False, tables)
        ]
        near = {state.specs[node].table, *(join.table for pair in pairs for join in pair), *(j.table for j in singles)}
        for first, second in pairs:
            for third in joins_from(Spec(second.table, node, second), -2, False, tables):
                if third.table not in near:
                    yield (first, second, third)


def walk_room(engine: Engine, state: State, node: int) -> int:
    return engine.max_depth - state.depth(node)


def own_keys(spec: Spec, table: RandomTable) -> list[RandomColumn]:
    joined = {spec.join.column, *(column for column, _ in spec.join.equal)} if spec.join else set()
    return [column for column in table.columns if column.domain is not None and column.name not in joined]


def joins_from(spec: Spec, node: int, is_root: bool, tables: dict[str, RandomTable]) -> Iterator[Join]:
    for own in own_keys(spec, tables[spec.table]):
        for table in tables.values():
            bare_target = table.name == "target" and all(column.domain is not None for column in table.columns)
            for column in table.columns:
                values = [row[column.name] for row in table.rows if row[column.name] is not None]
                same_row = table.name == spec.table and column.name == own.name and len(values) == len(set(values))
                if column.domain is not None and column.domain == own.domain and not same_row and not bare_target:
                    yield Join(table.name, column.name, Ref(node, own.name))


def closings(
    state: State, node: int, join: Join, tables: dict[str, RandomTable], barred: Ref | None = None
) -> Iterator[Join]:
    for column in tables[join.table].columns:
        for above in state.path(node):
            spec = state.specs[above]
            for own in own_keys(spec, tables[spec.table]):
                variable = Ref(above, own.name)
                fits = column.domain is not None and column.name != join.column and own.domain == column.domain
                if fits and variable not in (join.source, barred):
                    yield replace(join, equal=((column.name, variable),))


@some(30)
@given(walks(), st.data())
def test_under_visible_features_the_visible_candidates_and_no_others_are_scored(
    walk: Walk, data: st.DataObject
) -> None:
    pool = [
        (table.name, column.name) for table in walk.case.tables for column in table.columns if column.domain is None
    ]
    seen = data.draw(
        st.lists(st.frozensets(st.sampled_from(pool)) if pool else st.just(frozenset()), min_size=1, max_size=3)
    )
    engine = walk.engine(constants=())
    for path in walk.paths(walk.engine(constants=())):
        state = follow(engine, path)
        for attributes in seen:
            tables = frozenset(
                {table for table, _ in attributes} | set(walk.choice.sample([t.name for t in walk.case.tables], 1))
            )
            frontier = engine.frontier(state, Visible(attributes, tables))
            shown = np.ones(len(frontier), np.bool_)
            visible = {
                refinement: statistics
                for refinement, statistics, is_shown in zip(
                    listed(frontier), walk.score(engine, frontier).tolist(), shown, strict=True
                )
                if is_shown
            }
            whole = engine.frontier(state)
            expected = {
                refinement: statistics
                for refinement, statistics in zip(listed(whole), walk.score(engine, whole).tolist(), strict=True)
                if all(join.table in tables for join in refinement.joins)
                and (refinement.test is None or (last_table(state, refinement), refinement.test.column) in attributes)
            }
            assert visible == expected


def last_table(state: State, refinement: Refinement) -> str:
    return refinement.joins[-1].table if refinement.joins else state.specs[refinement.node].table


@some(30)
@given(walks())
def test_threads_and_an_evicted_cache_change_nothing(walk: Walk) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "LARGE", 0)
        database = walk.case.database()
        plain, threaded, forgetful = (
            walk.engine(database),
            walk.engine(database, n_jobs=2),
            walk.engine(database, cache_bytes=200),
        )
        for path in walk.paths(plain):
            steps = [(engine, follow(engine, path)) for engine in (plain, threaded, forgetful)]
            frontiers = [engine.frontier(state) for engine, state in steps]
            scores = [
                walk.score(engine, frontier).tolist() for (engine, _), frontier in zip(steps, frontiers, strict=True)
            ]
            assert scores[0] == scores[1] == scores[2]
            assert listed(frontiers[0]) == listed(frontiers[1]) == listed(frontiers[2])


@some(20)
@given(walks())
def test_sums_taken_from_those_of_the_empty_clause_are_the_same(walk: Walk) -> None:
    engine = walk.engine()
    numbers = Numbers(2, np.array([[walk.choice.randrange(-9, 9) for _ in range(2)] for _ in walk.rows], np.int64))
    first = engine.look(engine.root(), None, numbers)
    for path in walk.paths(engine):
        state = follow(engine, path)
        look = engine.look(state, None, numbers, seen=first)
        np.testing.assert_array_equal(look.sums, engine.sums(look.frontier, numbers.values))


@some(20)
@given(walks())
def test_what_was_seen_with_aggregates_is_seen_again_without(walk: Walk) -> None:
    engine = walk.engine()
    attributes = {(t.name, c.name) for t in engine.database.tables.values() for c in t.attributes}
    rows = Visible(frozenset(attributes), frozenset(engine.database.tables))
    numbers = Numbers(1, np.arange(len(walk.rows), dtype=np.int64)[:, None])
    first = engine.look(engine.root(), None, numbers, replace(rows, aggregates=True))
    again = engine.look_again(first, rows)
    assert again is not None
    np.testing.assert_array_equal(again.sums, engine.look(engine.root(), None, numbers, rows).sums)


@some(20)
@given(walks())
def test_work_in_small_parts_and_by_key_changes_nothing(walk: Walk) -> None:
    database = walk.case.database()
    paths, found = [list(path) for path in walk.paths(walk.engine(database))], []
    for at_once in (blocks.AT_ONCE, 10, 30):
        with pytest.MonkeyPatch.context() as patch:
            for module in (blocks, reach, columns):
                patch.setattr(module, "AT_ONCE", at_once)
            for module in (blocks, columns):
                patch.setattr(module, "LARGE", 0 if at_once < 100 else module.LARGE)
            patch.setattr(columns, "FEW", 1 if at_once < 100 else columns.FEW)
            patch.setattr(blocks, "SHARED", 1e-9 if at_once == 10 else 1e9)
            patch.setattr(closing, "WORTH", 0 if at_once < 100 else closing.WORTH)
            patch.setattr(reaching, "pays", lambda held, rows, small=at_once < 100: small)
            engine = walk.engine(database, n_jobs=2 if at_once == 30 else 1)
            frontiers = [engine.frontier(follow(engine, path)) for path in paths]
            sums = [engine.sums(f, np.stack([walk.weights, -walk.classes], axis=1)).tolist() for f in frontiers]
            scores = [walk.score(engine, f).tolist() for f in frontiers]
            found.append((scores, sums, [(listed(f), f.state.covered.tolist()) for f in frontiers]))
    assert found[0] == found[1] == found[2]


@some(30)
@given(walks())
def test_the_order_of_the_rows_changes_nothing(walk: Walk) -> None:
    tables = tuple(replace(table, rows=walk.choice.sample(table.rows, len(table.rows))) for table in walk.case.tables)
    order = walk.choice.sample(range(len(walk.rows)), len(walk.rows))
    engine = walk.engine()
    shuffled = walk.engine(replace(walk.case, tables=tables).database(), [walk.rows[k] for k in order])
    for path in walk.paths(engine):
        state, other = follow(engine, path), follow(shuffled, path)
        assert other.covered.tolist() == state.covered[order].tolist()
        frontiers = engine.frontier(state), shuffled.frontier(other)
        assert listed(frontiers[0]) == listed(frontiers[1])
        scores = shuffled.score(frontiers[1], walk.weights[order], walk.classes[order], CLASSES)
        assert walk.score(engine, frontiers[0]).tolist() == scores.tolist()


@some(30)
@given(walks())
def test_the_frontier_at_some_nodes_is_that_part_of_the_whole(walk: Walk) -> None:
    engine = walk.engine()
    for state in walk.states(engine):
        whole = listed(engine.frontier(state))
        parts = [listed(engine.frontier(state, nodes=[node])) for node in range(len(state.specs))]
        assert [refinement for part in parts for refinement in part] == whole


@some(30)
@given(walks())
def test_a_join_beyond_the_memory_is_refused_and_reported(walk: Walk) -> None:
    engine = with_room_for(2, walk.engine())
    free = walk.engine()
    for path in walk.paths(engine):
        kept = set(listed(engine.frontier(follow(engine, path))))
        left_out = set(listed(free.frontier(follow(free, path)))) - kept
        assert {refinement.joins[:1] for refinement in left_out if refinement.joins} <= {
            joins[:1] for joins in engine.refused
        }
        assert not {refinement for refinement in left_out if not refinement.joins}
    assert all(count > 2 for count in engine.refused.values())


def test_a_refusal_at_one_clause_does_not_refuse_the_same_join_at_a_smaller_one() -> None:
    database = people_and_things()
    engine = with_room_for(4, Engine(database, database.encode(database.examples()[0]), look_ahead=1))
    root = engine.root()
    wide = engine.refine(root, Refinement(0, (Join("owns", "person", Ref(0, "person")),)))
    join = Join("thing", "thing", Ref(1, "thing"))
    assert join not in {r.joins[0] for r in listed(engine.frontier(wide, nodes=[1])) if r.joins}
    assert (join,) in engine.refused
    narrow = engine.refine(wide, Refinement(1, (), Condition("since", ">=", 3.0)))
    assert join in {r.joins[0] for r in listed(engine.frontier(narrow, nodes=[1])) if r.joins}


def test_an_engine_over_other_examples_shares_memory_threads_and_refusals() -> None:
    database = people_and_things()
    X, _ = database.examples()
    engine = with_room_for(1, Engine(database, database.encode(X), n_jobs=2))
    other = engine.over(database.encode(X[:2]))
    assert (other.cache, other.refused, other.workshop.pool) == (engine.cache, engine.refused, engine.workshop.pool)
    other.frontier(other.root())
    assert engine.refused


def test_the_cache_stays_within_its_bound() -> None:
    database = people_and_things()
    engine = Engine(database, database.encode(database.examples()[0]), cache_bytes=9000)
    frontier = engine.frontier(engine.root())
    for refinement in listed(frontier):
        engine.frontier(engine.refine(engine.root(), refinement))
        assert engine.cache.nbytes <= 9000
    assert engine.cache.nbytes > 0


def test_a_clause_is_refined_the_same_way_below_two_numbers_of_one_node() -> None:
    database = people_and_things()
    engine = Engine(database, database.encode(database.examples()[0]), look_ahead=1)
    owns = Join("owns", "person", Ref(0, "person"))
    first = engine.refine(engine.root(), Refinement(0, (owns,)))
    engine.frontier(first)
    second = engine.refine(
        engine.refine(engine.root(), Refinement(0, (owns,), Condition("since", "<=", 2.0))), Refinement(0, (owns,))
    )
    assert {refinement.node for refinement in listed(engine.frontier(second))} == {0, 1, 2}


def test_weights_in_units_are_exact_and_never_vanish() -> None:
    one = np.ones(4)
    weights = weights_in_units(np.array([1.0, 1e-30, 0.0, 3.0]), one)
    assert weights.tolist() == [1 << 50, 1, 0, 3 << 50]
    assert weights_in_units(np.array([2.0, 2e-30, 0.0, 6.0]), one).tolist() == weights.tolist()
    assert weights_in_units(np.array([3.0, 0.0, 1e-30, 1.0]), one).tolist() == weights[[3, 2, 1, 0]].tolist()


def people_and_things() -> Database:
    return Database.from_frames(
        {
            "person": pa.table({"person": [1, 2, 3], "label": ["1", "0", "1"]}),
            "owns": pa.table(
                {"person": [1, 1, 2, 2, 2, 3], "thing": [1, 2, 1, 3, 4, 4], "since": [1.0, 2.0, 3.0, 1.0, 2.0, 2.0]}
            ),
            "thing": pa.table({"thing": [1, 2, 3, 4], "colour": ["red", "red", "blue", None]}),
        },
        target="person",
        key="person",
        label="label",
        foreign_keys=[("owns.person", "person.person"), ("owns.thing", "thing.thing")],
    )


@some(15)
@given(walks())
def test_what_hangs_on_a_shared_key_is_summed_up_by_key(walk: Walk) -> None:
    """With and without holders: the same candidates in the same order, and the same sums."""
    database = walk.case.database()
    shared = walk.engine(database)
    plain = walk.engine(database)
    plain.shared_by = lambda column: None
    channels = np.random.default_rng(0).integers(-(1 << 40), 1 << 40, (shared.examples.n_rows, 3))
    for path in walk.paths(shared):
        fronts = [engine.frontier(follow(engine, path)) for engine in (shared, plain)]
        assert listed(fronts[0]) == listed(fronts[1])
        assert walk.score(shared, fronts[0]).tolist() == walk.score(plain, fronts[1]).tolist()
        assert shared.sums(fronts[0], channels).tolist() == plain.sums(fronts[1], channels).tolist()


def test_pairs_of_persons_are_held_by_person() -> None:
    database = hb.datasets.skewed_pairs(4_000, related=4, seed=0).database()
    engine = Engine(database, database.encode(database.examples()[0]))
    (group,) = engine.frontier(engine.root()).groups
    holders = {id(option.block.holders) for option in group.options if option.block.holders is not None}
    assert len(holders) == 2  # of the one person and of the other
    assert {id(pairs.holders) for pairs in group.pairs} == {*holders, id(None)}
    assert len(group.pairs) == 3
    plain = Engine(database, database.encode(database.examples()[0]))
    plain.shared_by = lambda column: None
    n_pairs = [sum(p.pairs.size for p in e.frontier(e.root()).groups[0].pairs) for e in (engine, plain)]
    assert 2 * n_pairs[0] < n_pairs[1]
