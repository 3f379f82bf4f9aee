"""The scikit-learn classifier for LogitBoost."""

from __future__ import annotations

from collections.abc import Iterator
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context, is_regressor
from sklearn.tree import DecisionTreeRegressor
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from hornboost.boosting.kbs import probabilities
from hornboost.boosting.lift import Floats
from hornboost.boosting.logitboost import LogitBoostModel, RegressorLearner, boost_logit
from hornboost.errors import DataError
from hornboost.estimators.ensemble import EnsembleClassifier, example_content, first_best

if TYPE_CHECKING:
    import pandas as pd


class LogitBoostClassifier(EnsembleClassifier):
    """LogitBoost (Friedman, Hastie and Tibshirani 2000): additive logistic regression by weighted least squares, for any number of classes.

    Parameters
    ----------
    base : None or "stump" is a regression stump, "tree" a regression tree of at most eight leaves; or any scikit-learn regressor. One whose
        `fit` takes no `sample_weight` is trained on rejection samples.
    rounds : so many functions, for more than two classes so many for each class.
    random_state : seed of the base learners and of rejection samples.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn.
    n_rounds_ : rounds done.
    history_ : a frame with a row for each round: log-loss on the training examples, seconds.
    stopped_ : why the boosting ended.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> LogitBoostClassifier(random_state=0).fit(X, y).score(X, y) > 0.95
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
        base = self._base_learner()
        if not is_regressor(base):
            raise DataError(f"LogitBoostClassifier needs a regressor as base learner. Got {type(base).__name__} instead.")
        rows, codes, weights = self._training_rows(X, y, sample_weight)
        learner = RegressorLearner(base, seed=self._seed(), multiplicity=weights, content=example_content(rows, codes))
        self._model: LogitBoostModel = boost_logit(rows, codes, weights, learner, n_classes=len(self.classes_), rounds=self.rounds)
        self.n_rounds_ = len(self._model.rounds)
        self.stopped_ = self._model.stopped
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Pr(y|x), a column for each class of `classes_`."""
        return probabilities(self._scores(X))

    def decision_function(self, X: Any) -> Floats:
        """The log-odds of the second class for two classes, otherwise F, whose sum over the classes is 0."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class."""
        codes = first_best(self._scores(X))
        return np.asarray(self.classes_[codes])

    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """`predict_proba` after each round."""
        for scores in self._model.staged_scores(self._rows(X)):
            yield probabilities(scores)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """`predict` after each round."""
        for probability in self.staged_predict_proba(X):
            yield self.classes_[first_best(probability)]

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

    def _scores(self, X: Any) -> Floats:
        rows = self._rows(X)
        return self._model.scores(rows)
