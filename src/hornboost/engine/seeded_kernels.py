"""Kernels of the seeded search, and nothing else; conditions are numbered as `kernels.build_pairs` numbers them."""

from __future__ import annotations

import numpy as np

from hornboost.data.jit import jit
from hornboost.engine.kernels import Codes, Int, Longs, Mask


@jit
def own_conditions(rows: Codes, bare: bool, attributes: Codes, selected: Longs, sizes: Longs, numeric: Mask, bases: Longs) -> Longs:
    """The conditions that hold on some of the rows, with thresholds at the rows' own values only, in rising order."""
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
    return ordered[:n_distinct].copy()


@jit
def weight_by_holder(holder: Codes, weights: Longs, classes: Codes, n_holders: Int) -> Longs:
    """The weight of the examples of each key, by class."""
    out = np.zeros((n_holders, 2), np.int64)
    for example in range(weights.size):
        weight = weights[example]
        if weight != 0:
            out[holder[example], classes[example]] += weight
    return out


@jit
def histogram_by_class(segment_example: Codes, segment_start: Longs, pairs: Codes, weights: Longs, out: Longs) -> None:
    """Add the weights of each key to every condition that it satisfies, both classes at once."""
    for segment in range(segment_example.size):
        negative = weights[segment_example[segment], 0]
        positive = weights[segment_example[segment], 1]
        if negative != 0 or positive != 0:
            for p in range(segment_start[segment], segment_start[segment + 1]):
                out[pairs[p], 0] += negative
                out[pairs[p], 1] += positive


@jit
def covered_by(segment_example: Codes, segment_end: Longs, pairs: Codes, first: Int, last: Int, n: Int) -> Mask:
    """Which of the n holders of segments satisfy one of the conditions first..last."""
    out = np.zeros(n, np.bool_)
    start = np.int64(0)
    for segment in range(segment_example.size):
        for p in range(start, segment_end[segment]):
            if first <= pairs[p] <= last:
                out[segment_example[segment]] = True
                break
        start = segment_end[segment]
    return out


@jit
def reached_by_entry(codes: Codes, offsets: Longs) -> Longs:
    """How many rows the join reaches from each entry."""
    out = np.zeros(codes.size, np.int64)
    for entry in range(codes.size):
        code = codes[entry]
        if 0 <= code < offsets.size - 1:
            out[entry] = offsets[code + 1] - offsets[code]
    return out
