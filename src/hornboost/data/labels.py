"""What kind of label a column is: classes to tell apart, or numbers to estimate.

One rule, for readers and estimators alike.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from hornboost.data.values import stored_type
from hornboost.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

LabelKind = Literal["classes", "numbers"]

MANY = 50
"""Whole numbers of more distinct values than this are no classes."""

SOME, EXAMPLES = 20, 5
"""Nor are those of more distinct values than this with fewer examples of each, on average, than that."""


def label_kind(values: NDArray[Any]) -> LabelKind:
    """Text and booleans are classes; numbers are if they are whole and few.

    A fraction makes a label numeric, as in scikit-learn's `type_of_target`; so do more than 50 distinct whole numbers,
    or more than 20 of which there are fewer than five examples each. Whoever means classes nonetheless writes them as
    text. Missing values do not count.

    >>> label_kind(np.array([1, 2, 1, 2])), label_kind(np.array(["1.5", "2.5"])), label_kind(np.array([1.5, 2.5]))
    ('classes', 'classes', 'numbers')
    >>> label_kind(np.arange(21)), label_kind(np.repeat(np.arange(21), 5)), label_kind(np.repeat(np.arange(51), 5))
    ('numbers', 'classes', 'numbers')
    """
    values = np.asarray(values)
    if values.dtype == object:
        values = _plain(values)
    if values.dtype.kind in "mM":
        return "numbers"
    if values.dtype.kind not in "iuf":
        return "classes"
    known = values[np.isfinite(values)] if values.dtype.kind == "f" else values
    if known.dtype.kind == "f" and (known != np.floor(known)).any():
        return "numbers"
    distinct = np.unique(known).size
    return "numbers" if distinct > MANY or (distinct > SOME and known.size < EXAMPLES * distinct) else "classes"


def as_label_kind(text: Any) -> LabelKind:
    """What `predicts` says.

    >>> as_label_kind("numbers")
    'numbers'
    """
    if text == "classes":
        return "classes"
    if text == "numbers":
        return "numbers"
    raise DataError(f"predicts is {text!r}; write 'classes' or 'numbers'")


def column_kind(values: pa.ChunkedArray) -> LabelKind:
    """The same for a column of a table; dates are no classes."""
    stored = stored_type(values.type)
    if stored in ("text", "boolean", "time", None):
        return "classes"
    if stored in ("date", "timestamp", "timestamptz", "duration"):
        return "numbers"
    import pyarrow as pa

    plain = values.cast(values.type.value_type) if pa.types.is_dictionary(values.type) else values
    return label_kind(plain.drop_null().cast(pa.float64(), safe=False).to_numpy())


def number_type(labels: NDArray[Any]) -> str | None:
    """The NumPy type of classes that are numbers or booleans; None for text.

    >>> number_type(np.array([True, False])), number_type(np.array([1, 2], object)), number_type(np.array(["1"]))
    ('bool', 'int64', None)
    """
    plain = np.array(labels.tolist()) if labels.dtype == object else labels
    return plain.dtype.name if plain.dtype.kind in "biuf" else None


def of_number_type(texts: NDArray[np.object_], name: str) -> NDArray[Any]:
    """Classes by their texts, as what they were; where some are missing, as what can hold that.

    >>> of_number_type(np.array(["true", "false"], object), "bool").tolist()
    [True, False]
    >>> of_number_type(np.array(["2", None], object), "int64").tolist()
    [2.0, nan]
    """
    if name == "bool":
        found = np.array([None if text is None else text == "true" for text in texts.tolist()], object)
        return found if None in texts.tolist() else found.astype(np.bool_)
    if None in texts.tolist():
        return np.array([np.nan if text is None else float(text) for text in texts.tolist()])
    read = float if np.dtype(name).kind == "f" else int
    return np.array([read(text) for text in texts.tolist()], np.dtype(name))


def goes_by_text(kind: pa.DataType) -> bool:
    """Whether classes of this type are handed out as text, because classifiers take no values such as times of day."""
    import pyarrow as pa

    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    return pa.types.is_decimal(plain) or stored_type(plain) not in ("text", "boolean", "integer", "float", "double")


def _plain(values: NDArray[Any]) -> NDArray[Any]:
    """Python objects as numbers if all that are not missing are; otherwise as they are."""
    from decimal import Decimal
    from numbers import Real

    known = (value for value in values.tolist() if value is not None and value == value)
    numbers = []
    for value in known:
        if isinstance(value, bool) or not isinstance(value, Real | Decimal):
            return values
        numbers.append(float(value))
    return np.array(numbers) if numbers else values
