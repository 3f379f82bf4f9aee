"""The bindings of queries, the last ones kept within a bound of memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hornboost.mining.bindings import Bindings
from hornboost.mining.limits import Limits
from hornboost.mining.paths import Path, Shape, last_relation, shapes_of

if TYPE_CHECKING:
    from hornboost.mining.counter import Counter

Words = NDArray[np.uint64]


class BindingCache:
    """The bindings of queries, made from those of their parents, and what their literals reach."""

    def __init__(self, counter: Counter, limits: Limits) -> None:
        self._counter = counter
        self._limits = limits
        self._kept: OrderedDict[Path | tuple[Path, Shape], Bindings] = OrderedDict()
        self._bytes = 0
        self._reached: dict[Path, dict[Shape, Words]] = {}
        self._reached_bytes = 0
        self._length = 0

    @property
    def nbytes(self) -> int:
        return self._bytes + self._reached_bytes

    def remember(self, path: Path, shape: Shape, reached: Words) -> None:
        """What a literal reaches after a query, for more special ones, which reach no more; within the memory bound."""
        if self.nbytes + reached.nbytes <= self._limits.cache_bytes:
            known = self._reached.setdefault(path, {})
            self._reached_bytes += reached.nbytes - (known[shape].nbytes if shape in known else 0)
            known[shape] = reached

    def known(self, path: Path | None) -> Mapping[Shape, Words]:
        """What literals reach after a query, as far as that is remembered. Of shorter ones nobody will ask any more."""
        if path is None:
            return {}
        if len(path) > self._length:
            self._length = len(path)
            for shorter in [other for other in self._reached if len(other) < len(path)]:
                self._reached_bytes -= sum(reached.nbytes for reached in self._reached.pop(shorter).values())
        return self._reached.get(path, {})

    def bindings(self, path: Path) -> Bindings:
        """The bindings of a query: those of its family that hold its condition, where they are kept,
        otherwise from its parent's.
        """
        if path and not path[-1][1]:
            return self.shared(path[:-1], path[-1][0])
        return self._cached(path, lambda: self._made(path))

    def shared(self, path: Path, shape: Shape | None) -> Bindings:
        """The bindings of what a family shares: a query, or a query and a bare literal."""
        if shape is None:
            return self.bindings(path)
        return self._cached((path, shape), lambda: self._extended(path, shape, 0))

    def _cached(self, key: Path | tuple[Path, Shape], make: Callable[[], Bindings]) -> Bindings:
        """The last bindings are kept within the memory bound, unless a limit has cut them short."""
        known = self._kept.get(key)
        if known is not None:
            self._kept.move_to_end(key)
            return known
        made = make()
        if len(made) <= self._limits.max_bindings:
            self._kept[key] = made
            self._bytes += made.nbytes
            while self.nbytes > self._limits.cache_bytes and len(self._kept) > 1:
                self._bytes -= self._kept.popitem(last=False)[1].nbytes
        return made

    def _made(self, path: Path) -> Bindings:
        if not path:
            return self._counter.of_examples()
        parent, (shape, condition) = path[:-1], path[-1]
        if shape is not None and (parent, shape) not in self._kept:
            return self._extended(parent, shape, condition)
        shared, number = self.shared(parent, shape), last_relation(shapes_of(path))
        attribute = int(self._counter.relations[number].attribute[condition])
        return shared.with_condition(self._counter.held(number), attribute, condition)

    def _extended(self, path: Path, shape: Shape, condition: int) -> Bindings:
        """The bindings that a new literal gives, one more than `max_bindings` at most."""
        before, relation = self.bindings(path), self._counter.relations[shape[0]]
        literal = self._counter.literals(shapes_of(path))[shape]
        attribute, limit = int(relation.attribute[condition]), self._limits.max_bindings
        return before.extended(literal, self._counter.held(shape[0]), attribute, condition, limit)
