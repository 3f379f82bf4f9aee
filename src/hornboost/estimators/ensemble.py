"""What KBS, AdaBoost.M1 and LogitBoost share: checking and encoding of the examples, base learners by name, predictions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import narwhals.dependencies as frames
import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import _safe_indexing, check_array, get_tags
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from hornboost.boosting.base_learners import Rows
from hornboost.boosting.kbs import probabilities
from hornboost.boosting.lift import Codes, Floats
from hornboost.data import Database
from hornboost.data.table import Table
from hornboost.engine.sampling import content_hash, splitmix64, tell_apart
from hornboost.errors import DataError, ModelError
from hornboost.estimators.classes import check_classes
from hornboost.estimators.matrix import MatrixEncoder
from hornboost.estimators.relational import RelationalClassifier
from hornboost.estimators.weights import checked_weights
from hornboost.logic.clause import Clause
from hornboost.model.ensemble import Rule
from hornboost.search.problem import Problem

if TYPE_CHECKING:
    from hornboost.model.explain import Explanations
    from hornboost.model.file import SavedModel


class Training(NamedTuple):
    """The training examples of positive weight; `problem` where clauses are learned from them."""

    rows: Rows
    y: Codes
    weights: Floats
    content: NDArray[np.uint64]
    problem: Problem | None


class EnsembleClassifier(RelationalClassifier):
    """A booster over any base learner. Its model adds up scores; where all hypotheses are clauses it is an `Ensemble` as well.

    A subclass has a `_base_learner()` for scikit-learn, and sets `_model` in `fit`.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "rounds": [Interval(Integral, 1, None, closed="left")],
        "base": [StrOptions({"stump", "tree", "clause"}), HasMethods(["fit", "predict"]), None],
        "database": "no_validation",
        "max_literals": [Interval(Integral, 1, None, closed="left")],
        "max_depth": [Interval(Integral, 0, None, closed="left")],
        "max_entries": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    _model: Any
    _behind: Database | None
    """The tables that known clauses look at beside a base learner of scikit-learn."""

    def __init__(
        self,
        base: Any = None,
        rounds: int = 30,
        *,
        database: Database | None = None,
        max_literals: int = 4,
        max_depth: int = 2,
        max_entries: int = 50_000_000,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.base = base
        self.rounds = rounds
        self.database = database
        self.max_literals = max_literals
        self.max_depth = max_depth
        self.max_entries = max_entries
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _base_learner(self) -> Any:
        """What `base` stands for: an estimator of scikit-learn. Each booster has its own."""
        raise NotImplementedError

    @property
    def _learns_clauses(self) -> bool:
        return self.database is not None if self.base is None else isinstance(self.base, str) and self.base == "clause"

    @property
    def _knows_clauses(self) -> bool:
        return any(isinstance(item, str | Clause) for item in getattr(self, "prior_knowledge", ()))

    def _engine_options(self) -> dict[str, Any]:
        return {"max_depth": self.max_depth, "max_entries": self.max_entries, "n_jobs": effective_n_jobs(self.n_jobs)}

    def _training(self, X: Any, y: Any, sample_weight: Any) -> Training:
        """Check and encode the training examples; those of weight 0 are left out as if they had not been given."""
        self.__dict__.pop("ensemble_", None)
        if self._learns_clauses:
            problem = self._problem(X, y, sample_weight, **self._engine_options())
            codes = problem.classes.astype(np.intp)
            given = self._checked(X, reset=False)
            if problem.n < len(given):
                given = _safe_indexing(given, np.flatnonzero(np.asarray(sample_weight) > 0))
            rows = Rows(given, np.empty((problem.n, 0)), problem.database, problem.examples)
            return Training(rows, codes, problem.weights, tell_apart(splitmix64(problem.content ^ codes.astype(np.uint64))), problem)
        if y is None:
            raise ValueError(
                f"requires y to be passed, but the target y is None; give {type(self).__name__}.fit the classes of the examples."
            )
        rows = self._rows(X, reset=True)
        labels = column_or_1d(y, warn=True)
        check_classes(labels, self)
        if len(labels) != len(rows):
            raise DataError(f"X has {len(rows)} rows and y has {len(labels)}; they must have the same number.")
        weights = checked_weights(sample_weight, len(rows))
        counted = np.flatnonzero(weights > 0)
        if len(counted) < len(weights):
            rows, labels, weights = take(rows, counted), labels[counted], weights[counted]
        self.classes_, codes = np.unique(labels, return_inverse=True)
        return Training(rows, codes, weights, example_content(rows, codes), None)

    def _rows(self, X: Any, *, reset: bool = False) -> Rows:
        if not reset:
            check_is_fitted(self)
        if self._learns_clauses:
            given = self._checked(X, reset=reset)
            return Rows(given, np.empty((len(given), 0)), self._database, self._database.encode(given))
        base = self._base_learner()
        dtype = np.float32 if isinstance(base, DecisionTreeClassifier | DecisionTreeRegressor) else np.float64
        allow = "allow-nan" if get_tags(base).input_tags.allow_nan else True
        if not frames.is_into_dataframe(X):
            matrix = validate_data(self, X, reset=reset, dtype=np.float64, ensure_all_finite=allow)
            given = matrix
        else:
            validate_data(self, X, reset=reset, skip_check_array=True)
            given = X
            if reset:
                self._encoder = MatrixEncoder(X, leave_out=self._key_columns())
            matrix = self._encoder.matrix(X) if getattr(self, "_encoder", None) is not None else np.asarray(X, dtype=np.float64)
        if reset:
            self._behind = Database.from_single(given) if self.database is None and self._knows_clauses else self.database
        checked = check_array(matrix, dtype=dtype, ensure_all_finite=allow, estimator=self)
        return Rows(given, np.ascontiguousarray(checked), self._behind)

    def _key_columns(self) -> frozenset[str]:
        if self.database is None:
            return frozenset()
        return frozenset(column.name for column in self.database.tables[self.database.target.table].keys)

    def _scores(self, X: Any) -> Floats:
        check_is_fitted(self)
        if "ensemble_" in self.__dict__:
            return super()._scores(X)
        rows = self._rows(X)
        return np.asarray(self._model.scores(rows))

    def decision_function(self, X: Any) -> Floats:
        """The score of the second class minus that of the first for two classes, otherwise the score of each class."""
        scores = self._scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict_proba(self, X: Any) -> Floats:
        """Pr(y|x), a column for each class of `classes_`: the scores read as logarithms of odds."""
        scores = self._scores(X)
        return probabilities(scores)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest score."""
        scores = self._scores(X)
        codes = self.ensemble_.choices(scores) if "ensemble_" in self.__dict__ else first_best(scores)
        return np.asarray(self.classes_[codes])

    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """`predict_proba` after each round (with prior knowledge: first after that alone); the last one is that of the model.

        >>> from sklearn.datasets import load_iris
        >>> import hornboost as hb
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = hb.KBSClassifier(rounds=3).fit(X, y)
        >>> [stage.shape for stage in clf.staged_predict_proba(X)]
        [(150, 3), (150, 3), (150, 3)]
        """
        rows = self._rows(X)
        for scores in self._model.staged_scores(rows):
            yield probabilities(scores)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """`predict` after each round."""
        for probability in self.staged_predict_proba(X):
            yield self.classes_[first_best(probability)]

    @property
    def rules_(self) -> list[Rule]:
        """The rules of a model of clauses, equal ones merged, in the order in which they were first found; prior knowledge comes first."""
        self._check_rules()
        return super().rules_

    def explain(self, X: Any, missed: int = 3) -> Explanations:
        """For each example the rules that fired, their votes and witnesses, as in every estimator of rules."""
        self._check_rules()
        return super().explain(X, missed)

    def _saved(self) -> SavedModel:
        self._check_rules()
        return super()._saved()

    def _check_rules(self) -> None:
        check_is_fitted(self)
        if "ensemble_" not in self.__dict__:
            blame = (
                "prior knowledge that is no clause" if self._learns_clauses else f"the base learner {type(self._base_learner()).__name__}"
            )
            raise ModelError(
                f"this {type(self).__name__} was fitted with {blame}, so its model is no set of rules; "
                "fit it with base='clause' and clauses only."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._learns_clauses or get_tags(self._base_learner()).input_tags.allow_nan
        return tags


def take(rows: Rows, chosen: NDArray[np.intp]) -> Rows:
    """Some of the rows, in the order given."""
    encoded = rows.encoded
    if encoded is not None:
        columns = {name: replace(column, values=column.values[chosen]) for name, column in encoded.columns.items()}
        encoded = Table(encoded.name, columns, len(chosen))
    return Rows(_safe_indexing(rows.given, chosen), rows.matrix[chosen], rows.database, encoded)


def example_content(rows: Rows, y: Codes) -> NDArray[np.uint64]:
    """A hash of each example for random choices about it; equal examples are told apart."""
    return tell_apart(content_hash([*rows.matrix.T, y]))


def first_best(scores: Floats) -> Codes:
    """The first class whose score is the largest; scores that differ by rounding errors only are equal.

    >>> first_best(np.array([[0.1 + 0.2, 0.3], [0.3, 0.1 + 0.2], [0.0, 1.0]]))
    array([0, 0, 1])
    """
    return np.asarray((scores >= scores.max(axis=1, keepdims=True) - 1e-9).argmax(axis=1))


def sample_size(weights: Floats) -> float:
    """The number of examples that the weights stand for: an integer weight is a repetition; scaling all weights down loses nothing."""
    return float(max(len(weights), weights.sum()))


def classifier_by_name(base: Any) -> Any:
    """The classifier that `base` stands for; "tree" is grown to pure leaves of two examples and is to be pruned."""
    if base is None or (isinstance(base, str) and base == "stump"):
        return DecisionTreeClassifier(max_depth=1)
    if isinstance(base, str) and base == "tree":
        return DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2)
    return base
