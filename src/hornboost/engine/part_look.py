"""A look from a clause in one trip: a partition takes the step, tells which refinements there are, and sums them up.

Which nodes of the clause lose rows is known when all partitions have taken the step. Each goes by its own examples, and
most often all of them agree; where they do not, what they told of refinements is for nothing, and is asked again.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hornboost.engine.blocks import Pairs, zeros
from hornboost.engine.elsewhere import renewed
from hornboost.engine.engine import Engine
from hornboost.engine.frontier import Refinement, Wanted
from hornboost.engine.numbers import Numbers
from hornboost.engine.part import Asked, Packed, Part, Setup, Step, followed, own_block, placed
from hornboost.engine.reach import Codes, Longs
from hornboost.engine.state import State
from hornboost.engine.united import Told, told_places, united


class Ask(NamedTuple):
    """The blocks of a group: where all partitions know them, where its node keeps its rows, and where it does not."""

    node: int
    known: Asked | None
    same: tuple[Wanted, ...]
    new: tuple[Wanted, ...] | None

    def wanted(self, is_renewed: bool) -> tuple[Wanted, ...]:
        """The blocks of a node."""
        return self.new if is_renewed and self.new is not None else self.same


class Summed(NamedTuple):
    """What is told of a group, and the sums for each condition by block; all in one where all partitions know it."""

    told: tuple[Told, ...] | None
    sums: tuple[Longs, ...]


class Looked(NamedTuple):
    """What neighbouring partitions answer: coverage, which nodes lose rows, and groups, where they agree on that."""

    covered: tuple[Packed, ...]
    changed: tuple[bool, ...]
    groups: tuple[Summed, ...] | None


def looked(
    part: Part,
    setup: Setup,
    path: Sequence[Step],
    step: Refinement | None,
    asks: Sequence[Ask],
    width: int,
    values: Longs,
    classes: Codes | None,
    *together: tuple[Told, ...],
) -> Looked:
    """What one partition answers."""
    engine, numbers, known = part.engine(setup), Numbers(width, values, classes), iter(together)
    state = followed(engine, path)
    is_new: Sequence[bool] = [False] * len(state.specs)
    if step is not None:
        state = engine.refine(state, step)
        is_new = renewed(tuple(spec.parent for spec in state.specs), state.changed)
    groups = []
    for ask in asks:
        union = None if ask.known is None else next(known)
        if ask.known is not None and union is not None and not is_new[ask.node]:
            sums = numbers.of_group(state, placed(engine, state, ask.known, union), engine.workshop)
            groups.append(Summed(None, (sums,)))
        else:
            groups.append(_own(engine, state, ask.wanted(is_new[ask.node]), numbers))
    covered = () if step is None else (np.packbits(state.covered),)
    return Looked(covered, () if step is None else state.changed, tuple(groups))


def _own(engine: Engine, state: State, wanted: Sequence[Wanted], numbers: Numbers) -> Summed:
    """Blocks in the numbers of the partition itself."""
    told, sums = [], []
    for one in wanted:
        block, about = own_block(engine, state, one)
        into = zeros(0 if block is None else block.conditions.size, numbers.width)
        if block is not None:
            numbers.add(state, Pairs.of([block]), engine.workshop, into)
        told.append(about)
        sums.append(into)
    return Summed(tuple(told), tuple(sums))


def both(one: Looked, other: Looked) -> Looked:
    """The answers of some partitions and of those next to them, as one."""
    changed = tuple(a or b for a, b in zip(one.changed, other.changed, strict=True))
    groups = None
    if one.changed == other.changed and one.groups is not None and other.groups is not None:
        groups = tuple(_added(*pair) for pair in zip(one.groups, other.groups, strict=True))
    return Looked(one.covered + other.covered, changed, groups)


def _added(one: Summed, other: Summed) -> Summed:
    if one.told is None or other.told is None:
        return Summed(None, (one.sums[0] + other.sums[0],))
    together = united(one.told, other.told)
    sums = []
    for k, whole in enumerate(together):
        out = zeros(whole.n_conditions, one.sums[k].shape[1])
        for told, own in (one.told[k], one.sums[k]), (other.told[k], other.sums[k]):
            if told.n_conditions == whole.n_conditions:
                out += own
            else:
                out[told_places(told, whole)] += own
        sums.append(out)
    return Summed(together, tuple(sums))
