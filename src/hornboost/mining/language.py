"""The language of the queries: which literals may be added, what says no more than another, and their clauses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import permutations, product
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hornboost.data.table import Table
from hornboost.logic.clause import Clause, Head, Literal
from hornboost.logic.names import variable_name
from hornboost.mining.counter import CountSetup, domains_of
from hornboost.mining.limits import Limits
from hornboost.mining.reachable import Passes, Reachable, reachable_of
from hornboost.mining.relation import Relation, relation_of, root_of
from hornboost.mining.seen import rows_in, seen_examples
from hornboost.mining.structure import Body, Skeleton, Structure, canonical, repeats_of, skeleton_of

if TYPE_CHECKING:
    from hornboost.data import Database

Place = tuple[int, int, int]
"""A relation and two of its key columns."""

NEW = 1 << 20
"""A variable that a literal brings in, after all others."""


@dataclass(eq=False)
class Language:
    """The relations, what holds between them, and where their rows are.

    Literals are at most `max_depth` joins away from the example. What holds of examples is asked of `everyone`, also
    where `source` has only some of them.
    """

    relations: list[Relation]
    oi: bool
    left_out: list[str]
    source: Reachable
    everyone: Reachable
    max_depth: int | None = None
    _included: dict[tuple[int, int, tuple[int, ...]], bool] = field(default_factory=dict)
    _agreements: dict[tuple[Place, Place], bool] = field(default_factory=dict)
    _structures: dict[Skeleton, Structure] = field(default_factory=dict)
    _forms: dict[Skeleton, int] = field(default_factory=dict)

    @classmethod
    def of(
        cls,
        database: Database,
        examples: Table,
        weights: NDArray[np.float64],
        *,
        bins: int,
        oi: bool,
        symmetric: Mapping[str, tuple[str, str]],
        steps: int,
        max_depth: int | None = None,
    ) -> Language:
        """Cut the numbers of the rows that the examples reach within some steps, and number all conditions."""
        left_out: list[str] = []
        source = reachable_of(database, examples)
        relations = [root_of(source.examples, seen_examples(source.examples, weights), bins, left_out)]
        names = [name for name, table in database.tables.items() if _tells(table, examples, rows_in(database, name))]
        seen = source.seen(names, steps if max_depth is None else min(steps, max_depth))
        for name in names:
            pair, n_rows = symmetric.get(name, ()), rows_in(database, name)
            relations.append(relation_of(database.tables[name], database, seen[name], n_rows, bins, left_out, pair))
        return cls(relations, oi, left_out, source, source, max_depth)

    def among(self, rows: NDArray[np.intp]) -> Language:
        """The same language over some of the examples; what holds between the tables is still asked of all."""
        return replace(self, source=self.source.among(rows))

    def passes(
        self, classes: NDArray[np.int32], weights: NDArray[np.float64], n_classes: int, limits: Limits
    ) -> Passes:
        """What counts queries over the examples, which have these classes and weights."""
        return self.source.passes(CountSetup(self.relations, self.oi, classes, weights, n_classes, limits))

    @property
    def n_root(self) -> int:
        return len(self.relations[0].columns)

    def domains(self, skeleton: Skeleton) -> dict[int, str]:
        """The domain of each variable."""
        return domains_of(self.relations, skeleton)

    def shapes(self, skeleton: Skeleton, connected: bool) -> list[tuple[int, tuple[int, ...]]]:
        """Every literal that may be added, as its relation and variables, -1 for a new one;
        symmetric relations in one direction.

        One that could stand before the last literal is left out where it is less than that (see `Miner`), and with
        object identity one whose new variable would have to be another of the query's.
        """
        domains = self.domains(skeleton)
        grown = any(v >= self.n_root for v in domains)
        last, earlier = self._last(skeleton)
        near = {v for v, depth in self._depths(skeleton).items() if self.max_depth is None or depth < self.max_depth}
        found = []
        for number, relation in enumerate(self.relations[1:], 1):
            choices = [[v for v, other in domains.items() if other == domain] + [-1] for domain in relation.domains]
            for shape in product(*choices):
                bound = [v for v in shape if v >= 0]
                if not bound or len(set(bound)) < len(bound) or self._is_turned(relation, shape):
                    continue
                if connected and grown and -1 in shape and max(bound) < self.n_root:
                    continue
                if near.isdisjoint(bound):
                    continue
                if max(bound) < earlier and (number, _with_new(shape)) < last:
                    continue
                if not self._same_row(number, shape, skeleton) and not (
                    self.oi and self._must_be_known(number, shape, skeleton)
                ):
                    found.append((number, shape))
        return sorted(found, key=lambda found: (found[0], _with_new(found[1])))

    def _depths(self, skeleton: Skeleton) -> dict[int, int]:
        """How many joins away from the example the row is that brings in each variable."""
        depths = dict.fromkeys(range(self.n_root), 0)
        for _, variables in skeleton[1:]:
            depth = 1 + min((depths[v] for v in variables if v in depths), default=0)
            for v in variables:
                depths.setdefault(v, depth)
        return depths

    def _last(self, skeleton: Skeleton) -> tuple[tuple[int, tuple[int, ...]], int]:
        """The last literal as a shape, and the number of variables before it; nothing comes before a root."""
        if len(skeleton) == 1:
            return (0, ()), 0
        number, variables = skeleton[-1]
        earlier = 1 + max((v for _, others in skeleton[:-1] for v in others), default=-1)
        return (number, tuple([v if v < earlier else NEW for v in variables])), earlier

    def _is_turned(self, relation: Relation, shape: tuple[int, ...]) -> bool:
        if relation.symmetric is None:
            return False
        ordered = _with_new(shape)
        left, right = (ordered[k] for k in relation.symmetric)
        return left > right

    def _same_row(self, number: int, shape: tuple[int, ...], skeleton: Skeleton) -> bool:
        """Whether another literal of the query has the very row that this one would find."""
        relation = self.relations[number]
        root = self.relations[0]
        for other, variables in skeleton:
            if other == number:
                if any(variables[k] == shape[k] for k in relation.unique) or (
                    relation.rows_unique and variables == shape
                ):
                    return True
            elif other == 0 and relation.name == root.name and not relation.is_timed:
                same = dict(zip(root.columns, variables, strict=True))
                if any(same.get(relation.columns[k]) == shape[k] for k in relation.unique):
                    return True
        return False

    def _must_be_known(self, number: int, shape: tuple[int, ...], skeleton: Skeleton) -> bool:
        """Whether a new variable could only be one of the query's:
        as the molecule of an atom whose molecule is known.
        """
        domains = self.relations[number].domains
        return any(
            variables[other_key] == shape[key]
            and self.relations[other].domains[other_new] == domains[new]
            and self._agree((number, key, new), (other, other_key, other_new))
            for new, key in permutations(range(len(shape)), 2)
            if shape[new] < 0 <= shape[key]
            for other, variables in skeleton
            for other_new, other_key in permutations(range(len(variables)), 2)
        )

    def _agree(self, place: Place, other: Place) -> bool:
        """Whether a place (relation, key column, another) tells of each key what the other tells of it."""
        if (place, other) not in self._agreements:
            self._agreements[place, other] = self.everyone.determines(
                *self._named(other), *self._named(place), is_root=other[0] == 0
            )
        return self._agreements[place, other]

    def _named(self, place: Place) -> tuple[str, str, str]:
        number, key, column = place
        relation = self.relations[number]
        return relation.name, relation.columns[key], relation.columns[column]

    def structure(self, skeleton: Skeleton) -> Structure:
        """What all queries with these literals share."""
        known = self._structures.get(skeleton)
        if known is None:
            form, places = canonical(self.relations, skeleton)
            orders = tuple([itemgetter(*order) if len(order) > 1 else tuple for order in places])
            number = self._forms.setdefault(form, len(self._forms))
            known = Structure(form, number, orders, repeats_of(form), tuple(self._overlaps(skeleton)))
            self._structures[skeleton] = known
        return known

    def _overlaps(self, skeleton: Skeleton) -> Iterator[tuple[int, int, bool]]:
        for i, (relation, variables) in enumerate(skeleton[1:], 1):
            for j, (other, others) in enumerate(skeleton):
                if i != j and set(variables) <= set(others):
                    like = relation == other and variables == others
                    if like or (relation != other and self._is_included(relation, variables, other, others)):
                        yield i, j, like

    def is_core(self, body: Body) -> bool:
        """Without object identity: whether no literal can be folded onto the others,
        so that no shorter query says the same.
        """
        numbers = [number for number, _, _ in body]
        return len(set(numbers)) == len(numbers) or not any(
            self._maps(body, (*body[:k], *body[k + 1 :])) for k in range(1, len(body))
        )

    def _maps(self, body: Body, onto: Body) -> bool:
        """Whether a substitution that keeps the example's variables takes each
        literal to one with all of its conditions.
        """

        def extends(theta: dict[int, int], k: int) -> bool:
            if k == len(body):
                return True
            relation, variables, tests = body[k]
            for other, images, more in onto:
                if other == relation and set(tests) <= set(more):
                    for turned in self._directions(relation, images):
                        longer = dict(theta)
                        if all(
                            longer.setdefault(v, image) == image for v, image in zip(variables, turned, strict=True)
                        ) and extends(longer, k + 1):
                            return True
            return False

        return extends({v: v for v in range(self.n_root)}, 0)

    def _directions(self, number: int, variables: tuple[int, ...]) -> Iterator[tuple[int, ...]]:
        yield variables
        pair = self.relations[number].symmetric
        if pair is not None:
            turned = list(variables)
            turned[pair[0]], turned[pair[1]] = variables[pair[1]], variables[pair[0]]
            yield tuple(turned)

    def _is_included(self, relation: int, variables: tuple[int, ...], other: int, others: tuple[int, ...]) -> bool:
        """Whether each row of the other relation has a row of this one with the same keys, for every example."""
        if self.relations[relation].is_timed:
            return False
        at = tuple(others.index(v) for v in variables)
        if (relation, other, at) not in self._included:
            there = self.relations[other]
            self._included[relation, other, at] = self.everyone.includes(
                self.relations[relation].name, there.name, tuple(there.columns[k] for k in at), is_root=other == 0
            )
        return self._included[relation, other, at]

    def clause(self, body: Body, head: Head) -> Clause:
        """The clause of a query: with object identity, every two variables of
        one domain differ unless both are the example's.
        """
        names = self._names(body)
        uses = Counter(v for _, variables, _ in body for v in variables)
        domains = self.domains(skeleton_of(body))
        free = [v for v in names if v >= self.n_root]
        unequal = [(w, v) for v in free for w in names if w < v and domains[v] == domains[w]] if self.oi else []
        told = (
            {v for pair in unequal for v in pair}
            | {v for v, count in uses.items() if count > 1}
            | set(range(self.n_root))
        )
        literals = []
        for relation, variables, conditions in body:
            here = self.relations[relation]
            tests = tuple(test for c in conditions for test in here.conditions[c])
            bindings = tuple((column, names[v]) for column, v in zip(here.columns, variables, strict=True) if v in told)
            literals.append(Literal(here.name, bindings, tests))
        return Clause(head, tuple(literals), tuple((names[v], names[w]) for v, w in unequal)).tightened()

    def _names(self, body: Body) -> dict[int, str]:
        names: dict[int, str] = {}
        for relation, variables, _ in body:
            for column, v in zip(self.relations[relation].columns, variables, strict=True):
                if v not in names:
                    names[v] = variable_name(column, set(names.values()))
        return dict(sorted(names.items()))


def _with_new(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Variables in an order in which new ones come last."""
    return tuple([v if v >= 0 else NEW for v in shape])


def _tells(table: Table, examples: Table, n_rows: int) -> bool:
    """Whether there is something to mine: other rows of a target without attributes tell nothing, but for their age."""
    tells_nothing = table.name == examples.name and not table.attributes and table.times is None
    return bool(table.keys) and n_rows > 0 and not tells_nothing
