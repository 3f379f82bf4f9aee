"""All refinements of a clause as numbered candidates, and which step each number stands for."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import accumulate
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hornboost.engine.attributes import Attributes
from hornboost.engine.blocks import Block, Pairs
from hornboost.engine.columns import OwnColumns
from hornboost.engine.joins import FIRST_NEW, Chain
from hornboost.engine.state import State
from hornboost.engine.tree import Join, Ref, Spec, with_test
from hornboost.logic.clause import Test

MERGE_LIMIT = 4_000_000
"""Blocks with more pairs than this in sum stay apart: putting them together would copy more than it saves."""

FEW = 4
"""So many ties are sooner compared one by one than sorted by block."""


@dataclass(frozen=True, slots=True)
class Refinement:
    """One step from a clause to a more special one.

    A test on a node, or new literals with or without a test on the last.
    """

    node: int
    joins: tuple[Join, ...] = ()
    test: Test | None = None


class Wanted(NamedTuple):
    """A block that a frontier is made of: conditions on some attributes behind a chain, or on aggregates of examples.

    `bare` says whether the literal without a test is among them, `is_piece` whether further blocks of the chain have
    the other attributes that are in sight, `even_idle` whether it is wanted although its closing says nothing.
    """

    chain: Chain
    selected: tuple[int, ...]
    bare: bool = True
    is_piece: bool = False
    aggregated: bool = False
    even_idle: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Option:
    """A block of the frontier: where its conditions belong in the clause."""

    chain: Chain
    block: Block
    attributes: Attributes

    def test(self, attribute: int, offset: int) -> Test:
        """The condition that the block numbers `offset` from the base of an attribute."""
        if attribute != self.attributes.age:
            return self.attributes.test(attribute, offset)
        assert self.block.ages is not None
        column = self.attributes.columns[attribute]
        return self.block.ages.test(offset, column.name, column.is_date)

    def columns(self) -> OwnColumns | None:
        """The conditions as columns, if they are about the examples' own rows."""
        if self.chain.node != 0 or self.chain.joins or self.block.holders is not None or self.block.ages is not None:
            return None
        return OwnColumns.of(self.block, self.attributes.numeric[list(self.block.attributes)])


@dataclass(frozen=True, eq=False, slots=True)
class NodeOptions:
    """What can be added at one node: its options, and their pairs ready to be weighted."""

    options: tuple[Option, ...]
    pairs: tuple[Pairs, ...]
    bounds: tuple[int, ...]
    ranks: tuple[int, ...]
    """Of each option the number of the first one of its chain:
    several blocks of a chain share its place in schema order."""
    steps: dict[int, Refinement] = field(default_factory=dict, init=False)
    """The refinements that were asked for: boosting takes the same steps again."""

    @classmethod
    def of(cls, options: Sequence[Option]) -> NodeOptions:
        """Options in schema order; those over the same holders are weighed at once, the examples' own columns alone."""
        bounds = tuple(accumulate((option.block.conditions.size for option in options), initial=0))
        packs: list[list[int]] = []
        open_packs: dict[int, tuple[list[int], int]] = {}
        columns: dict[int, OwnColumns] = {}
        for k, option in enumerate(options):
            found = option.columns()
            if found is not None:
                columns[k] = found
                packs.append([k])
                continue
            pack, room = open_packs.get(id(option.block.holders), ([], -1))
            if room < option.block.pairs.size:
                pack, room = [], MERGE_LIMIT
                packs.append(pack)
            pack.append(k)
            open_packs[id(option.block.holders)] = pack, room - option.block.pairs.size
        pairs = tuple(
            Pairs.of([options[k].block for k in pack], [bounds[k] for k in pack], columns.get(pack[0]))
            for pack in packs
        )
        ranks: list[int] = []
        for k, option in enumerate(options):
            ranks.append(ranks[-1] if k > 0 and option.chain is options[k - 1].chain else k)
        return cls(tuple(options), pairs, bounds, tuple(ranks))

    @property
    def size(self) -> int:
        return self.bounds[-1]

    def step(self, candidate: int) -> Refinement:
        """The step that a candidate number of this group stands for."""
        known = self.steps.get(candidate)
        if known is None:
            o = bisect_right(self.bounds, candidate) - 1
            option = self.options[o]
            attribute, offset = option.block.locate(candidate - self.bounds[o])
            test = None if attribute < 0 else option.test(attribute, offset)
            known = self.steps[candidate] = Refinement(option.chain.node, option.chain.joins, test)
        return known

    @property
    def nbytes(self) -> int:
        return sum(pairs.nbytes for pairs in self.pairs) + sum(option.block.nbytes for option in self.options)


@dataclass(frozen=True, eq=False, slots=True)
class Frontier:
    """All refinements of a state; candidate numbers run through its groups."""

    state: State
    groups: tuple[NodeOptions, ...]
    bounds: tuple[int, ...]

    @classmethod
    def of(cls, state: State, groups: tuple[NodeOptions, ...]) -> Frontier:
        return cls(state, groups, tuple(accumulate([group.bounds[-1] for group in groups], initial=0)))

    def __len__(self) -> int:
        return self.bounds[-1]

    def place(self, candidate: int) -> tuple[int, int, int]:
        """The group of a candidate, its option within the group, and its number within the option's block."""
        g = bisect_right(self.bounds, candidate) - 1
        local = candidate - self.bounds[g]
        bounds = self.groups[g].bounds
        o = bisect_right(bounds, local) - 1
        return g, o, local - bounds[o]

    def refinement(self, candidate: int) -> Refinement:
        """The step that a candidate number stands for."""
        g = bisect_right(self.bounds, candidate) - 1
        return self.groups[g].step(candidate - self.bounds[g])

    def first(self, candidates: NDArray[np.int64]) -> int:
        """The tie-break: the fewest new literals, then schema order, then value order.

        Within a block conditions are in that order, so only the first candidate of each block is compared.
        """
        if self.place(int(candidates[0]))[:2] == self.place(int(candidates[-1]))[:2]:
            return int(candidates[0])
        few: list[int] = candidates.tolist() if candidates.size <= FEW else []
        if few:
            return min(few, key=self._order)
        groups = zip(self.groups, self.bounds, strict=False)
        starts = [shift + start for group, shift in groups for start in group.bounds[:-1]]
        at = np.unique(np.searchsorted(candidates, starts))
        firsts: list[int] = candidates[at[at < candidates.size]].tolist()
        return min(firsts, key=self._order)

    def _order(self, candidate: int) -> tuple[int, int, int, int, int]:
        g, o, condition = self.place(candidate)
        option = self.groups[g].options[o]
        return (len(option.chain.joins), g, self.groups[g].ranks[o], *option.block.locate(condition))


def refined_specs(specs: tuple[Spec, ...], refinement: Refinement) -> tuple[Spec, ...]:
    """The structure of a clause after a step."""
    node, test, joins, n = refinement.node, refinement.test, refinement.joins, len(specs)
    if not joins:
        assert test is not None
        return with_test(specs, node, test)
    new = []
    for k, join in enumerate(joins):
        tests = () if test is None or k < len(joins) - 1 else (test,)
        new.append(Spec(join.table, node if k == 0 else n + k - 1, _placed(join, n), tests))
    return (*specs, *new)


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
