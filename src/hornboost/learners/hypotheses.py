"""Hypotheses: partitions of the examples into cells, whether a clause, a tree or anything else draws the lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hornboost.data.table import Table
from hornboost.errors import DataError
from hornboost.logic.clause import Clause

if TYPE_CHECKING:
    from hornboost.data import Database

Floats = NDArray[np.float64]
Codes = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Rows:
    """Examples in the forms that hypotheses ask for.

    As the user gave them, as a matrix of numbers, and as the root of clauses.

    A matrix without columns is enough for clauses; `encoded` is made from `given` and `database` when it is not there
    and asked for.
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
        from hornboost.engine import covers

        assert self.database is not None
        return covers(self.database, clause, self._examples)

    def take(self, chosen: NDArray[np.intp]) -> Rows:
        """Some of the rows, in the order given."""
        from sklearn.utils import _safe_indexing

        encoded = self.encoded
        if encoded is not None:
            encoded = encoded.take(chosen)
        return Rows(_safe_indexing(self.given, chosen), self.matrix[chosen], self.database, encoded)

    @cached_property
    def _examples(self) -> Table:
        assert self.database is not None
        return self.database.encode(self.given) if self.encoded is None else self.encoded


class Hypothesis(Protocol):
    """A partition: each example lies in one of `n_cells` cells."""

    n_cells: int
    predicted: Codes | None
    """The class that each cell predicts; None leaves it to the majority."""

    def cells(self, X: Rows) -> Codes:
        """The cell of each row of X."""


class WeakLearner(Protocol):
    """Finds a hypothesis for weighted examples.

    One that tells classes apart, or one whose means explain numeric responses.

    `round` and `output` tell calls apart, for learners that draw random numbers. Votes of an additive learner's
    hypotheses are added on all examples, so that no round may silence later ones.
    """

    is_additive: bool

    def fit(self, X: Rows, target: NDArray[Any], weights: Floats, round: int, output: int = 0) -> Hypothesis:
        """Learn from rows X with class codes, or responses, under a distribution."""


class ClauseCells:
    """The cells of a clause: 0 is not covered, 1 is covered.

    What it covers of the training examples is kept while it boosts.
    """

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

    def forget(self) -> None:
        """Give back what is kept of the training examples."""
        self._known = (None, None)

    def __getstate__(self) -> dict[str, Any]:
        return {"clause": self.clause, "_known": (None, None)}


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
            raise DataError(
                f"prior knowledge must give one value for each of the {len(X)} rows. "
                f"Got an array of shape {values.shape}."
            )
        return values.astype(str) if values.dtype.kind == "O" else values


class Graded:
    """A fitted regressor: all examples in one cell, each with its own grade, kept within ±`bound`."""

    n_cells = 1
    predicted: Codes | None = None

    def __init__(self, regressor: Any, bound: float) -> None:
        self.regressor = regressor
        self.bound = bound

    def cells(self, X: Rows) -> Codes:
        return np.zeros(len(X), dtype=np.intp)

    def grades(self, X: Rows) -> Floats:
        """How strongly each example is meant."""
        return np.clip(np.asarray(self.regressor.predict(X.matrix), dtype=np.float64), -self.bound, self.bound)


class OneCell:
    """What is learned from examples of one class only: nothing to tell apart."""

    def __init__(self, predicted: int) -> None:
        self.n_cells = 1
        self.predicted: Codes | None = np.array([predicted])

    def cells(self, X: Rows) -> Codes:
        return np.zeros(len(X), dtype=np.intp)
