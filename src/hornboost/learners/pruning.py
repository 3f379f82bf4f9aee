"""Pessimistic pruning of a grown decision tree, as C4.5 does it (Quinlan 1993, section 4.2),
without its subtree raising.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def pessimistic_collapse(tree: Any, confidence: float = 0.25) -> NDArray[np.intp]:
    """For each node of a fitted scikit-learn `tree_` the node whose leaf it belongs to after pruning.

    Itself, or a pruned ancestor.

    A subtree becomes a leaf where the upper confidence limit of the leaf's errors is not above the sum of its leaves'
    limits.
    """
    left, right = tree.children_left, tree.children_right
    size = tree.weighted_n_node_samples
    share_of_majority = tree.value[:, 0, :].max(axis=1) / tree.value[:, 0, :].sum(axis=1)
    limit = _upper_errors(size * (1.0 - share_of_majority), size, confidence)
    keeps = left >= 0
    below = limit.copy()
    for node in reversed(np.flatnonzero(left >= 0)):  # children come after their parents
        subtree = below[left[node]] + below[right[node]]
        if limit[node] <= subtree + 0.1:  # C4.5 prunes at near equality
            keeps[node] = False
        else:
            below[node] = subtree
    target = np.arange(tree.node_count)
    for node in np.flatnonzero(left >= 0):
        if not keeps[node] or target[node] != node:
            target[left[node]] = target[right[node]] = target[node]
    return target


def _upper_errors(errors: NDArray[np.float64], size: NDArray[np.float64], confidence: float) -> NDArray[np.float64]:
    """Errors to be expected of `size` examples when `errors` were seen, at the upper limit of the binomial proportion.

    The limit is rounded: its last digits are those of the C library.
    """
    from scipy.stats import beta

    shape_a, shape_b = errors + 1.0, np.maximum(size - errors, 1e-9)
    return np.asarray(size * np.round(beta.ppf(1.0 - confidence, shape_a, shape_b), 9), dtype=np.float64)
