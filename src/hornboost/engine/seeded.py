"""Refinements that are true of one example, the seed.

Its bottom clause, read off the rows that it reaches (Oliphant et al. 2009, section 3).

The search starts from the empty clause again and again: what can be added at the root is learned once (`roots`), and an
engine over the covered examples alone goes on from there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hornboost.data.table import Table
from hornboost.dtypes import CODE
from hornboost.engine import join_kernels, pair_kernels
from hornboost.engine import seeded_kernels as own
from hornboost.engine.engine import Engine
from hornboost.engine.frontier import NodeOptions, Option, Refinement
from hornboost.engine.joins import Chain
from hornboost.engine.reach import NO_OFFSETS, Codes, Longs
from hornboost.engine.roots import RootBuilder, RootPart
from hornboost.engine.row_conditions import NO_CONDITIONS
from hornboost.engine.seeded_closings import Closings
from hornboost.engine.seeded_tests import OwnTests
from hornboost.engine.state import NO_MASK, Entries, State
from hornboost.engine.tree import Spec, with_test
from hornboost.stopping import check

Mask = NDArray[np.bool_]
Found = tuple[Longs, Longs, Longs]


@dataclass(frozen=True, eq=False, slots=True)
class Tree:
    """The joins of a clause over some of the examples."""

    engine: Engine
    state: State
    examples: Longs


@dataclass(frozen=True, eq=False, slots=True)
class Position:
    """A clause of a search: its structure, the examples that it covers, and its tree once it has joins."""

    specs: tuple[Spec, ...]
    covered: Mask
    tree: Tree | None = None

    @property
    def outline(self) -> State:
        """Structure and coverage alone."""
        return State(self.specs, (), self.covered)

    @property
    def nbytes(self) -> int:
        if self.tree is None:
            return self.covered.nbytes
        return (
            self.covered.nbytes
            + 2 * self.tree.examples.nbytes
            + sum(entries.nbytes for entries in self.tree.state.entries)
        )


@dataclass(frozen=True, eq=False, slots=True)
class Literals:
    """The legal literals of a clause, in the order of the tie-break: fewer new literals, schema order, value order.

    `option` is the option of each, `raw` its condition as `pair_kernels` numbers it, `candidate` its row in the table
    of weights; the first `n_tests` are tests on the example itself and have no such row.
    """

    options: Sequence[Option]
    groups: tuple[NodeOptions, ...]
    option: Longs
    raw: Longs
    candidate: Longs
    n_tests: int

    def __len__(self) -> int:
        return int(self.raw.size)

    def first(self, n: int) -> Literals:
        """The first n of them."""
        return replace(
            self, option=self.option[:n], raw=self.raw[:n], candidate=self.candidate[:n], n_tests=min(n, self.n_tests)
        )

    def refinement(self, i: int) -> Refinement:
        """The step that a literal stands for, a threshold being the seed's own value."""
        option, raw = self.options[self.option[i]], int(self.raw[i])
        if raw == 0:
            return Refinement(option.chain.node, option.chain.joins)
        k = int(np.searchsorted(option.block.bases, raw, side="right")) - 1
        test = option.test(option.block.attributes[k], raw - int(option.block.bases[k]))
        return Refinement(option.chain.node, option.chain.joins, test)


