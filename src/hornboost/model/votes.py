"""Votes: what each cell of a hypothesis adds to each score. Every booster's model is a list of them, over a start."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any
from typing import Literal as Choice

import numpy as np
from numpy.typing import NDArray

from hornboost.learners.hypotheses import ClauseCells, Codes, Floats, Graded, Hypothesis, Rows
from hornboost.logic.canonical import canonical
from hornboost.logic.clause import Clause
from hornboost.model.ensemble import Ensemble, Rule
from hornboost.model.scale import Link, Scale

Origin = Choice["learned", "prior"]
Merged = dict[tuple[Clause, Origin], tuple[ClauseCells, Floats]]

STEP = 2.0**-44
"""Votes are multiples of this, so that scores are exact sums:
the order of the votes does not matter, and ties are ties."""


@dataclass(frozen=True, eq=False)
class Vote:
    """A hypothesis and a table of cell by score.

    Where it `settles` cells, no later vote counts for the examples in them.
    """

    hypothesis: Hypothesis
    table: Floats
    origin: Origin = "learned"
    settles: NDArray[np.bool_] | None = None
    step: float = STEP
    """What the votes are multiples of, a power of two."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "table", in_steps(self.table, self.step))

    def of(self, X: Rows) -> tuple[Floats, Codes]:
        """What each example adds to the scores, and its cell."""
        cells = self.hypothesis.cells(X)
        votes = self.table[cells]
        if isinstance(self.hypothesis, Graded):
            votes = votes * self.hypothesis.grades(X)[:, None]
        return votes, cells


@dataclass(frozen=True, eq=False)
class Round:
    """What one pass of a boosting loop adds to the model, and what is told about it."""

    votes: tuple[Vote, ...]
    row: dict[str, Any] = field(default_factory=dict)

    @property
    def is_learned(self) -> bool:
        """Whether this is a round, rather than something known before the first."""
        return all(vote.origin == "learned" for vote in self.votes)


class Tally:
    """Scores of some examples, to which votes are added in turn."""

    def __init__(self, start: Sequence[float] | Floats, X: Rows) -> None:
        self.X = X
        self.scores = np.tile(np.asarray(start, np.float64), (len(X), 1))
        self.is_open: NDArray[np.bool_] | None = None

    def add(self, votes: Sequence[Vote]) -> None:
        """Add votes on the examples that no earlier one has settled."""
        for vote in votes:
            values, cells = vote.of(self.X)
            if self.is_open is None:
                self.scores += values
            else:
                self.scores[self.is_open] += values[self.is_open]
            if vote.settles is not None:
                stays_open = ~vote.settles[cells]
                self.is_open = stays_open if self.is_open is None else self.is_open & stays_open


@dataclass(frozen=True, eq=False)
class Votes(Scale):
    """All rounds of a model in order, over an intercept for each score."""

    classes: tuple[str, ...]
    rounds: tuple[Round, ...]
    intercept: tuple[float, ...]
    link: Link = "softmax"
    calibration: tuple[tuple[float, float], ...] = ()

    def scores(self, X: Rows) -> Floats:
        """The scores of examples, a column a score."""
        tally = Tally(self.intercept, X)
        for found in self.rounds:
            tally.add(found.votes)
        return tally.scores

    def staged_scores(self, X: Rows) -> Iterator[Floats]:
        """The scores with what was known before alone, where there is something, then after each round."""
        tally = Tally(self.intercept, X)
        known = next((n for n, found in enumerate(self.rounds) if found.is_learned), len(self.rounds))
        for number, found in enumerate(self.rounds, start=1):
            tally.add(found.votes)
            if number >= known:
                yield tally.scores.copy()

    @property
    def is_of_clauses(self) -> bool:
        """Whether the model can be written as rules: every hypothesis is a clause, or the same for all examples."""
        return all(_is_rule(vote) for found in self.rounds for vote in found.votes)

    def ensemble(self, label: str, X: Rows, y: Codes, weights: Floats, *, keep_heads: bool = False) -> Ensemble:
        """The clauses as rules, with the weight that each covers of the training examples X.

        Clauses that differ in names or order only are one rule with the sum of their votes; with `keep_heads` only
        those for the same class are. Without, the head of a learned rule is the class for which covered examples gain
        most. Votes of hypotheses that are no clauses are left out.
        """
        start, merged = self.merged(label, keep_heads=keep_heads)
        rules = tuple(
            self._rule(hypothesis, table, origin, label, X, y, weights, keep_heads)
            for (_, origin), (hypothesis, table) in merged.items()
        )
        return Ensemble(self.classes, rules, tuple(start.tolist()), self.link, self.calibration)

    def merged(self, label: str, *, keep_heads: bool = False) -> tuple[Floats, Merged]:
        """The start with all votes that are the same for all examples, and the clauses with the sums of their votes.

        Clauses are told apart by their canonical form.
        """
        start = np.array(self.intercept, np.float64)
        keys: dict[int, Clause] = {}
        merged: Merged = {}
        for vote in (vote for found in self.rounds for vote in found.votes if _is_rule(vote)):
            if not isinstance(vote.hypothesis, ClauseCells):
                start += vote.table[0]
                continue
            clause = vote.hypothesis.clause
            if id(clause) not in keys:  # a clause that was found again is often the same object
                keys[id(clause)] = canonical(clause if keep_heads else clause.with_head(label, ""))
            key = keys[id(clause)], vote.origin
            first, table = merged.get(key, (vote.hypothesis, np.zeros_like(vote.table)))
            merged[key] = first, table + vote.table
        return start, merged

    def _rule(
        self,
        hypothesis: ClauseCells,
        table: Floats,
        origin: Origin,
        label: str,
        X: Rows,
        y: Codes,
        weights: Floats,
        keep_heads: bool,
    ) -> Rule:
        clause = hypothesis.clause
        if origin == "learned" and not keep_heads:
            clause = clause.with_head(label, self.classes[favoured(table)])
        covered = hypothesis.cells(X) == 1
        coverage = np.bincount(y[covered], weights=weights[covered], minlength=len(self.classes))
        otherwise = tuple(table[0].tolist()) if table[0].any() else ()
        return Rule(clause, tuple(table[1].tolist()), otherwise, tuple(coverage.tolist()), origin)


def in_steps(votes: Floats, step: float = STEP) -> Floats:
    """Votes rounded to multiples of a step.

    >>> bool(np.sum(in_steps(np.array([0.1, 0.2, -0.3]))) == np.sum(in_steps(np.array([-0.3, 0.2, 0.1]))))
    True
    """
    return np.asarray(np.rint(votes / step) * step)


def favoured(table: Floats) -> int:
    """The class for which examples that a clause covers gain most over those that it does not cover."""
    gain = table[1] - table[0]
    return int(gain[0] > 0) if gain.size == 1 else int(gain.argmax())


def _is_rule(vote: Vote) -> bool:
    is_constant = vote.hypothesis.n_cells == 1 and not isinstance(vote.hypothesis, Graded)
    return vote.settles is None and (is_constant or isinstance(vote.hypothesis, ClauseCells))
