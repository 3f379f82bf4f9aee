"""Labels as every classifier takes them: classes, not numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from hornboost.data.labels import label_kind
from hornboost.data.values import check_unicode
from hornboost.errors import DataError

NUMBERS = (int, float, np.integer, np.floating)


def checked_classes(y: NDArray[Any], estimator: Any) -> NDArray[Any]:
    """Labels, as an array of the type that they are of.

    Those that are missing are refused, and those that are numbers to estimate; `label_kind` says which are.
    """
    check_plain(y)
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
            "use HornBoostRegressor, cut them into ranges, or pass them as text if each of them is a class."
        )
    y = _of_one_type(y) if y.dtype == object else y
    if y.dtype != object:
        check_classification_targets(y)
        return y
    for value in set(y.tolist()):  # nothing but text
        check_unicode(str(value))
    return y


def check_plain(y: Any) -> None:
    """Refuse complex numbers, and bytes, which could be text in any encoding."""
    if np.asarray(y).dtype.kind == "c":
        raise DataError("Complex data not supported: y holds complex numbers; pass real numbers or classes.")
    if isinstance(y, list | tuple | np.ndarray) and np.asarray(y).dtype.kind == "S":
        raise DataError(
            "Unknown label type: y holds values of type bytes; "
            "pass all labels as text, as whole numbers or as booleans."
        )


def plain_labels(y: Any) -> Any:
    """Labels as they came, but booleans and integers of pandas' nullable types, and its categories, as NumPy's.

    Scikit-learn would make floats of them.

    >>> import pandas as pd
    >>> plain_labels(pd.Series([True, False], dtype="boolean")).tolist(), plain_labels(["a"])
    ([True, False], ['a'])
    """
    dtype = getattr(y, "dtype", None)
    if dtype is None or isinstance(dtype, np.dtype):
        return y
    is_of_pandas = getattr(dtype, "kind", "") in ("b", "i", "u") or getattr(dtype, "name", "") == "category"
    return np.asarray(y) if is_of_pandas else y


def class_codes(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """The classes in order, and the position of each label among them, as `numpy.unique` tells, which sorts all texts.

    >>> classes, codes = class_codes(np.array(["no", "yes", "no"], dtype=object))
    >>> classes.tolist(), codes.tolist()
    (['no', 'yes'], [0, 1, 0])
    """
    if labels.dtype != object:
        return np.unique(labels, return_inverse=True)
    texts = labels.tolist()
    classes = sorted(set(texts))
    position = {value: k for k, value in enumerate(classes)}
    return np.array(classes, dtype=object), np.fromiter(map(position.__getitem__, texts), np.intp, len(texts))


def _of_one_type(y: NDArray[Any]) -> NDArray[Any]:
    """Python objects as what they are, text or numbers or booleans; anything else, and a mixture, is refused."""
    held = {bool if issubclass(kind, np.bool_) else kind for kind in set(map(type, y.tolist()))}
    if all(issubclass(kind, str) for kind in held):
        return y
    if held == {bool} or all(issubclass(kind, NUMBERS) and kind is not bool for kind in held):
        return np.array(y.tolist())
    names = " and ".join(sorted(kind.__name__ for kind in held))
    raise DataError(
        f"Unknown label type: y holds values of type {names}; pass all labels as text, as whole numbers or as booleans."
    )


def _missing(y: NDArray[Any]) -> int:
    """The number of labels that are None or not a number."""
    import pandas as pd

    return int(np.count_nonzero(pd.isna(y))) if y.dtype.kind in "Of" else 0