class SeededEngine:
    """Legal literals and their weights for clauses over the examples of an engine.

    Before each pass over rows or pairs work may end.
    """

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._tests = OwnTests.of(engine)
        self._parts: list[RootPart] | None = None
        self._bounds: Longs = np.zeros(1, np.int64)
        self._root_options: list[Option] = []
        self._closings = Closings()
        self._expected: dict[int, tuple[frozenset[int], dict[int, Found]]] = {}
        self._everything = Position(engine.root().specs, engine.root().covered)

    def root(self) -> Position:
        """The clause with an empty body."""
        return self._everything

    def literals(self, position: Position, seed: int) -> Literals:
        """The refinements of a clause that hold for an example that it covers,
        thresholds at the example's own values.
        """
        self._root_parts()
        parts = [self._at_root(seed)]
        options = list(self._root_options)
        groups: list[NodeOptions] = []
        if position.tree is not None:
            tree, start = position.tree, int(self._bounds[-1])
            for node in range(1, len(position.specs)):
                group = self._group(tree, node)
                found = self._of_group(tree, node, group, int(np.searchsorted(tree.examples, seed)))
                parts.append((found[0] + len(options), found[1], found[2] + start))
                options += group.options
                groups.append(group)
                start += group.size
        option, raw, candidate = (np.concatenate(column) for column in zip(*parts, strict=True))
        order = np.argsort(np.array([len(o.chain.joins) for o in options], np.int64)[option], kind="stable")
        n_tests = 0 if self._tests is None else int(np.count_nonzero(parts[0][0] == 0))
        return Literals(options, tuple(groups), option[order], raw[order], candidate[order], n_tests)

    def score(self, position: Position, literals: Literals, weights: Longs, classes: Codes) -> Longs:
        """The weight that each literal leaves covered, by class (negatives, positives); exact."""
        live = np.where(position.covered, weights, 0)
        table = np.empty((len(literals), 2), np.int64)
        n = literals.n_tests
        if self._tests is not None:
            check()
            table[:n] = self._tests.weigh(literals.raw[:n], live, classes)
        if n < len(literals):
            table[n:] = self._behind_joins(position, literals, live, classes)[literals.candidate[n:]]
        return table

    def _behind_joins(self, position: Position, literals: Literals, live: Longs, classes: Codes) -> Longs:
        """The live weight of every condition of the root's chains and of the clause's nodes."""
        sizes = int(self._bounds[-1]) + sum(group.size for group in literals.groups)
        out = np.zeros((sizes, 2), np.int64)
        for part, at in zip(self._root_parts(), self._bounds, strict=False):
            if part.holders is None:
                self._add(self.engine, self.engine.root(), part.group, live, classes, out, int(at))
            else:
                held = part.holders.weights(live, classes, 2)
                for pairs in part.group.pairs:
                    check()
                    into = pairs.own(out, int(at))
                    own.histogram_by_class(pairs.segment_example, pairs.segment_start, pairs.pairs, held, into)
                    pair_kernels.cumulate(into, pairs.starts, pairs.stops)
        at, tree = int(self._bounds[-1]), position.tree
        if tree is not None:
            live, classes = live[tree.examples], classes[tree.examples]
            for group in literals.groups:
                self._add(tree.engine, tree.state, group, live, classes, out, at)
                at += group.size
        return out

    def _add(
        self, engine: Engine, state: State, group: NodeOptions, live: Longs, classes: Codes, out: Longs, at: int
    ) -> None:
        """Write the live weight of each condition of a group, all of it that of covered examples, into `out`."""
        pool, n_jobs = engine.workshop.pool, engine.workshop.n_jobs
        for pairs in group.pairs:
            check()
            pairs.score(live, state.covered, classes, pairs.own(out, at), pool, n_jobs)

    def refine(self, position: Position, literals: Literals, i: int) -> Position:
        """The clause with a literal more; kept, because boosting takes the same steps again."""
        step = literals.refinement(i)
        key = ("position", self.engine.root().number, position.specs, step)
        known: Position | None = self.engine.cache.get(key)
        if known is None:
            check()
            known = self._refine(position, step, literals.options[literals.option[i]], int(literals.raw[i]))
            self.engine.cache.put(key, known, known.nbytes)
        return known

    def _refine(self, position: Position, step: Refinement, option: Option, raw: int) -> Position:
        tree, test = position.tree, step.test if step.node == 0 and not step.joins else None
        if test is not None:
            passes = self.engine.passes(position.specs[0].table, test, None, True)
            specs = with_test(position.specs, 0, test)
            if tree is None:
                return Position(specs, position.covered & passes)
            return Position(
                specs, position.covered & passes, replace(tree, state=self._tested(tree, step, passes, specs))
            )
        if tree is None:
            examples = np.flatnonzero(position.covered & self._covered(option, raw))
            check()
            tree = self._tree(position, examples)
        state = tree.engine.refine(tree.state, step)
        covered = np.zeros(position.covered.size, np.bool_)
        covered[tree.examples[state.covered]] = True
        return Position(state.specs, covered, replace(tree, state=state))

    def _tested(self, tree: Tree, step: Refinement, passes: Mask, specs: tuple[Spec, ...]) -> State:
        """The joins of a clause after a test on the example itself."""
        return tree.state.filtered(0, passes[tree.examples], specs)

    def _tree(self, position: Position, examples: Longs) -> Tree:
        """A clause without joins over some of the examples."""
        engine = self.engine.over(_keys(self.engine.examples, examples))
        return Tree(engine, State(position.specs, engine.root().entries, engine.root().covered), examples)

    def _covered(self, option: Option, raw: int) -> Mask:
        """The examples that satisfy a condition of an option at the root."""
        part = next(part for part in self._root_parts() if any(known is option for known in part.group.options))
        block = option.block
        last = int(np.searchsorted(block.conditions, raw, side="right")) - 1
        thresholds = np.flatnonzero((block.starts <= last) & (last < block.stops))
        first = int(block.starts[thresholds[0]]) if thresholds.size else last
        n = part.n_examples if part.holders is None else len(part.holders)
        found = own.covered_by(block.segment_example, block.segment_end, block.pairs, first, last, n)
        return found if part.holders is None else np.asarray(found[part.holders.holder])

    def _root_parts(self) -> list[RootPart]:
        if self._parts is None:
            self._parts = self._built_parts()
            self._bounds = np.cumsum([0, *(part.group.size for part in self._parts)])
            placed = [
                (place, option)
                for part in self._parts
                for place, option in zip(part.places, part.group.options, strict=True)
            ]
            chains = [option for _, option in sorted(placed, key=lambda pair: int(pair[0]))]
            self._root_options = chains if self._tests is None else [self._tests.option, *chains]
        return self._parts

    def _built_parts(self) -> list[RootPart]:
        """What can be added at the root."""
        return RootBuilder(self.engine).parts()

    def expect(self, seeds: Sequence[int], positive: int) -> None:
        """Say which seeds of a class come next, in place of those expected before; classes may learn in turns.

        What holds for them is looked up together, which takes little longer than for one.
        """
        self._expected[positive] = frozenset(seeds), {}

    def _at_root(self, seed: int) -> Found:
        """The options, raw conditions and candidates of the seed at the root."""
        for expected, literals in self._expected.values():
            if seed in expected:
                if not literals:
                    literals |= self._of_seeds(list(expected))
                return literals[seed]
        key = ("literals", self.engine.root().number, seed)
        known: Found | None = self.engine.cache.get(key)
        if known is None:
            known = self._of_seeds([seed])[seed]
            self.engine.cache.put(key, known, sum(column.nbytes for column in known))
        return known

    def _of_seeds(self, seeds: Sequence[int]) -> dict[int, Found]:
        """The literals of some seeds at the root, each in the order of options and conditions."""
        chosen = np.unique(np.asarray(seeds, CODE))
        n = chosen.size
        rank = {id(option): k for k, option in enumerate(self._root_options)}
        found: list[tuple[Longs, Longs, Longs, Longs]] = []
        if self._tests is not None:
            raw, counts = self._tests.conditions(chosen)
            found.append(
                (np.repeat(np.arange(n), counts), np.zeros(raw.size, np.int64), raw, np.zeros(raw.size, np.int64))
            )
        for part, at in zip(self._root_parts(), self._bounds, strict=False):
            ranks = np.array([rank[id(option)] for option in part.group.options], np.int64)
            who, number, raw, candidate = self._of_part(part, chosen)
            found.append((who, ranks[number], raw, candidate + at))
        who, option, raw, candidate = (np.concatenate(column) for column in zip(*found, strict=True))
        order = np.lexsort((raw, option, who))
        cuts = np.searchsorted(who[order], np.arange(1, n))
        columns = (np.split(column[order], cuts) for column in (option, raw, candidate))
        return dict(zip(chosen.tolist(), zip(*columns, strict=True), strict=True))

    def _of_part(self, part: RootPart, chosen: Codes) -> tuple[Longs, Longs, Longs, Longs]:
        """The conditions of a part that hold for some examples."""
        return conditions_of(self.engine, alone(self.engine, chosen), part.group, chosen.size)

    def _group(self, tree: Tree, node: int) -> NodeOptions:
        engine, state = tree.engine, tree.state
        key = ("group", state.entries[node].number, node, None)
        known: NodeOptions | None = engine.cache.get(key)
        if known is None:
            options: list[Option] = []
            for chain in (
                Chain(node, ()),
                *engine.graph.chains(state, node, None, engine.max_depth, engine.look_ahead),
            ):
                check()
                known_closing = self._closings.knows(chain)
                options += (
                    self._closings.options(engine, state, chain)
                    if known_closing
                    else engine.options(state, chain, None)
                )
            known = NodeOptions.of(options)
            engine.cache.put(key, known, known.nbytes)
        return known

    def _of_group(self, tree: Tree, node: int, group: NodeOptions, example: int) -> Found:
        key = ("literals", tree.state.entries[node].number, node, example)
        known: Found | None = self.engine.cache.get(key)
        if known is None:
            known = self._of_one(tree, group, example)
            self.engine.cache.put(key, known, sum(column.nbytes for column in known))
        return known

    def _of_one(self, tree: Tree, group: NodeOptions, example: int) -> Found:
        """The conditions of a group of a tree that hold for one of its examples."""
        return conditions_of(tree.engine, only(tree.state, example), group, 1)[1:]


