"""What every regressor with a rule ensemble offers: predicted numbers, and its rules as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin

from hornboost.estimators.examples import Targets
from hornboost.estimators.numbers import checked_numbers
from hornboost.estimators.relational import RelationalModel
from hornboost.estimators.weights import checked_weights
from hornboost.model.influence import in_order

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


class RelationalRegressor(RegressorMixin, RelationalModel):  # type: ignore[misc]
    """A regressor whose model is an `Ensemble`; a subclass has `database` and sets `ensemble_` in `fit`."""

    _unnamed = "y"

    def predict(self, X: Any) -> Floats:
        """Predict the number of each example."""
        scores = self._scores(X)
        return self._scale.numbers(scores)

    def rules_frame(self, sort: str | None = None) -> pd.DataFrame:
        """Return the rules as a table.

        Text, vote, the weight of the training examples covered, the means of the labels covered and not covered, the
        number of literals, and the influence: the standard deviation of what a rule adds to the score of a training
        example. Where rows have times, `attrs["what counts"]` says which count.

        Parameters
        ----------
        sort : str or None
            A column of numbers to sort by, the largest in absolute value first, such as "influence"; None for the order
            in which the rules were found.
        """
        import pandas as pd

        rows = [
            (str(rule.clause), rule.votes[0], *rule.coverage, *rule.means, rule.clause.length, float(influence))
            for rule, influence in zip(self.rules_, self._influences(), strict=True)
        ]
        columns = ["rule", "vote", "covered", "mean", "mean of others", "literals", "influence"]
        return in_order(self._with_times(pd.DataFrame(rows, columns=columns)), sort)

    def _codes(self, targets: Targets) -> NDArray[np.intp]:
        return np.unique(targets, return_inverse=True)[1].astype(np.intp)

    def _labelled(self, n: int, y: Any, sample_weight: Any) -> tuple[NDArray[np.intp], Targets, Floats]:
        """Check labels and weights of n examples: which have a weight, their numbers, their weights."""
        numbers = checked_numbers(self._given_labels(n, y, "numbers"), self)
        weights = checked_weights(sample_weight, n)
        counted = np.flatnonzero(weights > 0)
        return counted, numbers[counted], weights[counted]
