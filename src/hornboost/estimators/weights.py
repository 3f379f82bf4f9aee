"""Sample weights as every estimator takes them: finite, not negative, and of a sum that arithmetic can hold."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.class_weight import compute_sample_weight
from sklearn.utils.validation import _check_sample_weight

from hornboost.errors import DataError

SMALLEST, LARGEST = 1e-150, 1e150
"""Bounds of a sum of weights: its square and the inverse of that are still numbers."""


def checked_weights(sample_weight: Any, n: int) -> NDArray[np.float64]:
    """The weights of n examples; scikit-learn's check finds what is no finite number or negative."""
    weights: NDArray[np.float64] = _check_sample_weight(sample_weight, np.empty((n, 1)), dtype=np.float64, ensure_non_negative=True)
    return _with_sum(weights, "sample_weight")


def class_weighted(weights: NDArray[np.float64], class_weight: Any, labels: NDArray[Any]) -> NDArray[np.float64]:
    """The weights times those of the classes: a dictionary, "balanced", or None for none."""
    if class_weight is None:
        return weights
    if isinstance(class_weight, dict):
        for name, weight in class_weight.items():
            if isinstance(weight, bool) or not isinstance(weight, Real) or not 0.0 <= float(weight) < np.inf:
                raise DataError(f"class_weight: the class {name!r} has the weight {weight!r}; give finite numbers of at least 0")
    return _with_sum(weights * compute_sample_weight(class_weight, labels), "class_weight")


def _with_sum(weights: NDArray[np.float64], what: str) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    if not weights.any():
        raise DataError(f"every example has a {what} of 0; at least one must be positive.")
    if not SMALLEST <= total <= LARGEST:
        raise DataError(f"{what}: the weights sum to {total:g}; scale them to a sum between {SMALLEST:g} and {LARGEST:g}")
    return weights
