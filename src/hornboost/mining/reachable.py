"""Where examples and the rows behind them are, and what is asked of them while queries are mined."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
from numpy.typing import NDArray

from hornboost.data.table import Table
from hornboost.engine.dependencies import determines, is_included
from hornboost.engine.facts import Facts
from hornboost.mining.counter import Counter, CountSetup
from hornboost.mining.frequent import Frequent
from hornboost.mining.paths import Family, Shape
from hornboost.mining.seen import Seen, seen_rows
from hornboost.mining.sight import latest_cutoffs

if TYPE_CHECKING:
    from hornboost.data import Database


class Passes(Protocol):
    """Counts queries over all examples (see `Counter`)."""

    def measured(self, family: Family, shapes: Sequence[Shape]) -> list[int]:
        """How many bindings a family has, and the rows that each literal joins."""

    def supports(self, family: Family, shapes: Sequence[Shape | None]) -> Iterator[NDArray[np.float64]]:
        """Of each literal, or of further conditions on the last one, the weight by class for each condition."""

    def frequent(
        self, family: Family, shapes: Sequence[Shape | None], thresholds: NDArray[np.float64], keep: bool
    ) -> Iterator[Frequent]:
        """What is frequent of each literal, or of further conditions on the last one, by the weight in each class and
        in all; what is kept serves the queries that follow from these.
        """


class Here:
    """Queries counted over rows that are here."""

    def __init__(self, counter: Counter) -> None:
        self._counter = counter

    def measured(self, family: Family, shapes: Sequence[Shape]) -> list[int]:
        return [int(count) for count in self._counter.measured(family, shapes)]

    def supports(self, family: Family, shapes: Sequence[Shape | None]) -> Iterator[NDArray[np.float64]]:
        return (self._counter.supports(family, shape) for shape in shapes)

    def frequent(
        self, family: Family, shapes: Sequence[Shape | None], thresholds: NDArray[np.float64], keep: bool
    ) -> Iterator[Frequent]:
        return (self._counter.frequent(family, shape, thresholds, keep) for shape in shapes)


class Reachable:
    """Encoded examples, and the tables of a database that is here."""

    def __init__(self, database: Database, examples: Table) -> None:
        self.database = database
        self.examples = examples.as_known()

    def among(self, rows: NDArray[np.intp]) -> Reachable:
        """The same for some of the examples."""
        return type(self)(self.database, self.examples.take(rows))

    def passes(self, asked: CountSetup) -> Passes:
        """What counts queries."""
        return Here(Counter(self.database, self.examples, asked))

    def seen(self, tables: Sequence[str], steps: int) -> dict[str, Seen]:
        """What the examples see of some tables within some joins."""
        latest, is_dated = latest_cutoffs(self.database, self.examples, tables, steps), self.examples.times is not None
        return {name: seen_rows(self.database.tables[name], latest[name], is_dated) for name in tables}

    def determines(
        self, table: str, out: str, carried: str, other: str, joined: str, column: str, *, is_root: bool
    ) -> bool:
        """Whether other.joined = table.out always brings other.column = table.carried, or what examples carry."""
        if not is_root:
            return Facts.of(self.database).determines(table, out, carried, other, joined, column)
        return self.examples_determine(out, carried, other, joined, column)

    def includes(self, table: str, other: str, columns: Sequence[str], *, is_root: bool) -> bool:
        """Whether each row of the other table, or each example, has a row of the table with these columns as keys."""
        if not is_root:
            return Facts.of(self.database).includes(table, other, columns)
        return self.examples_are_in(table, columns)

    def examples_determine(self, out: str, carried: str, other: str, joined: str, column: str) -> bool:
        """Whether rows that share a key with an example hold what that holds beside it."""
        facts, examples = Facts.of(self.database), self.examples.columns
        one, two = examples[out].codes, examples[carried].codes
        known = two >= 0  # nothing differs from null, so an example that lacks the key contradicts nothing
        return determines(one[known], two[known], facts.key(other, joined), facts.key(other, column))

    def examples_are_in(self, table: str, columns: Sequence[str]) -> bool:
        """Whether each example has a row of a table with some of its columns as keys."""
        there = self.database.tables[table].keys
        return is_included([self.examples.columns[name].codes for name in columns], [column.codes for column in there])


def reachable_of(database: Database, examples: Table) -> Reachable:
    """The source of encoded examples, whether their rows are here or in partitions."""
    if database.parts is None:
        return Reachable(database, examples)
    from hornboost.mining.partitioned import PartitionedReachable

    return PartitionedReachable(database, examples)
