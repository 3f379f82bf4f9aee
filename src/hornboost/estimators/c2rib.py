"""`C2RIBClassifier`: C²RIB, C²RIB^D and the sixteen feature-set-evolution strategies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from numbers import Integral, Real
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from hornboost.boosting.c2rib import Boosted, Callback, Settings, boost
from hornboost.errors import ModelError
from hornboost.estimators.calibration import common_slope
from hornboost.estimators.interrupts import ends_early, keep, limit
from hornboost.estimators.relational import RelationalClassifier
from hornboost.features.strategies import STRATEGIES
from hornboost.model.checkpoint import Checkpoint, identity
from hornboost.model.diagnosis import warn_if_empty
from hornboost.model.ensemble import Ensemble, Rule, merged
from hornboost.search.problem import Problem

if TYPE_CHECKING:
    from hornboost.data import Database


RESUMABLE = frozenset({"rounds", "callbacks", "learned"})
"""Settings that may change before a fit goes on from a checkpoint: no round depends on them."""

OF_FEATURES = frozenset({"trend_window", "threshold", "stall", "ranking"})
"""Settings without effect where no features evolve."""

OF_STOPPING = frozenset({"validation_fraction"})
"""Settings without effect without early stopping."""


class C2RIBClassifier(RelationalClassifier):
    """Constrained confidence-rated boosting of first-order rules (Hoche and Wrobel 2001, 2002, 2003).

    Rules describe the database's positive class (the last one if it names none); where a class is rare, try that one.

    Parameters
    ----------
    database : the tables behind the examples, or None when the rows of X are all there is.
    rounds : rules to learn (equal ones are merged).
    features : None for C²RIB; "margin" for C²RIB^D, which starts with the two most informative features and takes another when the growth
        of the margins slows down; "V1" … "V16" for the strategies of feature-set evolution.
    trend_window : rounds over which gradients are averaged; None is 10 for "margin" and 3 for V1–V16.
    threshold : a feature is asked for when the predicted ratio exceeds the actual one by this factor.
    stall : also ask for a feature after this many rounds without a new minimum of the training error.
    ranking : initial order of the features by the MI of their "spread" values or of their best "existential" test.
    max_literals : refinements of a clause at most.
    max_depth : joins between the example and a row that a rule may look at.
    early_stopping : rounds without a better held-out loss after which learning ends, or None to learn all rounds.
    validation_fraction : share of the examples held out for early stopping.
    class_weight : weights by class, "balanced", or None.
    max_entries : largest number of rows that a join may reach; joins over it are left out and listed in `refused_`.
    cache_bytes : memory for coverage that is kept between rounds.
    time_limit : seconds after which the search ends, also within a round; what was learned until then is the model.
    callbacks : called after each round with its row of the history.
    checkpoint : a file that keeps the rounds learned, one for each fit; where it exists, a fit of the same data and settings goes on from
        it, to the model that it would have learned without a break. `rounds` may be raised, `time_limit` and `n_jobs` be others.
        Needs a number as `random_state`.
    n_jobs : threads; the model does not depend on it.
    random_state : seed of the splits into growing and pruning examples.

    Attributes
    ----------
    rules_ : the rules, equal clauses merged.
    history_ : a row a round.
    stopped_ : why the boosting ended.

    >>> import hornboost as hb
    >>> trains = hb.datasets.trains(200, seed=1)
    >>> db = trains.database()
    >>> X, y = db.examples()
    >>> bool(hb.C2RIBClassifier(db, rounds=20, random_state=0).fit(X, y).score(X, y) > 0.9)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "database": "no_validation",
        "rounds": [Interval(Integral, 1, None, closed="left")],
        "features": [StrOptions(set(STRATEGIES)), None],
        "trend_window": [Interval(Integral, 1, None, closed="left"), None],
        "threshold": [Interval(Real, 0, None, closed="neither")],
        "stall": [Interval(Integral, 1, None, closed="left"), None],
        "ranking": [StrOptions({"spread", "existential"})],
        "max_literals": [Interval(Integral, 1, None, closed="left")],
        "max_depth": [Interval(Integral, 0, None, closed="left")],
        "early_stopping": [Interval(Integral, 1, None, closed="left"), None],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "max_entries": [Interval(Integral, 1, None, closed="left")],
        "cache_bytes": [Interval(Integral, 0, None, closed="left")],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "callbacks": "no_validation",
        "checkpoint": [str, PathLike, None],
        "n_jobs": [Integral, None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        database: Database | None = None,
        *,
        rounds: int = 100,
        features: str | None = None,
        trend_window: int | None = None,
        threshold: float = 1.01,
        stall: int | None = None,
        ranking: str = "spread",
        max_literals: int = 8,
        max_depth: int = 2,
        early_stopping: int | None = None,
        validation_fraction: float = 0.1,
        class_weight: dict[Any, float] | str | None = None,
        max_entries: int = 50_000_000,
        cache_bytes: int = 1 << 30,
        time_limit: float | None = None,
        callbacks: Sequence[Callback] = (),
        checkpoint: str | PathLike[str] | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.database = database
        self.rounds = rounds
        self.features = features
        self.trend_window = trend_window
        self.threshold = threshold
        self.stall = stall
        self.ranking = ranking
        self.max_literals = max_literals
        self.max_depth = max_depth
        self.early_stopping = early_stopping
        self.validation_fraction = validation_fraction
        self.class_weight = class_weight
        self.max_entries = max_entries
        self.cache_bytes = cache_bytes
        self.time_limit = time_limit
        self.callbacks = callbacks
        self.checkpoint = checkpoint
        self.n_jobs = n_jobs
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @ends_early
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> C2RIBClassifier:
        """Learn rules from the examples X with classes y. Ctrl-C keeps those learned so far and raises KeyboardInterrupt then."""
        import pandas as pd

        problem = self._problem(
            X,
            y,
            sample_weight,
            max_depth=self.max_depth,
            max_entries=self.max_entries,
            cache_bytes=self.cache_bytes,
            n_jobs=self._threads(),
        )
        positives = list(range(len(problem.labels))) if len(problem.labels) > 2 else [problem.positive][: len(problem.labels) - 1]
        settings = self._settings()
        checkpoint = self._checkpoint(problem, settings)
        chosen: dict[int, Settings] = {}
        for positive in positives:
            chosen[positive] = replace(settings, seed=settings.seed + len(chosen))
            if checkpoint is not None:
                label = problem.labels[positive]
                callbacks = (checkpoint.recorder(label), *settings.callbacks)
                chosen[positive] = replace(chosen[positive], learned=checkpoint.learned(label), callbacks=callbacks)
        try:
            runs, reason = boost(problem, chosen)
        finally:
            if checkpoint is not None:
                checkpoint.write()
        self.stopped_ = keep(reason, any(run.history for run in runs.values()))
        self.ensemble_ = _ensemble(problem, runs)
        if runs:
            warn_if_empty(self.ensemble_, problem, limit(reason))
        self.refused_ = dict(problem.engine.refused)
        self.history_ = pd.DataFrame(_history(problem, runs))
        return self

    def _threads(self) -> int:
        import os

        if self.n_jobs is None:
            return 1
        return self.n_jobs if self.n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + self.n_jobs)

    def _checkpoint(self, problem: Problem, settings: Settings) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        if not isinstance(self.random_state, Integral):
            raise ModelError(f"{self.checkpoint}: a fit without a seed cannot be gone on with; set random_state to a number")
        idle = RESUMABLE | (OF_FEATURES if self.features is None else set()) | (OF_STOPPING if self.early_stopping is None else set())
        told = {field.name: getattr(settings, field.name) for field in fields(settings) if field.name not in idle}
        told |= {"max_depth": self.max_depth, "max_entries": self.max_entries}
        return Checkpoint(self.checkpoint, identity(problem, told.items()), problem.engine)

    def _settings(self) -> Settings:
        window = self.trend_window if self.trend_window is not None else (10 if self.features in (None, "margin") else 3)
        return Settings(
            rounds=self.rounds,
            seed=self._seed(),
            features=self.features,
            trend_window=window,
            threshold=self.threshold,
            stall=self.stall,
            ranking="existential" if self.ranking == "existential" else "spread",
            max_literals=self.max_literals,
            early_stopping=self.early_stopping,
            validation_fraction=self.validation_fraction,
            callbacks=tuple(self.callbacks),
        )


