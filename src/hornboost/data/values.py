"""What a value is: the type that a column is stored as, and the one text of every type.

`docs/values.md` states the same in words.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hornboost.errors import DataError
from hornboost.logic.moment import DAY, LAST, moment_text

if TYPE_CHECKING:
    import pyarrow as pa

EXACT = 2**53
"""Whole numbers beyond it have neighbours that a float cannot tell from them."""

LAST_DAY = 2**31 - 1
"""The day by which DuckDB writes the date `infinity`, its negative being `-infinity`."""


_STORED = re.compile(
    r"(?:text|date|timestamp)(?: (?:day|month|year)-first)?|boolean|integer|double|float|decimal(?:\([1-9]\d?\))?|"
    r"timestamptz|time|duration",
    re.ASCII,
)


def stored_type(kind: pa.DataType) -> str | None:
    """What an Arrow type holds, in the words that a model file uses.

    None for what can be neither nominal, key nor number.

    >>> import pyarrow as pa
    >>> kinds = (pa.int8(), pa.float32(), pa.decimal128(10, 2), pa.timestamp("ns", "UTC"), pa.list_(pa.int8()))
    >>> [stored_type(kind) for kind in kinds]
    ['integer', 'float', 'decimal(2)', 'timestamptz', None]
    """
    import pyarrow as pa

    types = pa.types
    if types.is_dictionary(kind):
        kind = kind.value_type
    if types.is_decimal(kind):
        return f"decimal({kind.scale})" if kind.scale > 0 else "integer"
    if types.is_timestamp(kind):
        return "timestamp" if kind.tz is None else "timestamptz"
    named: list[tuple[Callable[[pa.DataType], bool], str]] = [
        (is_text, "text"),
        (types.is_null, "text"),
        (types.is_boolean, "boolean"),
        (types.is_integer, "integer"),
        (types.is_float64, "double"),
        (types.is_floating, "float"),
        (types.is_date, "date"),
        (types.is_time, "time"),
        (types.is_duration, "duration"),
    ]
    return next((name for holds, name in named if holds(kind)), None)


def is_stored_type(text: str) -> bool:
    """Whether a text is a name that `stored_type` gives.

    >>> is_stored_type("decimal(2)"), is_stored_type("integer"), is_stored_type("blob")
    (True, True, False)
    """
    return _STORED.fullmatch(text) is not None


def natural_type(kind: pa.DataType) -> str | None:
    """The column type that an Arrow type stands for unless another is declared.

    Nominal, numeric or date; None when there is none.
    """
    stored = stored_type(kind)
    if stored in ("text", "boolean"):
        return "nominal"
    if stored in ("date", "timestamp", "timestamptz"):
        return "date"
    return None if stored in (None, "time") else "numeric"


def is_text(kind: pa.DataType) -> bool:
    """Whether a type is text of any width."""
    import pyarrow as pa

    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def to_text(distinct: pa.Array) -> pa.Array:
    """Distinct values as the text by which nominals and keys go; NaN is null.

    >>> import pyarrow as pa
    >>> to_text(pa.array([1.0, 2.5, float("nan")])).to_pylist(), to_text(pa.array([True])).to_pylist()
    (['1', '2.5', None], ['true'])
    """
    import pyarrow as pa

    kind = distinct.type
    stored = stored_type(kind)
    if stored in ("text", "boolean") or pa.types.is_integer(kind):
        return distinct if pa.types.is_string(kind) else distinct.cast(pa.string())
    if stored in ("double", "float"):
        texts = [_float_text(number) for number in distinct.to_numpy(zero_copy_only=False)]
    elif pa.types.is_decimal(kind):
        texts = [format(value, "f") if value is not None else None for value in distinct.to_pylist()]
    elif stored == "time":
        texts = [
            moment_text(count, day_only=False)[11:] for count in _counts(distinct.cast(pa.time64("us"), safe=False))
        ]
    elif stored in ("date", "timestamp", "timestamptz"):
        texts = [moment_text(count, day_only=stored == "date") for count in moments(distinct)]
    else:
        raise NotImplementedError(f"values of type '{kind}' have no text")
    return pa.array(texts, pa.string(), mask=distinct.is_null().to_numpy(zero_copy_only=False))


def moments(values: pa.Array) -> NDArray[np.int64]:
    """Dates and times as whole microseconds since 1970-01-01 in UTC, anything at a null.

    `LAST` and its negative are the infinities.

    What is finer than a microsecond is cut off, towards the past; what 64 bits cannot count is infinite.
    """
    import pyarrow as pa

    counts = _counts(values)
    kind = values.type
    if pa.types.is_date32(kind):
        counts = np.where(np.abs(counts) >= LAST_DAY, np.sign(counts) * LAST, counts)
    unit = "D" if pa.types.is_date32(kind) else "ms" if pa.types.is_date64(kind) else kind.unit
    endless = np.abs(np.maximum(counts, -LAST)) >= LAST // max(_MICROSECONDS[unit], 1)
    within = np.where(endless, 0, counts)
    scaled = within // 1000 if unit == "ns" else within * _MICROSECONDS[unit]
    return np.where(endless, np.where(counts > 0, LAST, -LAST), scaled)


_MICROSECONDS = {"D": DAY, "s": 1_000_000, "ms": 1_000, "us": 1, "ns": 0}


def _counts(values: pa.Array) -> NDArray[np.int64]:
    import pyarrow as pa

    width = pa.int32() if values.type.bit_width == 32 else pa.int64()
    return np.asarray(values.view(width).fill_null(0).to_numpy(zero_copy_only=False), np.int64)


def nearest_doubles(decimals: pa.Array) -> NDArray[np.float64]:
    """Decimals as the doubles nearest to them, which Arrow's own cast misses now and then; anything at a null."""
    import pyarrow as pa

    scale = max(decimals.type.scale, 0)
    try:
        digits = pa.Array.from_buffers(
            pa.decimal128(38, 0), len(decimals), decimals.cast(pa.decimal128(38, scale)).buffers()
        )
        whole = _counts(digits.cast(pa.int64()))
        if scale <= 22 and int(np.abs(whole).max(initial=0)) < EXACT:
            return np.asarray(whole / 10.0**scale, np.float64)  # both sides are exact, so the quotient is rounded once
    except pa.ArrowInvalid:
        pass
    return np.array([float(value or 0) for value in decimals.to_pylist()], np.float64)


