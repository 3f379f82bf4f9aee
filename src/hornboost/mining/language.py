"""The language of the queries: tables as the miner sees them, queries as tuples of numbers,
their canonical form and their clauses.

A query is a tuple of literals (relation, variables, conditions): relation 0 is the example itself, each key column of a
literal holds a variable (the examples' keys come first), and conditions are numbers of tests on its columns.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import permutations, product
from operator import itemgetter
from typing import TYPE_CHECKING
from typing import Literal as Choice

import numpy as np
from numpy.typing import NDArray

from hornboost.data.index import KeyIndex
from hornboost.data.table import Table
from hornboost.engine.dependencies import is_unique, value_of_key
from hornboost.logic.clause import Clause, Head, Literal
from hornboost.logic.names import variable_name
from hornboost.mining.binning import Condition, conditions_of

if TYPE_CHECKING:
    from hornboost.data import Database

Atom = tuple[int, tuple[int, ...], tuple[int, ...]]
Body = tuple[Atom, ...]
Skeleton = tuple[tuple[int, tuple[int, ...]], ...]
"""The literals of a query without their conditions."""
ConditionSets = tuple[tuple[int, ...], ...]
"""The conditions of a query, literal by literal."""
QueryKey = tuple[int, ConditionSets]
"""The number of a form and the conditions in its order: see `Structure`."""

Place = tuple[int, int, int]
"""A relation and two of its key columns."""

NEW = 1 << 20
"""A variable that a literal brings in, after all others."""


@dataclass(frozen=True, eq=False)
class Relation:
    """A table: key columns and their domains, and its conditions;
    `held` are those of each row, an attribute a column (0 is none).
    """

    name: str
    columns: tuple[str, ...]
    domains: tuple[str, ...]
    keys: NDArray[np.int32]
    held: NDArray[np.int32]
    conditions: tuple[Condition, ...]
    attribute: NDArray[np.int64]
    index: Callable[[str], KeyIndex] | None
    unique: frozenset[int] = frozenset()
    rows_unique: bool = False
    symmetric: tuple[int, int] | None = None
    fan_out: tuple[float, ...] = ()

    def with_attributes(self, kept: Sequence[int]) -> Relation:
        """The same table with the conditions on some of its attributes only."""
        conditions = np.flatnonzero(np.isin(self.attribute, [-1, *kept]))
        number = np.zeros(len(self.conditions), np.int32)
        number[conditions] = np.arange(len(conditions))
        place = {old: new for new, old in enumerate(kept)}
        return replace(
            self,
            held=np.ascontiguousarray(number[self.held[:, list(kept)]]),
            conditions=tuple([self.conditions[c] for c in conditions]),
            attribute=np.array([place.get(int(self.attribute[c]), -1) for c in conditions]),
        )

    def share_of(self, condition: int) -> float:
        """The share of rows that hold a condition."""
        return self._shares[condition]

    @cached_property
    def _shares(self) -> list[float]:
        counts = np.bincount(self.held.ravel(), minlength=len(self.conditions)) / max(len(self.held), 1)
        return [1.0, *counts[1:].tolist()]

    @property
    def n_conditions(self) -> int:
        return len(self.conditions)

    @property
    def n_words(self) -> int:
        """Words of 64 bits, a bit for each condition."""
        return -(-len(self.conditions) // 64)


@dataclass(frozen=True, slots=True)
class Structure:
    """What queries with the same literals share, whatever their conditions.

    `form` is the same for all renamings, and numbered; `orders` put conditions of the literals into its order.
    `overlaps` are pairs (i, j, like) where literal i says no more than j: both are of one relation and have the same
    variables (`like`), or i, if bare, follows from j.
    """

    form: Skeleton
    number: int
    orders: tuple[Callable[[ConditionSets], ConditionSets], ...]
    repeats: bool
    overlaps: tuple[tuple[int, int, bool], ...]

    def key(self, conditions: ConditionSets) -> QueryKey:
        """The same for all queries that differ in names of variables, order of literals,
        or direction of symmetric ones.
        """
        if self.repeats:
            return self.number, min([self._sorted(order(conditions)) for order in self.orders])
        if len(self.orders) == 1:
            return self.number, self.orders[0](conditions)
        return self.number, min([order(conditions) for order in self.orders])

    def _sorted(self, conditions: ConditionSets) -> ConditionSets:
        return tuple([tests for _, tests in sorted(zip(self.form, conditions, strict=True))])

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


@dataclass(eq=False)
class Language:
    """The relations, and what holds between them."""

    relations: list[Relation]
    oi: bool
    left_out: list[str]
    root_keys: NDArray[np.int32]
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
        reached = _reached(database, examples, steps)
        relations = [_relation(examples, None, weights, bins, left_out, ())]
        for name, table in database.tables.items():
            # other rows of a target without attributes tell nothing
            if not table.keys or not table.n_rows or (name == examples.name and not table.attributes):
                continue
            rows = reached[name].astype(np.float64)
            relations.append(_relation(table, database, rows, bins, left_out, symmetric.get(name, ())))
        return cls(relations, oi, left_out, relations[0].keys)

    def among(self, rows: NDArray[np.intp]) -> Language:
        """The same language over some of the examples; what holds between the tables is still asked of all."""
        root = self.relations[0]
        fewer = replace(root, keys=np.ascontiguousarray(root.keys[rows]), held=np.ascontiguousarray(root.held[rows]))
        return replace(self, relations=[fewer, *self.relations[1:]])

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
            elif other == 0 and relation.name == root.name:
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
            renamed = [self._renamed(skeleton, order) for order in self._namings(skeleton)]
            form = min(found for found, _ in renamed)
            places = sorted({places for found, places in renamed if found == form})
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
        """Whether each row of the other relation has a row of this one with the same keys."""
        at = tuple(others.index(v) for v in variables)
        place = (relation, tuple(range(len(variables))), other, at)
        if place not in self._included:
            theirs = (self.relations[other].keys if other else self.root_keys)[:, list(at)]
            theirs = theirs[(theirs >= 0).all(axis=1)]
            numbers = _row_numbers(np.concatenate([self.relations[relation].keys, theirs]))
            n = len(self.relations[relation].keys)
            self._included[place] = bool(np.isin(numbers[n:], numbers[:n]).all())
        return self._included[place]

    def normal(self, number: int, variables: tuple[int, ...]) -> tuple[int, ...]:
        """The variables of a literal with those of a symmetric relation in order."""
        pair = self.relations[number].symmetric
        if pair is None or variables[pair[0]] <= variables[pair[1]]:
            return variables
        swapped = list(variables)
        swapped[pair[0]], swapped[pair[1]] = variables[pair[1]], variables[pair[0]]
        return tuple(swapped)

    def _namings(self, skeleton: Skeleton) -> Iterator[list[int]]:
        """Orders of the free variables, in classes that no renaming can mix."""
        n_root = self.n_root
        free = sorted({v for _, variables in skeleton for v in variables if v >= n_root})
        colour = {v: v if v < n_root else n_root for _, variables in skeleton for v in variables}
        classes = 1
        while True:
            seats: dict[int, list[int]] = {v: [] for v in free}
            for relation, variables in skeleton:
                pair = self.relations[relation].symmetric or (-1, -1)
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

    def _renamed(self, skeleton: Skeleton, order: Sequence[int]) -> tuple[Skeleton, tuple[int, ...]]:
        """The literals sorted under new names, and the place that each had."""
        names = {v: self.n_root + k for k, v in enumerate(order)}
        renamed = sorted(
            (relation, self.normal(relation, tuple([names.get(v, v) for v in variables])), place)
            for place, (relation, variables) in enumerate(skeleton)
        )
        return tuple([(relation, variables) for relation, variables, _ in renamed]), tuple(
            [place for _, _, place in renamed]
        )

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
        return Clause(head, tuple(literals), tuple((names[v], names[w]) for v, w in unequal))

    def _names(self, body: Body) -> dict[int, str]:
        names: dict[int, str] = {}
        for relation, variables, _ in body:
            for column, v in zip(self.relations[relation].columns, variables, strict=True):
                if v not in names:
                    names[v] = variable_name(column, set(names.values()))
        return dict(sorted(names.items()))


def skeleton_of(body: Body) -> Skeleton:
    """The literals of a query without their conditions."""
    return tuple([(relation, variables) for relation, variables, _ in body])


def _with_new(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Variables in an order in which new ones come last."""
    return tuple([v if v >= 0 else NEW for v in shape])


