"""HornBoost: gradient boosting of clauses for classes and for numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hornboost.boosting.gradient import GradientBooster
from hornboost.estimators.boosted import BoostedClassifier
from hornboost.estimators.examples import Targets, Training
from hornboost.learners.losses import Loss, loss_of


@dataclass(eq=False, repr=False, kw_only=True)
class HornBoostClassifier(GradientBooster, BoostedClassifier):
    """Gradient boosting of first-order rules that chooses its own settings.

    A round grows the clause whose two cells, covered and not covered, gain most by a Newton step down the log-loss;
    each cell votes, for either side. With several classes one clause votes for all of them. By default the number of
    rounds, the length of clauses, how far they reach and whether they may name things that recur in many examples are
    chosen by cross-validation inside the training examples while these are few, and on a held-out fifth when they are
    many; then all examples are used.

    Parameters
    ----------
    rounds : int or "auto"
        Rounds of boosting; "auto" chooses.
    max_literals : int or "auto"
        Refinements of a clause at most; "auto" chooses among 1, 2, 3 and 5.
    max_depth : int or "auto"
        Joins between an example and a row that a rule may look at; "auto" chooses between 2 and the farthest table,
        which is at most 4 joins away.
    constants : "auto", sequence of str or None
        Kinds of keys whose values rules may name, as in `product="p17"`. "auto" takes those that recur in many examples
        if that helps, and never those that examples are known by.
    learning_rate : float
        The share of a Newton step that a rule takes.
    l2 : float
        λ, added to the curvature of each cell: the larger, the smaller the votes of cells with few examples.
    subsample : float
        The share of the examples, drawn anew each round by a hash of their content, that a rule is grown on.
    database, early_stopping, class_weight, time_limit, checkpoint, …
        As in every `Booster`.

    Attributes
    ----------
    tuning_ : DataFrame
        What was tried: a row for each setting with its best number of rounds, the held-out loss there, and whether it
        was chosen. Empty where nothing was left to choose.
    history_ : DataFrame
        A row a round: rule, gain in the training loss, seconds.

    Examples
    --------
    >>> import hornboost as hb
    >>> db = hb.datasets.trains(200, seed=1).database()
    >>> X, y = db.examples()
    >>> clf = hb.HornBoostClassifier(db, random_state=0).fit(X, y)
    >>> bool(clf.score(X, y) > 0.95), int(clf.tuning_["chosen"].sum())
    (True, 1)
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BoostedClassifier._parameter_constraints,
        **GradientBooster._parameter_constraints,
    }

    def _loss_of(self, training: Training) -> Loss:
        return loss_of(len(training.labels))

    def _nothing_to_learn(self, y: Targets) -> str | None:
        return "there is one class only" if np.unique(y).size == 1 else None

    def _is_a_sample(self, training: Training, part: NDArray[np.bool_]) -> bool:
        return np.unique(training.y[part]).size == len(training.labels)
