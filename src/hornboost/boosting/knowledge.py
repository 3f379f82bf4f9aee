"""Prior knowledge as hypotheses: clauses, fitted classifiers, functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hornboost.data import Database
from hornboost.errors import DataError, did_you_mean
from hornboost.estimators.examples import Training
from hornboost.learners.hypotheses import ClauseCells, Hypothesis, KnownCells
from hornboost.logic.clause import Clause


def knows_clauses(knowledge: Sequence[Any]) -> bool:
    """Whether some of the knowledge is a clause, so that it needs tables to look at."""
    return any(isinstance(item, str | Clause) for item in knowledge)


def known_hypothesis(item: Any, training: Training) -> Hypothesis:
    """One piece of prior knowledge as a partition of the examples."""
    rows = training.rows
    if isinstance(item, str | Clause):
        assert rows.database is not None
        return ClauseCells(_known_clause(item, rows.database, training.labels))
    if hasattr(item, "predict"):
        return KnownCells(item.predict, rows, type(item).__name__)
    if callable(item):
        return KnownCells(item, rows, getattr(item, "__name__", type(item).__name__))
    kind = type(item).__name__
    raise DataError(f"prior knowledge must be a clause, a fitted classifier or a function of X. Got {kind} instead.")


def _known_clause(item: str | Clause, database: Database, labels: Sequence[str]) -> Clause:
    clause = (Clause.parse(item) if isinstance(item, str) else item).rooted(database.target.table)
    if clause.head.value not in labels:
        hint = did_you_mean(clause.head.value, labels)
        raise DataError(f"the clause '{clause}' predicts a class that 'y' does not hold{hint}")
    return clause.with_head(database.target.label or "class", clause.head.value)
