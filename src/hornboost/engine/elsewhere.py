"""What is known here of clauses whose rows lie in partitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hornboost.engine.frontier import NodeOptions
from hornboost.engine.pair_kernels import cumulate
from hornboost.engine.part import Asked, Step
from hornboost.engine.parts import Handle
from hornboost.engine.reach import NO_ROWS
from hornboost.engine.state import Entries, State


@dataclass(frozen=True, eq=False, slots=True)
class ClauseElsewhere(State):
    """A state whose entries lie in the partitions, which find them by the steps from the root."""

    steps: tuple[Step, ...] = ()


@dataclass(frozen=True, eq=False, slots=True)
class Group(NodeOptions):
    """What can be added at one node, as it was asked for, and what the partitions know of it together."""

    asked: Asked
    together: Handle


def unseen() -> Entries:
    """Entries that lie in the partitions: all that is known here is whether they are the same."""
    return Entries(NO_ROWS, NO_ROWS, NO_ROWS)


def renewed(parents: tuple[int, ...], lost: tuple[bool, ...]) -> tuple[bool, ...]:
    """Which nodes have other entries after a step: those that lost some, and those below."""
    found = [False] * len(parents)
    for k in range(1, len(parents)):
        found[k] = lost[k] or found[parents[k]]
    return tuple(found)


def cumulated(groups: Sequence[NodeOptions], out: NDArray[np.int64]) -> NDArray[np.int64]:
    """Sums by condition as sums over all examples that fulfil it: those of a threshold and of all beyond it."""
    at = 0
    for group in groups:
        for pairs in group.pairs:
            cumulate(pairs.own(out, at), pairs.starts, pairs.stops)
        at += group.size
    return out
