"""Compiled loops of the features layer: masses spread over reached rows, and the information of pairs of features."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numpy as np
from numba import njit
from numpy.typing import NDArray

Function = TypeVar("Function", bound=Callable[..., Any])
Floats = NDArray[np.float64]
Ints = NDArray[np.integer[Any]]


def kernel(function: Function) -> Function:
    """Compile on first use, without the interpreter lock, and keep the machine code on disk."""
    return cast(Function, njit(nogil=True, cache=True)(function))


@kernel
def spread_into(offsets: Ints, codes: Ints, masses: Floats, classes: Ints, absent: int, table: Floats) -> int:
    """Add each example's mass to table[class, code], evenly over its entries; return the number of examples that contributed.

    With absent < 0 entries without a value are left out; otherwise they, and examples that reach nothing, count as the value `absent`.
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


@kernel
def distinct_shares(offsets: Ints, codes: Ints, n_values: int, starts: Ints, out_codes: Ints, out_shares: Floats) -> int:
    """For each example its distinct codes and the share of its entries that has each; code n_values stands for no value.

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


@kernel
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

    `by_value`, `examples`, `given_shares` list the examples of each value of F_k; `starts`, `codes`, `shares` the values of F_j of each
    example. One table class × value is reused for every value of F_k, so that the joint table of all three is never held.
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
                    result -= mass * np.log(mass / cell)
                table[code, row] = 0.0
            is_touched[code] = False
    return result
