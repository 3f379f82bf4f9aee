"""Tables as the miner sees them: keys as codes, and conditions by number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hornboost.data.index import KeyIndex
from hornboost.data.table import Table
from hornboost.engine.dependencies import is_unique
from hornboost.mining.binning import Condition, conditions_of

if TYPE_CHECKING:
    from hornboost.data import Database


@dataclass(frozen=True, eq=False)
class Relation:
    """A table: key columns and their domains, and its conditions;
    `held` are those of each row, an attribute a column (0 is none).
    """

    name: str
    columns: tuple[str, ...]
    domains: tuple[str, ...]
    keys: NDArray[np.int32]
    held: NDArray[np.int32]
    conditions: tuple[Condition, ...]
    attribute: NDArray[np.int64]
    index: Callable[[str], KeyIndex] | None
    unique: frozenset[int] = frozenset()
    rows_unique: bool = False
    symmetric: tuple[int, int] | None = None
    fan_out: tuple[float, ...] = ()

    def with_attributes(self, kept: Sequence[int]) -> Relation:
        """The same table with the conditions on some of its attributes only."""
        conditions = np.flatnonzero(np.isin(self.attribute, [-1, *kept]))
        number = np.zeros(len(self.conditions), np.int32)
        number[conditions] = np.arange(len(conditions))
        place = {old: new for new, old in enumerate(kept)}
        return replace(
            self,
            held=np.ascontiguousarray(number[self.held[:, list(kept)]]),
            conditions=tuple([self.conditions[c] for c in conditions]),
            attribute=np.array([place.get(int(self.attribute[c]), -1) for c in conditions]),
        )

    def share_of(self, condition: int) -> float:
        """The share of rows that hold a condition."""
        return self._shares[condition]

    @cached_property
    def _shares(self) -> list[float]:
        counts = np.bincount(self.held.ravel(), minlength=len(self.conditions)) / max(len(self.held), 1)
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
    bins: int,
    left_out: list[str],
    pair: Sequence[str],
) -> Relation:
    """A table, its numbers cut by the weights of its rows; `pair` are the columns in which it is symmetric."""
    held = np.zeros((table.n_rows, len(table.attributes)), np.int32)
    conditions: list[Condition] = [()]
    attribute = [-1]
    for number, column in enumerate(table.attributes):
        found = conditions_of(table.name, column, weights, bins, left_out)
        held[:, number] = np.where(found[0] >= 0, found[0] + len(conditions), 0)
        conditions += found[1]
        attribute += [number] * len(found[1])
    keys = (
        np.stack([column.codes for column in table.keys], axis=1)
        if table.keys
        else np.empty((table.n_rows, 0), np.int32)
    )
    names = tuple(column.name for column in table.keys)
    counts = [np.bincount(column[column >= 0]) for column in keys.T]
    return Relation(
        table.name,
        names,
        tuple(column.domain or "" for column in table.keys),
        np.ascontiguousarray(keys),
        held,
        tuple(conditions),
        np.array(attribute),
        None if database is None else _indexes(database, table.name),
        frozenset(k for k, column in enumerate(keys.T) if is_unique(column)),
        len(np.unique(row_numbers(keys))) == len(keys) if database is not None else False,
        (names.index(pair[0]), names.index(pair[1])) if pair else None,
        tuple(float(count.sum() / max((count > 0).sum(), 1)) for count in counts),
    )


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


def reached_rows(database: Database, examples: Table, steps: int) -> dict[str, NDArray[np.bool_]]:
    """The rows of each table that the examples reach, whatever keys are followed."""
    known = {name: np.zeros(domain.size, bool) for name, domain in database.domains.items()}
    for column in examples.keys:
        codes = column.codes
        known[column.domain or ""][codes[(codes >= 0) & (codes < database.domains[column.domain or ""].size)]] = True
    rows = {name: np.zeros(table.n_rows, bool) for name, table in database.tables.items()}
    for _ in range(steps):
        before = {name: mask.copy() for name, mask in known.items()}
        for name, table in database.tables.items():
            for column in table.keys:
                codes = column.codes
                rows[name] |= (codes >= 0) & before[column.domain or ""][codes]
            for column in table.keys:
                codes = column.codes[rows[name]]
                known[column.domain or ""][codes[codes >= 0]] = True
    return rows
