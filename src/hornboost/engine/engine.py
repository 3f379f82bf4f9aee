"""The engine: coverage of every refinement of a clause at once, kept between rounds within a memory bound."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hornboost.data.table import Column, Table
from hornboost.dtypes import CODE
from hornboost.engine import kernels
from hornboost.engine.attributes import Attributes, satisfies
from hornboost.engine.blocks import Block, Pairs, Reach, build_block, merge, zeros
from hornboost.engine.joins import FIRST_NEW, Chain, JoinGraph, Visible
from hornboost.engine.tree import NO_CODES, NO_MASK, Codes, Entries, Join, Ref, Spec, State, propagate, root_state, with_test
from hornboost.errors import LimitError
from hornboost.logic.clause import Test

if TYPE_CHECKING:
    from hornboost.data import Database

NO_OFFSETS: NDArray[np.int64] = np.empty(0, np.int64)
NO_ROWS: Codes = np.empty(0, CODE)
MERGE_LIMIT = 4_000_000
"""Blocks with more pairs than this in sum stay apart: merging them would copy more than it saves."""


@dataclass(frozen=True, slots=True)
class Refinement:
    """One step from a clause to a more special one: a test on a node, or new literals with or without a test on the last."""

    node: int
    joins: tuple[Join, ...] = ()
    test: Test | None = None


@dataclass(frozen=True, eq=False, slots=True)
class Option:
    """A block of the frontier: where its conditions belong in the clause."""

    chain: Chain
    block: Block
    attributes: Attributes


@dataclass(frozen=True, eq=False, slots=True)
class Group:
    """What can be added at one node: its options, their pairs, and which conditions are visible (None: all)."""

    options: tuple[Option, ...]
    pairs: tuple[Pairs, ...]
    bounds: NDArray[np.int64]
    visible: NDArray[np.bool_] | None

    @property
    def size(self) -> int:
        return int(self.bounds[-1])


@dataclass(frozen=True, eq=False, slots=True)
class Frontier:
    """All refinements of a state; candidate numbers run through its groups."""

    state: State
    groups: tuple[Group, ...]
    bounds: NDArray[np.int64]

    def __len__(self) -> int:
        return int(self.bounds[-1])

    @property
    def visible(self) -> NDArray[np.bool_] | None:
        """Which candidates the learner may choose, or None when it may choose all."""
        if all(group.visible is None for group in self.groups):
            return None
        return np.concatenate([np.ones(g.size, np.bool_) if g.visible is None else g.visible for g in self.groups])

    def option(self, candidate: int) -> tuple[Option, int]:
        """The option of a candidate, and the candidate's number within its block."""
        g = int(np.searchsorted(self.bounds, candidate, side="right")) - 1
        group, local = self.groups[g], candidate - int(self.bounds[g])
        o = int(np.searchsorted(group.bounds, local, side="right")) - 1
        return group.options[o], local - int(group.bounds[o])

    def refinement(self, candidate: int) -> Refinement:
        """The step that a candidate number stands for."""
        option, condition = self.option(candidate)
        attribute, offset = option.block.locate(condition)
        test = None if attribute < 0 else option.attributes.test(attribute, offset)
        return Refinement(option.chain.node, option.chain.joins, test)

    def first(self, candidates: NDArray[np.int64]) -> int:
        """The tie-break: the fewest new literals, then schema order, then value order.

        Within a group shorter chains come first, so only the first candidate of each group is compared.
        """
        at = np.searchsorted(candidates, self.bounds[:-1])
        firsts = {int(candidates[k]) for k in at if k < candidates.size}
        return min(firsts, key=lambda c: (len(self.option(c)[0].chain.joins), c))


