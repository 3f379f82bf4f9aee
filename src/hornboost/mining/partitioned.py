"""Queries over examples that lie in partitions: counted there, and added up; what they cover comes back as bits."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hornboost.engine.part import Part, Setup, new_token
from hornboost.engine.parts import Handle, PerPart
from hornboost.engine.placement import Placement
from hornboost.mining import tally_kernels as kernels
from hornboost.mining.counter import Counter, CountSetup
from hornboost.mining.frequent import Frequent
from hornboost.mining.paths import Family, Shape
from hornboost.mining.reachable import Passes, Reachable
from hornboost.mining.seen import Seen, SeenHere, seen_here
from hornboost.mining.sight import Floats, latest_cutoffs

Found = Sequence[tuple[Shape | None, NDArray[np.int64]]]
Latest = dict[str, NDArray[Any]]
"""Of the rows that several partitions have the latest cutoffs of examples, or as bits whether there is one at all."""

AT_ONCE = 1 << 26
"""Flags of examples that are put in order in one go."""


@dataclass(frozen=True, eq=False, slots=True)
class Counting:
    """What a partition needs to count queries over its examples."""

    setup: Setup
    asked: CountSetup


class PartitionedReachable(Reachable):
    """Encoded examples, whose rows and those behind them are in the partitions of a database."""

    @cached_property
    def _placement(self) -> Placement:
        return Placement.of(self.database, self.examples)

    @cached_property
    def _setups(self) -> list[Setup]:
        token = new_token()
        return [
            Setup(token, *each, {"part": k}, 0, 1) for k, each in enumerate(self._placement.examples(self.examples))
        ]

    @cached_property
    def _setup(self) -> Handle:
        """The examples, sent to their partitions."""
        return self.database.parts.keep(PerPart(self._setups))

    def passes(self, asked: CountSetup) -> Passes:
        parts, token = self.database.parts, new_token()
        room = replace(asked.limits, cache_bytes=asked.limits.cache_bytes // parts.together)
        classes, weights = (self._placement.divided(one).of_part for one in (asked.classes, asked.weights))
        countings = [
            Counting(replace(setup, token=token), replace(asked, classes=own, weights=mass, limits=room))
            for setup, own, mass in zip(self._setups, classes, weights, strict=True)
        ]
        return PartitionedPasses(parts, self._placement, parts.keep(PerPart(countings)))

    def seen(self, tables: Sequence[str], steps: int) -> dict[str, Seen]:
        parts, names = self.database.parts, tuple(tables)
        together = parts.keep(parts.value(parts.total(_united, _latest, self._setup, names, steps)))
        found: list[SeenHere] = parts.value(parts.total(_added, _seen, self._setup, names, steps, together))
        return {name: seen.of_all(self.database.tables[name]) for name, seen in zip(tables, found, strict=True)}

    def examples_determine(self, out: str, carried: str, other: str, joined: str, column: str) -> bool:
        # rows that share a key with an example are where the example is
        return self._all(Reachable.examples_determine, out, carried, other, joined, column)

    def examples_are_in(self, table: str, columns: Sequence[str]) -> bool:
        return self._all(Reachable.examples_are_in, table, tuple(columns))

    def _all(self, question: Any, *arguments: Any) -> bool:
        parts = self.database.parts
        return bool(parts.value(parts.total(operator.and_, _answered, self._setup, question, *arguments)))


class PartitionedPasses:
    """Queries counted in partitions."""

    def __init__(self, parts: Any, placement: Placement, counting: Handle) -> None:
        self._parts = parts
        self._placement = placement
        self._counting = counting

    def measured(self, family: Family, shapes: Sequence[Shape]) -> list[int]:
        found = self._parts.total(operator.add, _measured, self._counting, family, tuple(shapes))
        return [int(count) for count in self._parts.value(found)]

    def supports(self, family: Family, shapes: Sequence[Shape | None]) -> Iterator[NDArray[np.float64]]:
        if not shapes:
            return iter(())
        found = self._parts.total(_added, _supports, self._counting, family, tuple(shapes))
        return iter(self._parts.value(found))

    def frequent(
        self, family: Family, shapes: Sequence[Shape | None], thresholds: NDArray[np.float64], keep: bool
    ) -> Iterator[Frequent]:
        supports = [*self.supports(family, shapes)]
        found = [kernels.frequent(support, thresholds) for support in supports]
        hits = self._hits(family, [*zip(shapes, found, strict=True)], keep)
        for support, places, bits in zip(supports, found, hits, strict=True):
            starts, conditions = kernels.by_slot(places, len(support) // family.n_queries, family.n_queries)
            yield Frequent.of(starts, conditions, support[places], bits)

    def _hits(self, family: Family, found: Found, keep: bool) -> Iterator[NDArray[np.uint8]]:
        """The examples, as bits, that the frequent conditions of each literal hold for."""
        wanted = [(shape, conditions) for shape, conditions in found if conditions.size]
        answers: Iterator[Any] = iter(())
        if wanted:
            by_part = self._parts.values(self._parts.each(_hits, self._counting, family, wanted, keep))
            answers = zip(*by_part, strict=True)
        for _, conditions in found:
            if conditions.size:
                yield self._in_order(next(answers))
            else:
                yield np.empty((0, -(-self._placement.n // 8)), np.uint8)

    def _in_order(self, answers: Sequence[NDArray[np.uint8]]) -> NDArray[np.uint8]:
        """Bits of the examples of each partition as bits in the order of all examples."""
        n_rows, n = len(answers[0]), self._placement.n
        out = np.empty((n_rows, -(-n // 8)), np.uint8)
        some = max(1, AT_ONCE // max(n, 1))
        for start in range(0, n_rows, some):
            chosen = slice(start, start + some)
            flags = np.empty((len(answers[0][chosen]), n), np.uint8)
            for bits, positions in zip(answers, self._placement.positions, strict=True):
                flags[:, positions] = np.unpackbits(bits[chosen], axis=1, count=positions.size)
            out[chosen] = np.packbits(flags, axis=1)
        return out


def _source(part: Part, setup: Setup) -> Reachable:
    key = ("source", setup.token)
    known: Reachable | None = part.cache.get(key)
    if known is None:
        known = Reachable(part.database, part.examples(setup))
        part.cache.put(key, known, sum(column.nbytes for column in known.examples.columns.values()))
    return known


def _counter(part: Part, counting: Counting) -> Counter:
    key = ("counter", counting.setup.token)
    known: Counter | None = part.cache.get(key)
    if known is None:
        known = Counter(part.database, part.examples(counting.setup), counting.asked)
    # what it keeps has a bound of its own, and it must not be forgotten for growing up to it
    part.cache.limit = max(part.cache.limit, 2 * known.nbytes)
    part.cache.put(key, known, known.nbytes)
    return known


def _measured(part: Part, counting: Counting, family: Family, shapes: tuple[Shape, ...]) -> NDArray[np.int64]:
    return _counter(part, counting).measured(family, shapes)


def _supports(
    part: Part, counting: Counting, family: Family, shapes: tuple[Shape | None, ...]
) -> list[NDArray[np.float64]]:
    counter = _counter(part, counting)
    return [counter.supports(family, shape) for shape in shapes]


def _hits(part: Part, counting: Counting, family: Family, found: Found, keep: bool) -> list[NDArray[np.uint8]]:
    counter = _counter(part, counting)
    return [counter.hits(family, shape, conditions, keep) for shape, conditions in found]


def _answered(part: Part, setup: Setup, question: Any, *arguments: Any) -> bool:
    return bool(question(_source(part, setup), *arguments))


def _cutoffs(part: Part, setup: Setup, tables: tuple[str, ...], steps: int) -> dict[str, Floats]:
    """The latest cutoff of an example of the partition that reaches each row there."""
    key = ("latest", setup.token, steps)
    known: dict[str, Floats] | None = part.cache.get(key)
    if known is None:
        known = latest_cutoffs(part.database, _source(part, setup).examples, tables, steps)
        part.cache.put(key, known, sum(latest.nbytes for latest in known.values()))
    return known


def _latest(part: Part, setup: Setup, tables: tuple[str, ...], steps: int) -> Latest:
    """What other partitions must know of the rows that they have as well."""
    found: Latest = {}
    for name, latest in _cutoffs(part, setup, tables, steps).items():
        shared = part.database.shared_rows(name, setup.options["part"])
        own = np.full(shared.n, -np.inf)
        own[shared.numbers] = latest[shared.rows]
        found[name] = np.packbits(own > -np.inf) if setup.examples.times is None else own
    return found


def _united(one: Latest, other: Latest) -> Latest:
    return {
        name: found | other[name] if found.dtype == np.uint8 else np.maximum(found, other[name])
        for name, found in one.items()
    }


def _seen(part: Part, setup: Setup, tables: tuple[str, ...], steps: int, together: Latest) -> list[SeenHere]:
    """What is seen of the rows of which the partition is the first, or the only one, that has them."""
    found, is_dated = [], setup.examples.times is not None
    for name, latest in _cutoffs(part, setup, tables, steps).items():
        shared, until = part.database.shared_rows(name, setup.options["part"]), latest.copy()
        told = together[name]
        if not is_dated:
            told = np.where(np.unpackbits(told, count=shared.n).view(np.bool_), np.inf, -np.inf)
        until[shared.rows] = np.where(shared.own, told[shared.numbers], -np.inf)
        found.append(seen_here(part.database.tables[name], until, is_dated))
    return found


def _added(one: list[Any], other: list[Any]) -> list[Any]:
    return [a + b for a, b in zip(one, other, strict=True)]
