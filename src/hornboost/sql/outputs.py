"""From the sums of votes to the columns of a prediction: scores, probabilities and the class, or a number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hornboost.sql import names
from hornboost.sql.literals import number, text
from hornboost.sql.shapes import EnsembleShape, OutputShape

if TYPE_CHECKING:
    from sqlglot import exp

_BOUND = 700.0
"""Exponents are kept between this and its negative, where no database overflows."""


@dataclass(frozen=True)
class Outputs:
    """The columns that a statement adds to the keys; with two classes they speak of `model.classes[about]`.

    Names of columns in between begin with `prefix`.
    """

    model: EnsembleShape
    about: int
    names: OutputShape
    prefix: str

    @property
    def score_columns(self) -> tuple[str, ...]:
        """The names of the scores in between: two for two classes if each has a calibration of its own."""
        if len(self.model.intercept) == 2 and not self._is_one_score:
            return self.prefix + "s1", self.prefix + "s2"
        return self.names.scores

    def scores(self, sums: Sequence[exp.Expr]) -> list[exp.Expr]:
        """The columns of scores from the sums of votes."""
        from sqlglot import exp

        if self._is_one_score and len(sums) == 2:
            sums = [self._difference([exp.paren(one, copy=False) for one in sums])]
        elif self._is_one_score and self._sign < 0:
            sums = [exp.Neg(this=exp.paren(sums[0], copy=False))]
        return [names.named(one, name) for one, name in zip(sums, self.score_columns, strict=True)]

    def columns(self, key: Sequence[str], *, probability: bool) -> list[exp.Expr]:
        """The columns of the result.

        The key, or without one all columns and with them the scores, and what follows from these.
        """
        from sqlglot import exp

        scores = [names.column(None, name) for name in self.score_columns]
        are_final = self.score_columns == self.names.scores
        found: list[exp.Expr] = [exp.Star()]
        if key:
            found = [*(names.column(None, name) for name in key), *(score.copy() for score in scores if are_final)]
        if not are_final:
            found.append(names.named(self._difference(scores), self.names.scores[0]))
        if probability:
            pairs = zip(self._probabilities(scores), self.names.probabilities, strict=True)
            found += [names.named(value, name) for value, name in pairs]
        return [*found, names.named(self._choice(scores), self.names.prediction)]

    @property
    def _is_one_score(self) -> bool:
        scores = len(self.model.intercept)
        return scores == 1 or (scores == 2 and self.model.link == "softmax")

    @property
    def _sign(self) -> int:
        """Whether the single score of two classes speaks for the class that the outputs speak of, or against it."""
        return -1 if len(self.model.classes) == 2 and self.about == 0 else 1

    def _difference(self, scores: Sequence[exp.Expr]) -> exp.Expr:
        """What speaks for one of two classes against the other."""
        from sqlglot import exp

        return exp.Sub(this=scores[self.about].copy(), expression=scores[1 - self.about].copy())

    def _probabilities(self, scores: Sequence[exp.Expr]) -> list[exp.Expr]:
        """Of each class, or of the one of two that the outputs speak of."""
        from sqlglot import exp

        model = self.model
        if len(model.classes) == 1:
            return [exp.cast(number(1.0), "double")]
        calibration = model.calibration or [(1.0, 0.0)] * len(scores)
        if len(scores) == 1:
            a, b = (1.0, 0.0) if model.link == "softmax" else calibration[0]
            return [_sigmoid(scores[0] if (a, b) == (1.0, 0.0) else exp.paren(_affine(scores[0], a, self._sign * b)))]
        if model.link == "softmax":
            largest = exp.Greatest(this=scores[0].copy(), expressions=[score.copy() for score in scores[1:]])
            distances = [exp.Sub(this=score.copy(), expression=largest.copy()) for score in scores]
            shares: list[exp.Expr] = [exp.Exp(this=_at_least(distance, -_BOUND)) for distance in distances]
        else:
            shares = [
                _sigmoid(exp.paren(_affine(score, a, b))) for score, (a, b) in zip(scores, calibration, strict=True)
            ]
        total = shares[0]
        for share in shares[1:]:
            total = exp.Add(this=total.copy(), expression=share.copy())
        wanted = shares if len(shares) > 2 else [shares[self.about]]
        return [exp.Div(this=share.copy(), expression=exp.paren(total.copy()), typed=True) for share in wanted]

    def _choice(self, scores: Sequence[exp.Expr]) -> exp.Expr:
        """The class with the largest score, the first of equals."""
        from sqlglot import exp

        classes = [text(value) for value in self.model.classes]
        if len(classes) == 1:
            return classes[0]
        if len(scores) <= 2:
            score = scores[0].copy() if len(scores) == 1 else exp.paren(self._difference(scores))
            positive = (exp.GT if self.about else exp.GTE)(this=score, expression=exp.Literal.number(0))
            return exp.Case(ifs=[exp.If(this=positive, true=classes[self.about])], default=classes[1 - self.about])
        ifs = []
        for k in range(len(classes) - 1):
            wins = [exp.GTE(this=scores[k].copy(), expression=other.copy()) for j, other in enumerate(scores) if j != k]
            ifs.append(exp.If(this=exp.and_(*wins, copy=False), true=classes[k]))
        return exp.Case(ifs=ifs, default=classes[-1])


@dataclass(frozen=True)
class NumberOutput:
    """The one column that a statement adds to the keys where a number is predicted."""

    model: EnsembleShape
    names: OutputShape
    prefix: str

    def scores(self, sums: Sequence[exp.Expr]) -> list[exp.Expr]:
        """The prediction from the sum of votes."""
        from sqlglot import exp

        (value,) = sums
        if self.model.link == "log":
            value = exp.Exp(this=_within_bounds(exp.paren(value, copy=False)))
        return [names.named(value, self.names.prediction)]

    def columns(self, key: Sequence[str], *, probability: bool) -> list[exp.Expr]:
        """The key and the prediction, or without a key all columns and the prediction."""
        from sqlglot import exp

        return [names.column(None, name) for name in (*key, self.names.prediction)] if key else [exp.Star()]


def _sigmoid(score: exp.Expr) -> exp.Expr:
    """1/(1 + exp(-score))."""
    from sqlglot import exp

    denominator = exp.Add(this=number(1.0), expression=exp.Exp(this=exp.Neg(this=_within_bounds(score))))
    return exp.Div(this=number(1.0), expression=exp.paren(denominator), typed=True)


def _within_bounds(value: exp.Expr) -> exp.Expr:
    from sqlglot import exp

    return exp.Least(this=_at_least(value, -_BOUND), expressions=[number(_BOUND)])


def _at_least(value: exp.Expr, bound: float) -> exp.Expr:
    from sqlglot import exp

    return exp.Greatest(this=value.copy(), expressions=[number(bound)])


def _affine(score: exp.Expr, a: float, b: float) -> exp.Expr:
    from sqlglot import exp

    return exp.Add(this=exp.Mul(this=number(a), expression=score.copy()), expression=number(b))
