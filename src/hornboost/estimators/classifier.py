"""What every classifier with a rule ensemble offers: classes, decisions, probabilities, and its rules as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from hornboost.estimators.examples import class_text
from hornboost.estimators.relational import RelationalModel

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


class RelationalClassifier(ClassifierMixin, RelationalModel):  # type: ignore[misc]
    """A classifier whose model is an `Ensemble`; a subclass has `database` and sets `ensemble_` in `fit`."""

    classes_: NDArray[Any]

    def decision_function(self, X: Any) -> Floats:
        """Score the examples: for two classes positive for `classes_[1]`, otherwise with one column per class."""
        scores = self._scores(X)
        return self._scale.decision(scores)

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of the classes, in the order of `classes_`."""
        scores = self._scores(X)
        return self._scale.probabilities(scores)

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each example."""
        scores = self._scores(X)
        return np.asarray(self.classes_[self._scale.choices(scores)])

    @property
    def positive_(self) -> Any:
        """The class of `classes_` that explanations, SQL, files and reports speak of.

        The stated positive one of two, or the second.

        `decision_function` and `predict_proba` keep to scikit-learn's order of the classes, whichever is positive.
        """
        check_is_fitted(self, "classes_")
        database = getattr(self, "_database", self.database)
        named = None if database is None else database.target.positive
        texts = [class_text(value) for value in self.classes_]
        return self.classes_[texts.index(named) if named in texts else -1] if len(texts) <= 2 else None

    def rules_frame(self) -> pd.DataFrame:
        """Return the rules as a table: text, confidence, coverage by class, precision, number of literals, origin.

        Where rows have times, `attrs["what counts"]` says which count.
        """
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
        return self._with_times(pd.DataFrame(rows, columns=columns))
