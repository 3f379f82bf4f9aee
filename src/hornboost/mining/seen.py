"""What examples see of the rows that they reach: how many hold each value, by which numbers are cut."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hornboost.data.bins import MAX_BINS, Bins, numbered, ranks
from hornboost.data.table import Column, Table
from hornboost.mining.sight import known_since

if TYPE_CHECKING:
    from hornboost.data import Database

Floats = NDArray[np.float64]
Longs = NDArray[np.int64]
Ages = tuple[Floats, Longs]
"""The distinct ages of rows in rising order, and how many have each."""


@dataclass(frozen=True, eq=False, slots=True)
class Counted:
    """Of a column the weight and the number of the rows with each category, or of numbers with each of the bins."""

    bins: Bins | None
    weights: Floats
    rows: Longs


@dataclass(frozen=True, eq=False, slots=True)
class Seen:
    """The rows of a table that some example sees, counted once each, and their ages, where they have some."""

    n_rows: int
    attributes: list[Counted]
    ages: Ages | None = None


@dataclass(frozen=True, eq=False, slots=True)
class SeenHere:
    """The same of some of the rows, to be added up: for each attribute the rows of each category or level."""

    n_rows: int
    attributes: list[Longs]
    ages: Ages | None = None

    def __add__(self, other: SeenHere) -> SeenHere:
        attributes = [one + two for one, two in zip(self.attributes, other.attributes, strict=True)]
        ages = self.ages
        if ages is not None and other.ages is not None:
            values, places = np.unique(np.concatenate([ages[0], other.ages[0]]), return_inverse=True)
            counts = np.zeros(values.size, np.int64)
            np.add.at(counts, places, np.concatenate([ages[1], other.ages[1]]))
            ages = values, counts
        return SeenHere(self.n_rows + other.n_rows, attributes, ages)

    def of_all(self, table: Table) -> Seen:
        """What is seen of the table in all partitions."""
        found = []
        for column, rows in zip(table.attributes, self.attributes, strict=True):
            levels = None
            if column.kind == "numeric":  # partitions that are in no folder have all rows, and so has the table
                levels = (Bins.of(column.numbers) if column.levels is None else column.levels).at_most(MAX_BINS)
            found.append(Counted(levels, rows.astype(np.float64), rows))
        return Seen(self.n_rows, found, self.ages)


def seen_examples(examples: Table, weights: Floats) -> Seen:
    """The examples by their weights."""
    everyone = np.ones(examples.n_rows, np.bool_)
    return Seen(examples.n_rows, [_counted(column, everyone, weights) for column in examples.attributes])


def seen_rows(table: Table, until: Floats, is_dated: bool) -> Seen:
    """The rows of a table that some example reaches, of which `until` gives the latest cutoff, -inf where none does."""
    found = [_counted(column, _known(table, column, until, is_dated)) for column in table.attributes]
    return Seen(int((until > -np.inf).sum()), found, _ages(table, until, is_dated))


def seen_here(table: Table, until: Floats, is_dated: bool) -> SeenHere:
    """The same of some of the rows; columns know their levels."""
    found = seen_rows(table, until, is_dated)
    return SeenHere(found.n_rows, [counted.rows for counted in found.attributes], found.ages)


def _known(table: Table, column: Column, until: Floats, is_dated: bool) -> NDArray[np.bool_]:
    since = known_since(table, column.name) if is_dated else None
    return until > -np.inf if since is None else (until > -np.inf) & (since < until)


def _counted(column: Column, seen: NDArray[np.bool_], weights: Floats | None = None) -> Counted:
    bins = None
    if column.kind == "nominal":
        assert column.categories is not None
        codes, size = column.codes, len(column.categories)
    else:
        bins, codes = numbered(column.numbers, MAX_BINS, column.levels)
        size = bins.size
    held = seen & (codes >= 0)
    rows = np.bincount(codes[held], minlength=size)
    mass = rows if weights is None else np.bincount(codes[held], weights[held], minlength=size)
    return Counted(bins, mass.astype(np.float64), rows)


def _ages(table: Table, until: Floats, is_dated: bool) -> Ages | None:
    if table.times is None or not is_dated:
        return None
    ages, codes = ranks(np.where(until > -np.inf, until, np.nan) - table.times.numbers)
    return ages, np.bincount(codes[codes >= 0], minlength=ages.size)


def rows_in(database: Database, table: str) -> int:
    """The rows of a table, also where they are in partitions."""
    store = database.given_facts
    return database.tables[table].n_rows if store is None else store.manifest.table(table).rows
