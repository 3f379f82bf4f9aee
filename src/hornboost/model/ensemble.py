"""The learned ensemble: clauses with votes. Every booster's model is additive in coverage, so one form serves all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any
from typing import Literal as Choice

import numpy as np
from numpy.typing import NDArray

from hornboost import exact
from hornboost.data.table import Table
from hornboost.logic.clause import Clause
from hornboost.model.scoring import Coverage

if TYPE_CHECKING:
    from hornboost.data import Database

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Rule:
    """A clause and what it adds to each score: `votes` where it covers, `otherwise` where it does not.

    `coverage` is the weight of the training examples that it covers, by class. `origin` tells learned rules from prior knowledge.
    """

    clause: Clause
    votes: tuple[float, ...]
    otherwise: tuple[float, ...] = ()
    coverage: tuple[float, ...] = ()
    origin: Choice["learned", "prior"] = "learned"

    def confidence(self, classes: Sequence[str]) -> float:
        """The vote for the class in the clause's head."""
        k = list(classes).index(self.clause.head.value)
        if len(self.votes) == 1:
            return self.votes[0] if k == 1 else -self.votes[0]
        return self.votes[k]

    def _repr_html_(self) -> str:
        from hornboost.model.rule_list import rule_html

        return rule_html(self)


@dataclass(frozen=True)
class Ensemble:
    """Rules, an intercept for each score, and how scores become classes and probabilities.

    With one score its sign separates `classes[1]` (positive) from `classes[0]`; otherwise there is a score for each class and
    the largest wins. `link`: "sigmoid" maps each score s to 1/(1 + exp(-(a·s + b))) with (a, b) from `calibration`, normalised
    over the classes; "softmax" takes the scores as log-probabilities up to a constant.
    """

    classes: tuple[str, ...]
    rules: tuple[Rule, ...]
    intercept: tuple[float, ...]
    link: Choice["sigmoid", "softmax"] = "sigmoid"
    calibration: tuple[tuple[float, float], ...] = ()

    def scores(self, database: Database, examples: Table) -> Floats:
        """The scores of encoded examples, a column a score; votes are added in the order of the rules, whatever the number of examples."""
        from hornboost.model.kernels import add_votes

        total = np.tile(np.asarray(self.intercept, np.float64), (examples.n_rows, 1))
        if not self.rules:
            return total
        coverage = self.coverage(database)
        of_rule = np.array(coverage.plan.of_clause, np.int64)
        votes = np.array([rule.votes for rule in self.rules], np.float64)
        otherwise = np.array([rule.otherwise or (0.0,) * votes.shape[1] for rule in self.rules], np.float64)
        for start, covered in coverage.chunks(examples):
            add_votes(covered, of_rule, votes, otherwise, total[start : start + len(covered)])
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

    def decision(self, scores: Floats) -> Floats:
        """The decision function: one column for two classes (positive for `classes[1]`), otherwise one a class."""
        if scores.shape[1] == 1:
            return scores[:, 0]
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def probabilities(self, scores: Floats) -> Floats:
        """Class probabilities, in the order of `classes`."""
        if len(self.classes) == 1:
            return np.ones((len(scores), 1))
        if self.link == "softmax":
            both = np.column_stack([np.zeros(len(scores)), scores[:, 0]]) if scores.shape[1] == 1 else scores
            return exact.softmax(both)
        a, b = np.array(self.calibration or [(1.0, 0.0)] * scores.shape[1]).T
        p = exact.sigmoids(a * scores + b)
        if scores.shape[1] == 1:
            return np.column_stack([1.0 - p[:, 0], p[:, 0]])
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    def about(self, positive: str | None) -> int:
        """Of two classes the position of the one that printed scores and probabilities speak of: the stated positive one, or the second."""
        return self.classes.index(positive) if positive in self.classes else len(self.classes) - 1

    def choices(self, scores: Floats) -> NDArray[np.intp]:
        """The position in `classes` of each predicted class."""
        if len(self.classes) == 1:
            return np.zeros(len(scores), np.intp)
        decision = self.decision(scores)
        return (decision > 0).astype(np.intp) if decision.ndim == 1 else np.argmax(decision, axis=1)


def vote_for(votes: Sequence[float], about: int) -> float:
    """What votes, or an intercept, say about one class: with a single score, or two, what speaks for the other speaks against it."""
    if len(votes) == 1:
        return votes[0] if about else 0.0 - votes[0]
    return votes[about] - votes[1 - about] if len(votes) == 2 else votes[about]


def merged(rules: Sequence[Rule]) -> tuple[Rule, ...]:
    """Equal clauses as one rule with the sum of their votes, in the order of first appearance."""
    first: dict[tuple[Clause, str], Rule] = {}
    for rule in rules:
        key = (rule.clause, rule.origin)
        if key in first:
            known = first[key]
            votes = tuple(a + b for a, b in zip(known.votes, rule.votes, strict=True))
            otherwise = tuple(a + b for a, b in zip(known.otherwise, rule.otherwise, strict=True))
            rule = Rule(known.clause, votes, otherwise, known.coverage, known.origin)
        first[key] = rule
    return tuple(first.values())
