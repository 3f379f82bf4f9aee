"""Examples that share a key: what hangs on that key alone is the same for all of them, and is found out once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hornboost.data.table import Column, Table
from hornboost.dtypes import CODE
from hornboost.engine import union_kernels as kernels
from hornboost.engine.joins import Chain
from hornboost.engine.key_kernels import Codes, Longs, Mask
from hornboost.engine.reach import Reach


@dataclass(frozen=True, eq=False, slots=True)
class Holders:
    """The distinct keys of a column of the examples, and which of them each example has.

    Where examples have cutoffs, two of them share a key only if they share the cutoff, too.
    """

    table: Table
    """A row a key, with that column alone."""

    holder: Codes
    """The number of each example's key among the distinct ones."""

    everyone: Mask

    @classmethod
    def of(cls, examples: Table, column: str) -> Holders | None:
        """None where too few examples share a key."""
        codes, times, holder = _distinct(examples, column)
        if 2 * codes.size > examples.n_rows:
            return None
        key = Column(column, "key", codes, domain=examples.columns[column].domain)
        table = Table(examples.name, {column: key}, codes.size, times=times)
        return cls(table, holder.astype(CODE), np.ones(codes.size, np.bool_))

    def __len__(self) -> int:
        return self.table.n_rows

    def sums(self, channels: Longs, covered: Mask) -> Longs:
        """The sums of signed numbers, a column a channel, over the covered examples with each key."""
        return kernels.sums_by_holder(self.holder, len(self), channels, covered)

    def weights(self, weights: Longs, classes: Codes, n_classes: int) -> Longs:
        """The weight of the examples with each key, by class."""
        return kernels.weights_by_holder(self.holder, len(self), weights, classes, n_classes)


def _distinct(examples: Table, column: str) -> tuple[Codes, Column | None, NDArray[np.intp]]:
    """The distinct keys of a column, with the distinct cutoffs at which examples have them, and which each has."""
    codes, cutoffs = examples.columns[column].codes, examples.times
    if cutoffs is None:
        found, holder = np.unique(codes, return_inverse=True)
        return found, None, holder
    moments, moment = np.unique(cutoffs.numbers, return_inverse=True)
    both, holder = np.unique((codes.astype(np.int64) + 1) * moments.size + moment, return_inverse=True)
    return (both // moments.size - 1).astype(CODE), cutoffs.holding(moments[both % moments.size]), holder


def n_reached(reach: Reach, holders: Holders | None) -> int:
    """How many rows a join reaches from all examples, followed from their distinct keys where there are holders."""
    if holders is None:
        return reach.count_rows()
    lengths = kernels.reached_by_entry(reach.codes, reach.offsets, reach.stops)
    return int(lengths @ np.bincount(holders.holder, minlength=len(holders))[reach.example])


def root_columns(chain: Chain) -> set[str]:
    """The key columns of the root that a chain is joined with."""
    refs = [ref for join in chain.joins for ref in (join.source, *(ref for _, ref in (*join.equal, *join.unequal)))]
    return {ref.column for ref in refs if ref is not None and ref.node == 0}
