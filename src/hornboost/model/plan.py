"""The bodies of many clauses as one tree of joins in which equal parts stand once: what scoring, explaining and SQL share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from hornboost.engine.compile import root_first, tree_specs
from hornboost.engine.tree import Join, Ref, Spec
from hornboost.logic.clause import Clause, Literal, Test


@dataclass(frozen=True, slots=True)
class Feature:
    """What one row must satisfy: tests, pairs of its key columns that are equal or differ, and features of groups below it."""

    tests: tuple[Test, ...] = ()
    same: tuple[tuple[str, str], ...] = ()
    differ: tuple[tuple[str, str], ...] = ()
    needs: tuple[tuple[int, int], ...] = ()


@dataclass(eq=False, slots=True)
class Group:
    """The rows of a table that a join reaches from the row above, and all that the clauses ask about them.

    In `join` a `Ref.node` counts levels upwards: 1 is the row above. `needs` of a feature are (group, feature) positions below.
    """

    table: str
    join: Join | None
    features: list[Feature] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    _number: dict[Feature, int] = field(default_factory=dict)
    _place: dict[Join, int] = field(default_factory=dict)

    def feature(self, feature: Feature) -> int:
        """The position of a feature, added when it is new."""
        if feature not in self._number:
            self._number[feature] = len(self.features)
            self.features.append(feature)
        return self._number[feature]

    def group(self, join: Join) -> int:
        """The position of the group behind a join, added when it is new."""
        if join not in self._place:
            self._place[join] = len(self.groups)
            self.groups.append(Group(join.table, join))
        return self._place[join]

    @property
    def is_local(self) -> bool:
        """Whether the join looks at the row above only, by equalities, so that the group can be aggregated without it."""
        if self.join is None or self.join.source is None or self.join.unequal:
            return False
        return all(ref.node == 1 for ref in (self.join.source, *(ref for _, ref in self.join.equal)))

    @property
    def links(self) -> tuple[tuple[str, str], ...]:
        """Of a group that is local: pairs of a column of its table and the column of the row above that it equals."""
        assert self.join is not None
        assert self.join.source is not None
        return ((self.join.column, self.join.source.column), *((column, ref.column) for column, ref in self.join.equal))


@dataclass(frozen=True, eq=False)
class Plan:
    """`of_clause[k]` is the position in `root.features` of the k-th clause's body."""

    root: Group
    of_clause: tuple[int, ...]

    @classmethod
    def of(cls, clauses: Iterable[Clause], target: str) -> Plan:
        """Place every clause in the tree.

        >>> rules = ['y="1" :- a(id=K), b(a=K, x>=1).', 'y="1" :- a(id=K, z>=2), b(a=K, x>=1).', 'y="1" :- a(id=K), b(a=K, x>=3).']
        >>> plan = Plan.of(map(Clause.parse, rules), "a")
        >>> len(plan.root.features), len(plan.root.groups), len(plan.root.groups[0].features)
        (3, 1, 2)
        """
        root = Group(target, None)
        return cls(root, tuple(_place(clause, target, root) for clause in clauses))


def _place(clause: Clause, target: str, root: Group) -> int:
    body = root_first(clause, target)
    specs, order = tree_specs(clause, body)
    below: list[list[int]] = [[] for _ in specs]
    for n in range(1, len(specs)):
        below[specs[n].parent].append(n)

    def add(n: int, group: Group) -> int:
        needs = []
        for child in below[n]:
            join = _relative(specs, child)
            place = group.group(join)
            needs.append((place, add(child, group.groups[place])))
        same, differ = _within(clause, body[order[n]])
        return group.feature(Feature(specs[n].tests, same, differ, tuple(sorted(set(needs)))))

    return add(0, root)


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


def _within(clause: Clause, literal: Literal) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
    """Key columns of one literal that share a variable, and those whose variables must differ."""
    columns: dict[str, str] = {}
    same = []
    for column, variable in literal.bindings:
        first = columns.setdefault(variable, column)
        if first != column:
            same.append((first, column))
    differ = [(columns[one], columns[other]) for one, other in clause.unequal if one in columns and other in columns]
    return tuple(same), tuple(differ)
