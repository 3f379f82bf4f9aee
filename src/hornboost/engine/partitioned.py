"""An engine over partitions: what each of them tells about its examples, added up; learners cannot tell the difference.

It holds what an example is told by, the rows passed in and numbers of each; the rows behind them stay in the
partitions. Coverage comes from there as bits, statistics as sums of integers, which do not care where they are added.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hornboost.data.table import Table
from hornboost.dtypes import CODE, WEIGHT
from hornboost.engine import part as work
from hornboost.engine.elsewhere import ClauseElsewhere, Group, cumulated, renewed, unseen
from hornboost.engine.engine import Engine
from hornboost.engine.facts import writable
from hornboost.engine.frontier import Frontier, NodeOptions, Option, Refinement, Wanted, refined_specs
from hornboost.engine.joins import Chain, Visible
from hornboost.engine.needs import MOST_ENTRIES, Ways
from hornboost.engine.numbers import Look, Numbers
from hornboost.engine.part import Asked, Packed, Setup, new_token
from hornboost.engine.partitioned_look import Outlook
from hornboost.engine.parts import Handle, Parts, PerPart
from hornboost.engine.placement import Placement
from hornboost.engine.reach import Codes
from hornboost.engine.state import Entries, State
from hornboost.engine.tree import Join
from hornboost.engine.united import Told, numbered, united
from hornboost.errors import DataError
from hornboost.stopping import check

if TYPE_CHECKING:
    from hornboost.data import Database


SMALL = 1 << 20
"""Bytes of the numbers of all examples that go along with questions: a trip of their own takes longer."""


class PartitionedEngine(Engine):
    """Scores and applies the refinements of clauses over examples that lie in the partitions of a database."""

    def __init__(self, database: Database, examples: Table, **options: Any) -> None:
        super().__init__(database, examples, **options)
        assert database.parts is not None
        self.parts: Parts = database.parts
        self._sent: dict[str, tuple[NDArray[Any], Handle]] = {}
        root = super().root()
        self._root = ClauseElsewhere(root.specs, root.entries, root.covered)

    @cached_property
    def placement(self) -> Placement:
        """Which examples lie where."""
        return Placement.of(self.database, self.examples)

    @cached_property
    def setup(self) -> Handle:
        """The examples, sent to their partitions."""
        options = {
            "max_depth": self.max_depth,
            "look_ahead": self.look_ahead,
            "max_entries": self.max_entries,
            "constants": self.constants,
            "max_bins": self.max_bins,
            "max_thresholds": self.max_thresholds,
            "ways": self.ways,
        }
        room = self.cache.limit // self.parts.together
        token = new_token()
        setups = [
            Setup(token, examples, rows, options, room, self.workshop.n_jobs, self.most_entries)
            for examples, rows in self.placement.examples(self._levelled())
        ]
        return self.parts.keep(PerPart(setups))

    def follow(self, ways: Ways) -> None:
        if ways != self.ways:
            super().follow(ways)
            self.__dict__.pop("setup", None)  # what the partitions know of this engine

    @property
    def most_entries(self) -> int:
        """How many entries of a literal there is room for, in all partitions one after the other."""
        return self.workshop.most_entries * self.parts.n

    def _levelled(self) -> Table:
        """The examples with the levels of all of them, by which the partitions number the values of their own."""
        columns = {column.name: column for column in self._root_attributes.levelled()}
        aggregates = dict(zip(self.examples.aggregates, self._aggregates.levelled(), strict=True))
        return replace(self.examples, columns={**self.examples.columns, **columns}, aggregates=aggregates)

    def look(
        self,
        state: State,
        step: Refinement | None,
        numbers: Numbers,
        visible: Visible | None = None,
        seen: Look | None = None,
    ) -> Look:
        assert isinstance(state, ClauseElsewhere)
        if step is not None:
            known: ClauseElsewhere | None = self.cache.get(("state", state.number, step))
            if known is not None:
                state, step = known, None
        if step is None and all(self.cache.get(place.key) is not None for place in self.places(state, visible)):
            return super().look(state, None, numbers, visible)
        return Outlook(self, state, step, visible).look(numbers)

    def score(
        self, frontier: Frontier, weights: NDArray[np.int64], classes: Codes, n_classes: int
    ) -> NDArray[np.int64]:
        return self._added(frontier, Numbers(n_classes, weights, classes))

    def sums(self, frontier: Frontier, channels: NDArray[np.int64], seen: Look | None = None) -> NDArray[np.int64]:
        return self._added(frontier, Numbers(channels.shape[1], channels))

    def refine(self, state: State, refinement: Refinement, changed: tuple[bool, ...] | None = None) -> State:
        assert isinstance(state, ClauseElsewhere)
        known: ClauseElsewhere | None = self.cache.get(("state", state.number, refinement))
        if known is None:
            check()
            found = self.parts.values(self.parts.each(work.refined, self.setup, state.steps, refinement))
            lost = tuple(any(each) for each in zip(*(changed for _, changed in found), strict=True))
            same, new = self.ahead(state, refinement)
            known = self.arrived(state, refinement, same, new, [packed for packed, _ in found], lost)
        return known

    def ahead(self, state: ClauseElsewhere, step: Refinement) -> tuple[State, State]:
        """What comes of a step where no node loses rows, and where all of them do; what is covered is not known."""
        specs, joins = refined_specs(state.specs, step), step.joins
        same = [*state.entries, *(self._named(state, step.node, joins[:k]) for k in range(1, len(joins)))]
        if joins:
            same.append(unseen())
        new = [*same[:1], *(unseen() for _ in same[1:])]
        if joins:
            new[-1] = same[-1]
        return State(specs, tuple(same), state.covered), State(specs, tuple(new), state.covered)

    def arrived(
        self,
        state: ClauseElsewhere,
        step: Refinement,
        same: State,
        new: State,
        packed: Sequence[Packed],
        lost: tuple[bool, ...],
    ) -> ClauseElsewhere:
        """The state after a step that all partitions took; kept, because boosting takes the same steps again."""
        is_new = renewed(tuple(spec.parent for spec in same.specs), lost)
        entries = tuple(new.entries[k] if is_new[k] else same.entries[k] for k in range(len(same.entries)))
        covered = self.placement.gathered(packed)
        found = ClauseElsewhere(same.specs, entries, covered, changed=lost, steps=(*state.steps, (step, lost)))
        self.cache.put(("state", state.number, step), found, covered.nbytes)
        return found

    def entries(self, state: State, node: int, joins: tuple[Join, ...], at_once: int = MOST_ENTRIES) -> Entries:
        raise DataError(
            f"the rows of table '{joins[-1].table}' are in partitions and not here; read the source itself for this"
        )

    def _named(self, state: State, node: int, joins: tuple[Join, ...]) -> Entries:
        """A name for the entries that a chain of joins reaches."""
        key = ("entries", state.entries[node].number, joins)
        known: Entries | None = self.cache.get(key)
        if known is None:
            known = unseen()
            self.cache.put(key, known, 0)
        return known

    def ask(self, question: Callable[..., Any], *arguments: Any) -> list[Any]:
        return self.parts.values(self.parts.each(work.answered, self.setup, question, *arguments))

    def total(self, question: Callable[..., NDArray[np.int64]], *arguments: Any) -> NDArray[np.int64]:
        handle = self.parts.total(operator.add, work.answered, self.setup, question, *arguments)
        return writable(self.parts.value(handle), WEIGHT)

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
            max_thresholds=self.max_thresholds,
            ways=self.ways,
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
        return self.parts.values(self.parts.each(request, self.setup, state.steps, group.asked, chosen, group.together))

    def _made(self, state: State, groups: Sequence[Sequence[Wanted]]) -> Sequence[NodeOptions]:
        assert isinstance(state, ClauseElsewhere)
        check()
        flat = [one for wanted in groups for one in wanted]
        told = iter(self.parts.value(self.parts.total(united, work.told, self.setup, state.steps, flat)))
        return [self.told_group(state, wanted, tuple(next(told) for _ in wanted)) for wanted in groups]

    def told_group(self, state: ClauseElsewhere, blocks: Sequence[Wanted], together: tuple[Told, ...]) -> Group:
        """A group of a frontier, by what partitions tell together of its blocks."""
        options = []
        for wanted, told in zip(blocks, together, strict=True):
            most = told.too_many(wanted.chain, self.limits)
            if most is not None:
                self.note_refused(*most)
            if not told.is_left_out(wanted, self.limits):
                attributes = self.shown(state, wanted)
                options.append(Option(wanted.chain, numbered(attributes, wanted.selected, told), attributes))
        whole, asked = NodeOptions.of(options), Asked(new_token(), tuple(blocks))
        return Group(
            whole.options, whole.pairs, whole.bounds, whole.ranks, asked, self.parts.keep(together, small=SMALL // 16)
        )

    def _added(self, frontier: Frontier, numbers: Numbers) -> NDArray[np.int64]:
        """The sums over all partitions, and then over the examples beyond each threshold."""
        state, groups = frontier.state, [group for group in frontier.groups if isinstance(group, Group)]
        assert isinstance(state, ClauseElsewhere)
        check()
        asked = [group.asked for group in groups]
        handle = self.parts.total(
            *(operator.add, work.weighed, self.setup, state.steps, asked),
            *(*self.sent(numbers), *(group.together for group in groups)),
        )
        return cumulated(groups, writable(self.parts.value(handle), WEIGHT))

    def sent(self, numbers: Numbers) -> tuple[int, Handle, Handle]:
        """Numbers of the examples where their partitions are."""
        if numbers.classes is None:
            return numbers.width, self._once("channels", numbers.values, WEIGHT), None
        values = self._once("weights", numbers.values, WEIGHT)
        return numbers.width, values, self._once("classes", numbers.classes, CODE)

    def _once(self, what: str, array: NDArray[Any], dtype: type[np.generic]) -> Handle:
        """Numbers of the examples where their partitions are; those that were sent last are not sent again."""
        last = self._sent.get(what)
        if last is None or not np.array_equal(last[0], array):
            kept = self.parts.keep(self.placement.divided(writable(array, dtype)), small=SMALL)
            last = self._sent[what] = array.copy(), kept
        return last[1]