def _ensemble(problem: Problem, runs: dict[int, Boosted]) -> Ensemble:
    """The rules of all runs; with two classes there is one score, for `labels[1]`, so rules for `labels[0]` vote against it."""
    n_scores = 1 if len(problem.labels) <= 2 else len(problem.labels)
    rules: list[Rule] = []
    intercept = [0.0] * n_scores
    held_out, noise = np.zeros((problem.n, n_scores)), np.zeros((problem.n, n_scores))
    for positive, run in runs.items():
        column = 0 if n_scores == 1 else positive
        sign = -1.0 if n_scores == 1 and positive == 0 else 1.0
        for state, c in zip(run.states, run.confidences, strict=True):
            if len(state.specs) == 1 and not state.specs[0].tests:
                intercept[column] += sign * c
                continue
            votes = tuple(sign * c if k == column else 0.0 for k in range(n_scores))
            rules.append(Rule(problem.clause(state, positive), votes, (), problem.coverage(state)))
        held_out[:, column], noise[:, column] = sign * run.held_out_votes, run.noise
    if len(problem.labels) == 1:
        return Ensemble(problem.labels, (), (0.0,))
    is_class = problem.classes[:, None] == (np.arange(n_scores) if n_scores > 1 else np.ones(1))
    slope = common_slope(held_out, is_class, problem.weights, noise)
    return Ensemble(problem.labels, merged(rules), tuple(intercept), "sigmoid", ((slope, 0.0),) * n_scores)


def _history(problem: Problem, runs: dict[int, Boosted]) -> list[dict[str, Any]]:
    rows = []
    for positive, run in runs.items():
        for row in run.history:
            rows.append({"class": problem.labels[positive], **row, "rule": str(problem.clause(row["rule"], positive))})
    return rows
