"""The tables of a statement: what they are called where it runs, and the relations that hold in both directions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from hornboost.sql import names

if TYPE_CHECKING:
    from sqlglot import exp


@dataclass(frozen=True)
class Mirror:
    """A table that is read in both directions of a symmetric relation, under a name of its own."""

    name: str
    pair: tuple[str, str]
    columns: Sequence[str]


@dataclass(frozen=True)
class CountedTimes:
    """A table with counts of microseconds beside its times, under a name of its own.

    `counts` are the counts by the names of the columns with the times, and `named` what they are called.
    """

    name: str
    counts: Mapping[str, exp.Expr]
    named: Mapping[str, str]


@dataclass(frozen=True)
class Sources:
    """Where the tables of a model are: in `schema` if one is named, under the name in `renamed` if there is one."""

    schema: str | None = None
    renamed: Mapping[str, str] = field(default_factory=dict)
    mirrors: Mapping[str, Mirror] = field(default_factory=dict)
    counted: Mapping[str, CountedTimes] = field(default_factory=dict)

    def examples(self, table: str, alias: str) -> exp.Table:
        """The target table, of which every row is an example."""
        return names.table(self.renamed.get(table, table), alias, self.schema)

    def facts(self, table: str, alias: str) -> exp.Table:
        """A table that a literal of a rule looks at."""
        counted = self.counted.get(table)
        return self._uncounted(table, alias) if counted is None else names.table(counted.name, alias)

    def _uncounted(self, table: str, alias: str) -> exp.Table:
        mirror = self.mirrors.get(table)
        return self.examples(table, alias) if mirror is None else names.table(mirror.name, alias)

    def in_both_directions(self) -> Iterator[tuple[str, exp.Query]]:
        """A query for each symmetric relation, by the name that `facts` gives it."""
        from sqlglot import exp

        for table, mirror in self.mirrors.items():
            one, other = mirror.pair
            swapped = {one: other, other: one}
            plain = [names.column("t", name) for name in mirror.columns]
            turned = [names.named(names.column("t", swapped.get(name, name)), name) for name in mirror.columns]
            parts = [
                exp.select(*found, copy=False).from_(self.examples(table, "t"), copy=False) for found in (plain, turned)
            ]
            yield mirror.name, exp.union(*parts, distinct=False, copy=False)

    def with_counts(self) -> Iterator[tuple[str, exp.Query]]:
        """A query for each table with counts, by the name that `facts` gives it."""
        from sqlglot import exp

        for table, counted in self.counted.items():
            counts = [names.named(count.copy(), counted.named[name]) for name, count in counted.counts.items()]
            query = exp.select(names.every_column("t"), *counts, copy=False)
            yield counted.name, query.from_(self._uncounted(table, "t"), copy=False)
