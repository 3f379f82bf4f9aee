"""How scores become decisions, classes and probabilities: the same for every model that adds up votes."""

from __future__ import annotations

from typing import Literal as Choice

import numpy as np
from numpy.typing import NDArray

from hornboost import exact

Floats = NDArray[np.float64]
Link = Choice["sigmoid", "softmax", "identity", "log"]

LARGEST_EXPONENT = 700.0
"""Exponents are kept between this and its negative, where nothing overflows, in Python as in SQL."""


class Scale:
    """What scores mean.

    With one score its sign separates `classes[1]` from `classes[0]`; otherwise there is a score for each class and the
    largest wins, the first of equals. `link`: "sigmoid" maps each score s to 1/(1 + exp(-(a·s + b))) with (a, b) from
    `calibration`, normalised over the classes; "softmax" takes the scores as log-probabilities up to a constant.

    Where numbers are predicted there are no classes and one score: the number itself ("identity"), or its logarithm
    ("log").
    """

    classes: tuple[str, ...]
    intercept: tuple[float, ...]
    link: Link
    calibration: tuple[tuple[float, float], ...]

    def decision(self, scores: Floats) -> Floats:
        """The decision function: one column for two classes (positive for `classes[1]`), otherwise one a class."""
        if scores.shape[1] == 1:
            return scores[:, 0]
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    @property
    def is_of_numbers(self) -> bool:
        """Whether numbers are predicted, not classes."""
        return self.link in ("identity", "log")

    def numbers(self, scores: Floats) -> Floats:
        """The predicted numbers."""
        if self.link == "log":
            return exact.exps(np.clip(scores[:, 0], -LARGEST_EXPONENT, LARGEST_EXPONENT))
        return scores[:, 0]

    def probabilities(self, scores: Floats) -> Floats:
        """Class probabilities, in the order of `classes`."""
        if len(self.classes) == 1:
            return np.ones((len(scores), 1))
        if self.link == "softmax":
            return exact.softmax(
                np.column_stack([np.zeros(len(scores)), scores[:, 0]]) if scores.shape[1] == 1 else scores
            )
        a, b = np.array(self.calibration or [(1.0, 0.0)] * scores.shape[1]).T
        p = exact.sigmoids(a * scores + b)
        if scores.shape[1] == 1:
            return np.column_stack([1.0 - p[:, 0], p[:, 0]])
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    def choices(self, scores: Floats) -> NDArray[np.intp]:
        """The position in `classes` of each predicted class."""
        if len(self.classes) == 1:
            return np.zeros(len(scores), np.intp)
        decision = self.decision(scores)
        return (decision > 0).astype(np.intp) if decision.ndim == 1 else np.argmax(decision, axis=1)


def log_loss(scores: Floats, y: NDArray[np.intp], weights: Floats) -> float:
    """The weighted mean of -log Pr(y|x), the scores being log-probabilities up to a constant."""
    top = scores.max(axis=1)
    losses = top + exact.logs(exact.exps(scores - top[:, None]).sum(axis=1)) - scores[np.arange(len(y)), y]
    return float(np.average(losses, weights=weights))
