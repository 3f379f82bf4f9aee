"""Boosters over any base learner: clauses, or classifiers and regressors of scikit-learn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import narwhals.dependencies as frames
import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils import check_array, get_tags
from sklearn.utils._param_validation import HasMethods, StrOptions
from sklearn.utils.validation import check_is_fitted, validate_data

from hornboost.data import Database
from hornboost.data.frames import known_frame
from hornboost.engine.sampling import content_hash, tell_apart
from hornboost.errors import DataError, ModelError
from hornboost.estimators.boosted import BoostedClassifier
from hornboost.estimators.examples import Training, class_text
from hornboost.estimators.matrix import MatrixEncoder
from hornboost.estimators.run import Run
from hornboost.learners.clauses import ClauseLearner
from hornboost.learners.hypotheses import Floats, Rows, WeakLearner
from hornboost.learners.scikit import ClassifierLearner
from hornboost.model.scale import Scale


@dataclass(eq=False, repr=False, kw_only=True)
class BaseLearnerBooster(BoostedClassifier):
    """A booster with the parameter `base`; where all hypotheses are clauses its model is a set of rules."""

    rounds: int = 30
    max_literals: int = 4
    base: Any = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BoostedClassifier._parameter_constraints,
        "base": [StrOptions({"stump", "tree", "clause"}), HasMethods(["fit", "predict"]), None],
    }

    def _base_learner(self) -> Any:
        """What `base` stands for: an estimator of scikit-learn.

        "tree" is grown to pure leaves of two examples, to be pruned.
        """
        if self.base is None or (isinstance(self.base, str) and self.base == "stump"):
            return DecisionTreeClassifier(max_depth=1)
        if isinstance(self.base, str) and self.base == "tree":
            return DecisionTreeClassifier(criterion="entropy", min_samples_leaf=2)
        return self.base

    def _learner(self, training: Training, run: Run, *, leaves: bool) -> WeakLearner:
        """The weak learner of a classifier.

        `leaves` says whether the cells of a tree are its leaves or the classes it predicts.
        """
        if training.problem is not None:
            return ClauseLearner(training.problem, self.max_literals, run.memory)
        return ClassifierLearner(
            self._base_learner(),
            len(training.labels),
            leaves=leaves,
            pruned=isinstance(self.base, str) and self.base == "tree",
            seed=run.seed,
            multiplicity=training.weights,
            content=training.content,
        )

    @property
    def _learns_clauses(self) -> bool:
        return self.database is not None if self.base is None else isinstance(self.base, str) and self.base == "clause"

    def _tables_behind(self, given: Any) -> Database | None:
        """The tables that known clauses look at beside a base learner of scikit-learn."""
        return self.database

    def _training(self, X: Any, y: Any, sample_weight: Any) -> Training:
        if self._learns_clauses:
            return super()._training(X, y, sample_weight)
        rows = self._matrix(X, reset=True)
        counted, codes, weights = self._labelled(len(rows), y, sample_weight)
        rows = rows if len(counted) == len(rows) else rows.take(counted)
        content = tell_apart(content_hash([*rows.matrix.T, codes]))
        labels = tuple(map(class_text, self.classes_))
        return Training(rows, codes, labels, weights, content, pseudo_weight=self._pseudo_weight(len(codes)))

    def _rows(self, X: Any) -> Rows:
        return super()._rows(X) if self._learns_clauses else self._matrix(X, reset=False)

    def _matrix(self, X: Any, *, reset: bool) -> Rows:
        """The examples as numbers, nominal columns of a frame as 0/1 columns."""
        base = self._base_learner()
        dtype = np.float32 if isinstance(base, DecisionTreeClassifier | DecisionTreeRegressor) else np.float64
        allow = "allow-nan" if get_tags(base).input_tags.allow_nan else True
        if not frames.is_into_dataframe(X):
            if self.database is not None and self.database.times:
                raise DataError(
                    f"with times X must be a data frame with the columns of table '{self.database.target.table}'; "
                    f"got {type(X).__name__}"
                )
            given = matrix = validate_data(self, X, reset=reset, dtype=np.float64, ensure_all_finite=allow)
        else:
            validate_data(self, X, reset=reset, skip_check_array=True)
            given = X
            seen = X if self.database is None or not self.database.times else known_frame(X, self.database.encode(X))
            if reset:
                self._encoder = MatrixEncoder(seen, self._not_looked_at(), self._nominal_columns())
            known = getattr(self, "_encoder", None)
            matrix = np.asarray(seen, dtype=np.float64) if known is None else known.matrix(seen)
        if reset:
            self._behind = self._tables_behind(given)
        checked = check_array(matrix, dtype=dtype, ensure_all_finite=allow, estimator=self)
        return Rows(given, np.ascontiguousarray(checked), self._behind)

    def _not_looked_at(self) -> frozenset[str]:
        """Keys, which name single things, and the cutoff, which tells the future nothing."""
        if self.database is None:
            return frozenset()
        table = self.database.tables[self.database.target.table]
        cutoff = set() if table.times is None else {table.times.name}
        return frozenset(column.name for column in table.keys) | cutoff

    def _nominal_columns(self) -> frozenset[str]:
        """Columns of the examples that are nominal whatever they spell."""
        if self.database is None:
            return frozenset()
        columns = self.database.tables[self.database.target.table].columns.values()
        return frozenset(column.name for column in columns if column.kind == "nominal")

    @property
    def _scale(self) -> Scale:
        return self.ensemble_ if "ensemble_" in self.__dict__ else self._votes

    def _scores(self, X: Any) -> Floats:
        check_is_fitted(self)
        return super()._scores(X) if "ensemble_" in self.__dict__ else self._votes.scores(self._rows(X))

    def _check_rules(self) -> None:
        super()._check_rules()
        if "ensemble_" not in self.__dict__:
            blame = f"the base learner {type(self._base_learner()).__name__}"
            if self._learns_clauses:
                blame = "prior knowledge that is no clause"
            raise ModelError(
                f"this {type(self).__name__} was fitted with {blame}, so its model is no set of rules; "
                "fit it with base='clause' and clauses only."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = self._learns_clauses or get_tags(self._base_learner()).input_tags.allow_nan
        return tags
