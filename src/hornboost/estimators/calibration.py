"""Scores to probabilities: a sigmoid fitted to scores that training did not see (Platt 1999, with his targets)."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hornboost import exact


def sigmoid_calibration(
    scores: NDArray[np.float64], positive: NDArray[np.bool_], weights: NDArray[np.float64]
) -> tuple[float, float]:
    """(a, b) of p = 1/(1 + exp(−(a·s + b))) by Newton's method on the log-loss.

    a > 0, so that the order of the scores is kept.

    >>> a, b = sigmoid_calibration(np.array([-2.0, -1.0, 1.0, 2.0]), np.array([False, False, True, True]), np.ones(4))
    >>> a > 0, abs(b) < 1e-6
    (True, True)
    """
    n_plus, n_minus = float(weights[positive].sum()), float(weights[~positive].sum())
    if n_plus <= 0 or n_minus <= 0 or np.ptp(scores) == 0:
        return 1.0, 0.0
    target = np.where(positive, (n_plus + 1.0) / (n_plus + 2.0), 1.0 / (n_minus + 2.0))
    scale = float(np.sqrt(np.average(scores**2, weights=weights))) or 1.0
    x = scores / scale
    a, b = 1.0, exact.log(n_plus / n_minus)

    def log_loss(a: float, b: float) -> float:
        s = a * x + b
        return float(np.sum(weights * (exact.softpluses(s) - target * s)))

    best = log_loss(a, b)
    for _ in range(100):
        p = exact.sigmoids(a * x + b)
        residual, curvature = weights * (p - target), weights * p * (1.0 - p)
        by_a, by_b = float(np.sum(residual * x)), float(np.sum(residual))
        aa, ab, bb = (
            float(np.sum(curvature * x * x)) + 1e-9,
            float(np.sum(curvature * x)),
            float(np.sum(curvature)) + 1e-9,
        )
        determinant = aa * bb - ab * ab
        step_a, step_b = (bb * by_a - ab * by_b) / determinant, (aa * by_b - ab * by_a) / determinant
        size = 1.0
        while size > 1e-10 and log_loss(a - size * step_a, b - size * step_b) > best:
            size /= 2.0
        a, b = a - size * step_a, b - size * step_b
        before, best = best, log_loss(a, b)
        if before - best < 1e-12 * max(1.0, abs(best)):
            break
    return max(a, 1e-3) / scale, b


def common_slope(
    scores: NDArray[np.float64],
    positive: NDArray[np.bool_],
    weights: NDArray[np.float64],
    noise: NDArray[np.float64] | None = None,
) -> float:
    """The slope a of p = 1/(1 + exp(−a·s)), one for all columns of scores.

    What the scores decide is what the probabilities decide.

    `noise` is the variance of the error of each score. Errors in what is regressed on flatten the slope by the share of
    the scores' variance that is not noise, so the slope is divided by that share.

    >>> scores, positive = np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([[False], [False], [True], [True]])
    >>> round(common_slope(scores, positive, np.ones(4)), 3)  # Platt's targets are 3/4 and 1/4
    0.674
    """
    mass = weights[:, None]
    n_plus, n_minus = (mass * positive).sum(axis=0), (mass * ~positive).sum(axis=0)
    if (n_plus == 0).any() or (n_minus == 0).any() or not scores.any():
        return 1.0
    target = np.where(positive, (n_plus + 1.0) / (n_plus + 2.0), 1.0 / (n_minus + 2.0))
    scale = float(np.sqrt(np.mean(mass * scores**2) / np.mean(weights)))
    x = scores / scale
    low, high = 0.0, 1e3
    for _ in range(60):  # the derivative of the log-loss rises with a: bisection needs no safeguards
        a = 0.5 * (low + high)
        p = exact.sigmoids(a * x)
        if np.sum(mass * (p - target) * x) > 0:
            high = a
        else:
            low = a
    slope = max(0.5 * (low + high), 1e-3) / scale
    spread = float(np.average(scores**2, weights=np.broadcast_to(mass, scores.shape)))
    share = (
        1.0 if noise is None else 1.0 - float(np.average(noise, weights=np.broadcast_to(mass, noise.shape))) / spread
    )
    return slope / max(share, 0.1)
