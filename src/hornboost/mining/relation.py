"""Tables as the miner sees them: keys, conditions by number, and what holds of all rows, wherever these are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hornboost.data.table import Table
from hornboost.engine.facts import Facts
from hornboost.mining.binning import Condition, Cut, ages_of, cut_of
from hornboost.mining.seen import Seen

if TYPE_CHECKING:
    from hornboost.data import Database


@dataclass(frozen=True, eq=False)
class Relation:
    """A table: key columns and their domains, its conditions, and how to tell which of them a row holds.

    `cuts` are those of its attributes, and `ages` the intervals of ages, whose conditions begin at `first_age`; where
    that is 0 there are none. `shares` are about the shares of rows that hold each condition. `is_timed` says that
    examples see only rows from before their cutoffs. A row of a key has about `fan_out` others beside it.
    """

    name: str
    columns: tuple[str, ...]
    domains: tuple[str, ...]
    n_rows: int
    conditions: tuple[Condition, ...]
    attribute: NDArray[np.int64]
    cuts: tuple[Cut, ...]
    shares: tuple[float, ...]
    ages: NDArray[np.float64] = field(default_factory=lambda: np.empty((0, 2)))
    first_age: int = 0
    unique: frozenset[int] = frozenset()
    rows_unique: bool = False
    symmetric: tuple[int, int] | None = None
    fan_out: tuple[float, ...] = ()
    is_timed: bool = False

    def with_attributes(self, kept: Sequence[int]) -> Relation:
        """The same table with the conditions on some of its attributes only."""
        conditions = np.flatnonzero(np.isin(self.attribute, [-1, *kept]))
        number = np.zeros(len(self.conditions), np.int64)
        number[conditions] = np.arange(len(conditions))
        place = {old: new for new, old in enumerate(kept)}
        has_ages = bool(self.first_age) and len(self.cuts) in kept
        return replace(
            self,
            conditions=tuple([self.conditions[c] for c in conditions]),
            attribute=np.array([place.get(int(self.attribute[c]), -1) for c in conditions]),
            cuts=tuple([self.cuts[a].renumbered(number) for a in kept if a < len(self.cuts)]),
            shares=tuple([self.shares[c] for c in conditions]),
            ages=self.ages if has_ages else np.empty((0, 2)),
            first_age=int(number[self.first_age]) if has_ages else 0,
        )

    @property
    def n_conditions(self) -> int:
        return len(self.conditions)

    @property
    def n_words(self) -> int:
        """Words of 64 bits, a bit for each condition."""
        return -(-len(self.conditions) // 64)


def root_of(examples: Table, seen: Seen, bins: int, left_out: list[str]) -> Relation:
    """The examples themselves, their numbers cut by their weights; they have no age."""
    return _relation_of(replace(examples, times=None), seen, examples.n_rows, bins, left_out)


def relation_of(
    table: Table, database: Database, seen: Seen, n_rows: int, bins: int, left_out: list[str], pair: Sequence[str]
) -> Relation:
    """A table, its numbers cut by what is seen of its rows; `pair` are the columns in which it is symmetric."""
    names, facts = [column.name for column in table.keys], Facts.of(database)
    counts = [database.key_counts(table.name, name) for name in names]
    return replace(
        _relation_of(table, seen, n_rows, bins, left_out),
        unique=frozenset(k for k, name in enumerate(names) if facts.is_unique(table.name, name)),
        rows_unique=facts.rows_are_unique(table.name),
        symmetric=(names.index(pair[0]), names.index(pair[1])) if pair else None,
        fan_out=tuple(squares / max(rows, 1) for rows, squares in counts),
        is_timed=table.times is not None,
    )


def _relation_of(table: Table, seen: Seen, n_rows: int, bins: int, left_out: list[str]) -> Relation:
    conditions: list[Condition] = [()]
    attribute, shares = [-1], [1.0]
    cuts = []
    for number, (column, counted) in enumerate(zip(table.attributes, seen.attributes, strict=True)):
        cut, tests = cut_of(table.name, column, counted.bins, counted.weights, bins, len(conditions), left_out)
        cuts.append(cut)
        shares += cut.shares(counted.bins, counted.rows, max(seen.n_rows, 1))
        conditions += tests
        attribute += [number] * len(tests)
    ages, first_age = np.empty((0, 2)), 0
    if seen.ages is not None:
        ages, told = ages_of(table, *seen.ages, bins)
        first_age = len(conditions) if told else 0
        shares += [1 / max(len(told), 1)] * len(told)  # they are cut so
        conditions += told
        attribute += [len(cuts)] * len(told)
    return Relation(
        table.name,
        tuple(column.name for column in table.keys),
        tuple(column.domain or "" for column in table.keys),
        n_rows,
        tuple(conditions),
        np.array(attribute),
        tuple(cuts),
        tuple(shares),
        ages,
        first_age,
    )
