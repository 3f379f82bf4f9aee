"""The structure of a clause.

A tree of joins in which each literal is a node, made from a clause and turned into one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from hornboost.errors import ClauseError, did_you_mean
from hornboost.logic.clause import Clause, Head, Literal, Test
from hornboost.logic.names import variable_name


@dataclass(frozen=True, slots=True)
class Ref:
    """A key column of a node: a variable of the clause."""

    node: int
    column: str


@dataclass(frozen=True, slots=True)
class Join:
    """How a literal hangs in the tree: `table.column = source`, further equalities, and inequalities.

    Sources lie on the path from the parent to the root. `source` is None for a literal that shares no variable.
    """

    table: str
    column: str
    source: Ref | None
    equal: tuple[tuple[str, Ref], ...] = ()
    unequal: tuple[tuple[str, Ref], ...] = ()
    _hash: int = field(init=False, repr=False, compare=False, default=0)

    def __post_init__(self) -> None:
        # joins are in the keys of all that is kept between rounds
        object.__setattr__(self, "_hash", hash((self.table, self.column, self.source, self.equal, self.unequal)))

    def __hash__(self) -> int:
        return self._hash

    def __reduce__(self) -> tuple[type[Join], tuple[Any, ...]]:
        return Join, (
            self.table,
            self.column,
            self.source,
            self.equal,
            self.unequal,
        )  # another process hashes text otherwise


def path_text(joins: Sequence[Join]) -> str:
    """Joins one after the other, as a message names them."""
    return " -> ".join(f"{join.table}.{join.column}" for join in joins)


@dataclass(frozen=True, slots=True)
class Spec:
    """The structure of a node.

    Its table, where it hangs, its tests, and pairs of its own key columns that are equal or differ.
    """

    table: str
    parent: int
    join: Join | None
    tests: tuple[Test, ...] = ()
    same: tuple[tuple[str, str], ...] = ()
    differ: tuple[tuple[str, str], ...] = ()


def clause_tree(clause: Clause) -> tuple[tuple[Spec, ...], list[int]]:
    """A clause as a tree in which everything related lies on one path, and which literal each node is.

    Its first literal is the root.

    A depth-first search of the graph "shares a variable, or must differ" has no edge between branches, so each literal
    finds its equalities and inequalities among its ancestors. A variable links its literals to the one that brings it
    in first.
    """
    homes: dict[str, int] = {}
    for k, literal in enumerate(clause.body):
        for _, variable in literal.bindings:
            homes.setdefault(variable, k)
    for variable in {name for pair in clause.unequal for name in pair}:
        if variable not in homes:
            raise ClauseError(
                f"variable '{variable}' occurs in an inequality but in no literal{did_you_mean(variable, homes)}"
            )
    links = [(k, homes[variable]) for k, literal in enumerate(clause.body) for _, variable in literal.bindings]
    links += [(homes[left], homes[right]) for left, right in clause.unequal]
    near: list[set[int]] = [set() for _ in clause.body]
    for left, right in links:
        if left != right:
            near[left].add(right)
            near[right].add(left)
    order, parents = _depth_first(near)
    return tuple(_spec(clause, order, parents, n) for n in range(len(order))), order


def _depth_first(near: list[set[int]]) -> tuple[list[int], list[int]]:
    """Literals in the order of the search, and the position of each one's parent; unrelated ones hang at the root."""
    order: list[int] = []
    parents: list[int] = []
    seen: set[int] = set()

    def visit(k: int, parent: int) -> None:
        seen.add(k)
        order.append(k)
        parents.append(parent)
        mine = len(order) - 1
        for other in sorted(near[k]):
            if other not in seen:
                visit(other, mine)

    for k in range(len(near)):
        if k not in seen:
            visit(k, -1 if k == 0 else 0)
    return order, parents


def _spec(clause: Clause, order: list[int], parents: list[int], n: int) -> Spec:
    literal = clause.body[order[n]]
    path = []
    above = parents[n]
    while above >= 0:
        path.append(above)
        above = parents[above]
    known: dict[str, Ref] = {}
    for above in reversed(path):
        for column, variable in clause.body[order[above]].bindings:
            known.setdefault(variable, Ref(above, column))
    same, differ = _within(clause, literal)
    if n == 0:
        return Spec(literal.table, -1, None, literal.tests, same, differ)
    links = [(column, known[variable]) for column, variable in literal.bindings if variable in known]
    own = {variable: column for column, variable in literal.bindings if variable not in known}
    pairs = [*clause.unequal, *((right, left) for left, right in clause.unequal)]
    unequal = tuple((own[mine], known[theirs]) for mine, theirs in pairs if mine in own and theirs in known)
    column, source = links[0] if links else ("", None)
    return Spec(
        literal.table,
        parents[n],
        Join(literal.table, column, source, tuple(links[1:]), unequal),
        literal.tests,
        same,
        differ,
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


def to_clause(specs: Sequence[Spec], head: Head, keys: Sequence[str]) -> Clause:
    """The clause of a tree; the target's keys and every joined column get a variable named after its first letter."""
    names: dict[Ref, str] = {}
    taken: set[str] = set()

    def name(ref: Ref) -> str:
        if ref not in names:
            names[ref] = variable_name(ref.column, taken)
            taken.add(names[ref])
        return names[ref]

    def resolve(ref: Ref) -> Ref:
        """The variable that a column stands for: its own, or the one it was joined with."""
        join = specs[ref.node].join
        if join is not None:
            links = [(join.column, join.source), *join.equal] if join.source is not None else list(join.equal)
            for column, source in links:
                if column == ref.column and source is not None:
                    return resolve(source)
        return ref

    for column in keys:
        name(Ref(0, column))
    used: dict[int, dict[str, str]] = {k: {} for k in range(len(specs))}
    used[0] = {column: name(Ref(0, column)) for column in keys}
    unequal = []
    for k, spec in enumerate(specs):
        if spec.join is None:
            continue
        links = [(spec.join.column, spec.join.source), *spec.join.equal] if spec.join.source else list(spec.join.equal)
        for column, source in links:
            assert source is not None
            variable = resolve(source)
            used[k][column] = name(variable)
            used[variable.node].setdefault(variable.column, name(variable))
        for column, source in spec.join.unequal:
            left, right = resolve(Ref(k, column)), resolve(source)
            for variable in (left, right):
                used[variable.node].setdefault(variable.column, name(variable))
            unequal.append((name(right), name(left)))
    body = tuple(Literal(spec.table, tuple(used[k].items()), spec.tests) for k, spec in enumerate(specs))
    return Clause(head, body, tuple(unequal))


def with_test(specs: tuple[Spec, ...], node: int, test: Test) -> tuple[Spec, ...]:
    """The structure with one more test on a node."""
    old = specs[node]
    changed = Spec(old.table, old.parent, old.join, (*old.tests, test), old.same, old.differ)
    return (*specs[:node], changed, *specs[node + 1 :])
