"""When does the learner need another feature?

The growth of the training examples' mean margin, watched as in Table 2 of Hoche and Wrobel 2002.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hornboost import exact

__all__ = ["Progress", "ProgressMonitor", "margins", "mean_margin"]


@dataclass(frozen=True, slots=True)
class Progress:
    """What the monitor saw in one round; NaN where Table 2 defines nothing yet."""

    gradient: float
    trend: float
    ratio: float
    predicted: float
    asks: bool


@dataclass
class ProgressMonitor:
    """CheckLearningProgress (Hoche and Wrobel 2002, Table 2): `update` once a round, `forget` when a feature enters.

    Its fields are plain numbers and lists: `ProgressMonitor(**dataclasses.asdict(monitor))` goes on where `monitor`
    stands. `log_b` is ln b, since b itself underflows after a shallow maximum.

    >>> monitor = ProgressMonitor()
    >>> [monitor.update(margin).asks for margin in (0.1, 0.2, 0.3, 0.4)]
    [False, False, False, False]
    """

    trend_window: int = 10
    threshold: float = 1.01
    t: int = 0
    mean: float = 0.0
    covariation: float = 0.0
    gradients: list[float] = field(default_factory=list)
    ratios: list[float] = field(default_factory=list)
    a: float | None = None
    log_b: float | None = None
    offset: int = 0

    def update(self, mean_margin: float) -> Progress:
        """Take the mean margin of round t and say whether a feature is asked for."""
        self.t += 1
        gradient = self._gradient(mean_margin)
        trend = math.fsum(self.gradients) / len(self.gradients) if self.gradients else math.nan
        ratio = trend / gradient if gradient != 0.0 else math.nan
        if self.t > 1:  # gradient(1), the slope through one point, does not exist and is in no trend
            self.gradients = [*self.gradients, gradient][-self.trend_window :]
        if self.t > 2:
            self.ratios = [*self.ratios, ratio][-3:]
        predicted = self._predict(ratio) if self.t > 3 else math.nan
        asks = math.isfinite(predicted) and ratio != 0.0 and predicted / ratio > self.threshold
        return Progress(gradient, trend, ratio, predicted, asks)

    def forget(self) -> None:
        """Forget a and b: a new local maximum must appear before the next feature is asked for."""
        self.a = self.log_b = None

    def _gradient(self, margin: float) -> float:
        # Step 2. Least squares over k = 1 … t, updated in place: Σ(k − k̄)(m − m̄) grows by t/2 · (m_t − m̄_t), and
        # Σ(k − k̄)² is t(t² − 1)/12.
        t = self.t
        self.mean += (margin - self.mean) / t
        self.covariation += t / 2.0 * (margin - self.mean)
        return self.covariation * 12.0 / (t * (t * t - 1.0)) if t > 1 else math.nan

    def _predict(self, ratio: float) -> float:
        if len(self.ratios) == 3 and all(map(math.isfinite, self.ratios)):
            before, r1, r2 = self.ratios
            if before < r1 > r2:  # step 5a: predict(2) = r1 and predict(3) = r2 for predict(x) = a / ln(x/b)
                self.log_b = (r1 * exact.log(2.0) - r2 * exact.log(3.0)) / (r1 - r2)
                self.a = r1 * (exact.log(2.0) - self.log_b)
                self.offset = self.t - 3
        if self.a is None or self.log_b is None:
            return ratio
        log_x_over_b = exact.log(self.t - self.offset) - self.log_b
        return self.a / log_x_over_b if log_x_over_b != 0.0 else math.nan


def margins(votes: ArrayLike, y: ArrayLike, total: float) -> NDArray[np.float64]:
    """Each example's margin (Hoche and Wrobel 2002, equation (1)).

    It is the share of |confidence| for its class less the share against it.

    `votes` are the sums of the confidences of the rules that cover an example, `y` is ±1, `total` is Σ|c| over all
    rules.

    >>> margins([0.5, -0.5, 2.0], [1, 1, 1], 2.0)
    array([ 0.25, -0.25,  1.  ])
    """
    signed = np.asarray(votes, dtype=np.float64) * np.asarray(y, dtype=np.float64)
    return signed / total if total > 0.0 else np.zeros_like(signed)


def mean_margin(votes: ArrayLike, y: ArrayLike, total: float, sample_weight: ArrayLike | None = None) -> float:
    """AM_t, the (weighted) mean of `margins` (Hoche and Wrobel 2002, Table 2, step 1).

    >>> mean_margin([0.5, -0.5], [1, -1], 2.0)
    0.25
    """
    weight = None if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    return float(np.average(margins(votes, y, total), weights=weight))
