"""What every classifier with a rule ensemble offers: classes, decisions, probabilities, and its rules as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from hornboost.estimators.examples import class_text
from hornboost.estimators.relational import RelationalModel
from hornboost.model.influence import in_order

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

    def rules_frame(self, sort: str | None = None) -> pd.DataFrame:
        """Return the rules as a table: text, confidence, coverage by class, precision, literals, influence, origin.

        The confidence is the vote for the class in the rule's head where it holds; `otherwise` where it does not.

        The influence is the standard deviation of what a rule adds to the score of a training example: a large vote
        for a handful of examples has little. Where rows have times, `attrs["what counts"]` says which count.

        Parameters
        ----------
        sort : str or None
            A column of numbers to sort by, the largest in absolute value first, such as "influence"; None for the order
            in which the rules were found.
        """
        import pandas as pd

        classes = self.ensemble_.classes if hasattr(self, "ensemble_") else ()
        rows = []
        for rule, influence in zip(self.rules_, self._influences(), strict=True):
            covered = dict(zip(classes, rule.coverage, strict=False))
            total = sum(rule.coverage)
            row: dict[str, Any] = {"rule": str(rule.clause), "confidence": rule.confidence(classes)}
            row["otherwise"] = rule.elsewhere(classes)
            row |= {f"covered {name}": value for name, value in covered.items()}
            row["precision"] = covered.get(rule.clause.head.value, 0.0) / total if total else float("nan")
            row["literals"] = rule.clause.length
            row |= {"influence": float(influence), "origin": rule.origin}
            rows.append(row)
        about = ["precision", "literals", "influence", "origin"]
        columns = ["rule", "confidence", "otherwise", *(f"covered {name}" for name in classes), *about]
        return in_order(self._with_times(pd.DataFrame(rows, columns=columns)), sort)
