"""C²RIB and C²RIB^D (seed 000): constrained confidence-rated boosting of clauses, with features that enter on demand."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from typing import Literal as Choice

import numpy as np
from numpy.typing import NDArray

from hornboost import exact
from hornboost.boosting import kernels
from hornboost.dtypes import WEIGHT_ONE
from hornboost.engine import State, Visible
from hornboost.engine.compile import specs_state
from hornboost.engine.sampling import example_hash
from hornboost.engine.tree import Spec
from hornboost.features.monitor import ProgressMonitor
from hornboost.features.pool import FeaturePool
from hornboost.features.strategies import STRATEGIES, FeatureSet, considered_masses, evolve
from hornboost.search.greedy import grow
from hornboost.search.objectives import confidence, loss, z, z_tilde
from hornboost.search.problem import Problem
from hornboost.stopping import Stopped, check, learning, untimed

Floats = NDArray[np.float64]
Callback = Callable[[dict[str, Any]], None]


class Learned(NamedTuple):
    """A round that is known from before: its clause, and the clauses scored to find it."""

    specs: tuple[Spec, ...]
    scored: int


@dataclass(frozen=True, slots=True)
class Settings:
    """The choices of a run; see `C2RIBClassifier` for what they mean. The rounds `learned` before are repeated, not searched for."""

    rounds: int
    seed: int
    features: str | None = None
    trend_window: int = 10
    threshold: float = 1.01
    stall: int | None = None
    ranking: Choice["spread", "existential"] = "spread"
    max_literals: int = 8
    early_stopping: int | None = None
    validation_fraction: float = 0.1
    callbacks: Sequence[Callback] = ()
    learned: Sequence[Learned] = ()


@dataclass(eq=False)
class Boosted:
    """What a run learned: the clause and confidence of each round, its history, and votes for calibration.

    `held_out_votes` are each example's votes from the rounds that did not grow on it, scaled to all rounds; `noise` is the
    variance that they have because these are only a sample of the rounds.
    """

    states: list[State] = field(default_factory=list)
    confidences: list[float] = field(default_factory=list)
    history: list[dict[str, Any]] = field(default_factory=list)
    held_out_votes: Floats = field(default_factory=lambda: np.empty(0))
    noise: Floats = field(default_factory=lambda: np.empty(0))


@dataclass(frozen=True, slots=True)
class Weights:
    """The weight that a clause covers on the growing set G, the pruning set P and all examples E, as shares of the total."""

    plus_G: float
    minus_G: float
    plus: float
    minus: float


def boost(problem: Problem, settings: Mapping[int, Settings]) -> tuple[dict[int, Boosted], str | None]:
    """Table 1 of seed 000, for each class against the others, and why it ended early, if it did.

    The classes take turns, so that Ctrl-C and the time limit leave a model in which all of them have had about as many rounds.
    """
    runs = {positive: _Run(problem, positive, chosen) for positive, chosen in settings.items()}
    with learning() as ending:
        for t in range(1, max((chosen.rounds for chosen in settings.values()), default=0) + 1):
            for run in runs.values():
                if not run.is_stale():
                    run.round(t)
    return {positive: run.finish() for positive, run in runs.items()}, ending.reason


class _Run:
    """The state of a run: the distribution D, the ensemble's votes, and the features that the learner may see.

    D is kept as a density: D_i is the sample weight of example i times its density.
    """

    def __init__(self, problem: Problem, positive: int, settings: Settings) -> None:
        self.problem, self.settings = problem, settings
        self.y: NDArray[np.int32] = (problem.classes == positive).astype(np.int32)
        self.sign = np.where(self.y == 1, 1.0, -1.0)
        self.sample = problem.weights * ~self._validation()
        self.N = math.fsum(self.sample)
        self.density = np.full(problem.n, 1.0 / self.N)
        self.votes = np.zeros(problem.n)
        self.held_out = np.zeros(problem.n)
        self.held_out_squares = np.zeros(problem.n)
        self.n_held_out = np.zeros(problem.n)
        self.total_confidence = 0.0
        self.least_error, self.since_least = math.inf, 0
        self.least_loss, self.best_round = math.inf, 0
        self.result = Boosted()
        self.active: ActiveFeatures | None = None

    @property
    def D(self) -> Floats:
        return np.asarray(self.sample * self.density)

    def _validation(self) -> NDArray[np.bool_]:
        if self.settings.early_stopping is None:
            return np.zeros(self.problem.n, np.bool_)
        hashes = example_hash(self.settings.seed, 0, self.problem.content)
        return hashes < np.uint64(self.settings.validation_fraction * 2.0**64)

    def round(self, t: int) -> None:
        if t > len(self.settings.learned):
            self._round(t)
            return
        with untimed():  # what is known already is worth the time to repeat it
            self._round(t)

    def _round(self, t: int) -> None:
        check()
        if self.settings.features and self.active is None:
            self.active = ActiveFeatures(self.problem, self.y, self.D, self.settings)
        started = time.perf_counter()
        W, total = kernels.fixed_weights(self.density, self.sample, float(WEIGHT_ONE))
        in_G, W_G = kernels.growing_set(W, self.y, example_hash(self.settings.seed, t, self.problem.content), total)
        state, w, scored = self._known(t, W, W_G, total) if t <= len(self.settings.learned) else self._clause(W, W_G, total)
        c = confidence(w.plus, w.minus, self.N)
        margin, error = self._update(state, c, w, in_G)
        self._record(t, state, c, w, margin, error, scored, started)

    def _known(self, t: int, W: NDArray[np.int64], W_G: NDArray[np.int64], total: int) -> tuple[State, Weights, int]:
        """The clause that an earlier run chose in this round."""
        specs, scored = self.settings.learned[t - 1]
        state = specs_state(self.problem.engine, specs)
        return state, self._weights(state, W, W_G, total), scored

    def _weights(self, state: State, W: NDArray[np.int64], W_G: NDArray[np.int64], total: int) -> Weights:
        sums = np.zeros((2, 2), np.int64)
        kernels.covered_weights(W, W_G, self.y, state.covered, sums)
        (minus_G, plus_G), (minus, plus) = (sums / total).tolist()
        return Weights(plus_G, minus_G, plus, minus)

    def _clause(self, W: NDArray[np.int64], W_G: NDArray[np.int64], total: int) -> tuple[State, Weights, int]:
        """Grow on G, prune on P, and compare with the default clause."""
        engine = self.problem.engine
        visible = self.active.visible if self.active else None
        grown = grow(
            engine,
            W_G,
            self.y,
            2,
            lambda stats: z_tilde(stats[:, 1], stats[:, 0]),
            start=0.0,
            goes_on=lambda covered: bool(covered[0] > 0),
            max_literals=self.settings.max_literals,
            visible=visible,
        )

        def loss_on_P(w: Weights) -> float:
            return loss(w.plus - w.plus_G, w.minus - w.minus_G, confidence(w.plus_G, w.minus_G, self.N))

        default = engine.root(), self._weights(engine.root(), W, W_G, total)
        prunes = [(state, self._weights(state, W, W_G, total)) for state in grown.states]
        prunes = [(state, w) for state, w in prunes if confidence(w.plus, w.minus, self.N) > 0]
        if not prunes:
            return (*default, grown.scored)
        best = min(prunes, key=lambda prune: loss_on_P(prune[1]))
        chosen = max((best, default), key=lambda clause: z(clause[1].plus, clause[1].minus))
        return (*chosen, grown.scored)

    def _update(self, state: State, c: float, w: Weights, in_G: NDArray[np.bool_]) -> tuple[float, float]:
        """D ← D / exp(y·h), normalised, each factor computed once; returns the mean margin and the training error."""
        down, up = exact.exp(-c), exact.exp(c)
        norm = (1.0 - w.plus - w.minus) + w.plus * down + w.minus * up
        factors = np.array([1.0 / norm, up / norm, down / norm])
        margin, wrong = kernels.update(
            self.density,
            self.votes,
            self.held_out,
            self.held_out_squares,
            self.n_held_out,
            self.sample,
            state.covered,
            in_G,
            self.y,
            c,
            factors,
        )
        self.total_confidence += abs(c)
        self.result.states.append(state)
        self.result.confidences.append(c)
        return (margin / self.total_confidence if self.total_confidence else 0.0) / self.N, wrong / self.N

    def _record(self, t: int, state: State, c: float, w: Weights, margin: float, error: float, scored: int, started: float) -> None:
        self.since_least = 0 if error < self.least_error else self.since_least + 1
        self.least_error = min(error, self.least_error)
        row: dict[str, Any] = {"round": t, "rule": state, "confidence": c, "w_plus": w.plus, "w_minus": w.minus}
        row |= {"mean_margin": margin, "training_error": error}
        if self.active:
            stalled = self.settings.stall is not None and self.since_least >= self.settings.stall and self.least_error > 0
            row |= self.active.check(margin, stalled, self.D, self.sign, self.votes)
            if stalled and row["activated"]:
                self.since_least = 0
        if self.settings.early_stopping is not None:
            row["validation_loss"] = self._validation_loss(t)
        row |= {"clauses_scored": scored, "seconds": time.perf_counter() - started}
        self.result.history.append(row)
        for callback in self.settings.callbacks:
            callback(row)

    def _validation_loss(self, t: int) -> float:
        held = self.problem.weights - self.sample
        if not held.any():
            return math.nan
        value = float(np.average(exact.softpluses(-2.0 * self.sign * self.votes), weights=held))
        if value < self.least_loss:
            self.least_loss, self.best_round = value, t
        return value

    def is_stale(self) -> bool:
        """Whether the held-out loss has not fallen for `early_stopping` rounds."""
        patience = self.settings.early_stopping
        return patience is not None and self.best_round > 0 and len(self.result.states) - self.best_round >= patience

    def finish(self) -> Boosted:
        result = self.result
        if self.settings.early_stopping is not None and self.best_round > 0:
            del result.states[self.best_round :], result.confidences[self.best_round :]
        rounds, n = max(len(result.history), 1), np.maximum(self.n_held_out, 1)
        mean = self.held_out / n
        result.held_out_votes = rounds * mean
        variance = np.maximum(self.held_out_squares / n - mean**2, 0.0)
        result.noise = rounds**2 * variance / n * (1.0 - n / rounds).clip(0.0)
        return result


class ActiveFeatures:
    """The features known to the learner: the top two at first, more when the margins' growth slows down or learning stalls."""

    def __init__(self, problem: Problem, y: NDArray[np.int32], D: Floats, settings: Settings) -> None:
        assert settings.features is not None
        self.strategy = STRATEGIES[settings.features]
        self.pool = FeaturePool(problem.engine, y, problem.weights)
        self.monitor = ProgressMonitor(settings.trend_window, settings.threshold)
        self.order, _ = self.pool.rank(D)
        if settings.ranking == "existential":
            self.order, _ = self.pool.rank_existential(np.rint(D * WEIGHT_ONE).astype(np.int64))
        self.current = FeatureSet.start(self.order)
        self.visible: Visible = self.pool.visible(self.current.active)

    def check(self, margin: float, stalled: bool, D: Floats, sign: Floats, votes: Floats) -> dict[str, Any]:
        """CheckLearningProgress (Table 2), and what entered; a feature is also asked for when learning stalls."""
        progress = self.monitor.update(margin)
        activated: tuple[int, ...] = ()
        if progress.asks or stalled:
            with suppress(Stopped):  # the round is whole without the next features; the check before the next one ends the run
                activated = self._evolve(D, sign, votes)
        return {
            "gradient": progress.gradient,
            "trend": progress.trend,
            "ratio": progress.ratio,
            "predicted_ratio": progress.predicted,
            "activated": tuple(self.name(k) for k in activated),
            "active_features": tuple(self.name(k) for k in self.current.active),
            "requested": self.current.requested,
        }

    def _evolve(self, D: Floats, sign: Floats, votes: Floats) -> tuple[int, ...]:
        """Let features enter and leave; returns those that entered."""
        masses = considered_masses(self.strategy, D, sign, votes)
        self.current, change = evolve(
            self.strategy,
            self.current,
            self.order,
            lambda candidates: self.pool.information(candidates, masses, self.strategy.repartition),
            lambda given, candidates: self.pool.conditional(given, candidates, masses, self.strategy.repartition),
        )
        if change.added or change.removed:
            self.monitor.forget()
            self.visible = self.pool.visible(self.current.active)
        return change.added

    def name(self, k: int) -> str:
        feature = self.pool.features[k]
        return f"{feature.table}.{feature.column}"
