"""Compiled loops of the features layer: masses spread over reached rows, and the information of pairs of features."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hornboost.exact import scalars
from hornboost.exact.compiled import log, log1p
from hornboost.jit import inner, jit

Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]

_LN_2 = scalars.log(2.0)


@jit
def some_value(offsets: Ints, codes: Ints, out: NDArray[np.bool_]) -> None:
    """Which examples reach an entry that has a value."""
    for i in range(out.size):
        out[i] = False
        for entry in range(offsets[i], offsets[i + 1]):
            if codes[entry] >= 0:
                out[i] = True
                break


@jit
def spread_into(offsets: Ints, codes: Ints, masses: Floats, classes: Ints, absent: int, table: Floats) -> int:
    """Add each example's mass to table[class, code], evenly over its entries.

    Return the number of examples that contributed.

    With absent < 0 entries without a value are left out; otherwise they, and examples that reach nothing, count as the
    value `absent`.
    """
    contributing = 0
    for example in range(len(offsets) - 1):
        mass = masses[example]
        if not mass > 0.0:
            continue
        row = classes[example]
        first, last = offsets[example], offsets[example + 1]
        known = 0
        for entry in range(first, last):
            if codes[entry] >= 0:
                known += 1
        if absent >= 0:
            contributing += 1
            if last == first:
                table[row, absent] += mass
                continue
            share = mass / (last - first)
            if known < last - first:
                table[row, absent] += share * (last - first - known)
        else:
            if known == 0:
                continue
            contributing += 1
            share = mass / known
        for entry in range(first, last):
            code = codes[entry]
            if code >= 0:
                table[row, code] += share
    return contributing


@jit
def distinct_shares(
    offsets: Ints, codes: Ints, n_values: int, starts: Ints, out_codes: Ints, out_shares: Floats
) -> int:
    """For each example its distinct codes and the share of its entries that has each.

    Code n_values stands for no value.

    Fills `starts` (CSR) and the two output columns, and returns how much of them is used.
    """
    place = np.full(n_values + 1, -1, dtype=np.int64)
    used = 0
    for example in range(len(offsets) - 1):
        begin = used
        first, last = offsets[example], offsets[example + 1]
        if first == last:
            out_codes[used] = n_values
            out_shares[used] = 1.0
            used += 1
        for entry in range(first, last):
            code = codes[entry] if codes[entry] >= 0 else n_values
            if place[code] < begin:
                place[code] = used
                out_codes[used] = code
                out_shares[used] = 0.0
                used += 1
            out_shares[place[code]] += 1.0
        for slot in range(begin, used):
            if last > first:
                out_shares[slot] /= last - first
        starts[example + 1] = used
    return used


@jit
def product_conditional_entropy(
    by_value: Ints,
    examples: Ints,
    given_shares: Floats,
    starts: Ints,
    codes: Ints,
    shares: Floats,
    masses: Floats,
    classes: Ints,
    n_values: int,
    n_classes: int,
) -> float:
    """E(C|F_k, F_j) times the total mass, where an example's values of F_k and F_j are independent given the example.

    `by_value`, `examples`, `given_shares` list the examples of each value of F_k; `starts`, `codes`, `shares` the
    values of F_j of each example. One table class × value is reused for every value of F_k, so that the joint table of
    all three is never held.
    """
    table = np.zeros((n_values, n_classes), dtype=np.float64)
    touched = np.empty(n_values, dtype=np.int64)
    is_touched = np.zeros(n_values, dtype=np.bool_)
    result = 0.0
    for value in range(len(by_value) - 1):
        n_touched = 0
        for at in range(by_value[value], by_value[value + 1]):
            example = examples[at]
            mass = masses[example] * given_shares[at]
            if not mass > 0.0:
                continue
            for slot in range(starts[example], starts[example + 1]):
                code = codes[slot]
                if not is_touched[code]:
                    is_touched[code] = True
                    touched[n_touched] = code
                    n_touched += 1
                table[code, classes[example]] += mass * shares[slot]
        for index in range(n_touched):
            code = touched[index]
            cell = 0.0
            for row in range(n_classes):
                cell += table[code, row]
            for row in range(n_classes):
                mass = table[code, row]
                if mass > 0.0:
                    result -= mass * log(mass / cell)
                table[code, row] = 0.0
            is_touched[code] = False
    return result


@jit
def mdl_place(sums: Floats, tie: float) -> int:
    """The inner place of the best cut by class entropy if the MDL test of Fayyad and Irani accepts it, otherwise 0.

    `sums` are cumulative masses, class × place; of places that differ by less than `tie` of the mass the first is
    taken.
    """
    n_classes, last = sums.shape[0], sums.shape[1] - 1
    n = 0.0
    for row in range(n_classes):
        n += sums[row, last] - sums[row, 0]
    if n < 2.0:
        return 0  # log2(N − 1) would reward a cut among less than two examples
    rest = np.empty(last + 1)
    least = np.inf
    for at in range(1, last):
        rest[at] = _entropy_bits(sums, 0, at) + _entropy_bits(sums, at, last)
        least = min(least, rest[at])
    at = 1
    while not rest[at] <= least + tie * n:
        at += 1
    whole = _entropy_bits(sums, 0, last)
    k = _n_classes(sums, 0, last)
    entropies = k * whole / n
    for first, stop in ((0, at), (at, last)):
        mass = 0.0
        for row in range(n_classes):
            mass += sums[row, stop] - sums[row, first]
        entropies -= _n_classes(sums, first, stop) * _entropy_bits(sums, first, stop) / mass
    # log2(3^k − 2), also for many classes
    vanishing = 2.0
    for _ in range(k):
        vanishing /= 3.0
    delta = (k * log(3.0) + log1p(-vanishing)) / _LN_2 - entropies
    return at if (whole - rest[at]) / n > (log(n - 1.0) / _LN_2 + delta) / n else 0


@inner
def _entropy_bits(sums: Floats, first: int, stop: int) -> Any:
    """Mass times class entropy in bits between two places."""
    total = 0.0
    result = 0.0
    for row in range(sums.shape[0]):
        mass = sums[row, stop] - sums[row, first]
        total += mass
        if mass > 0.0:
            result -= mass * log(mass)
    if total > 0.0:
        result += total * log(total)
    return result / _LN_2


@inner
def _n_classes(sums: Floats, first: int, stop: int) -> int:
    """How many classes have mass between two places."""
    count = 0
    for row in range(sums.shape[0]):
        if sums[row, stop] - sums[row, first] > 0.0:
            count += 1
    return count
