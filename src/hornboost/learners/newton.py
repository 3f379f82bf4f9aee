"""Clauses by second-order gain: what a clause's two cells gain when each takes a Newton step down the loss."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hornboost.engine import Look, Numbers, State, Visible
from hornboost.learners import newton_kernels as kernels
from hornboost.learners.greedy import grow_by
from hornboost.learners.hypotheses import Floats
from hornboost.learners.memory import Memory, Outcome
from hornboost.learners.problem import Problem

ROOM = 52
"""Sums of derivatives stay below two to this power in fixed point."""


class Derivatives:
    """Gradients and hessians of the examples, a column an output, as exact channels for the engine.

    `slope` and `curvature` are those of a single example, so that an example of weight 2 counts exactly as two; `mass`
    is what the weights of all examples sum to, or more.
    """

    def __init__(self, slope: Floats, curvature: Floats, weights: Floats, mass: float) -> None:
        self.n_outputs = slope.shape[1]
        steepest, most = kernels.largest(slope, curvature)
        scales = _scale(steepest, mass), _scale(most, mass), _scale(steepest * steepest, mass)
        self.units = 1.0 / scales[0], 1.0 / scales[1]
        self.channels = np.empty((len(slope), 2 * self.n_outputs), np.int64)
        sums = np.empty(3 * self.n_outputs, np.int64)
        kernels.channels(slope, curvature, weights, *scales, self.channels, sums)
        self.total, self._squares, self._square = sums[: -self.n_outputs], sums[-self.n_outputs :], scales[2]

    def cells(self, covered: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Gradients and hessians of the cells {not covered, covered}, a row a cell."""
        gradient, hessian = np.empty((2, self.n_outputs)), np.empty((2, self.n_outputs))
        kernels.cells(self.channels, covered, self.total, *self.units, gradient, hessian)
        return gradient, hessian

    @property
    def curvature(self) -> float:
        """Σh, added over the outputs."""
        return float((self.total[self.n_outputs :] * self.units[1]).sum())

    @property
    def chance(self) -> float:
        """What a condition that says nothing gains on average: Σg²/Σh, added over the outputs."""
        hessian = self.total[self.n_outputs :] * self.units[1]
        squares = self._squares / self._square
        return float(np.divide(squares, hessian, out=np.zeros_like(hessian), where=hessian > 0.0).sum())

    def gains(self, sums: NDArray[np.int64], l2: float) -> Floats:
        """G₁²/(H₁+λ) + G₀²/(H₀+λ) − G²/(H+λ) of each candidate that covers `sums`; 0 where a cell is empty."""
        gains = np.empty(len(sums))
        kernels.gains(sums, self.total, *self.units, l2, gains)
        return gains


def _scale(largest: float, mass: float) -> float:
    """The power of two that values are multiplied by in fixed point: whole weights of them sum to less than 2^ROOM."""
    most = mass * largest
    return math.ldexp(1.0, ROOM - math.frexp(most)[1]) if most > 0.0 else 1.0


class NewtonSearch:
    """Finds the clause with the largest gain, greedily.

    A further condition must gain `min_gain` times as much as one that says nothing gains by chance. A clause is grown
    under each of the `sights`, the widest first, and the best is taken: alone, an aggregate often gains more than any
    condition on a single row, so that a greedy search misses the clauses whose conditions gain most together. There
    are very many aggregates, so a clause that may look at them pays for one further condition.
    """

    def __init__(
        self,
        problem: Problem,
        max_literals: int,
        min_gain: float,
        memory: Memory,
        sights: Sequence[Visible],
    ) -> None:
        self.problem = problem
        self.max_literals = max_literals
        self.min_gain = min_gain
        self.memory = memory
        self.sights = sights

    def find(self, derivatives: Derivatives, l2: float) -> State | None:
        """The clause, if any gains something."""
        return self.memory.recall(lambda: self._search(derivatives, l2), _written, self._read)

    def _search(self, derivatives: Derivatives, l2: float) -> State | None:
        numbers = Numbers(derivatives.channels.shape[1], derivatives.channels)
        worth = self.min_gain * derivatives.chance if self.min_gain else 0.0
        found: State | None = None
        most = -math.inf
        seen: Look | None = None
        for visible in self.sights:
            if found is not None and visible.shows(found.specs):
                break  # the same clause would be grown again
            grown = grow_by(
                self.problem.engine,
                numbers,
                derivatives.total,
                lambda sums: derivatives.gains(sums, l2),
                start=1e-9,
                goes_on=lambda covered: True,
                max_literals=self.max_literals,
                worth=worth,
                visible=visible,
                seen=seen,
            )
            seen = grown.first
            gain = grown.score - worth * (len(grown.states) - 1 + visible.aggregates)
            if grown.states and gain > most:
                found, most = grown.states[-1], gain
        return found

    def _read(self, outcome: Outcome) -> State | None:
        return self.problem.state(outcome.clauses[0]) if outcome.clauses else None


def _written(state: State | None) -> Outcome:
    return Outcome(() if state is None else (state.specs,))
