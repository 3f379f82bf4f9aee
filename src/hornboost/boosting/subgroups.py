"""Sequential subgroup discovery by knowledge-based sampling: each subgroup is sampled out before the next one is searched for."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hornboost.boosting.clauses import weights_in_units
from hornboost.boosting.lift import Floats, joint_weights, lift, sampling_factors
from hornboost.engine import State
from hornboost.search.greedy import grow
from hornboost.search.problem import Problem

_NO_WRACC = 1e-9


@dataclass(frozen=True, eq=False, slots=True)
class Subgroup:
    """A clause and its table of weights, {not covered, covered} by {other classes, target}, originally and when it was found."""

    state: State
    original: Floats
    current: Floats

    @property
    def wracc(self) -> float:
        """WRAcc for the target among the examples as they were given."""
        return table_wracc(self.original)

    @property
    def current_wracc(self) -> float:
        """WRAcc for the target on the distribution from which earlier subgroups were sampled out."""
        return table_wracc(self.current)

    @property
    def lift(self) -> float:
        """LIFT(covered, target) among the examples as they were given."""
        return float(lift(self.original)[1, 1])

    @property
    def current_lift(self) -> float:
        """LIFT(covered, target) on the distribution from which earlier subgroups were sampled out."""
        return float(lift(self.current)[1, 1])


def table_wracc(joint: Floats) -> float:
    """WRAcc of the second row for the second column.

    >>> round(table_wracc(np.array([[40.0, 20.0], [10.0, 30.0]])), 12)
    0.1
    """
    share = joint / joint.sum()
    return float(share[1, 1] - share[1].sum() * share[:, 1].sum())


def discover(
    problem: Problem, target: int, quality: Callable[[NDArray[np.int64], NDArray[np.int64]], Floats], *, count: int, max_literals: int
) -> Iterator[Subgroup]:
    """Subgroups with a positive quality for the target class, each about what the earlier ones have left unexplained."""
    engine, y = problem.engine, (problem.classes == target).astype(np.int32)
    initial = problem.weights / problem.weights.sum()
    prior = np.asarray(np.bincount(y, weights=initial, minlength=2), dtype=np.float64)
    distribution = initial
    for _ in range(count):
        units = weights_in_units(distribution, problem.weights)
        totals = engine.covered_weight(engine.root(), units, y, 2)
        grown = grow(
            engine,
            units,
            y,
            2,
            lambda stats, totals=totals: quality(stats, totals),  # type: ignore[misc]
            start=0.0,
            goes_on=lambda covered: bool(covered[0] > 0),
            max_literals=max_literals,
        )
        if not grown.states:
            return
        state = grown.states[-1]
        cells = state.covered.astype(np.intp)
        found = Subgroup(state, joint_weights(cells, y, initial, 2, 2), joint_weights(cells, y, distribution, 2, 2))
        if found.current_wracc < _NO_WRACC:
            return
        yield found
        distribution = sampled_out(distribution, cells, y, found.current, prior)
        if not all(np.bincount(y, weights=distribution, minlength=2) > 0):
            return


def sampled_out(distribution: Floats, cells: NDArray[np.intp], y: NDArray[np.int32], joint: Floats, prior: Floats) -> Floats:
    """The distribution on which the subgroup says nothing about the target.

    Where one class is absent from a cell, no weights but 0 make that cell independent of the class (it is the limit of sampling out again
    and again): its examples are explained for good.
    """
    pure = (joint == 0).any(axis=1)
    if pure.any():
        distribution = np.where(pure[cells], 0.0, distribution)
        left = np.bincount(y, weights=distribution, minlength=2)
        return np.asarray(distribution * np.divide(prior, left, out=np.zeros(2), where=left > 0)[y])
    return np.asarray(distribution * sampling_factors(joint, lift(joint), prior)[cells, y])
