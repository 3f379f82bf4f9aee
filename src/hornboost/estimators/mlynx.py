"""`MLynxClassifier`: mine frequent queries, select by mutual information, classify by Bayes (Di Mauro et al.)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from hornboost import exact
from hornboost.data.mirror import mirrored
from hornboost.estimators.classifier import RelationalClassifier
from hornboost.estimators.interrupts import ends_early, keep
from hornboost.estimators.patterns import MINING_CONSTRAINTS, mine, mining_settings
from hornboost.estimators.workers import WithWorkers
from hornboost.learners.problem import Problem
from hornboost.mining import selection
from hornboost.mining.bayes import BernoulliBayes
from hornboost.mining.patterns import Patterns, Support, warn_of
from hornboost.model.ensemble import Ensemble, Rule
from hornboost.model.influence import in_order
from hornboost.stopping import in_part_of_the_time, learning

if TYPE_CHECKING:
    import pandas as pd

    from hornboost.data import Database


class MLynxClassifier(WithWorkers, RelationalClassifier):
    """Classify by the frequent queries that together tell most about the class: mLynx (Di Mauro et al.).

    Parameters
    ----------
    alpha : float
        A selection ends when no query's mRMR is above it, in nats.
    restarts : int
        Constructions of the stochastic selection (Algorithm 1 of the paper).
    walk_probability : float
        The probability with which a step of the selection adds a random query.
    average : bool
        Rather than the best selection keep them all, and take the mean of their log-posteriors: a query counts by the
        share of the selections that hold it. It ranks better, with many more rules.
    max_queries : int or None
        The queries that a selection takes at most.
    max_pool : int or None
        The queries that the selection chooses from at most: those that tell most about the class.
    laplace : float
        Added to the count of either outcome of a query in each class.
    class_weight : dict, "balanced" or None
        Weights by class.
    time_limit : float or None
        Seconds after which mining and selection end; what was found until then makes the model.
    random_state : int, RandomState or None
        The seed of the selection.
    database, min_support, max_length, max_depth, oi, connected, symmetric, bins, support, client
        As in `RelationalPatterns`.
    max_columns, max_rows, max_patterns, max_bindings, cache_bytes
        Limits of the mining, as in `RelationalPatterns`.

    Attributes
    ----------
    rules_ : list of Rule
        The selected queries. A rule votes log p(q | class) where it holds and log (1 - p(q | class)) where it does not,
        by its share.
    shares_ : array
        The share of the averaged selections that hold each rule's query; 1 where there is one selection.
    n_patterns_ : int
        The frequent queries that were mined.
    left_out_ : list of str
        What the limits left out, a sentence for each kind of thing.
    stopped_ : str
        Why learning ended.

    Examples
    --------
    >>> import hornboost as hb
    >>> db = hb.datasets.trains(200, seed=1).database()
    >>> X, y = db.examples()
    >>> clf = MLynxClassifier(db, max_length=2, random_state=0).fit(X, y)
    >>> bool(clf.score(X, y) > 0.7)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **MINING_CONSTRAINTS,
        "alpha": [Interval(Real, None, None, closed="neither")],
        "restarts": [Interval(Integral, 1, None, closed="left")],
        "walk_probability": [Interval(Real, 0, 1, closed="both")],
        "average": ["boolean"],
        "max_queries": [Interval(Integral, 1, None, closed="left"), None],
        "max_pool": [Interval(Integral, 1, None, closed="left"), None],
        "laplace": [Interval(Real, 0, None, closed="neither")],
        "class_weight": [dict, StrOptions({"balanced"}), None],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        database: Database | None = None,
        *,
        min_support: float = 0.125,
        max_length: int = 4,
        max_depth: int | None = None,
        alpha: float = 1e-2,
        restarts: int = 100,
        walk_probability: float = 0.05,
        average: bool = False,
        max_queries: int | None = 1_000,
        max_pool: int | None = 5_000,
        laplace: float = 1.0,
        oi: bool = True,
        connected: bool = True,
        symmetric: Mapping[str, tuple[str, str]] | None = None,
        bins: int = 4,
        support: Support = "overall",
        class_weight: dict[Any, float] | str | None = None,
        max_columns: int | None = 64,
        max_patterns: int | None = 50_000,
        max_rows: int | None = 2_000_000_000,
        max_bindings: int = 5_000_000,
        cache_bytes: int = 1 << 29,
        time_limit: float | None = None,
        client: Any = None,
        random_state: Any = None,
    ) -> None:
        self.database = database
        self.min_support = min_support
        self.max_length = max_length
        self.max_depth = max_depth
        self.alpha = alpha
        self.restarts = restarts
        self.walk_probability = walk_probability
        self.average = average
        self.max_queries = max_queries
        self.max_pool = max_pool
        self.laplace = laplace
        self.oi = oi
        self.connected = connected
        self.symmetric = symmetric
        self.bins = bins
        self.support = support
        self.class_weight = class_weight
        self.max_columns = max_columns
        self.max_patterns = max_patterns
        self.max_rows = max_rows
        self.max_bindings = max_bindings
        self.cache_bytes = cache_bytes
        self.time_limit = time_limit
        self.client = client
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @ends_early
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MLynxClassifier:
        """Mine, select and count on the examples X with classes y."""
        problem = self._problem(X, y, sample_weight)
        if self.symmetric:
            self._database = mirrored(problem.database, self.symmetric)
        with in_part_of_the_time(0.8):  # the selection, which is quick as a rule, has the rest
            found = mine(self._database, problem, mining_settings(self))
        self.n_patterns_ = len(found)
        self.n_candidates_ = found.candidates
        self.left_out_ = list(found.left_out)
        self.stopped_ = keep(found.stopped, len(found), "all restarts done")
        self._training_weight = float(problem.weights.sum())
        self.ensemble_ = self._model(problem, found)
        warn_of(self.left_out_)
        return self

    def _model(self, problem: Problem, found: Patterns) -> Ensemble:
        n_classes = len(problem.labels)
        share = self._selected(problem, found) if len(found) and n_classes > 1 else {}
        chosen = list(share)
        self.shares_ = np.array(list(share.values()))
        if n_classes == 1:
            return Ensemble(problem.labels, (), (0.0,))
        bayes = BernoulliBayes.fit(found.covered(chosen).T, problem.classes, n_classes, problem.weights, self.laplace)
        yes, no = exact.logs(bayes.p) * self.shares_, exact.log1ps(-bayes.p) * self.shares_
        rules = tuple(
            Rule(found.clause(k), tuple(yes[:, i].tolist()), tuple(no[:, i].tolist()), tuple(found.support[k].tolist()))
            for i, k in enumerate(chosen)
        )
        return Ensemble(problem.labels, rules, tuple(bayes.log_prior.tolist()), "softmax")

    def _selected(self, problem: Problem, found: Patterns) -> dict[int, float]:
        columns = selection.BooleanColumns(found.blocks(), problem.weights)
        information = selection.Information.of(
            columns, problem.classes.astype(np.int64), len(problem.labels), problem.weights
        )
        pool = np.arange(len(found))
        if self.max_pool is not None and len(pool) > self.max_pool:
            pool = selection.most_relevant(information.relevance, self.max_pool)
            information = information.among(pool)
            self.left_out_.append(
                f"the selection chose from the {len(pool):,} of {len(found):,} queries that tell most about the class "
                f"(max_pool={self.max_pool:,})"
            )
        history: list[selection.Restart] = []
        with learning() as ending:
            for restart in self._constructions(information):
                history.append(restart)
        if ending.reason is not None:
            self.stopped_ = ending.reason
            self.left_out_.append(
                f"{ending.reason}: {len(history):,} of {self.restarts:,} restarts of the selection were made"
            )
        share = selection.shares(history) if self.average else dict.fromkeys(selection.best_of(history).columns, 1.0)
        return {int(pool[k]): part for k, part in share.items()}

    def _constructions(self, information: selection.Information) -> Iterator[selection.Restart]:
        return selection.constructions(
            information,
            check_random_state(self._seed()).random_sample,
            restarts=self.restarts,
            walk_probability=self.walk_probability,
            alpha=self.alpha,
            max_features=self.max_queries,
        )

    def rules_frame(self, sort: str | None = None) -> pd.DataFrame:
        """The rules as a table, with p(q | class) and the log-odds ln p/(1 - p) of each class,
        and their shares where there are several; `sort` is as in `HornBoostClassifier.rules_frame`.
        """
        frame = super().rules_frame()
        if self.average:
            frame["share"] = self.shares_
        for k, name in enumerate(self.ensemble_.classes):
            yes = np.array([rule.votes[k] for rule in self.rules_]) / self.shares_
            no = np.array([rule.otherwise[k] for rule in self.rules_]) / self.shares_
            frame[f"p(q|{name})"] = exact.exps(yes)
            frame[f"log-odds {name}"] = yes - no
        return in_order(frame, sort)
