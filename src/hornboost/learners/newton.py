"""Clauses by second-order gain: what a clause's two cells gain when each takes a Newton step down the loss."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hornboost import exact
from hornboost.engine import State
from hornboost.learners.greedy import grow_by
from hornboost.learners.hypotheses import Floats
from hornboost.learners.memory import Memory, Outcome
from hornboost.learners.problem import Problem

TOTAL = 2.0**52
"""What the sizes of all gradients, and all hessians, sum to in fixed point."""


class Derivatives:
    """Gradients and hessians of the examples, a column an output, as exact channels for the engine.

    `slope` and `curvature` are those of a single example, so that an example of weight 2 counts exactly as two.
    """

    def __init__(self, slope: Floats, curvature: Floats, weights: Floats) -> None:
        self.n_outputs = slope.shape[1]
        both = np.column_stack([slope, curvature])
        mass = weights[:, None]
        sizes = [exact.total(mass * np.abs(part)) for part in (slope, curvature)]
        scales = [TOTAL / size if size > 0 else 1.0 for size in sizes]
        self.scale = np.repeat(scales, self.n_outputs)
        self.channels: NDArray[np.int64] = np.rint(mass * np.rint(both * self.scale)).astype(np.int64)
        self.total = self.channels.sum(axis=0)

    def split(self, sums: NDArray[np.int64]) -> tuple[Floats, Floats]:
        """Sums of the channels as gradients and hessians."""
        values = sums / self.scale
        return values[..., : self.n_outputs], values[..., self.n_outputs :]


def gain(sums: NDArray[np.int64], derivatives: Derivatives, l2: float) -> Floats:
    """G₁²/(H₁+λ) + G₀²/(H₀+λ) − G²/(H+λ) of each candidate, added over the outputs; 0 where a cell is empty."""
    inner, outer = derivatives.split(sums), derivatives.split(derivatives.total - sums)
    whole = derivatives.split(derivatives.total)
    parts = [_value(*cell, l2) for cell in (inner, outer)]
    divides = (inner[1].sum(axis=1) > 0) & (outer[1].sum(axis=1) > 0)
    return np.where(divides, parts[0] + parts[1] - _value(*whole, l2), 0.0)


def _value(gradient: Floats, hessian: Floats, l2: float) -> Floats:
    weight = hessian + l2
    value = np.divide(gradient * gradient, weight, out=np.zeros_like(gradient), where=weight > 0)
    return np.asarray(value.sum(axis=-1))


def steps(sums: NDArray[np.int64], derivatives: Derivatives, l2: float) -> Floats:
    """−G/(H+λ) of the cells {not covered, covered} of a clause that covers `sums`, a row a cell."""
    gradient, hessian = derivatives.split(np.stack([derivatives.total - sums, sums]))
    weight = hessian + l2
    return -np.divide(gradient, weight, out=np.zeros_like(gradient), where=weight > 0)


class NewtonSearch:
    """Finds the clause with the largest gain, greedily."""

    def __init__(self, problem: Problem, max_literals: int, l2: float, memory: Memory) -> None:
        self.problem = problem
        self.max_literals = max_literals
        self.l2 = l2
        self.memory = memory

    def find(self, derivatives: Derivatives) -> State | None:
        """The clause, if any gains something."""
        return self.memory.recall(lambda: self._search(derivatives), _written, self._read)

    def _search(self, derivatives: Derivatives) -> State | None:
        engine = self.problem.engine
        grown = grow_by(
            engine,
            lambda frontier: engine.sums(frontier, derivatives.channels),
            derivatives.total,
            lambda sums: gain(sums, derivatives, self.l2),
            start=1e-9,
            goes_on=lambda covered: True,
            max_literals=self.max_literals,
        )
        return grown.states[-1] if grown.states else None

    def _read(self, outcome: Outcome) -> State | None:
        return self.problem.state(outcome.clauses[0]) if outcome.clauses else None


def _written(state: State | None) -> Outcome:
    return Outcome(() if state is None else (state.specs,))
