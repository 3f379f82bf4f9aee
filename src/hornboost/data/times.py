"""When rows are known: the columns that hold times, as numbers that can be compared with the cutoffs of examples."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hornboost.data.convert import factorize, to_moments, to_numbers
from hornboost.data.date_forms import with_order
from hornboost.data.schema import Schema, Task
from hornboost.data.table import Column, Table
from hornboost.data.text_dates import text_order
from hornboost.data.values import is_text, stored_type
from hornboost.errors import DataError, warn_caller
from hornboost.logic.moment import moment_text

if TYPE_CHECKING:
    import pyarrow as pa

NUMBERS = ("integer", "double", "float", "decimal")
DATES = ("date", "timestamp", "timestamptz")

_ZONE = re.compile(r"[0-9]{2}:[0-9]{2}.*(Z|[+-][0-9]{2}(:?[0-9]{2})?)\s*", re.ASCII)


def times_of(schema: Schema, task: Task) -> dict[str, str]:
    """The time column of each table that has one; the task's own stands before its table's."""
    found = {
        name: table.time
        for name, table in schema.tables.items()
        if table.time is not None and name not in task.exclude_tables
    }
    return found if task.time is None else {**found, task.table: task.time}


def late_columns(schema: Schema, table: str, hidden: Collection[tuple[str, str]]) -> dict[str, str]:
    """For each visible column of a table that is filled in later the column that says when, which is late itself."""
    found: dict[str, str] = {}
    for dating, columns in schema.tables[table].known_later.items():
        visible = [column for column in columns if (table, column) not in hidden]
        if visible and (table, dating) in hidden:
            raise DataError(
                f"{schema.location}: known_later: '{table}.{dating}' is not to be used, and without it nobody knows "
                f"when '{visible[0]}' is; leave out '{visible[0]}' as well, or none of them"
            )
        if (table, dating) not in hidden:
            found |= dict.fromkeys([*visible, dating], dating)
    return found


def check_cutoff(schema: Schema, task: Task) -> None:
    """Refuse times of other tables without those of the target, to which they are compared."""
    times = times_of(schema, task)
    late = [name for name, table in schema.tables.items() if table.known_later and name not in task.exclude_tables]
    if task.table in times or not (times or late):
        return
    what = f"table '{next(iter(times))}' has a time" if times else f"table '{late[0]}' has columns that are known later"
    raise DataError(
        f"{schema.location}: {what}, but the target '{task.table}' has none to compare it with; name the column of its "
        f"cutoffs, by times={{'{task.table}': column}}, --time {task.table}.column or time = \"column\" in the schema"
    )


def encode_time(name: str, values: pa.ChunkedArray, place: str) -> Column:
    """A column of times: dates and timestamps, also as text, in microseconds, or else numbers.

    >>> import pyarrow as pa
    >>> encode_time("day", pa.chunked_array([["1970-01-02", None]]), "here").numbers.tolist()
    [86400000000.0, nan]
    >>> encode_time("day", pa.chunked_array([[3, 4]]), "here").is_date
    False
    """
    import pyarrow as pa

    stored = stored_type(values.type)
    if pa.types.is_null(values.type):
        return Column(name, "numeric", np.full(len(values), np.nan), is_date=True, stored=stored)
    if stored == "text":
        return _encode_text(name, values, place)
    if stored in DATES:
        return Column(name, "numeric", to_moments(values, place), is_date=True, stored=stored)
    if stored is not None and stored.startswith(NUMBERS):
        return Column(name, "numeric", to_numbers(values, place)[0], stored=stored)
    raise DataError(f"{place}: values of type '{values.type}' are no times; give dates, timestamps or numbers")


def _encode_text(name: str, values: pa.ChunkedArray, place: str) -> Column:
    import pyarrow as pa

    codes, distinct = factorize(values)
    texts = pa.chunked_array([distinct.cast(pa.string())])
    try:
        of_code, is_date = to_numbers(texts, place)[0], False
    except DataError:
        check_zones(values, place)
        of_code, is_date = to_moments(values, place), True
        return Column(name, "numeric", of_code, is_date=is_date, stored=with_order("text", text_order(values)))
    return Column(name, "numeric", np.append(of_code, np.nan)[codes], is_date=is_date, stored="text")


def check_zones(values: pa.ChunkedArray, place: str) -> None:
    """Refuse text in which some times have a zone and others do not: nobody knows which of two comes first."""
    if not (is_text(values.type) or stored_type(values.type) == "text"):
        return
    distinct = [str(word) for word in factorize(values)[1].to_pylist() if word]
    zoned = next((word for word in distinct if _ZONE.search(word)), None)
    plain = next((word for word in distinct if re.match(r"[0-9]{4}-", word) and not _ZONE.search(word)), None)
    if zoned is not None and plain is not None:
        raise mixed_zones(place, zoned, plain)


def mixed_zones(place: str, zoned: str, plain: str) -> DataError:
    """What is said of times of which some have a zone."""
    return DataError(
        f"{place}: '{zoned}' has a time zone and '{plain}' has none, so which comes first is not known; write all of "
        "them with a zone, or none"
    )


def check_comparable(tables: Mapping[str, Table], target: str, location: str) -> None:
    """Refuse dates here and plain numbers there: neither is before the other."""
    cutoffs = tables[target].times
    if cutoffs is None:
        return
    for table in tables.values():
        columns = [table.columns[name] for name in sorted(set(table.late.values()))]
        for column in ([] if table.times is None else [table.times]) + columns:
            if column.is_date != cutoffs.is_date and not (column.missing.all() or cutoffs.missing.all()):
                kinds = ("dates", "numbers") if column.is_date else ("numbers", "dates")
                raise DataError(
                    f"{location}: the times '{table.name}.{column.name}' are {kinds[0]} and the cutoffs "
                    f"'{target}.{cutoffs.name}' are {kinds[1]}, which cannot be compared; convert one of them"
                )


@dataclass(frozen=True)
class Span:
    """How many rows of a table there are, how many of them have no time, and the first and last of the others."""

    rows: int
    missing: int
    first: float
    last: float

    @classmethod
    def of(cls, times: Column) -> Span:
        """The span of a column of times."""
        known = times.numbers[~times.missing]
        ends = float(known.min(initial=np.inf)), float(known.max(initial=-np.inf))
        return cls(len(times.numbers), len(times.numbers) - known.size, *ends)


def about_times(tables: Mapping[str, Table], target: str, spans: Mapping[str, Span] | None = None) -> Iterable[str]:
    """Sentences about rows that never count: those without a time, those after every cutoff; and about zones.

    `spans` are those of tables whose rows are elsewhere.
    """
    cutoffs = tables[target].times
    if cutoffs is None:
        return
    last = Span.of(cutoffs).last
    for name, table in tables.items():
        if table.times is None:
            continue
        span = Span.of(table.times) if spans is None else spans[name]
        if span.missing:
            is_part = name == target and span.missing < span.rows
            what = "they count for no example" + (", and are none themselves" if is_part else "")
            yield f"{span.missing:,} of {span.rows:,} rows of {name} have no time in '{table.times.name}': {what}"
        if name != target and last <= span.first < np.inf and last > -np.inf:
            shown = [time_text(moment, cutoffs.is_date) for moment in (span.first, last)]
            yield (
                f"no row of {name} counts for any example: the first has '{table.times.name}' {shown[0]}, and the last "
                f"cutoff is {shown[1]}"
            )
        zones = {column.stored == "timestamptz" for column in (table.times, cutoffs)}
        if len(zones) > 1 and "text" not in (table.times.stored, cutoffs.stored):
            places = [f"{name}.{table.times.name}", f"{target}.{cutoffs.name}"]
            zoned, plain = places if table.times.stored == "timestamptz" else reversed(places)
            yield f"{zoned} has a time zone and {plain} has none: the latter is taken for UTC"


def first_time(tables: Mapping[str, Table], target: str) -> float:
    """The earliest time of a row that is no example, infinity if there is none."""
    times = [table.times for name, table in tables.items() if table.times is not None and name != target]
    return min((float(column.numbers[~column.missing].min(initial=np.inf)) for column in times), default=np.inf)


def time_text(moment: float, is_date: bool) -> str:
    """A time as a sentence shows it."""
    return moment_text(moment) if is_date else f"{moment:.10g}"


def one_time(value: Any, is_date: bool, place: str) -> float:
    """A single moment that a user names, as a date, as text or as a number.

    >>> one_time("1970-01-02", True, "as_of"), one_time("7", False, "as_of")
    (86400000000.0, 7.0)
    """
    import pyarrow as pa

    value = value.item() if isinstance(value, np.generic) and not isinstance(value, np.datetime64) else value
    kind, example = ("dates", "2024-06-30") if is_date else ("numbers", "17")
    try:
        encoded = encode_time("", pa.chunked_array([pa.array([value], from_pandas=True)]), place)
    except (ValueError, TypeError, pa.ArrowException):
        raise DataError(f"{place}: {str(value)!r} is no time; write one such as {example}") from None
    if encoded.missing[0] or encoded.is_date != is_date:
        raise DataError(f"{place}: {str(value)!r} is no time where cutoffs are {kind}; write one such as {example}")
    return float(encoded.numbers[0])


def warn_of_blindness(cutoffs: Column, first: float) -> None:
    """Say so if none of the examples sees any row that has a time, of which the first is given."""
    last = float(cutoffs.numbers.max())
    if last <= first < np.inf:
        shown = [time_text(moment, cutoffs.is_date) for moment in (last, first)]
        warn_caller(
            f"the examples see no row that has a time: the last cutoff is {shown[0]}, and the first row is of "
            f"{shown[1]}; check the column '{cutoffs.name}'",
            UserWarning,
        )
