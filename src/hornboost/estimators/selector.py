"""A scikit-learn selector by mutual information.

mRMR, and the stochastic search of mLynx (Di Mauro et al., Algorithm 1).
"""

from __future__ import annotations

from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar
from typing import Literal as Choice

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, _fit_context
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from hornboost.estimators.classes import checked_classes
from hornboost.estimators.interrupts import ends_early
from hornboost.estimators.weights import checked_weights

if TYPE_CHECKING:
    from sklearn.utils import Tags

MAX_VALUES = 1024
"""A column of more distinct values than this is refused: its information is an artefact of the sample."""


class MutualInformationSelector(SelectorMixin, BaseEstimator):  # type: ignore[misc]
    """Keep the columns that together tell most about the class.

    Takes any boolean or discrete matrix, dense, sparse or a frame; a missing value counts as a value of its own.

    Parameters
    ----------
    method : {"stochastic", "mrmr"}
        "stochastic" is Algorithm 1 of mLynx (Di Mauro et al.): restarts from a random column, mRMR steps, random walk
        steps, and the training error of a Bayes classifier as judge after each addition, its log-loss where errors are
        equal. "mrmr" is one greedy construction that begins with the most relevant column.
    alpha : float or None
        A construction ends when no column's mRMR is above it, in nats; None for no threshold.
    max_features : int or None
        A construction ends at this many columns; None for no limit.
    restarts : int
        Constructions, with "stochastic".
    walk_probability : float
        The probability of a random step, with "stochastic".
    random_state : int, RandomState or None
        The seed, with "stochastic".

    Attributes
    ----------
    selected_ : array
        Indices of the kept columns in the order of their choice.
    relevance_ : array
        I(column; class) of every column, in nats.
    history_ : list of Restart
        With "stochastic", the best set of each restart: columns, error, log_loss, grown.

    Examples
    --------
    >>> X = [[0, 0, 1], [0, 1, 1], [1, 0, 0], [1, 1, 0]] * 5
    >>> y = ["a", "a", "b", "b"] * 5
    >>> MutualInformationSelector(method="mrmr").fit(X, y).selected_
    array([0])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "method": [StrOptions({"stochastic", "mrmr"})],
        "alpha": [Interval(Real, None, None, closed="neither"), None],
        "max_features": [Interval(Integral, 1, None, closed="left"), None],
        "restarts": [Interval(Integral, 1, None, closed="left")],
        "walk_probability": [Interval(Real, 0, 1, closed="both")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        method: Choice["stochastic", "mrmr"] = "stochastic",
        *,
        alpha: float | None = 1e-2,
        max_features: int | None = None,
        restarts: int = 100,
        walk_probability: float = 0.05,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.method = method
        self.alpha = alpha
        self.max_features = max_features
        self.restarts = restarts
        self.walk_probability = walk_probability
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @ends_early
    def fit(self, X: Any, y: ArrayLike, sample_weight: ArrayLike | None = None) -> MutualInformationSelector:
        """Choose the columns; examples of weight 0 count as absent."""
        from hornboost.mining import selection

        X, y = validate_data(
            self, X, y, dtype=None, accept_sparse=("csc", "csr"), ensure_all_finite="allow-nan", y_numeric=False
        )
        labels = checked_classes(np.asarray(y), self)
        weights = checked_weights(sample_weight, X.shape[0])
        present = np.flatnonzero(weights)
        values, classes = np.unique(labels[present], return_inverse=True)
        columns = selection.encode(X if len(present) == len(weights) else X[present], weights[present])
        self._refuse_identifiers(columns)
        information = selection.Information.of(columns, classes, len(values), weights[present])
        alpha = -np.inf if self.alpha is None else float(self.alpha)
        if self.method == "mrmr":
            limit = min(self.max_features or self.n_features_in_, self.n_features_in_)
            chosen: tuple[int, ...] | list[int] = selection.greedy(information, limit, alpha)
        else:
            best, self.history_ = selection.stochastic(
                information,
                check_random_state(self.random_state).random_sample,
                restarts=self.restarts,
                walk_probability=self.walk_probability,
                alpha=alpha,
                max_features=self.max_features,
            )
            chosen = best.columns
        self.selected_ = np.array(chosen, dtype=np.intp)
        self.relevance_ = information.relevance
        return self

    def _refuse_identifiers(self, columns: Any) -> None:
        many = np.flatnonzero(columns.n_values > MAX_VALUES)
        if len(many):
            name = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))[many[0]]
            raise ValueError(
                f"column '{name}' has {columns.n_values[many[0]]} distinct values, but "
                "MutualInformationSelector takes boolean or discrete "
                "columns; bin it first, with KBinsDiscretizer for instance"
            )

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        mask = np.zeros(self.n_features_in_, dtype=bool)
        mask[self.selected_] = True
        return mask

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        tags.target_tags.required = True
        return tags
