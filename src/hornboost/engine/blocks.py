"""Blocks: which example satisfies which condition behind one join, learned in one pass and kept for every later weighting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from hornboost.dtypes import CODE, WEIGHT
from hornboost.engine import kernels
from hornboost.engine.attributes import Attributes
from hornboost.engine.tree import NO_CODES, Codes

PARALLEL_PAIRS = 200_000
"""Below this many pairs or entries a second thread costs more than it saves."""


class Reach(NamedTuple):
    """From which entries a join leads to which rows: the input of one pass.

    `codes` is the key code of each entry and `offsets`/`order` the index of the joined column; without a join, `offsets` is
    empty and `codes` are the entries' own rows. The matrices hold, a row a constraint, a column of the table and what it
    must (or must not) equal for each entry.
    """

    example: Codes
    codes: Codes
    offsets: NDArray[np.int64]
    order: Codes
    equal_columns: Codes = NO_CODES
    equal_codes: Codes = NO_CODES
    unequal_columns: Codes = NO_CODES
    unequal_codes: Codes = NO_CODES


@dataclass(frozen=True, eq=False, slots=True)
class Block:
    """(example, condition) pairs by segment; `conditions` are the raw numbers of `kernels.build_pairs`, in rising order."""

    segment_example: Codes
    segment_start: NDArray[np.int64]
    pairs: Codes
    conditions: Codes
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    attributes: tuple[int, ...]
    bases: NDArray[np.int64]

    @property
    def nbytes(self) -> int:
        return int(self.pairs.nbytes + self.segment_start.nbytes + self.segment_example.nbytes + self.conditions.nbytes)

    def locate(self, condition: int) -> tuple[int, int]:
        """The attribute and the offset from its base of a condition; attribute -1 is the bare literal."""
        raw = int(self.conditions[condition])
        if raw == 0:
            return -1, 0
        k = int(np.searchsorted(self.bases, raw, side="right")) - 1
        return self.attributes[k], raw - int(self.bases[k])


def build_block(reach: Reach, attributes: Attributes, selected: Sequence[int], bare: bool, pool: Executor | None, n_threads: int) -> Block | None:
    """One pass over the rows behind a join; None when the constraints of the join say nothing (they drop no row)."""
    codes = attributes.codes(selected)
    chosen = np.asarray(selected, np.int64)
    sizes = attributes.sizes[chosen]
    numeric = attributes.numeric[chosen]
    widths = np.where(numeric, 2 * sizes, sizes) + 1
    bases = 1 + np.concatenate([np.zeros(1, np.int64), np.cumsum(widths)])
    stamp_sizes = np.where(numeric, 0, sizes)
    stamp_bases = np.concatenate([np.zeros(1, np.int64), np.cumsum(stamp_sizes)])
    n_entries = reach.example.size

    def part(lo: int, hi: int) -> tuple[Codes, Codes, NDArray[np.int64], bool]:
        capacity, segments, longest = kernels.pair_capacity(lo, hi, reach.example, reach.codes, reach.offsets, sizes, numeric)
        pairs = np.empty(capacity, CODE)
        segment_example = np.empty(segments, CODE)
        segment_end = np.empty(segments, np.int64)
        n_pairs, n_segments, dropped = kernels.build_pairs(
            lo,
            hi,
            bare,
            reach.example,
            reach.codes,
            reach.offsets,
            reach.order,
            reach.equal_columns,
            reach.equal_codes,
            reach.unequal_columns,
            reach.unequal_codes,
            codes,
            chosen,
            sizes,
            numeric,
            bases,
            stamp_bases,
            np.full(stamp_bases[-1], -1, CODE),
            np.full(max(reach.offsets.size - 1, 0), -1, CODE),
            pairs,
            segment_example,
            segment_end,
            np.empty(longest, CODE),
        )
        return pairs[:n_pairs], segment_example[:n_segments], segment_end[:n_segments], dropped

    if pool is None or n_entries * max(len(selected), 1) < PARALLEL_PAIRS and reach.order.size < PARALLEL_PAIRS:
        parts = [part(0, n_entries)]
    else:
        cuts = example_cuts(reach.example, 2 * n_threads)
        parts = list(pool.map(part, cuts[:-1], cuts[1:]))
    constrained = reach.equal_columns.shape[0] > 0
    if constrained and not any(dropped for *_, dropped in parts):
        return None
    return _assemble(parts, chosen, sizes, numeric, bases)


def _assemble(
    parts: Sequence[tuple[Codes, Codes, NDArray[np.int64], bool]],
    chosen: NDArray[np.int64],
    sizes: NDArray[np.int64],
    numeric: NDArray[np.bool_],
    bases: NDArray[np.int64],
) -> Block:
    if len(parts) == 1:
        pairs, segment_example, ends, _ = parts[0]
        pairs, segment_example = _trimmed(pairs), _trimmed(segment_example)
    else:
        pairs = np.concatenate([p for p, *_ in parts])
        segment_example = np.concatenate([e for _, e, *_ in parts])
        shifts = np.cumsum([0] + [p.size for p, *_ in parts])
        ends = np.concatenate([end + shift for (_, _, end, _), shift in zip(parts, shifts[:-1], strict=True)])
    segment_start = np.empty(segment_example.size + 1, np.int64)
    segment_start[0] = 0
    segment_start[1:] = ends
    conditions = kernels.compress(pairs, int(bases[-1]))
    edges = np.stack([bases[:-1], bases[:-1] + sizes, bases[:-1] + 2 * sizes], axis=1)[numeric]
    at = np.searchsorted(conditions, edges)
    return Block(
        segment_example,
        segment_start,
        pairs,
        conditions,
        np.ascontiguousarray(at[:, :2].ravel()),
        np.ascontiguousarray(at[:, 1:].ravel()),
        tuple(int(k) for k in chosen),
        bases[:-1],
    )


def _trimmed(array: Codes) -> Codes:
    """A copy when much of the buffer behind a slice is unused, so that the cache holds what it says."""
    base = array.base
    return array.copy() if base is None or base.size > 1.2 * array.size or array.size < 100_000 else array


def example_cuts(example: Codes, n_parts: int) -> list[int]:
    """Bounds of about equal parts of the entries, none of which cuts an example in two."""
    cuts = [0]
    for part in range(1, n_parts):
        at = part * example.size // n_parts
        at = int(np.searchsorted(example, example[at], side="left")) if at < example.size else example.size
        cuts.append(max(at, cuts[-1]))
    return [*cuts, int(example.size)]


@dataclass(frozen=True, eq=False, slots=True)
class Pairs:
    """Pairs of one or more blocks, ready to be weighted: a list of conditions per segment."""

    segment_example: Codes
    segment_start: NDArray[np.int64]
    pairs: Codes
    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    n_conditions: int

    def score(
        self, weights: NDArray[np.int64], classes: Codes, out: NDArray[np.int64], pool: Executor | None, n_threads: int
    ) -> None:
        """Write the weight of each condition by class into `out`, which must be zero."""
        n = self.segment_example.size
        if pool is None or self.pairs.size < PARALLEL_PAIRS:
            kernels.histogram(0, n, self.segment_example, self.segment_start, self.pairs, weights, classes, out)
        else:
            targets = np.linspace(0, self.pairs.size, n_threads + 1)
            cuts = np.searchsorted(self.segment_start, targets).clip(0, n)
            cuts[0], cuts[-1] = 0, n
            sums = [out, *(np.zeros_like(out) for _ in range(n_threads - 1))]
            run: Callable[[int, int, NDArray[np.int64]], None] = lambda lo, hi, into: kernels.histogram(  # noqa: E731
                lo, hi, self.segment_example, self.segment_start, self.pairs, weights, classes, into
            )
            list(pool.map(run, cuts[:-1], cuts[1:], sums))
            for other in sums[1:]:
                out += other
        kernels.cumulate(out, self.starts, self.stops)


def merge(blocks: Sequence[Block], n_examples: int) -> Pairs:
    """Several blocks as one list of pairs per example; the conditions are numbered block after block."""
    shifts = np.cumsum([0] + [block.conditions.size for block in blocks])
    starts = np.concatenate([block.starts + shift for block, shift in zip(blocks, shifts, strict=False)] or [np.zeros(0, np.int64)])
    stops = np.concatenate([block.stops + shift for block, shift in zip(blocks, shifts, strict=False)] or [np.zeros(0, np.int64)])
    if len(blocks) == 1:
        only = blocks[0]
        return Pairs(only.segment_example, only.segment_start, only.pairs, starts, stops, int(shifts[-1]))
    counts = np.zeros(n_examples + 1, np.int64)
    for block in blocks:
        kernels.count_pairs(block.segment_example, block.segment_start, counts)
    start = np.cumsum(counts)
    fill = start[:-1].copy()
    merged = np.empty(int(start[-1]), CODE)
    for block, shift in zip(blocks, shifts, strict=False):
        kernels.merge_pairs(block.segment_example, block.segment_start, block.pairs, int(shift), fill, merged)
    return Pairs(np.arange(n_examples, dtype=CODE), start, merged, starts, stops, int(shifts[-1]))


def zeros(n_conditions: int, n_classes: int) -> NDArray[np.int64]:
    """An empty table of weights by condition and class."""
    return np.zeros((n_conditions, n_classes), WEIGHT)
