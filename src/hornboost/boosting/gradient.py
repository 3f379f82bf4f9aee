"""Second-order gradient boosting of clauses, whatever the loss, and how it tunes itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar
from typing import Literal as Choice

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from hornboost.boosting.descent import Descent
from hornboost.engine.sampling import example_hash
from hornboost.estimators.booster import Booster
from hornboost.estimators.examples import Targets, Training
from hornboost.estimators.run import Loop, Run
from hornboost.learners.hypotheses import ClauseCells, Floats
from hornboost.learners.losses import Loss
from hornboost.learners.memory import Memory
from hornboost.learners.newton import NewtonSearch
from hornboost.learners.problem import Problem
from hornboost.model.votes import Round, Vote, favoured
from hornboost.stopping import check, in_part_of_the_time, learning

if TYPE_CHECKING:
    import pandas as pd

LENGTHS = (1, 2, 3, 5)
"""Clause lengths that are tried."""

MOST_ROUNDS = 500
PATIENCE = 25
"""Rounds without a smaller loss after which a length is given up while tuning."""

FEW = 5_000
"""Examples up to which every one is held out once; of more, a fifth is."""

FOLDS = 5
STEPS = 0.5
"""The share of a time limit that tuning may take."""


@dataclass(eq=False, repr=False, kw_only=True)
class GradientBooster(Booster):
    """What `HornBoostClassifier` and `HornBoostRegressor` share: all but the loss."""

    rounds: int | Choice["auto"] = "auto"  # type: ignore[assignment]
    max_literals: int | Choice["auto"] = "auto"  # type: ignore[assignment]
    learning_rate: float = 0.3
    l2: float = 1.0
    subsample: float = 1.0

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Booster._parameter_constraints,
        "rounds": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "max_literals": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"})],
        "learning_rate": [Interval(Real, 0, 1, closed="right")],
        "l2": [Interval(Real, 0, None, closed="left")],
        "subsample": [Interval(Real, 0, 1, closed="right")],
    }
    history_columns = ("rule", "training_loss")

    def _boost(self, training: Training, run: Run) -> Loop:
        problem = training.problem
        assert problem is not None
        if self._nothing is not None:
            return self._nothing
        descent = self._descent(problem, training.y, training.weights, self._length, run.seed, run.memory)
        while True:
            found = descent.step()
            if found is None:
                return "no clause gains anything"
            state, table = found
            clause = problem.clause(state, favoured(table))
            vote = Vote(ClauseCells(clause, problem.examples, state.covered), table)
            yield Round((vote,), {"rule": str(clause), "training_loss": descent.loss_on(training.weights)})

    def _descent(
        self, problem: Problem, y: Targets, weights: Floats, length: int, seed: int, memory: Memory | None = None
    ) -> Descent:
        search = NewtonSearch(problem, length, self.l2, Memory() if memory is None else memory)
        return Descent(problem, y, weights, self._loss, search, self.learning_rate, self.subsample, seed)

    def _loss_of(self, training: Training) -> Loss:
        """The loss that is descended."""
        raise NotImplementedError

    def _nothing_to_learn(self, y: Targets) -> str | None:
        """Why no rule can be learned from labels, if none can."""
        raise NotImplementedError

    def _is_a_sample(self, training: Training, part: NDArray[np.bool_]) -> bool:
        """Whether a part of the examples tells of the same labels as all do."""
        return True

    def _start(self, training: Training) -> Floats:
        return self._loss.start(training.y, training.weights)

    def _measure(self, scores: Floats, y: Targets, weights: Floats) -> dict[str, float]:
        return {self._loss.name: self._loss.mean(y, scores, weights)}

    def _n_rounds(self) -> int:
        return self._rounds

    def _prepare(self, training: Training, seed: int) -> None:
        """Choose what is left to be chosen."""
        import pandas as pd

        self._loss, self._nothing = self._loss_of(training), self._nothing_to_learn(training.y)
        lengths = LENGTHS if isinstance(self.max_literals, str) else (int(self.max_literals),)
        fixed = None if isinstance(self.rounds, str) else int(self.rounds)
        if fixed is None and self.early_stopping is not None:
            fixed = MOST_ROUNDS
        self.tuning_: pd.DataFrame = pd.DataFrame(columns=["max_literals", "rounds", "loss", "chosen"])
        self._length, self._rounds = min(3, lengths[-1]), fixed or 100
        is_chosen = len(lengths) == 1 and fixed is not None
        if self._nothing is not None or is_chosen or _n_distinct(training) < 2 * FOLDS:
            self._length = lengths[0] if len(lengths) == 1 else self._length
            return
        with in_part_of_the_time(STEPS):
            found = [(length, self._tried(training, length, fixed, seed)) for length in lengths]
        tried = [(length, *best) for length, best in found if best is not None]
        if not tried:
            return
        _, self._length, self._rounds = min((loss, length, rounds) for length, rounds, loss in tried)
        rows = [(length, rounds, loss, length == self._length) for length, rounds, loss in tried]
        self.tuning_ = pd.DataFrame(rows, columns=self.tuning_.columns)

    def _tried(self, training: Training, length: int, fixed: int | None, seed: int) -> tuple[int, float] | None:
        """The best number of rounds for a length, and the held-out loss there; all folds take their rounds in turn.

        None where Ctrl-C or the end of the time for such trials came before the first round.
        """
        problem = training.problem
        assert problem is not None
        folds = []
        for held_out in _folds(problem, seed):
            weights = np.where(held_out, 0.0, training.weights)
            if self._is_a_sample(training, ~held_out):
                folds.append((self._descent(problem, training.y, weights, length, seed), held_out))
        losses: list[float] = []
        masses = [float(training.weights[held_out].sum()) for _, held_out in folds]
        with learning():
            for number in range(1, (fixed or MOST_ROUNDS) + 1):
                check()
                ended = [descent.step() is None for descent, _ in folds]
                parts = [descent.loss_on(np.where(held_out, training.weights, 0.0)) for descent, held_out in folds]
                losses.append(float(np.average(parts, weights=masses)))
                if all(ended) or (fixed is None and number - int(np.argmin(losses)) > PATIENCE):
                    break
        if not losses:
            return None
        best = int(np.argmin(losses)) if fixed is None else len(losses) - 1
        return fixed or best + 1, losses[best]


def _n_distinct(training: Training) -> int:
    """How many examples differ: one that is repeated, or weighted, says nothing new about rows that were not seen."""
    assert training.problem is not None
    return int(np.unique(training.problem.content).size)


def _folds(problem: Problem, seed: int) -> Iterator[NDArray[np.bool_]]:
    """Which examples each fold holds out: by a hash of their content, so that equal examples stay together."""
    place = example_hash(seed, 0, problem.content) % np.uint64(FOLDS)
    for fold in range(FOLDS if np.unique(problem.content).size <= FEW else 1):
        held_out = place == fold
        if held_out.any() and not held_out.all():
            yield np.asarray(held_out)
