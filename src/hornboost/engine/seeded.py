"""Refinements that are true of one example, the seed: its bottom clause, read off the rows that it reaches (seed 003, section 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hornboost.dtypes import CODE
from hornboost.engine import seeded_kernels as kernels
from hornboost.engine.engine import Engine
from hornboost.engine.frontier import Frontier, Group, Option, Refinement
from hornboost.engine.tree import Codes, Entries, State

Numbers = NDArray[np.int64]


@dataclass(frozen=True, eq=False, slots=True)
class Legal:
    """The legal literals of a clause for a seed, in the order of the tie-break: fewer new literals, schema order, value order.

    `option` says to which option of the frontier a literal belongs, `raw` is its condition as `kernels.build_pairs` numbers it, and `candidate`
    the condition of the frontier that covers the same examples.
    """

    options: tuple[Option, ...]
    option: Numbers
    raw: Numbers
    candidate: Numbers

    def __len__(self) -> int:
        return int(self.raw.size)

    def refinement(self, i: int) -> Refinement:
        """The step that the i-th literal stands for, a threshold being the seed's own value."""
        option, raw = self.options[self.option[i]], int(self.raw[i])
        if raw == 0:
            return Refinement(option.chain.node, option.chain.joins)
        k = int(np.searchsorted(option.block.bases, raw, side="right")) - 1
        test = option.attributes.test(option.block.attributes[k], raw - int(option.block.bases[k]))
        return Refinement(option.chain.node, option.chain.joins, test)


def legal(engine: Engine, frontier: Frontier, seed: int) -> Legal:
    """The refinements of a frontier that hold for a covered example, thresholds at its own values."""
    state = frontier.state
    alone: State | None = None
    options: list[Option] = []
    parts = []
    for at, group in zip(frontier.bounds, frontier.groups, strict=False):
        if not group.options:
            continue
        node = group.options[0].chain.node
        key = ("legal", state.entries[node].number, node, seed)
        known = engine.cache.get(key)
        if known is None:
            alone = _only(state, seed) if alone is None else alone
            known = _of_group(engine, alone, group, seed)
            engine.cache.put(key, known, sum(part.nbytes for part in known))
        option, raw, candidate = known
        parts.append((option + len(options), raw, candidate + at))
        options += group.options
    option, raw, candidate = (np.concatenate(column) if parts else np.empty(0, np.int64) for column in (zip(*parts, strict=True) if parts else ((), (), ())))
    order = np.argsort(np.array([len(o.chain.joins) for o in options])[option], kind="stable") if len(raw) else np.empty(0, np.int64)
    return Legal(tuple(options), option[order], raw[order], candidate[order])


def _of_group(engine: Engine, alone: State, group: Group, seed: int) -> tuple[Numbers, Numbers, Numbers]:
    numbers, raws, candidates = [], [], []
    for number, (option, start) in enumerate(zip(group.options, group.bounds, strict=False)):
        block, attributes = option.block, option.attributes
        at = int(np.searchsorted(block.segment_example, seed))
        if at == block.segment_example.size or block.segment_example[at] != seed:
            continue
        entries = alone.entries[option.chain.node]
        rows = engine.entries(alone, option.chain.node, option.chain.joins).rows if option.chain.joins else entries.rows
        chosen = np.asarray(block.attributes, np.int64)
        bare = bool(block.conditions.size and block.conditions[0] == 0)
        codes = attributes.codes(block.attributes)
        raw = kernels.own_conditions(rows, bare, codes, chosen, attributes.sizes[chosen], attributes.numeric[chosen], block.bases)
        # a threshold that no example's extreme value equals covers what the next tighter one covers
        condition = np.searchsorted(block.conditions, raw, side="right") - 1
        numbers.append(np.full(raw.size, number))
        raws.append(raw)
        candidates.append(condition + start)
    if not raws:
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0, np.int64)
    return np.concatenate(numbers), np.concatenate(raws), np.concatenate(candidates)


def _only(state: State, example: int) -> State:
    """The state as one example sees it: its own entries, with parents renumbered."""
    entries: list[Entries] = []
    starts: list[int] = []
    for k, all_entries in enumerate(state.entries):
        lo = int(np.searchsorted(all_entries.example, example, side="left"))
        hi = int(np.searchsorted(all_entries.example, example, side="right"))
        up: Codes = all_entries.up[lo:hi] if k == 0 else all_entries.up[lo:hi] - CODE(starts[state.specs[k].parent])
        entries.append(Entries(all_entries.example[lo:hi], all_entries.rows[lo:hi], up))
        starts.append(lo)
    return State(state.specs, tuple(entries), state.covered)
