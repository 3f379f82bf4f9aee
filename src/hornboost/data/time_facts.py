"""What there is to tell about the times of a database: how much of what examples reach came too late for them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from shlex import quote
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hornboost.data.convert import distinct_integers
from hornboost.data.table import Column, Table
from hornboost.data.times import time_text
from hornboost.logic.moment import is_moment

if TYPE_CHECKING:
    from hornboost.data.database import Database

SAMPLE = 2_000
"""Examples at most whose rows are counted."""

LIMIT = 5_000_000
"""Pairs of an example and a row at most; beyond, fewer examples are counted."""

FEW = 20
"""Times that are fewer may rise with anything."""

_NAMED_AS_TIME = re.compile(r"(^|_|\b)(date|datetime|time|timestamp|ts)(_|\b|$)|_(at|on)$|[a-z](Date|Time|At)$")

Step = tuple[str, str, str]
"""From a key column of the table before to a column of a table: (column, table, its column)."""


@dataclass(frozen=True)
class TimeFacts:
    """The times of a table's rows, and how many of the rows that examples reach are not before their cutoffs.

    `reached` and `after` count pairs of an example and a row, over `examples` of the examples, along `path`.
    """

    table: str
    column: str
    is_date: bool
    rows: int
    undated: int
    first: float
    last: float
    examples: int = 0
    reached: int = 0
    after: int = 0
    path: tuple[str, ...] = ()

    @property
    def span(self) -> tuple[str, str]:
        """The first and the last time as text, empty where no row has one."""
        if self.undated == self.rows:
            return "", ""
        return time_text(self.first, self.is_date), time_text(self.last, self.is_date)


def time_facts(database: Database) -> list[TimeFacts]:
    """A row of facts for each table with a time, the target's first; none where rows lie in partitions."""
    cutoffs = database.tables[database.target.table].times
    if cutoffs is None or database.stored is not None:
        return []
    paths = shortest_paths(database.tables, database.target.table)
    found = [_plain_facts(database.tables[database.target.table], cutoffs)]
    for table in database.tables.values():
        if table.times is not None and table.name != database.target.table:
            found.append(_reached_facts(database, table, table.times, paths.get(table.name)))
    return found


def _plain_facts(table: Table, times: Column) -> TimeFacts:
    known = times.numbers[~times.missing]
    first, last = float(known.min(initial=np.inf)), float(known.max(initial=-np.inf))
    return TimeFacts(table.name, times.name, times.is_date, table.n_rows, table.n_rows - known.size, first, last)


def _reached_facts(database: Database, table: Table, times: Column, path: tuple[Step, ...] | None) -> TimeFacts:
    plain = _plain_facts(table, times)
    target = database.tables[database.target.table]
    if path is None or target.times is None:
        return plain
    examples = database.example_rows
    examples = examples[np.linspace(0, examples.size - 1, min(SAMPLE, examples.size)).astype(np.int64)]
    of_example, rows, counted = reached_pairs(database, examples, path)
    when, cutoff = times.numbers[rows], target.times.numbers[examples][of_example]
    dated = ~np.isnan(when)
    named = (target.name, *(step[1] for step in path))
    after = int((when[dated] >= cutoff[dated]).sum())
    facts = {name: getattr(plain, name) for name in plain.__dataclass_fields__}
    return TimeFacts(**facts | {"examples": counted, "reached": int(dated.sum()), "after": after, "path": named})


def reached_pairs(
    database: Database, examples: NDArray[np.int64], path: tuple[Step, ...]
) -> tuple[NDArray[np.int64], NDArray[np.int64], int]:
    """The pairs of an example (its position) and a row at the end of a path, each once, and how many were followed."""
    before, counted = database.tables[database.target.table], examples.size
    of_example, rows = np.arange(examples.size), examples
    for column, name, to_column in path:
        index = database.index(name, to_column)
        codes = before.columns[column].codes[rows]
        counts = np.where(codes >= 0, index.offsets[codes + 1] - index.offsets[codes], 0)
        if counts.sum() > LIMIT:
            counted = max(1, int(of_example[np.searchsorted(np.cumsum(counts), LIMIT)]))
            keep = of_example < counted
            of_example, codes, counts = of_example[keep], codes[keep], counts[keep]
        starts = np.repeat(index.offsets[codes] - np.cumsum(counts) + counts, counts)
        found = index.rows[starts + np.arange(counts.sum())].astype(np.int64)
        height = max(database.tables[name].n_rows, 1)
        pairs = distinct_integers(np.repeat(of_example, counts) * height + found)
        of_example, rows, before = pairs // height, pairs % height, database.tables[name]
    return of_example, rows, counted


def shortest_paths(tables: Mapping[str, Table], target: str) -> dict[str, tuple[Step, ...]]:
    """One of the shortest ways over keys of one domain from the target to each table that it reaches."""
    found: dict[str, tuple[Step, ...]] = {target: ()}
    ahead = [target]
    while ahead:
        name = ahead.pop(0)
        for key in tables[name].keys:
            for table in tables.values():
                other = next((column for column in table.keys if column.domain == key.domain), None)
                if table.name not in found and other is not None:
                    found[table.name] = (*found[name], (key.name, table.name, other.name))
                    ahead.append(table.name)
    return found