def conditions_of(engine: Engine, state: State, group: NodeOptions, n: int) -> tuple[Longs, Longs, Longs, Longs]:
    """The conditions of a group that hold on the rows of the examples 0..n.

    Example, option, raw number, row in the group's table.
    """
    whose, numbers, raws, candidates = [NO_OFFSETS], [NO_OFFSETS], [NO_OFFSETS], [NO_OFFSETS]
    for number, (option, start) in enumerate(zip(group.options, group.bounds, strict=False)):
        check()
        block, chain = option.block, option.chain
        example, rows = state.entries[chain.node].example, state.entries[chain.node].rows
        if chain.joins:
            reach = engine.checked_reach(state, chain.node, chain.joins)
            rows, up = join_kernels.expand(*reach.edges, NO_MASK, *NO_CONDITIONS)
            example = reach.example[up]
        who, raw = _own_conditions(engine, state, option, n, example, rows)
        whose.append(who)
        numbers.append(np.full(raw.size, number, np.int64))
        raws.append(raw)
        # a threshold that no example's extreme value equals covers what the next tighter one covers
        candidates.append(block.conditions.searchsorted(raw, side="right") - 1 + start)
    return np.concatenate(whose), np.concatenate(numbers), np.concatenate(raws), np.concatenate(candidates)


