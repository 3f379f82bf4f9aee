"""The scikit-learn classifier for AdaBoost.M1."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from hornboost.boosting.adaboost import AdaBoostModel, boost_m1
from hornboost.boosting.base_learners import ClassifierLearner
from hornboost.boosting.kbs import probabilities
from hornboost.boosting.lift import Floats
from hornboost.estimators.ensemble import EnsembleClassifier, classifier_by_name, example_content, first_best, sample_size

if TYPE_CHECKING:
    import pandas as pd


class AdaBoostM1Classifier(EnsembleClassifier):
    """AdaBoost.M1 (Freund and Schapire 1997), for comparison with `KBSClassifier` on the same base learners.

    Parameters
    ----------
    base : None or "stump" is a decision stump, "tree" a decision tree pruned as C4.5 does; or any scikit-learn classifier. One whose
        `fit` takes no `sample_weight` is trained on rejection samples.
    rounds : at most so many hypotheses; it ends before one with an error of ½ or more, and after one without error.
    random_state : seed of the base learners and of rejection samples.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn.
    n_rounds_ : rounds kept.
    history_ : a frame with a row for each round: cells, error, vote, seconds.
    stopped_ : why the boosting ended.

    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> AdaBoostM1Classifier(random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "base": [StrOptions({"stump", "tree"}), HasMethods(["fit", "predict"]), None],
        "rounds": [Interval(Integral, 1, None, closed="left")],
        "random_state": ["random_state"],
    }

    def __init__(self, base: Any = None, rounds: int = 30, *, random_state: Any = None) -> None:
        self.base = base
        self.rounds = rounds
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from examples; a weight of 0 leaves an example out."""
        rows, codes, weights = self._training_rows(X, y, sample_weight)
        learner = ClassifierLearner(
            self._base_learner(),
            len(self.classes_),
            leaves=False,
            pruned=isinstance(self.base, str) and self.base == "tree",
            seed=self._seed(),
            multiplicity=weights,
            content=example_content(rows, codes),
        )
        self._model: AdaBoostModel = boost_m1(
            rows, codes, weights, learner, n_classes=len(self.classes_), n_examples=sample_size(weights), rounds=self.rounds
        )
        self.n_rounds_ = len(self._model.rounds)
        self.stopped_ = self._model.stopped
        return self

    def decision_function(self, X: Any) -> Floats:
        """The sum of votes log(1/β) for each class; for two classes those for the second minus those for the first."""
        votes = self._votes(X)
        return votes[:, 1] - votes[:, 0] if votes.shape[1] == 2 else votes

    def predict_proba(self, X: Any) -> Floats:
        """The votes read as logarithms of odds; AdaBoost.M1 itself gives no probabilities, and these are not calibrated."""
        return probabilities(self._votes(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest sum of votes."""
        codes = first_best(self._votes(X))
        return np.asarray(self.classes_[codes])

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """`predict` after each round."""
        for votes in self._model.staged_votes(self._rows(X)):
            yield self.classes_[first_best(votes)]

    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """`predict_proba` after each round."""
        for votes in self._model.staged_votes(self._rows(X)):
            yield probabilities(votes)

    @property
    def history_(self) -> pd.DataFrame:
        """A row for each round."""
        import pandas as pd

        rounds = self._model.rounds
        return pd.DataFrame(
            {
                "round": np.arange(1, len(rounds) + 1),
                "cells": [voter.hypothesis.n_cells for voter in rounds],
                "error": [voter.error for voter in rounds],
                "vote": [voter.vote for voter in rounds],
                "seconds": [voter.seconds for voter in rounds],
            }
        )

    def _base_learner(self) -> Any:
        return classifier_by_name(self.base)

    def _votes(self, X: Any) -> Floats:
        rows = self._rows(X)
        return self._model.votes(rows)
