"""Sample weights as every estimator takes them: finite, not negative, and of a sum that arithmetic can hold."""

from __future__ import annotations

import math
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import _check_sample_weight

from hornboost.errors import DataError, did_you_mean

SMALLEST, LARGEST = 1e-150, 1e150
"""Bounds of a sum of weights: its square and the inverse of that are still numbers."""


HEAVIEST = 2.0**20
"""Weights are repetitions, and fixed point has room for so many of an example: where one is heavier, all are halved."""


def checked_weights(sample_weight: Any, n: int) -> NDArray[np.float64]:
    """The weights of n examples; scikit-learn's check finds what is no finite number or negative."""
    if n == 0:  # scikit-learn's checks look for its own words, "0 sample(s)"
        raise DataError("there are no examples, 0 sample(s), to learn from; give at least one row")
    weights: NDArray[np.float64] = _check_sample_weight(
        sample_weight, np.empty((n, 1)), dtype=np.float64, ensure_non_negative=True
    )
    return _with_sum(weights, "sample_weight")


def class_weighted(weights: NDArray[np.float64], class_weight: Any, labels: NDArray[Any]) -> NDArray[np.float64]:
    """The weights times those of the classes.

    A dictionary (classes that it leaves out weigh 1), "balanced", or None for none.

    >>> class_weighted(np.ones(3), {"1": 5.0}, np.array(["0", "1", "1"], dtype=object))
    array([1., 5., 5.])
    >>> class_weighted(np.ones(4), "balanced", np.array([0, 1, 1, 1])).round(3)
    array([2.   , 0.667, 0.667, 0.667])
    """
    if class_weight is None:
        return weights
    classes, codes = np.unique(labels, return_inverse=True)
    if not isinstance(class_weight, dict):
        of_class = len(labels) / (len(classes) * np.bincount(codes))
        return _with_sum(weights * of_class[codes], "class_weight")
    of_class = np.ones(len(classes))
    for name, weight in class_weight.items():
        if isinstance(weight, bool) or not isinstance(weight, Real) or not 0.0 <= float(weight) < np.inf:
            raise DataError(
                f"class_weight: the class {name!r} has the weight {weight!r}; give finite numbers of at least 0"
            )
        if not np.any(classes == name):
            raise DataError(
                f"class_weight: there is no class {name!r} in 'y'{did_you_mean(str(name), map(str, classes))}"
            )
        of_class[classes == name] = weight
    return _with_sum(weights * of_class[codes], "class_weight")


def _with_sum(weights: NDArray[np.float64], what: str) -> NDArray[np.float64]:
    with np.errstate(over="ignore"):
        total = float(weights.sum())
    if not weights.any():
        raise DataError(f"every example has a {what} of 0; at least one must be positive.")
    if not SMALLEST <= total <= LARGEST:
        raise DataError(
            f"{what}: the weights sum to {total:g}; scale them to a sum between {SMALLEST:g} and {LARGEST:g}"
        )
    largest = float(weights.max())
    return weights if largest <= HEAVIEST else weights * 0.5 ** math.frexp(largest / HEAVIEST)[1]
