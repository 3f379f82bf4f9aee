"""Frames with nominal and numeric columns as a matrix of numbers, for base learners that know nothing else."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from hornboost.data.convert import to_moments
from hornboost.data.frames import series_column
from hornboost.data.text_dates import check_order, plain_dates
from hornboost.data.values import natural_type
from hornboost.errors import DataError
from hornboost.logic.moment import DAY

_MAX_VALUES = 255


class MatrixEncoder:
    """Numeric, boolean and date columns become one column each.

    A nominal one becomes a 0/1 column for each of its values.

    Of a nominal column with more than 255 values the most frequent ones are kept. A missing number is NaN; a missing
    nominal value has a 0/1 column of its own where the training rows have one. Values that training did not see are 0
    in all columns. Columns in `leave_out` (keys) are not looked at. Text that is nothing but dates is one of
    dates, unless it is in `nominal`.

    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": [1.5, None, 2.0], "colour": ["red", "blue", "green"]})
    >>> encoder = MatrixEncoder(frame)
    >>> encoder.names
    ['size', 'colour="blue"', 'colour="green"', 'colour="red"']
    >>> encoder.matrix(frame)[0]
    array([1.5, 0. , 0. , 1. ])
    """

    def __init__(self, X: Any, leave_out: frozenset[str] = frozenset(), nominal: frozenset[str] = frozenset()) -> None:
        frame = nw.from_native(X, eager_only=True)
        self.leave_out = leave_out
        self.values: list[tuple[str, list[str | None] | None]] = []
        self.names: list[str] = []
        # those that came as text, or as Python's objects, with the order of day and month
        self.dates: dict[str, str | None] = {}
        for name in self._columns(frame):
            column = frame.get_column(name)
            if str(name) not in nominal and not _is_number_like(column.dtype) and _dates(column) is not None:
                found = plain_dates(series_column(column))
                self.dates[str(name)] = None if found is None else found.order
            is_number = _is_number_like(column.dtype) or str(name) in self.dates
            values = None if is_number else _nominal_values(column)
            self.values.append((str(name), values))
            if values is None:
                self.names.append(str(name))
            else:
                self.names += [f"{name} is missing" if value is None else f'{name}="{value}"' for value in values]

    def matrix(self, X: Any) -> NDArray[np.float64]:
        """The rows of a frame with the columns of the training frame."""
        frame = nw.from_native(X, eager_only=True)
        result = np.empty((len(frame), len(self.names)))
        at = 0
        for (name, values), given in zip(self.values, self._columns(frame), strict=True):
            column = frame.get_column(given)
            if values is None:
                result[:, at] = _numbers(column, name, self.dates)
                at += 1
                continue
            texts = _texts(column)
            for value in values:
                result[:, at] = texts == value
                at += 1
        return result

    def _columns(self, frame: Any) -> list[str]:
        return [name for name in frame.columns if name not in self.leave_out]


def _is_number_like(dtype: Any) -> bool:
    return bool(dtype.is_numeric() or dtype.is_temporal() or dtype == nw.Boolean)


def _dates(column: Any, order: str | None = None) -> Any:
    """Dates as text or as Python's objects in Arrow; None where there is anything else."""
    values = series_column(column)
    if natural_type(values.type) == "date":
        return values
    found = plain_dates(values, order)
    return None if found is None else found.values


def _texts(column: Any) -> NDArray[Any]:
    texts = column.cast(nw.String).to_numpy().astype(object)
    texts[column.is_null().to_numpy()] = None
    return np.asarray(texts)


def _nominal_values(column: Any) -> list[str | None]:
    """The values of a nominal column, sorted; one of two suffices, and None stands for missing."""
    texts = _texts(column)
    missing = column.is_null().to_numpy()
    values, counts = np.unique(texts[~missing].astype(str), return_counts=True)
    kept = np.sort(values[np.argsort(-counts, kind="stable")[:_MAX_VALUES]]).tolist()
    kept = kept[:1] if len(kept) == 2 and not missing.any() else kept
    return [*kept, None] if missing.any() else kept


def _numbers(column: Any, name: str, known: Mapping[str, str | None]) -> NDArray[np.float64]:
    """A column as numbers; `known` has the columns of dates in other forms, with the order of day and month."""
    place = f"column '{name}'"
    if not _is_number_like(column.dtype):
        check_order(series_column(column), known.get(name), place)
        dates = _dates(column, known.get(name))
        if dates is not None or name in known:
            return to_moments(series_column(column) if dates is None else dates, place) / DAY
    elif name in known and column.dtype.is_numeric() and column.is_finite().any():
        reason = f"{column.drop_nulls()[0]} is a number where dates were learned from"
        raise DataError(f"{place}: {reason}; use ISO 8601 dates such as 1993-07-05")
    try:
        if column.dtype.is_temporal():
            return _days(column)
        return np.asarray(column.cast(nw.Float64).to_numpy(), dtype=np.float64)
    except Exception as error:
        raise DataError(
            f"column '{name}' was numeric when the model was fitted and now holds {column.dtype}; convert it first."
        ) from error


def _days(column: Any) -> NDArray[np.float64]:
    """Days since 1970-01-01."""
    microseconds = column.cast(nw.Datetime("us")).dt.timestamp("us")
    return np.asarray(microseconds.cast(nw.Float64).to_numpy(), dtype=np.float64) / DAY
