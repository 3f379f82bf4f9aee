"""Level-wise mining of frequent queries (seed 001, section 2): all refinements of a query are counted in one pass over its bindings."""

from __future__ import annotations

import math
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import Literal as Choice

import numpy as np
from numpy.typing import NDArray

from hornboost.logic.clause import Clause, Head
from hornboost.mining import query_kernels as kernels
from hornboost.mining.language import Body, Key, Language, Skeleton, Structure, skeleton_of


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
class Query:
    """A frequent query: its coverage of the training examples as packed bits, its support by class, and how it came from its parent: by a
    new literal (`shape`), or by a further condition on the last one.

    A `pending` one says nothing new before its last literal has further conditions. `barren` are literals that cannot be added.
    """

    body: Body
    structure: Structure
    parent: Query | None = None
    shape: tuple[int, tuple[int, ...]] | None = None
    condition: int = 0
    covered: bytes = b""
    support: tuple[float, ...] = ()
    pending: bool = False
    barren: set[tuple[int, tuple[int, ...]]] = field(default_factory=set)

    @property
    def length(self) -> int:
        """Σ max(1, conditions) over its literals, the conditions alone for the example's own."""
        return len(self.body[0][2]) + sum(max(1, len(tests)) for _, _, tests in self.body[1:])


@dataclass(frozen=True)
class Limits:
    """Where mining stops or leaves something out: each is said in `Mined.left_out`."""

    max_patterns: int | None = None
    deadline: float = math.inf
    max_bindings: int = 20_000_000
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
        self._kept: OrderedDict[int, Bindings] = OrderedDict()
        self._bytes = 0
        self._shapes: dict[tuple[Skeleton, tuple[int, tuple[int, ...]]], kernels.Shape] = {}
        self._candidates: dict[Skeleton, list[tuple[int, tuple[int, ...]]]] = {}
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
                    if time.monotonic() > self._limits.deadline:
                        raise _LimitReached(
                            f"the time limit was reached: {len(level) - number} of {len(level)} queries of length {length - 1} "
                            "were not extended"
                        )
                    self._refine(query, seen, following, mined)
                level = sorted(following, key=lambda query: query.body)
        except _LimitReached as stop:
            mined.left_out.append(str(stop))
        return mined

    def _refine(self, query: Query, seen: set[Key], following: list[Query], mined: Mined) -> None:
        bindings = self._bindings(query)
        if len(bindings.example) > self._limits.max_bindings:
            mined.left_out.append(
                f"'{self._text(query)}' has {len(bindings.example):,} bindings, more than max_bindings={self._limits.max_bindings:,}, "
                "and was not extended"
            )
            return
        if query.parent is not None:
            query.barren.update(query.parent.barren)
        if query.body[-1][2] or len(query.body) == 1:
            self._add_tests(query, bindings, seen, following, mined)
        if query.pending:
            return
        skeleton = skeleton_of(query.body)
        if skeleton not in self._candidates:
            self._candidates[skeleton] = self._language.shapes(skeleton, self._connected)
        for shape in self._candidates[skeleton]:
            if shape not in query.barren:
                self._add_literal(query, bindings, shape, seen, following, mined)

    def _add_tests(self, query: Query, bindings: Bindings, seen: set[Key], following: list[Query], mined: Mined) -> None:
        number, variables, tests = query.body[-1]
        source = self._language.sources[number]
        if source.n_conditions == 1:
            return
        frequent, support, hits = kernels.count_tests(bindings.example, bindings.rows, self._tallies[number])
        mined.candidates += source.n_conditions
        last = source.attribute[tests[-1]] if tests else -1
        structure = self._language.structure(skeleton_of(query.body))
        for condition in frequent[source.attribute[frequent] > last].tolist():
            body = (*query.body[:-1], (number, variables, (*tests, condition)))
            self._keep(Query(body, structure, query, None, condition), support, hits, seen, following, mined)

    def _add_literal(
        self, query: Query, bindings: Bindings, shape: tuple[int, tuple[int, ...]], seen: set[Key], following: list[Query], mined: Mined
    ) -> None:
        number, pattern = shape
        source = self._language.sources[number]
        prepared = self._shape(query, shape)
        limit = 50 * self._limits.max_bindings
        if len(bindings.example) * len(source.keys) > limit and kernels.count_reached(bindings.variables, prepared) > limit:
            mined.left_out.append(f"a literal of '{source.name}' after '{self._text(query)}' reaches too many rows and was left out")
            return
        frequent, support, hits = kernels.count_literal(bindings.example, bindings.variables, prepared, self._tallies[number])
        mined.candidates += source.n_conditions
        if frequent.size == 0:
            query.barren.add(shape)
            return
        twin = number == query.body[-1][0] and pattern == query.body[-1][1]
        fresh = iter(range(bindings.variables.shape[1], bindings.variables.shape[1] + len(pattern)))
        variables = tuple([v if v >= 0 else next(fresh) for v in pattern])
        structure = self._language.structure((*skeleton_of(query.body), (number, variables)))
        for condition in frequent.tolist():
            tests = (condition,) if condition else ()
            if not (twin and tests < query.body[-1][2]):
                body = (*query.body, (number, variables, tests))
                self._keep(Query(body, structure, query, shape, condition), support, hits, seen, following, mined)

    def _keep(
        self,
        query: Query,
        support: NDArray[np.float64],
        hits: NDArray[np.uint8],
        seen: set[Key],
        following: list[Query],
        mined: Mined,
    ) -> None:
        conditions = tuple([tests for _, _, tests in query.body])
        key = query.structure.key(conditions)
        if key in seen:
            return
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

    def _shape(self, query: Query, shape: tuple[int, tuple[int, ...]]) -> kernels.Shape:
        skeleton = skeleton_of(query.body)
        known = self._shapes.get((skeleton, shape))
        if known is None:
            known = self._shapes[skeleton, shape] = self._prepared(skeleton, shape)
        return known

    def _prepared(self, skeleton: Skeleton, shape: tuple[int, tuple[int, ...]]) -> kernels.Shape:
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
            np.array(sorted({pattern[column], *(v for _, v in equal), *(v for _, v in differ)}), np.int64),
        )

    def _bindings(self, query: Query) -> Bindings:
        """The bindings of a query, from its parent's; the last ones are kept within the memory bound."""
        known = self._kept.get(id(query))
        if known is not None:
            self._kept.move_to_end(id(query))
            return known
        if query.parent is None:
            everyone = np.arange(self._n, dtype=np.int32)
            keys = self._language.sources[0].keys
            made = Bindings(everyone, np.ascontiguousarray(keys), everyone)
        else:
            made = self._extended(query, self._bindings(query.parent))
        self._kept[id(query)] = made
        self._bytes += made.nbytes
        while self._bytes > self._limits.cache_bytes and len(self._kept) > 1:
            self._bytes -= self._kept.popitem(last=False)[1].nbytes
        return made

    def _extended(self, query: Query, before: Bindings) -> Bindings:
        assert query.parent is not None
        source = self._language.sources[query.body[-1][0]]
        attribute = int(source.attribute[query.condition])
        if query.shape is None:
            alive = source.held[before.rows, attribute] == query.condition
            return Bindings(before.example[alive], before.variables[alive], before.rows[alive])
        shape = self._shape(query.parent, query.shape)
        return Bindings(*kernels.extend(before.example, before.variables, shape, source.held, attribute, query.condition))

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
