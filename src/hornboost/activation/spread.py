"""The joint distribution of class and attribute when an example reaches many rows: its mass is spread evenly over them.

A path is given as CSR offsets, one more than there are examples: example i reaches the entries offsets[i] …
offsets[i+1] − 1. An entry carries a code (nominal value, rank of a number, or interval); negative codes are missing. An
example of mass 0 is as if it were not there.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hornboost.activation import information_kernels as kernels
from hornboost.activation.information import entropy, mutual_information
from hornboost.stopping import check

__all__ = [
    "Joint",
    "Spread",
    "cmi_of_paths",
    "cmi_of_rows",
    "has_value",
    "offsets_of",
    "spread_joint",
    "spread_shares",
]

Ints = NDArray[np.integer[Any]]
Floats = NDArray[np.float64]

AT_ONCE = 1 << 22
"""Entries that one call looks at, or little more."""

_DENSE_PAIRS = 1 << 20
"""Above this many pairs of values the pairs that occur are numbered anew, so that a table never outgrows the data."""


class Joint(NamedTuple):
    """Joint masses, class × value, and the number of examples that contributed to them."""

    table: Floats
    n_examples: int


@dataclass(frozen=True, eq=False)
class Spread:
    """For each example the distinct values that it reaches and their shares.

    The last value stands for missing or absent.

    It does not depend on masses, so that one round's spread serves all later rounds.
    """

    starts: Ints
    codes: Ints
    shares: Floats
    n_values: int


def offsets_of(examples: Ints, n_examples: int) -> NDArray[np.int64]:
    """CSR offsets of entries that are sorted by example.

    >>> offsets_of(np.array([0, 0, 2]), 4)
    array([0, 2, 2, 3, 3])
    """
    return np.searchsorted(examples, np.arange(n_examples + 1)).astype(np.int64)


def spread_joint(
    offsets: Ints, codes: Ints, masses: ArrayLike, classes: Ints, n_values: int, n_classes: int = 2
) -> Joint:
    """Joint masses of class and value: each example's mass spread evenly over the entries where it has a value.

    >>> spread_joint(np.array([0, 2, 3]), np.array([0, 1, 1]), [0.5, 0.5], np.array([0, 1]), n_values=2)
    Joint(table=array([[0.25, 0.25],
           [0.  , 0.5 ]]), n_examples=2)
    """
    return _spread(offsets, codes, masses, classes, -1, (n_classes, n_values))


def spread_shares(offsets: Ints, codes: Ints, n_values: int) -> Spread:
    """The distribution of each example over the values it reaches, missing or absent being the value n_values.

    >>> spread_shares(np.array([0, 2, 2]), np.array([1, 1]), n_values=2)
    Spread(starts=array([0, 1, 2]), codes=array([1, 2], dtype=int32), shares=array([1., 1.]), n_values=3)
    """
    n_examples = len(offsets) - 1
    room = len(codes) + n_examples
    starts = np.zeros(n_examples + 1, dtype=np.int64)
    out_codes, out_shares = np.empty(room, dtype=np.int32), np.empty(room, dtype=np.float64)
    used = kernels.distinct_shares(
        np.asarray(offsets, dtype=np.int64), np.asarray(codes, dtype=np.int32), n_values, starts, out_codes, out_shares
    )
    return Spread(starts, out_codes[:used].copy(), out_shares[:used].copy(), n_values + 1)


def has_value(offsets: Ints, codes: Ints) -> NDArray[np.bool_]:
    """Which examples reach an entry that has a value.

    >>> has_value(np.array([0, 2, 2, 3]), np.array([-1, 0, -1]))
    array([ True, False, False])
    """
    out = np.empty(len(offsets) - 1, np.bool_)
    for lo, hi in _ranges(offsets):
        check()
        kernels.some_value(np.asarray(offsets[lo : hi + 1], np.int64), np.asarray(codes, np.int32), out[lo:hi])
    return out


def cmi_of_rows(
    offsets: Ints,
    given: Ints,
    codes: Ints,
    masses: ArrayLike,
    classes: Ints,
    n_given: int,
    n_values: int,
    n_classes: int = 2,
) -> float:
    """CMI(C, F_j|F_k) of two attributes of one table.

    Their values are paired row by row, missing or absent a value of its own.

    >>> given, codes = np.array([0, 0, 1, 1]), np.array([0, 1, 0, 1])
    >>> # exclusive or: ln 2
    >>> round(cmi_of_rows(np.arange(5), given, codes, [1, 1, 1, 1], np.array([0, 1, 1, 0]), 2, 2), 6)
    0.693147
    """
    width = n_values + 1
    pairs = np.where(given >= 0, given, n_given).astype(np.int64) * width + np.where(codes >= 0, codes, n_values)
    n_pairs = (n_given + 1) * width
    absent = n_pairs - 1
    if n_pairs > _DENSE_PAIRS:
        distinct, pairs = np.unique(np.append(pairs, absent), return_inverse=True)
        pairs, n_pairs = pairs[:-1], len(distinct)
        absent = n_pairs - 1
    return mutual_information(_spread(offsets, pairs, masses, classes, absent, (n_classes, n_pairs)).table)


def cmi_of_paths(given: Spread, feature: Spread, masses: ArrayLike, classes: Ints, n_classes: int = 2) -> float:
    """CMI(C, F_j|F_k) of attributes on different paths: within an example, the product of its two distributions.

    >>> given = spread_shares(np.arange(5), np.array([0, 0, 1, 1]), 2)
    >>> feature = spread_shares(np.arange(5), np.array([0, 1, 0, 1]), 2)
    >>> round(cmi_of_paths(given, feature, [1, 1, 1, 1], np.array([0, 1, 1, 0])), 6)
    0.693147
    """
    mass, labels = np.asarray(masses, dtype=np.float64), np.asarray(classes, dtype=np.int64)
    total = float(mass.sum())
    if not total > 0.0:
        return 0.0
    order = np.argsort(given.codes, kind="stable")
    examples = np.repeat(np.arange(len(given.starts) - 1), np.diff(given.starts))[order]
    remainder = kernels.product_conditional_entropy(
        offsets_of(given.codes[order], given.n_values),
        examples,
        given.shares[order],
        feature.starts,
        feature.codes,
        feature.shares,
        mass,
        labels,
        feature.n_values,
        n_classes,
    )
    return max(0.0, entropy(np.bincount(labels, weights=mass, minlength=n_classes)) - float(remainder) / total)


def _spread(offsets: Ints, codes: Ints, masses: ArrayLike, classes: Ints, absent: int, shape: tuple[int, int]) -> Joint:
    # one number type for each argument, so that the kernel is compiled once
    table = np.zeros(shape, dtype=np.float64)
    offsets, codes = np.asarray(offsets, dtype=np.int64), np.asarray(codes, dtype=np.int32)
    mass, labels = np.asarray(masses, dtype=np.float64), np.asarray(classes, dtype=np.int64)
    contributing = 0
    for lo, hi in _ranges(offsets):  # in the order of the examples, so the sums are the same in any number of ranges
        check()
        contributing += kernels.spread_into(offsets[lo : hi + 1], codes, mass[lo:hi], labels[lo:hi], absent, table)
    return Joint(table, int(contributing))


def _ranges(offsets: Ints) -> list[tuple[int, int]]:
    """Ranges of examples that reach so many entries that a pass over them takes some hundredths of a second."""
    n, marks = len(offsets) - 1, np.arange(AT_ONCE, offsets[-1], AT_ONCE)
    cuts = np.unique([0, *np.searchsorted(offsets, marks).clip(0, n), n]).tolist()
    return list(pairwise(cuts))
