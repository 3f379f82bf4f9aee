"""Losses of gradient boosting: where scores start, their slopes and curvatures on each example, and the best steps."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hornboost import exact
from hornboost.learners import loss_kernels as kernels
from hornboost.learners.hypotheses import Floats
from hornboost.learners.loss_kernels import SMALLEST
from hornboost.learners.newton_kernels import newton

WHOLE_STEP = 1.0
"""Log-odds up to which a Newton step is taken as it is; of what lies beyond, only the logarithm counts."""

LARGEST_STEP = 4.0
"""A cell multiplies a mean by exp(±this) at most."""

WHOLE = 2.0**52
"""What all weights sum to in fixed point, where ranks are told."""


class Loss(ABC):
    """A loss of scores, a column an output; one that is smooth has slopes that tell its best steps."""

    name: str
    is_smooth = True
    curvature_vanishes = False
    """Whether the curvature goes to 0 as the loss does."""

    @abstractmethod
    def start(self, y: NDArray[Any], weights: Floats) -> Floats:
        """The scores before the first round."""

    @abstractmethod
    def derivatives(self, y: NDArray[Any], scores: Floats) -> tuple[Floats, Floats]:
        """The slope and the curvature of each example's loss, a column an output."""

    @abstractmethod
    def mean(self, y: NDArray[Any], scores: Floats, weights: Floats) -> float:
        """The weighted mean of the loss."""

    def steps(self, gradient: Floats, hessian: Floats, l2: float) -> Floats:
        """The step of each cell by the sums of its slopes and curvatures: Newton's, −G/(H+λ)."""
        steps = np.empty(gradient.shape)
        newton(gradient, hessian, l2, steps)
        return steps

    def optimum(self, y: NDArray[Any], scores: Floats, weights: Floats) -> Floats | None:
        """The one step that is best for all of these examples, where slopes and curvatures do not tell it."""
        return None

    def offset(self, y: NDArray[Any], scores: Floats, weights: Floats) -> float:
        """What scores of held-out examples are too low by; 0 where a fit that is too close does not move them."""
        return 0.0


class LogLoss(Loss):
    """Classes: scores are log-odds, or logarithms of probabilities.

    Where a class is rare, its curvature is next to nothing and Newton's step overshoots by far; the curvature grows
    with the step at most as its exponential does, so that beyond a whole step its logarithm is enough.

    >>> Logistic().steps(np.array([[-0.5], [-99.0]]), np.array([[0.25], [1.0]]), 0.75).round(3).tolist()
    [[0.5], [5.036]]
    """

    name = "log_loss"
    curvature_vanishes = True

    def steps(self, gradient: Floats, hessian: Floats, l2: float) -> Floats:
        found = super().steps(gradient, hessian, l2)
        size = np.abs(found)
        beyond = exact.logs(np.maximum(size, WHOLE_STEP) / WHOLE_STEP)
        return np.copysign(np.minimum(size, WHOLE_STEP) + WHOLE_STEP * beyond, found)


class Logistic(LogLoss):
    """Two classes: one score, the log-odds of the second.

    >>> slope, curvature = Logistic().derivatives(np.array([1]), np.array([[0.0]]))
    >>> slope.tolist(), curvature.tolist()
    ([[-0.5]], [[0.25]])
    """

    def start(self, y: NDArray[Any], weights: Floats) -> Floats:
        minus, plus = np.bincount(y, weights=weights, minlength=2)
        return np.array([exact.log(plus / minus)])

    def derivatives(self, y: NDArray[Any], scores: Floats) -> tuple[Floats, Floats]:
        slope, curvature = np.empty(scores.shape), np.empty(scores.shape)
        kernels.logistic(y, scores, slope, curvature)
        return slope, curvature

    def mean(self, y: NDArray[Any], scores: Floats, weights: Floats) -> float:
        losses = np.empty(len(scores))
        kernels.logistic_losses(y, scores, losses)
        return average(losses, weights)


