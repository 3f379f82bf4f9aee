"""Labels as every regressor takes them: finite numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hornboost.errors import DataError

LARGEST = 1e150
"""Labels whose squares, and the sums of these, are still numbers."""


def checked_numbers(y: NDArray[Any], estimator: Any) -> NDArray[np.float64]:
    """The labels as floats; text and dates are refused, and what is missing, infinite or too large.

    >>> checked_numbers(np.array([1, 2]), None)
    array([1., 2.])
    """
    name = type(estimator).__name__
    if y.dtype.kind == "c":
        raise DataError(f"Complex data not supported: y holds complex numbers and {name} predicts real ones.")
    if y.dtype.kind in "mM":
        raise DataError(f"y holds dates or durations and {name} predicts numbers; turn them into numbers first.")
    if y.dtype.kind == "O":
        import pandas as pd

        y = np.where(pd.isna(y), np.nan, y)
    try:
        with np.errstate(over="ignore"):
            numbers = np.array([float(value) for value in y] if y.dtype.kind == "O" else y).astype(np.float64)
    except (TypeError, ValueError):
        raise DataError(
            f"y holds {_first_text(y)!r}, which is no number, and {name} predicts numbers; use a classifier, "
            "or read the label with predicts='numbers'."
        ) from None
    missing = int(np.isnan(numbers).sum())
    if missing:
        raise DataError(
            f"Input y contains NaN: {missing} of {len(numbers)} labels are missing; "
            "leave those rows out, as 'Database.examples' does."
        )
    if not np.isfinite(numbers).all():
        count = int(np.count_nonzero(~np.isfinite(numbers)))
        raise DataError(
            f"Input y contains infinity or a value too large for dtype('float64'): {count} of {len(numbers)} labels; "
            "leave those rows out."
        )
    if np.abs(numbers).max(initial=0.0) > LARGEST:
        raise DataError(f"y holds {np.abs(numbers).max():g}; scale labels to at most {LARGEST:g}.")
    return numbers + 0.0


def _first_text(y: NDArray[Any]) -> Any:
    for value in y.tolist():
        try:
            float(value)
        except (TypeError, ValueError):
            return value
    return y[0]
