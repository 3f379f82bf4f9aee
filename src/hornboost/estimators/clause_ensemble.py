"""Hypotheses that are clauses as an additive rule ensemble, which can be printed, explained, exported and saved."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal as Choice
from typing import NamedTuple

import numpy as np

from hornboost.boosting.base_learners import Hypothesis, Rows
from hornboost.boosting.clauses import ClauseCells
from hornboost.boosting.lift import Floats
from hornboost.logic.canonical import canonical
from hornboost.logic.clause import Clause
from hornboost.model.ensemble import Ensemble, Rule
from hornboost.search.problem import Problem


class Voter(NamedTuple):
    """A hypothesis and its votes, a row for each cell and a column for each class."""

    hypothesis: Hypothesis
    votes: Floats
    origin: Choice["learned", "prior"] = "learned"


def rule_ensemble(problem: Problem, voters: Iterable[Voter], intercept: Sequence[float]) -> Ensemble:
    """The sum of the intercept and all votes; every voter is a clause, or the same for all examples.

    Clauses that differ in names or order only are one rule with the sum of their votes. The head of a learned rule is the class for which
    covered examples gain most.
    """
    if len(problem.labels) == 1:
        return Ensemble(problem.labels, (), (0.0,), "softmax")
    start = np.array(intercept, np.float64)
    bodies: dict[tuple[Clause, Choice["learned", "prior"]], tuple[ClauseCells, Floats]] = {}
    for voter in voters:
        if voter.hypothesis.n_cells == 1:
            start += voter.votes[0]
            continue
        assert isinstance(voter.hypothesis, ClauseCells)
        body = canonical(voter.hypothesis.clause.with_head(problem.label, ""))
        first, votes = bodies.get((body, voter.origin), (voter.hypothesis, np.zeros_like(voter.votes)))
        bodies[body, voter.origin] = (first, votes + voter.votes)
    rows = Rows(None, np.empty((problem.n, 0)), problem.database, problem.examples)
    rules = []
    for (_, origin), (hypothesis, votes) in bodies.items():
        clause = hypothesis.clause
        if origin == "learned":
            clause = clause.with_head(problem.label, problem.labels[int((votes[1] - votes[0]).argmax())])
        covered = hypothesis.cells(rows) == 1
        coverage = np.bincount(problem.classes[covered], weights=problem.weights[covered], minlength=len(problem.labels))
        rules.append(Rule(clause, tuple(votes[1].tolist()), tuple(votes[0].tolist()), tuple(coverage.tolist()), origin))
    return Ensemble(problem.labels, tuple(rules), tuple(start.tolist()), "softmax")
