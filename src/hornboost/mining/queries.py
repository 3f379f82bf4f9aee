"""Level-wise mining of frequent queries (seed 001, section 2).

Queries that differ in their last condition only are a family: one pass over the bindings of what they share counts a new literal, bare and
with each of its conditions, for all of them.
"""

from __future__ import annotations

import gc
import math
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal as Choice

import numpy as np
from numpy.typing import NDArray

from hornboost.logic.clause import Clause, Head
from hornboost.mining import query_kernels as kernels
from hornboost.mining.additions import Addition, Shape, additions_to
from hornboost.mining.language import Body, Conditions, Key, Language, Skeleton, Source, Structure, skeleton_of
from hornboost.stopping import check


@dataclass(frozen=True, eq=False, slots=True)
class Bindings:
    """Every way to bind a query, sorted by example: the codes of its variables, and the row of its last literal."""

    example: NDArray[np.int32]
    variables: NDArray[np.int32]
    rows: NDArray[np.int32]

    @property
    def nbytes(self) -> int:
        return self.example.nbytes + self.variables.nbytes + self.rows.nbytes


@dataclass(eq=False, slots=True)
class Counts:
    """What is known of the literals counted for a query: `barren` ones cannot be added, and `reached` tells the conditions that an example
    has a row for, as bits.
    """

    barren: set[Shape] = field(default_factory=set)
    reached: dict[Shape, NDArray[np.uint64]] = field(default_factory=dict)


@dataclass(eq=False, slots=True)
class Query:
    """A frequent query: its coverage of the training examples as packed bits, its support by class, and how it came from its parent: by a
    new literal (`added`), or by a further condition on the last one.

    A `pending` one says nothing new before its last literal has further conditions. Only one that is extended has `counts`.
    """

    body: Body
    structure: Structure
    parent: Query | None = None
    added: Addition | None = None
    condition: int = 0
    covered: bytes = b""
    support: tuple[float, ...] = ()
    pending: bool = False
    counts: Counts | None = None

    @property
    def length(self) -> int:
        """Σ max(1, conditions) over its literals, the conditions alone for the example's own."""
        return len(self.body[0][2]) + sum(max(1, len(tests)) for _, _, tests in self.body[1:])


@dataclass(frozen=True)
class Limits:
    """Where mining stops or leaves something out: each is said in `Mined.left_out`."""

    max_patterns: int | None = None
    deadline: float = math.inf
    max_bindings: int = 5_000_000
    cache_bytes: int = 1 << 29


@dataclass
class Mined:
    """The queries in the order of their length, how many candidates were counted, and what was left out, a sentence each.

    A candidate is a literal, bare or with a condition, or a further condition, whose support was counted for a query, be it 0.
    """

    queries: list[Query] = field(default_factory=list)
    candidates: int = 0
    left_out: list[str] = field(default_factory=list)


@dataclass
class _Level:
    """The queries found while a level is refined; at the last one nothing is kept for the next."""

    mined: Mined
    seen: set[Key]
    is_last: bool
    following: list[Query] = field(default_factory=list)


@dataclass(frozen=True, eq=False, slots=True)
class Family:
    """Queries that differ in their last condition only and the bindings of what they share; or one query and its own."""

    queries: list[Query]
    bindings: Bindings
    last: Source

    @property
    def slots(self) -> kernels.Slots:
        """The place of each query, by its condition on the last literal."""
        slots = np.full(self.last.n_conditions, -1, np.int32)
        if len(self.queries) == 1:
            return kernels.Slots(self.last.held, slots, 0, 1)
        for slot, query in enumerate(self.queries):
            slots[query.condition] = slot
        whole, slots[0] = int(slots[0]), -1
        return kernels.Slots(self.last.held, slots, whole, len(self.queries))

    @property
    def general(self) -> Counts:
        """What is known of the query that all of them refine."""
        parent = self.queries[0].parent
        return Counts() if parent is None or parent.counts is None else parent.counts


@dataclass(frozen=True, eq=False, slots=True)
class Found:
    """What a pass finds for the queries of a family: the conditions that each reaches, unless nobody will ask, and the frequent ones, one
    query's after the other's from `starts` on.
    """

    reached: NDArray[np.uint64] | None
    starts: list[int]
    conditions: list[int]
    support: list[list[float]]
    hits: NDArray[np.uint8]


class _LimitReached(Exception):  # noqa: N818
    """A limit was reached."""


class _TimeOut(Exception):  # noqa: N818
    """The deadline has passed."""