def _relation(
    table: Table,
    database: Database | None,
    weights: NDArray[np.float64],
    bins: int,
    left_out: list[str],
    pair: Sequence[str],
) -> Relation:
    held = np.zeros((table.n_rows, len(table.attributes)), np.int32)
    conditions: list[Condition] = [()]
    attribute = [-1]
    for number, column in enumerate(table.attributes):
        found = conditions_of(table.name, column, weights, bins, left_out)
        held[:, number] = np.where(found[0] >= 0, found[0] + len(conditions), 0)
        conditions += found[1]
        attribute += [number] * len(found[1])
    keys = (
        np.stack([column.codes for column in table.keys], axis=1)
        if table.keys
        else np.empty((table.n_rows, 0), np.int32)
    )
    names = tuple(column.name for column in table.keys)
    counts = [np.bincount(column[column >= 0]) for column in keys.T]
    return Relation(
        table.name,
        names,
        tuple(column.domain or "" for column in table.keys),
        np.ascontiguousarray(keys),
        held,
        tuple(conditions),
        np.array(attribute),
        None if database is None else _indexes(database, table.name),
        frozenset(k for k, column in enumerate(keys.T) if is_unique(column)),
        len(np.unique(_row_numbers(keys))) == len(keys) if database is not None else False,
        (names.index(pair[0]), names.index(pair[1])) if pair else None,
        tuple(float(count.sum() / max((count > 0).sum(), 1)) for count in counts),
    )


