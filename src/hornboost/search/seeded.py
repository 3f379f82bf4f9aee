"""Greedy search with the bottom clause of a seed as the only source of literals (seed 003, section 3)."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hornboost.engine import Engine, State
from hornboost.engine.seeded import legal
from hornboost.search.ranking import Objective, Point

LEAST_GAIN = 1e-9
"""A refinement must raise the score by more than this."""


@dataclass(slots=True)
class Budget:
    """How much may still be spent: clauses to evaluate, and time on the monotonic clock."""

    clauses: float = math.inf
    deadline: float = math.inf
    evaluated: int = 0

    def allows(self, wanted: int) -> int:
        """Count the clauses that are about to be evaluated: as many as wanted, or as are left."""
        granted = int(min(wanted, self.clauses - self.evaluated))
        self.evaluated += granted
        return granted

    @property
    def is_spent(self) -> bool:
        return self.evaluated >= self.clauses or time.monotonic() >= self.deadline


@dataclass(frozen=True, eq=False, slots=True)
class Climb:
    """The clauses on the way from the empty one to the best, their points, and the score of the best."""

    states: list[State]
    points: list[Point]
    score: float


@dataclass(frozen=True, eq=False, slots=True)
class SeededSearch:
    """Hill-climbing under one weighting of the examples.

    `weights` are in fixed point, `classes` 1 for positives; `point` turns the weight covered by class into true and false positives.
    """

    engine: Engine
    weights: NDArray[np.int64]
    classes: NDArray[np.int32]
    point: Callable[[NDArray[np.int64]], tuple[NDArray[np.float64], NDArray[np.float64]]]
    objective: Objective
    max_literals: int
    budget: Budget = field(default_factory=Budget)

    def climb(self, seed: int) -> Climb:
        """Add the legal literal that improves the score most, until none does, or no negative weight or budget is left."""
        state = self.engine.root()
        tp, fp = self.point(self.engine.covered_weight(state, self.weights, self.classes, 2)[None])
        points = [Point(float(tp[0]), float(fp[0]))]
        states = [state]
        score = float(self.objective(tp, fp, points)[0])
        while len(states) <= self.max_literals and points[-1].fp > 0 and not self.budget.is_spent:
            frontier = self.engine.frontier(state)
            literals = legal(self.engine, frontier, seed)
            n = self.budget.allows(len(literals))
            if n == 0:
                break
            table = self.engine.score(frontier, self.weights, self.classes, 2)
            tp, fp = self.point(table[literals.candidate[:n]])
            scores = self.objective(tp, fp, points)
            best = int(scores.argmax())
            if not scores[best] > score + LEAST_GAIN:
                break
            state = self.engine.refine(state, literals.refinement(best))
            states.append(state)
            points.append(Point(float(tp[best]), float(fp[best])))
            score = float(scores[best])
        return Climb(states, points, score)
