"""Numbers of the examples that are summed up for every refinement of a clause, and what comes of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from hornboost.dtypes import CODE, WEIGHT
from hornboost.engine.blocks import Pairs, zeros
from hornboost.engine.facts import writable
from hornboost.engine.frontier import Frontier, NodeOptions
from hornboost.engine.reach import Codes, Longs
from hornboost.engine.state import State

if TYPE_CHECKING:
    from hornboost.engine.engine import Engine
    from hornboost.engine.workshop import Workshop


class Look(NamedTuple):
    """A clause, all of its refinements, and the sums for each of them."""

    state: State
    frontier: Frontier
    sums: Longs

    def by_group(self) -> dict[int, Longs]:
        """The sums of each group of the refinements, by its identity."""
        groups, bounds = self.frontier.groups, self.frontier.bounds
        return {id(group): self.sums[bounds[k] : bounds[k + 1]] for k, group in enumerate(groups)}


class Numbers(NamedTuple):
    """Weights that are summed up by class, or where there are no classes a column of numbers for each sum."""

    width: int
    values: Longs
    classes: Codes | None = None

    def of(self, engine: Engine, frontier: Frontier, seen: Look | None = None) -> Longs:
        """The sums for each refinement; `seen` are those of the same numbers for a more general clause."""
        if self.classes is None:
            return engine.sums(frontier, self.values, seen)
        return engine.score(frontier, self.values, self.classes, self.width)

    def of_group(self, state: State, group: NodeOptions, workshop: Workshop) -> Longs:
        """The sums for each refinement of a group, of thresholds over the examples of the tightest one alone."""
        out = zeros(group.size, self.width)
        for pairs in group.pairs:
            self.add(state, pairs, workshop, pairs.own(out))
        return out

    def add(self, state: State, pairs: Pairs, workshop: Workshop, into: Longs) -> None:
        """Add those of the covered examples of each condition, of thresholds to the tightest one alone."""
        values = writable(self.values, WEIGHT)
        if self.classes is None:
            pairs.add_channels(values, state.covered, into, workshop.pool, workshop.n_jobs)
        else:
            classes = writable(self.classes, CODE)
            pairs.add_weights(values, state.covered, classes, into, workshop.pool, workshop.n_jobs)
