"""Random columns: nominal values, numbers of children, and labels with noise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Mask = NDArray[np.bool_]
Ints = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Nominal:
    """A drawn nominal column, kept as codes so that comparing and slicing ten million values stays cheap."""

    codes: NDArray[np.int8]
    values: tuple[str, ...]

    def equals(self, value: str) -> Mask:
        mask: Mask = self.codes == self.values.index(value)
        return mask

    def arrow(self) -> pa.Array:
        return pa.DictionaryArray.from_arrays(self.codes, list(self.values)).cast(pa.string())


def nominal(rng: np.random.Generator, shares: Mapping[str, float], size: int) -> Nominal:
    """Values drawn with the given shares (scaled to sum to 1)."""
    cumulative = np.cumsum(list(shares.values()))
    codes = np.searchsorted(cumulative, rng.random(size) * cumulative[-1], side="right")
    return Nominal(np.minimum(codes, len(shares) - 1).astype(np.int8), tuple(shares))


def children(rng: np.random.Generator, parents: int, low: int, high: int) -> Ints:
    """The parent of each child, in order, where each parent has `low` to `high` children."""
    return np.repeat(np.arange(parents), rng.integers(low, high, size=parents, endpoint=True))


def position_in_parent(parent: Ints) -> Ints:
    """1, 2, 3, … among the children of each parent; `parent` is sorted."""
    first = np.searchsorted(parent, parent, side="left")
    return np.arange(len(parent)) - first + 1


def reached(parent: Ints, parents: int) -> Mask:
    """Which of the parents occur in `parent`."""
    mask = np.zeros(parents, dtype=np.bool_)
    mask[parent] = True
    return mask


def flip(rng: np.random.Generator, truth: Mask, noise: float) -> Mask:
    """The truth with exactly the share `noise` of it (rounded) turned round."""
    labels = truth.copy()
    chosen = rng.permutation(len(truth))[: round(noise * len(truth))]
    labels[chosen] ^= True
    return labels


def label_column(labels: Mask) -> pa.Array:
    """Labels as "1" and "0"."""
    return Nominal(labels.astype(np.int8), ("0", "1")).arrow()


def dates(first: np.datetime64, days: Ints, missing: Mask | None = None) -> pa.Array:
    """Days after a first one, as dates."""
    return pa.array(first + days.astype("timedelta64[D]"), mask=missing)
