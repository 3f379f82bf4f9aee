"""Weak learners and what they give: a hypothesis is a partition of the examples into cells.

Here are the protocol and its form for scikit-learn classifiers; a clause gives the cells {not covered, covered} by the same protocol.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hornboost import exact
from hornboost.boosting.lift import Codes, Floats
from hornboost.boosting.pruning import pessimistic_collapse
from hornboost.data.table import Table
from hornboost.engine.sampling import example_hash, uniform
from hornboost.errors import DataError, LimitError
from hornboost.logic.clause import Clause

if TYPE_CHECKING:
    from hornboost.data import Database
    from hornboost.engine import Engine

_MAX_PASSES = 64


@dataclass(frozen=True, eq=False)
class Rows:
    """Examples in the forms that hypotheses ask for: as the user gave them, as a matrix of numbers, and as the root of clauses.

    A matrix without columns is enough for clauses; `encoded` is made from `given` and `database` when it is not there and asked for.
    """

    given: Any
    matrix: NDArray[np.floating[Any]]
    database: Database | None = None
    encoded: Table | None = None

    def __len__(self) -> int:
        return len(self.matrix)

    @cached_property
    def has_missing(self) -> bool:
        """Whether the matrix holds NaN."""
        return bool(np.isnan(self.matrix).any())

    def covered_by(self, clause: Clause) -> NDArray[np.bool_]:
        """Which of the examples a clause covers."""
        from hornboost.engine import clause_state, covers

        assert self.database is not None
        try:
            return clause_state(self._engine, clause).covered
        except LimitError:
            return covers(self.database, clause, self._engine.examples)

    @cached_property
    def _engine(self) -> Engine:
        from hornboost.engine import Engine

        assert self.database is not None
        return Engine(self.database, self.database.encode(self.given) if self.encoded is None else self.encoded)


class Hypothesis(Protocol):
    """A partition: each example lies in one of `n_cells` cells."""

    n_cells: int
    predicted: Codes | None
    """The class that each cell predicts; None leaves it to the majority."""

    def cells(self, X: Rows) -> Codes:
        """The cell of each row of X."""


class WeakLearner(Protocol):
    """Finds a hypothesis for weighted examples; `round` tells calls apart, for learners that draw random numbers.

    Votes of an additive learner's hypotheses are added on all examples, so that no round may silence later ones.
    """

    is_additive: bool

    def fit(self, X: Rows, y: Codes, weights: Floats, round: int) -> Hypothesis:
        """Learn from rows X with class codes y under a distribution."""


class ClassCells:
    """The cells of any fitted classifier: its predicted classes."""

    def __init__(self, classifier: Any, n_classes: int) -> None:
        self.classifier = classifier
        self.n_cells = n_classes
        self.predicted: Codes | None = np.arange(n_classes)

    def cells(self, X: Rows) -> Codes:
        return np.asarray(self.classifier.predict(X.matrix), dtype=np.intp)


class LeafCells:
    """The cells of a decision tree: its leaves, or with `collapse` the nodes that its pruning made leaves."""

    def __init__(self, tree: Any, collapse: NDArray[np.intp] | None = None) -> None:
        self.tree = tree
        nodes = tree.tree_
        ends = np.flatnonzero(nodes.children_left < 0)
        ends = ends if collapse is None else np.unique(collapse[ends])
        self.cell_of_node = np.full(nodes.node_count, -1, dtype=np.intp)
        self.cell_of_node[ends] = np.arange(len(ends))
        if collapse is not None:
            self.cell_of_node = self.cell_of_node[collapse]
        self.n_cells = len(ends)
        is_classifier = hasattr(tree, "classes_")
        self.predicted: Codes | None = tree.classes_[nodes.value[ends, 0, :].argmax(axis=1)] if is_classifier else None

    def cells(self, X: Rows) -> Codes:
        return np.asarray(self.cell_of_node[self.tree.tree_.apply(X.matrix)])


class MergedCells:
    """A hypothesis whose cells are the classes that another one predicts."""

    def __init__(self, hypothesis: LeafCells, n_classes: int) -> None:
        assert hypothesis.predicted is not None
        self.hypothesis = hypothesis
        self.class_of_cell = hypothesis.predicted
        self.n_cells = n_classes
        self.predicted: Codes | None = np.arange(n_classes)

    def cells(self, X: Rows) -> Codes:
        return self.class_of_cell[self.hypothesis.cells(X)]


class KnownCells:
    """The cells of something known before: the values that a function of the given rows took on the training examples.

    A value that was not seen there lies in a last cell of its own. `name` is what a user knows the function by.
    """

    def __init__(self, function: Callable[[Any], Any], X: Rows, name: str = "known") -> None:
        self.function = function
        self.name = name
        self.seen = np.unique(self._values(X))
        self.n_cells = len(self.seen) + 1
        self.predicted: Codes | None = None

    def cells(self, X: Rows) -> Codes:
        values = self._values(X)
        places = np.minimum(np.searchsorted(self.seen, values), len(self.seen) - 1)
        return np.where(self.seen[places] == values, places, len(self.seen))

    def _values(self, X: Rows) -> NDArray[Any]:
        values = np.asarray(self.function(X.given))
        if values.shape != (len(X),):
            raise DataError(f"prior knowledge must give one value for each of the {len(X)} rows. Got an array of shape {values.shape}.")
        return values.astype(str) if values.dtype.kind == "O" else values


class OneCell:
    """What is learned from examples of one class only: nothing to tell apart."""

    def __init__(self, predicted: int) -> None:
        self.n_cells = 1
        self.predicted: Codes | None = np.array([predicted])

    def cells(self, X: Rows) -> Codes:
        return np.zeros(len(X), dtype=np.intp)


class ClassifierLearner:
    """A scikit-learn classifier as weak learner; one whose `fit` takes no `sample_weight` is given a rejection sample."""

    is_additive = False

    def __init__(
        self, base: Any, n_classes: int, *, leaves: bool, pruned: bool, seed: int, multiplicity: Floats, content: NDArray[np.uint64]
    ) -> None:
        from sklearn.tree import DecisionTreeClassifier
        from sklearn.utils.validation import has_fit_parameter

        self.base = base
        self.n_classes = n_classes
        self.leaves = leaves
        self.pruned = pruned
        self.seed = seed
        self.multiplicity = multiplicity
        self.content = content
        self.takes_weights = has_fit_parameter(base, "sample_weight")
        self.is_tree = isinstance(base, DecisionTreeClassifier)
        self.is_random = "random_state" in base.get_params(deep=False)

    def fit(self, X: Rows, y: Codes, weights: Floats, round: int) -> Hypothesis:
        from sklearn.base import clone

        rows = np.flatnonzero(weights > 0) if self.takes_weights else rejection_sample(weights, self.seed, round, self.content)
        if len(rows) == 0 or (y[rows] == y[rows[0]]).all():
            return OneCell(int(y[rows[0]]) if len(rows) else 0)
        model = clone(self.base)
        if self.is_random:
            model.set_params(random_state=round_seed(self.seed, round))
        if not self.takes_weights:
            model.fit(X.matrix[rows], y[rows])
            return ClassCells(model, self.n_classes)
        X_rows, y_rows, weights_rows = X.matrix, y, weights
        if len(rows) < len(y):
            X_rows, y_rows, weights_rows = X_rows[rows], y_rows[rows], weights_rows[rows]
        weights_rows = summable(weights_rows, self.multiplicity[rows])
        if self.is_tree:
            model.fit(X_rows, y_rows, sample_weight=weights_rows, check_input=X.has_missing)
            return self._tree_hypothesis(model)
        model.fit(X_rows, y_rows, sample_weight=weights_rows)
        return ClassCells(model, self.n_classes)

    def _tree_hypothesis(self, model: Any) -> Hypothesis:
        hypothesis = LeafCells(model, pessimistic_collapse(model.tree_) if self.pruned else None)
        return hypothesis if self.leaves else MergedCells(hypothesis, self.n_classes)


def round_seed(seed: int, round: int) -> int:
    """A seed for the random numbers that a base learner draws in this round."""
    return int(example_hash(seed, round, np.zeros(1, dtype=np.uint64))[0] >> np.uint64(33))


def summable(weights: Floats, multiplicity: Floats, bits: int = 40) -> Floats:
    """Weights on the scale of counts, rounded for each single example to so many bits of the total: sums are exact in any order.

    So a base learner meets the same ties whether an example is given twice or with a weight of 2.

    >>> summable(np.array([0.3, 0.1]), np.array([3.0, 1.0]))
    array([3., 1.])
    """
    units = np.maximum(np.rint(weights / multiplicity * (2.0**bits / exact.total(weights))), 1.0) * multiplicity
    mantissa, exponent = math.frexp(multiplicity.sum())
    return np.ldexp(units, exponent - (mantissa < math.sqrt(0.5)) - bits)


def rejection_sample(weights: Floats, seed: int, round: int, content: NDArray[np.uint64]) -> NDArray[np.intp]:
    """Rows accepted with probability weight / largest weight, in passes until there are as many as examples (at most 64 passes).

    Each pass has a counter of its own in the hash, so that a row may be accepted again, as by sampling with replacement.

    >>> rows = rejection_sample(np.array([1.0, 0.0, 1.0]), 0, 1, np.arange(3, dtype=np.uint64))
    >>> rows.tolist()  # the heaviest are accepted by every pass
    [0, 2, 0, 2]
    """
    chance = weights / weights.max()
    passes: list[NDArray[np.intp]] = []
    accepted = 0
    while accepted < len(weights) and len(passes) < _MAX_PASSES:
        draws = uniform(example_hash(seed, round * _MAX_PASSES + len(passes), content))
        passes.append(np.flatnonzero(draws < chance))
        accepted += len(passes[-1])
    return np.concatenate(passes)