class Softmax(LogLoss):
    """Several classes: a score for each, log-probabilities up to a constant."""

    def __init__(self, n_classes: int) -> None:
        self.n_classes = n_classes

    def start(self, y: NDArray[Any], weights: Floats) -> Floats:
        mass = np.bincount(y, weights=weights, minlength=self.n_classes)
        return exact.logs(mass / mass.sum())

    def derivatives(self, y: NDArray[Any], scores: Floats) -> tuple[Floats, Floats]:
        slope, curvature = np.empty(scores.shape), np.empty(scores.shape)
        _, odds, total = _odds(scores)
        kernels.softmax(y, odds, total, slope, curvature)
        return slope, curvature

    def mean(self, y: NDArray[Any], scores: Floats, weights: Floats) -> float:
        top, _, total = _odds(scores)
        return average(top + exact.logs(total) - scores[np.arange(len(y)), y], weights)


def _odds(scores: Floats) -> tuple[Floats, Floats, Floats]:
    """The largest score of each example, the odds of its classes against the one that has it, and their sum."""
    top, odds = np.empty(len(scores)), np.empty(scores.shape)
    kernels.odds(scores, top, odds)
    return top, odds, odds.sum(axis=1)


class Squared(Loss):
    """Numbers: the score is their mean. The loss is told in the square of a `unit`, in which labels are measured."""

    name = "squared_error"

    def __init__(self, unit: float = 1.0) -> None:
        self.unit = unit

    def start(self, y: NDArray[Any], weights: Floats) -> Floats:
        return np.array([exact.total(weights * y) / exact.total(weights)])

    def derivatives(self, y: NDArray[Any], scores: Floats) -> tuple[Floats, Floats]:
        return scores - y[:, None], np.ones_like(scores)

    def mean(self, y: NDArray[Any], scores: Floats, weights: Floats) -> float:
        return average((y - scores[:, 0]) ** 2, weights) * self.unit * self.unit


class Quantile(Loss):
    """Numbers: the score is their `level` quantile.

    The loss of an error e is level·e above the score and (level − 1)·e below it. It has no curvature, so that clauses
    are found by its slopes, as if that were 1, and each cell steps to the quantile of its own errors. Rules fit the
    examples that they are learned from too closely, so that more than the level of the others lies outside: `offset`
    moves all scores back.

    An error below `small` counts in proportion. Where many labels are equal, a cell may step ever closer to one of
    them; as long as its slopes stay the same, no other clause would be found.

    >>> Quantile(0.5).optimum(np.array([1.0, 5.0, 9.0]), np.zeros((3, 1)), np.array([1.0, 1.0, 3.0])).tolist()
    [9.0]
    """

    name = "pinball_loss"
    is_smooth = False

    def __init__(self, level: float, unit: float = 1.0, small: float = 0.0) -> None:
        self.level = level
        self.unit = unit
        self.small = small

    def start(self, y: NDArray[Any], weights: Floats) -> Floats:
        return np.array([quantile(y, weights, self.level)])

    def derivatives(self, y: NDArray[Any], scores: Floats) -> tuple[Floats, Floats]:
        error = y[:, None] - scores
        slope = np.where(error > 0, -self.level, np.where(error < 0, 1.0 - self.level, 0.0))
        if self.small > 0.0:
            slope *= np.minimum(np.abs(error) / self.small, 1.0)
        return slope, np.ones_like(scores)

    def mean(self, y: NDArray[Any], scores: Floats, weights: Floats) -> float:
        error = y - scores[:, 0]
        losses = np.maximum(self.level * error, (self.level - 1.0) * error)
        return average(losses, weights) * self.unit

    def optimum(self, y: NDArray[Any], scores: Floats, weights: Floats) -> Floats | None:
        return np.array([quantile(y - scores[:, 0], weights, self.level)])

    def offset(self, y: NDArray[Any], scores: Floats, weights: Floats) -> float:
        return quantile(y - scores[:, 0], weights, self.level)


