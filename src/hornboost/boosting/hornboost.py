"""HornBoost: gradient boosting of clauses for classes and for numbers."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any, ClassVar
from typing import Literal as Choice

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from hornboost import exact
from hornboost.boosting.gradient import GradientBooster
from hornboost.errors import DataError
from hornboost.estimators.boosted import BoostedClassifier
from hornboost.estimators.boosted_numbers import BoostedRegressor
from hornboost.estimators.examples import Targets, Training
from hornboost.learners.hypotheses import Floats
from hornboost.learners.losses import Absolute, Loss, Poisson, Quantile, Squared, loss_of
from hornboost.learners.problem import Problem
from hornboost.logic.clause import Head
from hornboost.logic.text import in_few_digits
from hornboost.model.numbers import CountUnits, Units
from hornboost.model.scale import Link
from hornboost.model.votes import favoured

SMALL = 0.2
"""Errors count in proportion below this share of the mean one before the first round, in losses without curvature."""


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
    constants : "auto", bool or sequence of str
        Kinds of keys whose values rules may name, as in `product="p17"`. True takes those that recur in many examples,
        and never those that examples are known by; "auto" does so if that helps.
    corrective : bool or "auto"
        Whether the votes of all rules are fitted again with each new rule: a few rules then say what otherwise takes
        many. "auto" does so if it clearly helps, and not where `rounds` are given.
    max_rules : int or None
        Rules at most. The number that is best on held-out examples is taken, up to this one.
    learning_rate : float or "auto"
        The share of a Newton step that a rule takes; "auto" is 0.3, or 0.15 with a `subsample` below 1.
    l2 : float
        λ, added to the curvature of each cell: the larger, the smaller the votes of cells with few examples. Of classes
        that rules nearly separate, it fades with the curvature.
    subsample : float
        The share of the examples, drawn anew each round by a hash of their content, that a rule is grown on.
    min_gain : float or "auto"
        What each condition of a rule but the first must add to its gain, in times of what one that says nothing adds by
        chance: 0 takes all that add anything, 4 those that a test at the level of 5 % takes. "auto" is 4, or 0 if that
        clearly helps or `rounds` are given.
    aggregates : bool, "auto" or list of str
        Whether rules may look at aggregates of the rows that an example reaches over foreign keys, such as
        `mean(trans.amount)>=3000`; "auto" chooses. A list names the functions: "count", "share", "mean", "sum", "std",
        "min", "max", "distinct", "mode", "mode_share", "last" (of rows that have a time).
    negations : bool or "auto"
        Whether rules may exclude single values of the example's own nominal columns, as in `housing!="rent"`. "auto"
        does so if it clearly helps, and not where `rounds` are given.
    groups : str or list of str
        Columns of X whose values are held out whole while settings are tried, such as a customer with several orders:
        what is chosen is then best for customers that were not seen. With several columns, as of pairs of things, an
        example is held out with any of its values.
    database, early_stopping, class_weight, time_limit, checkpoint, …
        As in every `Booster`.

    Attributes
    ----------
    tuning_ : DataFrame
        What was tried: a row for each setting with its best number of rounds, the held-out loss there, that of the
        best setting before (`beside`; of one that was given up, on the same folds after as many rounds), and whether
        it was chosen. Empty where nothing was left to choose.
    path_ : DataFrame
        A row a round: rules and conditions so far, the loss on the training examples, and on held-out ones as far as
        settings were tried on them.
    n_conditions_ : int
        Conditions in all rules together.
    left_out_ : dict
        Aggregates and paths that were not computed, joins that lead to far too many rows, and kinds of keys that rules
        do not name, with the reason.
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

    def _head(self, problem: Problem, table: Floats) -> Head:
        return Head(problem.label, problem.labels[favoured(table)])

    def _loss_of(self, training: Training) -> Loss:
        return loss_of(len(training.labels))

    def _nothing_to_learn(self, y: Targets) -> str | None:
        return "there is one class only" if np.unique(y).size == 1 else None

    def _to_hold_out(self, training: Training, part: NDArray[np.bool_]) -> NDArray[np.bool_]:
        others = np.bincount(training.y[~part], minlength=len(training.labels))
        return part & (others[training.y] > 0)


@dataclass(eq=False, repr=False, kw_only=True)
class HornBoostRegressor(GradientBooster, BoostedRegressor):
    """Gradient boosting of first-order rules that predict a number.

    A round grows the clause whose two cells, covered and not covered, gain most by a step down the loss. A prediction
    is a base value and what each rule adds to it (`spend += 3.2 :- …`); of counts, a base value that each rule
    multiplies (`claims *= 1.3 :- …`). It tunes itself as `HornBoostClassifier` does.

    Parameters
    ----------
    loss : {"squared", "absolute", "quantile", "poisson"}
        What is predicted: the mean, the median, a quantile, or the mean of counts, whose logarithm is then boosted.
    quantile : float
        The share of labels that should lie below the prediction, with `loss="quantile"`.
    rounds, max_literals, max_depth, constants, aggregates, negations, min_gain, corrective, max_rules, groups
        As in `HornBoostClassifier`.
    learning_rate, l2, subsample
        As in `HornBoostClassifier`.
    database, early_stopping, time_limit, checkpoint, …
        As in every `Booster`.

    Attributes
    ----------
    tuning_ : DataFrame
        What was tried: a row for each setting with its best number of rounds, the held-out loss there, that of the
        best setting before (`beside`; of one that was given up, on the same folds after as many rounds), and whether
        it was chosen. Empty where nothing was left to choose.
    path_, n_conditions_, left_out_
        As in `HornBoostClassifier`.
    history_ : DataFrame
        A row a round: rule, training loss (squared error, absolute error, pinball loss or Poisson deviance), seconds.

    Examples
    --------
    >>> import hornboost as hb
    >>> db = hb.datasets.spending(300, noise=0.0, seed=1).database()
    >>> X, y = db.examples()
    >>> reg = hb.HornBoostRegressor(db, rounds=40, max_literals=1, random_state=0).fit(X, y)
    >>> print(reg.rules_[0].clause.head.label, reg.rules_[0].clause.root.table)
    spend customer
    >>> bool(reg.score(X, y) > 0.8)
    True
    """

    loss: Choice["squared", "absolute", "quantile", "poisson"] = "squared"
    quantile: float = 0.5

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **GradientBooster._parameter_constraints,
        "loss": [StrOptions({"squared", "absolute", "quantile", "poisson"})],
        "quantile": [Interval(Real, 0, 1, closed="neither")],
    }

    def _link(self) -> Link:
        return "log" if self.loss == "poisson" else "identity"

    def _units_of(self, y: Floats, weights: Floats) -> Units:
        if self.loss == "poisson":
            _check_counts(y)
            return CountUnits.of_events(y, weights)
        return Units.of(y, float(self._loss_in(1.0).start(y, weights)[0]))

    def _loss_of(self, training: Training) -> Loss:
        if isinstance(self._units, CountUnits):
            return self._loss_in(self._units.event)
        spread = exact.total(training.weights * np.abs(training.y)) / exact.total(training.weights)
        return self._loss_in(self._units.unit, SMALL * spread)

    def _loss_in(self, unit: float, small: float = 0.0) -> Loss:
        if self.loss == "poisson":
            return Poisson(unit)
        if self.loss == "quantile":
            return Quantile(float(self.quantile), unit, small)
        return Absolute(unit, small) if self.loss == "absolute" else Squared(unit)

    def _known(self, labels: NDArray[Any]) -> Targets:
        known = super()._known(labels)
        if self.loss == "poisson" and (known < 0).any():
            raise DataError("eval_set: loss='poisson' is for counts, and y holds some below 0; leave these rows out.")
        return known

    def _head(self, problem: Problem, table: Floats) -> Head:
        vote = float(table[1, 0] - table[0, 0])
        if self.loss == "poisson":
            return Head(problem.label, in_few_digits(exact.exp(vote)), "*=")
        return Head(problem.label, in_few_digits(vote * self._units.unit), "+=")

    def _nothing_to_learn(self, y: Targets) -> str | None:
        return "all labels are equal" if (y == y[0]).all() else None

    def _to_hold_out(self, training: Training, part: NDArray[np.bool_]) -> NDArray[np.bool_]:
        return part if self.loss != "poisson" or training.y[~part].any() else np.zeros_like(part)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = self.loss == "poisson"
        return tags

    def _idle_parameters(self) -> frozenset[str]:
        return super()._idle_parameters() | ({"quantile"} if self.loss != "quantile" else set())


def _check_counts(y: Floats) -> None:
    if (y < 0).any():
        raise DataError(f"loss='poisson' is for counts, and y holds {y.min():g}; take another loss, or y >= 0.")
    if not y.any():
        raise DataError("loss='poisson' is for counts, and all of them are 0; there is nothing to predict.")
