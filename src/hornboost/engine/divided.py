"""Examples that reach more rows together than there is memory for, divided among partitions that share all tables.

Each partition follows the joins for its own examples alone, and what it does not keep it finds again; so a join is left
out only where a single example reaches too much.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hornboost.data.places import Places
from hornboost.data.table import Table
from hornboost.engine.engine import Engine
from hornboost.engine.facts import Facts
from hornboost.engine.part import Part
from hornboost.engine.parts import LocalParts
from hornboost.engine.reach import Codes, Floats
from hornboost.engine.tree import Join
from hornboost.stopping import check

if TYPE_CHECKING:
    from hornboost.data import Database


Steps = tuple[tuple[Any, ...], ...]
"""The tables and columns that joins lead over, wherever they begin."""

MOST = 64
"""Partitions that a join may need: of more, what they keep between two requests is next to nothing."""


@dataclass(frozen=True, eq=False, slots=True)
class SharedOpener:
    """Opens a partition that has all rows of a database."""

    database: Database

    def open(self) -> Part:
        return Part(self.database, self)


def partitions_needed(engine: Engine) -> int:
    """Among how many partitions the examples must be divided so that each follows every join within its memory.

    It is 1 where they reach few enough rows together, and where one of them reaches too many alone, or all of them more
    than partitions are worth while for, or than are followed at all.
    """
    most, root = engine.most_entries, engine.root()
    chains = engine.graph.chains(root, 0, None, engine.max_depth, engine.look_ahead)
    needed, known = 1, dict[Steps, Floats]()
    for joins in dict.fromkeys(chain.joins for chain in chains if not any(join.equal for join in chain.joins)):
        if _at_most(engine, joins) > most:
            each = _reached_by_each(engine, joins, known)
            own = int(-(-each.sum() // most))
            if each.max(initial=0.0) <= most and own <= MOST and each.sum() <= engine.ways.reached:
                needed = max(needed, own)
    return min(2 * needed, engine.examples.n_rows) if needed > 1 else 1  # examples reach more and less than the mean


def divided(database: Database, n: int) -> Database:
    """The same database in `n` partitions, neighbouring examples together, each with all tables."""

    def places(examples: Table) -> Places:
        return Places(np.arange(examples.n_rows) * n // max(examples.n_rows, 1))

    found = database.in_parts(LocalParts([SharedOpener(database)] * n), places)
    Facts.share(database, found)
    return found


def _at_most(engine: Engine, joins: tuple[Join, ...]) -> float:
    """More rows than joins reach from all examples, by the key with the most rows."""
    found = float(engine.examples.n_rows)
    for join in joins:
        found *= engine.database.index(join.table, join.column).most_rows
    return found


def _reached_by_each(engine: Engine, joins: tuple[Join, ...], known: dict[Steps, Floats]) -> Floats:
    """How many rows joins reach from each example, whenever these are from."""
    assert joins[0].source is not None
    return _led_to(engine.key("", joins[0].source.column, True), _reached_by_key(engine, joins, known))


def _reached_by_key(engine: Engine, joins: tuple[Join, ...], known: dict[Steps, Floats]) -> Floats:
    """How many rows joins reach from each key that the first of them leads over; those of the same steps once."""
    first, *others = joins
    steps = (first.table, first.column), *((join.source, join.table, join.column) for join in others)
    if steps not in known:
        check()
        index = engine.database.index(first.table, first.column)
        if others:
            assert others[0].source is not None
            codes = engine.key(first.table, others[0].source.column, False)
            each = _led_to(codes, _reached_by_key(engine, tuple(others), known))
            sums = np.concatenate([[0.0], np.cumsum(each[index.rows])])
            known[steps] = sums[index.offsets[1:]] - sums[index.offsets[:-1]]
        else:
            known[steps] = np.diff(index.offsets).astype(np.float64)
    return known[steps]


def _led_to(codes: Codes, by_key: Floats) -> Floats:
    """What the key of each code has, and nothing where there is none."""
    known = (codes >= 0) & (codes < by_key.size)
    return np.where(known, by_key[np.where(known, codes, 0)], 0.0) if by_key.size else np.zeros(codes.size)
