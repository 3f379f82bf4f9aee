"""Sequential subgroup discovery by knowledge-based sampling (Scholz 2005).

Each subgroup is sampled out before the next.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from hornboost.boosting.lift import joint_weights, lift, sampling_factors
from hornboost.data import Database
from hornboost.engine import Coverage, State
from hornboost.errors import DataError, did_you_mean
from hornboost.estimators.booster import N_JOBS
from hornboost.estimators.examples import class_text
from hornboost.estimators.interrupts import ends_early, keep
from hornboost.estimators.workers import WithWorkers
from hornboost.learners.clauses import weights_in_units
from hornboost.learners.greedy import grow
from hornboost.learners.hypotheses import Floats
from hornboost.learners.objectives import QUALITIES
from hornboost.learners.problem import Problem
from hornboost.logic.clause import Clause
from hornboost.model.notebook import MOST_SHOWN, code, table
from hornboost.stopping import learning

if TYPE_CHECKING:
    import pandas as pd

_NO_WRACC = 1e-9


@dataclass(frozen=True, slots=True)
class SubgroupRule:
    """A subgroup: its clause with the target in the head, and its figures on the training examples.

    `coverage` is the covered share of the weight, `precision` the target's share of it. "Current" figures are those on
    the distribution from which the earlier subgroups were sampled out: what this one adds to them.
    """

    clause: Clause
    coverage: float
    covered: float
    precision: float
    wracc: float
    current_wracc: float
    lift: float
    current_lift: float

    def __str__(self) -> str:
        return f"{self.wracc:+.4f} (now {self.current_wracc:+.4f})  lift {self.lift:.2f}  {self.clause}"


class Subgroups(list[SubgroupRule]):
    """Subgroups in the order in which they were found: lines of figures and clauses, a table in a notebook."""

    def __repr__(self) -> str:
        return "\n".join(map(str, self)) or "no subgroups"

    def _repr_html_(self) -> str:
        rows = (
            [code(one.clause), f"{one.coverage:.1%}", f"{one.precision:.1%}"]
            + [f"{figure:.4g}" for figure in (one.wracc, one.current_wracc, one.lift, one.current_lift)]
            for one in self[:MOST_SHOWN]
        )
        titles = ["subgroup", "covers", "precision", "WRAcc", "WRAcc now", "lift", "lift now"]
        return table(titles, rows, len(self))


@dataclass(eq=False, repr=False)
class KBSSubgroups(WithWorkers):
    """Subgroup discovery by knowledge-based sampling (Scholz 2005).

    Each subgroup is about what the earlier ones did not explain.

    Parameters
    ----------
    database : Database or None
        The tables behind the examples; None when the rows of X are all there is.
    n_subgroups : int
        At most so many; fewer when no other has a positive quality.
    quality : {"wracc", "binomial"}
        "wracc" is Pr(covered)·(Pr(y | covered) - Pr(y)); "binomial" takes the root of Pr(covered), for smaller, purer
        subgroups.
    target : class or None
        The class of interest; None is the task's positive class, otherwise the last one.
    max_literals : int
        Refinements of a clause at most.
    max_depth : int
        Joins between the example and a row that a clause may look at.
    max_entries : int
        The entries of a literal that are held at once on the way to another; more are followed for some of the examples
        after the others.
    memory_limit : int, str or None
        Bytes, or a text such as "4GB", Python's own 0.5 GB included; joins that do not fit are left out. None is 80 %
        of the memory at hand.
    n_jobs : int or None
        Threads; the result does not depend on it.
    client : dask.distributed.Client or None
        The cluster whose workers work on the partitions of a database that is divided into some; None does so in this
        process. The result does not depend on it, nor on workers that die.

    Attributes
    ----------
    subgroups_ : Subgroups
        The subgroups, a list in the order in which they were found.
    classes_, target_
        All classes, and the one that the subgroups are about.
    stopped_ : str
        Why the search ended.
    refused_ : dict
        Joins that were left out because they reach too many rows, with the number.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]] * 10)
    >>> y = np.where(X[:, 0] == 1, "yes", "no")
    >>> found = KBSSubgroups(n_subgroups=3).fit(X, y)
    >>> [(str(one.clause), one.wracc) for one in found.subgroups_]
    [('class="yes" :- examples(x0>=1).', 0.25)]
    """

    database: Database | None = None
    _: KW_ONLY
    n_subgroups: int = 10
    quality: str = "wracc"
    target: Any = None
    max_literals: int = 3
    max_depth: int = 2
    max_entries: int = 50_000_000
    memory_limit: int | str | None = None
    n_jobs: int | None = None
    client: Any = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "database": "no_validation",
        "n_subgroups": [Interval(Integral, 1, None, closed="left")],
        "quality": [StrOptions(set(QUALITIES))],
        "target": "no_validation",
        "max_literals": [Interval(Integral, 1, None, closed="left")],
        "max_depth": [Interval(Integral, 0, None, closed="left")],
        "max_entries": [Interval(Integral, 1, None, closed="left")],
        "memory_limit": [Interval(Integral, 1, None, closed="left"), str, None],
        "n_jobs": N_JOBS,
        "client": "no_validation",
    }

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @ends_early
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find subgroups among the examples X with classes y; a weight of 0 leaves an example out."""
        options = {
            "max_depth": self.max_depth,
            "max_entries": self.max_entries,
            "memory_limit": self.memory_limit,
            "n_jobs": effective_n_jobs(self.n_jobs),
        }
        problem = self._problem(X, y, sample_weight, **options)
        target = self._target(problem)
        self.target_ = self.classes_[target]
        found: list[SubgroupRule] = []
        with learning() as ending:
            for subgroup in self._subgroups(problem, target):
                found.append(subgroup)
        self.stopped_ = keep(ending.reason, found, "all subgroups found")
        self.subgroups_ = Subgroups(found)
        self.refused_ = dict(problem.engine.refused)
        return self

    def _target(self, problem: Problem) -> int:
        if self.target is None:
            return problem.positive
        name = class_text(self.target)
        if name not in problem.labels:
            raise DataError(f"the target {self.target!r} is no class of 'y'{did_you_mean(name, problem.labels)}")
        return problem.labels.index(name)

    def _subgroups(self, problem: Problem, target: int) -> Iterator[SubgroupRule]:
        total = float(problem.weights.sum())
        found = discover(
            problem, target, QUALITIES[self.quality], count=self.n_subgroups, max_literals=self.max_literals
        )
        for one in found:
            share = float(one.original[1].sum())
            yield SubgroupRule(
                clause=problem.clause(one.state, target),
                coverage=share,
                covered=share * total,
                precision=float(one.original[1, 1]) / share,
                wracc=one.wracc,
                current_wracc=one.current_wracc,
                lift=one.lift,
                current_lift=one.current_lift,
            )

    def frame(self) -> pd.DataFrame:
        """The subgroups as a table, a row for each."""
        import pandas as pd

        check_is_fitted(self, "subgroups_")
        columns = ["coverage", "covered", "precision", "wracc", "current_wracc", "lift", "current_lift"]
        rows = [
            {"subgroup": str(one.clause), **{name: getattr(one, name) for name in columns}} for one in self.subgroups_
        ]
        return pd.DataFrame(rows, columns=["subgroup", *columns])

    def covers(self, X: Any) -> NDArray[np.bool_]:
        """Which examples belong to which subgroup: a row for each example, a column for each subgroup."""
        check_is_fitted(self, "subgroups_")
        examples = self._encoded(X)
        if not self.subgroups_:
            return np.zeros((examples.n_rows, 0), np.bool_)
        coverage = Coverage.of(self._database, [one.clause for one in self.subgroups_])
        return coverage.covered(examples)


