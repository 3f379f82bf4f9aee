"""The entries that a join adds: a row behind an entry each, for those that pass."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hornboost.dtypes import CODE
from hornboost.engine import join_kernels
from hornboost.engine.reach import Reach, gathered
from hornboost.engine.row_conditions import NO_CONDITIONS, Conditions
from hornboost.engine.state import Entries
from hornboost.stopping import check


def expanded(reach: Reach, allowed: NDArray[np.bool_], conditions: Conditions = NO_CONDITIONS) -> Entries:
    """The entries behind a join, part by part where they are many."""
    cuts = reach.cuts()
    if len(cuts) == 2:
        rows, up = join_kernels.expand(*reach.edges, allowed, *conditions)
        return Entries(gathered(reach.example, up), rows, up)
    room = reach.count_rows()
    columns = np.empty((2, room), CODE)
    n = 0
    for lo, hi in pairwise(cuts):
        check()
        rows, up = join_kernels.expand(*reach.part(lo, hi).edges, allowed, *conditions)
        up += lo
        columns[0, n : n + rows.size], columns[1, n : n + rows.size] = rows, up
        n += rows.size
    rows, up = columns if n == room else columns[:, :n].copy()
    return Entries(gathered(reach.example, up), rows, up)
