"""The literals of queries, whatever their conditions: their canonical form, and which of them say the same.

A query is a tuple of literals (relation, variables, conditions): relation 0 is the example itself, each key column of a
literal holds a variable (the examples' keys come first), and conditions are numbers of tests on its columns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, permutations, product
from typing import Literal as Choice

from hornboost.mining.relation import Relation

Atom = tuple[int, tuple[int, ...], tuple[int, ...]]
Body = tuple[Atom, ...]
Skeleton = tuple[tuple[int, tuple[int, ...]], ...]
"""The literals of a query without their conditions."""
ConditionSets = tuple[tuple[int, ...], ...]
"""The conditions of a query, literal by literal."""


@dataclass(frozen=True, slots=True)
class Structure:
    """What queries with the same literals share, whatever their conditions.

    `form` is the same for all renamings, and numbered; `orders` put conditions of the literals into its order, in which
    equal literals stand from and up to some places (`repeats`).
    `overlaps` are pairs (i, j, like) where literal i says no more than j: both are of one relation and have the same
    variables (`like`), or i, if bare, follows from j.
    """

    form: Skeleton
    number: int
    orders: tuple[Callable[[ConditionSets], ConditionSets], ...]
    repeats: tuple[tuple[int, int], ...]
    overlaps: tuple[tuple[int, int, bool], ...]

    def key(self, conditions: ConditionSets) -> ConditionSets:
        """The same for all queries of the form that differ in names of variables, order of literals,
        or direction of symmetric ones.
        """
        if self.repeats:
            return min([self._sorted(order(conditions)) for order in self.orders])
        if len(self.orders) == 1:
            return self.orders[0](conditions)
        return min([order(conditions) for order in self.orders])

    def _sorted(self, conditions: ConditionSets) -> ConditionSets:
        """Conditions in the order of the form, those of equal literals, which stand side by side, in their own."""
        ordered = list(conditions)
        for start, end in self.repeats:
            ordered[start:end] = sorted(ordered[start:end])
        return tuple(ordered)

    def redundancy(self, conditions: ConditionSets) -> Choice["", "so far", "for good"]:
        """Whether some literal follows from another:
        from one with more conditions on the same variables, or, bare, from the data.

        "so far" where it is the last one, which may get further conditions.
        """
        found: Choice["", "so far", "for good"] = ""
        for i, j, like in self.overlaps:
            tests = conditions[i]
            if not tests:
                return "for good"
            if like and set(tests) <= set(conditions[j]):
                if i < len(conditions) - 1 or tests == conditions[j]:
                    return "for good"
                found = "so far"
        return found


def skeleton_of(body: Body) -> Skeleton:
    """The literals of a query without their conditions."""
    return tuple([(relation, variables) for relation, variables, _ in body])


def repeats_of(form: Skeleton) -> tuple[tuple[int, int], ...]:
    """From where up to where literals of a sorted form are equal.

    >>> repeats_of(((0, (0,)), (1, (0, 1)), (1, (0, 1)), (2, (1,))))
    ((1, 3),)
    """
    places, found = range(len(form)), []
    for _, run in groupby(places, key=form.__getitem__):
        first, *others = run
        if others:
            found.append((first, first + 1 + len(others)))
    return tuple(found)


def canonical(relations: Sequence[Relation], skeleton: Skeleton) -> tuple[Skeleton, list[tuple[int, ...]]]:
    """The form of a skeleton under all renamings, and the orders that put its literals into it."""
    renamed = [_renamed(relations, skeleton, order) for order in _namings(relations, skeleton)]
    form = min(found for found, _ in renamed)
    return form, sorted({places for found, places in renamed if found == form})


def _namings(relations: Sequence[Relation], skeleton: Skeleton) -> Iterator[list[int]]:
    """Orders of the free variables, in classes that no renaming can mix."""
    n_root = len(relations[0].columns)
    free = sorted({v for _, variables in skeleton for v in variables if v >= n_root})
    colour = {v: v if v < n_root else n_root for _, variables in skeleton for v in variables}
    classes = 1
    while True:
        seats: dict[int, list[int]] = {v: [] for v in free}
        for relation, variables in skeleton:
            pair = relations[relation].symmetric or (-1, -1)
            colours = tuple([colour[v] for v in variables])
            if pair[0] >= 0:
                ends = sorted((colours[pair[0]], colours[pair[1]]))
                colours = (*[c for k, c in enumerate(colours) if k not in pair], *ends)
            for k, v in enumerate(variables):
                if v >= n_root:
                    seats[v].append(hash((relation, pair[0] if k == pair[1] else k, colours)))
        for v in free:
            colour[v] = hash((colour[v], tuple(sorted(seats[v]))))
        found = len({colour[v] for v in free})
        if found == len(free) or found == classes:
            break
        classes = found
    groups: dict[int, list[int]] = {}
    for v in free:
        groups.setdefault(colour[v], []).append(v)
    for order in product(*(permutations(groups[c]) for c in sorted(groups))):
        yield [v for group in order for v in group]


def _renamed(
    relations: Sequence[Relation], skeleton: Skeleton, order: Sequence[int]
) -> tuple[Skeleton, tuple[int, ...]]:
    """The literals sorted under new names, and the place that each had."""
    names = {v: len(relations[0].columns) + k for k, v in enumerate(order)}
    renamed = sorted(
        (relation, _normal(relations[relation], tuple([names.get(v, v) for v in variables])), place)
        for place, (relation, variables) in enumerate(skeleton)
    )
    return tuple([(relation, variables) for relation, variables, _ in renamed]), tuple(
        [place for _, _, place in renamed]
    )


def _normal(relation: Relation, variables: tuple[int, ...]) -> tuple[int, ...]:
    """The variables of a literal with those of a symmetric relation in order."""
    pair = relation.symmetric
    if pair is None or variables[pair[0]] <= variables[pair[1]]:
        return variables
    swapped = list(variables)
    swapped[pair[0]], swapped[pair[1]] = variables[pair[1]], variables[pair[0]]
    return tuple(swapped)
