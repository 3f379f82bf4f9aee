"""The bodies of many clauses as one tree of joins in which equal parts stand once.

What coverage, witnesses and SQL share.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from hornboost.engine.tree import Join, Ref, Spec, clause_tree
from hornboost.logic.clause import Clause, Test


@dataclass(frozen=True, slots=True)
class RowFeature:
    """What one row must satisfy.

    Tests, pairs of its key columns that are equal or differ, and features of groups below it.
    """

    tests: tuple[Test, ...] = ()
    same: tuple[tuple[str, str], ...] = ()
    differ: tuple[tuple[str, str], ...] = ()
    needs: tuple[tuple[int, int], ...] = ()


@dataclass(eq=False, slots=True)
class JoinGroup:
    """The rows of a table that a join reaches from the row above, and all that the clauses ask about them.

    In `join` a `Ref.node` counts levels upwards: 1 is the row above. `needs` of a feature are (group, feature)
    positions below.
    """

    table: str
    join: Join | None
    features: list[RowFeature] = field(default_factory=list)
    groups: list[JoinGroup] = field(default_factory=list)
    _number: dict[RowFeature, int] = field(default_factory=dict)
    _place: dict[Join, int] = field(default_factory=dict)

    def feature(self, feature: RowFeature) -> int:
        """The position of a feature, added when it is new."""
        if feature not in self._number:
            self._number[feature] = len(self.features)
            self.features.append(feature)
        return self._number[feature]

    def group(self, join: Join) -> int:
        """The position of the group behind a join, added when it is new."""
        if join not in self._place:
            self._place[join] = len(self.groups)
            self.groups.append(JoinGroup(join.table, join))
        return self._place[join]

    @property
    def is_local(self) -> bool:
        """Whether the join looks at the row above only, by equalities,
        so that the group can be aggregated without it.
        """
        if self.join is None or self.join.source is None or self.join.unequal:
            return False
        return all(ref.node == 1 for ref in (self.join.source, *(ref for _, ref in self.join.equal)))

    @property
    def links(self) -> tuple[tuple[str, str], ...]:
        """Of a group that is local: pairs of a column of its table and the column of the row above that it equals."""
        assert self.join is not None
        assert self.join.source is not None
        return ((self.join.column, self.join.source.column), *((column, ref.column) for column, ref in self.join.equal))


@dataclass(frozen=True, eq=False, slots=True)
class Seat:
    """Where a literal of a clause stands in the plan.

    Its position in the body, the seat of the literal above, and what is asked there.
    """

    literal: int
    parent: int
    group: JoinGroup
    feature: int


@dataclass(frozen=True, eq=False)
class JoinPlan:
    """`of_clause[k]` is the position in `root.features` of the k-th clause's body,
    `seats[k]` are those of its literals, the root first.
    """

    root: JoinGroup
    of_clause: tuple[int, ...]
    seats: tuple[tuple[Seat, ...], ...]

    @classmethod
    def of(cls, clauses: Iterable[Clause], target: str) -> JoinPlan:
        """Place every clause in the tree.

        >>> rules = [
        ...     'y="1" :- a(id=K), b(a=K, x>=1).',
        ...     'y="1" :- a(id=K, z>=2), b(a=K, x>=1).',
        ...     'y="1" :- a(id=K), b(a=K, x>=3).',
        ... ]
        >>> plan = JoinPlan.of(map(Clause.parse, rules), "a")
        >>> len(plan.root.features), len(plan.root.groups), len(plan.root.groups[0].features)
        (3, 1, 2)
        """
        return cls._of([clause_tree(clause.rooted(target)) for clause in clauses], target)

    @classmethod
    def of_trees(cls, trees: Iterable[Sequence[Spec]], target: str) -> JoinPlan:
        """The same for clauses that are trees already, as a search grows them."""
        return cls._of([(specs, range(len(specs))) for specs in trees], target)

    @classmethod
    def _of(cls, trees: Iterable[tuple[Sequence[Spec], Sequence[int]]], target: str) -> JoinPlan:
        root = JoinGroup(target, None)
        seats = tuple(_seated(specs, order, root) for specs, order in trees)
        return cls(root, tuple(found[0].feature for found in seats), seats)


def _seated(specs: Sequence[Spec], order: Sequence[int], root: JoinGroup) -> tuple[Seat, ...]:
    """Add a tree to that of the root; what a node needs below it is known before the node itself."""
    below: list[list[int]] = [[] for _ in specs]
    for n in range(1, len(specs)):
        below[specs[n].parent].append(n)
    seats: dict[int, Seat] = {}

    def add(n: int, group: JoinGroup) -> int:
        needs = set()
        for child in below[n]:
            place = group.group(_relative(specs, child))
            needs.add((place, add(child, group.groups[place])))
        spec = specs[n]
        feature = group.feature(RowFeature(spec.tests, spec.same, spec.differ, tuple(sorted(needs))))
        seats[n] = Seat(order[n], spec.parent, group, feature)
        return feature

    add(0, root)
    return tuple(seats[n] for n in range(len(specs)))


def _relative(specs: Sequence[Spec], n: int) -> Join:
    """The join of a node with its references counted in levels upwards."""
    join = specs[n].join
    assert join is not None
    level: dict[int, int] = {}
    above, steps = specs[n].parent, 1
    while above >= 0:
        level[above] = steps
        above, steps = specs[above].parent, steps + 1

    def relative(ref: Ref) -> Ref:
        return Ref(level[ref.node], ref.column)

    return replace(
        join,
        source=None if join.source is None else relative(join.source),
        equal=tuple((column, relative(ref)) for column, ref in join.equal),
        unequal=tuple((column, relative(ref)) for column, ref in join.unequal),
    )
