"""How good predicted numbers are on examples that training did not see."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hornboost.errors import ModelError

Floats = NDArray[np.float64]
Folds = list[tuple[NDArray[np.intp], NDArray[np.intp]]]


def number_figures(y: Any, predicted: Any, loss: str = "squared", quantile: float = 0.5) -> dict[str, float]:
    """R², the mean absolute error, the root of the mean squared error, and of counts the mean Poisson deviance.

    Of a quantile, its pinball loss and the share of labels that are not above it.

    >>> number_figures([1.0, 3.0], [1.0, 2.0])["mae"]
    0.5
    >>> number_figures([1.0, 3.0], [1.0, 2.0], "quantile", 0.9)["below"]
    0.5
    """
    from sklearn.metrics import (
        mean_absolute_error,
        mean_pinball_loss,
        mean_poisson_deviance,
        r2_score,
        root_mean_squared_error,
    )

    found = {
        "r2": float(r2_score(y, predicted)) if len(y) > 1 else float("nan"),
        "mae": float(mean_absolute_error(y, predicted)),
        "rmse": float(root_mean_squared_error(y, predicted)),
    }
    if loss == "poisson":
        found["deviance"] = float(mean_poisson_deviance(y, predicted))
    if loss == "quantile":
        found["pinball"] = float(mean_pinball_loss(y, predicted, alpha=quantile))
        found["below"] = float(np.mean(np.asarray(y) <= np.asarray(predicted)))
    return found


@dataclass(frozen=True, eq=False)
class NumberEvaluation:
    """Out-of-fold predictions of some examples; `fold` is the one in which an example was predicted."""

    truth: Floats
    predicted: Floats
    fold: NDArray[np.intp]
    n_all: int
    folds: str
    loss: str = "squared"
    quantile: float = 0.5

    @property
    def n_folds(self) -> int:
        return int(self.fold.max()) + 1

    @property
    def baseline(self) -> float:
        """The root mean squared error of always saying the mean."""
        return float(np.std(self.truth))

    def metrics(self) -> dict[str, list[float]]:
        """Each metric on each fold."""
        rows: dict[str, list[float]] = {}
        for k in range(self.n_folds):
            part = self.fold == k
            figures = number_figures(self.truth[part], self.predicted[part], self.loss, self.quantile)
            for metric, value in figures.items():
                rows.setdefault(NAMES[metric], []).append(value)
        return rows


NAMES = {
    "r2": "R²",
    "mae": "mean absolute error",
    "rmse": "root mean squared error",
    "deviance": "Poisson deviance",
    "pinball": "pinball loss",
    "below": "share of labels below",
}


def shuffled_folds(n: int, k: int, most: int, seed: int = 0) -> Folds:
    """`k` folds over at most `most` of n examples; positions in all of them."""
    from sklearn.model_selection import KFold

    if k < 2:
        raise ModelError(f"a cross-validation needs at least two folds, and 'cv' is {k}; give 2 or more, or 0 for none")
    kept = np.sort(np.random.default_rng(seed).permutation(n)[:most])
    if len(kept) < 4:
        raise ModelError(f"{len(kept)} examples are too few to hold some out; report without cross-validation (--cv 0)")
    splitter = KFold(min(k, len(kept) // 2), shuffle=True, random_state=seed)
    return [(kept[train], kept[test]) for train, test in splitter.split(kept)]


def cross_validate_numbers(
    estimator: Any, X: Any, y: Floats, folds: Folds, *, what: str, on_fold: Callable[[int, int], None]
) -> NumberEvaluation:
    """Fit a clone of the estimator on the training part of each fold and predict its test part."""
    from sklearn.base import clone
    from sklearn.utils import _safe_indexing

    predicted = []
    for k, (train, test) in enumerate(folds):
        on_fold(k, len(folds))
        fitted = clone(estimator).fit(_safe_indexing(X, train), y[train])
        predicted.append(fitted.predict(_safe_indexing(X, test)))
    at = np.concatenate([test for _, test in folds])
    fold = np.repeat(np.arange(len(folds)), [len(test) for _, test in folds])
    return NumberEvaluation(y[at], np.concatenate(predicted), fold, len(y), what, estimator.loss, estimator.quantile)
