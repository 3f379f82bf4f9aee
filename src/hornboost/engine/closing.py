"""Joins that close on a second key: few rows that the first key reaches have it, and marks tell where to look."""

from __future__ import annotations

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from hornboost.dtypes import CODE
from hornboost.engine import join_kernels as kernels
from hornboost.engine.joins import FIRST_NEW
from hornboost.engine.key_kernels import Bits, Codes, Longs
from hornboost.engine.reach import Reach, gathered
from hornboost.engine.tree import Join
from hornboost.stopping import check

MANY = 100_000
"""Rows on the way to a closing join from which on marks are looked at before these are held."""

WORTH = 4
"""Rows reached for each entry and each row of the table from which on it pays to look at marks first."""


def marks_of(offsets: Longs, column: Codes) -> Bits:
    """Where the pairs of keys of a table's rows fall: that of an index, and that of a column in the order of the index.

    A pair without a mark is in no row.
    """
    marks = np.zeros(1 << (4 * column.size).bit_length(), np.uint8)
    kernels.mark_pairs(offsets, column, marks)
    return marks


def closable(reach: Reach) -> tuple[Reach, bool]:
    """A join from the entries whose keys some row may have together, and whether that drops rows of the others."""
    n = reach.codes.size
    if reach.equal_columns.shape[0] == 0 or reach.count_rows() < WORTH * (n + reach.order.size):
        return reach, False
    kept = np.empty(n, np.int64)
    marks = marks_of(reach.offsets, reach.equal_columns[0])
    n_kept, dropped = kernels.marked(reach.codes, reach.offsets, reach.stops, reach.equal_codes[0], marks, kept)
    return reach.taken(kept[:n_kept]), dropped


class Closed(NamedTuple):
    """Two joins of which the second closes: of the rows on the way, those whose keys some row may have together.

    `up` are the entries that they lie behind, and `reach` is the second join from them. `n_held` rows are on the way in
    all, and `n_reached` behind them; `dropped` says whether some of these were left out.
    """

    rows: Codes
    up: Codes
    reach: Reach
    n_held: int
    n_reached: int
    dropped: bool

    @property
    def nbytes(self) -> int:
        held = self.rows, self.up, self.reach.example, self.reach.codes, self.reach.equal_codes
        return sum(array.nbytes for array in held)


def is_closing(joins: tuple[Join, ...]) -> bool:
    """Whether the second of two joins alone closes, on one variable of the clause."""
    if len(joins) != 2 or joins[0].source is None or joins[0].equal or joins[0].unequal:
        return False
    last = joins[1]
    if last.source is None or last.source.node != FIRST_NEW or last.unequal or len(last.equal) != 1:
        return False
    return last.equal[0][1].node >= 0


def pays(n_held: int, n_rows: int) -> bool:
    """Whether to look at the marks of so many rows before those on the way are held."""
    return n_held >= max(MANY, n_rows)


def closed(first: Reach, keys: Codes, others: Codes, behind: Reach, marks: Bits) -> Closed:
    """What two joins reach: `keys` lead from the rows of the first one, in the order of its index, to the second one.

    `others` are those of the entries that it closes on; `behind` is the second join, from nowhere yet.
    """
    parts = []
    dropped = False
    for lo, hi in pairwise(first.cuts()):
        check()
        part = first.part(lo, hi)
        n = part.count_rows()
        kept, up = np.empty(n, CODE), np.empty(n, CODE)
        n, drops = kernels.marked_behind(
            part.codes, first.offsets, keys, behind.offsets, others[lo:hi], marks, kept, up
        )
        parts.append((kept[:n].copy(), up[:n] + CODE(lo)))
        dropped |= drops
    kept, up = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    by_key = kernels.reached_by_key(first.offsets, keys, behind.offsets)
    known = first.codes[(first.codes >= 0) & (first.codes < by_key.size)]
    reach = behind._replace(
        example=gathered(first.example, up), codes=gathered(keys, kept), equal_codes=gathered(others, up)[None, :]
    )
    return Closed(gathered(first.order, kept), up, reach, first.count_rows(), int(by_key[known].sum()), dropped)
