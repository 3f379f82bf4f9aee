"""Which literals may be added to a clause.

Joins over key columns of one domain, with look-ahead and closing variables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hornboost.data.table import Table
from hornboost.engine.facts import Facts
from hornboost.engine.state import State
from hornboost.engine.tree import Join, Ref, Spec
from hornboost.logic.aggregate import Aggregate

FIRST_NEW = -1
"""Number of the first literal of a chain that is not yet in the tree; the next is one less."""

MAX_PATHS = 10_000
"""Paths whose chains are remembered; there are few of them unless clauses grow deep."""


@dataclass(frozen=True, slots=True)
class Visible:
    """The attributes that a learner may look at, the tables it may join to reach them, and how far it may go.

    `aggregates` says whether it sees those of the examples, `negations` whether it may exclude single values of their
    nominal columns.
    """

    attributes: frozenset[tuple[str, str]]
    tables: frozenset[str]
    max_depth: int | None = None
    aggregates: bool = False
    negations: bool = False

    def shows(self, specs: Sequence[Spec]) -> bool:
        """Whether all conditions of a clause are on what is in sight."""
        return all(
            self.aggregates if isinstance(test.column, Aggregate) else (spec.table, test.column) in self.attributes
            for spec in specs
            for test in spec.tests
        )


@dataclass(frozen=True, slots=True)
class Chain:
    """Literals that are added together below one node: the last one carries the test, those before it lead there."""

    node: int
    joins: tuple[Join, ...]

    @property
    def table(self) -> str:
        return self.joins[-1].table


class JoinGraph:
    """The joins between the tables of a database, and those that say nothing new."""

    def __init__(self, facts: Facts, root: Table) -> None:
        self.facts = facts
        self.tables = facts.tables
        self.root = root
        self._by_domain: dict[str, list[tuple[str, str]]] = {}
        for table in self.tables.values():
            if table.name == root.name and not table.attributes and table.times is None:
                continue  # other rows of a target without attributes or ages tell nothing
            for column in table.keys:
                self._by_domain.setdefault(column.domain or "", []).append((table.name, column.name))
        self._chains: dict[tuple[Any, ...], tuple[Chain, ...]] = {}

    @classmethod
    def of(cls, facts: Facts, root: Table) -> JoinGraph:
        """The joins from examples with the keys of these, which all engines over such examples share."""
        at = root.name, tuple((column.name, column.domain) for column in root.keys)
        found = facts.graphs.get(at)
        if found is None:
            found = facts.graphs.setdefault(at, cls(facts, root.take(slice(0))))
        return found

    def chains(
        self, state: State, node: int, visible: Visible | None, max_depth: int, look_ahead: int
    ) -> tuple[Chain, ...]:
        """Every chain of at most `look_ahead` literals that starts from a variable of the node, shorter ones first.

        A third literal, and further ones, lead to tables only that no shorter chain from the node reaches.
        """
        if visible is not None and visible.max_depth is not None:
            max_depth = min(max_depth, visible.max_depth)
        room = min(look_ahead, max_depth - state.depth(node))
        tables = None if visible is None else visible.tables
        key = (room, tables, *((k, state.specs[k].table, state.specs[k].join) for k in state.path(node)))
        found = self._chains.get(key)
        if found is None:
            if len(self._chains) >= MAX_PATHS:
                self._chains.clear()
            found = self._chains[key] = tuple(self._enumerate(state, node, visible, room))
        return found

    def _enumerate(self, state: State, node: int, visible: Visible | None, room: int) -> Iterator[Chain]:
        if room < 1:
            return
        spec = state.specs[node]
        singles = [
            join
            for column in self._own_columns(spec, node == 0)
            for join in self.joins(spec.table, Ref(node, column), node == 0)
        ]
        singles = [join for join in singles if visible is None or join.table in visible.tables]
        for join in singles:
            yield Chain(node, (join,))
            for closed in self._closings(state, node, join, spec):
                yield Chain(node, (closed,))
        if room < 2:
            return
        pairs: list[tuple[Join, ...]] = []
        for first in singles:
            for second in self._next((first,), visible):
                if not self._is_detour(first, second):
                    pairs.append((first, second))
                    yield Chain(node, (first, second))
                for closed in self._closings(state, node, second, None, barred=first.source):
                    yield Chain(node, (first, closed))
        near = {spec.table, *(join.table for join in singles), *(joins[-1].table for joins in pairs)}
        yield from self._far(node, pairs, near, visible, room)

    def _far(
        self, node: int, chains: list[tuple[Join, ...]], near: set[str], visible: Visible | None, room: int
    ) -> Iterator[Chain]:
        """Chains of more than two literals, to tables that are not near."""
        for _ in range(2, room):
            chains = [
                (*joins, join) for joins in chains for join in self._next(joins, visible) if join.table not in near
            ]
            near = near | {joins[-1].table for joins in chains}
            yield from (Chain(node, joins) for joins in chains)

    def _next(self, joins: tuple[Join, ...], visible: Visible | None) -> Iterator[Join]:
        """The literals that share one variable with the last of a chain."""
        last, number = joins[-1], FIRST_NEW - (len(joins) - 1)
        for column in self._own_columns(Spec(last.table, 0, last), False):
            for join in self.joins(last.table, Ref(number, column), False):
                if visible is None or join.table in visible.tables:
                    yield join

    def distances(self) -> dict[str, int]:
        """How many joins away from an example each table is that can be reached at all."""
        found: dict[str, int] = {}
        ends = [
            join.table for column in self.root.keys for join in self.joins(self.root.name, Ref(0, column.name), True)
        ]
        distance = 1
        while ends:
            new = [table for table in dict.fromkeys(ends) if table not in found]
            found |= dict.fromkeys(new, distance)
            ends = [
                join.table
                for table in new
                for column in self.tables[table].keys
                for join in self.joins(table, Ref(0, column.name), False)
            ]
            distance += 1
        return found

    def _own_columns(self, spec: Spec, is_root: bool) -> list[str]:
        """The key columns of a node that are variables of their own, not joined with an ancestor's."""
        table = self.root if is_root else self.tables[spec.table]
        bound = {spec.join.column, *(column for column, _ in spec.join.equal)} if spec.join else set()
        return [column.name for column in table.keys if column.name not in bound]

    def joins(self, table: str, source: Ref, is_root: bool) -> Iterator[Join]:
        """The literals that share one variable with a row of a table, in schema order."""
        domain = (self.root if is_root else self.tables[table]).columns[source.column].domain
        for other, column in self._by_domain.get(domain or "", []):
            same_row = other == table and column == source.column and self.facts.is_unique(other, column)
            if not same_row:
                yield Join(other, column, source)

    def _closings(
        self, state: State, node: int, join: Join, source: Spec | None, barred: Ref | None = None
    ) -> Iterator[Join]:
        """The same join with one more key of the literal equal to another variable on the path."""
        for column in self.tables[join.table].keys:
            if column.name == join.column:
                continue
            for k in state.path(node):
                spec = state.specs[k]
                for own in self._own_columns(spec, k == 0):
                    variable = Ref(k, own)
                    table = self.root if k == 0 else self.tables[spec.table]
                    if variable in (join.source, barred) or table.columns[own].domain != column.domain:
                        continue
                    if source is not None and self._is_implied(source, join, column.name, variable):
                        continue
                    yield replace(join, equal=((column.name, variable),))

    def _is_implied(self, source: Spec, join: Join, column: str, variable: Ref) -> bool:
        """Whether the source's row carries the variable itself, and the data make the joined rows carry it too."""
        assert join.source is not None
        if source.join is None or source.join.source != variable:
            return False
        return self.facts.determines(
            source.table, join.source.column, source.join.column, join.table, join.column, column
        )

    def _is_detour(self, first: Join, second: Join) -> bool:
        """Whether the second literal's rows are those that a direct join with the first one's source reaches."""
        assert second.source is not None
        domain = self.tables[first.table].columns[first.column].domain
        return any(
            column.domain == domain
            and column.name != second.column
            and self.facts.determines(
                first.table, second.source.column, first.column, second.table, second.column, column.name
            )
            for column in self.tables[second.table].keys
        )
