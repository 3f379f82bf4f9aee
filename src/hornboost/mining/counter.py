"""Counts what queries hold for, where the rows are: how often they can be bound, and the conditions that a further
literal reaches.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hornboost.data.index import KeyIndex
from hornboost.data.table import Table
from hornboost.mining import query_kernels as kernels
from hornboost.mining import tally_kernels
from hornboost.mining.binding_cache import BindingCache
from hornboost.mining.bindings import Bindings, Words
from hornboost.mining.frequent import Frequent
from hornboost.mining.limits import Limits
from hornboost.mining.paths import Family, Shape, extended, last_relation
from hornboost.mining.relation import Relation
from hornboost.mining.relation_rows import RelationRows
from hornboost.mining.row_kernels import HeldRows
from hornboost.mining.structure import Skeleton

if TYPE_CHECKING:
    from hornboost.data import Database


@dataclass(frozen=True, eq=False, slots=True)
class CountSetup:
    """What is counted: the relations, object identity, and the examples with their classes and weights.

    Sums of these weights must be exact, so that it does not matter where they are added.
    """

    relations: list[Relation]
    oi: bool
    classes: NDArray[np.int32]
    weights: NDArray[np.float64]
    n_classes: int
    limits: Limits


@dataclass(frozen=True, eq=False, slots=True)
class _Pass:
    """A family that is counted: its bindings, those queries as slots, the relation of the last literal, the literals
    that were prepared for such queries, what is known of a more general one, and what was reached so far.
    """

    family: Family
    bindings: Bindings
    slots: kernels.Slots
    last: Relation
    prepared: _Literals
    known: Mapping[Shape, Words]
    reached: dict[Shape | None, Words] = field(default_factory=dict)


class Counter:
    """Queries over the rows of a database that is here, and over some of its examples."""

    def __init__(self, database: Database, examples: Table, asked: CountSetup) -> None:
        self.relations = asked.relations
        self.n = examples.n_rows
        self.cutoffs = None if examples.times is None else np.ascontiguousarray(examples.times.numbers)
        self._asked = asked
        self._database = database
        tables = [examples, *(database.tables[relation.name] for relation in self.relations[1:])]
        self._rows = [RelationRows(t, r, self.cutoffs is not None) for t, r in zip(tables, self.relations, strict=True)]
        self._literals: dict[tuple[Shape, ...], _Literals] = {}
        self._cache = BindingCache(self, asked.limits)
        self._anything: dict[int, Words] = {}
        self._current: _Pass | None = None

    @property
    def nbytes(self) -> int:
        """The bytes of what is kept."""
        return sum(rows.nbytes for rows in self._rows) + self._cache.nbytes

    def measured(self, family: Family, shapes: Sequence[Shape]) -> NDArray[np.int64]:
        """How many bindings a family has, cut off beyond `max_bindings`, and the rows that each literal joins."""
        at = self._pass(family)
        out = np.zeros(1 + len(shapes), np.int64)
        out[0] = len(at.bindings)
        if out[0] > self._asked.limits.max_bindings:
            return out
        counted: dict[tuple[int, int], int] = {}
        for k, shape in enumerate(shapes, 1):
            literal = at.prepared[shape]
            join = int(literal.variable), id(literal.offsets)  # many literals follow the same one
            if join not in counted:
                counted[join] = at.bindings.count_reached(literal)
            out[k] = counted[join]
        return out

    def supports(self, family: Family, shape: Shape | None) -> NDArray[np.float64]:
        """The weight by class of the examples that reach each condition of a new literal, or each further one of the
        last: a row for each query of the family and condition.
        """
        at, asked = self._pass(family), self._asked
        reached, relation = self._reached(at, shape), self._relation(at, shape)
        return tally_kernels.supports(reached, relation.n_conditions, asked.classes, asked.weights, asked.n_classes)

    def hits(self, family: Family, shape: Shape | None, places: NDArray[np.int64], keep: bool) -> NDArray[np.uint8]:
        """The examples, as bits, that reach some conditions, which are given by their places in `supports`.

        What is kept serves the queries that follow from these.
        """
        at = self._pass(family)
        reached, n_conditions = self._reached(at, shape), self._relation(at, shape).n_conditions
        at.reached.pop(shape, None)
        if keep and shape is not None:
            self._remember(family, shape, reached, set((places // n_conditions).tolist()))
        return tally_kernels.hits(reached, n_conditions, places)

    def frequent(self, family: Family, shape: Shape | None, thresholds: NDArray[np.float64], keep: bool) -> Frequent:
        """What is frequent here: `supports` and `hits` in one."""
        at, asked = self._pass(family), self._asked
        reached, n_conditions = self._reach(at, shape), self._relation(at, shape).n_conditions
        found = Frequent.of(
            *tally_kernels.tally(reached, n_conditions, asked.classes, asked.weights, asked.n_classes, thresholds)
        )
        if keep and shape is not None:
            slots = {slot for slot, (start, end) in enumerate(pairwise(found.starts)) if start < end}
            self._remember(family, shape, reached, slots)
        return found

    def _remember(self, family: Family, shape: Shape, reached: Words, slots: AbstractSet[int]) -> None:
        """Keep what a literal reaches after the queries of some slots, and not the whole family's for one of them."""
        for slot, path in enumerate(family.members()):
            if slot in slots:
                self._cache.remember(path, shape, reached[slot] if len(reached) == 1 else reached[slot].copy())

    def _pass(self, family: Family) -> _Pass:
        """The pass over a family; the last one is kept, as most questions are about the same family."""
        if self._current is not None and (self._current.family is family or self._current.family == family):
            return self._current
        self._current = None
        cache, shapes = self._cache, family.shapes
        bindings = cache.shared(family.path, family.shape) if family.conditions else cache.bindings(family.path)
        last = last_relation(shapes)
        found = _Pass(
            family,
            bindings,
            self._slots(family, last),
            self.relations[last],
            self.literals(shapes),
            cache.known(family.general),
        )
        if len(bindings) <= self._asked.limits.max_bindings:
            self._current = found
        return found

    def _reached(self, at: _Pass, shape: Shape | None) -> Words:
        known = at.reached.get(shape)
        if known is None:
            known = at.reached[shape] = self._reach(at, shape)
        return known

    def _reach(self, at: _Pass, shape: Shape | None) -> Words:
        bindings = at.bindings
        if shape is None:
            return kernels.reach_tests(
                bindings.example, bindings.rows, at.slots, self.n, at.last.n_words, bindings.cutoffs
            )
        known = at.known.get(shape)
        if known is None:
            known = self._unknown(self.relations[shape[0]].n_words)
        return bindings.reach(at.prepared[shape], at.slots, self._rows[shape[0]].held, known)

    def _unknown(self, n_words: int) -> Words:
        """Nothing is known of what may be reached, so anything may."""
        if n_words not in self._anything:
            self._anything[n_words] = np.full((self.n, n_words), np.iinfo(np.uint64).max, np.uint64)
        return self._anything[n_words]

    def _relation(self, at: _Pass, shape: Shape | None) -> Relation:
        """The relation of a new literal, or of the last one."""
        return at.last if shape is None else self.relations[shape[0]]

    def _slots(self, family: Family, last: int) -> kernels.Slots:
        """The place of each query, by its condition on the last literal."""
        held, slots = self._rows[last].held, np.full(self.relations[last].n_conditions, -1, np.int32)
        if not family.conditions:
            return kernels.Slots(held, slots, 0, 1)
        slots[list(family.conditions)] = np.arange(len(family.conditions), dtype=np.int32)
        whole, slots[0] = int(slots[0]), -1
        return kernels.Slots(held, slots, whole, len(family.conditions))

    def of_examples(self) -> Bindings:
        """The bindings of the most general query."""
        return Bindings.of_examples(self._rows[0].keys, self.cutoffs)

    def held(self, number: int) -> HeldRows:
        """Which conditions the rows of a relation hold."""
        return self._rows[number].held

    def literals(self, shapes: tuple[Shape, ...]) -> _Literals:
        """The literals that may be added to all queries with the same ones, as the kernels see them."""
        known = self._literals.get(shapes)
        if known is None:
            known = self._literals[shapes] = _Literals(self, shapes)
        return known

    def prepared(self, skeleton: Skeleton, shape: Shape) -> kernels.Prepared:
        """A literal that may be added to queries, as the kernels see it."""
        number, pattern = shape
        relation = self.relations[number]
        column = followed(relation, pattern)
        index = self._database.index(relation.name, relation.columns[column])
        new = [k for k, v in enumerate(pattern) if v < 0]
        equal = [(k, v) for k, v in enumerate(pattern) if v >= 0 and k != column]
        unequal: list[tuple[int, int]] = []
        apart: list[tuple[int, int]] = []
        if self._asked.oi:
            known = domains_of(self.relations, skeleton)
            unequal = [(k, v) for k in new for v, domain in known.items() if domain == relation.domains[k]]
            apart = [(k, o) for k in new for o in new if k < o and relation.domains[k] == relation.domains[o]]
        n_root = len(self.relations[0].columns)
        free = {v for _, variables in skeleton for v in variables if v >= n_root}
        used = sorted(free & {pattern[column], *(v for _, v in (*equal, *unequal))})
        return kernels.Prepared(
            np.uint32(pattern[column]),
            index.offsets,
            index.rows,
            self._rows[number].keys,
            _pairs(equal),
            _pairs(unequal),
            _pairs(apart),
            np.array(new, np.uint32),
            np.array(used, np.uint32),
            len(used) < len(free),
            self._times(index),
        )

    def _times(self, index: KeyIndex) -> NDArray[np.float64] | None:
        """The times of an index's rows: empty where they have none but others do, None where nothing has."""
        if self.cutoffs is None:
            return None
        return np.empty(0) if index.times is None else index.times


class _Literals(dict[Shape, kernels.Prepared]):
    """Literals after those of queries that have the same ones, each prepared when it is first asked for."""

    def __init__(self, counter: Counter, shapes: tuple[Shape, ...]) -> None:
        super().__init__()
        self._counter = counter
        root: Skeleton = ((0, tuple(range(len(counter.relations[0].columns)))),)
        self._skeleton = reduce(extended, shapes, root)

    def __missing__(self, shape: Shape) -> kernels.Prepared:
        self[shape] = made = self._counter.prepared(self._skeleton, shape)
        return made


def followed(relation: Relation, pattern: Sequence[int]) -> int:
    """The key column by which the rows of a literal are looked up: that with the fewest rows beside each other."""
    return min((k for k, v in enumerate(pattern) if v >= 0), key=lambda k: relation.fan_out[k])


def domains_of(relations: Sequence[Relation], skeleton: Skeleton) -> dict[int, str]:
    """The domain of each variable."""
    return {
        v: domain
        for relation, variables in skeleton
        for v, domain in zip(variables, relations[relation].domains, strict=True)
    }


def _pairs(found: list[tuple[int, int]]) -> NDArray[Any]:
    return np.array(found, np.uint32).reshape(-1, 2)
