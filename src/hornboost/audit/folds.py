"""Folds at random against folds in time: what a model is good at only because it has seen the future."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hornboost.audit.examples import AuditedExamples, rows_frame
from hornboost.audit.finding import Finding
from hornboost.errors import DataError

FEWEST = 200
"""Examples below which folds say too little."""

_SPLITS = 3
_FAR = 0.05
_MOST = 20_000
"""Examples at most that are learned from."""

Parts = tuple[NDArray[np.intp], NDArray[np.intp]]


def folds_at_random(examples: AuditedExamples) -> Iterator[Finding]:
    """A finding where folds at random are far better than folds in time, with both figures.

    Each split in time has a random one beside it, of the same examples and the same sizes.
    """
    X, y = examples.database.examples()
    try:
        in_time = examples.database.folds(rolling=_SPLITS)
    except DataError:  # too few moments, or one class only before one of them
        return
    rng = np.random.default_rng(0)
    scores = []
    for split in in_time:
        train, test = (part if part.size <= _MOST else rng.choice(part, _MOST, replace=False) for part in split)
        together = rng.permutation(np.concatenate([train, test]))
        drawn = together[: train.size], together[train.size :]
        pair = [_score(examples, X, y, parts) for parts in (drawn, (train, test))]
        if None not in pair:
            scores.append(pair)
    if not scores:
        return
    at_random, later = (float(np.mean(column)) for column in zip(*scores, strict=True))
    gaps = [one - other for one, other in scores]  # type: ignore[operator]
    doubt = 2 * float(np.std(gaps)) / np.sqrt(len(gaps))
    if at_random - later < max(_FAR, doubt):
        return
    name = "R²" if examples.is_of_numbers else "area under the ROC curve"
    text = (
        f"the {name} is {at_random:.3f} by folds at random and {later:.3f} by folds in time: examples next to each "
        "other in time share more than new ones will, or what is true changes; judge models by splits in time, "
        "with db.folds(rolling=5) or hornboost evaluate --rolling 5"
    )
    target = examples.target
    order = np.argsort(examples.due.times.numbers if examples.due else examples.rows, kind="stable")
    ends = examples.rows[order[[0, order.size // 2, order.size - 1]]]
    shown = rows_frame(examples.database, target, ends)
    yield Finding("folds", target.name, text, shown)


def _score(examples: AuditedExamples, X: Any, y: Any, parts: Parts) -> float | None:
    """How a small model of rules does; None where a part has one class only."""
    from hornboost.boosting.hornboost import HornBoostClassifier, HornBoostRegressor

    train, test = parts
    given: dict[str, Any] = {"rounds": 40, "max_literals": 3, "max_depth": 2, "constants": False, "corrective": False}
    given |= {"database": examples.database, "aggregates": False, "random_state": 0}
    if examples.is_of_numbers:
        return float(HornBoostRegressor(**given).fit(X.iloc[train], y.iloc[train]).score(X.iloc[test], y.iloc[test]))
    labels = examples.y
    if np.unique(labels[train]).size < 2 or np.unique(labels[test]).size < 2:
        return None
    from sklearn.metrics import roc_auc_score

    fitted = HornBoostClassifier(**given).fit(X.iloc[train], y.iloc[train])
    chances, known = fitted.predict_proba(X.iloc[test]), [str(name) for name in fitted.classes_]
    areas = [
        roc_auc_score(labels[test] == name, chances[:, k])
        for k, name in enumerate(known)
        if 0 < np.sum(labels[test] == name) < test.size
    ]
    return float(np.mean(areas)) if areas else None
