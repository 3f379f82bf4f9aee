"""Blocks: which example satisfies which condition behind one join,
learned in one pass and kept for every later weighting.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, replace
from itertools import accumulate

import numpy as np
from numpy.typing import NDArray

from hornboost.dtypes import CODE, WEIGHT
from hornboost.engine import pair_kernels as kernels
from hornboost.engine import union_kernels
from hornboost.engine.ages import NO_AGES, Ages, ages_behind
from hornboost.engine.attributes import Inputs, Layout
from hornboost.engine.closing import closable
from hornboost.engine.columns import LARGE, OwnColumns
from hornboost.engine.holders import Holders
from hornboost.engine.reach import AT_ONCE, Codes, Floats, Longs, Reach
from hornboost.engine.threads import shared

SHORT = 4
"""Segments of fewer pairs than this on average are put together by example: looking them up is what takes time."""

SHARED = 2.0
"""Entries that share a key, on average by its rows, from which on it pays to look at keys first."""

Built = tuple[Codes, Codes, Longs, bool]
"""Part of a block: pairs, the example of each segment, where its pairs end, and whether a constraint dropped a row."""

Held = dict[int, Longs]
"""Sums by key, for each of the holders."""

Numbering = tuple[Codes, Longs, Longs, NDArray[np.bool_], Longs, Longs, Longs, Floats, Codes]


@dataclass(frozen=True, eq=False, slots=True)
class Block:
    """(example, condition) pairs by segment; where there are `holders`, (key, condition) pairs.

    `conditions` are the raw numbers of `kernels.build_pairs`, in rising order.

    `starts` and `stops` are the ranges of conditions that are thresholds of one attribute in one direction.
    """

    segment_example: Codes
    segment_end: Longs
    pairs: Codes
    conditions: Codes
    starts: Longs
    stops: Longs
    attributes: tuple[int, ...]
    bases: Longs
    ages: Ages | None = None
    """The conditions on the last of the attributes, if that is the age of the rows."""
    holders: Holders | None = None
    """Which examples have which key, where the segments are those of keys."""

    @property
    def nbytes(self) -> int:
        held = self.pairs.nbytes + self.segment_end.nbytes + self.segment_example.nbytes + self.conditions.nbytes
        return held + (0 if self.ages is None else self.ages.nbytes)

    def locate(self, condition: int) -> tuple[int, int]:
        """The attribute and the offset from its base of a condition; attribute -1 is the bare literal."""
        raw = int(self.conditions[condition])
        if raw == 0:
            return -1, 0
        k = int(self.bases.searchsorted(raw, side="right")) - 1
        return self.attributes[k], raw - int(self.bases[k])


def build_block(
    reach: Reach, inputs: Inputs, bare: bool, pool: Executor | None, n_threads: int, dropped: bool = False
) -> Block | None:
    """The block behind a join; None when the constraints of the join say nothing (they drop no row).

    `inputs` are in the order of the join's index; `dropped` says whether rows were dropped before.
    """
    block, drops = pass_over(reach, inputs, bare, pool, n_threads)
    return None if reach.equal_columns.shape[0] > 0 and not (drops or dropped) else block


def pass_over(reach: Reach, inputs: Inputs, bare: bool, pool: Executor | None, n_threads: int) -> tuple[Block, bool]:
    """One pass over the rows behind a join: its block, and whether the constraints of the join drop a row.

    Where entries share their keys, the rows behind each key are looked at once and not once an entry; where it closes
    on a second key, only those behind entries for which some row may have both.
    """
    width = max(inputs.layout.selected.size, 1)
    reach, dropped = closable(reach)
    is_large = max(reach.example.size, reach.order.size) * width >= LARGE or len(reach.cuts(width)) > 2
    if reach.is_told_by_key and inputs.age is None and inputs.late.size == 0:
        keys = _shared_keys(reach, width)
        if keys is not None:
            of_keys = Reach(keys, keys, reach.offsets, reach.order)
            block, _ = _passed(of_keys, inputs, bare, is_large, pool, n_threads)
            return united_keys(reach, block, pool, n_threads), False
    block, drops = _passed(reach, inputs, bare, is_large, pool, n_threads)
    return block, drops or dropped


def _shared_keys(reach: Reach, width: int) -> Codes | None:
    """The keys that a join leads over; None where few entries share them, or there is little to look at."""
    n_rows = reach.count_rows()
    most = n_rows / SHARED
    if n_rows * width < LARGE or reach.offsets.size > most:
        return None
    keys, n_own = union_kernels.reached_keys(reach.codes, reach.offsets)
    return keys if n_own <= most else None


def _passed(
    reach: Reach, inputs: Inputs, bare: bool, is_large: bool, pool: Executor | None, n_threads: int
) -> tuple[Block, bool]:
    layout = inputs.layout
    ages, own_ages = None, NO_AGES
    if inputs.age is not None:
        ages, own_ages = ages_behind(reach, inputs.times, inputs.max_bins)
    attributes, bases, edges = numbers_of(layout, inputs.age, ages)
    numbering = (
        *(inputs.codes, layout.selected, layout.sizes, layout.numeric, bases, layout.stamp_bases),
        *(inputs.late, inputs.dates, own_ages),
    )
    if is_large:
        built = _build_in_parts(reach, numbering, bare, pool, n_threads)
    else:
        built = kernels.build_block(bare, *reach, *numbering)
    pairs, segment_example, segment_end, conditions, dropped = built
    at = conditions.searchsorted(edges)
    starts, stops = at[:, :2].ravel(), at[:, 1:].ravel()
    return Block(segment_example, segment_end, pairs, conditions, starts, stops, attributes, bases[:-1], ages), dropped


def united_keys(reach: Reach, of_keys: Block, pool: Executor | None, n_threads: int) -> Block:
    """The block behind a join from entries, by that of the keys it leads over: their unions, example by example."""
    sizes = np.zeros(reach.offsets.size, np.int64)
    sizes[of_keys.segment_example + 1] = np.diff(of_keys.segment_end, prepend=0)
    reach = reach._replace(offsets=np.cumsum(sizes), order=of_keys.pairs)
    threshold = np.full(of_keys.conditions.size, -1, CODE)
    for k, (start, stop) in enumerate(zip(of_keys.starts, of_keys.stops, strict=True)):
        threshold[start:stop] = k

    def build(lo: int, hi: int) -> Built:
        return union_kernels.united(
            lo, hi, reach.example, reach.codes, reach.offsets, reach.order, threshold, of_keys.starts.size
        )

    cuts = reach.cuts(1, n_threads)
    pairs, segment_example, segment_end, conditions, _ = _in_parts(build, cuts, threshold.size, pool)
    starts, stops = conditions.searchsorted([of_keys.starts, of_keys.stops])
    return replace(
        of_keys,
        segment_example=segment_example,
        segment_end=segment_end,
        pairs=pairs,
        conditions=of_keys.conditions[conditions],
        starts=starts,
        stops=stops,
    )


def numbers_of(layout: Layout, age: int | None, ages: Ages | None) -> tuple[tuple[int, ...], Longs, Longs]:
    """The attributes of a block, where the conditions on each begin and all of them end, and the edges of thresholds.

    The age comes last, where it is asked for.
    """
    if age is None or ages is None:
        return layout.attributes, layout.bases, layout.edges
    within = ages.edges + layout.bases[-1]
    return (*layout.attributes, age), np.append(layout.bases, within[-1]), np.vstack([layout.edges, within])


def _build_in_parts(
    reach: Reach, numbering: Numbering, bare: bool, pool: Executor | None, n_threads: int
) -> tuple[Codes, Codes, Longs, Codes, bool]:
    """What `kernels.build_block` returns, the threads taking parts of the examples in turn.

    Large arrays come from numpy, which asks the system for large pages: page faults would cost as much as the work.
    """
    sizes, numeric = numbering[2], numbering[3]

    def build(lo: int, hi: int) -> Built:
        size, *bounds = kernels.capacity(lo, hi, reach.example, reach.codes, reach.offsets, reach.stops, sizes, numeric)
        buffer = np.empty(size, CODE)
        n_pairs, segment_example, segment_end, dropped = kernels.build_pairs(
            lo, hi, bare, *reach, *numbering, buffer, *bounds
        )
        return buffer[:n_pairs], segment_example, segment_end, dropped

    return _in_parts(build, reach.cuts(max(sizes.size, 1), n_threads), int(numbering[4][-1]), pool)


def _in_parts(
    build: Callable[[int, int], Built], cuts: Sequence[int], n_conditions: int, pool: Executor | None
) -> tuple[Codes, Codes, Longs, Codes, bool]:
    """Parts of a block put together, with the conditions that occur in any of them, by which pairs are numbered."""
    present = np.zeros(n_conditions, np.bool_)

    def marked(lo: int, hi: int) -> Built:
        part = build(lo, hi)
        kernels.mark(part[0], present)
        return part

    parts = shared(pool, marked, cuts[:-1], cuts[1:])
    conditions, number = kernels.number_marked(present)
    shifts = running(part[0].size for part in parts).tolist()
    pairs = np.empty(shifts[-1], CODE)

    def place(part: Built, lo: int, hi: int) -> Longs:
        kernels.renumber(part[0], number, pairs[lo:hi])
        return part[2] + lo

    segment_end = np.concatenate(shared(pool, place, parts, shifts[:-1], shifts[1:]))
    segment_example = np.concatenate([part[1] for part in parts])
    return pairs, segment_example, segment_end, conditions, any(part[3] for part in parts)


@dataclass(frozen=True, eq=False, slots=True)
class Pairs:
    """The pairs of one or more blocks of a group, ready to be weighted.

    Conditions are numbered as in the group, from the first one of these blocks on, which is number `first` there.
    """

    segment_example: Codes
    segment_start: Longs
    pairs: Codes
    starts: Longs
    stops: Longs
    n_conditions: int
    first: int = 0
    holders: Holders | None = None
    columns: OwnColumns | None = None
    """The same for a single block of conditions on the examples' own rows: sooner summed up."""

    @classmethod
    def of(cls, blocks: Sequence[Block], places: Sequence[int] = (0,), columns: OwnColumns | None = None) -> Pairs:
        """The blocks' segments one after the other, or by example; a single block's arrays are shared, not copied.

        All of them have the same holders, or none. `places` is where the conditions of each begin in the group.
        """
        first, holders = places[0], blocks[0].holders
        n_conditions = places[-1] - first + blocks[-1].conditions.size
        if len(blocks) == 1:
            only = blocks[0]
            segment_start = np.zeros(only.segment_end.size + 1, np.int64)
            segment_start[1:] = only.segment_end
            ranges = only.starts, only.stops
            return cls(only.segment_example, segment_start, only.pairs, *ranges, n_conditions, first, holders, columns)
        n_pairs = [block.pairs.size for block in blocks]
        shifts = np.array(places, np.int64) - first
        pairs = np.concatenate([block.pairs for block in blocks])
        pairs += np.repeat(shifts.astype(CODE), n_pairs)
        segment_start = np.zeros(sum(block.segment_end.size for block in blocks) + 1, np.int64)
        np.concatenate([block.segment_end for block in blocks], out=segment_start[1:])
        segment_start[1:] += np.repeat(running(n_pairs[:-1]), [block.segment_end.size for block in blocks])
        segment_example = np.concatenate([block.segment_example for block in blocks])
        if pairs.size < SHORT * segment_example.size:
            n_examples = int(segment_example.max()) + 1
            segment_example, segment_start, pairs = kernels.by_example(
                segment_example, segment_start, pairs, n_examples
            )
        n_ranges = [block.starts.size for block in blocks]
        return cls(
            segment_example,
            segment_start,
            pairs,
            np.concatenate([block.starts for block in blocks]) + np.repeat(shifts, n_ranges),
            np.concatenate([block.stops for block in blocks]) + np.repeat(shifts, n_ranges),
            n_conditions,
            first,
            holders,
        )

    def own(self, table: Longs, start: int = 0) -> Longs:
        """The rows of a table from the first condition of these pairs to the last, where the group begins at `start`.

        Other pairs of the group may have conditions between them.
        """
        return table[start + self.first : start + self.first + self.n_conditions]

    @property
    def nbytes(self) -> int:
        held = self.pairs.nbytes + self.segment_start.nbytes + self.segment_example.nbytes
        return held + (0 if self.columns is None else self.columns.nbytes)

    def score(
        self,
        weights: Longs,
        covered: NDArray[np.bool_],
        classes: Codes,
        out: Longs,
        pool: Executor | None,
        n_threads: int,
    ) -> None:
        """Write the weight of the covered examples of each condition, by class, into `out`, which is zero there."""
        if self.columns is not None:
            self.columns.add_weights(weights, covered, classes, out, pool, n_threads, whole=True)
            return
        if self._is_small(pool) and self.holders is None:
            kernels.weigh(
                *(self.segment_example, self.segment_start, self.pairs, self.starts, self.stops),
                *(weights, covered, classes, out),
            )
            return
        self.add_weights(weights, covered, classes, out, pool, n_threads)
        kernels.cumulate(out, self.starts, self.stops)

    def sum_channels(
        self,
        channels: Longs,
        covered: NDArray[np.bool_],
        out: Longs,
        pool: Executor | None,
        n_threads: int,
        held: Held | None = None,
    ) -> None:
        """Write the sums of signed numbers, a column a channel, over each condition's examples into `out`.

        Only covered examples count, and `out` must be zero at these conditions.
        """
        if self.columns is not None:
            self.columns.add_channels(channels, covered, out, pool, n_threads, whole=True)
            return
        if self._is_small(pool):
            channels, covered = self._by_holder(channels, covered, held)
            kernels.sum_up(
                *(self.segment_example, self.segment_start, self.pairs, self.starts, self.stops),
                *(channels, covered, out),
            )
            return
        self.add_channels(channels, covered, out, pool, n_threads, held)
        kernels.cumulate(out, self.starts, self.stops)

    def add_weights(
        self,
        weights: Longs,
        covered: NDArray[np.bool_],
        classes: Codes,
        out: Longs,
        pool: Executor | None,
        n_threads: int,
    ) -> None:
        """Add the weight of each covered example to `out`, of thresholds to the tightest one alone."""
        if self.columns is not None:
            self.columns.add_weights(weights, covered, classes, out, pool, n_threads, whole=False)
            return
        if self.holders is not None:
            held = self.holders.weights(np.where(covered, weights, 0), classes, out.shape[1])

            def add_held(lo: int, hi: int, into: Longs) -> None:
                union_kernels.histogram(lo, hi, self.segment_example, self.segment_start, self.pairs, held, into)

            self._add(add_held, out, pool, n_threads)
            return

        def add(lo: int, hi: int, into: Longs) -> None:
            kernels.histogram(
                lo, hi, self.segment_example, self.segment_start, self.pairs, weights, covered, classes, into
            )

        self._add(add, out, pool, n_threads)

    def add_channels(
        self,
        channels: Longs,
        covered: NDArray[np.bool_],
        out: Longs,
        pool: Executor | None,
        n_threads: int,
        held: Held | None = None,
    ) -> None:
        """Add the numbers of each covered example to `out`, of thresholds to the tightest one alone."""
        if self.columns is not None:
            self.columns.add_channels(channels, covered, out, pool, n_threads, whole=False)
            return
        self._add_channels(*self._by_holder(channels, covered, held), out, pool, n_threads)

    def _by_holder(
        self, channels: Longs, covered: NDArray[np.bool_], held: Held | None
    ) -> tuple[Longs, NDArray[np.bool_]]:
        """The numbers of the examples or, where segments are those of keys, their sums by key; and which count.

        `held` has the sums by key that were asked for before, of the same numbers and examples.
        """
        if self.holders is None:
            return channels, covered
        known = None if held is None else held.get(id(self.holders))
        if known is None:
            known = self.holders.sums(channels, covered)
            if held is not None:
                held[id(self.holders)] = known
        return known, self.holders.everyone

    def _add_channels(
        self, channels: Longs, covered: NDArray[np.bool_], out: Longs, pool: Executor | None, n_threads: int
    ) -> None:
        def add(lo: int, hi: int, into: Longs) -> None:
            kernels.channel_sums(lo, hi, self.segment_example, self.segment_start, self.pairs, channels, covered, into)

        self._add(add, out, pool, n_threads)

    def _is_small(self, pool: Executor | None) -> bool:
        return self.pairs.size < LARGE or (pool is None and self.pairs.size <= AT_ONCE)

    def _add(self, add: Callable[[int, int, Longs], None], out: Longs, pool: Executor | None, n_threads: int) -> None:
        """Add all segments, or part after part of them, the threads taking parts in turn."""
        if self._is_small(pool):
            add(0, self.segment_example.size, out)
            return
        for start in range(0, self.pairs.size, n_threads * AT_ONCE):
            stop = min(start + n_threads * AT_ONCE, self.pairs.size)
            cuts = self._segments_at(np.linspace(start, stop, n_threads + 1).astype(np.int64))
            sums = [out, *(np.zeros_like(out) for _ in range(n_threads - 1))]
            shared(pool, add, cuts[:-1], cuts[1:], sums)
            for other in sums[1:]:
                out += other

    def _segments_at(self, pairs: Longs) -> list[int]:
        """The segments that begin at, or next after, some of the pairs; all of them lie before the last pair.

        The pairs are integers as the starts are: numpy would turn all of these into doubles otherwise.
        """
        n = self.segment_example.size
        cuts = np.searchsorted(self.segment_start, pairs).clip(0, n)
        cuts[pairs >= self.pairs.size] = n
        return list(cuts.tolist())


def zeros(n_conditions: int, n_classes: int) -> Longs:
    """An empty table of weights by condition and class."""
    return np.zeros((n_conditions, n_classes), WEIGHT)


def running(sizes: Iterable[int]) -> Longs:
    """Zero, and the sums of the sizes so far."""
    return np.array([0, *accumulate(sizes)], np.int64)
