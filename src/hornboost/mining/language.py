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
from hornboost.engine.dependencies import value_of_key
from hornboost.logic.clause import Clause, Head, Literal
from hornboost.logic.names import variable_name
from hornboost.mining.relation import Relation, relation_of, row_numbers, undated
from hornboost.mining.row_kernels import Cutoffs
from hornboost.mining.sight import latest_cutoffs
from hornboost.mining.structure import Body, Skeleton, Structure, canonical, skeleton_of

if TYPE_CHECKING:
    from hornboost.data import Database

Place = tuple[int, int, int]
"""A relation and two of its key columns."""

NEW = 1 << 20
"""A variable that a literal brings in, after all others."""


@dataclass(eq=False)
class Language:
    """The relations, and what holds between them."""

    relations: list[Relation]
    oi: bool
    left_out: list[str]
    root_keys: NDArray[np.int32]
    cutoffs: Cutoffs = None
    _included: dict[tuple[int, tuple[int, ...], int, tuple[int, ...]], bool] = field(default_factory=dict)
    _functions: dict[Place, NDArray[np.int32] | None] = field(default_factory=dict)
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
    ) -> Language:
        """Cut the numbers of the rows that the examples reach within some steps, and number all conditions."""
        left_out: list[str] = []
        cutoffs = None if examples.times is None else np.ascontiguousarray(examples.times.numbers)
        seen = latest_cutoffs(database, examples, steps)
        until = dict.fromkeys(seen) if cutoffs is None else seen
        root = relation_of(examples.as_known(), None, weights, None, bins, left_out, ())
        relations = [root if cutoffs is None else replace(root, rows=undated(root.rows.held))]
        for name, table in database.tables.items():
            # other rows of a target without attributes tell nothing, unless they have an age
            tells_nothing = name == examples.name and not table.attributes and table.times is None
            if not table.keys or not table.n_rows or tells_nothing:
                continue
            rows = (seen[name] > -np.inf).astype(np.float64)
            pair = symmetric.get(name, ())
            relations.append(relation_of(table, database, rows, until[name], bins, left_out, pair))
        return cls(relations, oi, left_out, relations[0].keys, cutoffs)

    def among(self, rows: NDArray[np.intp]) -> Language:
        """The same language over some of the examples; what holds between the tables is still asked of all."""
        root = self.relations[0]
        held = root.rows._replace(held=np.ascontiguousarray(root.rows.held[rows]))
        fewer = replace(root, keys=np.ascontiguousarray(root.keys[rows]), rows=held)
        cutoffs = None if self.cutoffs is None else self.cutoffs[rows]
        return replace(self, relations=[fewer, *self.relations[1:]], cutoffs=cutoffs)

    @property
    def n_root(self) -> int:
        return len(self.relations[0].columns)

    def domains(self, skeleton: Skeleton) -> dict[int, str]:
        """The domain of each variable."""
        return {
            v: domain
            for relation, variables in skeleton
            for v, domain in zip(variables, self.relations[relation].domains, strict=True)
        }

    def shapes(self, skeleton: Skeleton, connected: bool) -> list[tuple[int, tuple[int, ...]]]:
        """Every literal that may be added, as its relation and variables, -1 for a new one;
        symmetric relations in one direction.

        One that could stand before the last literal is left out where it is less than that (see `Miner`), and with
        object identity one whose new variable would have to be another of the query's.
        """
        domains = self.domains(skeleton)
        grown = any(v >= self.n_root for v in domains)
        last, earlier = self._last(skeleton)
        found = []
        for number, relation in enumerate(self.relations[1:], 1):
            choices = [[v for v, other in domains.items() if other == domain] + [-1] for domain in relation.domains]
            for shape in product(*choices):
                bound = [v for v in shape if v >= 0]
                if not bound or len(set(bound)) < len(bound) or self._is_turned(relation, shape):
                    continue
                if connected and grown and -1 in shape and max(bound) < self.n_root:
                    continue
                if max(bound) < earlier and (number, _with_new(shape)) < last:
                    continue
                if not self._same_row(number, shape, skeleton) and not (
                    self.oi and self._must_be_known(number, shape, skeleton)
                ):
                    found.append((number, shape))
        return sorted(found, key=lambda found: (found[0], _with_new(found[1])))

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
        """Whether two places (relation, key column, another) tell the same of each key, and one thing only."""
        if (place, other) not in self._agreements:
            one, two = self._function(place), self._function(other)
            n = 0 if one is None or two is None else min(len(one), len(two))
            self._agreements[place, other] = (
                one is not None
                and two is not None
                and bool(((one[:n] == two[:n]) | (one[:n] < 0) | (two[:n] < 0)).all())
            )
        return self._agreements[place, other]

    def _function(self, place: Place) -> NDArray[np.int32] | None:
        """What the second column of a place holds for each key in the first, -1 for nothing;
        None where that is not one thing.
        """
        if place not in self._functions:
            number, key, column = place
            keys = self.relations[number].keys if number else self.root_keys
            self._functions[place] = value_of_key(keys[:, key], keys[:, column])
        return self._functions[place]

    def structure(self, skeleton: Skeleton) -> Structure:
        """What all queries with these literals share."""
        known = self._structures.get(skeleton)
        if known is None:
            form, places = canonical(self.relations, skeleton)
            orders = tuple([itemgetter(*order) if len(order) > 1 else tuple for order in places])
            number = self._forms.setdefault(form, len(self._forms))
            known = Structure(form, number, orders, len(set(form)) < len(form), tuple(self._overlaps(skeleton)))
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
        place = (relation, tuple(range(len(variables))), other, at)
        if place not in self._included:
            theirs = (self.relations[other].keys if other else self.root_keys)[:, list(at)]
            theirs = theirs[(theirs >= 0).all(axis=1)]
            numbers = row_numbers(np.concatenate([self.relations[relation].keys, theirs]))
            n = len(self.relations[relation].keys)
            self._included[place] = bool(np.isin(numbers[n:], numbers[:n]).all())
        return self._included[place]

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