def about_future(facts: list[TimeFacts]) -> Iterable[str]:
    """That all examples look back at everything, where that is so."""
    others = [found for found in facts[1:] if found.undated < found.rows]
    if others and facts[0].first > max(found.last for found in others):
        last = time_text(max(found.last for found in others), facts[0].is_date)
        yield f"every cutoff comes after all rows with a time, of which the last is of {last}"


AGES = " (rules then ask for its age, not its date)"
"""What it costs to declare a time, which a user should know before."""


def suggested_times(database: Database) -> list[str]:
    """Columns that look like times and are not declared as such, with the option that declares them.

    Where rows lie in partitions, nothing is looked at and nothing said.
    """
    if database.stored is not None:
        return []
    if database.tables[database.target.table].times is None:
        return _without_cutoffs(database)
    found = []
    for table in database.tables.values():
        candidates = _candidates(table)
        if table.times is None:
            found += [
                f"{table.name}.{column.name} looks like a time: if it says from when on a row is known{AGES}, "
                f"declare it with --time {quote(f'{table.name}.{column.name}')}"
                for column in candidates
            ]
            continue
        found += [
            f"{table.name}.{column.name} rises with {table.name}.{table.times.name}, so rules about it say nothing of "
            f"later times: leave it out with --exclude {quote(f'{table.name}.{column.name}')}"
            for column in table.attributes
            if _rises_with(column, table.times)
        ]
        for column in candidates:
            later = _later(column, table.times)
            if later:
                with_it = [other.name for other in table.attributes if is_filled_in_with(other, column, table)]
                option = f"{table.name}.{column.name}" + ("=" + ",".join(with_it) if with_it else "")
                found.append(
                    f"{table.name}.{column.name} comes after {table.name}.{table.times.name} in {later:,} rows: if it "
                    f"is filled in then, declare it with --known-later {option}"
                )
    return found


def _candidates(table: Table) -> list[Column]:
    return [column for column in table.attributes if column.name not in table.late and looks_timed(column)]


def _without_cutoffs(database: Database) -> list[str]:
    """The same where the target has no time, to which those of other tables would be compared."""
    target = database.tables[database.target.table]
    others = [
        (table, column) for table in database.tables.values() if table is not target for column in _candidates(table)
    ]
    found, cutoff = [], f"{target.name}.COLUMN"
    for column in _candidates(target):
        place = f"{target.name}.{column.name}"
        if others and not any(_comes_before(database, table, time, column) for table, time in others):
            rows = ", ".join(f"{table.name}.{time.name}" for table, time in others)
            found.append(
                f"{place} looks like a time, but nothing comes before it that has one ({rows}): it is no cutoff"
            )
            continue
        found.append(
            f"{place} looks like a time: if it says up to when an example may look, declare it with "
            f"--time {quote(place)} (rules then ask how old other rows are at it, not for its date)"
        )
        cutoff = place if cutoff.endswith(".COLUMN") else cutoff
    needs = (
        ""
        if not cutoff.endswith(".COLUMN")
        else f"add a column with the time of each prediction to {target.name}, and "
    )
    return found + [
        f"{table.name}.{column.name} looks like a time: if it says from when on a row is known{AGES}, "
        f"{needs}declare both, with --time {quote(cutoff)} --time {quote(f'{table.name}.{column.name}')}"
        for table, column in others
    ]


def _comes_before(database: Database, table: Table, times: Column, cutoffs: Column) -> bool:
    """Whether an example would see a row of a table, if these were their times."""
    path = shortest_paths(database.tables, database.target.table).get(table.name)
    if path is None or times.is_date != cutoffs.is_date or times.kind != "numeric" or cutoffs.kind != "numeric":
        return False
    examples = database.example_rows
    examples = examples[np.linspace(0, examples.size - 1, min(SAMPLE, examples.size)).astype(np.int64)]
    of_example, rows, _ = reached_pairs(database, examples, path)
    return bool((times.numbers[rows] < cutoffs.numbers[examples][of_example]).any())


def _rises_with(column: Column, times: Column) -> bool:
    """Whether a column tells the time in other numbers: both rise together, over more than a few values."""
    if column.kind != "numeric":
        return False
    known = ~(column.missing | times.missing)
    order = np.argsort(times.numbers[known], kind="stable")
    when, values = times.numbers[known][order], column.numbers[known][order]
    steps = np.diff(when) > 0
    return int(steps.sum()) >= FEW and bool(np.array_equal(np.diff(values) > 0, steps) and (np.diff(values) >= 0).all())


def _later(column: Column, times: Column) -> int:
    if column.is_date != times.is_date:
        return 0
    return int((column.numbers > times.numbers).sum())


def is_filled_in_with(other: Column, column: Column, table: Table) -> bool:
    """Whether a column has values in the very rows in which another has a time, and not in all."""
    missing = column.missing
    if other.name in (column.name, *table.late) or not missing.any():
        return False
    return bool((other.missing == missing).all())


def looks_timed(column: Column) -> bool:
    """Whether a column is of dates, or is named as a time."""
    if column.missing.all():
        return False
    if column.kind == "numeric":
        return column.is_date or _NAMED_AS_TIME.search(column.name) is not None
    assert column.categories is not None
    return bool(column.categories.size) and all(is_moment(str(text)) for text in column.categories[:1000])
