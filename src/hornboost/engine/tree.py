"""A clause as a tree of joins: each literal is a node that keeps the rows still alive on its paths from the examples.

Branches never multiply each other: a filter is propagated up (an entry lives while each child has a live entry below it)
and down, so the state is linear in the paths. An example is covered while its root entry lives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hornboost.dtypes import CODE, ROW
from hornboost.engine import kernels
from hornboost.logic.clause import Clause, Head, Literal, Test
from hornboost.stopping import check

Codes = NDArray[np.int32]
NO_CODES: Codes = np.empty((0, 0), CODE)
NO_MASK: NDArray[np.bool_] = np.empty(0, np.bool_)

AT_ONCE = 1 << 23
"""Values that one call looks at, or little more: some hundredths of a second, so that Ctrl-C and time limits need not wait longer."""


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
        return Join, (self.table, self.column, self.source, self.equal, self.unequal)  # another process hashes text otherwise


def path_text(joins: Sequence[Join]) -> str:
    """Joins one after the other, as a message names them."""
    return " -> ".join(f"{join.table}.{join.column}" for join in joins)


@dataclass(frozen=True, slots=True)
class Spec:
    """The structure of a node: its table, where it hangs, and its tests."""

    table: str
    parent: int
    join: Join | None
    tests: tuple[Test, ...] = ()


_numbers = count()


@dataclass(frozen=True, eq=False, slots=True)
class Entries:
    """The rows bound at a node: example, row, and the parent's entry, sorted by example.

    Entries of examples that are no longer covered may remain: only filters *within* an example make new entries, so that
    what was computed about them (kept under their `number`) is shared by all states that see the same entries.
    """

    example: Codes
    rows: Codes
    up: Codes
    number: int = field(default_factory=_numbers.__next__)

    def __len__(self) -> int:
        return int(self.rows.size)

    @property
    def nbytes(self) -> int:
        return self.example.nbytes + self.rows.nbytes + self.up.nbytes


@dataclass(frozen=True, eq=False, slots=True)
class State:
    """The tree of a clause over the examples: structure, live entries, and which examples it covers."""

    specs: tuple[Spec, ...]
    entries: tuple[Entries, ...]
    covered: NDArray[np.bool_]
    number: int = field(default_factory=_numbers.__next__)

    def path(self, node: int) -> Iterator[int]:
        """The node and its ancestors, upwards."""
        while node >= 0:
            yield node
            node = self.specs[node].parent

    def depth(self, node: int) -> int:
        return sum(1 for _ in self.path(node)) - 1

    def codes(self, node: int, ref: Ref, key: Callable[[str, str, bool], Codes]) -> Codes:
        """For each entry of `node` the code of a variable of one of its ancestors (or its own)."""
        at: Codes | None = None
        for k in self.path(node):
            if k == ref.node:
                codes = key(self.specs[k].table, ref.column, k == 0)
                rows = self.entries[k].rows
                if at is not None:
                    rows = gathered(rows, at)
                elif k == 0 and rows.size == codes.size:
                    return codes  # the entries of the root are the examples themselves
                return gathered(codes, rows)
            at = self.entries[k].up if at is None else gathered(self.entries[k].up, at)
        raise ValueError(f"node {ref.node} is not on the path of node {node}")

    def filtered(self, node: int, alive: NDArray[np.bool_], specs: tuple[Spec, ...] | None = None) -> State:
        """Keep only the live entries of one node, and everything that stays consistent with them."""
        return propagate(specs or self.specs, self.entries, self.covered, {node: alive})


def gathered(values: Codes, at: Codes) -> Codes:
    """`values[at]`, part by part where they are many."""
    if at.size <= AT_ONCE:
        return values[at]
    out = np.empty(at.size, values.dtype)
    for lo in range(0, at.size, AT_ONCE):
        check()
        out[lo : lo + AT_ONCE] = values[at[lo : lo + AT_ONCE]]
    return out


def propagate(
    specs: tuple[Spec, ...], entries: Sequence[Entries], covered: NDArray[np.bool_], alive: dict[int, NDArray[np.bool_]]
) -> State:
    """The state after some entries died: up to the root, then down every branch (Yannakakis' semi-joins)."""
    n = len(specs)
    masks: list[NDArray[np.bool_] | None] = [alive.get(k) for k in range(n)]
    for k in range(n - 1, 0, -1):
        check()
        mask = masks[k]
        if mask is not None:
            parent = specs[k].parent
            found = kernels.has_live_child(entries[k].up, mask, len(entries[parent]))
            above = masks[parent]
            masks[parent] = found if above is None else above & found
    root = masks[0]
    if root is not None:
        covered = covered & root
    changed = [False] * n
    for k in range(1, n):
        check()
        parent = specs[k].parent
        if parent > 0 and changed[parent]:
            above = masks[parent]
            mask = masks[k]
            mask = np.ones(len(entries[k]), np.bool_) if mask is None else mask
            assert above is not None
            kernels.keep_below(entries[k].up, mask, above)
            masks[k] = mask
        mask = masks[k]
        if mask is not None:
            changed[k] = bool(kernels.drops_within(entries[k].example, mask, covered))
    return State(tuple(specs), _compacted(specs, entries, masks, changed), covered)


def _compacted(
    specs: tuple[Spec, ...], entries: Sequence[Entries], masks: list[NDArray[np.bool_] | None], changed: list[bool]
) -> tuple[Entries, ...]:
    result = [entries[0]]
    maps: list[Codes] = [np.empty(0, CODE)]
    for k in range(1, len(specs)):
        check()
        parent_map = maps[specs[k].parent]
        mask = masks[k]
        if not changed[k] and parent_map.size == 0:
            result.append(entries[k])
            maps.append(np.empty(0, CODE))
            continue
        if mask is None or not changed[k]:
            mask = np.ones(len(entries[k]), np.bool_)
        if parent_map.size:
            mask = mask & (parent_map[entries[k].up] >= 0)
        example, rows, up, entry_map = kernels.compact(entries[k].example, entries[k].rows, entries[k].up, mask, parent_map)
        result.append(Entries(example, rows, up))
        maps.append(entry_map)
    return tuple(result)


def root_state(n_examples: int, table: str) -> State:
    """The state of the clause with an empty body: every example is covered."""
    everyone = np.arange(n_examples, dtype=ROW)
    entries = Entries(everyone, everyone, np.zeros(0, ROW))
    return State((Spec(table, -1, None),), (entries,), np.ones(n_examples, np.bool_))


def to_clause(specs: Sequence[Spec], head: Head, keys: Sequence[str]) -> Clause:
    """The clause of a tree; the target's keys and every joined column get a variable named after its first letter."""
    names: dict[Ref, str] = {}
    taken: set[str] = set()

    def name(ref: Ref) -> str:
        if ref not in names:
            letter = next((c for c in ref.column if c.isascii() and c.isalpha()), "x").upper()
            names[ref] = next(v for v in (letter + (str(i) if i > 1 else "") for i in range(1, 10_000)) if v not in taken)
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
    changed = replace(specs[node], tests=(*specs[node].tests, test))
    return (*specs[:node], changed, *specs[node + 1 :])
