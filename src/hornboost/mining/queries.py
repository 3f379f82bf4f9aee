"""Level-wise mining of frequent queries (seed 001, section 2): all refinements of a query are counted in one pass over its bindings."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import count
from typing import Literal as Choice

import numpy as np
from numpy.typing import NDArray

from hornboost.logic.clause import Clause, Head
from hornboost.mining import query_kernels as kernels
from hornboost.mining.language import Body, Conditions, Key, Language, Skeleton, Structure, skeleton_of


@dataclass(frozen=True, eq=False, slots=True)
class Bindings:
    """Every way to bind a query, sorted by example: the codes of its variables, and the row of its last literal."""

    example: NDArray[np.int32]
    variables: NDArray[np.int32]
    rows: NDArray[np.int32]

    @property
    def nbytes(self) -> int:
        return self.example.nbytes + self.variables.nbytes + self.rows.nbytes


Shape = tuple[int, tuple[int, ...]]
"""A literal that may be added: its source and variables, -1 for a new one."""


@dataclass(eq=False, slots=True)
class Addition:
    """A literal that may be added to all queries of one skeleton: as the kernels see it, and under the names that the longer query has."""

    shape: Shape
    prepared: kernels.Shape
    skeleton: Skeleton
    structure: Structure | None = None


@dataclass(eq=False, slots=True)
class Counts:
    """What is known of the literals counted for a query: `barren` ones cannot be added, `reached` tells for how many conditions an example
    has a row, and `bare` are the queries that add one without conditions.
    """

    barren: set[Shape] = field(default_factory=set)
    reached: dict[Shape, NDArray[np.uint16]] = field(default_factory=dict)
    bare: dict[Shape, Query] = field(default_factory=dict)


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
    def generals(self) -> Iterator[tuple[Query, Counts]]:
        """Queries that hold wherever this one does, one condition or literal shorter and with the same names: the nearest first."""
        if self.parent is not None and self.parent.counts is not None:
            sibling = self.parent.counts.bare.get(self.added.shape) if self.added is not None and self.condition else None
            if sibling is not None and sibling.counts is not None:
                yield sibling, sibling.counts
            yield self.parent, self.parent.counts

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
        self._classes = classes
        self._weights = weights
        self._thresholds = thresholds * (1.0 - 1e-12)
        self._connected = connected
        self._limits = limits or Limits()
        self._n = len(classes)
        self._kept: OrderedDict[Query, Bindings] = OrderedDict()
        self._bytes = 0
        self._reached_bytes = 0
        self._unknown = np.full(self._n, np.iinfo(np.uint16).max, np.uint16)
        self._additions: dict[Skeleton, list[Addition]] = {}
        self._tallies = [kernels.Tally(source.held, source.n_conditions, classes, weights, self._thresholds) for source in language.sources]

    def mine(self, max_length: int) -> Mined:
        """All frequent queries up to a length, none equivalent to another."""
        root = (0, tuple(range(self._language.n_root)), ())
        level = [Query((root,), self._language.structure((root[:2],)))]
        mined = Mined(left_out=list(self._language.left_out))
        seen: set[Key] = set()
        try:
            for length in range(1, max_length + 1):
                following: list[Query] = []
                for number, query in enumerate(level):
                    try:
                        self._refine(query, seen, following, mined)
                    except _TimeOut:
                        raise _LimitReached(
                            f"the time limit was reached: {len(level) - number} of {len(level)} queries of length {length - 1} "
                            "were not, or not in all ways, extended"
                        ) from None
                for query in level:
                    self._forget(query.parent)
                level = sorted(following, key=lambda query: query.body)
        except _LimitReached as stop:
            mined.left_out.append(str(stop))
        return mined

    def _refine(self, query: Query, seen: set[Key], following: list[Query], mined: Mined) -> None:
        self._check_time()
        bindings = self._bindings(query)
        if len(bindings.example) > self._limits.max_bindings:
            self._bytes -= self._kept.pop(query).nbytes
            mined.left_out.append(
                f"'{self._text(query)}' has more than max_bindings={self._limits.max_bindings:,} bindings and was not extended"
            )
            return
        query.counts = counts = Counts()
        for _, known in query.generals:
            counts.barren.update(known.barren)
        if query.body[-1][2] or len(query.body) == 1:
            self._add_tests(query, bindings, seen, following, mined)
        if query.pending:
            return
        skeleton = skeleton_of(query.body)
        if skeleton not in self._additions:
            self._additions[skeleton] = [self._addition(skeleton, shape) for shape in self._language.shapes(skeleton, self._connected)]
        for addition in self._additions[skeleton]:
            if addition.shape not in counts.barren:
                self._check_time()
                self._add_literal(query, counts, bindings, addition, seen, following, mined)

    def _check_time(self) -> None:
        if time.monotonic() > self._limits.deadline:
            raise _TimeOut

    def _add_tests(self, query: Query, bindings: Bindings, seen: set[Key], following: list[Query], mined: Mined) -> None:
        number, variables, tests = query.body[-1]
        source = self._language.sources[number]
        if source.n_conditions == 1:
            return
        frequent, support, hits = kernels.count_tests(bindings.example, bindings.rows, self._tallies[number])
        mined.candidates += source.n_conditions
        last = source.attribute[tests[-1]] if tests else -1
        before = tuple([conditions for _, _, conditions in query.body[:-1]])
        for condition in frequent[source.attribute[frequent] > last].tolist():
            more = (*tests, condition)
            key = query.structure.key((*before, more))
            if key not in seen:
                longer = Query((*query.body[:-1], (number, variables, more)), query.structure, query, None, condition)
                self._keep(longer, key, (*before, more), support, hits, seen, following, mined)

    def _add_literal(
        self, query: Query, counts: Counts, bindings: Bindings, added: Addition, seen: set[Key], following: list[Query], mined: Mined
    ) -> None:
        shape, tally = added.shape, self._tallies[added.shape[0]]
        limit = 50 * self._limits.max_bindings
        if len(bindings.example) * len(tally.held) > limit and kernels.count_reached(bindings.variables, added.prepared) > limit:
            name = self._language.sources[shape[0]].name
            mined.left_out.append(f"a literal of '{name}' after '{self._text(query)}' reaches too many rows and was left out")
            return
        known = next((general.reached[shape] for _, general in query.generals if shape in general.reached), self._unknown)
        frequent, support, hits, reached = kernels.count_literal(bindings.example, bindings.variables, added.prepared, tally, known)
        mined.candidates += tally.n_conditions
        if frequent.size == 0:
            counts.barren.add(shape)
            return
        self._remember(counts, shape, reached)
        number, variables = added.skeleton[-1]
        structure = added.structure = added.structure or self._language.structure(added.skeleton)
        least = query.body[-1][2] if (number, variables) == query.body[-1][:2] else ()
        before = tuple([conditions for _, _, conditions in query.body])
        for condition in frequent.tolist():
            tests = (condition,) if condition else ()
            key = structure.key((*before, tests))
            if key not in seen and tests >= least:
                longer = Query((*query.body, (number, variables, tests)), structure, query, added, condition)
                self._keep(longer, key, (*before, tests), support, hits, seen, following, mined)
                if not condition:
                    counts.bare[shape] = longer

    def _keep(
        self,
        query: Query,
        key: Key,
        conditions: Conditions,
        support: NDArray[np.float64],
        hits: NDArray[np.uint8],
        seen: set[Key],
        following: list[Query],
        mined: Mined,
    ) -> None:
        """Keep a frequent query that was not seen before, unless it says no more than a shorter one."""
        seen.add(key)
        redundant = query.structure.redundancy(conditions)
        if redundant == "for good":
            return
        if self._limits.max_patterns is not None and len(mined.queries) >= self._limits.max_patterns:
            raise _LimitReached(
                f"max_patterns={self._limits.max_patterns:,} was reached: further queries, the first being "
                f"'{self._text(query)}', were left out"
            )
        query.covered = hits[query.condition].tobytes()
        query.support = tuple(support[:, query.condition].tolist())
        query.pending = redundant == "so far"
        following.append(query)
        if not query.pending and (self._language.oi or self._language.is_core(query.body)):
            mined.queries.append(query)

    def _remember(self, counts: Counts, shape: Shape, reached: NDArray[np.uint16]) -> None:
        """For more special queries, which reach no more; within the memory bound."""
        if self._reached_bytes + reached.nbytes <= self._limits.cache_bytes:
            counts.reached[shape] = reached
            self._reached_bytes += reached.nbytes

    def _forget(self, query: Query | None) -> None:
        if query is not None and query.counts is not None:
            self._reached_bytes -= sum(reached.nbytes for reached in query.counts.reached.values())
            query.counts = None

    def _addition(self, skeleton: Skeleton, shape: Shape) -> Addition:
        fresh = count(1 + max((v for _, variables in skeleton for v in variables), default=-1))
        variables = tuple([v if v >= 0 else next(fresh) for v in shape[1]])
        return Addition(shape, self._prepared(skeleton, shape), (*skeleton, (shape[0], variables)))

    def _prepared(self, skeleton: Skeleton, shape: Shape) -> kernels.Shape:
        number, pattern = shape
        source = self._language.sources[number]
        assert source.index is not None
        column = min((k for k, v in enumerate(pattern) if v >= 0), key=lambda k: source.fan_out[k])
        index = source.index(source.columns[column])
        new = [k for k, v in enumerate(pattern) if v < 0]
        equal = [(k, v) for k, v in enumerate(pattern) if v >= 0 and k != column]
        differ: list[tuple[int, int]] = []
        apart: list[tuple[int, int]] = []
        if self._language.oi:
            domains = self._language.domains(skeleton)
            differ = [(k, v) for k in new for v, domain in domains.items() if domain == source.domains[k]]
            apart = [(k, other) for k in new for other in new if k < other and source.domains[k] == source.domains[other]]
        return kernels.Shape(
            pattern[column],
            index.offsets,
            index.rows,
            source.keys,
            _pairs(equal),
            _pairs(differ),
            _pairs(apart),
            np.array(new, np.int64),
            np.array(sorted({v for v in (pattern[column], *(v for _, v in (*equal, *differ))) if v >= self._language.n_root}), np.int64),
        )

    def _bindings(self, query: Query) -> Bindings:
        """The bindings of a query, from its parent's; the last ones are kept within the memory bound."""
        known = self._kept.get(query)
        if known is not None:
            self._kept.move_to_end(query)
            return known
        if query.parent is None:
            everyone = np.arange(self._n, dtype=np.int32)
            keys = self._language.sources[0].keys
            made = Bindings(everyone, np.ascontiguousarray(keys), everyone)
        else:
            made = self._extended(query)
        self._kept[query] = made
        self._bytes += made.nbytes
        while self._bytes > self._limits.cache_bytes and len(self._kept) > 1:
            self._bytes -= self._kept.popitem(last=False)[1].nbytes
        return made

    def _extended(self, query: Query) -> Bindings:
        """Those of a more general query with the same literals that hold the condition, otherwise those that the new literal gives."""
        assert query.parent is not None
        source = self._language.sources[query.body[-1][0]]
        attribute = int(source.attribute[query.condition])
        nearest = next((general for general, _ in query.generals), query.parent)
        if query.added is None or (nearest is not query.parent and nearest in self._kept):
            before = self._bindings(nearest)
            return Bindings(*kernels.select(before.example, before.variables, before.rows, source.held, attribute, query.condition))
        before = self._bindings(query.parent)
        shape, limit = query.added.prepared, self._limits.max_bindings
        return Bindings(*kernels.extend(before.example, before.variables, shape, source.held, attribute, query.condition, limit))

    def _text(self, query: Query) -> str:
        return query_text(self._language.clause(query.body, Head("", "")))


def _pairs(found: list[tuple[int, int]]) -> NDArray[np.int64]:
    return np.array(found, np.int64).reshape(-1, 2)


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