class Miner:
    """Breadth-first search from the most general query, refined by one condition or literal a level.

    A query can be built in many orders; only its least sequence of literals (source, variables, conditions) is followed: conditions are
    added to the last literal and in order, and a literal that could have come before the last one must not be less than it. A prefix of a
    least sequence is itself least, so nothing is lost, and in sorted levels the least sequence of a query is found before its others.
    """

    def __init__(
        self,
        language: Language,
        classes: NDArray[np.int32],
        weights: NDArray[np.float64],
        thresholds: NDArray[np.float64],
        *,
        connected: bool = True,
        limits: Limits | None = None,
    ) -> None:
        """A query is frequent where its support in some class, or in all (the last threshold), reaches its threshold."""
        self._language = language
        self._connected = connected
        self._limits = limits or Limits()
        self._n = len(classes)
        self._kept: OrderedDict[Query | tuple[Query, Addition], Bindings] = OrderedDict()
        self._bytes = 0
        self._reached_bytes = 0
        self._additions: dict[Skeleton, list[Addition]] = {}
        self._unknown = {
            width: np.full((self._n, width), np.iinfo(np.uint64).max, np.uint64) for width in {s.n_words for s in language.sources}
        }
        self._tally = kernels.Tally(classes, weights, thresholds * (1.0 - 1e-12))

    def mine(self, max_length: int) -> Mined:
        """All frequent queries up to a length, none equivalent to another."""
        with _no_search_for_cycles():
            return self._mine(max_length)

    def _mine(self, max_length: int) -> Mined:
        root = (0, tuple(range(self._language.n_root)), ())
        queries = [Query((root,), self._language.structure((root[:2],)))]
        mined = Mined(left_out=list(self._language.left_out))
        seen: set[Key] = set()
        try:
            for length in range(1, max_length + 1):
                level = _Level(mined, seen, length == max_length)
                refined = 0
                for _, family in groupby(queries, key=lambda query: (id(query.parent), id(query.added))):
                    members = list(family)
                    try:
                        self._refine(members, level)
                    except _TimeOut:
                        raise _LimitReached(
                            f"the time limit was reached: {len(queries) - refined} of {len(queries)} queries of length {length - 1} "
                            "were not, or not in all ways, extended"
                        ) from None
                    refined += len(members)
                for query in queries:
                    self._forget(query.parent)
                queries = [] if level.is_last else sorted(level.following, key=lambda query: query.body)
        except _LimitReached as stop:
            mined.left_out.append(str(stop))
        return mined

    def _refine(self, queries: list[Query], level: _Level, barren: frozenset[Shape] = frozenset()) -> frozenset[Shape]:
        """Refine the queries of a family in their order; tells the literals that are barren for all of them, besides those known."""
        self._check_time()
        first = queries[0]
        additions = self._possible(first)
        bindings = self._bindings(first) if len(queries) == 1 else self._shared(first)
        size = self._size(bindings, additions)
        if size < len(queries):
            for start in range(0, len(queries), size):
                barren = self._refine(queries[start : start + size], level, barren)
            return barren
        if len(bindings.example) > self._limits.max_bindings:
            level.mined.left_out.append(
                f"'{self._text(first)}' has more than max_bindings={self._limits.max_bindings:,} bindings and was not extended"
            )
            return barren
        family = Family(queries, bindings, self._language.sources[first.body[-1][0]])
        barren = barren.union(family.general.barren)
        tests = self._tests(family)
        literals = self._literals(family, [added for added in additions if added.shape not in barren], level)
        if len(queries) > 1:
            literals = list(literals)  # all are counted before the first query is refined; for one query each is in turn
        for slot, query in enumerate(queries):
            query.counts = counts = Counts(set(barren))
            # further conditions on a bare literal are counted with it
            if tests is not None and (query.body[-1][2] or len(query.body) == 1):
                self._add_tests(query, slot, tests, level)
            if not query.pending:
                for added, found in literals:
                    if added.shape not in barren:
                        self._add_literal(query, slot, counts, added, found, level)
            if not query.condition:
                barren = frozenset(counts.barren)
        return barren

    def _possible(self, query: Query) -> list[Addition]:
        """The literals that may be added to all queries with the same ones."""
        skeleton = skeleton_of(query.body)
        if skeleton not in self._additions:
            self._additions[skeleton] = additions_to(self._language, skeleton, self._connected)
        return self._additions[skeleton]

    def _size(self, bindings: Bindings, additions: list[Addition]) -> int:
        """For how many queries a pass may count at once, in an eighth of the memory; for one where what they share is too much."""
        if len(bindings.example) > self._limits.max_bindings or any(self._reaches_too_many(bindings, added) for added in additions):
            return 1
        width = sum(self._language.sources[added.shape[0]].n_words for added in additions)
        return max(1, self._limits.cache_bytes // 8 // max(8 * self._n * width, 1))

    def _reaches_too_many(self, bindings: Bindings, added: Addition) -> bool:
        limit = 50 * self._limits.max_bindings
        n_rows = len(self._language.sources[added.shape[0]].held)
        return len(bindings.example) * n_rows > limit and kernels.count_reached(bindings.variables, *added.prepared[:2]) > limit

    def _check_time(self) -> None:
        check()
        if time.monotonic() > self._limits.deadline:
            raise _TimeOut

    def _tests(self, family: Family) -> Found | None:
        """Further conditions on the last literal, where it has some already; on a bare one they are counted with it."""
        last, bindings = family.last, family.bindings
        if last.n_conditions == 1 or not (family.queries[-1].condition or len(family.queries[0].body) == 1):
            return None
        reached = kernels.reach_tests(bindings.example, bindings.rows, *family.slots, self._n, last.n_words)
        return self._found(reached, last, True)

    def _literals(self, family: Family, additions: list[Addition], level: _Level) -> Iterable[tuple[Addition, Found]]:
        """New literals; a query that says nothing new so far is not extended by any."""
        if all(query.pending for query in family.queries):
            return
        slots, general, bindings = family.slots, family.general, family.bindings
        for added in additions:
            self._check_time()
            source = self._language.sources[added.shape[0]]
            if self._reaches_too_many(bindings, added):
                text = self._text(family.queries[0])
                level.mined.left_out.append(f"a literal of '{source.name}' after '{text}' reaches too many rows and was left out")
                continue
            known = general.reached.get(added.shape)
            if known is None:
                known = self._unknown[source.n_words]
            reached = kernels.reach_literal(bindings.example, bindings.variables, bindings.rows, slots, added.prepared, source.held, known)
            yield added, self._found(reached, source, level.is_last)

    def _found(self, reached: NDArray[np.uint64], source: Source, is_last: bool) -> Found:
        starts, conditions, support, hits = kernels.tally(reached, source.n_conditions, *self._tally)
        return Found(None if is_last else reached, starts.tolist(), conditions.tolist(), support.tolist(), hits)

    def _add_tests(self, query: Query, slot: int, found: Found, level: _Level) -> None:
        number, variables, tests = query.body[-1]
        source = self._language.sources[number]
        level.mined.candidates += source.n_conditions
        last = source.attribute[tests[-1]] if tests else -1
        before = tuple([conditions for _, _, conditions in query.body[:-1]])
        for k in range(found.starts[slot], found.starts[slot + 1]):
            condition = found.conditions[k]
            if source.attribute[condition] > last:
                more = (*tests, condition)
                key = query.structure.key((*before, more))
                if key not in level.seen:
                    longer = Query((*query.body[:-1], (number, variables, more)), query.structure, query, None, condition)
                    self._keep(longer, key, (*before, more), found, k, level)

    def _add_literal(self, query: Query, slot: int, counts: Counts, added: Addition, found: Found, level: _Level) -> None:
        shape = added.shape
        level.mined.candidates += self._language.sources[shape[0]].n_conditions
        start, end = found.starts[slot : slot + 2]
        if start == end:
            counts.barren.add(shape)
            return
        if found.reached is not None:
            alone = len(found.reached) == 1
            self._remember(counts, shape, found.reached[slot] if alone else found.reached[slot].copy())  # not the whole family's
        number, variables = added.skeleton[-1]
        structure = added.structure = added.structure or self._language.structure(added.skeleton)
        least = query.body[-1][2] if (number, variables) == query.body[-1][:2] else ()
        before = tuple([conditions for _, _, conditions in query.body])
        for k in range(start, end):
            condition = found.conditions[k]
            tests = (condition,) if condition else ()
            conditions = (*before, tests)
            key = structure.key(conditions)
            if key not in level.seen and tests >= least:
                longer = Query((*query.body, (number, variables, tests)), structure, query, added, condition)
                self._keep(longer, key, conditions, found, k, level)

    def _keep(self, query: Query, key: Key, conditions: Conditions, found: Found, k: int, level: _Level) -> None:
        """Keep a frequent query that was not seen before, unless it says no more than a shorter one."""
        level.seen.add(key)
        redundant = query.structure.redundancy(conditions)
        if redundant == "for good":
            return
        mined = level.mined
        if self._limits.max_patterns is not None and len(mined.queries) >= self._limits.max_patterns:
            raise _LimitReached(
                f"max_patterns={self._limits.max_patterns:,} was reached: further queries, the first being "
                f"'{self._text(query)}', were left out"
            )
        query.covered = found.hits[k].tobytes()
        query.support = tuple(found.support[k])
        query.pending = redundant == "so far"
        level.following.append(query)
        if not query.pending and (self._language.oi or self._language.is_core(query.body)):
            mined.queries.append(query)

    def _remember(self, counts: Counts, shape: Shape, reached: NDArray[np.uint64]) -> None:
        """For more special queries, which reach no more; within the memory bound."""
        if self._bytes + self._reached_bytes + reached.nbytes <= self._limits.cache_bytes:
            counts.reached[shape] = reached
            self._reached_bytes += reached.nbytes

    def _forget(self, query: Query | None) -> None:
        if query is not None and query.counts is not None:
            self._reached_bytes -= sum(reached.nbytes for reached in query.counts.reached.values())
            query.counts = None

    def _bindings(self, query: Query) -> Bindings:
        """The bindings of a query: those of its family that hold its condition, where they are kept, otherwise from its parent's."""
        if query.parent is not None and not query.condition:
            return self._shared(query)
        return self._cached(query, lambda: self._made(query))

    def _shared(self, query: Query) -> Bindings:
        """The bindings of what a family shares: its parent, or its parent and a bare literal."""
        parent, added = query.parent, query.added
        assert parent is not None
        if added is None:
            return self._bindings(parent)
        return self._cached((parent, added), lambda: self._extended(parent, added, 0))

    def _cached(self, key: Query | tuple[Query, Addition], make: Callable[[], Bindings]) -> Bindings:
        """The last bindings are kept within the memory bound, unless a limit has cut them short."""
        known = self._kept.get(key)
        if known is not None:
            self._kept.move_to_end(key)
            return known
        made = make()
        if len(made.example) <= self._limits.max_bindings:
            self._kept[key] = made
            self._bytes += made.nbytes
            while self._bytes + self._reached_bytes > self._limits.cache_bytes and len(self._kept) > 1:
                self._bytes -= self._kept.popitem(last=False)[1].nbytes
        return made

    def _made(self, query: Query) -> Bindings:
        parent, added = query.parent, query.added
        if parent is None:
            everyone = np.arange(self._n, dtype=np.int32)
            return Bindings(everyone, np.ascontiguousarray(self._language.sources[0].keys), everyone)
        if added is not None and (parent, added) not in self._kept:
            return self._extended(parent, added, query.condition)
        shared = self._shared(query)
        source = self._language.sources[query.body[-1][0]]
        attribute = int(source.attribute[query.condition])
        return Bindings(*kernels.select(shared.example, shared.variables, shared.rows, source.held, attribute, query.condition))

    def _extended(self, query: Query, added: Addition, condition: int) -> Bindings:
        """The bindings that a new literal gives, one more than `max_bindings` at most."""
        before, source = self._bindings(query), self._language.sources[added.shape[0]]
        attribute, limit = int(source.attribute[condition]), self._limits.max_bindings
        return Bindings(*kernels.extend(before.example, before.variables, added.prepared, source.held, attribute, condition, limit))

    def _text(self, query: Query) -> str:
        return query_text(self._language.clause(query.body, Head("", "")))


@contextmanager
def _no_search_for_cycles() -> Iterator[None]:
    """Queries refer to their parents only, so there is no garbage in cycles, and Python's search for it takes up to a third of the time."""
    is_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if is_enabled:
            gc.enable()


def query_text(clause: Clause) -> str:
    """A query as text: the clause's body without its head."""
    return str(clause).partition(" :- ")[2].removesuffix(".")


def thresholds(
    min_support: float, support: Choice["overall", "any_class", "positive"], by_class: NDArray[np.float64], positive: int
) -> NDArray[np.float64]:
    """The weight that makes a query frequent, for each class and, last, for all examples; infinite where it does not count.

    >>> thresholds(0.1, "positive", np.array([90.0, 10.0]), 1)
    array([inf,  1., inf])
    """
    out = np.full(len(by_class) + 1, np.inf)
    if support == "overall":
        out[-1] = min_support * by_class.sum()
    elif support == "any_class":
        out[:-1] = min_support * by_class
    else:
        out[positive] = min_support * by_class[positive]
    return out
