"""Labels as every classifier takes them: classes, not numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from hornboost.data.labels import label_kind
from hornboost.data.values import check_unicode
from hornboost.errors import DataError


def check_classes(y: NDArray[Any], estimator: Any) -> None:
    """Refuse labels that are missing, and labels that are numbers to estimate; `label_kind` says which are."""
    missing = _missing(y)
    if missing:
        raise DataError(
            f"Input y contains NaN: {missing} of {len(y)} labels are missing; "
            "leave those rows out, as 'Database.examples' does."
        )
    if label_kind(y) == "numbers":
        count = f"{np.unique(y).size:,} distinct numbers" if y.dtype.kind in "iuf" else "numbers or dates"
        raise DataError(
            f"Unknown label type: y holds {count} and {type(estimator).__name__} predicts classes; "
            "cut them into ranges, or pass them as "
            "text if each of them is a class."
        )
    check_classification_targets(y)
    for value in set(y.tolist()) if y.dtype == object else ():
        check_unicode(str(value))


def _missing(y: NDArray[Any]) -> int:
    """The number of labels that are None or not a number."""
    import pandas as pd

    return int(np.count_nonzero(pd.isna(y))) if y.dtype.kind in "Of" else 0
