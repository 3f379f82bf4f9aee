"""The scikit-learn classifier for AdaBoost.M1."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import _fit_context

from hornboost.boosting.adaboost import AdaBoostModel, boost_m1
from hornboost.boosting.base_learners import ClassifierLearner, WeakLearner
from hornboost.boosting.clauses import ClauseLearner
from hornboost.estimators.clause_ensemble import Voter, rule_ensemble
from hornboost.estimators.ensemble import EnsembleClassifier, classifier_by_name, sample_size
from hornboost.estimators.interrupts import ends_early, keep
from hornboost.model.diagnosis import warn_if_empty

if TYPE_CHECKING:
    import pandas as pd


class AdaBoostM1Classifier(EnsembleClassifier):
    """AdaBoost.M1 (Freund and Schapire 1997), for comparison with `KBSClassifier` on the same base learners.

    The votes are read as logarithms of odds by `predict_proba`; AdaBoost.M1 itself gives no probabilities, and these are not calibrated.

    An integer sample weight is the same as a repetition for clauses and stumps, but not for base learners that count rows (the "tree" does:
    two in each leaf) or are trained on rejection samples.

    Parameters
    ----------
    base : "stump" is a decision stump, "tree" a decision tree pruned as C4.5 does, "clause" the clause with the largest |WRAcc|; or any
        scikit-learn classifier. One whose `fit` takes no `sample_weight` is trained on rejection samples. None is "clause" when there is
        a database, otherwise "stump".
    rounds : at most so many hypotheses; it ends before one with an error of ½ or more, and after one without error.
    database : the tables behind the examples, or None when the rows of X are all there is.
    max_literals, max_depth : refinements of a clause at most, and joins between the example and a row that it may look at.
    max_entries : largest number of rows that a join may reach; joins over it are left out.
    n_jobs : threads for the search of clauses; the model does not depend on it.
    random_state : seed of the base learners and of rejection samples.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn.
    n_rounds_ : rounds kept.
    history_ : a frame with a row for each round: cells, error, vote, seconds.
    stopped_ : why the boosting ended.
    rules_, ensemble_ : the rules, with `base="clause"`.

    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> AdaBoostM1Classifier(random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @ends_early
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from examples; a weight of 0 leaves an example out."""
        rows, codes, weights, content, problem = self._training(X, y, sample_weight)
        learner: WeakLearner
        if problem is not None:
            learner = ClauseLearner(problem, self.max_literals)
        else:
            learner = ClassifierLearner(
                self._base_learner(),
                len(self.classes_),
                leaves=False,
                pruned=isinstance(self.base, str) and self.base == "tree",
                seed=self._seed(),
                multiplicity=weights,
                content=content,
            )
        self._model: AdaBoostModel = boost_m1(
            rows, codes, weights, learner, n_classes=len(self.classes_), n_examples=sample_size(weights), rounds=self.rounds
        )
        self.n_rounds_ = len(self._model.rounds)
        self.stopped_ = keep(self._model.stopped, self.n_rounds_)
        if problem is not None:
            voters = [Voter(voter.hypothesis, voter.vote * np.eye(len(self.classes_))[voter.predicted]) for voter in self._model.rounds]
            self.ensemble_ = rule_ensemble(problem, voters, self._model.intercept.tolist())
            warn_if_empty(self.ensemble_, problem)
            self.refused_ = dict(problem.engine.refused)
        return self

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
