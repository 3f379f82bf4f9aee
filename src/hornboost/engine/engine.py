"""The engine: coverage of every refinement of a clause at once, kept between rounds within a memory bound."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np
from numpy.typing import NDArray

from hornboost.data.bins import MAX_BINS
from hornboost.data.table import Table
from hornboost.dtypes import CODE, WEIGHT
from hornboost.engine import pair_kernels
from hornboost.engine.attributes import Attributes, Inputs
from hornboost.engine.blocks import Block, Held, build_block, pass_over, zeros
from hornboost.engine.cache import Cache
from hornboost.engine.facts import Facts, writable
from hornboost.engine.frontier import Frontier, NodeOptions, Option, Refinement, Wanted
from hornboost.engine.holders import Holders, n_reached, root_columns
from hornboost.engine.joins import Chain, JoinGraph, Visible
from hornboost.engine.needs import (
    ENTRY_BYTES,
    EVERY_WAY,
    MOST_ENTRIES,
    USUAL_CACHE,
    Needs,
    Ways,
    cache_within,
)
from hornboost.engine.numbers import Look, Numbers
from hornboost.engine.pieces import TooManyAtOnceError, by_pieces, joined_block
from hornboost.engine.reach import (
    NO_OFFSETS,
    NO_ROWS,
    Codes,
    Reach,
)
from hornboost.engine.refining import Refining
from hornboost.engine.state import State, root_state
from hornboost.engine.tree import Join
from hornboost.engine.united import Told, told_of
from hornboost.engine.workshop import Workshop
from hornboost.errors import LimitError
from hornboost.stopping import check

if TYPE_CHECKING:
    from hornboost.data import Database

BARE = -1
"""Stands for the literal without a test among the attributes of a block."""


class Place(NamedTuple):
    """Where a group of a frontier belongs: what it is kept under, its node, and what a learner may see there."""

    key: tuple[Any, ...]
    node: int
    visible: Visible | None
    aggregated: bool = False


class Engine(Refining):
    """Scores and applies the refinements of clauses over a set of examples.

    `examples` is the encoded root (`Database.encode`). Where the literals on the way to another have more than
    `max_entries` entries, they are followed for some of the examples after the others. A chain of joins that reaches
    more rows than fit into `memory_limit` is refused and recorded in `refused`; one that reaches more than `ways`
    allows is left out, too. Blocks and states are kept within `cache_bytes` (a quarter of what the tables leave of the
    memory, or 1 GB if that is more), and no more than half of what they leave. Keys of the domains in `constants` can
    be tested like nominal attributes. Of a numeric column, and of ages, at most `max_bins` thresholds are tried in each
    direction, of all columns of a table at most `max_thresholds`. Nothing depends on `n_jobs` or on what is kept but
    the time.
    """

    def __init__(
        self,
        database: Database,
        examples: Table,
        *,
        max_depth: int = 2,
        look_ahead: int = 2,
        max_entries: int = 50_000_000,
        cache_bytes: int | None = None,
        memory_limit: int | str | None = None,
        n_jobs: int = 1,
        constants: Sequence[str] = (),
        max_bins: int = MAX_BINS,
        max_thresholds: int | None = None,
        ways: Ways = EVERY_WAY,
        workshop: Workshop | None = None,
    ) -> None:
        self.database = database
        self.examples = examples = examples.as_known()
        self.max_depth = max_depth
        self.look_ahead = look_ahead
        self.max_entries = max_entries
        self.ways = ways
        if workshop is None:
            room = Needs.of(database).room_within(memory_limit, is_part=database.given_facts is not None)
            if cache_bytes is None and database.stored is not None:
                cache_bytes = USUAL_CACHE  # partitions may be on other machines, and are opened beside what is kept
            cache = Cache(cache_within(room, cache_bytes))
            workshop = Workshop(cache, n_jobs, min(room // ENTRY_BYTES, MOST_ENTRIES))
        self.workshop = workshop
        self.cache = self.workshop.cache
        self.facts = Facts.of(database)
        self.graph = JoinGraph.of(self.facts, examples)
        self.constants = tuple(constants)
        self.max_bins = max_bins
        self.max_thresholds = max_thresholds
        named = {name: database.domains[name].values for name in constants}
        self._root_attributes = Attributes(examples, named, max_bins=max_bins, max_thresholds=max_thresholds)
        self._attributes: dict[str, Attributes] = {}
        self._of_rows: dict[Visible, Visible] = {}
        self._aggregates = Attributes(examples, aggregated=True, max_bins=max_bins)
        self._root_keys = {column.name: writable(column.values, CODE) for column in examples.keys}
        self._root = root_state(examples.n_rows, examples.name)
        self._shared_by: dict[str, tuple[Engine, Holders] | None] = {}

    def over(self, examples: Table) -> Engine:
        """An engine over other examples with the same limits and constants,
        which shares threads and memory with this one.
        """
        return Engine(
            self.database,
            examples,
            max_depth=self.max_depth,
            look_ahead=self.look_ahead,
            max_entries=self.max_entries,
            constants=self.constants,
            max_bins=self.max_bins,
            max_thresholds=self.max_thresholds,
            ways=self.ways,
            workshop=self.workshop,
        )

    def shared_by(self, column: str) -> tuple[Engine, Holders] | None:
        """An engine over the distinct keys of a column of the examples, and who has which; None where few share one."""
        if column not in self._shared_by:
            holders = Holders.of(self.examples, column)
            self._shared_by[column] = None if holders is None else (self.over(holders.table), holders)
        return self._shared_by[column]

    @property
    def refused(self) -> dict[tuple[Join, ...], int]:
        """The joins that reach too many rows, and how many."""
        return self.workshop.refused

    @property
    def most_entries(self) -> int:
        """How many entries of a literal there is room for."""
        return self.workshop.most_entries

    @property
    def limits(self) -> Ways:
        """How many rows joins may reach, in all partitions together, before they are refused."""
        return self.ways.within(self.most_entries)

    def follow(self, ways: Ways) -> None:
        """Follow so many rows from now on."""
        self.ways = ways

    def note_refused(self, joins: tuple[Join, ...], count: int) -> None:
        """Remember joins that all partitions, or pieces, together have no room for."""
        if count > self.most_entries:
            self.refused[joins] = count

    def root(self) -> State:
        """The state of the clause with an empty body."""
        return self._root

    def look(
        self,
        state: State,
        step: Refinement | None,
        numbers: Numbers,
        visible: Visible | None = None,
        seen: Look | None = None,
    ) -> Look:
        """The sums for all refinements of a clause, after a step where there is one.

        `seen` are those of a clause that the step, or an earlier one, was taken from.
        """
        if step is not None:
            state = self.refine(state, step)
        frontier = self.frontier(state, visible)
        return Look(state, frontier, numbers.of(self, frontier, seen))

    def look_again(self, seen: Look, visible: Visible | None) -> Look | None:
        """The sums for what is visible of all refinements of a clause, if these were seen and are kept."""
        known = seen.by_group()
        groups = [self.cache.get(place.key) for place in self.places(seen.state, visible)]
        if not groups or any(id(group) not in known for group in groups):
            return None
        sums = np.concatenate([known[id(group)] for group in groups])
        return Look(seen.state, Frontier.of(seen.state, tuple(groups)), sums)

    def frontier(self, state: State, visible: Visible | None = None, nodes: Sequence[int] | None = None) -> Frontier:
        """Every refinement of a clause, or those at some of its nodes.

        Under `visible` only what the learner may see.
        """
        places = self.places(state, visible, nodes)
        groups: list[NodeOptions | None] = [self.cache.get(place.key) for place in places]
        new = [k for k, group in enumerate(groups) if group is None]
        if new:
            made = self._made(state, [self.wanted_at(state, places[k]) for k in new])
            for k, group in zip(new, made, strict=True):
                groups[k] = group
                self.cache.put(places[k].key, group, group.nbytes)
        return Frontier.of(state, tuple(cast(list[NodeOptions], groups)))

    def places(self, state: State, visible: Visible | None, nodes: Sequence[int] | None = None) -> list[Place]:
        """Where the groups of a frontier belong."""
        at = range(len(state.specs)) if nodes is None else nodes
        # tests on aggregates are a group of their own, and negations none, so that the others are the same without them
        others = None if visible is None else self._of_single_rows(visible)
        found = [Place(("group", state.entries[node].number, node, others), node, others) for node in at]
        if self._aggregates.columns and 0 in at and (visible is None or visible.aggregates):
            found.append(Place(("aggregates", state.entries[0].number), 0, None, aggregated=True))
        return found

    def _of_single_rows(self, visible: Visible) -> Visible:
        if not (visible.aggregates or visible.negations):
            return visible
        if visible not in self._of_rows:
            self._of_rows[visible] = replace(visible, aggregates=False, negations=False)
        return self._of_rows[visible]

    def wanted_at(self, state: State, place: Place) -> list[Wanted]:
        """The blocks of a group."""
        return self._aggregated() if place.aggregated else self._of_node(state, place.node, place.visible)

    def score(
        self, frontier: Frontier, weights: NDArray[np.int64], classes: Codes, n_classes: int
    ) -> NDArray[np.int64]:
        """The weight that each refinement covers, by class: an integer table of candidates by classes, exact."""
        weights, classes, covered = writable(weights, WEIGHT), writable(classes, CODE), frontier.state.covered
        out = zeros(len(frontier), n_classes)
        pool, n_jobs = self.workshop.pool, self.workshop.n_jobs
        for group, start in zip(frontier.groups, frontier.bounds, strict=False):
            for pairs in group.pairs:
                check()
                pairs.score(weights, covered, classes, pairs.own(out, start), pool, n_jobs)
        return out

    def sums(self, frontier: Frontier, channels: NDArray[np.int64], seen: Look | None = None) -> NDArray[np.int64]:
        """The sums of signed numbers, a column a channel, over each refinement's examples: exact, in one pass.

        Where most examples of a clause that was `seen` are still covered, those of the others are taken from its sums.
        """
        covered = frontier.state.covered
        out, held = zeros(len(frontier), channels.shape[1]), Held()
        pool, n_jobs = self.workshop.pool, self.workshop.n_jobs
        known = seen.by_group() if seen is not None and 2 * np.count_nonzero(covered) > covered.size else {}
        others, held_by_others = seen.state.covered & ~covered if seen is not None and known else covered, Held()
        for group, start, stop in zip(frontier.groups, frontier.bounds, frontier.bounds[1:], strict=False):
            before = known.get(id(group))
            for pairs in group.pairs:
                check()
                who, sums_by_key = (covered, held) if before is None else (others, held_by_others)
                pairs.sum_channels(channels, who, pairs.own(out, start), pool, n_jobs, sums_by_key)
            if before is not None:
                np.subtract(before, out[start:stop], out=out[start:stop])
        return out

    def covered_weight(
        self, state: State, weights: NDArray[np.int64], classes: Codes, n_classes: int
    ) -> NDArray[np.int64]:
        """The weight that a state covers, by class."""
        out = np.zeros(n_classes, np.int64)
        pair_kernels.class_totals(writable(weights, WEIGHT), writable(classes, CODE), state.covered, out)
        return out

    def key(self, table: str, column: str, is_root: bool) -> Codes:
        """The codes of a key column, of the examples themselves or of a table of the database."""
        return self._root_keys[column] if is_root else self.facts.key(table, column)

    def attributes(self, table: str, is_root: bool) -> Attributes:
        """The codes of a table's attributes."""
        if is_root:
            return self._root_attributes
        found = self._attributes.get(table)
        if found is None:
            limits = self.max_bins, self.max_thresholds
            found = self._attributes[table] = self.facts.attributes(table, self.constants, *limits)
        return found

    def _of_node(self, state: State, node: int, visible: Visible | None) -> list[Wanted]:
        """The blocks of all that can be added at a node."""
        chains = (Chain(node, ()), *self.graph.chains(state, node, visible, self.max_depth, self.look_ahead))
        return [one for chain in chains for one in self._of_chain(state, chain, visible)]

    def _aggregated(self) -> list[Wanted]:
        """The block of tests on the aggregates of the examples."""
        return [Wanted(Chain(0, ()), tuple(range(len(self._aggregates.columns))), aggregated=True)]

    def _of_chain(self, state: State, chain: Chain, visible: Visible | None) -> list[Wanted]:
        """The blocks of a chain: one for all attributes, or one for each set of them that came into sight together."""
        table = chain.table if chain.joins else state.specs[chain.node].table
        attributes = self.attributes(table, chain.node == 0 and not chain.joins)
        bare = {BARE} if chain.joins else set()
        if visible is None:
            everything = tuple(range(len(attributes.columns)))
            return [Wanted(chain, everything)] if everything or bare else []
        shown = {k for k, column in enumerate(attributes.columns) if (table, column.name) in visible.attributes}
        pieces = self._pieces(state, chain, bare | shown)
        return [Wanted(chain, tuple(sorted(held - {BARE})), BARE in held, is_piece=True) for held in pieces]

    def _pieces(self, state: State, chain: Chain, wanted: set[int]) -> list[frozenset[int]]:
        """The attributes wanted in sets: those of blocks made before, and what has come into sight since."""
        key = ("pieces", state.entries[chain.node].number, chain.joins)
        known: tuple[frozenset[int], ...] = self.cache.get(key) or ()
        pieces, left = [], frozenset(wanted)
        for held in known:
            if held <= left:
                pieces.append(held)
                left -= held
        if left:
            pieces.append(left)
            self.cache.put(key, (*known, left), 0)
        return pieces

    def _made(self, state: State, groups: Sequence[Sequence[Wanted]]) -> Sequence[NodeOptions]:
        """What can be added at some nodes, given by its blocks."""
        return [NodeOptions.of(self._options(state, wanted, by_key=True)) for wanted in groups]

    def options(self, state: State, chain: Chain, visible: Visible | None) -> list[Option]:
        """The blocks of a chain, those left out that reach too much, or whose closing drops nothing.

        Their pairs are those of examples.
        """
        return self._options(state, self._of_chain(state, chain, visible), by_key=False)

    def _options(self, state: State, wanted: Sequence[Wanted], *, by_key: bool) -> list[Option]:
        made = [self._piece if one.is_piece else self._block for one in wanted]
        blocks = [(one, make(state, one, by_key=by_key)) for one, make in zip(wanted, made, strict=True)]
        return [Option(one.chain, block, self.shown(state, one)) for one, block in blocks if block is not None]

    def _piece(self, state: State, wanted: Wanted, *, by_key: bool) -> Block | None:
        """A block that is kept for when further attributes come into sight."""
        key = ("piece", state.entries[wanted.chain.node].number, wanted, by_key)
        known: tuple[Block | None] | None = self.cache.get(key)
        if known is None:
            known = (self._block(state, wanted, by_key=by_key),)
            self.cache.put(key, known, 0 if known[0] is None else known[0].nbytes)
        return known[0]

    def shown(self, state: State, wanted: Wanted) -> Attributes:
        """The attributes that a block is about."""
        if wanted.aggregated:
            return self._aggregates
        chain = wanted.chain
        table = chain.table if chain.joins else state.specs[chain.node].table
        return self.attributes(table, chain.node == 0 and not chain.joins)

    def _block(self, state: State, wanted: Wanted, *, by_key: bool) -> Block | None:
        """The conditions on some attributes behind a chain, by example; by key where many share the one it hangs on.

        None when it reaches too much, or its closing drops nothing.
        """
        held = self._shared(wanted) if by_key else None
        try:
            if held is not None:
                return self._block_of_keys(wanted, *held)
            closed = self.closed(state, wanted.chain.node, wanted.chain.joins)
            if closed is None:
                reach, inputs = self.pass_of(state, wanted, self.max_entries, distinct=True)
            else:
                self.check_count(closed.n_reached, wanted.chain.joins)
                reach, inputs = closed.reach, self.inputs_of(state, wanted)
        except TooManyAtOnceError:
            return self._block_by_pieces(state, wanted)
        except LimitError:
            return None
        bare = wanted.bare and bool(wanted.chain.joins)
        dropped = closed is not None and closed.dropped
        return build_block(reach, inputs, bare, self.workshop.pool, self.workshop.n_jobs, dropped)

    def _shared(self, wanted: Wanted) -> tuple[Engine, Holders] | None:
        """By what the rows of a block are held, if it hangs on one key of the examples that many share.

        How ages are told apart depends on how many examples have each.
        """
        columns = root_columns(wanted.chain) if wanted.chain.node == 0 else set()
        if len(columns) != 1 or self.attributes(wanted.chain.table, False).age in wanted.selected:
            return None
        return self.shared_by(columns.pop())

    def _block_of_keys(self, wanted: Wanted, over: Engine, holders: Holders) -> Block | None:
        """A block whose segments are those of keys; refused where the examples together reach too much."""
        joins = wanted.chain.joins
        for k in range(1, len(joins) + 1):
            reach = over.reach(over.root(), 0, joins[:k], self.max_entries)
            self.check_count(n_reached(reach, holders), joins[:k], on_the_way=k < len(joins))
        block = over._block(over.root(), wanted, by_key=False)
        return None if block is None else replace(block, holders=holders)

    def _block_by_pieces(self, state: State, wanted: Wanted) -> Block | None:
        """The same, joined from those of pieces of the examples."""
        joins = wanted.chain.joins

        def of_piece(part: State) -> tuple[Block, Told]:
            held = [
                self.held_entries(part, wanted.chain.node, joins[:k], self.max_entries) for k in range(1, len(joins))
            ]
            reach, inputs = self.pass_of(part, wanted, self.max_entries)
            counts = 0, *map(len, held), reach.count_rows()
            every = inputs._replace(max_bins=MOST_ENTRIES)
            block, dropped = pass_over(reach, every, wanted.bare, self.workshop.pool, self.workshop.n_jobs)
            return block, told_of(block, dropped, counts)

        try:
            block, told = joined_block(by_pieces(state, of_piece), self.shown(state, wanted), wanted)
        except LimitError:
            return None
        most = told.too_many(wanted.chain, self.limits)
        if most is not None:
            self.note_refused(*most)
        return None if told.is_left_out(wanted, self.limits) else block

    def pass_of(
        self, state: State, wanted: Wanted, at_once: int = MOST_ENTRIES, *, distinct: bool = False
    ) -> tuple[Reach, Inputs]:
        """What the pass over the rows of a block reads; refused where there are too many.

        Entries of an example that reach the same rows may be read once, which tells the same of the example.
        """
        check()
        chain = wanted.chain
        if chain.joins:
            follow_joins = self.distinct_reach if distinct else self.checked_reach
            return follow_joins(state, chain.node, chain.joins, at_once), self.inputs_of(state, wanted)
        entries, table = state.entries[chain.node], state.specs[chain.node].table
        if chain.node == 0:
            return Reach(entries.example, entries.rows, NO_OFFSETS, NO_ROWS), self.inputs_of(state, wanted)
        return self.rows_alone(state, table, entries.example, entries.rows), self.inputs_of(state, wanted)

    def inputs_of(self, state: State, wanted: Wanted) -> Inputs:
        """What the pass over the rows of a block reads of their attributes."""
        attributes, joins = self.shown(state, wanted), wanted.chain.joins
        if not joins:
            return attributes.inputs(wanted.selected)
        last = joins[-1]
        return attributes.inputs(wanted.selected, (last.column, self.database.index(last.table, last.column)))

    def ask(self, question: Callable[..., Any], *arguments: Any) -> list[Any]:
        """What `question(engine, *arguments)` gives of all examples: here at once, elsewhere by partition."""
        return [question(self, *arguments)]

    def total(self, question: Callable[..., NDArray[np.int64]], *arguments: Any) -> NDArray[np.int64]:
        """The sum of what `question(engine, *arguments)` gives of some of the examples each."""
        return question(self, *arguments)

    def together(self, answers: Sequence[NDArray[Any]], offsets: NDArray[np.int64] | None = None) -> NDArray[Any]:
        """Answers about each example, or about rows of each that begin at `offsets`, in the order of the examples."""
        return answers[0]
