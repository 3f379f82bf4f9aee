"""AdaBoost.M1 (Freund and Schapire 1997; Scholz 2005, figure 1)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

import numpy as np

from hornboost import exact
from hornboost.boosting.base_learners import Hypothesis, Rows, WeakLearner
from hornboost.boosting.lift import Codes, Floats, joint_weights
from hornboost.stopping import check, learning


@dataclass(frozen=True, eq=False)
class Round:
    """A hypothesis, the class that each of its cells predicts, its weighted error and its vote, log(1/β)."""

    hypothesis: Hypothesis
    predicted: Codes
    error: float
    vote: float
    seconds: float = 0.0


@dataclass(eq=False)
class AdaBoostModel:
    """Rounds in order; the class with the largest sum of votes wins."""

    n_classes: int
    default: int
    rounds: list[Round] = field(default_factory=list)
    stopped: str = "all rounds done"

    @property
    def intercept(self) -> Floats:
        """Without any round the majority class has the only vote."""
        return np.asarray(np.eye(self.n_classes)[self.default] * (not self.rounds))

    def staged_scores(self, X: Rows) -> Iterator[Floats]:
        """The sum of votes for each class after each round."""
        votes = np.tile(self.intercept, (len(X), 1))
        rows = np.arange(len(X))
        for voter in self.rounds:
            votes[rows, voter.predicted[voter.hypothesis.cells(X)]] += voter.vote
            yield votes.copy()

    def scores(self, X: Rows) -> Floats:
        """The sum of votes for each class."""
        votes = np.tile(self.intercept, (len(X), 1))
        rows = np.arange(len(X))
        for voter in self.rounds:
            votes[rows, voter.predicted[voter.hypothesis.cells(X)]] += voter.vote
        return votes


def boost_m1(X: Rows, y: Codes, weights: Floats, learner: WeakLearner, *, n_classes: int, n_examples: float, rounds: int) -> AdaBoostModel:
    """Figure 1. It ends before a hypothesis with ε >= ½, and after one with ε = 0, which votes as if it had erred on half an example."""
    distribution = weights / exact.total(weights)
    model = AdaBoostModel(n_classes, int(np.bincount(y, weights=weights, minlength=n_classes).argmax()))
    with learning() as ending:
        for number in range(1, rounds + 1):
            check()
            start = time.perf_counter()
            hypothesis = learner.fit(X, y, distribution, number)
            cells = hypothesis.cells(X)
            predicted = hypothesis.predicted
            if predicted is None:
                predicted = joint_weights(cells, y, distribution, hypothesis.n_cells, n_classes).argmax(axis=1)
            correct = predicted[cells] == y
            error = exact.total(distribution[~correct])
            if error >= 0.5:
                model.stopped = "the base learner errs on half of the weight or more"
                break
            beta = max(error, 0.5 / n_examples if error == 0 else 0.0) / (1.0 - error)
            model.rounds.append(Round(hypothesis, predicted, error, -exact.log(beta), time.perf_counter() - start))
            if error == 0:
                model.stopped = "a hypothesis without error on the training examples"
                break
            distribution = np.where(correct, distribution * beta, distribution)
            distribution /= exact.total(distribution)
    model.stopped = ending.reason or model.stopped
    return model
