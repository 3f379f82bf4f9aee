"""Conditions on the examples' own rows: one number for each example and column says which of them hold."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hornboost.engine import column_kernels as kernels
from hornboost.engine.column_kernels import SlotNumbers
from hornboost.engine.reach import AT_ONCE, Codes, Longs
from hornboost.engine.threads import shared

if TYPE_CHECKING:
    from hornboost.engine.blocks import Block

LARGE = 200_000
"""Below this many pairs, rows or slots a second thread costs more than it saves."""

FEW = 8
"""Fewer columns than these are summed up as soon by pairs, together with the conditions behind joins."""

MOST = np.iinfo(np.uint16).max
"""SlotNumbers of a column at most."""


class SlotPlaces(NamedTuple):
    """Where the slots of each column begin and all of them end, its first condition, and its thresholds a direction."""

    bases: Longs
    firsts: Longs
    n_thresholds: Longs


@dataclass(frozen=True, eq=False, slots=True)
class OwnColumns:
    """The slot of each example, a row, in each column of a block, and where slots and conditions of a column begin.

    It gives the same sums as the pairs of the block, sooner where there are many examples: of a number there is one
    slot and not two thresholds, and it takes two bytes and not eight.
    """

    slots: SlotNumbers
    places: SlotPlaces

    @classmethod
    def of(cls, block: Block, numeric: NDArray[np.bool_]) -> OwnColumns | None:
        """Those of a block whose examples have one row each; None where one has several, or a column too many values.

        Or where there are few columns. `numeric` says which of the block's attributes are numbers.
        """
        n_examples = block.segment_example.size
        if len(block.attributes) < FEW or n_examples == 0 or block.segment_example[-1] != n_examples - 1:
            return None
        firsts = block.conditions.searchsorted(block.bases)
        n_thresholds = np.zeros(firsts.size, np.int64)
        n_thresholds[numeric] = (block.stops - block.starts)[::2]
        if not np.array_equal(n_thresholds[numeric], (block.stops - block.starts)[1::2]):
            return None
        sizes = np.diff(firsts, append=block.conditions.size) - n_thresholds + 1
        if sizes.max() > MOST:
            return None
        places = SlotPlaces(np.append(0, np.cumsum(sizes)), firsts, n_thresholds)
        slots = np.empty((n_examples, firsts.size), np.uint16)
        return cls(slots, places) if kernels.slots_of(block.segment_end, block.pairs, *places, slots) else None

    @property
    def nbytes(self) -> int:
        return self.slots.nbytes

    def add_weights(
        self,
        weights: Longs,
        covered: NDArray[np.bool_],
        classes: Codes,
        out: Longs,
        pool: Executor | None,
        n_threads: int,
        *,
        whole: bool,
    ) -> None:
        """Add the weight of the covered examples of each condition, by class; of thresholds to all if `whole`."""
        if self._is_small(pool):
            kernels.weigh(self.slots, *self.places, weights, covered, classes, out, whole)
            return

        def add(lo: int, hi: int, table: Longs) -> None:
            kernels.add_weights(lo, hi, self.slots, self.places.bases, weights, covered, classes, table)

        self._add(add, out, pool, n_threads, whole)

    def add_channels(
        self,
        channels: Longs,
        covered: NDArray[np.bool_],
        out: Longs,
        pool: Executor | None,
        n_threads: int,
        *,
        whole: bool,
    ) -> None:
        """Add the signed numbers of the covered examples of each condition, a column a channel."""
        if self._is_small(pool):
            kernels.sum_up(self.slots, *self.places, channels, covered, out, whole)
            return

        def add(lo: int, hi: int, table: Longs) -> None:
            kernels.add_channels(lo, hi, self.slots, self.places.bases, channels, covered, table)

        self._add(add, out, pool, n_threads, whole)

    def _is_small(self, pool: Executor | None) -> bool:
        return self.slots.size < LARGE or (pool is None and self.slots.size <= AT_ONCE)

    def _add(
        self,
        add: Callable[[int, int, Longs], None],
        out: Longs,
        pool: Executor | None,
        n_threads: int,
        whole: bool,
    ) -> None:
        """Add all examples, or part after part of them, the threads taking parts in turn."""
        n_examples, n_columns = self.slots.shape
        tables = [np.zeros((int(self.places.bases[-1]), out.shape[1]), np.int64) for _ in range(n_threads)]
        at_once = n_threads * max(AT_ONCE // n_columns, 1)
        for start in range(0, n_examples, at_once):
            cuts = np.linspace(start, min(start + at_once, n_examples), n_threads + 1).astype(np.int64).tolist()
            shared(pool, add, cuts[:-1], cuts[1:], tables)
        kernels.put(sum(tables[1:], tables[0]), *self.places, out, whole)
