"""Clauses as weak learners: a clause divides the examples into {not covered, covered}."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hornboost.boosting import kernels
from hornboost.boosting.base_learners import Hypothesis, OneCell, Rows
from hornboost.boosting.lift import Codes, Floats
from hornboost.boosting.logitboost import CellMeans, Regression
from hornboost.data.table import Table
from hornboost.dtypes import WEIGHT_ONE
from hornboost.engine import State
from hornboost.logic.clause import Clause
from hornboost.search.greedy import grow
from hornboost.search.problem import Problem
from hornboost.search.qualities import comparable, explained_squares, largest_wracc, wracc


class ClauseCells:
    """The cells of a clause: 0 is not covered, 1 is covered. What it covers of the training examples is kept while it boosts."""

    n_cells = 2
    predicted: Codes | None = None

    def __init__(self, clause: Clause, examples: Table | None = None, covered: NDArray[np.bool_] | None = None) -> None:
        self.clause = clause
        self._known = (examples, covered)

    def cells(self, X: Rows) -> Codes:
        examples, covered = self._known
        if covered is None or X.encoded is not examples:
            covered = X.covered_by(self.clause)
        return covered.astype(np.intp)

    def __getstate__(self) -> dict[str, Any]:
        return {"clause": self.clause, "_known": (None, None)}


def weights_in_units(weights: Floats, multiplicity: Floats) -> NDArray[np.int64]:
    """Weights in fixed point; an example given with a sample weight of 2 counts exactly as two."""
    density = np.divide(weights, multiplicity * weights.sum(), out=np.zeros_like(weights), where=weights > 0)
    units, _ = kernels.fixed_weights(density, np.where(weights > 0, multiplicity, 0.0), float(WEIGHT_ONE))
    return np.asarray(units)


class ClauseLearner:
    """Finds the clause with the largest |WRAcc| for any class, greedily; its head is the class with the largest WRAcc."""

    is_additive = True

    def __init__(self, problem: Problem, max_literals: int) -> None:
        self.problem = problem
        self.max_literals = max_literals

    def fit(self, X: Rows, y: Codes, weights: Floats, round: int) -> Hypothesis:
        engine, classes, n_classes = self.problem.engine, self.problem.classes, len(self.problem.labels)
        units = weights_in_units(weights, self.problem.weights)
        totals = engine.covered_weight(engine.root(), units, classes, n_classes)
        grown = grow(
            engine,
            units,
            classes,
            n_classes,
            lambda stats: largest_wracc(stats, totals),
            start=0.0,
            goes_on=lambda covered: int(np.count_nonzero(covered)) > 1,
            max_literals=self.max_literals,
        )
        if not grown.states:
            return OneCell(int(totals.argmax()))
        state = grown.states[-1]
        covered = engine.covered_weight(state, units, classes, n_classes)
        head = int(np.argmax([wracc(covered[None], totals, label)[0] for label in range(n_classes)]))
        return ClauseCells(self.problem.clause(state, head), self.problem.examples, state.covered)


class ClauseRegressor:
    """Finds the clause whose two means explain most of the responses' weighted variance, greedily."""

    def __init__(self, problem: Problem, max_literals: int) -> None:
        self.problem = problem
        self.max_literals = max_literals

    def fit(self, X: Rows, z: Floats, weights: Floats, round: int, output: int) -> Regression:
        state = self._clause(z, weights)
        if state is None:
            return CellMeans(OneCell(output), X, z, weights)
        found = ClauseCells(self.problem.clause(state, output), self.problem.examples, state.covered)
        means = CellMeans(found, X, z, weights)
        if len(self.problem.labels) == 2 and means.values[1] < means.values[0]:
            found.clause = self.problem.clause(state, 1 - output)
        return means

    def _clause(self, z: Floats, weights: Floats) -> State | None:
        """Greedy refinement by two scores of every candidate: its weight, and its weighted responses apart by their sign."""
        engine, n = self.problem.engine, self.problem.n
        one_class, sign = np.zeros(n, np.int32), (z > 0).astype(np.int32)
        weight_units = weights_in_units(weights, self.problem.weights)
        response_units = weights_in_units(weights * np.abs(z), self.problem.weights)
        total_weight = float(weight_units.sum())
        total_response = float(response_units[sign == 1].sum() - response_units[sign == 0].sum())
        state, found, best = engine.root(), None, 0.0
        for _ in range(self.max_literals):
            frontier = engine.frontier(state)
            if len(frontier) == 0:
                break
            weight = engine.score(frontier, weight_units, one_class, 1)[:, 0].astype(np.float64)
            by_sign = engine.score(frontier, response_units, sign, 2)
            response = (by_sign[:, 1] - by_sign[:, 0]).astype(np.float64)
            scale = float(WEIGHT_ONE)
            scores = comparable(explained_squares(weight / scale, response / scale, total_weight / scale, total_response / scale))
            if not scores.max() > best:
                break
            best = float(scores.max())
            state = engine.refine(state, frontier.refinement(frontier.first(np.flatnonzero(scores == best))))
            found = state
        return found
