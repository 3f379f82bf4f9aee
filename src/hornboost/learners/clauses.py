"""Clauses as weak learners: a clause divides the examples into {not covered, covered}."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hornboost.dtypes import WEIGHT_ONE
from hornboost.engine import Numbers, State
from hornboost.learners import distribution_kernels as kernels
from hornboost.learners.greedy import grow, grow_by
from hornboost.learners.hypotheses import ClauseCells, Floats, Hypothesis, OneCell, Rows
from hornboost.learners.memory import Memory, Outcome
from hornboost.learners.objectives import comparable, explained_squares, largest_wracc, wracc
from hornboost.learners.problem import Problem


def weights_in_units(weights: Floats, multiplicity: Floats) -> NDArray[np.int64]:
    """Weights in fixed point; an example given with a sample weight of 2 counts exactly as two."""
    density = np.divide(weights, multiplicity * weights.sum(), out=np.zeros_like(weights), where=weights > 0)
    units, _ = kernels.fixed_weights(density, np.where(weights > 0, multiplicity, 0.0), float(WEIGHT_ONE))
    return np.asarray(units)


class _GreedyLearner:
    """A learner that finds one clause a call, by greedy refinement, and remembers what it found."""

    is_additive = True

    def __init__(self, problem: Problem, max_literals: int, memory: Memory) -> None:
        self.problem = problem
        self.max_literals = max_literals
        self.memory = memory

    def fit(self, X: Rows, target: NDArray[Any], weights: Floats, round: int, output: int = 0) -> Hypothesis:
        state = self.memory.recall(lambda: self._search(target, weights), _written, self._read)
        head = self._head(state, weights, output)
        if state is None:
            return OneCell(head)
        return ClauseCells(self.problem.clause(state, head), self.problem.examples, state.covered)

    def _search(self, target: NDArray[Any], weights: Floats) -> State | None:
        """The best clause, if any is better than none."""
        raise NotImplementedError

    def _head(self, state: State | None, weights: Floats, output: int) -> int:
        """The class that the clause speaks for."""
        raise NotImplementedError

    def _read(self, found: Outcome) -> State | None:
        return self.problem.state(found.clauses[0]) if found.clauses else None


class ClauseLearner(_GreedyLearner):
    """Finds the clause with the largest |WRAcc| for any class, greedily.

    Its head is the class with the largest WRAcc.
    """

    def fit(self, X: Rows, target: NDArray[Any], weights: Floats, round: int, output: int = 0) -> Hypothesis:
        self._known: tuple[NDArray[np.int64], NDArray[np.int64]] | None = None
        return super().fit(X, target, weights, round, output)

    def _search(self, target: NDArray[Any], weights: Floats) -> State | None:
        engine, classes, n_classes = self.problem.engine, self.problem.classes, len(self.problem.labels)
        units, totals = self._units(weights)
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
        return grown.states[-1] if grown.states else None

    def _head(self, state: State | None, weights: Floats, output: int) -> int:
        engine, classes, n_classes = self.problem.engine, self.problem.classes, len(self.problem.labels)
        units, totals = self._units(weights)
        if state is None:
            return int(totals.argmax())
        covered = engine.covered_weight(state, units, classes, n_classes)
        return int(np.argmax([wracc(covered[None], totals, label)[0] for label in range(n_classes)]))

    def _units(self, weights: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The weights of this call in fixed point, and their sum by class; the search and the head ask for them."""
        if self._known is None:
            engine, units = self.problem.engine, weights_in_units(weights, self.problem.weights)
            totals = engine.covered_weight(engine.root(), units, self.problem.classes, len(self.problem.labels))
            self._known = units, totals
        return self._known


class ClauseRegressor(_GreedyLearner):
    """Finds the clause whose two means explain most of the responses' weighted variance, greedily."""

    def _search(self, target: NDArray[Any], weights: Floats) -> State | None:
        """Greedy refinement by two sums over a candidate's examples: of the weights, and of the weighted responses."""
        engine, scale = self.problem.engine, float(WEIGHT_ONE)
        responses = weights_in_units(weights * np.abs(target), self.problem.weights) * np.where(target > 0, 1, -1)
        channels = np.column_stack([weights_in_units(weights, self.problem.weights), responses])
        total = channels.sum(axis=0)
        weight, response = (total / scale).tolist()
        grown = grow_by(
            engine,
            Numbers(2, channels),
            total,
            lambda sums: comparable(explained_squares(sums[:, 0] / scale, sums[:, 1] / scale, weight, response)),
            start=0.0,
            goes_on=lambda covered: True,
            max_literals=self.max_literals,
        )
        return grown.states[-1] if grown.states else None

    def _head(self, state: State | None, weights: Floats, output: int) -> int:
        return output


def _written(state: State | None) -> Outcome:
    return Outcome(() if state is None else (state.specs,))
