"""How good the learned model is on examples that training did not see.

Cross-validation on a bounded number of examples.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import signature
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hornboost.errors import DataError, HornBoostError, ModelError
from hornboost.report.text import name

Evaluated = TypeVar("Evaluated")
Floats = NDArray[np.float64]
Folds = list[tuple[NDArray[np.intp], NDArray[np.intp]]]


@dataclass(frozen=True, eq=False)
class Evaluation:
    """Out-of-fold probabilities of some examples, and what they say fold by fold.

    `truth` are positions in `classes`, `fold` the fold in which an example was predicted; `n_all` counts the examples
    there are. `histories` are those of the fits of a ranking booster, with the held-out area of each round.
    """

    classes: tuple[str, ...]
    positive: int
    truth: NDArray[np.intp]
    probabilities: Floats
    fold: NDArray[np.intp]
    n_all: int
    folds: str
    histories: tuple[list[dict[str, Any]], ...] = ()

    @property
    def n_folds(self) -> int:
        return int(self.fold.max()) + 1

    @property
    def is_binary(self) -> bool:
        return len(self.classes) == 2

    @property
    def baseline(self) -> float:
        """The accuracy of always saying the most frequent class."""
        return float(np.bincount(self.truth).max() / len(self.truth))

    def metrics(self) -> dict[str, list[float]]:
        """Each metric on each fold; NaN where a fold has one class only."""
        rows: dict[str, list[float]] = {}
        for k in range(self.n_folds):
            part = self.fold == k
            for metric, value in _fold_metrics(self.truth[part], self.probabilities[part], self.positive).items():
                rows.setdefault(metric, []).append(value)
        return rows

    def confusion(self) -> NDArray[np.int64]:
        """Rows are true classes, columns predicted ones."""
        k = len(self.classes)
        predicted = self.probabilities.argmax(axis=1)
        return np.bincount(self.truth * k + predicted, minlength=k * k).reshape(k, k)


def cross_validate(
    estimator: Any,
    X: Any,
    y: Any,
    folds: Folds,
    *,
    positive: str | None,
    what: str,
    on_fold: Callable[[int, int], None] | None = None,
) -> Evaluation:
    """Fit a clone of the estimator on the training part of each fold and predict its test part."""
    from sklearn.base import clone
    from sklearn.utils import _safe_indexing

    labels = np.asarray(y)
    classes, truth = np.unique(labels, return_inverse=True)
    texts = tuple(str(value) for value in classes)
    place = texts.index(positive) if positive in texts else len(texts) - 1
    rows, probabilities, fold, histories = [], [], [], []
    for k, (train, test) in enumerate(folds):
        if on_fold is not None:
            on_fold(k, len(folds))
        X_test, fitted = _safe_indexing(X, test), clone(estimator)
        ranks = "eval_set" in signature(fitted.fit).parameters and set(labels[train]) <= set(labels[test])
        fitted.fit(_safe_indexing(X, train), labels[train], **({"eval_set": (X_test, labels[test])} if ranks else {}))
        if ranks:
            histories.append(fitted.history_.to_dict("records"))
        found = np.zeros((len(test), len(classes)))
        found[:, np.searchsorted(classes, fitted.classes_)] = fitted.predict_proba(X_test)
        rows.append(test)
        probabilities.append(found)
        fold.append(np.full(len(test), k))
    at = np.concatenate(rows)
    return Evaluation(
        texts,
        place,
        truth[at],
        np.concatenate(probabilities),
        np.concatenate(fold),
        len(labels),
        what,
        tuple(histories),
    )


def stratified_folds(y: Any, k: int, most: int, seed: int = 0) -> Folds:
    """`k` folds over at most `most` examples, with the shares of the classes kept; positions in all of y."""
    from sklearn.model_selection import StratifiedKFold

    if k < 2:
        raise ModelError(f"a cross-validation needs at least two folds, and 'cv' is {k}; give 2 or more, or 0 for none")
    labels = np.unique(np.asarray(y), return_inverse=True)[1]
    kept = _sample(labels, most, seed)
    smallest = int(np.bincount(labels[kept]).min())
    if smallest < 2:
        raise ModelError(
            "a class has fewer than two examples, so nothing can be held out; report without cross-validation (--cv 0)"
        )
    splitter = StratifiedKFold(min(k, smallest), shuffle=True, random_state=seed)
    return [(kept[train], kept[test]) for train, test in splitter.split(kept, labels[kept])]


@dataclass(frozen=True)
class WantedFolds:
    """The folds that a user asks for: a number of them, the name of known ones, or their parts; 0 for none."""

    cv: Any = 5
    groups: str | None = None

    @property
    def is_none(self) -> bool:
        return isinstance(self.cv, int) and self.cv == 0

    def found(self, database: Any, n: int, most: int, at_random: Callable[[int], Folds]) -> Folds:
        """The folds, over at most so many of n examples."""
        if isinstance(self.cv, list | tuple):
            return bounded_folds([(np.asarray(train), np.asarray(test)) for train, test in self.cv], most)
        if isinstance(self.cv, int) and self.groups is None:
            return at_random(self.cv)
        if n != len(database.example_rows):
            raise DataError("folds by name or by group are of the database's own examples; pass those of examples()")
        asked = {"groups": self.groups, "n_splits": self.cv} if self.groups is not None else {"name": self.cv}
        return bounded_folds(database.folds(**asked), most)

    def said(self, n: int, at_random: str) -> str:
        """What the page calls them."""
        if self.groups is not None:
            return f"{n} folds that keep each '{name(self.groups)}' together"
        if isinstance(self.cv, str):
            return f"the folds '{name(self.cv)}'"
        return f"{n} {at_random}" if isinstance(self.cv, int) else f"{n} given folds"


def bounded_folds(folds: Folds, most: int, seed: int = 0) -> Folds:
    """Named folds over at most `most` of their examples."""
    rng = np.random.default_rng(seed)
    largest = max([0, *(int(max(train.max(initial=0), test.max(initial=0))) for train, test in folds)]) + 1
    if largest <= most:
        return folds
    chosen = np.zeros(largest, np.bool_)
    chosen[rng.permutation(largest)[:most]] = True
    return [(train[chosen[train]], test[chosen[test]]) for train, test in folds]


def learner_of(model: Any, saved: Any) -> Any:
    """The estimator to fit again: the model itself, or one as the model of a file was fitted."""
    if not hasattr(model, "training_"):
        return model
    told = saved.training
    return refittable(told.get("estimator", "model"), dict(told.get("parameters", {})), model.database)


def refittable(estimator: str, parameters: dict[str, Any], database: Any) -> Any:
    """A new estimator with the name and parameters that a model file keeps."""
    import hornboost

    try:
        if not estimator.endswith(("Classifier", "Regressor")):
            raise TypeError("it is no classifier and no regressor")
        return getattr(hornboost, estimator)(database=database, **parameters)
    except (AttributeError, TypeError) as error:
        raise ModelError(f"this HornBoost cannot fit a {estimator} as the model was fitted ({error})") from None


def attempt(evaluate: Callable[[], Evaluated]) -> tuple[Evaluated | None, str]:
    """The evaluation, or the sentence that says why there is none."""
    from sklearn.utils._param_validation import InvalidParameterError

    try:
        return evaluate(), ""
    except (HornBoostError, InvalidParameterError) as error:
        return None, f"There is no cross-validation: {error}"


def reliability(
    probability: Floats, is_positive: NDArray[np.bool_], bins: int = 10
) -> list[tuple[float, float, float, float, int]]:
    """Equally filled bins: mean probability, share of positives, its 95 % interval (Wilson), and number of examples.

    >>> reliability(np.array([0.1, 0.1, 0.9, 0.9]), np.array([False, False, True, True]), 2)[1][:2]
    (0.9, 1.0)
    """
    order = np.argsort(probability, kind="stable")
    rows = []
    for part in np.array_split(order, min(bins, len(order))):
        n, share = len(part), float(is_positive[part].mean())
        z2 = 1.96**2 / n
        centre, half = (share + z2 / 2) / (1 + z2), 1.96 * np.sqrt((share * (1 - share) + z2 / 4) / n) / (1 + z2)
        low, high = min(max(0.0, float(centre - half)), share), max(min(1.0, float(centre + half)), share)
        rows.append((float(probability[part].mean()), share, low, high, n))
    return rows


def _sample(labels: NDArray[np.intp], most: int, seed: int) -> NDArray[np.intp]:
    """Positions of at most `most` examples, of each class its share."""
    if len(labels) <= most:
        return np.arange(len(labels))
    rng = np.random.default_rng(seed)
    parts = []
    for k, count in enumerate(np.bincount(labels)):
        kept = min(count, max(10, round(most * count / len(labels))))
        parts.append(rng.permutation(np.flatnonzero(labels == k))[:kept])
    return np.sort(np.concatenate(parts))


def _fold_metrics(truth: NDArray[np.intp], probabilities: Floats, positive: int) -> dict[str, float]:
    from sklearn.metrics import roc_auc_score

    from hornboost.metrics import aurpc

    found: dict[str, float] = {"accuracy": float((probabilities.argmax(axis=1) == truth).mean())}
    k = probabilities.shape[1]
    present = [c for c in range(k) if 0 < (truth == c).sum() < len(truth)]
    if k == 2:
        is_positive, p = truth == positive, probabilities[:, positive]
        found["ROC area"] = float(roc_auc_score(is_positive, p)) if present else float("nan")
        found["recall-precision area"] = aurpc(is_positive.astype(int), p) if is_positive.any() else float("nan")
    elif k > 2:
        areas = [roc_auc_score(truth == c, probabilities[:, c]) for c in present]
        found["ROC area"] = float(np.mean(areas)) if areas else float("nan")
    chosen = np.clip(probabilities[np.arange(len(truth)), truth], 1e-15, 1.0)
    found["log loss"] = float(-np.log(chosen).mean())
    found["Brier score"] = float(((probabilities - np.eye(k)[truth]) ** 2).sum(axis=1).mean() / (2 if k == 2 else 1))
    return found


def summary(values: Sequence[float]) -> tuple[float, float]:
    """Mean and standard deviation over folds."""
    known = np.array([value for value in values if value == value])
    if known.size == 0:
        return float("nan"), float("nan")
    return float(known.mean()), float(known.std(ddof=1)) if known.size > 1 else 0.0
