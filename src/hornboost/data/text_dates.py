"""Text that spells dates: told from other text by one rule, whatever table it stands in."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from hornboost.data.convert import factorize, remap
from hornboost.data.date_forms import in_iso, parse_dates, parse_moments, with_order
from hornboost.data.values import stored_type
from hornboost.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

MISSING_TOKENS = frozenset(["?", "NA", "N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "#N/A"])
"""Words that stand for a missing value in a column of numbers or dates."""

_LIKE_A_DATE = re.compile(r"\s*([0-9]{4,}-[0-9]{2}-|-?infinity|[0-9]{1,4}([./-])[0-9]{1,2}\2[0-9])")


class TextDates(NamedTuple):
    """A column of text as dates or times, the words in it that stood for a missing value, and how it was stored.

    `order` is that of day, month and year, None being that of ISO 8601.
    """

    values: pa.ChunkedArray
    tokens: list[str]
    order: str | None

    @property
    def stored(self) -> str | None:
        """What the dates are stored as, where they came from text."""
        return with_order(stored_type(self.values.type), self.order)


def as_dates(values: pa.ChunkedArray, order: str | None = None) -> TextDates | None:
    """A column of text as dates or times; `order` is that of day and month, where it is known.

    None unless all values but missing ones are dates, in ISO 8601 or in another order that they tell.

    >>> import pyarrow as pa
    >>> dates, words, _ = as_dates(pa.chunked_array([["1998-03-01", "NA", None, ""]]))
    >>> str(dates.type), dates.null_count, words
    ('date32[day]', 3, ['NA'])
    >>> as_dates(pa.chunked_array([["1998-03-01", "today"]])) is None
    True
    >>> as_dates(pa.chunked_array([["31.3.1998", "1.4.1998"]])).values[1].as_py().isoformat()
    '1998-04-01'
    """
    if stored_type(values.type) != "text" or not _begins_like_dates(values):
        return None
    codes, distinct = factorize(values)
    moments, found = parse_dates(without_tokens(distinct), order)
    if isinstance(moments, str):
        return None
    return TextDates(taken(codes, moments), tokens_in(distinct), found)


def check_order(values: pa.ChunkedArray, order: str | None, place: str) -> None:
    """Refuse text that is no date in the order that is known of its column, which no other may take the place of.

    >>> import pyarrow as pa
    >>> check_order(pa.chunked_array([["9/12/2025", "9/30/2025"]]), "day-first", "here")
    Traceback (most recent call last):
        ...
    hornboost.errors.DataError: here: row 2 holds '9/30/2025', which is not a date with the day first; use ISO 8601 ...
    """
    import pyarrow as pa

    if order is None or stored_type(values.type) != "text":
        return
    codes, distinct = factorize(values)
    words = without_tokens(distinct)
    if not isinstance(parse_dates(words, order)[0], str):
        return
    for code, word in enumerate(words.to_pylist()):
        if word is not None and isinstance(parse_moments(pa.array([in_iso(word, order)])), str):
            row, first = int((codes == code).argmax()) + 1, order.partition("-")[0]
            reason = f"row {row} holds '{word}', which is not a date with the {first} first"
            raise DataError(f"{place}: {reason}; use ISO 8601 dates such as 1993-07-05")


def plain_dates(values: pa.ChunkedArray, order: str | None = None) -> TextDates | None:
    """The same of a column of a frame, in which categories are meant to be categories."""
    import pyarrow as pa

    return None if pa.types.is_dictionary(values.type) else as_dates(values, order)


def text_order(values: pa.ChunkedArray) -> str | None:
    """The order of day and month in text that is known to be dates, where it is not that of ISO 8601."""
    return None if stored_type(values.type) != "text" else parse_dates(without_tokens(factorize(values)[1]))[1]


def _begins_like_dates(values: pa.ChunkedArray) -> bool:
    """Whether the first value that is not missing could be a date, which decides most columns."""
    for chunk in values.chunks:
        for value in chunk:
            text = value.as_py()
            if text and text not in MISSING_TOKENS:
                return _LIKE_A_DATE.match(text) is not None
    return False


def tokens_in(distinct: pa.Array) -> list[str]:
    """The words for a missing value among texts."""
    return sorted(set(distinct.to_pylist()) & MISSING_TOKENS)


def without_tokens(distinct: pa.Array) -> pa.Array:
    """The same texts, those that stand for a missing number or date being null."""
    import pyarrow as pa

    return pa.array(
        [None if word in MISSING_TOKENS or word == "" else word for word in distinct.to_pylist()], pa.string()
    )


def known_text(values: pa.ChunkedArray) -> pa.ChunkedArray:
    """The same column, in which texts that stand for a missing number or date are null."""
    if stored_type(values.type) != "text":
        return values
    codes, distinct = factorize(values)
    return taken(codes, without_tokens(distinct)) if tokens_in(distinct) else values


def taken(codes: Any, distinct: pa.Array) -> pa.ChunkedArray:
    """The column of which these are the codes and distinct values."""
    import numpy as np
    import pyarrow as pa

    keep = remap(
        codes,
        np.where(distinct.is_null().to_numpy(zero_copy_only=False), -1, np.arange(len(distinct))).astype(np.int32),
    )
    return pa.chunked_array([distinct.take(pa.array(np.maximum(keep, 0), mask=keep < 0))], type=distinct.type)
