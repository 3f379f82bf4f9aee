"""Greedy search with the bottom clause of a seed as the only source of literals (Oliphant et al. 2009, section 3)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from hornboost.engine.seeded import Position, SeededEngine
from hornboost.learners.objectives import CurvePoint, RankObjective

LEAST_GAIN = 1e-9
"""A refinement must raise the score by more than this."""


@dataclass(slots=True)
class Budget:
    """How many clauses may still be evaluated."""

    clauses: float = math.inf
    evaluated: int = 0

    def allows(self, wanted: int) -> int:
        """How many clauses may be evaluated: as many as wanted, or as are left."""
        return int(min(wanted, self.clauses - self.evaluated))

    @property
    def is_spent(self) -> bool:
        return self.evaluated >= self.clauses


@dataclass(eq=False, slots=True)
class Climb:
    """The clauses on the way from the empty one to the best, their points, and the score of the best."""

    clauses: list[Position]
    points: list[CurvePoint]
    score: float


@dataclass(frozen=True, eq=False, slots=True)
class SeededSearch:
    """Hill-climbing under one weighting of the examples.

    `weights` are in fixed point, `classes` 1 for positives; `point` turns the weight covered by class into true and
    false positives.
    """

    engine: SeededEngine
    weights: NDArray[np.int64]
    classes: NDArray[np.int32]
    point: Callable[[NDArray[np.int64]], tuple[NDArray[np.float64], NDArray[np.float64]]]
    objective: RankObjective
    max_literals: int
    budget: Budget = field(default_factory=Budget)

    def climb(self, seed: int) -> Climb:
        """Add the legal literal that improves the score most, until none does,
        or no negative weight or budget is left.
        """
        totals = np.array([[self.weights[self.classes == label].sum() for label in (0, 1)]])
        tp, fp = self.point(totals)
        path = Climb([self.engine.root()], [CurvePoint(float(tp[0]), float(fp[0]))], 0.0)
        path.score = float(self.objective(tp, fp, path.points)[0])
        while len(path.clauses) <= self.max_literals and path.points[-1].fp > 0 and not self.budget.is_spent:
            if not self._step(path, seed):
                break
        return path

    def _step(self, path: Climb, seed: int) -> bool:
        """Add the best literal to the path; says whether there was one."""
        clause = path.clauses[-1]
        literals = self.engine.literals(clause, seed)
        literals = literals.first(self.budget.allows(len(literals)))
        if len(literals) == 0:
            return False
        tp, fp = self.point(self.engine.score(clause, literals, self.weights, self.classes))
        self.budget.evaluated += len(literals)
        scores = self.objective(tp, fp, path.points)
        best = int(scores.argmax())
        if not scores[best] > path.score + LEAST_GAIN:
            return False
        refined = self.engine.refine(clause, literals, best)
        path.clauses.append(refined)
        path.points.append(CurvePoint(float(tp[best]), float(fp[best])))
        path.score = float(scores[best])
        return True