def _float_text(number: Any) -> str | None:
    """The shortest text that reads back as the same number of its width.

    A whole one below 2^63 has neither point nor exponent.
    """
    if np.isnan(number):
        return None
    return str(int(number)) if abs(number) < 2**63 and number == int(number) else str(number)


_BOOLEANS = {"true": "true", "t": "true", "1": "true", "false": "false", "f": "false", "0": "false"}


def boolean_text(word: str) -> str | None:
    """The text of a boolean that files and databases without such a type write in other ways; None of other words.

    >>> boolean_text("True"), boolean_text("0"), boolean_text("yes")
    ('true', 'false', None)
    """
    return _BOOLEANS.get(word.lower())


def value_text(value: Any) -> str:
    """A single Python value as nominal text, by the same rules as `to_text`.

    >>> value_text(1.0), value_text(True), value_text("A")
    ('1', 'true', 'A')
    """
    import pyarrow as pa

    if isinstance(value, str):
        return check_unicode(value)
    value = value.item() if isinstance(value, np.generic) else value
    try:
        if isinstance(value, int) and not isinstance(value, bool):
            return str(value)  # of any width
        text = to_text(pa.array([value]))[0].as_py()
    except (ValueError, TypeError, OverflowError, NotImplementedError):
        kind = type(value).__name__
        raise DataError(
            f"a value of type '{kind}' is neither text nor a number nor a time that can be kept; convert it"
        ) from None
    if text is None:
        raise DataError("a missing value cannot be a class or a filter; name a value that occurs in the column")
    return str(text)


def check_unicode(text: str) -> str:
    """A text or name, unless it has no form in UTF-8: such can be neither compared nor written."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise DataError(f"{text[:80]!a} is no Unicode text; decode it with its own encoding") from None
    return text


def to_key_values(distinct: pa.Array) -> pa.Array:
    """Distinct key values as int64 where all are whole numbers (also as
    text without leading zeros), otherwise as text.
    """
    import pyarrow as pa

    kind = distinct.type
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return distinct.cast(pa.int64())
    text = to_text(distinct)
    integers = as_integers(text)
    return text if integers is None else integers


def check_key(values: pa.ChunkedArray, place: str) -> None:
    """Refuse values that cannot be keys.

    Those without a text, and floats that may have been other whole numbers before.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = values.type
    if stored_type(kind) in (None, "duration"):
        raise DataError(f"{place}: values of type '{kind}' cannot be keys; convert them to text or whole numbers")
    if pa.types.is_floating(kind):
        bounds = pc.min_max(values.cast(pa.float64())).as_py().values()
        if any(bound is not None and abs(bound) > EXACT for bound in bounds):
            reason = "keys beyond 2^53 came as floats, which cannot tell them from their neighbours"
            raise DataError(f"{place}: {reason}; pass them as whole numbers (in pandas 'Int64') or as text")


def as_integers(text: pa.Array) -> pa.Array | None:
    """Text as int64 if that loses nothing: '7' is a number, '007', 'd7' and what needs more than 64 bits are not."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if len(text) == text.null_count:
        return None
    if not pc.all(pc.match_substring_regex(text, r"^(0|-?[1-9][0-9]{0,18})$")).as_py():
        return None
    try:
        return text.cast(pa.int64())
    except pa.ArrowInvalid:
        return None
