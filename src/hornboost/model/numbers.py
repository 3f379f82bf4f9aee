"""Rules of numbers: a base value, and what each clause adds to it, or multiplies it by, where it covers."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from hornboost import exact
from hornboost.learners.hypotheses import Floats, Rows
from hornboost.logic.clause import HeadOp
from hornboost.logic.text import in_few_digits
from hornboost.model.ensemble import Ensemble, Rule
from hornboost.model.votes import STEP, Round, Vote, Votes, in_steps

PLACES = 2.0**-52
"""The least step of scores as large as the labels, so that sums of votes are exact."""

MANY = 2.0**20
"""Counts of a mean above this are measured by it: their squares would not fit."""


@dataclass(frozen=True)
class Units:
    """How labels are measured while they are learned: from `origin`, in `unit`s, a power of two.

    Labels are then about 1 in size whatever they are, and votes are multiples of 2⁻⁴⁴ units. Where labels lie so far
    from 0 that a sum could not hold that, the model's votes are multiples of a larger `step`.
    """

    origin: float = 0.0
    unit: float = 1.0
    step: float = STEP

    @classmethod
    def of(cls, y: Floats, middle: float) -> Units:
        """Of labels around a middle one.

        >>> Units.of(np.array([999.0, 1001.5]), 1000.0).unit
        2.0
        """
        unit = _power_of_two(float(np.abs(y - middle).max(initial=0.0)))
        size = _power_of_two(float(np.abs(y).max(initial=0.0)))
        return cls(middle, unit, max(unit * STEP, size * PLACES))

    def measured(self, y: Floats) -> Floats:
        """Labels in this measure."""
        return (y - self.origin) / self.unit

    def given(self, measured: Floats) -> Floats:
        """Labels as they were."""
        return self.origin + measured * self.unit

    def round(self, found: Round) -> Round:
        """A round whose votes are in units as one of the model, in the labels' own."""
        votes = tuple(Vote(vote.hypothesis, vote.table * self.unit, step=self.step) for vote in found.votes)
        return replace(found, votes=votes)

    def start(self, scores: Floats) -> tuple[float, ...]:
        """The same for the scores before the first round."""
        return tuple(in_steps(self.origin + scores * self.unit, self.step).tolist())


@dataclass(frozen=True)
class CountUnits(Units):
    """How counts are measured, whose logarithms are scores: as they are, for a count has its own unit.

    Rates that stand for less than one event in all, and means above a million, are counted in `event`s, a power of two.
    """

    event: float = 1.0

    @classmethod
    def of_events(cls, y: Floats, weights: Floats) -> CountUnits:
        """Of counts of such weights.

        >>> CountUnits.of_events(np.array([0.0, 3.0]), np.ones(2)).event
        1.0
        """
        events = exact.total(weights * y)
        mean = events / exact.total(weights)
        event = 1.0 if events >= 1.0 else _power_of_two(mean)
        event = max(event, _power_of_two(mean / MANY))
        return cls(exact.log(event), event=event)

    def measured(self, y: Floats) -> Floats:
        return y / self.event

    def given(self, measured: Floats) -> Floats:
        return measured * self.event


def _power_of_two(size: float) -> float:
    """The least that is larger; 1 for 0."""
    return math.ldexp(1.0, math.frexp(size)[1]) if size else 1.0


def rules_of_numbers(votes: Votes, label: str, X: Rows, y: Floats, weights: Floats) -> Ensemble:
    """The clauses as rules that speak only where they cover; what they say elsewhere is part of the base value.

    Clauses that differ in names or order only are one rule. Its head tells what it adds, or by what it multiplies.
    """
    start, merged = votes.merged(label)
    rules = []
    for hypothesis, table in merged.values():
        start = start + table[0]
        covered = hypothesis.cells(X) == 1
        vote = table[1] - table[0]
        rules.append(
            Rule(
                hypothesis.clause.with_head(label, *_change(votes, float(vote[0]))),
                tuple(vote.tolist()),
                (),
                (float(weights[covered].sum()),),
                "learned",
                (_mean(y, weights, covered), _mean(y, weights, ~covered)),
            )
        )
    return Ensemble((), tuple(rules), tuple(start.tolist()), votes.link)


def _change(votes: Votes, vote: float) -> tuple[str, HeadOp]:
    if votes.link == "log":
        return in_few_digits(exact.exp(vote)), "*="
    return in_few_digits(vote), "+="


def _mean(y: Floats, weights: Floats, part: NDArray[np.bool_]) -> float:
    """Of some labels; 0 of none, which no rule that gains leaves."""
    return exact.total((weights * y)[part]) / exact.total(weights[part]) if part.any() else 0.0
