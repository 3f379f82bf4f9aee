"""The compiled loop of `sampling`: a fresh hash of every example, once a round."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hornboost.data.jit import jit

Hashes = NDArray[np.uint64]


@jit
def example_hash(content: Hashes, counter: Hashes) -> Hashes:
    """`splitmix64` of each content with the counter."""
    hashes = np.empty(content.size, np.uint64)
    for i in range(content.size):
        z = (content[i] ^ counter[0]) + np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        hashes[i] = z ^ (z >> np.uint64(31))
    return hashes
