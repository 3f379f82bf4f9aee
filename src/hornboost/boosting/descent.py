"""Gradient descent by clauses: the scores of all examples, and the clause that moves them furthest down the loss."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hornboost import exact
from hornboost.engine import State
from hornboost.engine.sampling import example_hash, uniform
from hornboost.engine.tree import Spec
from hornboost.estimators.examples import Targets
from hornboost.learners.hypotheses import Floats
from hornboost.learners.losses import Loss
from hornboost.learners.newton import Derivatives, NewtonSearch
from hornboost.learners.newton_kernels import move
from hornboost.learners.problem import Problem
from hornboost.model.votes import in_steps

FADES = 0.05
"""The share of the curvature at the start below which λ falls with what is left of it.

Where labels have no noise, the curvature of all examples vanishes as their probabilities come close to 0 and 1. Beside
it, a λ that stays what it is grows ever heavier: steps become small, and hundreds of rounds go by to no end.
"""

Change = tuple[State, Floats]
"""A clause and what its cells {not covered, covered} vote more than before, a row a cell."""


class Descent:
    """Scores of all examples, moved by a clause at a time; examples of weight 0 are scored, not learned from.

    There are at most `max_rules` different clauses; `ended` says why there is no further step.
    """

    def __init__(
        self,
        problem: Problem,
        y: Targets,
        weights: Floats,
        loss: Loss,
        search: NewtonSearch,
        l2: float,
        learning_rate: float,
        subsample: float,
        seed: int,
        max_rules: float = math.inf,
    ) -> None:
        self.problem, self.y, self.weights, self.loss, self.search = problem, y, weights, loss, search
        self.l2, self.learning_rate, self.subsample = l2, learning_rate, subsample
        self.seed, self.max_rules = seed, max_rules
        self.scores = np.tile(in_steps(loss.start(y, weights)), (len(y), 1))
        self.mass = exact.total(weights)
        self.first_curvature = 0.0
        if loss.curvature_vanishes:
            self.first_curvature = self._mean_curvature(self._derivatives(weights), weights)
        self.number = 0
        self.known: set[tuple[Spec, ...]] = set()
        self.ended = ""

    @property
    def is_known(self) -> bool:
        """Whether the next clause was found before."""
        return self.search.memory.knows_more

    def step(self) -> list[Change] | None:
        """The next clause and its votes, and changes to those of earlier ones, if one gains anything."""
        self.number += 1
        weights = self._drawn()
        derivatives = self._derivatives(weights)
        l2 = self._l2(derivatives, weights)
        state = self.search.find(derivatives, l2)
        if state is None and self.subsample < 1.0:  # the few that were drawn may all be alike
            weights = self.weights
            derivatives = self._derivatives(weights)
            l2 = self._l2(derivatives, weights)
            state = self.search.find(derivatives, l2)
        if state is None:
            self.ended = "no clause gains anything"
            return None
        if state.specs not in self.known and len(self.known) >= self.max_rules:
            self.ended = f"there are {self.max_rules} rules"
            return None
        self.known.add(state.specs)
        return self._move(state, derivatives, weights, l2)

    def _move(self, state: State, derivatives: Derivatives, weights: Floats, l2: float) -> list[Change]:
        """Step by the votes of a clause."""
        table = in_steps(self.learning_rate * self._steps(state.covered, derivatives, weights, l2))
        move(self.scores, table, state.covered)
        return [(state, table)]

    def _derivatives(self, weights: Floats) -> Derivatives:
        return Derivatives(*self.loss.derivatives(self.y, self.scores), weights, self.mass)

    def _l2(self, derivatives: Derivatives, weights: Floats) -> float:
        """The λ of a round, which fades where next to no curvature is left."""
        if not self.loss.curvature_vanishes:
            return self.l2
        mean = self._mean_curvature(derivatives, weights)
        fades_below = FADES * self.first_curvature
        return self.l2 * (mean / fades_below) if mean < fades_below else self.l2

    def _mean_curvature(self, derivatives: Derivatives, weights: Floats) -> float:
        mass = self.mass if weights is self.weights else exact.total(weights)
        return derivatives.curvature / mass if mass > 0.0 else 0.0

    def _steps(self, covered: NDArray[np.bool_], derivatives: Derivatives, weights: Floats, l2: float) -> Floats:
        """What is best for the cells {not covered, covered}, a row a cell; less where there are few examples."""
        gradient, hessian = derivatives.cells(covered)
        found = self.loss.steps(gradient, hessian, l2)
        if self.loss.is_smooth:
            return found
        for cell, inside in enumerate((~covered, covered)):
            best = self.loss.optimum(self.y[inside], self.scores[inside], weights[inside])
            if best is not None and hessian[cell].all():
                found[cell] = best * (hessian[cell] / (hessian[cell] + l2))
        return found

    def _drawn(self) -> Floats:
        if self.subsample == 1.0:
            return self.weights
        draws = uniform(example_hash(self.seed, self.number, self.problem.content))
        return np.where(draws < self.subsample, self.weights, 0.0)
