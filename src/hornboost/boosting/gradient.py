"""Second-order gradient boosting of clauses, and how it tunes itself."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar
from typing import Literal as Choice

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from hornboost.engine import State
from hornboost.engine.sampling import example_hash, uniform
from hornboost.estimators.booster import Booster
from hornboost.estimators.examples import Training
from hornboost.estimators.run import Loop, Run
from hornboost.learners.hypotheses import ClauseCells, Codes, Floats
from hornboost.learners.losses import Loss, loss_of
from hornboost.learners.memory import Memory
from hornboost.learners.newton import Derivatives, NewtonSearch, steps
from hornboost.learners.problem import Problem
from hornboost.model.votes import Round, Vote, favoured, in_steps
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
class HornBoostClassifier(Booster):
    """Gradient boosting of first-order rules that chooses its own number of rounds and length of rules.

    A round grows the clause whose two cells, covered and not covered, gain most by a Newton step down the log-loss;
    each cell votes, for either side. With several classes one clause votes for all of them. By default the number of
    rounds and the length of clauses are chosen by cross-validation inside the training examples while these are few,
    and on a held-out fifth when they are many; then all examples are used.

    Parameters
    ----------
    rounds : int or "auto"
        Rounds of boosting. "auto" chooses, or with `early_stopping` is 500 at most.
    max_literals : int or "auto"
        Refinements of a clause at most; "auto" chooses among 1, 2, 3 and 5.
    learning_rate : float
        The share of a Newton step that a rule takes.
    l2 : float
        λ, added to the curvature of each cell: the larger, the smaller the votes of cells with few examples.
    subsample : float
        The share of the examples, drawn anew each round by a hash of their content, that a rule is grown on.
    database, max_depth, early_stopping, class_weight, time_limit, checkpoint, …
        As in every `Booster`.

    Attributes
    ----------
    tuning_ : DataFrame
        What was tried: a row for each length with its best number of rounds, the held-out loss there, and whether it
        was chosen. Empty where nothing was left to choose.
    history_ : DataFrame
        A row a round: rule, gain in the training loss, seconds.

    Examples
    --------
    >>> import hornboost as hb
    >>> db = hb.datasets.trains(200, seed=1).database()
    >>> X, y = db.examples()
    >>> clf = hb.HornBoostClassifier(db, random_state=0).fit(X, y)
    >>> bool(clf.score(X, y) > 0.95), int(clf.tuning_["chosen"].sum())
    (True, 1)
    """

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
        if len(training.labels) == 1:
            return "there is one class only"
        memory = run.memory
        descent = self._descent(problem, training.y, training.weights, self._length, run.seed, memory)
        while True:
            found = descent.step()
            if found is None:
                return "no clause gains anything"
            state, table = found
            clause = problem.clause(state, favoured(table))
            vote = Vote(ClauseCells(clause, problem.examples, state.covered), table)
            yield Round((vote,), {"rule": str(clause), "training_loss": descent.loss_on(training.weights)})

    def _descent(
        self, problem: Problem, y: Codes, weights: Floats, length: int, seed: int, memory: Memory | None = None
    ) -> Descent:
        search = NewtonSearch(problem, length, self.l2, Memory() if memory is None else memory)
        loss = loss_of(len(problem.labels))
        return Descent(problem, y, weights, loss, search, self.learning_rate, self.subsample, seed)

    def _start(self, training: Training) -> Floats:
        if len(training.labels) == 1:
            return np.zeros(1)
        return loss_of(len(training.labels)).start(training.y, training.weights)

    def _measure(self, scores: Floats, y: Codes, weights: Floats) -> dict[str, float]:
        n_classes = 2 if scores.shape[1] == 1 else scores.shape[1]
        return {"log_loss": loss_of(n_classes).mean(y, scores, weights)}

    def _n_rounds(self) -> int:
        return self._rounds

    def _prepare(self, training: Training, seed: int) -> None:
        """Choose what is left to be chosen."""
        import pandas as pd

        lengths = LENGTHS if isinstance(self.max_literals, str) else (int(self.max_literals),)
        fixed = None if isinstance(self.rounds, str) else int(self.rounds)
        if fixed is None and self.early_stopping is not None:
            fixed = MOST_ROUNDS
        self.tuning_: pd.DataFrame = pd.DataFrame(columns=["max_literals", "rounds", "loss", "chosen"])
        self._length, self._rounds = min(3, lengths[-1]), fixed or 100
        if len(training.labels) == 1 or (len(lengths) == 1 and fixed is not None) or _n_distinct(training) < 2 * FOLDS:
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
            if len(np.unique(training.y[~held_out])) == len(training.labels):
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


class Descent:
    """Scores of all examples, moved by a clause at a time; examples of weight 0 are scored, not learned from."""

    def __init__(
        self,
        problem: Problem,
        y: Codes,
        weights: Floats,
        loss: Loss,
        search: NewtonSearch,
        learning_rate: float,
        subsample: float,
        seed: int,
    ) -> None:
        self.problem, self.y, self.weights, self.loss, self.search = problem, y, weights, loss, search
        self.learning_rate, self.subsample, self.seed = learning_rate, subsample, seed
        self.scores = np.tile(in_steps(loss.start(y, weights)), (len(y), 1))
        self.number = 0

    def step(self) -> tuple[State, Floats] | None:
        """The next clause and its table of votes, a row a cell, if one gains anything."""
        self.number += 1
        derivatives = Derivatives(*self.loss.derivatives(self.y, self.scores), self._drawn())
        state = self.search.find(derivatives)
        if state is None:
            return None
        sums = derivatives.channels[state.covered].sum(axis=0)
        table = in_steps(self.learning_rate * steps(sums, derivatives, self.search.l2))
        self.scores += table[state.covered.astype(np.intp)]
        return state, table

    def loss_on(self, weights: Floats) -> float:
        """The weighted mean of the loss."""
        return self.loss.mean(self.y, self.scores, weights)

    def _drawn(self) -> Floats:
        if self.subsample == 1.0:
            return self.weights
        draws = uniform(example_hash(self.seed, self.number, self.problem.content))
        return np.where(draws < self.subsample, self.weights, 0.0)


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
