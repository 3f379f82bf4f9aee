"""What looks odd in a database: text that is nearly numbers or dates, labels that are spelt in several ways, and names
and row numbers that rules could learn by heart.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from shlex import quote
from typing import TYPE_CHECKING

import numpy as np

from hornboost.data.date_forms import ORDERS, UNKNOWN, in_iso, order_in
from hornboost.data.table import Column, Table
from hornboost.data.text_dates import MISSING_TOKENS
from hornboost.data.text_numbers import among_numbers, is_number, known_words
from hornboost.data.value_counts import ValueCounts, count_values, first_values
from hornboost.data.values import stored_type
from hornboost.logic.moment import is_moment

if TYPE_CHECKING:
    import pyarrow as pa

    from hornboost.data.schema import Schema

_ORDERS = (*ORDERS, "year-first")

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


def about_composite_keys(schema: Schema) -> Iterator[str]:
    """Which tables refer to another by several columns together, of which joins follow one at a time."""
    found: dict[tuple[str, str], dict[str, str]] = {}
    for link in schema.foreign_keys:
        found.setdefault((link.table, link.to_table), {})[link.to_column] = link.column
    for (table, to_table), columns in found.items():
        key = schema.tables[to_table].primary_key if to_table in schema.tables else ()
        if len(key) > 1 and set(key) <= set(columns):
            names = " and ".join(columns[name] for name in key)
            yield (
                f"{table} refers to {to_table} by {names} together: a join, and each aggregate, follows one of them; "
                "to count what belongs together, give both tables one column that holds all of them"
            )


def is_like_a_date(word: str) -> bool:
    """Whether a text is a date to a reader, in whatever form.

    >>> [is_like_a_date(word) for word in ("31.12.2025", "12/31/25", "5 March 2025", "2025-12-31 10:05", "1.5.2")]
    [True, True, True, True, False]
    """
    return _LIKE_A_DATE.fullmatch(word.strip()) is not None


def about_text(batches: Callable[[], Iterable[pa.ChunkedArray]], place: str) -> str | None:
    """What there is to say of a column that is compared as text: that nearly all of it is numbers, or all is dates.

    `batches` gives its rows, from the first on, each time that it is called.
    """
    start = first_values(batches(), SAMPLE)
    if stored_type(start.type) != "text":
        return None
    if _begins(start, is_number):
        return _about_numbers(count_values(batches()), place)
    return _about_dates(count_values(batches()), place) if _begins(start, is_like_a_date) else None


def _about_numbers(values: ValueCounts, place: str) -> str | None:
    found = among_numbers(values)
    if found is None or found.known - found.bad < max(FEWEST, NEARLY * found.known):
        return None
    share = f"{found.known - found.bad:,} of {found.known:,} values are numbers"
    return (
        f"{place} is read as text, because row {found.row + 1} holds '{found.value}', where {share}; "
        f"--type {quote(place)}=numeric (types= in Python) reads it as numbers and counts all else as missing"
    )


def _about_dates(values: ValueCounts, place: str) -> str | None:
    known = known_words(values)
    words, enough = known.values.to_pylist(), NEARLY * known.counts.sum()
    are_dates = np.array([is_like_a_date(word) for word in words], bool)
    if known.counts[are_dates].sum() < enough:
        return None
    looks = f"{place} looks like dates, such as '{words[int(are_dates.argmax())]}', but is read as text"
    if order_in(set(words)) == UNKNOWN:
        return (
            f"{looks}, because whether the day or the month comes first cannot be told: "
            f"--type {quote(place)}=day-first or --type {quote(place)}=month-first (types= in Python) says it"
        )
    of_orders = [np.array([is_moment(in_iso(word, order).strip()) for word in words], bool) for order in _ORDERS]
    are_read = max(of_orders, key=lambda found: int(known.counts[found].sum()))
    good = are_read if known.counts[are_read].sum() >= enough else are_dates
    if not good.all():
        one = int(good.argmin())
        return f"{looks}, because row {known.first[one] + 1} holds '{words[one]}'; correct it"
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
    first = [str(word) for word in values.to_pylist() if word]
    first = [word for word in first if word not in MISSING_TOKENS]
    return bool(first) and 2 * sum(map(test, first)) > len(first)


def _counts_rows(column: Column) -> bool:
    """Whether a column of numbers is a row number: whole, one more each time, in whatever order."""
    numbers = column.numbers
    if column.is_date or column.is_age or numbers.size < MANY or not np.isfinite(numbers).all():
        return False
    places = numbers - numbers.min()
    if places.max() != numbers.size - 1 or (places != np.floor(places)).any():
        return False
    return bool(np.bincount(places.astype(np.int64)).max() == 1)


def about_spellings(place: str, classes: Mapping[str, str]) -> list[str]:
    """Which values of a label are different classes by nothing but case and blanks, given the class of each value.

    >>> about_spellings("jobs.back", {"No": "No", "no": "no", "no ": "no ", "yes": "yes"})
    ["jobs.back has 'No', 'no', 'no ', which differ only in case and blanks, as classes of their own; write them alike"]
    >>> about_spellings("jobs.back", {"No": "not yes", "no": "not yes", "yes": "yes"})
    []
    """
    alike: dict[str, list[str]] = {}
    for value in classes:
        alike.setdefault(" ".join(value.casefold().split()), []).append(value)
    return [
        f"{place} has {', '.join(map(repr, values))}, which differ only in case and blanks, as classes of their own; "
        "write them alike"
        for values in alike.values()
        if len({classes[value] for value in values}) > 1
    ]


def likely_identifiers(tables: Iterable[Table]) -> list[str]:
    """Which columns have values that are nearly all different, or number the rows: rules learn them by heart.

    Columns whose rows lie in partitions are not looked at.
    """
    from hornboost.data.partitions.store import AbsentColumn

    found = []
    for table in tables:
        for column in table.columns.values():
            if isinstance(column, AbsentColumn):
                continue
            if column.kind == "numeric" and _counts_rows(column):
                found.append(
                    f"{table.name}.{column.name} numbers the {table.n_rows:,} rows one by one and looks like an "
                    "identifier; if rules should not look at their order, leave it out with "
                    f"--exclude {quote(f'{table.name}.{column.name}')}"
                )
            elif column.kind == "nominal":
                known = column.codes[column.codes >= 0]
                distinct = int(np.count_nonzero(np.bincount(known))) if known.size else 0
                if distinct >= MANY and 2 * distinct > known.size:
                    found.append(
                        f"{table.name}.{column.name} ({distinct:,} distinct values in {known.size:,} rows) looks like "
                        "an identifier; if rules should not name single values, leave it out with --exclude"
                    )
    return found
