"""Examples that reach more rows together than there is memory for, divided among partitions that share all tables.

Each partition follows the joins for its own examples alone, and what it does not keep it finds again; so a join is left
out only where a single example reaches too much.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hornboost.data.places import Places
from hornboost.data.table import Table
from hornboost.engine.engine import Engine
from hornboost.engine.facts import Facts
from hornboost.engine.part import Part
from hornboost.engine.parts import LocalParts
from hornboost.engine.reach import Floats
from hornboost.engine.tree import Join
from hornboost.stopping import check

if TYPE_CHECKING:
    from hornboost.data import Database


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
    needed = 1
    for joins in dict.fromkeys(chain.joins for chain in chains if not any(join.equal for join in chain.joins)):
        if _at_most(engine, joins) > most:
            each = _reached_by_each(engine, joins)
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


def _reached_by_each(engine: Engine, joins: tuple[Join, ...]) -> Floats:
    """How many rows joins reach from each example, whenever these are from; counted from the last join back."""
    each = np.ones(engine.database.tables[joins[-1].table].n_rows)
    for k in range(len(joins) - 1, -1, -1):
        check()
        join = joins[k]
        assert join.source is not None
        index = engine.database.index(join.table, join.column)
        sums = np.concatenate([[0.0], np.cumsum(each[index.rows])])
        by_key = sums[index.offsets[1:]] - sums[index.offsets[:-1]]
        codes = engine.key("" if k == 0 else joins[k - 1].table, join.source.column, k == 0)
        known = (codes >= 0) & (codes < index.size)
        each = np.where(known, by_key[np.where(known, codes, 0)], 0.0) if index.size else np.zeros(codes.size)
    return each
