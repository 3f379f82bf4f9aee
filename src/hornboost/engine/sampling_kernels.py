"""The compiled loop of `sampling`: the bits of a column, or of a round, mixed into the hash of every example."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hornboost.jit import inner, jit

Hashes = NDArray[np.uint64]


@inner
def _mixed(state: Any) -> Any:
    z = state + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@jit
def mixed(hashes: Hashes, bits: Hashes) -> Hashes:
    """`splitmix64` of each hash with its bits, or with the same ones for all."""
    out = np.empty(hashes.size, np.uint64)
    if bits.size == 1:  # a loop without choices is done several hashes at a time
        for i in range(hashes.size):
            out[i] = _mixed(hashes[i] ^ bits[0])
    else:
        for i in range(hashes.size):
            out[i] = _mixed(hashes[i] ^ bits[i])
    return out
