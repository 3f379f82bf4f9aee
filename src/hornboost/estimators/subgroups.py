"""`KBSSubgroups`: sequential discovery of subgroups in which a class is more frequent than elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from hornboost.boosting.subgroups import discover
from hornboost.data import Database
from hornboost.errors import DataError, did_you_mean
from hornboost.estimators.interrupts import ends_early, keep
from hornboost.estimators.relational import RelationalExamples, class_text
from hornboost.logic.clause import Clause
from hornboost.model.scoring import Coverage
from hornboost.search.problem import Problem
from hornboost.search.qualities import QUALITIES
from hornboost.stopping import learning

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True)
class SubgroupRule:
    """A subgroup: its clause with the target in the head, and its figures on the training examples.

    `coverage` is the covered share of the weight, `precision` the target's share of it. "Current" figures are those on the distribution
    from which the earlier subgroups were sampled out: what this one adds to them.
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


class KBSSubgroups(RelationalExamples):
    """Subgroup discovery by knowledge-based sampling (Scholz 2005): each subgroup is about what the earlier ones did not explain.

    Parameters
    ----------
    database : the tables behind the examples, or None when the rows of X are all there is.
    n_subgroups : at most so many; fewer when no other has a positive quality.
    quality : "wracc" is Pr(covered)·(Pr(y | covered) - Pr(y)); "binomial" takes the root of Pr(covered), for smaller, purer subgroups.
    target : the class of interest; None is the task's positive class, otherwise the last one.
    max_literals : refinements of a clause at most.
    max_depth : joins between the example and a row that a clause may look at.
    max_entries : largest number of rows that a join may reach; joins over it are left out.
    n_jobs : threads; the result does not depend on it.

    Attributes
    ----------
    subgroups_ : list of subgroups, in the order in which they were found.
    classes_, target_ : all classes, and the one that the subgroups are about.
    stopped_ : why the search ended.

    >>> import numpy as np
    >>> X = np.array([[0.0, 0], [0, 1], [1, 0], [1, 1]] * 10)
    >>> y = np.where(X[:, 0] == 1, "yes", "no")
    >>> found = KBSSubgroups(n_subgroups=3).fit(X, y)
    >>> [(str(one.clause), one.wracc) for one in found.subgroups_]
    [('class="yes" :- examples(x0>=1).', 0.25)]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "database": "no_validation",
        "n_subgroups": [Interval(Integral, 1, None, closed="left")],
        "quality": [StrOptions(set(QUALITIES))],
        "target": "no_validation",
        "max_literals": [Interval(Integral, 1, None, closed="left")],
        "max_depth": [Interval(Integral, 0, None, closed="left")],
        "max_entries": [Interval(Integral, 1, None, closed="left")],
        "n_jobs": [Integral, None],
    }

    def __init__(
        self,
        n_subgroups: int = 10,
        *,
        quality: str = "wracc",
        target: Any = None,
        database: Database | None = None,
        max_literals: int = 3,
        max_depth: int = 2,
        max_entries: int = 50_000_000,
        n_jobs: int | None = None,
    ) -> None:
        self.n_subgroups = n_subgroups
        self.quality = quality
        self.target = target
        self.database = database
        self.max_literals = max_literals
        self.max_depth = max_depth
        self.max_entries = max_entries
        self.n_jobs = n_jobs

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    @ends_early
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Find subgroups among the examples X with classes y; a weight of 0 leaves an example out."""
        problem = self._problem(
            X, y, sample_weight, max_depth=self.max_depth, max_entries=self.max_entries, n_jobs=effective_n_jobs(self.n_jobs)
        )
        target = self._target(problem)
        self.target_ = self.classes_[target]
        found: list[SubgroupRule] = []
        with learning() as ending:
            for subgroup in self._subgroups(problem, target):
                found.append(subgroup)
        self.stopped_ = keep(ending.reason, found, "all subgroups found")
        self.subgroups_ = found
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
        found = discover(problem, target, QUALITIES[self.quality], count=self.n_subgroups, max_literals=self.max_literals)
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
        rows = [{"subgroup": str(one.clause), **{name: getattr(one, name) for name in columns}} for one in self.subgroups_]
        return pd.DataFrame(rows, columns=["subgroup", *columns])

    def covers(self, X: Any) -> NDArray[np.bool_]:
        """Which examples belong to which subgroup: a row for each example, a column for each subgroup."""
        check_is_fitted(self, "subgroups_")
        examples = self._encoded(X)
        if not self.subgroups_:
            return np.zeros((examples.n_rows, 0), np.bool_)
        coverage = Coverage.of(self._database, [one.clause for one in self.subgroups_])
        return coverage.covered(examples)[:, list(coverage.plan.of_clause)]
