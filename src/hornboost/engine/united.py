"""What partitions tell about the conditions behind a chain of joins, and the one numbering that comes of it."""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from hornboost.dtypes import CODE
from hornboost.engine.ages import Ages
from hornboost.engine.attributes import Attributes
from hornboost.engine.blocks import Block, numbers_of
from hornboost.engine.frontier import Wanted
from hornboost.engine.joins import Chain
from hornboost.engine.needs import Ways
from hornboost.engine.reach import NO_OFFSETS, NO_ROWS, NO_TIMES, Codes, Floats, Longs
from hornboost.engine.tree import Join

Number = TypeVar("Number", bound=np.generic)


class Told(NamedTuple):
    """What is known of a block: how many rows the chain begins with and reaches, join after join, and its conditions.

    `dropped` says whether its closing drops a row. `conditions` are raw numbers, without those on ages, of which the
    distinct values are told.
    """

    counts: tuple[int, ...] = ()
    dropped: bool = False
    conditions: Codes = NO_ROWS
    oldest: Floats = NO_TIMES
    youngest: Floats = NO_TIMES

    @property
    def n_conditions(self) -> int:
        """How many conditions there are, with those on ages."""
        return self.conditions.size + self.oldest.size + self.youngest.size

    def too_many(self, chain: Chain, limits: Ways) -> tuple[tuple[Join, ...], int] | None:
        """The first joins of the chain that reach more rows than they may, and how many."""
        for k, count in enumerate(self.counts):
            most = limits.held if k < len(chain.joins) else limits.reached
            if count > most and (k > 0 or limits.is_strict):
                return chain.joins[: max(k, 1)], count
        return None

    def is_left_out(self, wanted: Wanted, limits: Ways) -> bool:
        """Whether a block is no part of a frontier: its chain reaches too much, or its closing says nothing."""
        closes = bool(wanted.chain.joins and wanted.chain.joins[-1].equal)
        is_idle = closes and not self.dropped and not wanted.even_idle
        return is_idle or self.too_many(wanted.chain, limits) is not None


def told_of(block: Block, dropped: bool, counts: tuple[int, ...]) -> Told:
    """What one partition knows."""
    if block.ages is None:
        return Told(counts, dropped, block.conditions)
    coded = block.conditions[: block.conditions.searchsorted(block.bases[-1])]
    return Told(counts, dropped, coded, block.ages.oldest.low, block.ages.youngest.low)


def united(one: tuple[Told, ...], other: tuple[Told, ...]) -> tuple[Told, ...]:
    """What two partitions, or two groups of them, know together."""
    return tuple(_both(mine, theirs) for mine, theirs in zip(one, other, strict=True))


def _both(one: Told, other: Told) -> Told:
    shorter, longer = sorted((one.counts, other.counts), key=len)
    counts = *(a + b for a, b in zip(shorter, longer, strict=False)), *longer[len(shorter) :]
    return Told(
        counts,
        one.dropped or other.dropped,
        _merged(one.conditions, other.conditions),
        _merged(one.oldest, other.oldest),
        _merged(one.youngest, other.youngest),
    )


def _merged(one: NDArray[Number], other: NDArray[Number]) -> NDArray[Number]:
    if one.size == 0 or other.size == 0:
        return one if other.size == 0 else other
    return one if np.array_equal(one, other) else np.union1d(one, other)


def told_places(told: Told, whole: Told) -> Longs:
    """The number of each condition that some partitions tell of among those that more of them do."""
    coded, oldest = whole.conditions.searchsorted(told.conditions), whole.oldest.size
    at_least = whole.conditions.size + oldest - 1 - whole.oldest.searchsorted(told.oldest[::-1])
    at_most = whole.conditions.size + oldest + whole.youngest.searchsorted(told.youngest)
    return np.concatenate([coded, at_least, at_most])


def numbered(attributes: Attributes, selected: tuple[int, ...], told: Told) -> Block:
    """A block of the conditions that all partitions have together; which example satisfies which is left to them."""
    coded = tuple(k for k in selected if k != attributes.age)
    attributes.codes(coded)
    age = attributes.age if len(coded) < len(selected) else None
    ages = None if age is None else Ages.of(told.oldest, told.youngest, attributes.max_bins)
    shown, bases, edges = numbers_of(attributes.layout(coded), age, ages)
    conditions = told.conditions
    if ages is not None:
        conditions = np.append(conditions, np.arange(bases[-2], bases[-1], dtype=CODE))
    at = conditions.searchsorted(edges)
    starts, stops = at[:, :2].ravel(), at[:, 1:].ravel()
    return Block(NO_ROWS, NO_OFFSETS, NO_ROWS, conditions, starts, stops, shown, bases[:-1], ages)


def renumbered(own: Block, told: Told, whole: Block) -> Block:
    """A partition's own pairs, of which it told, in the numbers of all partitions."""
    is_same = own.ages is None and own.conditions.size == whole.conditions.size
    pairs = own.pairs if is_same else places(told, whole).astype(CODE)[own.pairs]
    return replace(whole, segment_example=own.segment_example, segment_end=own.segment_end, pairs=pairs)


def places(told: Told, whole: Block) -> Longs:
    """The number of each condition that is told of among those of all partitions."""
    coded = whole.conditions.searchsorted(told.conditions)
    if whole.ages is None:
        return coded
    first = whole.conditions.size - int(whole.ages.edges[-1])
    oldest, youngest = whole.ages.oldest, whole.ages.youngest
    at_least = oldest.size - 1 - oldest.number(told.oldest[::-1])
    at_most = oldest.size + youngest.number(told.youngest)
    return np.concatenate([coded, first + at_least, first + at_most])
