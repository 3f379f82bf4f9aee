"""How sure one can be of what a sample shows: bounds that few examples do not reach."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

NEARLY_PERFECT = 0.9
"""The mean of the shares of each class that are told right, of which one must be sure."""

_DOUBT = 0.025
CHANCE = 1e-6
"""What is less likely is no chance."""


def lower_bound(right: int, n: int) -> float:
    """The share of which one can be sure when so many of n are right (Clopper and Pearson 1934).

    >>> round(lower_bound(50, 50), 3), round(lower_bound(500, 500), 3), lower_bound(0, 5)
    (0.929, 0.993, 0.0)
    """
    from scipy.stats import beta

    return 0.0 if right == 0 else float(beta.ppf(_DOUBT, right, n - right + 1))


def sure_mean_recall(predicted: NDArray[Any], truth: NDArray[Any]) -> float:
    """The mean over the classes of the share told right of which one can be sure.

    >>> round(sure_mean_recall(np.repeat([0, 1], 100), np.repeat([0, 1], 100)), 3)
    0.964
    """
    classes = np.unique(truth)
    bounds = [
        lower_bound(int((predicted[truth == name] == name).sum()), int((truth == name).sum())) for name in classes
    ]
    return float(np.mean(bounds)) if len(bounds) > 1 else 0.0


def halves(classes: NDArray[Any], seed: int = 0) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Two halves of the examples with the same share of each class: one to choose on, one to judge on."""
    rng = np.random.default_rng(seed)
    chosen = np.zeros(classes.size, bool)
    for name in np.unique(classes):
        members = rng.permutation(np.flatnonzero(classes == name))
        chosen[members[: (members.size + 1) // 2]] = True
    return np.flatnonzero(chosen), np.flatnonzero(~chosen)


def is_related(flag: NDArray[np.bool_], y: NDArray[Any], is_of_numbers: bool) -> bool:
    """Whether a flag has to do with classes or numbers, beyond what chance does in a million tries."""
    if flag.all() or not flag.any():
        return False
    if is_of_numbers:
        from scipy.stats import mannwhitneyu

        return bool(mannwhitneyu(y[flag], y[~flag]).pvalue < CHANCE)
    from scipy.stats import chi2_contingency

    names = np.unique(y)
    if names.size < 2:
        return False
    table = np.array([[np.sum(flag & (y == name)), np.sum(~flag & (y == name))] for name in names])
    return bool(chi2_contingency(table).pvalue < CHANCE)
