"""AdaBoost.M1 (Freund and Schapire 1997; Scholz 2005, figure 1)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

import numpy as np

from hornboost import exact
from hornboost.boosting.lift import joint_weights
from hornboost.estimators.base_learner import BaseLearnerBooster
from hornboost.estimators.examples import Training
from hornboost.estimators.run import Loop, Run
from hornboost.learners.hypotheses import OneCell
from hornboost.model.votes import Round, Vote


@dataclass(eq=False, repr=False, kw_only=True)
class AdaBoostM1Classifier(BaseLearnerBooster):
    """AdaBoost.M1 (Freund and Schapire 1997), for comparison with `KBSClassifier` on the same base learners.

    `predict_proba` reads the votes as logarithms of odds; AdaBoost.M1 itself gives no probabilities, and these are not
    calibrated.

    An integer sample weight is the same as a repetition for clauses and stumps, but not for base learners that count
    rows (the "tree" does: two in each leaf) or are trained on rejection samples.

    Parameters
    ----------
    base : {"clause", "stump", "tree"}, classifier or None
        What is boosted: "stump" is a decision stump, "tree" a decision tree pruned as C4.5 does, "clause" the clause
        with the largest WRAcc in size; or any classifier of scikit-learn. One whose `fit` takes no `sample_weight` is
        trained on rejection samples. None is "clause" when there is a database, otherwise "stump".
    database, rounds, max_literals, max_depth, early_stopping, class_weight, time_limit, checkpoint, …
        As in every `Booster`. Boosting ends before a hypothesis with an error of ½ or more, and after one without
        error.

    Attributes
    ----------
    history_ : DataFrame
        A row a round: cells, error, vote, seconds.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> AdaBoostM1Classifier(random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """

    history_columns = ("cells", "error", "vote")

    def _boost(self, training: Training, run: Run) -> Loop:
        """Figure 1; a hypothesis with ε = 0 votes as if it had erred on half an example."""
        X, y, n_classes = training.rows, training.y, len(training.labels)
        learner = self._learner(training, run, leaves=False)
        distribution = training.weights / exact.total(training.weights)
        for number in count(1):
            hypothesis = learner.fit(X, y, distribution, number)
            cells, predicted = hypothesis.cells(X), hypothesis.predicted
            if predicted is None or training.pseudo_weight:
                joint = joint_weights(cells, y, distribution, hypothesis.n_cells, n_classes)
                predicted = (joint + training.pseudo_weight * joint.sum(axis=0)).argmax(axis=1)
            correct = predicted[cells] == y
            error = exact.total(distribution[~correct])
            if error >= 0.5:
                return "the base learner errs on half of the weight or more"
            beta = max(error, 0.5 / training.size if error == 0 else 0.0) / (1.0 - error)
            vote = -exact.log(beta)
            yield Round(
                (Vote(hypothesis, vote * np.eye(n_classes)[predicted]),),
                {"cells": hypothesis.n_cells, "error": error, "vote": vote},
            )
            if error == 0:
                return "a hypothesis without error on the training examples"
            distribution = np.where(correct, distribution * beta, distribution)
            distribution /= exact.total(distribution)
        raise AssertionError("unreachable")

    def _closing(self, training: Training, run: Run) -> list[Round]:
        """Without any round the majority class has the only vote."""
        if run.rounds:
            return []
        majority = int(np.bincount(training.y, weights=training.weights).argmax())
        return [Round((Vote(OneCell(majority), np.eye(len(training.labels))[[majority]]),))]
