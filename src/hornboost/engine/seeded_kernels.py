"""Numba kernels of the seeded search, and nothing else."""

from __future__ import annotations

import numba as nb
import numpy as np

_jit = nb.njit(nogil=True, cache=True, boundscheck=False)


@_jit
def own_conditions(rows, bare, attributes, selected, sizes, numeric, bases):
    """The conditions that hold on some of the rows, with thresholds at the rows' own values only, in rising order.

    They are numbered as `kernels.build_pairs` numbers them.
    """
    out = np.empty(1 + 2 * rows.size * selected.size, np.int64)
    n = 0
    if rows.size > 0 and bare:
        out[0] = 0
        n = 1
    for a in range(selected.size):
        column = attributes[selected[a]]
        base = bases[a]
        size = sizes[a]
        for row in rows:
            value = column[row]
            if numeric[a]:
                if value >= 0:
                    out[n] = base + size - 1 - value
                    out[n + 1] = base + size + value
                    n += 2
                else:
                    out[n] = base + 2 * size
                    n += 1
            elif value >= 0:
                out[n] = base + value
                n += 1
            elif value == -1:
                out[n] = base + size
                n += 1
    ordered = np.sort(out[:n])
    n_distinct = 0
    for i in range(n):
        if i == 0 or ordered[i] != ordered[i - 1]:
            ordered[n_distinct] = ordered[i]
            n_distinct += 1
    return ordered[:n_distinct]