class Engine:
    """Scores and applies the refinements of clauses over a set of examples.

    `examples` is the encoded root (`Database.encode`). A chain of joins that reaches more than `max_entries` rows is refused
    and recorded in `refused`. Blocks and states are kept within `cache_bytes`. Nothing depends on `n_jobs` but the time.
    """

    def __init__(
        self,
        database: Database,
        examples: Table,
        *,
        max_depth: int = 2,
        look_ahead: int = 2,
        max_entries: int = 50_000_000,
        cache_bytes: int = 1 << 30,
        n_jobs: int = 1,
        constants: Sequence[str] = (),
    ) -> None:
        self.database = database
        self.examples = examples
        self.max_depth = max_depth
        self.look_ahead = look_ahead
        self.max_entries = max_entries
        self.cache_bytes = cache_bytes
        self.n_jobs = n_jobs
        self.refused: dict[tuple[Join, ...], int] = {}
        self.graph = JoinGraph(database.tables, examples)
        self._constants = {name: np.asarray(database.domains[name].values, object) for name in constants}
        self._attributes: dict[tuple[str, bool], Attributes] = {}
        self._keys: dict[tuple[str, str, bool], Codes] = {}
        self._root = root_state(examples.n_rows, examples.name)
        self._states: OrderedDict[tuple[int, Refinement], tuple[State, State]] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()
        self._pool = ThreadPoolExecutor(n_jobs) if n_jobs > 1 else None

    def root(self) -> State:
        """The state of the clause with an empty body."""
        return self._root

    def frontier(self, state: State, visible: Visible | None = None, nodes: Sequence[int] | None = None) -> Frontier:
        """Every refinement of a clause, or those at some of its nodes; under `visible` only what the learner may see."""
        at = range(len(state.specs)) if nodes is None else nodes
        groups = tuple(self._group(state, node, visible) for node in at)
        return Frontier(state, groups, np.cumsum([0] + [group.size for group in groups]))

    def score(self, frontier: Frontier, weights: NDArray[np.int64], classes: Codes, n_classes: int) -> NDArray[np.int64]:
        """The weight that each refinement covers, by class: an integer table of candidates by classes, exact."""
        live = np.where(frontier.state.covered, weights, 0)
        out = zeros(len(frontier), n_classes)
        at = 0
        for group in frontier.groups:
            for pairs in group.pairs:
                pairs.score(live, classes, out[at : at + pairs.n_conditions], self._pool, self.n_jobs)
                at += pairs.n_conditions
        return out

    def covered_weight(self, state: State, weights: NDArray[np.int64], classes: Codes, n_classes: int) -> NDArray[np.int64]:
        """The weight that a state covers, by class."""
        out = np.zeros(n_classes, np.int64)
        kernels.class_totals(weights, classes, state.covered, out)
        return out

    def refine(self, state: State, refinement: Refinement) -> State:
        """The state after a step; kept, because boosting takes the same steps again."""
        key = (id(state), refinement)
        hit = self._states.get(key)
        if hit is not None and hit[0] is state:
            self._states.move_to_end(key)
            return hit[1]
        refined = self._refine(state, refinement)
        self._states[key] = (state, refined)
        self._count(sum(e.example.nbytes * 3 for e in refined.entries[len(state.entries) :]) + refined.covered.nbytes)
        return refined

    def key(self, table: str, column: str, is_root: bool) -> Codes:
        """The codes of a key column, of the examples themselves or of a table of the database."""
        at = (table, column, is_root)
        if at not in self._keys:
            source = self.examples if is_root else self.database.tables[table]
            self._keys[at] = np.require(source.columns[column].values, CODE, ["C", "W"])
        return self._keys[at]

    def attributes(self, table: str, is_root: bool) -> Attributes:
        """The codes of a table's attributes."""
        at = (table, is_root)
        if at not in self._attributes:
            source = self.examples if is_root else self.database.tables[table]
            self._attributes[at] = Attributes(source, self._constants)
        return self._attributes[at]

    def column(self, table: str, name: str, is_root: bool) -> Column:
        return (self.examples if is_root else self.database.tables[table]).columns[name]

    def entries(self, state: State, node: int, joins: tuple[Join, ...]) -> Entries:
        """The entries that a chain of joins below a node reaches, over all of the node's entries; kept with the node."""
        memo = state.entries[node].memo
        if ("entries", joins) not in memo:
            above = state.entries[node] if len(joins) == 1 else self.entries(state, node, joins[:-1])
            reach = self._reach(state, node, joins)
            self._check_size(reach, joins)
            example, rows, up = kernels.expand(
                above.example,
                reach.codes,
                reach.offsets,
                reach.order,
                reach.equal_columns,
                reach.equal_codes,
                reach.unequal_columns,
                reach.unequal_codes,
                NO_MASK,
            )
            memo["entries", joins] = Entries(example, rows, up)
            self._count(3 * example.nbytes)
        entries: Entries = memo["entries", joins]
        return entries

    def _group(self, state: State, node: int, visible: Visible | None) -> Group:
        memo = state.entries[node].memo
        key = ("group", visible)
        if key not in memo:
            options = [Option(Chain(node, ()), b, a) for b, a in self._own_blocks(state, node, visible)]
            for chain in self.graph.chains(state, node, visible, self.max_depth, self.look_ahead):
                options += [Option(chain, b, a) for b, a in self._chain_blocks(state, chain, visible)]
            memo[key] = _grouped(options, visible, self.examples.n_rows)
            self._count(sum(pairs.pairs.nbytes for pairs in memo[key].pairs))
        group: Group = memo[key]
        return group

    def _own_blocks(self, state: State, node: int, visible: Visible | None) -> list[tuple[Block, Attributes]]:
        table, entries = state.specs[node].table, state.entries[node]
        attributes = self.attributes(table, node == 0)
        reach = Reach(entries.example, entries.rows, NO_OFFSETS, NO_ROWS)
        return self._blocks(state.entries[node], (), lambda: reach, attributes, visible, bare=False)

    def _chain_blocks(self, state: State, chain: Chain, visible: Visible | None) -> list[tuple[Block, Attributes]]:
        attributes = self.attributes(chain.table, False)
        if chain.joins in self.refused:
            return []
        try:
            return self._blocks(
                state.entries[chain.node], chain.joins, lambda: self._checked_reach(state, chain), attributes, visible, bare=True
            )
        except LimitError:
            return []

    def _blocks(self, entries, joins, reach, attributes, visible, bare):  # type: ignore[no-untyped-def]
        built: list[Block] | None = entries.memo.setdefault(("blocks", joins), [])
        if built is None:
            return []
        wanted = [
            k
            for k, column in enumerate(attributes.columns)
            if visible is None or (attributes.table.name, column.name) in visible.attributes
        ]
        have = {k for block in built for k in block.attributes}
        missing = [k for k in wanted if k not in have]
        if missing or (bare and not built):
            block = build_block(reach(), attributes, missing, bare and not built, self._pool, self.n_jobs)
            if block is None:
                entries.memo["blocks", joins] = None
                return []
            built.append(block)
            self._count(block.nbytes)
        return [(block, attributes) for block in built]

    def _checked_reach(self, state: State, chain: Chain) -> Reach:
        reach = self._reach(state, chain.node, chain.joins)
        self._check_size(reach, chain.joins)
        return reach

    def _check_size(self, reach: Reach, joins: tuple[Join, ...]) -> None:
        self.check_count(int(kernels.count_reached(reach.codes, reach.offsets)), joins)

    def check_count(self, count: int, joins: tuple[Join, ...]) -> None:
        """Refuse joins that reach more rows than the limit, and remember that they were."""
        if count > self.max_entries:
            self.refused[joins] = count
            path = " -> ".join(f"{join.table}.{join.column}" for join in joins)
            raise LimitError(f"the join {path} reaches {count:,} rows, more than max_entries={self.max_entries:,}; raise max_entries to follow it")

    def _reach(self, state: State, node: int, joins: tuple[Join, ...]) -> Reach:
        """The last join of a chain as the input of one pass, from the entries of what comes before it."""
        join = joins[-1]
        if len(joins) == 1:
            above, lookup = state.entries[node], lambda ref: state.codes(node, ref, self.key)
        else:
            above = self.entries(state, node, joins[:-1])

            def lookup(ref: Ref) -> Codes:
                if ref.node == FIRST_NEW - (len(joins) - 2):
                    return self.key(joins[-2].table, ref.column, False)[above.rows]
                if len(joins) > 2:
                    raise ValueError("a chain of more than two literals may close on existing variables in its second one only")
                return state.codes(node, ref, self.key)[above.up]

        assert join.source is not None
        index = self.database.index(join.table, join.column)
        equal = [(self.key(join.table, column, False), lookup(ref)) for column, ref in join.equal]
        unequal = [(self.key(join.table, column, False), lookup(ref)) for column, ref in join.unequal]
        return Reach(
            above.example,
            lookup(join.source),
            index.offsets,
            index.rows,
            np.stack([c for c, _ in equal]) if equal else NO_CODES,
            np.stack([c for _, c in equal]) if equal else NO_CODES,
            np.stack([c for c, _ in unequal]) if unequal else NO_CODES,
            np.stack([c for _, c in unequal]) if unequal else NO_CODES,
        )

    def _refine(self, state: State, refinement: Refinement) -> State:
        node, test = refinement.node, refinement.test
        if not refinement.joins:
            assert test is not None
            table = state.specs[node].table
            alive = self.passes(table, test, state.entries[node].rows, node == 0)
            return state.filtered(node, alive, with_test(state.specs, node, test))
        n = len(state.specs)
        specs, entries = list(state.specs), list(state.entries)
        for k in range(len(refinement.joins)):
            joins = refinement.joins[: k + 1]
            last = k == len(refinement.joins) - 1
            tests = (test,) if last and test is not None else ()
            specs.append(Spec(joins[-1].table, node if k == 0 else n + k - 1, _placed(joins[-1], n), tests))
            below = self._below(state, node, joins, test) if last else self.entries(state, node, joins)
            # a memo of its own: what is kept with entries names nodes by their number, which differs between trees
            entries.append(Entries(below.example, below.rows, below.up))
        alive = np.ones(len(entries[-1]), np.bool_)
        return propagate(tuple(specs), entries, state.covered, {len(specs) - 1: alive})

    def _below(self, state: State, node: int, joins: tuple[Join, ...], test: Test | None) -> Entries:
        """The entries of the last literal of a chain that pass its test, for the covered examples only."""
        memo = state.entries[node].memo
        if ("entries", joins) in memo:
            entries: Entries = memo["entries", joins]
            if test is None:
                return entries
            alive = self.passes(joins[-1].table, test, entries.rows, False)
            example, rows, up, _ = kernels.compact(entries.example, entries.rows, entries.up, alive, NO_ROWS)
            return Entries(example, rows, up)
        reach = self._reach(state, node, joins)
        codes = np.where(state.covered[reach.example], reach.codes, CODE(-1))
        allowed = NO_MASK if test is None else self.passes(joins[-1].table, test, None, False)
        example, rows, up = kernels.expand(
            reach.example,
            codes,
            reach.offsets,
            reach.order,
            reach.equal_columns,
            reach.equal_codes,
            reach.unequal_columns,
            reach.unequal_codes,
            allowed,
        )
        return Entries(example, rows, up)

    def passes(self, table: str, test: Test, rows: Codes | None, is_root: bool) -> NDArray[np.bool_]:
        """Which rows of a table pass a test."""
        column = self.column(table, test.column, is_root)
        if column.kind == "key" and test.op == "=":
            code = int(self.database.domains[column.domain or ""].encode([test.value])[0])
            values = self.key(table, test.column, is_root)
            return np.asarray((values if rows is None else values[rows]) == (code if code >= 0 else -3))
        return satisfies(column, test, rows)

    def _count(self, nbytes: int) -> None:
        """Account for what is kept, and forget the states not used for longest when it grows beyond the bound."""
        self._bytes += nbytes
        if self._bytes <= self.cache_bytes:
            return
        self._states.clear()
        self._root = State(self._root.specs, self._root.entries, self._root.covered)
        self._bytes = _memo_bytes(self._root.entries[0])
        if self._bytes > self.cache_bytes:
            self._root.entries[0].memo.clear()
            self._bytes = 0


