"""A clause over the examples: each node of its tree keeps the rows still alive on its paths from the examples.

Branches never multiply each other: a filter is propagated up (an entry lives while each child has a live entry below
it) and down, so the state is linear in the paths. An example is covered while its root entry lives.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import count

import numpy as np
from numpy.typing import NDArray

from hornboost.dtypes import CODE, ROW
from hornboost.engine import join_kernels as kernels
from hornboost.engine.reach import gathered, lifted
from hornboost.engine.tree import Ref, Spec
from hornboost.stopping import check

Codes = NDArray[np.int32]
NO_MASK: NDArray[np.bool_] = np.empty(0, np.bool_)

_numbers = count()


@dataclass(frozen=True, eq=False, slots=True)
class Entries:
    """The rows bound at a node: example, row, and the parent's entry, sorted by example.

    Entries of examples that are no longer covered may remain: only filters *within* an example make new entries, so
    that what was computed about them (kept under their `number`) is shared by all states that see the same entries.
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
    changed: tuple[bool, ...] = ()
    """Which nodes lost entries of covered examples by the last step."""

    def path(self, node: int) -> Iterator[int]:
        """The node and its ancestors, upwards."""
        while node >= 0:
            yield node
            node = self.specs[node].parent

    def depth(self, node: int) -> int:
        return sum(1 for _ in self.path(node)) - 1

    def codes(self, node: int, ref: Ref, key: Callable[[str, str, bool], Codes]) -> Codes:
        """For each entry of `node` the code of a variable of one of its ancestors (or its own)."""
        codes, rows = key(self.specs[ref.node].table, ref.column, ref.node == 0), self.entries[ref.node].rows
        if ref.node == node:
            is_all = node == 0 and rows.size == codes.size  # the entries of the root are the examples themselves
            return codes if is_all else gathered(codes, rows)
        path = list(self.path(node))
        if ref.node not in path:
            raise ValueError(f"node {ref.node} is not on the path of node {node}")
        at = lifted(self.entries[k].up for k in path[: path.index(ref.node)])
        return gathered(codes, rows if at is None else gathered(rows, at))

    def filtered(
        self,
        node: int,
        alive: NDArray[np.bool_],
        specs: tuple[Spec, ...] | None = None,
        changed: tuple[bool, ...] | None = None,
    ) -> State:
        """Keep only the live entries of one node, and everything that stays consistent with them."""
        return propagate(specs or self.specs, self.entries, self.covered, {node: alive}, changed)


def propagate(
    specs: tuple[Spec, ...],
    entries: Sequence[Entries],
    covered: NDArray[np.bool_],
    alive: dict[int, NDArray[np.bool_]],
    known: tuple[bool, ...] | None = None,
    lost: frozenset[int] = frozenset(),
) -> State:
    """The state after some entries died: up to the root, then down every branch (Yannakakis' semi-joins).

    Where the examples are some of more, `known` says which nodes lose entries of any of all that are covered; `lost`
    are nodes whose entries were sorted out before, which lost some of covered examples.
    """
    n = len(specs)
    if n == 1:
        return State(tuple(specs), tuple(entries), covered & alive[0], changed=(False,))
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
            if known is not None:
                changed[k] = known[k]
            else:
                changed[k] = k in lost or bool(kernels.drops_within(entries[k].example, mask, covered))
    return State(tuple(specs), _compacted(specs, entries, masks, changed), covered, changed=tuple(changed))


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
        example, rows, up, entry_map = kernels.compact(
            entries[k].example, entries[k].rows, entries[k].up, mask, parent_map
        )
        result.append(Entries(example, rows, up))
        maps.append(entry_map)
    return tuple(result)


def root_state(n_examples: int, table: str) -> State:
    """The state of the clause with an empty body: every example is covered."""
    everyone = np.arange(n_examples, dtype=ROW)
    entries = Entries(everyone, everyone, np.zeros(0, ROW))
    return State((Spec(table, -1, None),), (entries,), np.ones(n_examples, np.bool_))
