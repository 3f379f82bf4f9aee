"""Counts what queries hold for, where the rows are: how often they can be bound, and the conditions that a further
literal reaches.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hornboost.data.index import KeyIndex
from hornboost.data.table import Table
from hornboost.mining import query_kernels as kernels
from hornboost.mining.binding_cache import BindingCache
from hornboost.mining.bindings import Bindings, Words
from hornboost.mining.limits import Limits
from hornboost.mining.paths import Family, Path, Shape, skeleton_of_path
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
        self._prepared: dict[tuple[Skeleton, Shape], kernels.Prepared] = {}
        self._cache = BindingCache(self, asked.limits)
        self._anything: dict[int, Words] = {}
        self._counted: tuple[Family, dict[Shape | None, Words]] | None = None

    @property
    def nbytes(self) -> int:
        """The bytes of what is kept."""
        return sum(rows.nbytes for rows in self._rows) + self._cache.nbytes

    def measured(self, family: Family, shapes: Sequence[Shape]) -> NDArray[np.int64]:
        """How many bindings a family has, cut off beyond `max_bindings`, and the rows that each literal joins."""
        bindings = self._bindings(family)
        out = np.zeros(1 + len(shapes), np.int64)
        out[0] = len(bindings)
        if len(bindings) > self._asked.limits.max_bindings:
            return out
        skeleton = self._shared_skeleton(family)
        counted: dict[tuple[int, int], int] = {}
        for k, shape in enumerate(shapes, 1):
            literal = self.prepared(skeleton, shape)
            join = int(literal.variable), id(literal.offsets)  # many literals follow the same one
            if join not in counted:
                counted[join] = bindings.count_reached(literal)
            out[k] = counted[join]
        return out

    def supports(self, family: Family, shape: Shape | None) -> NDArray[np.float64]:
        """The weight by class of the examples that reach each condition of a new literal, or each further one of the
        last: a row for each query of the family and condition.
        """
        reached = self._reached(family, shape)
        asked = self._asked
        return kernels.supports(
            reached, self._relation(family, shape).n_conditions, asked.classes, asked.weights, asked.n_classes
        )

    def hits(self, family: Family, shape: Shape | None, found: NDArray[np.int64], keep: bool) -> NDArray[np.uint8]:
        """The examples, as bits, that reach some conditions, which are given by their rows in `supports`.

        What is kept serves the queries that follow from these.
        """
        reached, n_conditions = self._reached(family, shape), self._relation(family, shape).n_conditions
        if keep and shape is not None:
            frequent = set((found // n_conditions).tolist())
            for slot, path in enumerate(family.members()):
                if slot in frequent:
                    self._cache.remember(path, shape, reached[slot] if len(reached) == 1 else reached[slot].copy())
        if self._counted is not None:
            self._counted[1].pop(shape, None)
        return kernels.hits(reached, n_conditions, found)

    def _reached(self, family: Family, shape: Shape | None) -> Words:
        if self._counted is None or self._counted[0] != family:
            self._counted = family, {}
        known = self._counted[1].get(shape)
        if known is None:
            known = self._counted[1][shape] = self._reach(family, shape)
        return known

    def _reach(self, family: Family, shape: Shape | None) -> Words:
        bindings, slots = self._bindings(family), self._slots(family)
        relation = self._relation(family, shape)
        if shape is None:
            return kernels.reach_tests(
                bindings.example, bindings.rows, slots, self.n, relation.n_words, bindings.cutoffs
            )
        known = self._cache.known(family.general, shape)
        if known is None:
            known = self._unknown(relation.n_words)
        literal = self.prepared(self._shared_skeleton(family), shape)
        return bindings.reach(literal, slots, self._rows[shape[0]].held, known)

    def _unknown(self, n_words: int) -> Words:
        """Nothing is known of what may be reached, so anything may."""
        if n_words not in self._anything:
            self._anything[n_words] = np.full((self.n, n_words), np.iinfo(np.uint64).max, np.uint64)
        return self._anything[n_words]

    def _bindings(self, family: Family) -> Bindings:
        return self._cache.shared(family.path, family.shape) if family.conditions else self._cache.bindings(family.path)

    def _relation(self, family: Family, shape: Shape | None) -> Relation:
        """The relation of a new literal, or of the last one."""
        return self.relations[self._shared_skeleton(family)[-1][0] if shape is None else shape[0]]

    def _slots(self, family: Family) -> kernels.Slots:
        """The place of each query, by its condition on the last literal."""
        last = self._shared_skeleton(family)[-1][0]
        held, slots = self._rows[last].held, np.full(self.relations[last].n_conditions, -1, np.int32)
        if not family.conditions:
            return kernels.Slots(held, slots, 0, 1)
        slots[list(family.conditions)] = np.arange(len(family.conditions), dtype=np.int32)
        whole, slots[0] = int(slots[0]), -1
        return kernels.Slots(held, slots, whole, len(family.conditions))

    def skeleton(self, path: Path) -> Skeleton:
        """The literals of the query of a path."""
        return skeleton_of_path(path, len(self.relations[0].columns))

    def _shared_skeleton(self, family: Family) -> Skeleton:
        return self.skeleton(family.path if family.shape is None else (*family.path, (family.shape, 0)))

    def of_examples(self) -> Bindings:
        """The bindings of the most general query."""
        return Bindings.of_examples(self._rows[0].keys, self.cutoffs)

    def held(self, number: int) -> HeldRows:
        """Which conditions the rows of a relation hold."""
        return self._rows[number].held

    def prepared(self, skeleton: Skeleton, shape: Shape) -> kernels.Prepared:
        """A literal that may be added to all queries with the same ones, as the kernels see it."""
        known = self._prepared.get((skeleton, shape))
        if known is None:
            known = self._prepared[skeleton, shape] = self._made(skeleton, shape)
        return known

    def _made(self, skeleton: Skeleton, shape: Shape) -> kernels.Prepared:
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