def _row_numbers(keys: NDArray[np.int32]) -> NDArray[np.int64]:
    """A number for each row, the same for equal rows only."""
    numbers = np.zeros(len(keys), np.int64)
    for column in keys.T:
        least = int(column.min(initial=0))
        width = int(column.max(initial=0)) - least + 1
        if int(numbers.max(initial=0)) >= 2**62 // width:
            numbers = np.unique(numbers, return_inverse=True)[1].astype(np.int64)
        numbers = numbers * width + (column - least)
    return numbers


def _indexes(database: Database, table: str) -> Callable[[str], KeyIndex]:
    return lru_cache(lambda column: database.index(table, column))


def _reached(database: Database, examples: Table, steps: int) -> dict[str, NDArray[np.bool_]]:
    """The rows of each table that the examples reach, whatever keys are followed."""
    known = {name: np.zeros(domain.size, bool) for name, domain in database.domains.items()}
    for column in examples.keys:
        codes = column.codes
        known[column.domain or ""][codes[(codes >= 0) & (codes < database.domains[column.domain or ""].size)]] = True
    rows = {name: np.zeros(table.n_rows, bool) for name, table in database.tables.items()}
    for _ in range(steps):
        before = {name: mask.copy() for name, mask in known.items()}
        for name, table in database.tables.items():
            for column in table.keys:
                codes = column.codes
                rows[name] |= (codes >= 0) & before[column.domain or ""][codes]
            for column in table.keys:
                codes = column.codes[rows[name]]
                known[column.domain or ""][codes[codes >= 0]] = True
    return rows
