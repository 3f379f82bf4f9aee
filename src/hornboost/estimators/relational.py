"""What every relational estimator shares: examples in (frames, arrays, a database behind them), an additive rule ensemble out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import narwhals.dependencies as frames
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, column_or_1d, validate_data

from hornboost.data import Database
from hornboost.data.frames import arrow_columns, eager
from hornboost.data.table import Table
from hornboost.engine import Engine
from hornboost.engine.sampling import category_hashes, content_hash
from hornboost.errors import DataError
from hornboost.estimators.classes import check_classes
from hornboost.estimators.exports import RuleExports
from hornboost.estimators.weights import checked_weights, class_weighted
from hornboost.model.ensemble import Ensemble, Rule
from hornboost.model.rule_list import Rules
from hornboost.search.problem import Problem

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


class RelationalExamples(BaseEstimator):  # type: ignore[misc]
    """An estimator that takes examples with a database behind them; a subclass has the parameter `database`.

    With `database=None` the rows of X are the only table, and every scikit-learn convention for arrays and frames holds.
    """

    database: Database | None

    def _problem(self, X: Any, y: Any, sample_weight: Any, **engine: Any) -> Problem:
        """Check and encode the training examples; those of weight 0 are left out as if they had not been given."""
        if y is None:
            raise ValueError(
                f"requires y to be passed, but the target y is None; give {type(self).__name__}.fit the classes of the examples."
            )
        X = self._checked(X, reset=True)
        labels = column_or_1d(y, warn=True)
        check_classes(labels, self)
        n = len(X)
        if len(labels) != n:
            raise DataError(f"X has {n} rows and y has {len(labels)}; they must have the same number.")
        weights = checked_weights(sample_weight, n)
        counted = np.flatnonzero(weights > 0)
        if counted.size < n:
            X, labels, weights = _take(X, counted), labels[counted], weights[counted]
        weights = class_weighted(weights, getattr(self, "class_weight", None), labels)
        self.classes_, classes = np.unique(labels, return_inverse=True)
        self._database = Database.from_single(X) if self.database is None else self.database
        examples = self._database.encode(X)
        return Problem(
            self._database,
            examples,
            classes.astype(np.int32),
            tuple(class_text(value) for value in self.classes_),
            weights,
            row_content(X, examples),
            self._database.target.label or "class",
            Engine(self._database, examples, **engine),
        )

    def _validate_params(self) -> None:
        super()._validate_params()
        check_database(self.database, optional=True)

    def _checked(self, X: Any, *, reset: bool) -> Any:
        """X as a frame, or as an array of numbers, with its columns checked against those of `fit`."""
        if frames.is_into_dataframe(X):
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        if self.database is not None:
            raise DataError(
                f"with a database X must be a data frame with the columns of table '{self.database.target.table}'; got {type(X).__name__}"
            )
        return validate_data(self, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan")

    def _encoded(self, X: Any) -> Table:
        """The rows of X as the root of the model's clauses."""
        return self._database.encode(self._checked(X, reset=False))


class RelationalClassifier(ClassifierMixin, RelationalExamples, RuleExports):  # type: ignore[misc]
    """A classifier whose model is an `Ensemble`; a subclass has `database`, `random_state` and sets `ensemble_` in `fit`."""

    ensemble_: Ensemble

    def _scores(self, X: Any) -> Floats:
        check_is_fitted(self, "ensemble_")
        return self.ensemble_.scores(self._database, self._encoded(X))

    def decision_function(self, X: Any) -> Floats:
        """The score of each example: for two classes positive for `classes_[1]`, otherwise one column a class."""
        scores = self._scores(X)
        return self.ensemble_.decision(scores)

    def predict_proba(self, X: Any) -> Floats:
        """Class probabilities, in the order of `classes_`."""
        scores = self._scores(X)
        return self.ensemble_.probabilities(scores)

    def predict(self, X: Any) -> NDArray[Any]:
        """The class of each example."""
        scores = self._scores(X)
        return np.asarray(self.classes_[self.ensemble_.choices(scores)])

    @property
    def rules_(self) -> list[Rule]:
        """The learned rules, equal clauses merged, in the order in which they were first found."""
        check_is_fitted(self, "ensemble_")
        return Rules(self.ensemble_.rules, self.ensemble_.classes)

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._rules_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """What a notebook shows: scikit-learn's box, and the rules below it once there are some."""
        shown: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in shown:
            shown["text/html"] += self._rules_html()
        return shown

    def _rules_html(self) -> str:
        return Rules(self.ensemble_.rules, self.ensemble_.classes)._repr_html_() if "ensemble_" in self.__dict__ else ""

    def rules_frame(self) -> pd.DataFrame:
        """The rules as a table: text, confidence, coverage by class, precision, number of literals, origin."""
        import pandas as pd

        classes = self.ensemble_.classes if hasattr(self, "ensemble_") else ()
        rows = []
        for rule in self.rules_:
            covered = dict(zip(classes, rule.coverage, strict=False))
            total = sum(rule.coverage)
            row: dict[str, Any] = {"rule": str(rule.clause), "confidence": rule.confidence(classes)}
            row |= {f"covered {name}": value for name, value in covered.items()}
            row["precision"] = covered.get(rule.clause.head.value, 0.0) / total if total else float("nan")
            row["literals"] = rule.clause.length
            row["origin"] = rule.origin
            rows.append(row)
        columns = ["rule", "confidence", *(f"covered {name}" for name in classes), "precision", "literals", "origin"]
        return pd.DataFrame(rows, columns=columns)

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def check_database(database: Any, *, optional: bool) -> None:
    """Refuse, as a parameter, what is no `Database`."""
    if not isinstance(database, Database) and not (optional and database is None):
        wanted = "pass a hornboost.Database" + (" or None" if optional else "")
        raise DataError(f"the parameter 'database' is of type '{type(database).__name__}'; {wanted}")


def row_content(X: Any, examples: Table) -> NDArray[np.uint64]:
    """A hash of each row of a frame or array, whatever its position; `examples` are the same rows encoded.

    A nominal column is hashed by its few categories, so that the cost does not grow with the length of the texts.
    """
    if isinstance(X, np.ndarray):
        return content_hash(X)
    frame = eager(X)
    encoded = {name: examples.columns.get(str(name)) for name in frame.columns}
    others = [name for name, column in encoded.items() if column is None or column.kind == "key" or column.is_date]
    raw = arrow_columns(frame.select(others).to_native()) if others else {}
    columns = []
    for name, column in encoded.items():
        if str(name) in raw or column is None:
            columns.append(raw[str(name)].to_numpy())
        elif column.kind == "numeric":
            columns.append(column.numbers)
        else:
            assert column.categories is not None
            columns.append(category_hashes(column.categories)[column.codes].astype(np.float64))
    return content_hash(columns)


def _take(X: Any, rows: NDArray[np.intp]) -> Any:
    from sklearn.utils import _safe_indexing

    return _safe_indexing(X, rows)


def class_text(value: Any) -> str:
    """A class value as the text that rules and models show."""
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)
