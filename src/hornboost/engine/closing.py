"""Joins that close on a second key: few rows that the first key reaches have it, and marks tell where to look."""

from __future__ import annotations

import numpy as np

from hornboost.engine import join_kernels as kernels
from hornboost.engine.key_kernels import Codes, Longs, Mask
from hornboost.engine.reach import Reach

WORTH = 4
"""Rows reached for each entry and each row of the table from which on it pays to look at marks first."""


def marks_of(offsets: Longs, column: Codes) -> Mask:
    """Where the pairs of keys of a table's rows fall: that of an index, and that of a column in the order of the index.

    A pair without a mark is in no row.
    """
    marks = np.zeros(1 << (4 * column.size).bit_length(), np.bool_)
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
