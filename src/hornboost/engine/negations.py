"""Conditions `column!="value"` on the examples themselves.

An example has one value of a column or none, so that what is summed up for all examples with another value is the
sum for those that have any, less that for `column="value"`: no example is looked at again.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hornboost.engine.frontier import Frontier, Option, Refinement
from hornboost.engine.numbers import Look
from hornboost.engine.reach import Longs

LEAST = 3
"""Values that a column must have: of two, not to be one is to be the other."""


@dataclass(frozen=True, eq=False, slots=True)
class FrontierWithNegations(Frontier):
    """All refinements of a state, and after them the negations of some, given by their candidate numbers."""

    negated: Longs

    def __len__(self) -> int:
        return self.bounds[-1] + self.negated.size

    def refinement(self, candidate: int) -> Refinement:
        if candidate < self.bounds[-1]:
            return Frontier.refinement(self, candidate)
        step = Frontier.refinement(self, self._negated_by(candidate))
        assert step.test is not None
        return replace(step, test=replace(step.test, op="!="))

    def first(self, candidates: NDArray[np.int64]) -> int:
        """The same tie-break; negations come after all other tests on rows that the clause has already."""
        others = candidates[candidates < self.bounds[-1]]
        if others.size:
            found = Frontier.first(self, others)
            if others.size == candidates.size or not self.refinement(found).joins:
                return found
        negations: list[int] = candidates[others.size :].tolist()
        return min(negations, key=lambda candidate: self._order(self._negated_by(candidate)))

    def _negated_by(self, candidate: int) -> int:
        return int(self.negated[candidate - self.bounds[-1]])


def with_negations(look: Look, total: Longs) -> Look:
    """What was looked at, and the negations of single values; `total` are the sums of all examples.

    Left out are those of values that no covered example has, which say no more than that there is some value, and
    those of columns that all examples have a value of: these divide the examples as the value itself does.
    """
    ranges = _ranges_of_values(look.frontier)
    if not len(ranges):
        return look
    sizes = ranges[:, 1] - ranges[:, 0]
    firsts = np.cumsum(sizes) - sizes
    values = np.arange(sizes.sum()) + np.repeat(ranges[:, 0] - firsts, sizes)
    sums = look.sums[values]
    present = np.add.reduceat(sums, firsts)
    tells = np.repeat((present != total).any(axis=1), sizes) & (sums != 0).any(axis=1)
    negations = np.repeat(present, sizes, axis=0)[tells] - sums[tells]
    frontier = FrontierWithNegations(look.state, look.frontier.groups, look.frontier.bounds, values[tells])
    return Look(look.state, frontier, np.concatenate([look.sums, negations]))


def _ranges_of_values(frontier: Frontier) -> Longs:
    """Where the candidates `column="value"` of each nominal column of the examples begin and end."""
    found = [
        start + bound + _ranges_in(option)
        for group, start in zip(frontier.groups, frontier.bounds, strict=False)
        for option, bound in zip(group.options, group.bounds, strict=False)
        if option.chain.node == 0 and not option.chain.joins
    ]
    return np.concatenate(found) if found else np.empty((0, 2), np.int64)


def _ranges_in(option: Option) -> Longs:
    block, attributes = option.block, option.attributes
    columns = np.array(block.attributes, np.int64)
    is_nominal = attributes.nominal[columns]
    starts, sizes = block.bases[is_nominal], attributes.sizes[columns[is_nominal]]
    ranges = block.conditions.searchsorted(np.stack([starts, starts + sizes], axis=1))
    return ranges[ranges[:, 1] - ranges[:, 0] >= LEAST]
