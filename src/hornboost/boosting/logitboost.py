"""LogitBoost (Friedman, Hastie and Tibshirani 2000; Scholz 2005, figure 2, and its form for several classes)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hornboost import exact
from hornboost.boosting.base_learners import Hypothesis, LeafCells, Rows, rejection_sample, round_seed, summable
from hornboost.boosting.lift import Codes, Floats
from hornboost.engine.sampling import example_hash
from hornboost.stopping import check, learning

MAX_RESPONSE = 16.0
MAX_VALUE = 4.0
"""Where responses and the values of functions are cut. Friedman et al. (section 6) cut responses at 2 to 4, which makes the mean of a leaf
too small where most of its examples are well explained. Cross-validated on the training examples of adult, pima and ionosphere, 50 stumps
with these cuts have a log-loss of 0.300, 0.521 and 0.282; with responses cut at 4 they have 0.313, 0.542 and 0.292."""

_SMALLEST_WEIGHT = 1e-10


class Regression(Protocol):
    """A fitted function of the examples."""

    def predict(self, X: Rows) -> Floats:
        """Its value on each row of X."""


class RegressionLearner(Protocol):
    """Fits a function to responses z by weighted least squares; `round` and `output` tell calls apart."""

    def fit(self, X: Rows, z: Floats, weights: Floats, round: int, output: int) -> Regression:
        """Learn from rows X with responses z."""


@dataclass(frozen=True, eq=False)
class Round:
    """One function for two classes, otherwise one for each class; the log-loss on the training examples after it."""

    functions: list[Regression]
    training_loss: float
    seconds: float = 0.0


@dataclass(eq=False)
class LogitBoostModel:
    """F is the sum of all functions, each row's sum over the classes being 0; Pr(y|x) ∝ exp(F_y)."""

    n_classes: int
    rounds: list[Round] = field(default_factory=list)
    stopped: str = "all rounds done"

    def staged_scores(self, X: Rows) -> Iterator[Floats]:
        """F after each round."""
        scores = np.zeros((len(X), self.n_classes))
        for voter in self.rounds:
            scores += symmetric_step([function.predict(X) for function in voter.functions], self.n_classes)
            yield scores.copy()

    def scores(self, X: Rows) -> Floats:
        """F after all rounds."""
        scores = np.zeros((len(X), self.n_classes))
        for voter in self.rounds:
            scores += symmetric_step([function.predict(X) for function in voter.functions], self.n_classes)
        return scores


def symmetric_step(values: list[Floats], n_classes: int) -> Floats:
    """What a round adds to F: (-½f, ½f) for two classes; (J - 1)/J · (f_j - mean of all f) for J classes.

    >>> symmetric_step([np.array([2.0])], 2)
    array([[-1.,  1.]])
    """
    if len(values) == 1 and n_classes == 2:
        return np.stack([-0.5 * values[0], 0.5 * values[0]], axis=1)
    functions = np.stack(values, axis=1)
    return np.asarray((n_classes - 1) / n_classes * (functions - functions.mean(axis=1, keepdims=True)))


def boost_logit(X: Rows, y: Codes, weights: Floats, learner: RegressionLearner, *, n_classes: int, rounds: int) -> LogitBoostModel:
    """Figure 2, with responses cut at `MAX_RESPONSE`; functions keep within `MAX_VALUE` themselves."""
    model = LogitBoostModel(n_classes)
    if n_classes == 1:
        model.stopped = "there is one class only"
        return model
    distribution = weights / exact.total(weights)
    outputs = [1] if n_classes == 2 else list(range(n_classes))
    scores = np.zeros((len(y), n_classes))
    with learning() as ending:
        for number in range(1, rounds + 1):
            check()
            start = time.perf_counter()
            probability = exact.softmax(scores)
            functions: list[Regression] = []
            values: list[Floats] = []
            for output in outputs:
                p = probability[:, output]
                others = np.delete(probability, output, axis=1).sum(axis=1)  # 1 - p, without its cancellation
                # (y - p) / (p (1 - p)) is 1/p for the class itself and -1/(1 - p) for the others
                z = np.where(y == output, np.minimum(1.0 / p, MAX_RESPONSE), -np.minimum(1.0 / others, MAX_RESPONSE))
                functions.append(learner.fit(X, z, distribution * np.maximum(p * others, _SMALLEST_WEIGHT), number, output))
                values.append(np.asarray(functions[-1].predict(X), dtype=np.float64))
            step = symmetric_step(values, n_classes)
            if not np.isfinite(step).all():
                model.stopped = "the base learner gave a value that is not finite"
                break
            scores += step
            loss = exact.dot(distribution, -exact.logs(np.maximum(exact.softmax(scores)[np.arange(len(y)), y], np.finfo(np.float64).tiny)))
            model.rounds.append(Round(functions, loss, time.perf_counter() - start))
            if np.abs(step).max() < 1e-9:
                model.stopped = "the base learner found nothing new"
                break
    model.stopped = ending.reason or model.stopped
    return model


class RegressorLearner:
    """A scikit-learn regressor as learner; one whose `fit` takes no `sample_weight` is given a rejection sample."""

    def __init__(self, base: Any, *, seed: int, multiplicity: Floats, content: NDArray[np.uint64]) -> None:
        from sklearn.tree import DecisionTreeRegressor
        from sklearn.utils.validation import has_fit_parameter

        self.base = base
        self.seed = seed
        self.multiplicity = multiplicity
        self.content = content
        self.takes_weights = has_fit_parameter(base, "sample_weight")
        self.is_tree = isinstance(base, DecisionTreeRegressor)
        self.is_random = "random_state" in base.get_params(deep=False)

    def fit(self, X: Rows, z: Floats, weights: Floats, round: int, output: int) -> Regression:
        from sklearn.base import clone

        model = clone(self.base)
        if self.is_random:
            model.set_params(random_state=round_seed(self.seed + output, round))
        if not self.takes_weights:
            rows = rejection_sample(weights, self.seed, round, example_hash(self.seed, output, self.content))
            model.fit(X.matrix[rows], z[rows])
            return _Predictor(model)
        if not self.is_tree:
            model.fit(X.matrix, z, sample_weight=summable(weights, self.multiplicity))
            return _Predictor(model)
        # weights and responses of few bits have exact sums, so that ties are ties; the values in the leaves are not rounded
        model.fit(
            X.matrix, np.ldexp(np.rint(np.ldexp(z, 18)), -18), summable(weights, self.multiplicity, bits=30), check_input=X.has_missing
        )
        return CellMeans(LeafCells(model), X, z, weights)


class _Predictor:
    """Any fitted regressor."""

    def __init__(self, model: Any) -> None:
        self.model = model

    def predict(self, X: Rows) -> Floats:
        return np.clip(np.asarray(self.model.predict(X.matrix), dtype=np.float64), -MAX_VALUE, MAX_VALUE)


class CellMeans:
    """Least squares over a partition: the weighted mean of the responses in each cell, cut at `MAX_VALUE`; 0 in a cell never seen."""

    def __init__(self, hypothesis: Hypothesis, X: Rows, z: Floats, weights: Floats) -> None:
        self.hypothesis = hypothesis
        cells = hypothesis.cells(X)
        weight = np.bincount(cells, weights=weights, minlength=hypothesis.n_cells)
        total = np.bincount(cells, weights=weights * z, minlength=hypothesis.n_cells)
        self.values: Floats = np.clip(np.divide(total, weight, out=np.zeros_like(weight), where=weight > 0), -MAX_VALUE, MAX_VALUE)

    def predict(self, X: Rows) -> Floats:
        return np.asarray(self.values[self.hypothesis.cells(X)])
