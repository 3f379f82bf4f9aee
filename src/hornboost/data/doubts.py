"""What looks odd in a database: text that is nearly numbers or dates, and names that rules could learn by heart."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import numpy as np

from hornboost.data.date_forms import UNKNOWN, order_in
from hornboost.data.table import Table
from hornboost.data.text_dates import MISSING_TOKENS
from hornboost.data.text_numbers import among_numbers, is_number, words_of
from hornboost.data.values import stored_type

if TYPE_CHECKING:
    import pyarrow as pa

MANY = 100
"""Distinct values from which on a column may be an identifier in disguise."""

NEARLY = 0.9
"""The share of the values that must be numbers or dates for the others to be a mistake."""

FEWEST = 5
"""Numbers, or dates, that are fewer say nothing about the others."""

SAMPLE = 100
"""Values at the start that decide whether the others are looked at."""

_MONTH = r"(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.?"
_LIKE_A_DATE = re.compile(
    r"([0-9]{1,2}[./-][0-9]{1,2}[./-]([0-9]{4}|[0-9]{2})|[0-9]{4}[./-][0-9]{1,2}[./-][0-9]{1,2}"
    rf"|[0-9]{{1,2}}\.?[ -]{_MONTH}[ -]([0-9]{{4}}|[0-9]{{2}})|{_MONTH} [0-9]{{1,2}},? [0-9]{{4}})"
    r"([ T][0-9]{1,2}:[0-9]{2}.*)?",
    re.ASCII | re.IGNORECASE,
)


def is_like_a_date(word: str) -> bool:
    """Whether a text is a date to a reader, in whatever form.

    >>> [is_like_a_date(word) for word in ("31.12.2025", "12/31/25", "5 March 2025", "2025-12-31 10:05", "1.5.2")]
    [True, True, True, True, False]
    """
    return _LIKE_A_DATE.fullmatch(word.strip()) is not None


def about_text(values: pa.ChunkedArray, place: str) -> str | None:
    """What there is to say of a column that is compared as text: that nearly all of it is numbers, or all is dates."""
    if stored_type(values.type) != "text":
        return None
    return _about_numbers(values, place) if _begins(values, is_number) else _about_dates(values, place)


def _about_numbers(values: pa.ChunkedArray, place: str) -> str | None:
    found = among_numbers(values)
    if found is None or found.known - found.bad < max(FEWEST, NEARLY * found.known):
        return None
    share = f"{found.known - found.bad:,} of {found.known:,} values are numbers"
    return (
        f"{place} is read as text, because row {found.row + 1} holds '{found.value}', where {share}; "
        f"--type {place}=numeric reads it as numbers and counts all else as missing"
    )


def _about_dates(values: pa.ChunkedArray, place: str) -> str | None:
    if not _begins(values, is_like_a_date):
        return None
    codes, words = words_of(values)
    known = codes[codes >= 0]
    are_dates = np.array([is_like_a_date(word) for word in words], bool)
    if are_dates[known].sum() < NEARLY * known.size:
        return None
    looks = f"{place} looks like dates, such as '{words[int(known[are_dates[known]][0])]}', but is read as text"
    if order_in({words[code] for code in known}) == UNKNOWN:
        return (
            f"{looks}, because whether the day or the month comes first cannot be told: --type {place}=day-first or "
            f"--type {place}=month-first says it"
        )
    if not are_dates[known].all():
        row = int(np.flatnonzero((codes >= 0) & ~np.append(are_dates, True)[codes])[0])
        return f"{looks}, because row {row + 1} holds '{words[codes[row]]}'; correct it"
    return f"{looks}, because not all can be read; write them as 2025-12-31"


def looks_like_dates(categories: Iterable[str]) -> bool:
    """Whether the values of a nominal column are dates to a reader.

    >>> looks_like_dates(["31.12.2025", "1.1.2026"]), looks_like_dates(["north", "south"]), looks_like_dates([])
    (True, False, False)
    """
    words = [word for word in map(str, categories) if word.strip() and word not in MISSING_TOKENS][:1000]
    return bool(words) and sum(map(is_like_a_date, words)) >= NEARLY * len(words)


def _begins(values: pa.ChunkedArray, test: Callable[[str], bool]) -> bool:
    """Whether most of the first values pass a test, which spares the others of most columns a look."""
    first = [str(word) for word in values.slice(0, SAMPLE).to_pylist() if word]
    first = [word for word in first if word not in MISSING_TOKENS]
    return bool(first) and 2 * sum(map(test, first)) > len(first)


def likely_identifiers(tables: Iterable[Table]) -> list[str]:
    """Which columns have values that are nearly all different: rules about them learn names by heart.

    Columns whose rows lie in partitions are not looked at.
    """
    from hornboost.data.partitions.store import AbsentColumn

    found = []
    for table in tables:
        for column in table.columns.values():
            if column.kind == "nominal" and not isinstance(column, AbsentColumn):
                known = column.codes[column.codes >= 0]
                distinct = int(np.count_nonzero(np.bincount(known))) if known.size else 0
                if distinct >= MANY and 2 * distinct > known.size:
                    found.append(
                        f"{table.name}.{column.name} ({distinct:,} distinct values in {known.size:,} rows) looks like "
                        "an identifier; if rules should not name single values, leave it out with --exclude"
                    )
    return found
