"""Classifiers and regressors of scikit-learn as weak learners."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hornboost import exact
from hornboost.engine.sampling import example_hash, uniform
from hornboost.learners.hypotheses import (
    ClassCells,
    Codes,
    Floats,
    Graded,
    Hypothesis,
    LeafCells,
    MergedCells,
    OneCell,
    Rows,
)
from hornboost.learners.pruning import pessimistic_collapse

_MAX_PASSES = 64


class ClassifierLearner:
    """A scikit-learn classifier as weak learner.

    One whose `fit` takes no `sample_weight` is given a rejection sample.
    """

    is_additive = False

    def __init__(
        self,
        base: Any,
        n_classes: int,
        *,
        leaves: bool,
        pruned: bool,
        seed: int,
        multiplicity: Floats,
        content: NDArray[np.uint64],
    ) -> None:
        from sklearn.tree import DecisionTreeClassifier
        from sklearn.utils.validation import has_fit_parameter

        self.base = base
        self.n_classes = n_classes
        self.leaves = leaves
        self.pruned = pruned
        self.seed = seed
        self.multiplicity = multiplicity
        self.content = content
        self.takes_weights = has_fit_parameter(base, "sample_weight")
        self.is_tree = isinstance(base, DecisionTreeClassifier)
        self.is_random = "random_state" in base.get_params(deep=False)

    def fit(self, X: Rows, target: Codes, weights: Floats, round: int, output: int = 0) -> Hypothesis:
        from sklearn.base import clone

        rows = (
            np.flatnonzero(weights > 0)
            if self.takes_weights
            else rejection_sample(weights, self.seed, round, self.content)
        )
        if len(rows) == 0 or (target[rows] == target[rows[0]]).all():
            return OneCell(int(target[rows[0]]) if len(rows) else 0)
        model = clone(self.base)
        if self.is_random:
            model.set_params(random_state=round_seed(self.seed, round))
        if not self.takes_weights:
            model.fit(X.matrix[rows], target[rows])
            return ClassCells(model, self.n_classes)
        X_rows, y_rows, weights_rows = X.matrix, target, weights
        if len(rows) < len(target):
            X_rows, y_rows, weights_rows = X_rows[rows], y_rows[rows], weights_rows[rows]
        weights_rows = summable(weights_rows, self.multiplicity[rows])
        if self.is_tree:
            model.fit(X_rows, y_rows, sample_weight=weights_rows, check_input=X.has_missing)
            return self._tree_hypothesis(model)
        model.fit(X_rows, y_rows, sample_weight=weights_rows)
        return ClassCells(model, self.n_classes)

    def _tree_hypothesis(self, model: Any) -> Hypothesis:
        hypothesis = LeafCells(model, pessimistic_collapse(model.tree_) if self.pruned else None)
        return hypothesis if self.leaves else MergedCells(hypothesis, self.n_classes)


class RegressorLearner:
    """A scikit-learn regressor as weak learner; one whose `fit` takes no `sample_weight` is given a rejection sample.

    A tree gives its leaves as cells; any other regressor grades the examples, within ±`bound`.
    """

    is_additive = False

    def __init__(
        self, base: Any, *, bound: float, seed: int, multiplicity: Floats, content: NDArray[np.uint64]
    ) -> None:
        from sklearn.tree import DecisionTreeRegressor
        from sklearn.utils.validation import has_fit_parameter

        self.base = base
        self.bound = bound
        self.seed = seed
        self.multiplicity = multiplicity
        self.content = content
        self.takes_weights = has_fit_parameter(base, "sample_weight")
        self.is_tree = isinstance(base, DecisionTreeRegressor)
        self.is_random = "random_state" in base.get_params(deep=False)

    def fit(self, X: Rows, target: Floats, weights: Floats, round: int, output: int = 0) -> Hypothesis:
        from sklearn.base import clone

        model = clone(self.base)
        if self.is_random:
            model.set_params(random_state=round_seed(self.seed + output, round))
        if not self.takes_weights:
            rows = rejection_sample(weights, self.seed, round, example_hash(self.seed, output, self.content))
            model.fit(X.matrix[rows], target[rows])
            return Graded(model, self.bound)
        if not self.is_tree:
            model.fit(X.matrix, target, sample_weight=summable(weights, self.multiplicity))
            return Graded(model, self.bound)
        # weights and responses of few bits have exact sums, so that ties are ties; the means of the leaves are taken
        # from the unrounded
        rounded = np.ldexp(np.rint(np.ldexp(target, 18)), -18)
        model.fit(X.matrix, rounded, summable(weights, self.multiplicity, bits=30), check_input=X.has_missing)
        return LeafCells(model)


def round_seed(seed: int, round: int) -> int:
    """A seed for the random numbers that a base learner draws in this round."""
    return int(example_hash(seed, round, np.zeros(1, dtype=np.uint64))[0] >> np.uint64(33))


def summable(weights: Floats, multiplicity: Floats, bits: int = 40) -> Floats:
    """Weights on the scale of counts, rounded for each single example to so many bits of the total.

    Sums are exact in any order.

    So a base learner meets the same ties whether an example is given twice or with a weight of 2.

    >>> summable(np.array([0.3, 0.1]), np.array([3.0, 1.0]))
    array([3., 1.])
    """
    units = np.maximum(np.rint(weights / multiplicity * (2.0**bits / exact.total(weights))), 1.0) * multiplicity
    mantissa, exponent = math.frexp(multiplicity.sum())
    return np.ldexp(units, exponent - (mantissa < math.sqrt(0.5)) - bits)


def rejection_sample(weights: Floats, seed: int, round: int, content: NDArray[np.uint64]) -> NDArray[np.intp]:
    """Rows accepted with probability weight / largest weight,
    in passes until there are as many as examples (at most 64 passes).

    Each pass has a counter of its own in the hash, so that a row may be accepted again, as by sampling with
    replacement.

    >>> rows = rejection_sample(np.array([1.0, 0.0, 1.0]), 0, 1, np.arange(3, dtype=np.uint64))
    >>> rows.tolist()  # the heaviest are accepted by every pass
    [0, 2, 0, 2]
    """
    chance = weights / weights.max()
    passes: list[NDArray[np.intp]] = []
    accepted = 0
    while accepted < len(weights) and len(passes) < _MAX_PASSES:
        draws = uniform(example_hash(seed, round * _MAX_PASSES + len(passes), content))
        passes.append(np.flatnonzero(draws < chance))
        accepted += len(passes[-1])
    return np.concatenate(passes)
