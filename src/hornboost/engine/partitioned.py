"""An engine over partitions: what each of them tells about its examples, added up; learners cannot tell the difference.

It holds what an example is told by, the rows passed in and numbers of each; the rows behind them stay in the
partitions. Coverage comes from there as bits, statistics as sums of integers, which do not care where they are added.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hornboost.data.table import Table
from hornboost.dtypes import CODE, WEIGHT
from hornboost.engine import part as work
from hornboost.engine.engine import Engine
from hornboost.engine.facts import writable
from hornboost.engine.frontier import Frontier, NodeOptions, Option, Refinement, Wanted, refined_specs
from hornboost.engine.joins import Chain
from hornboost.engine.needs import MOST_ENTRIES
from hornboost.engine.pair_kernels import cumulate
from hornboost.engine.part import Asked, Setup, Step, new_token
from hornboost.engine.parts import Handle, Parts, PerPart
from hornboost.engine.placement import Placement
from hornboost.engine.reach import NO_ROWS, Codes
from hornboost.engine.state import Entries, State
from hornboost.engine.tree import Join
from hornboost.engine.united import Told, numbered, united
from hornboost.errors import DataError
from hornboost.stopping import check

if TYPE_CHECKING:
    from hornboost.data import Database


@dataclass(frozen=True, eq=False, slots=True)
class ClauseElsewhere(State):
    """A state whose entries lie in the partitions, which find them by the steps from the root."""

    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, eq=False, slots=True)
class Group(NodeOptions):
    """What can be added at one node, as it was asked for, and what the partitions know of it together."""

    asked: Asked
    together: Handle


class PartitionedEngine(Engine):
    """Scores and applies the refinements of clauses over examples that lie in the partitions of a database."""

    def __init__(self, database: Database, examples: Table, **options: Any) -> None:
        super().__init__(database, examples, **options)
        assert database.parts is not None
        self.parts: Parts = database.parts
        self._sent: dict[str, tuple[NDArray[Any], PerPart]] = {}
        root = super().root()
        self._root = ClauseElsewhere(root.specs, root.entries, root.covered)

    @cached_property
    def placement(self) -> Placement:
        """Which examples lie where."""
        return Placement.of(self.database, self.examples)

    @cached_property
    def _setup(self) -> PerPart:
        """The examples, sent to their partitions."""
        options = {
            "max_depth": self.max_depth,
            "look_ahead": self.look_ahead,
            "max_entries": self.max_entries,
            "constants": self.constants,
            "max_bins": self.max_bins,
        }
        room = self.cache.limit // self.parts.together
        token = new_token()
        setups = [
            Setup(token, examples, rows, options, room, self.workshop.n_jobs, self.most_entries)
            for examples, rows in self.placement.examples(self._levelled())
        ]
        kept: PerPart = self.parts.keep(PerPart(setups))
        return kept

    @property
    def most_entries(self) -> int:
        """How many entries of a literal there is room for, in all partitions one after the other."""
        return self.workshop.most_entries * self.parts.n

    def _levelled(self) -> Table:
        """The examples with the levels of all of them, by which the partitions number the values of their own."""
        columns = {column.name: column for column in self._root_attributes.levelled()}
        aggregates = dict(zip(self.examples.aggregates, self._aggregates.levelled(), strict=True))
        return replace(self.examples, columns={**self.examples.columns, **columns}, aggregates=aggregates)

    def score(
        self, frontier: Frontier, weights: NDArray[np.int64], classes: Codes, n_classes: int
    ) -> NDArray[np.int64]:
        sent = self._once("weights", weights, WEIGHT), self._once("classes", classes, CODE)
        return self._added(frontier, n_classes, work.weighed, *sent, n_classes)

    def sums(self, frontier: Frontier, channels: NDArray[np.int64]) -> NDArray[np.int64]:
        return self._added(frontier, channels.shape[1], work.summed, self._once("channels", channels, WEIGHT))

    def refine(self, state: State, refinement: Refinement, changed: tuple[bool, ...] | None = None) -> State:
        assert isinstance(state, ClauseElsewhere)
        key = ("state", state.number, refinement)
        known: ClauseElsewhere | None = self.cache.get(key)
        if known is None:
            check()
            found = self.parts.values(self.parts.each(work.refined, self._setup, state.steps, refinement))
            covered = self.placement.gathered([packed for packed, _ in found])
            lost = tuple(any(each) for each in zip(*(changed for _, changed in found), strict=True))
            specs = refined_specs(state.specs, refinement)
            entries = self._entries_after(state, refinement, [spec.parent for spec in specs], lost)
            steps = (*state.steps, (refinement, lost))
            known = ClauseElsewhere(specs, entries, covered, changed=lost, steps=steps)
            self.cache.put(key, known, covered.nbytes)
        return known

    def _entries_after(
        self, state: ClauseElsewhere, refinement: Refinement, parents: Sequence[int], lost: Sequence[bool]
    ) -> tuple[Entries, ...]:
        """Names for the entries of each node: the same as before where the partitions have the same as before."""
        joins = refinement.joins
        entries = [*state.entries, *(self._named(state, refinement.node, joins[:k]) for k in range(1, len(joins)))]
        if joins:
            entries.append(_unseen())
        renewed = [False] * len(entries)
        for k in range(1, len(entries)):
            renewed[k] = lost[k] or renewed[parents[k]]
            if renewed[k]:
                entries[k] = _unseen()
        return tuple(entries)

    def entries(self, state: State, node: int, joins: tuple[Join, ...], at_once: int = MOST_ENTRIES) -> Entries:
        raise DataError(
            f"the rows of table '{joins[-1].table}' are in partitions and not here; read the source itself for this"
        )

    def _named(self, state: State, node: int, joins: tuple[Join, ...]) -> Entries:
        """A name for the entries that a chain of joins reaches."""
        key = ("entries", state.entries[node].number, joins)
        known: Entries | None = self.cache.get(key)
        if known is None:
            known = _unseen()
            self.cache.put(key, known, 0)
        return known

    def ask(self, question: Callable[..., Any], *arguments: Any) -> list[Any]:
        return self.parts.values(self.parts.each(work.answered, self._setup, question, *arguments))

    def total(self, question: Callable[..., NDArray[np.int64]], *arguments: Any) -> NDArray[np.int64]:
        handles = self.parts.each(work.answered, self._setup, question, *arguments)
        return writable(self.parts.value(self.parts.reduce(operator.add, handles)), WEIGHT)

    def together(self, answers: Sequence[NDArray[Any]], offsets: NDArray[np.int64] | None = None) -> NDArray[Any]:
        return self.placement.in_order(answers, offsets)

    def over(self, examples: Table) -> PartitionedEngine:
        return PartitionedEngine(
            self.database,
            examples,
            max_depth=self.max_depth,
            look_ahead=self.look_ahead,
            max_entries=self.max_entries,
            constants=self.constants,
            max_bins=self.max_bins,
            workshop=self.workshop,
        )

    def wanted(self, state: State, chain: Chain) -> list[Wanted]:
        """The blocks of a chain."""
        return self._of_chain(state, chain, None)

    def group(self, state: State, wanted: Sequence[Wanted]) -> Group:
        """One group of a frontier, of these blocks."""
        (made,) = self._made(state, [wanted])
        assert isinstance(made, Group)
        return made

    def of_part(self, request: Callable[..., Any], state: State, group: Group, example: NDArray[Any]) -> list[Any]:
        """What partitions tell of some examples each, in the order of partitions, after the steps to a state."""
        assert isinstance(state, ClauseElsewhere)
        chosen = self.placement.among(example)
        return self.parts.values(
            self.parts.each(request, self._setup, state.steps, group.asked, chosen, group.together)
        )

    def _made(self, state: State, groups: Sequence[Sequence[Wanted]]) -> Sequence[NodeOptions]:
        assert isinstance(state, ClauseElsewhere)
        check()
        asked = [Asked(new_token(), tuple(wanted)) for wanted in groups]
        handles = [
            self.parts.reduce(united, self.parts.each(work.told, self._setup, state.steps, [one])) for one in asked
        ]
        return [self._group(state, *one) for one in zip(asked, handles, self.parts.values(handles), strict=True)]

    def _group(self, state: ClauseElsewhere, asked: Asked, handle: Handle, together: tuple[Told, ...]) -> Group:
        options = []
        for wanted, told in zip(asked.wanted, together, strict=True):
            most = told.too_many(self.most_entries)
            if most is not None:
                self.refused[wanted.chain.joins[: most[0] + 1]] = most[1]
            if not told.is_left_out(wanted, self.most_entries):
                attributes = self.shown(state, wanted)
                options.append(Option(wanted.chain, numbered(attributes, wanted.selected, told), attributes))
        whole = NodeOptions.of(options)
        return Group(whole.options, whole.pairs, whole.bounds, whole.ranks, asked, handle)

    def _added(self, frontier: Frontier, width: int, request: Any, *arguments: Any) -> NDArray[np.int64]:
        """The sums over all partitions, and then over the examples beyond each threshold."""
        state, groups = frontier.state, [group for group in frontier.groups if isinstance(group, Group)]
        assert isinstance(state, ClauseElsewhere)
        check()
        asked = [group.asked for group in groups]
        handles = self.parts.each(
            request, self._setup, state.steps, asked, *arguments, *(group.together for group in groups)
        )
        out = writable(self.parts.value(self.parts.reduce(operator.add, handles)), WEIGHT)
        at = 0
        for pairs in (pairs for group in groups for pairs in group.pairs):
            cumulate(out[at : at + pairs.n_conditions], pairs.starts, pairs.stops)
            at += pairs.n_conditions
        return out

    def _once(self, what: str, array: NDArray[Any], dtype: type[np.generic]) -> PerPart:
        """Numbers of the examples where their partitions are; those that were sent last are not sent again."""
        last = self._sent.get(what)
        if last is None or not np.array_equal(last[0], array):
            kept = self.parts.keep(self.placement.divided(writable(array, dtype)))
            last = self._sent[what] = array.copy(), kept
        return last[1]


def _unseen() -> Entries:
    """Entries that lie in the partitions: all that is known here is whether they are the same."""
    return Entries(NO_ROWS, NO_ROWS, NO_ROWS)
