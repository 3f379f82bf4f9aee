"""Losses of gradient boosting: where scores start, and their slopes and curvatures on each example."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from hornboost import exact
from hornboost.learners.hypotheses import Codes, Floats

SMALLEST = 1e-16
"""Curvatures are at least this, so that a step never divides by nothing."""


class Loss(Protocol):
    """A loss of scores, a column an output."""

    name: str

    def start(self, y: Codes, weights: Floats) -> Floats:
        """The scores before the first round."""

    def derivatives(self, y: Codes, scores: Floats) -> tuple[Floats, Floats]:
        """The slope and the curvature of each example's loss, a column an output."""

    def mean(self, y: Codes, scores: Floats, weights: Floats) -> float:
        """The weighted mean of the loss."""


class Logistic:
    """Two classes: one score, the log-odds of the second.

    >>> slope, curvature = Logistic().derivatives(np.array([1]), np.array([[0.0]]))
    >>> slope.tolist(), curvature.tolist()
    ([[-0.5]], [[0.25]])
    """

    name = "log_loss"

    def start(self, y: Codes, weights: Floats) -> Floats:
        minus, plus = np.bincount(y, weights=weights, minlength=2)
        return np.array([exact.log(plus / minus)])

    def derivatives(self, y: Codes, scores: Floats) -> tuple[Floats, Floats]:
        p = exact.sigmoids(scores)
        return p - y[:, None], np.maximum(p * (1.0 - p), SMALLEST)

    def mean(self, y: Codes, scores: Floats, weights: Floats) -> float:
        losses = exact.softpluses(np.where(y == 1, -1.0, 1.0) * scores[:, 0])
        return float(np.average(losses, weights=weights))


class Softmax:
    """Several classes: a score for each, log-probabilities up to a constant."""

    name = "log_loss"

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes

    def start(self, y: Codes, weights: Floats) -> Floats:
        mass = np.bincount(y, weights=weights, minlength=self.n_classes)
        return exact.logs(mass / mass.sum())

    def derivatives(self, y: Codes, scores: Floats) -> tuple[Floats, Floats]:
        p = exact.softmax(scores)
        return p - np.eye(self.n_classes)[y], np.maximum(p * (1.0 - p), SMALLEST)

    def mean(self, y: Codes, scores: Floats, weights: Floats) -> float:
        top = scores.max(axis=1)
        losses = top + exact.logs(exact.exps(scores - top[:, None]).sum(axis=1)) - scores[np.arange(len(y)), y]
        return float(np.average(losses, weights=weights))


def loss_of(n_classes: int) -> Loss:
    """The loss that tells so many classes apart."""
    return Logistic() if n_classes == 2 else Softmax(n_classes)
