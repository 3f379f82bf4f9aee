"""From Arrow columns to the arrays that the engine reads: codes and distinct values, numbers, moments."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import numpy as np
from numpy.typing import NDArray

from hornboost.data.date_forms import UNKNOWN, in_iso, parse_dates
from hornboost.data.values import check_key, is_text, moments, nearest_doubles, to_key_values, to_text
from hornboost.errors import DataError
from hornboost.logic.moment import DAY, LAST

if TYPE_CHECKING:
    import pyarrow as pa

Integer = TypeVar("Integer", bound=np.integer)

DENSE_SPAN = 4
"""Integers that spread over at most this many times their number are
coded by a lookup table instead of a hash table."""


def distinct_integers(values: NDArray[Integer]) -> NDArray[Integer]:
    """The distinct ones in rising order, like `np.unique`, whose hash table takes many times as long as sorting them.

    >>> distinct_integers(np.array([3, 1, 3, 2])).tolist()
    [1, 2, 3]
    """
    ordered = np.sort(values)
    is_first = np.ones(ordered.size, np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=is_first[1:])
    return np.asarray(ordered[is_first])


def factorize(values: pa.ChunkedArray) -> tuple[NDArray[np.int32], pa.Array]:
    """Codes and distinct values of a column; -1 stands for null.

    >>> import pyarrow as pa
    >>> codes, distinct = factorize(pa.chunked_array([["b", None, "a", "b"]]))
    >>> codes.tolist(), distinct.to_pylist()
    ([0, -1, 1, 0], ['b', 'a'])
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(values.type):
        return _factorize_dictionary(values)
    if pa.types.is_integer(values.type) and values.null_count == 0 and len(values):
        dense = _factorize_dense(values)
        if dense is not None:
            return dense
    if pa.types.is_null(values.type):
        return np.full(len(values), -1, dtype=np.int32), pa.array([], type=pa.string())
    if pa.types.is_floating(values.type):
        values = pc.add(values, pa.scalar(0.0, values.type))  # -0.0 is 0.0
    return _factorize_dictionary(values.dictionary_encode())


def factorize_keys(values: pa.ChunkedArray, place: str) -> tuple[NDArray[np.int32], pa.Array]:
    """Codes and distinct keys, as 64-bit integers or text; `place` names the column where it cannot be a key."""
    check_key(values, place)
    codes, distinct = factorize(values)
    return codes, to_key_values(distinct)


def known_codes(values: pa.ChunkedArray, categories: NDArray[np.object_]) -> NDArray[np.int32] | None:
    """The positions of texts among the categories, -1 for null; None if these are no texts, or one is not among them.

    >>> import pyarrow as pa
    >>> known_codes(pa.chunked_array([["b", None, "a"]]), np.array(["a", "b"], object))
    array([ 1, -1,  0], dtype=int32)
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if not (pa.types.is_string(values.type) or pa.types.is_large_string(values.type)):
        return None
    found = pc.index_in(values, value_set=pa.array(categories.tolist(), values.type))
    if found.null_count > values.null_count:
        return None
    return np.asarray((found.fill_null(-1) if found.null_count else found).to_numpy(), np.int32)


def _factorize_dictionary(values: pa.ChunkedArray) -> tuple[NDArray[np.int32], pa.Array]:
    import pyarrow as pa

    if values.num_chunks == 0:
        return np.empty(0, dtype=np.int32), pa.array([], type=values.type.value_type)
    values = values.unify_dictionaries() if values.num_chunks > 1 else values
    codes = np.empty(len(values), dtype=np.int32)
    start = 0
    for chunk in values.chunks:
        indices = (
            chunk.indices.cast(pa.int64()).fill_null(-1) if chunk.indices.null_count else chunk.indices
        )  # DuckDB's have no sign
        codes[start : start + len(chunk)] = indices.to_numpy(zero_copy_only=False)
        start += len(chunk)
    return codes, values.chunk(0).dictionary


def _factorize_dense(values: pa.ChunkedArray) -> tuple[NDArray[np.int32], pa.Array] | None:
    import pyarrow as pa
    import pyarrow.compute as pc

    bounds = pc.min_max(values).as_py()
    low, span = bounds["min"], bounds["max"] - bounds["min"] + 1
    if span > DENSE_SPAN * len(values) + 1024 or bounds["max"] >= 2**63:
        return None
    shifted = np.empty(len(values), dtype=np.int32 if span < 2**31 else np.int64)
    start = 0
    for chunk in values.chunks:
        np.subtract(
            chunk.to_numpy(zero_copy_only=False), low, out=shifted[start : start + len(chunk)], casting="unsafe"
        )
        start += len(chunk)
    present = np.zeros(span, dtype=bool)
    present[shifted] = True
    rank = np.cumsum(present, dtype=np.int32)
    rank -= 1
    return rank[shifted], pa.array(np.flatnonzero(present) + low)


def remap(codes: NDArray[np.int32], mapping: NDArray[np.int32]) -> NDArray[np.int32]:
    """`mapping[codes]`, with -1 staying -1."""
    return np.append(mapping, np.int32(-1)).astype(np.int32)[codes]


def encode_nominal(values: pa.ChunkedArray) -> tuple[NDArray[np.int32], NDArray[np.object_]]:
    """Codes into sorted text categories.

    >>> import pyarrow as pa
    >>> codes, categories = encode_nominal(pa.chunked_array([[2, 1, None, 2]]))
    >>> codes.tolist(), list(categories)
    ([1, 0, -1, 1], ['1', '2'])
    """
    codes, distinct = factorize(values)
    text = to_text(distinct).to_numpy(zero_copy_only=False).astype(object)
    categories = np.array(sorted({value for value in text if value is not None}), dtype=object)
    place = {value: code for code, value in enumerate(categories)}
    mapping = np.array([place.get(value, -1) for value in text], dtype=np.int32)
    return remap(codes, mapping), categories


def to_numbers(values: pa.ChunkedArray, place: str) -> tuple[NDArray[np.float64], bool]:
    """float64 values with NaN for missing, and whether they are microseconds since 1970-01-01.

    `place` names the column in errors.
    """
    import pyarrow as pa

    kind = values.type
    if pa.types.is_dictionary(kind):
        values, kind = values.cast(kind.value_type), kind.value_type
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return to_moments(values, place), True
    if pa.types.is_duration(kind):
        return _to_numpy(values.cast(pa.duration("us")).cast(pa.int64())) / DAY, False
    if is_text(kind):
        return parse_numbers(values, place), False
    if pa.types.is_decimal(kind):
        codes, distinct = factorize(values)
        return np.append(nearest_doubles(distinct), np.nan)[codes], False
    try:
        return _to_numpy(values.cast(pa.float64(), safe=False)), False
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise DataError(
            f"{place}: values of type '{kind}' are not numbers; convert the column or leave it out"
        ) from None


def parse_numbers(values: pa.ChunkedArray, place: str) -> NDArray[np.float64]:
    """Text as numbers, or an error with the first value that is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    text = pc.utf8_trim_whitespace(values.cast(pa.string()))
    text = pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)
    try:
        return _to_numpy(text.cast(pa.float64()))
    except pa.ArrowInvalid:
        row, value = first_failure(text, pa.float64())
        advice = "correct it or declare the column nominal"
        raise DataError(f"{place}: row {row + 1} holds '{value}', which is not a number; {advice}") from None


