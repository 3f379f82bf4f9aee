"""The compiled loops of `objectives`: numpy would make a dozen passes, and the calls are what costs on small data."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hornboost.jit import jit

Longs = NDArray[np.int64]
Floats = NDArray[np.float64]


@jit
def largest_wracc(stats: Longs, totals: Longs, resolution: float) -> Floats:
    """The largest |WRAcc| of each candidate for any class (of two only the first), in steps of 1/resolution."""
    n_candidates, n_classes = stats.shape
    total = float(totals.sum())
    out = np.empty(n_candidates)
    for k in range(n_candidates):
        covered = np.int64(0)
        for label in range(n_classes):
            covered += stats[k, label]
        best = 0.0
        for label in range(n_classes if n_classes > 2 else 1):
            best = max(best, abs(stats[k, label] / total - covered * (totals[label] / (total * total))))
        out[k] = np.rint(best * resolution)
    return out


@jit
def z_tilde(stats: Longs) -> Floats:
    """√w₊ − √w₋ of each candidate, whose weights stand by class, the negative first."""
    out = np.empty(len(stats))
    for k in range(len(stats)):
        out[k] = np.sqrt(stats[k, 1]) - np.sqrt(stats[k, 0])
    return out