def _own_conditions(
    engine: Engine, state: State, option: Option, n: int, example: Codes, rows: Codes
) -> tuple[Longs, Longs]:
    """The conditions of an option that hold on the rows of each of the examples 0..n, and whose each is."""
    block, attributes = option.block, option.attributes
    coded = tuple(k for k in block.attributes if k != attributes.age)
    codes, layout = attributes.codes(coded), attributes.layout(coded)
    at, joined = rows, bool(option.chain.joins)
    if attributes.has_late:
        codes, at = attributes.seen(coded, rows, engine.cutoffs(state, example)), np.arange(rows.size, dtype=CODE)
    raw, counts = own.own_conditions_each(
        n, example, at, joined, codes, layout.selected, layout.sizes, layout.numeric, layout.bases
    )
    who = np.repeat(np.arange(n), counts)
    if block.ages is None:
        return who, raw
    ages = engine.ages(state, attributes.table.name, example, rows)
    offset = np.concatenate(block.ages.of_rows(ages))
    both = np.stack([np.tile(example, 2), offset + block.bases[-1]])[:, offset >= 0]
    of_age = np.unique(both, axis=1)
    order = np.lexsort((np.append(raw, of_age[1]), np.append(who, of_age[0])))
    return np.append(who, of_age[0])[order], np.append(raw, of_age[1])[order]


def _keys(table: Table, rows: Longs) -> Table:
    """The keys of some rows of a table."""
    columns = {column.name: replace(column, values=column.values[rows]) for column in table.keys}
    times = None if table.times is None else table.times.holding(table.times.values[rows])
    return Table(table.name, columns, rows.size, times=times)


def alone(engine: Engine, chosen: Codes) -> State:
    """The clause with an empty body as some of the examples see it, as examples 0, 1 and so on."""
    places = np.arange(chosen.size, dtype=CODE)
    return State(engine.root().specs, (Entries(places, chosen, places),), np.ones(chosen.size, np.bool_))


def only(state: State, example: int) -> State:
    """The state as one example sees it: its own entries, as those of example 0, with parents renumbered."""
    entries: list[Entries] = []
    starts: list[int] = []
    for k, everyone in enumerate(state.entries):
        lo, hi = everyone.example.searchsorted([example, example + 1])
        up: Codes = everyone.up[lo:hi] if k == 0 else everyone.up[lo:hi] - CODE(starts[state.specs[k].parent])
        entries.append(Entries(np.zeros(hi - lo, CODE), everyone.rows[lo:hi], up))
        starts.append(int(lo))
    return State(state.specs, tuple(entries), state.covered)
