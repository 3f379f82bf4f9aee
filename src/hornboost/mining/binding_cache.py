"""The bindings of queries, the last ones kept within a bound of memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from hornboost.mining.additions import Addition, Shape
from hornboost.mining.bindings import Bindings
from hornboost.mining.language import Language
from hornboost.mining.limits import Limits
from hornboost.mining.query import Counts, Query


class BindingCache:
    """The bindings of queries, made from those of their parents, and what their literals reach."""

    def __init__(self, language: Language, limits: Limits) -> None:
        self._language = language
        self._limits = limits
        self._kept: OrderedDict[Query | tuple[Query, Addition], Bindings] = OrderedDict()
        self._bytes = 0
        self._reached_bytes = 0

    def remember(self, counts: Counts, shape: Shape, reached: NDArray[np.uint64]) -> None:
        """For more special queries, which reach no more; within the memory bound."""
        if self._bytes + self._reached_bytes + reached.nbytes <= self._limits.cache_bytes:
            counts.reached[shape] = reached
            self._reached_bytes += reached.nbytes

    def forget(self, query: Query | None) -> None:
        """Drop what is known of the literals of a query that nobody refines any more."""
        if query is not None and query.counts is not None:
            self._reached_bytes -= sum(reached.nbytes for reached in query.counts.reached.values())
            query.counts = None

    def bindings(self, query: Query) -> Bindings:
        """The bindings of a query: those of its family that hold its condition, where they are kept,
        otherwise from its parent's.
        """
        if query.parent is not None and not query.condition:
            return self.shared(query)
        return self._cached(query, lambda: self._made(query))

    def shared(self, query: Query) -> Bindings:
        """The bindings of what a family shares: its parent, or its parent and a bare literal."""
        parent, added = query.parent, query.added
        assert parent is not None
        if added is None:
            return self.bindings(parent)
        return self._cached((parent, added), lambda: self._extended(parent, added, 0))

    def _cached(self, key: Query | tuple[Query, Addition], make: Callable[[], Bindings]) -> Bindings:
        """The last bindings are kept within the memory bound, unless a limit has cut them short."""
        known = self._kept.get(key)
        if known is not None:
            self._kept.move_to_end(key)
            return known
        made = make()
        if len(made) <= self._limits.max_bindings:
            self._kept[key] = made
            self._bytes += made.nbytes
            while self._bytes + self._reached_bytes > self._limits.cache_bytes and len(self._kept) > 1:
                self._bytes -= self._kept.popitem(last=False)[1].nbytes
        return made

    def _made(self, query: Query) -> Bindings:
        parent, added = query.parent, query.added
        if parent is None:
            return Bindings.of_examples(self._language.relations[0].keys, self._language.cutoffs)
        if added is not None and (parent, added) not in self._kept:
            return self._extended(parent, added, query.condition)
        shared = self.shared(query)
        relation = self._language.relations[query.body[-1][0]]
        return shared.with_condition(relation.rows, int(relation.attribute[query.condition]), query.condition)

    def _extended(self, query: Query, added: Addition, condition: int) -> Bindings:
        """The bindings that a new literal gives, one more than `max_bindings` at most."""
        before, relation = self.bindings(query), self._language.relations[added.shape[0]]
        return before.extended(
            added.prepared, relation.rows, int(relation.attribute[condition]), condition, self._limits.max_bindings
        )
