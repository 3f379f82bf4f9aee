"""The compiled loop of scoring, and nothing else: votes added to scores."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hornboost.jit import jit

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]


@jit
def add_votes(covered: Flags, of_rule: NDArray[np.int64], votes: Floats, otherwise: Floats, scores: Floats) -> None:
    """Add each rule's vote to each example's scores, in the order of the rules,
    so that every sum is made in one order.
    """
    for example in range(scores.shape[0]):
        for r in range(of_rule.size):
            if covered[example, of_rule[r]]:
                for k in range(scores.shape[1]):
                    scores[example, k] += votes[r, k]
            else:
                for k in range(scores.shape[1]):
                    scores[example, k] += otherwise[r, k]
