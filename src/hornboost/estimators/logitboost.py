"""The scikit-learn classifier for LogitBoost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import _fit_context, is_regressor
from sklearn.tree import DecisionTreeRegressor

from hornboost.boosting.clauses import ClauseRegressor
from hornboost.boosting.logitboost import CellMeans, LogitBoostModel, RegressionLearner, RegressorLearner, boost_logit, symmetric_step
from hornboost.errors import DataError
from hornboost.estimators.clause_ensemble import Voter, rule_ensemble
from hornboost.estimators.ensemble import EnsembleClassifier
from hornboost.estimators.interrupts import ends_early, keep
from hornboost.model.diagnosis import warn_if_empty

if TYPE_CHECKING:
    import pandas as pd


class LogitBoostClassifier(EnsembleClassifier):
    """LogitBoost (Friedman, Hastie and Tibshirani 2000): additive logistic regression by weighted least squares, for any number of classes.

    An integer sample weight is the same as a repetition for clauses and stumps, but not for base learners that count rows or are trained
    on rejection samples.

    Parameters
    ----------
    base : "stump" is a regression stump, "tree" a regression tree of at most eight leaves, "clause" the clause that explains most of the
        responses; or any scikit-learn regressor. One whose `fit` takes no `sample_weight` is trained on rejection samples. None
        is "clause" when there is a database, otherwise "stump".
    rounds : so many functions, for more than two classes so many for each class.
    database : the tables behind the examples, or None when the rows of X are all there is.
    max_literals, max_depth : refinements of a clause at most, and joins between the example and a row that it may look at.
    max_entries : largest number of rows that a join may reach; joins over it are left out.
    n_jobs : threads for the search of clauses; the model does not depend on it.
    random_state : seed of the base learners and of rejection samples.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn.
    n_rounds_ : rounds done.
    history_ : a frame with a row for each round: log-loss on the training examples, seconds.
    stopped_ : why the boosting ended.
    rules_, ensemble_ : the rules, with `base="clause"`.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> LogitBoostClassifier(random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @ends_early
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from examples; a weight of 0 leaves an example out."""
        base = None if self._learns_clauses else self._base_learner()
        if base is not None and not is_regressor(base):
            raise DataError(f"LogitBoostClassifier needs a regressor as base learner. Got {type(base).__name__} instead.")
        rows, codes, weights, content, problem = self._training(X, y, sample_weight)
        learner: RegressionLearner
        if problem is not None:
            learner = ClauseRegressor(problem, self.max_literals)
        else:
            learner = RegressorLearner(base, seed=self._seed(), multiplicity=weights, content=content)
        self._model: LogitBoostModel = boost_logit(rows, codes, weights, learner, n_classes=len(self.classes_), rounds=self.rounds)
        self.n_rounds_ = len(self._model.rounds)
        self.stopped_ = keep(self._model.stopped, self.n_rounds_)
        if problem is not None:
            self.ensemble_ = rule_ensemble(problem, _voters(self._model), [0.0] * len(self.classes_))
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
                "training_log_loss": [voter.training_loss for voter in rounds],
                "seconds": [voter.seconds for voter in rounds],
            }
        )

    def _base_learner(self) -> Any:
        if self.base is None or (isinstance(self.base, str) and self.base == "stump"):
            return DecisionTreeRegressor(max_depth=1)
        if isinstance(self.base, str) and self.base == "tree":
            return DecisionTreeRegressor(max_leaf_nodes=8)
        return self.base


def _voters(model: LogitBoostModel) -> list[Voter]:
    """The functions of all rounds with what each cell adds to the classes' scores."""
    voters = []
    for voter in model.rounds:
        for output, function in enumerate(voter.functions):
            assert isinstance(function, CellMeans)
            alone = [np.zeros(function.hypothesis.n_cells) for _ in voter.functions]
            alone[output] = function.values  # noqa: PD011 (an array of ours)
            voters.append(Voter(function.hypothesis, symmetric_step(alone, model.n_classes)))
    return voters
