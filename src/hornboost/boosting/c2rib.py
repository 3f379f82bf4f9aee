"""C²RIB and C²RIB^D (Hoche and Wrobel 2001, 2002).

Constrained confidence-rated boosting of clauses, features on demand.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import count
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple
from typing import Literal as Choice

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from hornboost import exact
from hornboost.activation.features import ActiveFeatures
from hornboost.activation.strategies import STRATEGIES
from hornboost.dtypes import WEIGHT_ONE
from hornboost.engine import State
from hornboost.engine.sampling import example_hash
from hornboost.estimators.boosted import BoostedClassifier, Scaling
from hornboost.estimators.calibration import common_slope
from hornboost.estimators.examples import Training
from hornboost.estimators.run import Loop, Run
from hornboost.exact.compiled import exp
from hornboost.learners import distribution_kernels as kernels
from hornboost.learners.greedy import grow
from hornboost.learners.hypotheses import ClauseCells, Codes, Floats, Hypothesis, OneCell
from hornboost.learners.memory import Outcome
from hornboost.learners.objectives import confidence, loss, votes_for, z, z_tilde
from hornboost.learners.problem import Problem
from hornboost.model.votes import Round, Vote

MANY_EXAMPLES, PATIENCE = 10_000, 10
"""From how many examples on a feature is also asked for after so many rounds without a smaller training error."""


@dataclass(eq=False, repr=False, kw_only=True)
class C2RIBClassifier(BoostedClassifier):
    """Constrained confidence-rated boosting of first-order rules (Hoche and Wrobel 2001, 2002, 2003).

    Rules describe the database's positive class (the last one if it names none); where a class is rare, try that one.

    Parameters
    ----------
    features : {None, "margin", "V1", …, "V16"}
        None is C²RIB; "margin" is C²RIB^D, which starts with the two most informative features and takes another when
        the growth of the margins slows down; "V1" … "V16" are the strategies of feature-set evolution.
    trend_window : int or None
        Rounds over which gradients are averaged; None is 10 for "margin" and 3 for V1–V16.
    threshold : float
        A feature is asked for when the predicted ratio exceeds the actual one by this factor.
    stall : int, "auto" or None
        Also ask for a feature after this many rounds without a new minimum of the training error. None is the paper's;
        "auto" is 10 for "margin" from 10,000 examples on, where margins grow steadily on whether or not anything is
        learned, and None otherwise.
    ranking : {"spread", "existential"}
        The initial order of the features, by the MI of their spread values or of their best existential test.
    database, rounds, max_literals, max_depth, early_stopping, class_weight, time_limit, checkpoint, …
        As in every `Booster`.

    Attributes
    ----------
    history_ : DataFrame
        A row a round: rule, confidence, weights covered, mean margin, training error; with `features` also what the
        monitor of the learning progress saw and which features were active.

    Examples
    --------
    >>> import hornboost as hb
    >>> trains = hb.datasets.trains(200, seed=1)
    >>> db = trains.database()
    >>> X, y = db.examples()
    >>> bool(hb.C2RIBClassifier(db, rounds=20, random_state=0).fit(X, y).score(X, y) > 0.9)
    True
    """

    features: str | None = None
    trend_window: int | None = None
    threshold: float = 1.01
    stall: int | Choice["auto"] | None = "auto"
    ranking: Choice["spread", "existential"] = "spread"

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BoostedClassifier._parameter_constraints,
        "features": [StrOptions(set(STRATEGIES)), None],
        "trend_window": [Interval(Integral, 1, None, closed="left"), None],
        "threshold": [Interval(Real, 0, None, closed="neither")],
        "stall": [Interval(Integral, 1, None, closed="left"), StrOptions({"auto"}), None],
        "ranking": [StrOptions({"spread", "existential"})],
    }
    against_the_rest = True
    history_columns = ("rule", "confidence", "w_plus", "w_minus", "mean_margin", "training_error", "clauses_scored")

    def _boost(self, training: Training, run: Run) -> Loop:
        """Table 1 of Hoche and Wrobel (2002)."""
        assert training.problem is not None
        state = Constrained(training.problem, run, self)
        run.snapshot = state.held_out.copy
        for t in count(1):
            yield state.round(t)
        raise AssertionError("unreachable")

    def _idle_parameters(self) -> frozenset[str]:
        monitored = () if self.features is not None else ("trend_window", "threshold", "stall", "ranking")
        return super()._idle_parameters() | set(monitored)

    def _measure(self, scores: Floats, y: Codes, weights: Floats) -> dict[str, float]:
        margins = np.where(y == 1, 1.0, -1.0) * scores[:, 0]
        return {"log_loss": float(np.average(exact.softpluses(-2.0 * margins), weights=weights))}

    def _scalings(self, training: Training, runs: dict[int, Run]) -> dict[int, Scaling]:
        """One slope for all classes, from votes of rounds that did not grow on the example.

        The scores decide as the odds do.
        """
        labels, learned = training.labels, {positive: run for positive, run in runs.items() if run.rounds}
        if len(labels) == 1 or not learned:
            return super()._scalings(training, runs)
        held_out, noise, is_class = np.zeros((3, len(training.y), len(labels)))
        for positive, run in learned.items():
            held_out[:, positive], noise[:, positive] = held_out_votes(run.kept, run.n_learned)
            is_class[:, positive] = training.y == positive
        columns = list(learned) if len(labels) == 2 else list(range(len(labels)))
        slope = common_slope(held_out[:, columns], is_class[:, columns] > 0, training.weights, noise[:, columns])
        return dict.fromkeys(runs, Scaling(slope=slope))


class Covered(NamedTuple):
    """The weight that a clause covers on the growing set G,
    the pruning set P and all examples E, as shares of the total.
    """

    plus_G: float
    minus_G: float
    plus: float
    minus: float


class Found(NamedTuple):
    """The clause of a round, the weight that it covers, and how many clauses were scored to find it."""

    state: State
    w: Covered
    scored: int


class Constrained:
    """The state of a run: the distribution D, the ensemble's votes, and the features that the learner may see.

    D is kept as a density: D_i is the sample weight of example i times its density. `held_out` are the sum of each
    example's votes from rounds that did not grow on it, the sum of their squares, and the number of these rounds.
    """

    def __init__(self, problem: Problem, run: Run, settings: C2RIBClassifier) -> None:
        assert run.positive is not None
        self.problem, self.run, self.settings = problem, run, settings
        self.y: NDArray[np.int32] = (problem.classes == run.positive).astype(np.int32)
        self.sign = np.where(self.y == 1, 1.0, -1.0)
        self.sample = problem.weights
        self.N = math.fsum(self.sample)
        self.density = np.full(problem.n, 1.0 / self.N)
        self.votes = np.zeros(problem.n)
        self.held_out = np.zeros((3, problem.n))
        self.total_confidence = 0.0
        self.least_error, self.since_least = math.inf, 0
        self.active: ActiveFeatures | None = None
        self.hypotheses: dict[int, tuple[Hypothesis, str]] = {}

    @property
    def D(self) -> Floats:
        return np.asarray(self.sample * self.density)

    def round(self, t: int) -> Round:
        """Steps 4 (a) to (h)."""
        settings = self.settings
        if settings.features is not None and self.active is None:
            window = settings.trend_window or (10 if settings.features == "margin" else 3)
            engine, weights = self.problem.engine, self.problem.weights
            self.active = ActiveFeatures(
                engine, self.y, weights, self.D, settings.features, window, settings.threshold, settings.ranking
            )
        W, total = kernels.fixed_weights(self.density, self.sample, float(WEIGHT_ONE))
        in_G, W_G = kernels.growing_set(W, self.y, example_hash(self.run.seed, t, self.problem.content), total)

        def known(outcome: Outcome) -> Found:
            state = self.problem.state(outcome.clauses[0])
            return Found(state, self._weights(state, W, W_G, total), int(outcome.figures[0]))

        state, w, scored = self.run.memory.recall(
            lambda: self._clause(W, W_G, total), lambda found: Outcome((found.state.specs,), (found.scored,)), known
        )
        c = confidence(w.plus, w.minus, self.N)
        margin, error = self._update(state, c, w, in_G)
        hypothesis, rule = self._hypothesis(state)
        row: dict[str, Any] = {"rule": rule, "confidence": c}
        row |= {"w_plus": w.plus, "w_minus": w.minus, "mean_margin": margin, "training_error": error}
        row |= self._progress(margin, error) | {"clauses_scored": scored}
        table = np.array([[c]]) if hypothesis.n_cells == 1 else np.array([[0.0], [c]])
        return Round((Vote(hypothesis, table),), row)

    def _hypothesis(self, state: State) -> tuple[Hypothesis, str]:
        """The cells of the clause, and its text; kept, because boosting takes half of its clauses again."""
        if state.number not in self.hypotheses:
            clause = self.problem.clause(state, self.run.positive or 0)
            cells = ClauseCells(clause, self.problem.examples, state.covered)
            is_default = len(state.specs) == 1 and not state.specs[0].tests
            self.hypotheses[state.number] = OneCell(1) if is_default else cells, str(clause)
        return self.hypotheses[state.number]

    def _weights(self, state: State, W: NDArray[np.int64], W_G: NDArray[np.int64], total: int) -> Covered:
        return Covered(*kernels.covered_weights(W, W_G, self.y, state.covered, total))

    def _clause(self, W: NDArray[np.int64], W_G: NDArray[np.int64], total: int) -> Found:
        """Grow on G, prune on P, and compare with the default clause."""
        engine = self.problem.engine
        grown = grow(
            engine,
            W_G,
            self.y,
            2,
            z_tilde,
            start=0.0,
            goes_on=lambda covered: bool(covered[0] > 0),
            max_literals=self.settings.max_literals,
            visible=self.active.visible if self.active else None,
        )

        def loss_on_P(w: Covered) -> float:
            return loss(w.plus - w.plus_G, w.minus - w.minus_G, confidence(w.plus_G, w.minus_G, self.N))

        default = Found(engine.root(), self._weights(engine.root(), W, W_G, total), grown.scored)
        prunes = [Found(state, self._weights(state, W, W_G, total), grown.scored) for state in grown.states]
        prunes = [prune for prune in prunes if votes_for(prune.w.plus, prune.w.minus, self.N)]
        if not prunes:
            return default
        best = min(prunes, key=lambda prune: loss_on_P(prune.w)) if len(prunes) > 1 else prunes[0]
        return max((best, default), key=lambda found: z(found.w.plus, found.w.minus))

    def _update(self, state: State, c: float, w: Covered, in_G: NDArray[np.bool_]) -> tuple[float, float]:
        """D ← D / exp(y·h), normalised, each factor computed once; returns the mean margin and the training error."""
        down, up = exp(-c), exp(c)
        norm = (1.0 - w.plus - w.minus) + w.plus * down + w.minus * up
        margin, wrong = kernels.update(
            self.density,
            self.votes,
            self.held_out,
            self.sample,
            state.covered,
            in_G,
            self.y,
            c,
            np.array([1.0 / norm, up / norm, down / norm]),
        )
        self.total_confidence += abs(c)
        return (margin / self.total_confidence if self.total_confidence else 0.0) / self.N, wrong / self.N

    def _stall(self) -> int | None:
        stall = self.settings.stall
        if stall != "auto":
            return stall
        is_large = max(self.problem.n, self.N) >= MANY_EXAMPLES
        return PATIENCE if is_large and self.settings.features == "margin" else None

    def _progress(self, margin: float, error: float) -> dict[str, Any]:
        """CheckLearningProgress (Table 2), where features enter on demand."""
        self.since_least = 0 if error < self.least_error else self.since_least + 1
        self.least_error = min(error, self.least_error)
        if self.active is None:
            return {}
        stall = self._stall()
        stalled = stall is not None and self.since_least >= stall and self.least_error > 0
        row = self.active.check(margin, stalled, self.D, self.sign, self.votes)
        if stalled and row["activated"]:
            self.since_least = 0
        return row


def held_out_votes(sums: Floats, rounds: int) -> tuple[Floats, Floats]:
    """Each example's votes from rounds that did not grow on it, scaled to all rounds, and the variance that they have
    because these are only a sample of the rounds.
    """
    votes, squares, n = sums
    n = np.maximum(n, 1)
    mean = votes / n
    variance = np.maximum(squares / n - mean**2, 0.0)
    return rounds * mean, rounds**2 * variance / n * (1.0 - n / rounds).clip(0.0)
