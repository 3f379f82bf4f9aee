"""Families: queries that differ in their last condition only, so that one pass over the bindings of what they share
counts a new literal, bare and with each of its conditions, for all of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hornboost.mining import query_kernels as kernels
from hornboost.mining.bindings import Bindings
from hornboost.mining.query import Counts, Query
from hornboost.mining.relation import Relation


@dataclass(frozen=True, eq=False, slots=True)
class Family:
    """Queries that differ in their last condition only and the bindings
    of what they share; or one query and its own.
    """

    queries: list[Query]
    bindings: Bindings
    last: Relation

    @property
    def slots(self) -> kernels.Slots:
        """The place of each query, by its condition on the last literal."""
        slots = np.full(self.last.n_conditions, -1, np.int32)
        if len(self.queries) == 1:
            return kernels.Slots(self.last.rows, slots, 0, 1)
        for slot, query in enumerate(self.queries):
            slots[query.condition] = slot
        whole, slots[0] = int(slots[0]), -1
        return kernels.Slots(self.last.rows, slots, whole, len(self.queries))

    @property
    def shares(self) -> list[float]:
        """About which part of the bindings each query has."""
        return [1.0] if len(self.queries) == 1 else [self.last.share_of(query.condition) for query in self.queries]

    @property
    def general(self) -> Counts:
        """What is known of the query that all of them refine."""
        parent = self.queries[0].parent
        return Counts() if parent is None or parent.counts is None else parent.counts


@dataclass(frozen=True, eq=False, slots=True)
class Frequent:
    """What a pass finds for the queries of a family: the conditions that each reaches, unless nobody will ask, and the
    frequent ones, one query's after the other's from `starts` on; and about how many rows it looked at for each.
    """

    reached: NDArray[np.uint64] | None
    starts: list[int]
    conditions: list[int]
    support: list[list[float]]
    hits: NDArray[np.uint8]
    rows: list[float]
