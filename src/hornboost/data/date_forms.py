"""Dates that are not written as ISO 8601 has them: which number is the day, all values of a column tell together."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from hornboost.logic.moment import exact_moment

if TYPE_CHECKING:
    import pyarrow as pa

ORDERS = ("day-first", "month-first")
"""What a user may declare of a column of text: dates in which the day, or the month, comes first."""

UNKNOWN = "unknown"
"""The order where no number is above 12, so that each of both may be the day."""

_TIME = r"(?:[ T]([0-9]{1,2}):([0-9]{2})(?::([0-9]{2}(?:\.[0-9]{1,6})?))?)?"
_OFFSET = re.compile(r":[0-9.]+\s*(Z|[+-][0-9:]+)\s*$")
_YEAR_LAST = re.compile(rf"([0-9]{{1,2}})([./-])([0-9]{{1,2}})\2([0-9]{{4}}){_TIME}", re.ASCII)
_YEAR_FIRST = re.compile(rf"([0-9]{{4}})([./-])([0-9]{{1,2}})\2([0-9]{{1,2}}){_TIME}", re.ASCII)


def order_in(words: Iterable[str]) -> str | None:
    """The order of day, month and year in all of some texts; None if these are no dates of one form.

    With points between the numbers the day comes first, as it does wherever dates are written so.

    >>> [order_in(words) for words in (["31/12/2025", "1/2/2026"], ["12/31/2025"], ["1.2.2026"], ["2026/2/1"], ["3/5"])]
    ['day-first', 'month-first', 'day-first', 'year-first', None]
    >>> order_in(["1/2/2026", "3/4/2026"]), order_in(["31/12/2025", "12/31/2025"])
    ('unknown', None)
    """
    firsts, seconds, marks = {0}, {0}, set[str]()
    for word in words:
        found = _YEAR_LAST.fullmatch(word.strip())
        if found is None:
            if _YEAR_FIRST.fullmatch(word.strip()) is None:
                return None
            marks.add("year")
        else:
            marks.add(found[2])
            firsts.add(int(found[1]))
            seconds.add(int(found[3]))
    if len(marks) != 1 or (max(firsts) > 12 and max(seconds) > 12):
        return None
    if marks == {"year"}:
        return "year-first"
    if max(firsts) > 12 or (marks == {"."} and max(seconds) <= 12):
        return "day-first"
    return "month-first" if max(seconds) > 12 else UNKNOWN


def parse_moments(distinct: pa.Array) -> pa.Array | str:
    """Text as dates or as timestamps, the empty one as null; the first text that is neither, if there is one.

    Where offsets from UTC are written, these are timestamps with a zone: a database compares them as such, too.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    text = distinct.cast(pa.string())
    text = pc.if_else(pc.equal(text, ""), pa.scalar(None, pa.string()), text)
    for kind in (pa.date32(), pa.timestamp("us")):
        try:
            return text.cast(kind)
        except pa.ArrowInvalid:
            continue
    counts, has_offset = [], False
    for word in text.to_pylist():
        try:
            counts.append(None if word is None else exact_moment(word.strip()))
        except ValueError:
            return str(word)
        has_offset = has_offset or (word is not None and _OFFSET.search(word) is not None)
    return pa.array(counts, pa.int64()).view(pa.timestamp("us", "UTC" if has_offset else None))


def parse_dates(distinct: pa.Array, order: str | None = None) -> tuple[pa.Array | str, str | None]:
    """Text as dates or timestamps, and the order that they are written in, None being that of ISO 8601.

    Instead of the dates the first text that is none, if there is one. An `order` that is known counts for texts that
    are not in ISO 8601.
    """
    import pyarrow as pa

    moments = parse_moments(distinct)
    if not isinstance(moments, str):
        return moments, None
    words = distinct.cast(pa.string()).to_pylist()
    found = order_in(word for word in words if word) if order is None else order
    if found in (None, UNKNOWN):
        return moments, found
    return parse_moments(pa.array([None if not word else in_iso(word, str(found)) for word in words])), found


def in_iso(word: str, order: str) -> str:
    """A date in ISO 8601; a text that is none as it is.

    >>> in_iso("1/2/2026 9:05", "month-first"), in_iso("soon", "day-first")
    ('2026-01-02T09:05:00', 'soon')
    """
    found = (_YEAR_FIRST if order == "year-first" else _YEAR_LAST).fullmatch(word.strip())
    if found is None:
        return word
    numbers = (found[1], found[3], found[4])
    year, month, day = numbers if order == "year-first" else (numbers[2], numbers[0], numbers[1])
    month, day = (day, month) if order == "day-first" else (month, day)
    date = f"{year}-{int(month):02}-{int(day):02}"
    return date if found[5] is None else f"{date}T{int(found[5]):02}:{found[6]}:{found[7] or '00'}"


def with_order(stored: str | None, order: str | None) -> str | None:
    """What a column is stored as, with the order of its dates where that is not the one of ISO 8601."""
    return stored if order is None or stored is None else f"{stored} {order}"


def are_counted(stored: str | None) -> bool:
    """Whether dates are stored as numbers, which count days.

    >>> are_counted("integer"), are_counted("date day-first"), are_counted(None)
    (True, False, False)
    """
    return (stored or "").startswith(("integer", "double", "float", "decimal"))


def order_of(stored: str | None) -> str | None:
    """The order in what `with_order` gives."""
    return (stored or "").partition(" ")[2] or None
