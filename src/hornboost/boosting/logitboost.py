"""LogitBoost (Friedman, Hastie and Tibshirani 2000; Scholz 2005, figure 2, and its form for several classes)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from sklearn.base import is_regressor
from sklearn.tree import DecisionTreeRegressor

from hornboost import exact
from hornboost.errors import DataError
from hornboost.estimators.base_learner import BaseLearnerBooster
from hornboost.estimators.examples import Training
from hornboost.estimators.run import Loop, Run
from hornboost.learners.clauses import ClauseRegressor
from hornboost.learners.hypotheses import Floats, Graded, Hypothesis, Rows, WeakLearner
from hornboost.learners.scikit import RegressorLearner
from hornboost.model.scale import log_loss
from hornboost.model.votes import Round, Vote

MAX_RESPONSE = 16.0
MAX_VALUE = 4.0
"""Where responses and the values of functions are cut. Friedman et al. (section 6) cut responses at 2 to 4, which makes
the mean of a leaf too small where most of its examples are well explained."""

_SMALLEST_WEIGHT = 1e-10


@dataclass(eq=False, repr=False, kw_only=True)
class LogitBoostClassifier(BaseLearnerBooster):
    """LogitBoost (Friedman, Hastie and Tibshirani 2000): additive logistic regression by weighted least squares.

    For more than two classes each round learns a function for each class. An integer sample weight is the same as a
    repetition for clauses and stumps, but not for base learners that count rows or are trained on rejection samples.

    Parameters
    ----------
    base : {"clause", "stump", "tree"}, regressor or None
        What is boosted: "stump" is a regression stump, "tree" a regression tree of at most eight leaves, "clause" the
        clause that explains most of the responses; or any regressor of scikit-learn. One whose `fit` takes no
        `sample_weight` is trained on rejection samples. None is "clause" when there is a database, otherwise "stump".
    database, rounds, max_literals, max_depth, early_stopping, class_weight, time_limit, checkpoint, …
        As in every `Booster`.

    Attributes
    ----------
    history_ : DataFrame
        A row a round: log-loss on the training examples, seconds.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> LogitBoostClassifier(random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """

    history_columns = ("training_log_loss",)

    def _boost(self, training: Training, run: Run) -> Loop:
        """Figure 2, with responses cut at `MAX_RESPONSE` and functions at `MAX_VALUE`."""
        X, y, n_classes = training.rows, training.y, len(training.labels)
        if n_classes == 1:
            return "there is one class only"
        learner = self._regressor(training, run)
        distribution = training.weights / exact.total(training.weights)
        outputs = [1] if n_classes == 2 else list(range(n_classes))
        scores = np.zeros((len(y), n_classes))
        for number in count(1):
            probability = exact.softmax(scores)
            votes, step = [], np.zeros_like(scores)
            for output in outputs:
                p = probability[:, output]
                others = np.delete(probability, output, axis=1).sum(axis=1)  # 1 - p, without its cancellation
                # (y - p) / (p (1 - p)) is 1/p for the class itself and -1/(1 - p) for the others
                z = np.where(y == output, np.minimum(1.0 / p, MAX_RESPONSE), -np.minimum(1.0 / others, MAX_RESPONSE))
                weights = distribution * np.maximum(p * others, _SMALLEST_WEIGHT)
                hypothesis = learner.fit(X, z, weights, number, output)
                table = _means(hypothesis, X, z, weights, training.pseudo_weight)
                votes.append(Vote(hypothesis, table[:, None] * direction(output, n_classes)))
                step += votes[-1].of(X)[0]
            if not np.isfinite(step).all():
                return "the base learner gave a value that is not finite"
            scores += step
            yield Round(tuple(votes), {"training_log_loss": log_loss(scores, y, distribution)})
            if np.abs(step).max() < 1e-9:
                return "the base learner found nothing new"
        raise AssertionError("unreachable")

    def _regressor(self, training: Training, run: Run) -> WeakLearner:
        if training.problem is not None:
            return ClauseRegressor(training.problem, self.max_literals, run.memory)
        base = self._base_learner()
        if not is_regressor(base):
            raise DataError(
                f"LogitBoostClassifier needs a regressor as base learner. Got {type(base).__name__} instead."
            )
        return RegressorLearner(
            base, bound=MAX_VALUE, seed=run.seed, multiplicity=training.weights, content=training.content
        )

    def _base_learner(self) -> Any:
        if self.base is None or (isinstance(self.base, str) and self.base == "stump"):
            return DecisionTreeRegressor(max_depth=1)
        if isinstance(self.base, str) and self.base == "tree":
            return DecisionTreeRegressor(max_leaf_nodes=8)
        return self.base


def direction(output: int, n_classes: int) -> Floats:
    """What a value f of the function for one class adds to F.

    For two classes it is (-½f, ½f), for J classes (J - 1)/J · (f_j - mean).

    Examples
    --------
    >>> direction(1, 2), direction(0, 4)
    (array([-0.5,  0.5]), array([ 0.5625, -0.1875, -0.1875, -0.1875]))
    """
    if n_classes == 2:
        return np.array([-0.5, 0.5])
    return np.asarray((n_classes - 1) / n_classes * (np.eye(n_classes)[output] - 1.0 / n_classes))


def _means(hypothesis: Hypothesis, X: Rows, z: Floats, weights: Floats, pseudo_weight: float) -> Floats:
    """Least squares over a partition: the weighted mean of the responses in each cell, cut; 0 in a cell never seen."""
    if isinstance(hypothesis, Graded):
        return np.ones(1)
    cells = hypothesis.cells(X)
    weight = np.bincount(cells, weights=weights, minlength=hypothesis.n_cells)
    total = np.bincount(cells, weights=weights * z, minlength=hypothesis.n_cells)
    if pseudo_weight:
        weight, total = weight + pseudo_weight * weight.sum(), total + pseudo_weight * total.sum()
    means = np.divide(total, weight, out=np.zeros_like(weight), where=weight > 0)
    return np.clip(means, -MAX_VALUE, MAX_VALUE)
