"""Level-wise mining of frequent queries (Di Mauro et al., section 2)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import groupby
from typing import Literal as Choice

import numpy as np
from numpy.typing import NDArray

from hornboost.activation.information import mutual_information
from hornboost.learners.objectives import comparable
from hornboost.logic.clause import Head
from hornboost.mining.additions import Addition, additions_to
from hornboost.mining.frequent import Frequent
from hornboost.mining.language import Language
from hornboost.mining.limits import LeftOut, Limits, largest_affordable
from hornboost.mining.paths import Family, Shape
from hornboost.mining.query import Query, query_text
from hornboost.mining.relation import Relation
from hornboost.mining.structure import ConditionSets, Skeleton, skeleton_of
from hornboost.stopping import Stopped, check, learning


@dataclass
class Mined:
    """The queries in the order of their length, how many candidates were counted,
    and what was left out, a sentence each.

    A candidate is a literal, bare or with a condition, or a further condition, whose support was counted for a query,
    be it 0. `rows` are those that joins have looked at; `stopped` says why mining ended where a limit of time or Ctrl-C
    ended it.
    """

    queries: list[Query] = field(default_factory=list)
    candidates: int = 0
    rows: int = 0
    left_out: LeftOut = field(default_factory=LeftOut)
    stopped: str | None = None


@dataclass
class _Level:
    """The queries found while a level is refined; at the last one nothing is kept for the next.

    Steps that would look at more than `most_rows` are left out. `seen` are the conditions of queries by the numbers of
    their forms (see `Structure`).
    """

    mined: Mined
    is_last: bool
    most_rows: float
    seen: defaultdict[int, set[ConditionSets]] = field(default_factory=lambda: defaultdict(set))
    following: list[Query] = field(default_factory=list)
    before: int = field(init=False)

    def __post_init__(self) -> None:
        self.before = len(self.mined.queries)

    def start_again(self) -> None:
        """Forget what was found; no further level will follow."""
        del self.mined.queries[self.before :]
        self.is_last, self.following = True, []
        self.seen.clear()


_TOGETHER = 16
"""Queries of a family that are refined together where what they tell about the class decides which come first."""


class _Full(Exception):  # noqa: N818
    """There are as many queries as there may be, and mining ends."""


class _Spent(Exception):  # noqa: N818
    """Joins have looked at more rows than estimated, and mining ends."""


class Miner:
    """Breadth-first search from the most general query, refined by one condition or literal a level.

    A query can be built in many orders; only its least sequence of literals (relation, variables, conditions) is
    followed: conditions are added to the last literal and in order, and a literal that could have come before the last
    one must not be less than it. A prefix of a least sequence is itself least, so nothing is lost, and in sorted levels
    the least sequence of a query is found before its others.
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
        """A query is frequent where its support in some class,
        or in all (the last threshold), reaches its threshold.
        """
        self._language = language
        self._connected = connected
        self._limits = limits or Limits()
        self._n = len(classes)
        self._additions: dict[Skeleton, list[Addition]] = {}
        self._by_class = np.bincount(classes, weights, minlength=len(thresholds) - 1)
        self._thresholds = thresholds * (1.0 - 1e-12)
        self._passes = language.passes(classes, weights, len(thresholds) - 1, self._limits)

    def mine(self, max_length: int) -> Mined:
        """All frequent queries up to a length, none equivalent to another."""
        root = (0, tuple(range(self._language.n_root)), ())
        queries = [Query((root,), self._language.structure((root[:2],)), rows=self._n)]
        mined = Mined(left_out=LeftOut(list(self._language.left_out)))
        with learning() as ending:
            for length in range(1, max_length + 1):
                families = [
                    list(family)
                    for _, family in groupby(queries, key=lambda query: (id(query.parent), id(query.added)))
                ]
                is_last = length == max_length
                level = _Level(mined, is_last, self._affordable(families, mined, length, is_last))
                try:
                    self._refine_all(families, level, length)
                except (_Full, _Spent) as limit:
                    mined.left_out.tell(str(limit))
                    break
                queries = [] if level.is_last else sorted(level.following, key=lambda query: query.body)
        mined.stopped = ending.reason
        return mined

    def _affordable(self, families: list[list[Query]], mined: Mined, length: int, is_last: bool) -> float:
        """The rows that a step of this level may look at:
        the last level may use up what is left of `max_rows`, others half of it.
        """
        limit = self._limits.max_rows
        if limit is None:
            return math.inf
        costs = np.concatenate([self._costs(family) for family in families]) if families else np.empty(0)
        most = largest_affordable(costs, (limit - mined.rows) / (1 if is_last else 2))
        left_out = int((costs > most).sum())
        if left_out:
            mined.left_out.tell(
                f"{left_out:,} of {costs.size:,} ways to extend queries of length {length - 1}, those that "
                "look at most rows, "
                f"were left out (max_rows={limit:,})"
            )
        return most

    def _costs(self, family: list[Query]) -> NDArray[np.float64]:
        """About how many rows a family looks at: for further conditions, and for each literal that may be added."""
        return self._rows(family) * np.array([1.0, *(1.0 + added.fan_out for added in self._possible(family[0]))])

    def _rows(self, family: list[Query]) -> float:
        """About how many bindings a family has."""
        first = family[0]
        return (
            first.rows
            if len(family) > 1
            else first.rows * self._language.relations[first.body[-1][0]].shares[first.condition]
        )

    def _refine_all(self, families: list[list[Query]], level: _Level, length: int) -> None:
        """Refine all families in their order; where that finds too many queries, the most informative ones first."""
        try:
            self._refine_each(families, level, length)
        except _Full:
            if np.count_nonzero(self._by_class) < 2:
                raise
            level.start_again()
            self._refine_each(self._by_information(families), level, length)

    def _by_information(self, families: list[list[Query]]) -> list[list[Query]]:
        """The queries that tell most about the class first: families, cut where they are large, by their best."""
        parts, best = [], []
        for family in families:
            information = comparable(np.array([self._information(query) for query in family]))
            order = np.argsort(-information, kind="stable")
            for start in range(0, len(family), _TOGETHER):
                parts.append([family[k] for k in order[start : start + _TOGETHER]])
                best.append(information[order[start]])
        return [parts[k] for k in np.argsort(-np.array(best), kind="stable")]

    def _refine_each(self, families: list[list[Query]], level: _Level, length: int) -> None:
        n_queries, refined = sum(map(len, families)), 0
        for family in families:
            try:
                self._refine(family, level)
            except Stopped as stop:
                level.mined.left_out.tell(
                    f"{stop}: {n_queries - refined:,} of {n_queries:,} queries of length {length - 1} "
                    "were not, or not in all ways, extended"
                )
                raise
            refined += len(family)

    def _information(self, query: Query) -> float:
        """What a query tells about the class; the most general one tells nothing."""
        return mutual_information(np.stack([query.support, self._by_class - query.support])) if query.support else 0.0

    def _refine(self, queries: list[Query], level: _Level, barren: frozenset[Shape] = frozenset()) -> frozenset[Shape]:
        """Refine the queries of a family in their order;
        tells the literals that are barren for all of them, besides those known.
        """
        check()
        first = queries[0]
        additions = self._possible(first)
        if self._limits.max_rows is not None and level.mined.rows > 2 * self._limits.max_rows:
            raise _Spent(f"twice max_rows={self._limits.max_rows:,} was reached: further queries were left out")
        if np.isfinite(level.most_rows):
            affordable = self._costs(queries) <= level.most_rows
            if not affordable[0]:
                return barren
            additions = [added for added, is_affordable in zip(additions, affordable[1:], strict=True) if is_affordable]
        family = _family(queries)
        bindings, *reached = self._passes.measured(family, [added.shape for added in additions])
        size = self._size(bindings, additions, reached)
        if size < len(queries):
            for start in range(0, len(queries), size):
                barren = self._refine(queries[start : start + size], level, barren)
            return barren
        if bindings > self._limits.max_bindings:
            kind = f"queries with more than max_bindings={self._limits.max_bindings:,} bindings were not extended"
            level.mined.left_out.add(kind, lambda: f"'{self._text(first)}'")
            return barren
        if first.parent is not None:
            barren = barren.union(first.parent.barren)
        tests = self._tests(queries, family)
        wanted = [(added, rows) for added, rows in zip(additions, reached, strict=True) if added.shape not in barren]
        literals = self._literals(queries, family, bindings, wanted, level)
        if len(queries) > 1:
            literals = list(
                literals
            )  # all are counted before the first query is refined; for one query each is in turn
        for slot, query in enumerate(queries):
            found_barren = set(barren)
            share = self._last(queries).shares[query.condition] if len(queries) > 1 else 1.0
            # further conditions on a bare literal are counted with it
            if tests is not None and (query.body[-1][2] or len(query.body) == 1):
                self._add_tests(query, slot, tests, bindings * share, level)
            if not query.pending:
                for added, rows, found in literals:
                    if added.shape in barren:
                        continue
                    if not self._add_literal(query, slot, added, found, rows * share, level):
                        found_barren.add(added.shape)
            query.barren = frozenset(found_barren)
            if not query.condition:
                barren = query.barren
        return barren

    def _possible(self, query: Query) -> list[Addition]:
        """The literals that may be added to all queries with the same ones."""
        skeleton = skeleton_of(query.body)
        if skeleton not in self._additions:
            self._additions[skeleton] = additions_to(self._language, skeleton, self._connected)
        return self._additions[skeleton]

    def _size(self, bindings: int, additions: list[Addition], reached: list[int]) -> int:
        """For how many queries a pass may count at once, in an eighth of the memory;
        for one where what they share is too much.
        """
        limit = self._limits.max_bindings
        if bindings > limit or any(rows > 50 * limit for rows in reached):
            return 1
        width = sum(self._language.relations[added.shape[0]].n_words for added in additions)
        return max(1, self._limits.cache_bytes // 8 // max(8 * self._n * width, 1))

    def _tests(self, queries: list[Query], family: Family) -> Frequent | None:
        """Further conditions on the last literal, where it has some already; on a bare one they are counted with it."""
        if self._last(queries).n_conditions == 1 or not (queries[-1].condition or len(queries[0].body) == 1):
            return None
        return next(self._passes.frequent(family, [None], self._thresholds, keep=False))

    def _literals(
        self,
        queries: list[Query],
        family: Family,
        bindings: int,
        additions: list[tuple[Addition, int]],
        level: _Level,
    ) -> Iterable[tuple[Addition, int, Frequent]]:
        """New literals, each with the rows that it joins; a query that says nothing new so far is not extended."""
        if all(query.pending for query in queries):
            return
        most = 50 * self._limits.max_bindings
        shapes = [added.shape for added, rows in additions if rows <= most]
        found = self._passes.frequent(family, shapes, self._thresholds, keep=not level.is_last)
        for added, rows in additions:
            check()
            if rows > most:
                self._tell_of_rows(level, queries[0], self._language.relations[added.shape[0]])
                continue
            level.mined.rows += rows + bindings
            yield added, rows, next(found)

    def _last(self, queries: list[Query]) -> Relation:
        return self._language.relations[queries[0].body[-1][0]]

    def _tell_of_rows(self, level: _Level, query: Query, relation: Relation) -> None:
        kind = f"literals that reach more than 50 * max_bindings={self._limits.max_bindings:,} rows were left out"
        level.mined.left_out.add(kind, lambda: f"'{relation.name}' after '{self._text(query)}'")

    def _add_tests(self, query: Query, slot: int, found: Frequent, rows: float, level: _Level) -> None:
        number, variables, tests = query.body[-1]
        relation = self._language.relations[number]
        level.mined.candidates += relation.n_conditions
        last = relation.attribute[tests[-1]] if tests else -1
        before, seen = tuple([conditions for _, _, conditions in query.body[:-1]]), level.seen[query.structure.number]
        for k in range(found.starts[slot], found.starts[slot + 1]):
            condition = found.conditions[k]
            if relation.attribute[condition] > last:
                more = (*tests, condition)
                key = query.structure.key((*before, more))
                if key not in seen:
                    seen.add(key)
                    longer = Query(
                        (*query.body[:-1], (number, variables, more)), query.structure, query, None, condition
                    )
                    longer.rows = rows
                    self._keep(longer, (*before, more), found, k, level)

    def _add_literal(
        self, query: Query, slot: int, added: Addition, found: Frequent, rows: float, level: _Level
    ) -> bool:
        """Extend a query by a literal, unless nothing frequent comes of it."""
        level.mined.candidates += self._language.relations[added.shape[0]].n_conditions
        start, end = found.starts[slot : slot + 2]
        if start == end:
            return False
        structure = added.structure = added.structure or self._language.structure(added.skeleton)
        least = query.body[-1][2] if added.skeleton[-1] == query.body[-1][:2] else ()
        before, seen = tuple([conditions for _, _, conditions in query.body]), level.seen[structure.number]
        for k in range(start, end):
            condition = found.conditions[k]
            atom = added.atom(condition)
            if atom[2] >= least:
                conditions = (*before, atom[2])
                key = structure.key(conditions)
                if key not in seen:
                    seen.add(key)
                    longer = Query((*query.body, atom), structure, query, added, condition)
                    longer.rows = rows
                    self._keep(longer, conditions, found, k, level)
        return True

    def _keep(self, query: Query, conditions: ConditionSets, found: Frequent, k: int, level: _Level) -> None:
        """Keep a frequent query that was not seen before, unless it says no more than a shorter one."""
        redundant = query.structure.redundancy(conditions)
        if redundant == "for good":
            return
        mined = level.mined
        if self._limits.max_patterns is not None and len(mined.queries) >= self._limits.max_patterns:
            raise _Full(
                f"max_patterns={self._limits.max_patterns:,} was reached: further queries, the first being "
                f"'{self._text(query)}', were left out"
            )
        query.covered = found.hits[k].tobytes()
        query.support = found.support[k]
        query.pending = redundant == "so far"
        level.following.append(query)
        if not query.pending and (self._language.oi or self._language.is_core(query.body)):
            mined.queries.append(query)

    def _text(self, query: Query) -> str:
        return query_text(self._language.clause(query.body, Head("", "")))


def _family(queries: list[Query]) -> Family:
    """Queries that differ in their last condition only, or one query alone."""
    first = queries[0]
    if len(queries) == 1:
        return Family(first.path)
    assert first.parent is not None
    shape = None if first.added is None else first.added.shape
    return Family(first.parent.path, shape, tuple([query.condition for query in queries]))


def thresholds(
    min_support: float,
    support: Choice["overall", "any_class", "positive"],
    by_class: NDArray[np.float64],
    positive: int,
) -> NDArray[np.float64]:
    """The weight that makes a query frequent, for each class and, last, for all examples;
    infinite where it does not count.

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