@dataclass(frozen=True, eq=False, slots=True)
class Subgroup:
    """A clause and its table of weights, {not covered, covered} by {other classes, target},
    originally and when it was found.
    """

    state: State
    original: Floats
    current: Floats

    @property
    def wracc(self) -> float:
        """WRAcc for the target among the examples as they were given."""
        return table_wracc(self.original)

    @property
    def current_wracc(self) -> float:
        """WRAcc for the target on the distribution from which earlier subgroups were sampled out."""
        return table_wracc(self.current)

    @property
    def lift(self) -> float:
        """LIFT(covered, target) among the examples as they were given."""
        return float(lift(self.original)[1, 1])

    @property
    def current_lift(self) -> float:
        """LIFT(covered, target) on the distribution from which earlier subgroups were sampled out."""
        return float(lift(self.current)[1, 1])


def table_wracc(joint: Floats) -> float:
    """WRAcc of the second row for the second column.

    Examples
    --------
    >>> round(table_wracc(np.array([[40.0, 20.0], [10.0, 30.0]])), 12)
    0.1
    """
    share = joint / joint.sum()
    return float(share[1, 1] - share[1].sum() * share[:, 1].sum())


def discover(
    problem: Problem,
    target: int,
    quality: Callable[[NDArray[np.int64], NDArray[np.int64]], Floats],
    *,
    count: int,
    max_literals: int,
) -> Iterator[Subgroup]:
    """Subgroups with a positive quality for the target class,
    each about what the earlier ones have left unexplained.
    """
    engine, y = problem.engine, (problem.classes == target).astype(np.int32)
    initial = problem.weights / problem.weights.sum()
    prior = np.asarray(np.bincount(y, weights=initial, minlength=2), dtype=np.float64)
    distribution = initial
    for _ in range(count):
        units = weights_in_units(distribution, problem.weights)
        totals = engine.covered_weight(engine.root(), units, y, 2)
        grown = grow(
            engine,
            units,
            y,
            2,
            lambda stats, totals=totals: quality(stats, totals),  # type: ignore[misc]
            start=0.0,
            goes_on=lambda covered: bool(covered[0] > 0),
            max_literals=max_literals,
        )
        if not grown.states:
            return
        state = grown.states[-1]
        cells = state.covered.astype(np.intp)
        found = Subgroup(state, joint_weights(cells, y, initial, 2, 2), joint_weights(cells, y, distribution, 2, 2))
        if found.current_wracc < _NO_WRACC:
            return
        yield found
        distribution = sampled_out(distribution, cells, y, found.current, prior)
        if not all(np.bincount(y, weights=distribution, minlength=2) > 0):
            return


def sampled_out(
    distribution: Floats, cells: NDArray[np.intp], y: NDArray[np.int32], joint: Floats, prior: Floats
) -> Floats:
    """The distribution on which the subgroup says nothing about the target.

    Where one class is absent from a cell, no weights but 0 make that cell independent of the class (it is the limit of
    sampling out again and again): its examples are explained for good.
    """
    pure = (joint == 0).any(axis=1)
    if pure.any():
        distribution = np.where(pure[cells], 0.0, distribution)
        left = np.bincount(y, weights=distribution, minlength=2)
        return np.asarray(distribution * np.divide(prior, left, out=np.zeros(2), where=left > 0)[y])
    return np.asarray(distribution * sampling_factors(joint, lift(joint), prior)[cells, y])