def first_failure(text: pa.ChunkedArray, kind: pa.DataType) -> tuple[int, str]:
    """Row and value of the first text that does not convert."""
    import pyarrow as pa

    codes, distinct = factorize(text)
    bad = []
    for code, value in enumerate(distinct.to_pylist()):
        try:
            pa.array([value]).cast(kind)
        except pa.ArrowInvalid:
            bad.append(code)
    row = int(np.flatnonzero(np.isin(codes, bad))[0])
    return row, distinct[int(codes[row])].as_py()


def to_moments(values: pa.ChunkedArray, place: str) -> NDArray[np.float64]:
    """Dates, times or ISO 8601 text as microseconds since 1970-01-01 in UTC; plain numbers count days.

    >>> import pyarrow as pa
    >>> to_moments(pa.chunked_array([["1970-01-02", None, "-infinity"]]), "t").tolist()
    [86400000000.0, nan, -inf]
    """
    import pyarrow as pa

    kind = values.type
    if pa.types.is_null(kind):
        return np.full(len(values), np.nan)
    if pa.types.is_dictionary(kind) or is_text(kind):
        codes, distinct = factorize(values)
        return np.append(_moments_of(distinct, codes, place), np.nan)[codes]
    if pa.types.is_date(kind) or pa.types.is_timestamp(kind):
        return np.concatenate([np.empty(0), *(_as_doubles(chunk) for chunk in values.chunks)])
    if pa.types.is_integer(kind) or pa.types.is_floating(kind):
        return _to_numpy(values.cast(pa.float64(), safe=False)) * DAY
    raise DataError(f"{place}: values of type '{kind}' are not dates; use ISO 8601 dates such as 1993-07-05")


def _moments_of(distinct: pa.Array, codes: NDArray[np.int32], place: str) -> NDArray[np.float64]:
    import pyarrow as pa

    if not is_text(distinct.type):
        return to_moments(pa.chunked_array([distinct]), place)
    parsed, order = parse_dates(distinct)
    if isinstance(parsed, str) and order == UNKNOWN:
        reason = f"whether the day or the month comes first in '{parsed}' cannot be told"
        raise DataError(f"{place}: {reason}; declare the type 'day-first' or 'month-first' (--type), or use ISO 8601")
    if isinstance(parsed, str):
        words = [word if word is None else in_iso(word, order or "") for word in distinct.to_pylist()]
        row = int((codes == words.index(parsed)).argmax())
        advice = "use ISO 8601 dates such as 1993-07-05"
        raise DataError(
            f"{place}: row {row + 1} holds '{distinct[words.index(parsed)]}', which is not a date; {advice}"
        )
    return _as_doubles(parsed)


def _as_doubles(values: pa.Array) -> NDArray[np.float64]:
    """Dates and times as numbers: the infinities as such, NaN for null."""
    counts = moments(values)
    numbers = np.where(np.abs(counts) >= LAST, np.copysign(np.inf, counts), counts.astype(np.float64))
    if values.null_count:
        numbers[values.is_null().to_numpy(zero_copy_only=False)] = np.nan
    return numbers


def _to_numpy(values: pa.ChunkedArray) -> NDArray[np.float64]:
    result = np.empty(len(values), dtype=np.float64)
    start = 0
    for chunk in values.chunks:
        part = result[start : start + len(chunk)]
        part[:] = chunk.to_numpy(zero_copy_only=False)
        start += len(chunk)
    return result