def _placed(join: Join, n: int) -> Join:
    """A join of a chain with its new literals numbered as nodes of the tree."""

    def place(ref: Ref) -> Ref:
        return ref if ref.node >= 0 else Ref(n + FIRST_NEW - ref.node, ref.column)

    return Join(
        join.table,
        join.column,
        None if join.source is None else place(join.source),
        tuple((column, place(ref)) for column, ref in join.equal),
        tuple((column, place(ref)) for column, ref in join.unequal),
    )


def _grouped(options: list[Option], visible: Visible | None, n_examples: int) -> Group:
    bounds = np.cumsum([0] + [option.block.conditions.size for option in options])
    packs: list[list[Block]] = []
    room = 0
    for option in options:
        if room < option.block.pairs.size:
            packs.append([])
            room = MERGE_LIMIT
        packs[-1].append(option.block)
        room -= option.block.pairs.size
    pairs = tuple(merge(pack, n_examples) for pack in packs)
    return Group(tuple(options), pairs, bounds, _visible_conditions(options, visible))


def _visible_conditions(options: list[Option], visible: Visible | None) -> NDArray[np.bool_] | None:
    """None when every built attribute is visible; otherwise a mask over the conditions of the group."""
    if visible is None:
        return None
    masks = []
    for option in options:
        shown = [(option.attributes.table.name, option.attributes.columns[k].name) in visible.attributes for k in option.block.attributes]
        at = np.searchsorted(option.block.bases, option.block.conditions, side="right") - 1
        masks.append(np.array([True, *shown])[at + 1])
    mask = np.concatenate(masks) if masks else np.ones(0, np.bool_)
    return None if mask.all() else mask


def _memo_bytes(entries: Entries) -> int:
    blocks = sum(block.nbytes for (kind, _), value in entries.memo.items() if kind == "blocks" and value for block in value)
    groups = sum(p.pairs.nbytes for (kind, _), value in entries.memo.items() if kind == "group" for p in value.pairs)
    return int(blocks + groups)
