"""Gradient descent by clauses: the scores of all examples, and the clause that moves them furthest down the loss."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hornboost import exact
from hornboost.engine import State
from hornboost.engine.sampling import example_hash, uniform
from hornboost.estimators.examples import Targets
from hornboost.learners.hypotheses import Floats
from hornboost.learners.losses import Loss
from hornboost.learners.newton import Derivatives, NewtonSearch, steps
from hornboost.learners.problem import Problem
from hornboost.model.votes import in_steps


class Descent:
    """Scores of all examples, moved by a clause at a time; examples of weight 0 are scored, not learned from."""

    def __init__(
        self,
        problem: Problem,
        y: Targets,
        weights: Floats,
        loss: Loss,
        search: NewtonSearch,
        learning_rate: float,
        subsample: float,
        seed: int,
    ) -> None:
        self.problem, self.y, self.weights, self.loss, self.search = problem, y, weights, loss, search
        self.learning_rate, self.subsample, self.seed = learning_rate, subsample, seed
        self.scores = np.tile(in_steps(loss.start(y, weights)), (len(y), 1))
        self.mass = exact.total(weights)
        self.number = 0

    def step(self) -> tuple[State, Floats] | None:
        """The next clause and its table of votes, a row a cell, if one gains anything."""
        self.number += 1
        derivatives = Derivatives(*self.loss.derivatives(self.y, self.scores), self._drawn(), self.mass)
        state = self.search.find(derivatives)
        if state is None:
            return None
        sums = derivatives.channels[state.covered].sum(axis=0)
        table = in_steps(self.learning_rate * steps(sums, derivatives, self.search.l2))
        self.scores += table[state.covered.astype(np.intp)]
        return state, table

    def loss_on(self, weights: Floats) -> float:
        """The weighted mean of the loss."""
        return self.loss.mean(self.y, self.scores, weights)

    def loss_at(self, places: NDArray[np.intp], weights: Floats) -> float:
        """The weighted mean of the loss over some of the examples."""
        return self.loss.mean(self.y[places], self.scores[places], weights[places])

    def _drawn(self) -> Floats:
        if self.subsample == 1.0:
            return self.weights
        draws = uniform(example_hash(self.seed, self.number, self.problem.content))
        return np.where(draws < self.subsample, self.weights, 0.0)
