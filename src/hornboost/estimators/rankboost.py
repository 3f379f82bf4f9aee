"""`RankBoostClassifier` and `PRankBoostClassifier`: ranking boosters for very skewed data (Oliphant, Burnside and Shavlik 2009)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import column_or_1d

from hornboost import exact
from hornboost.boosting.rankboost import HISTORY, Callback, Ranked, Settings, Voter, WeakLearner, rank_boost
from hornboost.boosting.ranks import Floats
from hornboost.data.table import Column
from hornboost.engine import Engine, clause_state
from hornboost.engine.seeded import SeededEngine
from hornboost.errors import DataError, did_you_mean
from hornboost.estimators.calibration import sigmoid_calibration
from hornboost.estimators.interrupts import ALL_DONE, ends_early, keep, limit
from hornboost.estimators.relational import RelationalClassifier
from hornboost.logic.clause import Clause
from hornboost.metrics import aurpc_and_auroc
from hornboost.model.diagnosis import warn_if_empty
from hornboost.model.ensemble import Ensemble, Rule, merged
from hornboost.search.problem import Problem
from hornboost.search.seeded import Budget

if TYPE_CHECKING:
    from hornboost.data import Database

MOST_CONSTANTS = 1_000
"""Larger domains of keys are never taken for names."""

LEAST_SHARING = 5.0
"""In how many rows the name of a random row must occur on average."""

_SHARED_CONSTRAINTS: dict[str, Any] = {
    "database": "no_validation",
    "rounds": [Interval(Integral, 1, None, closed="left")],
    "max_literals": [Interval(Integral, 1, None, closed="left")],
    "max_depth": [Interval(Integral, 0, None, closed="left")],
    "constants": [StrOptions({"auto"}), "array-like", None],
    "n_seeds": [Interval(Integral, 1, None, closed="left")],
    "clause_budget": [Interval(Integral, 1, None, closed="left"), None],
    "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    "class_weight": [dict, StrOptions({"balanced"}), None],
    "max_entries": [Interval(Integral, 1, None, closed="left")],
    "cache_bytes": [Interval(Integral, 0, None, closed="left")],
    "callbacks": "no_validation",
    "n_jobs": [Integral, None],
    "random_state": ["random_state"],
}


class _RankingClassifier(RelationalClassifier):
    """What the two estimators share: everything but the weak learner."""

    rounds: int
    max_literals: int
    max_depth: int
    constants: str | Sequence[str] | None
    n_seeds: int
    clause_budget: int | None
    time_limit: float | None
    max_entries: int
    cache_bytes: int
    callbacks: Sequence[Callback]
    n_jobs: int | None

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @ends_early
    def fit(self, X: Any, y: Any, sample_weight: Any = None, *, eval_set: tuple[Any, Any] | None = None) -> Any:
        """Learn to rank the examples X of classes y; `eval_set` are other examples whose AURPC enters `history_`."""
        import pandas as pd

        problem = self._problem(
            X,
            y,
            sample_weight,
            max_depth=self.max_depth,
            max_entries=self.max_entries,
            cache_bytes=self.cache_bytes,
            n_jobs=self._threads(),
            constants=self._constant_domains(),
        )
        if len(problem.labels) == 1:
            raise DataError(
                f"all examples are of the class {problem.labels[0]!r}, so there is no negative or no positive example to rank; "
                f"{type(self).__name__} needs more than one class."
            )
        held_out = None if eval_set is None else _HeldOut(self, problem, *eval_set)
        budget = Budget(math.inf if self.clause_budget is None else self.clause_budget)
        engine = SeededEngine(problem.engine)
        seed = self._seed()
        runs: dict[int, Ranked] = {}
        for positive in [problem.positive] if len(problem.labels) == 2 else range(len(problem.labels)):
            settings = self._settings(seed + len(runs))
            runs[positive] = rank_boost(
                problem, engine, positive, settings, budget, None if held_out is None else held_out.of_class(positive)
            )
        reason = next((run.reason for run in runs.values() if run.reason is not None), None)
        spent = "the clause budget was spent" if budget.is_spent else ALL_DONE
        self.stopped_ = keep(reason, any(run.voters for run in runs.values()), spent)
        self.ensemble_ = _ensemble(problem, runs)
        warn_if_empty(self.ensemble_, problem, limit(reason) or ("clause_budget" if budget.is_spent else None))
        self.refused_ = dict(problem.engine.refused)
        self.clauses_evaluated_ = budget.evaluated
        rows = [{"class": problem.labels[k], **row} for k, run in runs.items() for row in run.history]
        self.history_ = pd.DataFrame(rows, columns=None if rows else ["class", *HISTORY])
        return self

    def _settings(self, seed: int) -> Settings:
        """The choices of a run. Each booster has its own."""
        raise NotImplementedError

    def _constant_domains(self) -> tuple[str, ...]:
        if self.constants is None or self.database is None:
            return ()
        if isinstance(self.constants, str):
            return constant_domains(self.database)
        for name in self.constants:
            if name not in self.database.domains:
                raise DataError(f"constants: there are no keys of '{name}'{did_you_mean(str(name), self.database.domains)}")
        return tuple(self.constants)

    def _threads(self) -> int:
        import os

        if self.n_jobs is None:
            return 1
        return self.n_jobs if self.n_jobs > 0 else max(1, (os.cpu_count() or 1) + 1 + self.n_jobs)


class RankBoostClassifier(_RankingClassifier):
    """RankBoost.B over first-order clauses: maximises the area under the ROC curve (Freund et al. 1998).

    The parameters are those of `PRankBoostClassifier`, of which it is the baseline: each weak hypothesis is the clause with the largest
    r = w(positives covered) − w(negatives covered), the weights of each class summing to 1.

    >>> import hornboost as hb
    >>> db = hb.datasets.skewed_pairs(3020, skew=150).database()
    >>> X, y = db.examples()
    >>> clf = hb.RankBoostClassifier(db, rounds=5, random_state=0).fit(X, y)
    >>> bool(hb.metrics.aurpc(np.asarray(y) == "1", clf.decision_function(X)) > 0.1)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = _SHARED_CONSTRAINTS

    def __init__(
        self,
        database: Database | None = None,
        *,
        rounds: int = 100,
        max_literals: int = 8,
        max_depth: int = 2,
        constants: str | Sequence[str] | None = "auto",
        n_seeds: int = 1,
        clause_budget: int | None = None,
        time_limit: float | None = None,
        class_weight: dict[Any, float] | str | None = None,
        max_entries: int = 50_000_000,
        cache_bytes: int = 1 << 30,
        callbacks: Sequence[Callback] = (),
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.database = database
        self.rounds = rounds
        self.max_literals = max_literals
        self.max_depth = max_depth
        self.constants = constants
        self.n_seeds = n_seeds
        self.clause_budget = clause_budget
        self.time_limit = time_limit
        self.class_weight = class_weight
        self.max_entries = max_entries
        self.cache_bytes = cache_bytes
        self.callbacks = callbacks
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _settings(self, seed: int) -> Settings:
        return Settings("rank", self.rounds, seed, self.max_literals, self.n_seeds, callbacks=tuple(self.callbacks))


class PRankBoostClassifier(_RankingClassifier):
    """PRankBoost: boosting of first-order clauses that maximises the area under the recall-precision curve (AURPC).

    Each weak hypothesis grows from a random positive example, whose bottom clause is the only source of literals. The decision function is
    the ranking H(x), shifted so that 0 is where a sigmoid fitted to the training scores gives even odds.

    Parameters
    ----------
    database : the tables behind the examples, or None when the rows of X are all there is.
    weak_learner : "clause" keeps the best clause of a search; "path" all clauses on the way to it; "mix1" keeps the clause and scores
        the path; "mix2" keeps the path and scores the clause; "mix3" takes "clause" and "path" in turn.
    rounds : weak hypotheses to learn (equal clauses are merged).
    max_literals : refinements of a clause at most.
    max_depth : joins between the example and a row that a rule may look at.
    constants : domains of keys whose values rules may name; "auto" takes names that occur in one column and are shared by many rows.
    n_seeds : positive examples to search from in each round; the best clause is taken.
    clause_budget : clauses to evaluate at most.
    time_limit : seconds after which no pass over the data begins; what was learned until then is kept.
    chance_corrected : whether a weak hypothesis votes by its AURPC above that of a random ranking instead of its AURPC.
    path_area : the area by which a path grades its clauses: "total", as in the paper, or "excess", what lies above a random ranking's.
    class_weight : weights by class, "balanced", or None.
    max_entries : largest number of rows that a join may reach; joins over it are left out and listed in `refused_`.
    cache_bytes : memory for coverage that is kept between rounds.
    callbacks : called after each round with its row of the history; learning ends when one returns True.
    n_jobs : threads; the model does not depend on it.
    random_state : seed of the choice of positive examples.

    Attributes
    ----------
    rules_ : the rules, equal clauses merged.
    history_ : a row a round: rule, r, alpha, clauses evaluated so far, training AURPC; with an `eval_set` also its AURPC and AUROC.
    clauses_evaluated_ : clauses whose coverage was asked for.

    >>> import hornboost as hb
    >>> db = hb.datasets.skewed_pairs(3020, skew=150).database()
    >>> X, y = db.examples()
    >>> clf = hb.PRankBoostClassifier(db, rounds=5, random_state=0).fit(X, y)
    >>> bool(hb.metrics.aurpc(np.asarray(y) == "1", clf.decision_function(X)) > 0.3)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **_SHARED_CONSTRAINTS,
        "weak_learner": [StrOptions({"clause", "path", "mix1", "mix2", "mix3"})],
        "chance_corrected": ["boolean"],
        "path_area": [StrOptions({"total", "excess"})],
    }

    def __init__(
        self,
        database: Database | None = None,
        *,
        weak_learner: WeakLearner = "clause",
        rounds: int = 100,
        max_literals: int = 8,
        max_depth: int = 2,
        constants: str | Sequence[str] | None = "auto",
        n_seeds: int = 1,
        clause_budget: int | None = None,
        time_limit: float | None = None,
        chance_corrected: bool = False,
        path_area: str = "excess",
        class_weight: dict[Any, float] | str | None = None,
        max_entries: int = 50_000_000,
        cache_bytes: int = 1 << 30,
        callbacks: Sequence[Callback] = (),
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.database = database
        self.weak_learner = weak_learner
        self.rounds = rounds
        self.max_literals = max_literals
        self.max_depth = max_depth
        self.constants = constants
        self.n_seeds = n_seeds
        self.clause_budget = clause_budget
        self.time_limit = time_limit
        self.chance_corrected = chance_corrected
        self.path_area = path_area
        self.class_weight = class_weight
        self.max_entries = max_entries
        self.cache_bytes = cache_bytes
        self.callbacks = callbacks
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _settings(self, seed: int) -> Settings:
        return Settings(
            self.weak_learner,
            self.rounds,
            seed,
            self.max_literals,
            self.n_seeds,
            self.chance_corrected,
            self.path_area == "excess",
            tuple(self.callbacks),
        )


def constant_domains(database: Database) -> tuple[str, ...]:
    """The key domains whose values are names rather than things: in one column only, at most 1,000 of them, and shared by many rows.

    A domain in several columns links tables; one that is unique in a table is described there; a name is worth testing when a row shares
    it with four others on average (topics of papers do, their titles do not).

    >>> import pandas as pd, hornboost as hb
    >>> paper = pd.DataFrame({"paper": range(7), "good": list("yynnnnn")})
    >>> about = pd.DataFrame({"paper": range(7), "topic": list("aaaaaab")})
    >>> keys = {"paper": {"paper": "paper"}, "about": {"paper": "paper", "topic": "topic"}}
    >>> db = hb.Database.from_frames({"paper": paper, "about": about}, target="paper", key="paper", label="good", positive="y", keys=keys)
    >>> constant_domains(db)
    ('topic',)
    """
    columns: dict[str | None, list[Column]] = {}
    for table in database.tables.values():
        for column in table.keys:
            columns.setdefault(column.domain, []).append(column)

    def holds_names(domain: str) -> bool:
        codes = [column.codes[column.codes >= 0] for column in columns.get(domain, [])]
        if len(codes) != 1 or codes[0].size == 0 or database.domains[domain].size > MOST_CONSTANTS:
            return False
        counts = np.bincount(codes[0]).astype(np.float64)
        return bool((counts * counts).sum() >= LEAST_SHARING * codes[0].size)

    return tuple(domain for domain in database.domains if holds_names(domain))


class _HeldOut:
    """Scores of held-out examples, raised by each weak hypothesis; coverage of a clause is computed once."""

    def __init__(self, estimator: _RankingClassifier, problem: Problem, X: Any, y: Any) -> None:
        self.problem = problem
        self.engine = Engine(problem.database, estimator._encoded(X), max_entries=estimator.max_entries)
        self.labels = column_or_1d(y)
        self.classes = estimator.classes_
        self.covered: dict[Clause, Any] = {}
        if len(self.labels) != self.engine.examples.n_rows:
            rows = self.engine.examples.n_rows
            raise DataError(f"eval_set: X has {rows} rows and y has {len(self.labels)}; they must have the same number.")

    def of_class(self, positive: int) -> Callable[[Voter], dict[str, float]]:
        """The function that a run of the booster for this class calls with each weak hypothesis."""
        y = (self.labels == self.classes[positive]).astype(np.int32)
        if not y.any():
            raise DataError(f"eval_set: there is no example of the class {self.problem.labels[positive]!r}, so recall is not defined.")
        scores = np.zeros(y.size)

        def add(voter: Voter) -> dict[str, float]:
            for clause, _, vote in voter.votes:
                if clause not in self.covered:
                    self.covered[clause] = clause_state(self.engine, clause).covered
                scores[self.covered[clause]] += vote
            return dict(zip(("aurpc_held_out", "auroc_held_out"), aurpc_and_auroc(y, scores), strict=True))

        return add


def _ensemble(problem: Problem, runs: dict[int, Ranked]) -> Ensemble:
    """The rules of all runs. With two classes the score is H, negated when `labels[0]` is the positive class, and its shift; otherwise
    each class has the log-odds that its own ranking gives it, so that rankings of different scale can be compared.
    """
    binary = len(problem.labels) == 2
    n_scores = 1 if binary else len(problem.labels)
    rules: list[Rule] = []
    intercept, calibration = [0.0] * n_scores, [(1.0, 0.0)] * n_scores
    for positive, run in runs.items():
        a, b = _calibration(run)
        column = 0 if binary else positive
        sign = -1.0 if binary and positive == 0 else 1.0
        factor = sign if binary else a
        for voter in run.voters:
            for clause, coverage, vote in voter.votes:
                votes = tuple(factor * vote if k == column else 0.0 for k in range(n_scores))
                rules.append(Rule(clause, votes, (), coverage))
        intercept[column] = sign * b / a if binary else b
        calibration[column] = (a, 0.0) if binary else (1.0, 0.0)
    return Ensemble(problem.labels, merged(rules), tuple(intercept), "sigmoid", tuple(calibration))


def _calibration(run: Ranked) -> tuple[float, float]:
    """(a, b) of the log-odds a·H + b, from the training scores; the prior log-odds when every score is the same."""
    cells = run.cells
    n_minus, n_plus = cells.weight.sum(axis=1)
    if cells.score.size == 1:
        return 1.0, exact.log(n_plus / n_minus)
    scores: Floats = np.tile(cells.score, 2)
    weights = np.maximum(cells.weight.ravel(), 0.0)
    return sigmoid_calibration(scores, np.repeat([False, True], cells.score.size), weights)
