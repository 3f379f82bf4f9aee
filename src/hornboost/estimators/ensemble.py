"""What the boosters over scikit-learn base learners share: checking and encoding of the examples, base learners by name."""

from __future__ import annotations

from typing import Any

import narwhals.dependencies as frames
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import _safe_indexing, check_array, check_random_state, get_tags
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, column_or_1d, validate_data

from hornboost.boosting.base_learners import Rows
from hornboost.boosting.lift import Codes, Floats
from hornboost.engine.sampling import content_hash, tell_apart
from hornboost.errors import DataError
from hornboost.estimators.matrix import MatrixEncoder


class EnsembleClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Examples in, `Rows` out; a subclass has `base`, `random_state` and `_base_learner()`."""

    def _base_learner(self) -> Any:
        raise NotImplementedError

    def _training_rows(self, X: Any, y: Any, sample_weight: Any) -> tuple[Rows, Codes, Floats]:
        """Check and encode the training examples; those of weight 0 are left out as if they had not been given."""
        if y is None:
            raise ValueError(
                f"requires y to be passed, but the target y is None; give {type(self).__name__}.fit the classes of the examples."
            )
        rows = self._rows(X, reset=True)
        labels = column_or_1d(y, warn=True)
        check_classification_targets(labels)
        if len(labels) != len(rows):
            raise DataError(f"X has {len(rows)} rows and y has {len(labels)}; they must have the same number.")
        weights = _check_sample_weight(sample_weight, rows.matrix, dtype=np.float64, ensure_non_negative=True)
        counted = np.flatnonzero(weights > 0)
        if len(counted) == 0:
            raise DataError("every example has a sample_weight of 0; at least one must be positive.")
        if len(counted) < len(weights):
            rows, labels, weights = take(rows, counted), labels[counted], weights[counted]
        self.classes_, codes = np.unique(labels, return_inverse=True)
        return rows, codes, weights

    def _rows(self, X: Any, *, reset: bool = False) -> Rows:
        if not reset:
            check_is_fitted(self)
        base = self._base_learner()
        dtype = np.float32 if isinstance(base, DecisionTreeClassifier | DecisionTreeRegressor) else np.float64
        allow = "allow-nan" if get_tags(base).input_tags.allow_nan else True
        if not frames.is_into_dataframe(X):
            matrix = validate_data(self, X, reset=reset, dtype=np.float64, ensure_all_finite=allow)
            return Rows(matrix, np.ascontiguousarray(check_array(matrix, dtype=dtype, ensure_all_finite=allow)))
        validate_data(self, X, reset=reset, skip_check_array=True)
        if reset:
            self._encoder = MatrixEncoder(X)
        if getattr(self, "_encoder", None) is None:
            matrix = np.asarray(X, dtype=np.float64)
        else:
            matrix = self._encoder.matrix(X)
        return Rows(X, np.ascontiguousarray(check_array(matrix, dtype=dtype, ensure_all_finite=allow, estimator=self)))

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = get_tags(self._base_learner()).input_tags.allow_nan
        return tags


def take(rows: Rows, chosen: NDArray[np.intp]) -> Rows:
    """Some of the rows, in the order given."""
    return Rows(_safe_indexing(rows.given, chosen), rows.matrix[chosen])


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
