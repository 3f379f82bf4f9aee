"""A look from a clause whose rows lie in partitions: what they are asked in one trip, and what comes of the answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from hornboost.engine.blocks import zeros
from hornboost.engine.elsewhere import ClauseElsewhere, Group, cumulated
from hornboost.engine.engine import Engine, Place
from hornboost.engine.frontier import Frontier, Refinement
from hornboost.engine.joins import Visible
from hornboost.engine.numbers import Look, Numbers
from hornboost.engine.part_look import Ask, Looked, Summed, both, looked
from hornboost.engine.reach import Longs
from hornboost.engine.state import State
from hornboost.engine.united import places
from hornboost.stopping import check

if TYPE_CHECKING:
    from hornboost.engine.partitioned import PartitionedEngine


@dataclass(frozen=True, eq=False)
class Outlook:
    """A clause, the step that is taken from there, if any, and what the learner may see after it."""

    engine: PartitionedEngine
    state: ClauseElsewhere
    step: Refinement | None
    visible: Visible | None

    def look(self, numbers: Numbers) -> Look:
        """Ask the partitions."""
        check()
        engine, known = self.engine, [group for _, group in self._known if group is not None]
        found: Looked = engine.parts.value(
            engine.parts.total(
                *(both, looked, engine.setup, self.state.steps, self.step, self._asks),
                *(*engine.sent(numbers), *(group.together for group in known)),
            )
        )
        state = self.state
        if self.step is not None:
            state = engine.arrived(state, self.step, *self._ahead, found.covered, found.changed)
        if found.groups is None:
            return Engine.look(engine, state, None, numbers, self.visible)
        groups, sums = [], []
        for place, (_, group), ask, summed in zip(
            engine.places(state, self.visible), self._known, self._asks, found.groups, strict=True
        ):
            made, own = (
                (group, summed.sums[0]) if summed.told is None else self._made(state, place, ask, summed, numbers.width)
            )
            assert made is not None
            groups.append(made)
            sums.append(own)
        total = np.concatenate(sums) if sums else zeros(0, numbers.width)
        return Look(state, Frontier.of(state, tuple(groups)), cumulated(groups, total))

    @cached_property
    def _ahead(self) -> tuple[State, State]:
        """What comes of the step where no node loses rows, and where all of them do."""
        return (self.state, self.state) if self.step is None else self.engine.ahead(self.state, self.step)

    @cached_property
    def _known(self) -> list[tuple[Place, Group | None]]:
        """The groups to come where no node loses rows, with those that were asked for before."""
        found = self.engine.places(self._ahead[0], self.visible)
        return [(place, self.engine.cache.get(place.key)) for place in found]

    @cached_property
    def _asks(self) -> Sequence[Ask]:
        asks, (same, new) = [], self._ahead
        for (place, group), other in zip(self._known, self.engine.places(new, self.visible), strict=True):
            usual = () if group is not None else tuple(self.engine.wanted_at(same, place))
            others = None if other.key == place.key else tuple(self.engine.wanted_at(new, other))
            if others == usual:
                others = usual  # sent once
            asks.append(Ask(place.node, None if group is None else group.asked, usual, others))
        return asks

    def _made(self, state: ClauseElsewhere, place: Place, ask: Ask, summed: Summed, width: int) -> tuple[Group, Longs]:
        """A group that was not known, and its sums in the numbers of all partitions."""
        assert summed.told is not None
        wanted = ask.wanted(state.entries[ask.node] is not self._ahead[0].entries[ask.node])
        group = self.engine.told_group(state, wanted, summed.told)
        self.engine.cache.put(place.key, group, group.nbytes)
        options, at = iter(group.options), 0
        out = zeros(group.size, width)
        for one, told, sums in zip(wanted, summed.told, summed.sums, strict=True):
            if not told.is_left_out(one, self.engine.limits):
                block = next(options).block
                into = out[at : at + block.conditions.size]
                if block.ages is None:
                    into += sums
                else:  # several ages may share a bin
                    np.add.at(into, places(told, block), sums)
                at += block.conditions.size
        return group, out
