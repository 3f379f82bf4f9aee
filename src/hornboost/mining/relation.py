"""Tables as the miner sees them: keys as codes, and conditions by number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hornboost.data.index import KeyIndex
from hornboost.data.table import Table
from hornboost.engine.dependencies import is_unique
from hornboost.mining.binning import Condition, ages_of, conditions_of
from hornboost.mining.row_kernels import HeldRows
from hornboost.mining.sight import known_since

if TYPE_CHECKING:
    from hornboost.data import Database

Number = TypeVar("Number", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Relation:
    """A table: key columns and their domains, its conditions, and which of them each row holds.

    `is_timed` says that examples see only rows from before their cutoffs.
    """

    name: str
    columns: tuple[str, ...]
    domains: tuple[str, ...]
    keys: NDArray[np.int32]
    rows: HeldRows
    conditions: tuple[Condition, ...]
    attribute: NDArray[np.int64]
    index: Callable[[str], KeyIndex] | None
    unique: frozenset[int] = frozenset()
    rows_unique: bool = False
    symmetric: tuple[int, int] | None = None
    fan_out: tuple[float, ...] = ()
    is_timed: bool = False

    def with_attributes(self, kept: Sequence[int]) -> Relation:
        """The same table with the conditions on some of its attributes only."""
        conditions = np.flatnonzero(np.isin(self.attribute, [-1, *kept]))
        number = np.zeros(len(self.conditions), np.int32)
        number[conditions] = np.arange(len(conditions))
        place = {old: new for new, old in enumerate(kept)}
        return replace(
            self,
            rows=_with_attributes(self.rows, kept, number),
            conditions=tuple([self.conditions[c] for c in conditions]),
            attribute=np.array([place.get(int(self.attribute[c]), -1) for c in conditions]),
        )

    def share_of(self, condition: int) -> float:
        """The share of rows that hold a condition."""
        return self._shares[condition]

    @cached_property
    def _shares(self) -> list[float]:
        counts = np.bincount(self.rows.held.ravel(), minlength=len(self.conditions)) / max(len(self.keys), 1)
        if self.rows.ages is not None and len(self.rows.ages):
            counts[self.rows.first_age :] = 1 / len(self.rows.ages)  # they were cut so
        return [1.0, *counts[1:].tolist()]

    @property
    def n_conditions(self) -> int:
        return len(self.conditions)

    @property
    def n_words(self) -> int:
        """Words of 64 bits, a bit for each condition."""
        return -(-len(self.conditions) // 64)


def relation_of(
    table: Table,
    database: Database | None,
    weights: NDArray[np.float64],
    until: NDArray[np.float64] | None,
    bins: int,
    left_out: list[str],
    pair: Sequence[str],
) -> Relation:
    """A table, its numbers cut by the weights of its rows; `pair` are the columns in which it is symmetric.

    `until` is the latest cutoff of an example that reaches each row, where rows or values have times.
    """
    conditions: list[Condition] = [()]
    attribute = [-1]
    held, since = [], []
    for number, column in enumerate(table.attributes):
        known = None if until is None else known_since(table, column.name)
        counted = weights if known is None or until is None else weights * (known < until)
        found = conditions_of(table.name, column, counted, bins, left_out)
        held.append(np.where(found[0] >= 0, found[0] + len(conditions), 0))
        since.append(known)
        conditions += found[1]
        attribute += [number] * len(found[1])
    rows = HeldRows(_side_by_side(held, np.int32, table.n_rows))
    if until is not None:
        rows = _with_late(undated(rows.held), since)
        if table.times is not None:
            ages_seen = np.where(weights > 0, until, np.nan) - table.times.numbers
            ages, found_ages = ages_of(table, ages_seen, weights, bins)
            rows = _with_ages(rows, np.ascontiguousarray(table.times.numbers), ages, len(conditions))
            conditions += found_ages
            attribute += [len(table.attributes)] * len(found_ages)
    keys = _side_by_side([column.codes for column in table.keys], np.int32, table.n_rows)
    names = tuple(column.name for column in table.keys)
    counts = [np.bincount(column[column >= 0]) for column in keys.T]
    return Relation(
        table.name,
        names,
        tuple(column.domain or "" for column in table.keys),
        keys,
        rows,
        tuple(conditions),
        np.array(attribute),
        None if database is None else _indexes(database, table.name),
        frozenset(k for k, column in enumerate(keys.T) if is_unique(column)),
        len(np.unique(row_numbers(keys))) == len(keys) if database is not None else False,
        (names.index(pair[0]), names.index(pair[1])) if pair else None,
        tuple(float(count.sum() / max((count > 0).sum(), 1)) for count in counts),
        table.times is not None and database is not None,
    )


def undated(held: NDArray[np.int32]) -> HeldRows:
    """Rows that hold the same for all examples, where other tables have times: one kind of kernel serves them all."""
    return HeldRows(held, np.empty((0, 0)), np.empty(0), np.empty((0, 2)))


def _with_late(rows: HeldRows, since: Sequence[NDArray[np.float64] | None]) -> HeldRows:
    """The same where some attributes are known from other times on than their rows."""
    if all(known is None for known in since):
        return rows
    always = np.full(len(rows.held), -np.inf)
    columns = [always if known is None else known for known in since]
    return rows._replace(since=_side_by_side(columns, np.float64, len(rows.held)))


def _with_ages(rows: HeldRows, times: NDArray[np.float64], ages: NDArray[np.float64], first: int) -> HeldRows:
    """The same with intervals of ages as conditions on a further attribute, of which rows hold none by themselves."""
    assert rows.since is not None
    since = np.hstack([rows.since, np.full((len(times), 1), -np.inf)]) if len(rows.since) else rows.since
    held = np.hstack([rows.held, np.zeros((len(times), 1), np.int32)])
    return HeldRows(held, since, times, ages, first)


def _with_attributes(rows: HeldRows, kept: Sequence[int], number: NDArray[np.int32]) -> HeldRows:
    """The rows with the conditions on some attributes, numbered anew."""
    held = np.ascontiguousarray(number[rows.held[:, list(kept)]])
    if rows.since is None or rows.ages is None:
        return rows._replace(held=held)
    since = np.ascontiguousarray(rows.since[:, list(kept)]) if len(rows.since) else rows.since
    if len(rows.ages) and number[rows.first_age]:
        return rows._replace(held=held, since=since, first_age=int(number[rows.first_age]))
    return rows._replace(held=held, since=since, ages=np.empty((0, 2)), first_age=0)


def _side_by_side(columns: Sequence[NDArray[Any]], dtype: type[Number], n_rows: int) -> NDArray[Number]:
    return np.stack(columns, axis=1).astype(dtype, order="C") if columns else np.empty((n_rows, 0), dtype)


def row_numbers(keys: NDArray[np.int32]) -> NDArray[np.int64]:
    """A number for each row, the same for equal rows only."""
    numbers = np.zeros(len(keys), np.int64)
    for column in keys.T:
        least = int(column.min(initial=0))
        width = int(column.max(initial=0)) - least + 1
        if int(numbers.max(initial=0)) >= 2**62 // width:
            numbers = np.unique(numbers, return_inverse=True)[1].astype(np.int64)
        numbers = numbers * width + (column - least)
    return numbers


def _indexes(database: Database, table: str) -> Callable[[str], KeyIndex]:
    return lru_cache(lambda column: database.index(table, column))
