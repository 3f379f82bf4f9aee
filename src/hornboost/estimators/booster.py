"""The skeleton of every booster: all that is not its loop."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from os import PathLike
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted, column_or_1d

from hornboost.data import Database
from hornboost.data.bins import MAX_BINS
from hornboost.data.distances import unreached
from hornboost.errors import DataError, ModelError
from hornboost.estimators.classes import plain_labels
from hornboost.estimators.examples import Targets, Training
from hornboost.estimators.interrupts import ALL_DONE, ends_early, keep, limit
from hornboost.estimators.relational import RelationalModel
from hornboost.estimators.run import Callback, Loop, Printed, Run, Watched
from hornboost.estimators.workers import WithWorkers
from hornboost.learners.hypotheses import ClauseCells, Floats, Rows
from hornboost.model.checkpoint import Checkpoint, identity
from hornboost.model.diagnosis import warn_if_empty, warn_if_refused, warn_if_unreached
from hornboost.model.ensemble import Ensemble
from hornboost.model.votes import Round, Votes
from hornboost.stopping import NONE_BETTER, learning

if TYPE_CHECKING:
    import pandas as pd

RESUMABLE = frozenset(
    {
        "database",
        "rounds",
        "random_state",
        "class_weight",
        "callbacks",
        "verbose",
        "checkpoint",
        "time_limit",
        "n_jobs",
        "client",
        "cache_bytes",
        "memory_limit",
    }
)
"""Parameters that may change before a fit goes on from a checkpoint: no round depends on them, or the examples, or the
joins that were refused, tell already."""

N_JOBS = [Interval(Integral, 1, None, closed="left"), Interval(Integral, None, -1, closed="right"), None]


@dataclass(eq=False, repr=False)
class Booster(WithWorkers, RelationalModel):
    """What all boosters have in common: their parameters, `fit`, and the attributes that it sets.

    A booster is a subclass with its own parameters and `_boost`, a generator that yields a `Round` at a time; what it
    predicts, classes or numbers, it has from `BoostedClassifier` or `BoostedRegressor`.

    Parameters
    ----------
    database : Database or None
        The tables behind the examples; None when the rows of X are all there is.
    rounds : int
        Rounds of boosting at most.
    max_literals : int
        Refinements of a clause at most.
    max_depth : int
        Joins between an example and a row that a rule may look at.
    early_stopping : int or None
        Rounds without a smaller loss on held-out examples after which boosting ends, keeping the rounds up to the
        smallest. None learns all rounds.
    validation_fraction : float
        The share of the examples that early stopping holds out.
    max_entries : int
        The entries of a literal that are held at once on the way to another; more are followed for some of the examples
        after the others, and no rule depends on it. Aggregates of more rows are not learned.
    max_bins : int
        The distinct values of a numeric column up to which each of them is a threshold; those of a column with more
        are put together in so many bins. Keys of a kind are named in rules if they are no more than that.
    cache_bytes : int or None
        Memory for coverage that is kept between rounds; None is a quarter of what `memory_limit` leaves beside the
        tables, but at least 1 GB. What is learned does not depend on it.
    memory_limit : int, str or None
        Bytes, or a text such as "4GB", Python's own 0.5 GB included: tables that do not fit are refused before anything
        is learned, and joins that do not are left out and listed in `refused_`. None is 80 % of the memory of the
        machine or the container. With a client, each of its workers may take as much as this process.
    time_limit : float or None
        Seconds after which boosting ends, keeping what was learned.
    callbacks : sequence of functions
        Called after each round with its row of the history; boosting ends when one returns True.
    verbose : int
        Print the figures of every so many rounds: 1 of each, 10 of every tenth, 0 of none.
    checkpoint : path or None
        A file that keeps what was found, one for each fit. Where it exists, a fit of the same data and settings goes on
        from it, to the model that it would have learned without a break; `rounds`, `time_limit` and `n_jobs` may be
        others. It needs a number as `random_state`.
    n_jobs : int or None
        Threads; the model does not depend on it.
    client : dask.distributed.Client or None
        The cluster whose workers work on the partitions of a database that is divided into some; None does so in this
        process. The model does not depend on it, nor on workers that die.
    random_state : int, RandomState or None
        The seed of all random choices.

    Attributes
    ----------
    n_features_in_, feature_names_in_
        As in scikit-learn.
    rules_ : list of Rule
        The rules, equal clauses merged; there are none where a base learner of scikit-learn was boosted.
    history_ : DataFrame
        A row a round.
    n_rounds_ : int
        Rounds kept, of the class with the most.
    stopped_ : str
        Why boosting ended.
    refused_ : dict
        Joins that were left out because they reach more rows than fit into `memory_limit`, with the number.
    unreached_ : dict
        Tables that no rule could look at, because no link leads there or more joins than `max_depth`, with the reason.
    """

    database: Database | None = None
    _: KW_ONLY
    rounds: int = 100
    max_literals: int = 8
    max_depth: int = 2
    early_stopping: int | None = None
    validation_fraction: float = 0.1
    max_entries: int = 50_000_000
    max_bins: int = MAX_BINS
    cache_bytes: int | None = None
    memory_limit: int | str | None = None
    time_limit: float | None = None
    callbacks: Sequence[Callback] = ()
    verbose: int = 0
    checkpoint: str | PathLike[str] | None = None
    n_jobs: int | None = None
    client: Any = None
    random_state: Any = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "database": "no_validation",
        "rounds": [Interval(Integral, 1, None, closed="left")],
        "max_literals": [Interval(Integral, 1, None, closed="left")],
        "max_depth": [Interval(Integral, 0, None, closed="left")],
        "early_stopping": [Interval(Integral, 1, None, closed="left"), None],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "max_entries": [Interval(Integral, 1, None, closed="left")],
        "max_bins": [Interval(Integral, 2, None, closed="left")],
        "cache_bytes": [Interval(Integral, 0, None, closed="left"), None],
        "memory_limit": [Interval(Integral, 1, None, closed="left"), str, None],
        "time_limit": [Interval(Real, 0, None, closed="neither"), None],
        "callbacks": "no_validation",
        "verbose": ["verbose"],
        "checkpoint": [str, PathLike, None],
        "n_jobs": N_JOBS,
        "client": "no_validation",
        "random_state": ["random_state"],
    }
    history_columns: ClassVar[tuple[str, ...]] = ()
    """What `_boost` tells about each round, for the history of a fit without any."""

    def _boost(self, training: Training, run: Run) -> Loop:
        """The loop of the algorithm. Each booster has its own."""
        raise NotImplementedError

    def _n_rounds(self) -> int:
        """Rounds at most."""
        return self.rounds

    def _prepare(self, training: Training, seed: int, checkpoint: Checkpoint | None) -> None:
        """What a booster finds out about the training examples before its first round."""

    def _run_name(self, label: str | None) -> str:
        """What a checkpoint calls the run for a class, or for all at once."""
        return label or ""

    def _start(self, training: Training) -> Floats:
        """The scores before the first round."""
        raise NotImplementedError

    def _measure(self, scores: Floats, y: Targets, weights: Floats) -> dict[str, float]:
        """How scores do on examples; the first figure is the loss for early stopping."""
        raise NotImplementedError

    def _known(self, labels: NDArray[Any]) -> Targets:
        """Labels of an `eval_set` in the form of those of the training examples."""
        raise NotImplementedError

    def _models(self, training: Training, runs: list[Run]) -> tuple[Votes, Votes]:
        """All votes, once run by run and once round by round."""
        raise NotImplementedError

    def _rules_of(self, training: Training, votes: Votes) -> Ensemble:
        """The votes as rules."""
        raise NotImplementedError

    def _targets(self, training: Training) -> Sequence[int | None]:
        """What is learned one after the other in each round: a class against the others, or None for all at once."""
        return [None]

    def _closing(self, training: Training, run: Run) -> list[Round]:
        """Votes that are added when the rounds are known."""
        return []

    def _engine_options(self) -> dict[str, Any]:
        return {
            "max_depth": self.max_depth,
            "max_entries": self.max_entries,
            "max_bins": self.max_bins,
            "cache_bytes": self.cache_bytes,
            "memory_limit": self.memory_limit,
            "n_jobs": effective_n_jobs(self.n_jobs),
        }

    def _training(self, X: Any, y: Any, sample_weight: Any) -> Training:
        return self._clause_training(X, y, sample_weight, **self._engine_options())[0]

    def _rows(self, X: Any) -> Rows:
        """Other examples in the form of the training examples."""
        given = self._checked(X, reset=False)
        return Rows(given, np.empty((len(given), 0)), self._database, self._database.encode(given))

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @ends_early
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, eval_set: Any = None) -> Self:
        """Learn from the examples X with the labels y.

        Ctrl-C keeps what was learned so far, and raises KeyboardInterrupt then.

        Parameters
        ----------
        X : data frame or array
            The examples, rows of the target table.
        y : array
            Their labels: classes, or numbers for a regressor.
        sample_weight : array or None
            Their weights; a weight of 0 leaves an example out.
        eval_set : tuple (X, y), list of one, or None
            Other examples whose figures enter `history_`; nothing is learned from them.
        """
        self.__dict__.pop("ensemble_", None)
        training = self._training(X, y, sample_weight)
        seed = self._seed()
        held_out = None
        if self.early_stopping is not None:
            training, held_out = training.split(self.validation_fraction, seed, **self._engine_options())
        checkpoint = self._checkpoint(training)
        try:
            self._prepare(training, seed, checkpoint)
            runs = self._runs(training, held_out, seed, checkpoint)
            for run, other in self._shown(training, runs, eval_set):
                run.shown = other
            reason = self._learn(training, runs)
        finally:
            if checkpoint is not None:
                checkpoint.write()
        self._finish(training, runs, reason)
        return self

    def _limit(self, reason: str | None) -> str | None:
        """The parameter that ended boosting, if one did."""
        return limit(reason)

    def _runs(
        self, training: Training, held_out: Training | None, seed: int, checkpoint: Checkpoint | None
    ) -> list[Run]:
        runs = []
        for number, positive in enumerate(self._targets(training)):
            name = None if positive is None else training.labels[positive]
            run = Run(positive, seed + number, about={} if name is None else {"class": name})
            if checkpoint is not None:
                run.memory = checkpoint.memory(self._run_name(name))
            if held_out is not None:
                assert self.early_stopping is not None
                run.patience = self.early_stopping
                run.held_out = self._watched(training, positive, held_out.rows, held_out.y, held_out.weights)
                run.least_loss = next(iter(run.held_out.figures().values()))
            runs.append(run)
        return runs

    def _watched(self, training: Training, positive: int | None, rows: Rows, y: Targets, weights: Floats) -> Watched:
        of_run = y if positive is None else (y == positive).astype(np.intp)
        return Watched(rows, of_run, weights, self._start(training), self._measure)

    def _shown(self, training: Training, runs: list[Run], eval_set: Any) -> Iterator[tuple[Run, Watched]]:
        if eval_set is None:
            return
        X, y = _pair(eval_set)
        rows, labels = self._rows(X), column_or_1d(plain_labels(y))
        if len(labels) != len(rows):
            raise DataError(
                f"eval_set: X has {len(rows)} rows and y has {len(labels)}; they must have the same number."
            )
        known = self._known(labels)
        for run in runs:
            if run.positive is not None and not (known == run.positive).any():
                raise DataError(
                    f"eval_set: there is no example of the class {training.labels[run.positive]!r}; add some."
                )
            yield run, self._watched(training, run.positive, rows, known, np.ones(len(known)))

    def _checkpoint(self, training: Training) -> Checkpoint | None:
        if self.checkpoint is None:
            return None
        if training.problem is None:
            raise ModelError(
                f"{self.checkpoint}: a checkpoint keeps clauses; leave it out, or learn with base='clause'"
            )
        if not isinstance(self.random_state, Integral):
            raise ModelError(
                f"{self.checkpoint}: a fit without a seed cannot be gone on with; set random_state to a number"
            )
        idle = RESUMABLE | self._idle_parameters()
        told = {name: value for name, value in self.get_params(deep=False).items() if name not in idle}
        told |= {"booster": type(self).__name__, "seed": int(self.random_state), **self._identity(training)}
        return Checkpoint(self.checkpoint, identity(training.problem, told.items()), training.problem.engine)

    def _identity(self, training: Training) -> dict[str, Any]:
        """What else decides what is learned."""
        return {}

    def _idle_parameters(self) -> frozenset[str]:
        """Parameters without effect beside the others."""
        return frozenset({"validation_fraction"} if self.early_stopping is None else ())

    def _learn(self, training: Training, runs: list[Run]) -> str | None:
        """Take round after round, the classes in turn, so that whatever ends it
        leaves about as many for each; tells what did.
        """
        loops = [self._boost(training, run) for run in runs]
        printed: list[Callback] = [Printed(int(self.verbose))] if self.verbose else []
        callbacks = (*printed, *self.callbacks)
        with learning() as ending:
            for _ in range(self._n_rounds()):
                for run, loop in zip(runs, loops, strict=True):
                    if run.stopped is None:
                        run.step(loop, callbacks)
        return ending.reason

    def _finish(self, training: Training, runs: list[Run], reason: str | None) -> None:
        import pandas as pd

        for run in runs:
            run.finish()
        reason_of = keep(reason, any(run.rounds for run in runs), "")
        reasons = [reason_of or run.stopped or ALL_DONE for run in runs] or ["there is one class only"]
        self.stopped_ = "; ".join(dict.fromkeys(reasons))
        self.n_rounds_ = max((run.n_learned for run in runs), default=0)
        rows = [row for run in runs for row in run.history]
        self.history_: pd.DataFrame = pd.DataFrame(
            rows, columns=None if rows else ["round", *self.history_columns, "seconds"]
        )
        self._training_weight = float(training.weights.sum())
        one_by_one, self._votes = self._models(training, runs)
        if training.problem is not None:
            self.refused_ = dict(training.problem.engine.refused)
            warn_if_refused(training.problem.engine)
            depth = self._engine_options()["max_depth"]
            self.unreached_ = unreached(self._database.tables, self._database.target.table, depth)
            warn_if_unreached(self.unreached_, self._database.target.table, depth)
            self._set_rules(training, one_by_one)
            if "ensemble_" in self.__dict__:
                why = NONE_BETTER if self.stopped_ == NONE_BETTER else None
                warn_if_empty(self.ensemble_, training.problem, self._limit(reason), why)
        for vote in (vote for found in self._votes.rounds for vote in found.votes):
            if isinstance(vote.hypothesis, ClauseCells):
                vote.hypothesis.forget()

    def _set_rules(self, training: Training, votes: Votes) -> None:
        if votes.is_of_clauses:
            self.ensemble_ = self._rules_of(training, votes)

    def _staged_scores(self, X: Any) -> Iterator[Floats]:
        check_is_fitted(self)
        before: Floats | None = None
        for scores in self._votes.staged_scores(self._rows(X)):
            if before is not None:
                yield before
            before = scores
        if before is not None:
            yield self._scores(X)  # rules that are equal are added at once, so only this is the model's to the last bit


def _pair(eval_set: Any) -> tuple[Any, Any]:
    """X and y of an `eval_set`, which other packages take in a list."""
    inner = eval_set[0] if isinstance(eval_set, list | tuple) and len(eval_set) == 1 else eval_set
    if not isinstance(inner, list | tuple) or len(inner) != 2:
        several = isinstance(eval_set, list | tuple) and len(eval_set) != 1
        got = f"{len(eval_set)} elements" if several else f"'{type(inner).__name__}'"
        raise DataError(f"eval_set: one pair (X, y) is expected, and this holds {got}; pass eval_set=(X, y).")
    return inner[0], inner[1]
