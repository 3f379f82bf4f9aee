"""Decimals of PostgreSQL, which its driver hands over as text."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING

from hornboost.data.convert import factorize
from hornboost.data.text_dates import taken

if TYPE_CHECKING:
    import pyarrow as pa

WIDEST = 38
"""Digits of the widest decimal that is kept with its scale."""


def with_decimals(
    rows: pa.Table, scales: Mapping[str, int | None], spelled: Collection[str]
) -> tuple[pa.Table, dict[str, str]]:
    """The columns in `scales` as decimals of their scale.

    With scale None as doubles, or if `spelled` as text without trailing zeros.

    The names of the latter are given with how they are stored, which their text does not tell.
    """
    import pyarrow as pa

    stored = {}
    for position, name in enumerate(rows.column_names):
        if name in scales:
            codes, distinct = factorize(rows.column(position).cast(pa.string()))
            scale = scales[name]
            if scale is None and name in spelled:
                stored[name] = "decimal"
            rows = rows.set_column(position, name, taken(codes, _converted(distinct, scale, name in spelled)))
    return rows, stored


def _converted(distinct: pa.Array, scale: int | None, spelled: bool) -> pa.Array:
    import pyarrow as pa

    words = [None if word is None or word.lower() == "nan" else word for word in distinct.to_pylist()]
    if scale is None and spelled:
        return pa.array([_trimmed(word) for word in words], pa.string())
    try:
        return pa.array(words, pa.string()).cast(pa.float64() if scale is None else pa.decimal128(WIDEST, scale))
    except pa.ArrowInvalid:
        return pa.array([None if word is None else float(word) for word in words], pa.float64())


def _trimmed(word: str | None) -> str | None:
    return word.rstrip("0").rstrip(".") if word is not None and "." in word else word
