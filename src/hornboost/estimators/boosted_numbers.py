"""What boosters of numbers share: their votes are added to a base value."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hornboost.estimators.booster import Booster
from hornboost.estimators.examples import Targets, Training
from hornboost.estimators.numbers import checked_numbers
from hornboost.estimators.regressor import RelationalRegressor
from hornboost.estimators.run import Run
from hornboost.learners.hypotheses import Floats
from hornboost.model.ensemble import Ensemble
from hornboost.model.numbers import Units, rules_of_numbers
from hornboost.model.scale import Link
from hornboost.model.votes import Votes


@dataclass(eq=False, repr=False, kw_only=True)
class BoostedRegressor(Booster, RelationalRegressor):
    """A booster of numbers. It learns from labels that are measured in `Units`, so that their size does not matter."""

    def _link(self) -> Link:
        """What a score is: the number, or its logarithm."""
        return "identity"

    def _units_of(self, y: Floats, weights: Floats) -> Units:
        """How labels are measured; those that make no sense for the booster are refused."""
        raise NotImplementedError

    def _training(self, X: Any, y: Any, sample_weight: Any) -> Training:
        training = super()._training(X, y, sample_weight)
        self._units = self._units_of(training.y, training.weights)
        return replace(training, y=self._units.measured(training.y))

    def _known(self, labels: NDArray[Any]) -> Targets:
        return self._units.measured(checked_numbers(labels, self))

    def _identity(self, training: Training) -> dict[str, Any]:
        numbers = sha256(np.ascontiguousarray(training.y).data).hexdigest()
        return {"labels": numbers, "units": repr(self._units)}

    def _models(self, training: Training, runs: list[Run]) -> tuple[Votes, Votes]:
        (run,) = runs
        rounds = tuple(self._units.round(found) for found in (*run.rounds, *self._closing(training, run)))
        votes = Votes((), rounds, self._units.start(self._start(training)), self._link())
        return votes, votes

    def _rules_of(self, training: Training, votes: Votes) -> Ensemble:
        assert training.problem is not None
        labels = self._units.given(training.y)
        return rules_of_numbers(votes, training.problem.label, training.rows, labels, training.weights)

    def staged_predict(self, X: Any) -> Iterator[Floats]:
        """`predict` after each round."""
        for scores in self._staged_scores(X):
            yield self._votes.numbers(scores)