class Absolute(Quantile):
    """Numbers: the score is their median."""

    name = "absolute_error"

    def __init__(self, unit: float = 1.0, small: float = 0.0) -> None:
        super().__init__(0.5, unit, small)

    def offset(self, y: NDArray[Any], scores: Floats, weights: Floats) -> float:
        return 0.0

    def mean(self, y: NDArray[Any], scores: Floats, weights: Floats) -> float:
        return 2.0 * super().mean(y, scores, weights)


class Poisson(Loss):
    """Counts: the score is the logarithm of their mean μ; the loss is half of the deviance, which is what is told.

    The best step of a cell is told by the same sums as Newton's, ln((Σy+λ)/(Σμ+λ)), and is used instead of it: it does
    not overshoot where a few examples have means that are far too small.
    """

    name = "poisson_deviance"

    def __init__(self, unit: float = 1.0) -> None:
        self.unit = unit

    def start(self, y: NDArray[Any], weights: Floats) -> Floats:
        return np.array([exact.log(max(exact.total(weights * y) / exact.total(weights), SMALLEST))])

    def derivatives(self, y: NDArray[Any], scores: Floats) -> tuple[Floats, Floats]:
        mean = means(scores)
        return mean - y[:, None], np.maximum(mean, SMALLEST)

    def steps(self, gradient: Floats, hessian: Floats, l2: float) -> Floats:
        events = np.maximum(hessian - gradient, 0.0) + l2
        ratio = np.divide(events, hessian + l2, out=np.ones_like(gradient), where=hessian + l2 > 0)
        return np.clip(exact.logs(ratio), -LARGEST_STEP, LARGEST_STEP)

    def mean(self, y: NDArray[Any], scores: Floats, weights: Floats) -> float:
        mean = means(scores[:, 0])
        ratio = np.divide(y, mean, out=np.ones_like(mean), where=y > 0)
        return 2.0 * average(y * exact.logs(ratio) - y + mean, weights) * self.unit


def average(values: Floats, weights: Floats) -> float:
    """The weighted mean, with the bits of `np.average`, which asks much before it adds.

    >>> average(np.array([1.0, 4.0]), np.array([2.0, 1.0]))
    2.0
    """
    return float((values * weights).sum() / weights.sum())


def means(scores: Floats) -> Floats:
    """What the logarithms of means stand for.

    >>> means(np.array([0.0, -1e9])).round(12).tolist()
    [1.0, 0.0]
    """
    return exact.exps(np.clip(scores, -700.0, 700.0))


def quantile(values: Floats, weights: Floats, level: float) -> float:
    """The smallest value that has at least so much of the weight at or below it.

    Where just so much is, the middle between it and the next, so that a median is the usual one; 0 of no values.
    Weights are counted in fixed point: one of 2 is exactly two of 1, and the order of the values does not matter.

    >>> quantile(np.array([3.0, 1.0, 2.0, 10.0]), np.ones(4), 0.5), quantile(np.arange(4.0), np.ones(4), 0.9)
    (2.5, 3.0)
    """
    order = np.argsort(values, kind="stable")
    total = exact.total(weights)
    if total == 0.0:
        return 0.0
    below = np.cumsum(np.rint(weights[order] * np.rint(WHOLE / total)).astype(np.int64))
    wanted = level * float(below[-1])
    at = int(np.searchsorted(below, wanted, side="left"))
    found = float(values[order[at]])
    if float(below[at]) != wanted or at + 1 == below.size:
        return found
    after = at + 1 + int(np.argmax(below[at + 1 :] > below[at]))
    return found + 0.5 * (float(values[order[after]]) - found)


def loss_of(n_classes: int) -> Loss:
    """The loss that tells so many classes apart."""
    return Logistic() if n_classes == 2 else Softmax(n_classes)
