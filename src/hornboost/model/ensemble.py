"""The learned ensemble: clauses with votes. Every booster's model is additive in coverage, so one form serves all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any
from typing import Literal as Choice

import numpy as np
from numpy.typing import NDArray

from hornboost.data.table import Table
from hornboost.engine.coverage import Coverage
from hornboost.logic.clause import Clause
from hornboost.model.scale import Link, Scale
from hornboost.stopping import working

if TYPE_CHECKING:
    from hornboost.data import Database

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Rule:
    """A clause and what it adds to each score: `votes` where it covers, `otherwise` where it does not.

    `coverage` is the weight of the training examples that it covers, by class. `origin` tells learned rules from prior
    knowledge. Where numbers are predicted, `means` are those of the labels that it covers and does not cover.
    """

    clause: Clause
    votes: tuple[float, ...]
    otherwise: tuple[float, ...] = ()
    coverage: tuple[float, ...] = ()
    origin: Choice["learned", "prior"] = "learned"
    means: tuple[float, ...] = ()

    def confidence(self, classes: Sequence[str]) -> float:
        """The vote for the class in the clause's head; where there are no classes, what it adds to the score."""
        return self._for_head(self.votes, classes)

    def elsewhere(self, classes: Sequence[str]) -> float:
        """The same where the clause does not hold."""
        return self._for_head(self.otherwise, classes) if self.otherwise else 0.0

    def _for_head(self, votes: tuple[float, ...], classes: Sequence[str]) -> float:
        if not classes:
            return votes[0]
        k = list(classes).index(self.clause.head.value)
        if len(votes) == 1:
            return votes[0] if k == 1 else -votes[0]
        return votes[k]

    def __str__(self) -> str:
        from hornboost.model.rule_list import rule_text

        return rule_text(self)

    def _repr_html_(self) -> str:
        from hornboost.model.rule_list import rule_html

        return rule_html(self)


@dataclass(frozen=True)
class Ensemble(Scale):
    """Rules, an intercept for each score, and how scores become classes and probabilities (see `Scale`)."""

    classes: tuple[str, ...]
    rules: tuple[Rule, ...]
    intercept: tuple[float, ...]
    link: Link = "sigmoid"
    calibration: tuple[tuple[float, float], ...] = ()

    @working()
    def scores(self, database: Database, examples: Table) -> Floats:
        """The scores of encoded examples, a column a score.

        Votes are added in the order of the rules, whatever the number of examples.
        """
        coverage = self.coverage(database)
        total = np.empty((examples.n_rows, len(self.intercept)), np.float64)
        for start, covered in coverage.blocks(examples):
            total[start : start + len(covered)] = self.scores_of(covered, coverage.of_clause)
        return total

    def scores_of(self, covered: NDArray[np.bool_], of_rule: Sequence[int]) -> Floats:
        """The scores of examples by what covers them: a row for each example, and the rules' columns are `of_rule`."""
        from hornboost.model.vote_kernels import add_votes

        total = np.tile(np.asarray(self.intercept, np.float64), (len(covered), 1))
        if self.rules:
            votes = np.array([rule.votes for rule in self.rules], np.float64)
            otherwise = np.array([rule.otherwise or (0.0,) * votes.shape[1] for rule in self.rules], np.float64)
            add_votes(covered, np.array(of_rule, np.int64), votes, otherwise, total)
        return total

    def coverage(self, database: Database) -> Coverage:
        """The rules' clauses bound to a database; the last one is kept."""
        kept: Coverage | None = self.__dict__.get("_coverage")
        if kept is None or kept.database is not database:
            kept = Coverage.of(database, [rule.clause for rule in self.rules])
            self.__dict__["_coverage"] = kept
        return kept

    def __getstate__(self) -> dict[str, Any]:
        return {item.name: getattr(self, item.name) for item in fields(self)}

    def about(self, positive: str | None) -> int:
        """Of two classes the position of the one that printed scores and probabilities speak of.

        The stated positive one, or the second.
        """
        return self.classes.index(positive) if positive in self.classes else len(self.classes) - 1


def vote_for(votes: Sequence[float], about: int) -> float:
    """What votes, or an intercept, say about one class.

    With a single score, or two, what speaks for the other speaks against it.
    """
    if len(votes) == 1:
        return votes[0] if about else 0.0 - votes[0]
    return votes[about] - votes[1 - about] if len(votes) == 2 else votes[about]
