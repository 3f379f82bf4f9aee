"""`RelationalPatterns`: frequent relational queries as boolean columns."""

from __future__ import annotations

from collections.abc import Mapping
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import TransformerMixin, _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from hornboost.data.mirror import mirrored
from hornboost.engine import Coverage
from hornboost.estimators.interrupts import ends_early, keep
from hornboost.estimators.workers import WithWorkers
from hornboost.learners.problem import Problem
from hornboost.mining.patterns import MiningSettings, Patterns, Support, find_patterns, warn_of
from hornboost.mining.query import query_text

if TYPE_CHECKING:
    from hornboost.data import Database
    from hornboost.logic import Clause

MINING_CONSTRAINTS: dict[str, Any] = {
    "database": "no_validation",
    "min_support": [Interval(Real, 0, 1, closed="right")],
    "max_length": [Interval(Integral, 1, None, closed="left")],
    "max_depth": [Interval(Integral, 1, None, closed="left"), None],
    "oi": ["boolean"],
    "connected": ["boolean"],
    "symmetric": [dict, None],
    "bins": [Interval(Integral, 2, None, closed="left")],
    "support": [StrOptions({"overall", "any_class", "positive"})],
    "max_columns": [Interval(Integral, 1, None, closed="left"), None],
    "max_rows": [Interval(Integral, 1, None, closed="left"), None],
    "max_patterns": [Interval(Integral, 1, None, closed="left"), None],
    "max_bindings": [Interval(Integral, 1, None, closed="left")],
    "cache_bytes": [Interval(Integral, 0, None, closed="left")],
    "time_limit": [Interval(Real, 0, None, closed="neither"), None],
    "client": "no_validation",
}


def mining_settings(estimator: Any) -> MiningSettings:
    """The mining parameters of an estimator."""
    names = [name for name in MINING_CONSTRAINTS if name not in ("database", "symmetric", "time_limit", "client")]
    return MiningSettings(
        symmetric=dict(estimator.symmetric or {}), **{name: getattr(estimator, name) for name in names}
    )


