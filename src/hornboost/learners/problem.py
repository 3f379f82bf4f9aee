"""What a learner is given: encoded examples with classes and weights, and the engine over them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hornboost.data.table import Table
from hornboost.engine import Coverage, Engine, State, to_clause
from hornboost.engine.tree import Spec
from hornboost.logic.clause import Clause, Head

if TYPE_CHECKING:
    from hornboost.data import Database


@dataclass(frozen=True, eq=False)
class Problem:
    """The training examples of positive weight.

    `classes` are positions in `labels` (the class values as text; where numbers are predicted there are none, and these
    are the ranks of the numbers), `weights` the sample weights, `content` a hash of
    each example's row, from which every random choice about it comes. `label` is the name in the head of the rules.
    """

    database: Database
    examples: Table
    classes: NDArray[np.int32]
    labels: tuple[str, ...]
    weights: NDArray[np.float64]
    content: NDArray[np.uint64]
    label: str
    engine: Engine = field(repr=False)

    @property
    def n(self) -> int:
        """The number of training examples."""
        return int(self.classes.size)

    @property
    def positive(self) -> int:
        """The class that binary learners call positive: the task's own, otherwise the last."""
        named = self.database.target.positive
        return self.labels.index(named) if named in self.labels else len(self.labels) - 1

    def state(self, specs: tuple[Spec, ...]) -> State:
        """A clause that was found before.

        Its structure and what it covers, without the rows that a search goes on from.
        """
        return State(specs, (), Coverage.of_trees(self.database, [specs]).covered(self.examples)[:, 0])

    def clause(self, state: State, label: int) -> Clause:
        """The clause of a state with a class in its head."""
        return self.clause_under(Head(self.label, self.labels[label]), state)

    def clause_under(self, head: Head, state: State) -> Clause:
        """The clause of a state, without bounds that later ones have tightened, and literals that others imply."""
        return to_clause(state.specs, head, self._keys).tightened().without_implied()

    @cached_property
    def _keys(self) -> list[str]:
        return [column.name for column in self.examples.keys]

    def coverage(self, state: State) -> tuple[float, ...]:
        """The sample weight that a state covers, by class."""
        covered = state.covered
        sums = np.bincount(self.classes[covered], weights=self.weights[covered], minlength=len(self.labels))
        return tuple(float(value) for value in sums)