class RelationalPatterns(TransformerMixin, WithWorkers):  # type: ignore[misc]
    """Turn frequent queries over the related tables into columns: does the query hold for an example (Di Mauro et al.)?

    A query is a conjunction of literals, each with conditions on its columns: values of nominal ones, intervals of
    equal frequency of numeric ones. All key columns of a literal hold variables. Queries that differ in names or order
    only are one, and so are those that hold for the same training examples.

    Parameters
    ----------
    database : Database or None
        The tables behind the examples; None when the rows of X are all there is.
    min_support : float
        The smallest share of examples for which a query holds.
    max_length : int
        The most conditions of a query; a literal without conditions counts as one.
    max_depth : int or None
        How many joins away from the example literals are at most; None is as many as `max_length` allows, and with a
        database in partitions as many as these hold.
    oi : bool
        Object identity: distinct variables stand for distinct objects.
    connected : bool
        Literals are connected through variables that are not the example's own; literals over the example's keys alone
        may join.
    symmetric : dict or None
        Relations that hold in both directions: for each table its two key columns, as in
        `{"bond": ("atom1", "atom2")}`.
    bins : int
        Intervals of a numeric column, cut on the rows that the training examples reach, or see where rows have times;
        so are their ages, each as the latest of these examples sees it.
    support : {"overall", "any_class", "positive"}
        The examples that count: all of them, those of some class, or those of the positive class.
    max_columns : int or None
        The columns that conditions are made of at most: those that tell most about the classes, or, without classes,
        those that divide the examples most evenly.
    max_rows : int or None
        The rows that joins look at over all queries, approximately; the joins that look at most rows are left out.
    max_patterns : int or None
        The most queries; of the longest ones those that extend the queries that tell most about the classes.
    max_bindings : int
        The ways to bind one query, beyond which it is not extended.
    time_limit : float or None
        Seconds after which mining ends.
    cache_bytes : int
        Memory for bindings, and for what they reach, kept between queries.
    client : dask.distributed.Client or None
        The cluster whose workers work on the partitions of a database that is divided into some; None does so in this
        process. What is found does not depend on it, nor on workers that die.
    sparse : bool
        Whether `transform` gives a sparse matrix.

    Attributes
    ----------
    clauses_ : list of Clause
        The queries as clauses; the head names the class in which each is most frequent.
    support_ : array
        The training weight for which each query holds, by class.
    n_merged_, n_candidates_ : int
        Queries merged with equal ones, and candidates counted.
    left_out_ : list of str
        What the limits left out, a sentence for each kind of thing; one warning says it, too.
    stopped_ : str
        Why mining ended.

    Examples
    --------
    >>> import hornboost as hb
    >>> db = hb.datasets.trains(50, seed=1).database()
    >>> X, y = db.examples()
    >>> patterns = RelationalPatterns(db, min_support=0.2, max_length=1).fit(X, y)
    >>> patterns.transform(X).shape == (50, len(patterns.get_feature_names_out()))
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {**MINING_CONSTRAINTS, "sparse": ["boolean"]}

    def __init__(
        self,
        database: Database | None = None,
        *,
        min_support: float = 0.1,
        max_length: int = 3,
        max_depth: int | None = None,
        oi: bool = True,
        connected: bool = True,
        symmetric: Mapping[str, tuple[str, str]] | None = None,
        bins: int = 4,
        support: Support = "overall",
        max_columns: int | None = 64,
        max_patterns: int | None = 50_000,
        max_rows: int | None = 2_000_000_000,
        max_bindings: int = 5_000_000,
        cache_bytes: int = 1 << 29,
        time_limit: float | None = None,
        client: Any = None,
        sparse: bool = False,
    ) -> None:
        self.database = database
        self.min_support = min_support
        self.max_length = max_length
        self.max_depth = max_depth
        self.oi = oi
        self.connected = connected
        self.symmetric = symmetric
        self.bins = bins
        self.support = support
        self.max_columns = max_columns
        self.max_patterns = max_patterns
        self.max_rows = max_rows
        self.max_bindings = max_bindings
        self.cache_bytes = cache_bytes
        self.time_limit = time_limit
        self.client = client
        self.sparse = sparse

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @ends_early
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> RelationalPatterns:
        """Mine the examples X; their classes y matter to `support`, to the heads, and to what the limits leave out."""
        self._mine(X, y, sample_weight)
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Mine, and give the columns of the training examples."""
        return self.fit(X, y, sample_weight).transform(X)

    def _mine(self, X: Any, y: Any, sample_weight: Any) -> None:
        if y is None:
            if self.support == "positive":
                raise ValueError(
                    "support='positive' needs the classes y of the examples; pass them, or use support='overall'"
                )
            y = np.zeros(len(X), dtype=np.int64)
        problem = self._problem(X, y, sample_weight)
        if self.symmetric:
            self._database = mirrored(problem.database, self.symmetric)
        found = mine(self._database, problem, mining_settings(self))
        self.clauses_ = [found.clause(k) for k in range(len(found))]
        self.support_ = found.support
        self.n_merged_ = found.merged
        self.n_candidates_ = found.candidates
        self.left_out_ = list(found.left_out)
        self.stopped_ = keep(found.stopped, len(found), "all queries were mined")
        warn_of(self.left_out_)

    def transform(self, X: Any) -> Any:
        """A row for each example and a column for each query."""
        check_is_fitted(self, "clauses_")
        examples = self._database.encode(self._checked(X, reset=False))
        matrix = self._coverage().covered(examples)
        if not self.sparse:
            return matrix
        from scipy.sparse import csr_matrix

        return csr_matrix(matrix)

    def _coverage(self) -> Coverage:
        """What finds the examples of the queries; kept while these, and who works on the tables, stay the same."""
        database, clauses = self._database, self.clauses_
        kept: tuple[Database, list[Clause], Coverage] | None = self.__dict__.get("_kept_coverage")
        if kept is None or kept[0] is not database or kept[1] is not clauses:
            kept = self.__dict__["_kept_coverage"] = database, clauses, Coverage.of(database, clauses)
        return kept[2]

    def __getstate__(self) -> dict[str, Any]:
        state: dict[str, Any] = super().__getstate__()
        return {name: value for name, value in state.items() if name != "_kept_coverage"}

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The queries as text."""
        check_is_fitted(self, "clauses_")
        return np.array([query_text(clause) for clause in self.clauses_], dtype=object)


def mine(database: Database, problem: Problem, settings: MiningSettings) -> Patterns:
    """The frequent queries of a problem over a database that may hold further directions of its relations."""
    return find_patterns(
        database,
        problem.examples,
        problem.classes,
        problem.labels,
        problem.weights,
        problem.positive,
        settings,
        lambda clauses: Coverage.of(database, clauses).covered(problem.examples),
    )
