"""One fit of C²RIB and its test: plain, or with options chosen by a cross-validation inside the training examples."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hornboost.experiments.domains import DOMAINS, Examples, by_compound, examples, splits
from hornboost.experiments.protocol import Result

if TYPE_CHECKING:
    import pandas as pd

Positions = NDArray[np.intp]
Settings = Mapping[str, Any]
"""Parameters of `C2RIBClassifier`; `aggregates` are those of `RelationalAggregates`."""


def fit_and_test(data: Path, *, domain: str, task: str | None, seed: int, fold: int, settings: Settings) -> Result:
    """Accuracy, AUC, features asked for, clauses scored, and seconds of `fit`: of the process, so that other work does not count."""
    loaded = examples(data, domain, task)
    train, test = splits(domain, loaded, seed)[fold]
    started = time.process_time()
    model = _fitted(loaded, loaded.X, seed, settings, train)
    seconds = time.process_time() - started
    return _tested(model, loaded.X, loaded.y, test) | {"seconds": seconds}


def choose_fit_and_test(
    data: Path, *, domain: str, task: str | None, seed: int, fold: int, grid: Mapping[str, Settings], inner: int
) -> Result:
    """The same with the settings of the grid that do best in `inner` folds of the training examples.

    Best is the smallest squared error of the predicted probabilities, which wavers less than the accuracy of a few examples.
    """
    loaded = examples(data, domain, task)
    train, test = splits(domain, loaded, seed)[fold]
    parts = _inner_folds(loaded, domain, train, seed, inner)
    started = time.process_time()
    frames = {name: _frame(loaded, train, settings) for name, settings in grid.items()}
    errors = {
        name: fmean(
            _squared_error(_fitted(loaded, frames[name], seed, settings, first), frames[name], loaded.y, second) for first, second in parts
        )
        for name, settings in grid.items()
    }
    chosen = min(errors, key=lambda name: errors[name])
    choosing = time.process_time() - started
    started = time.process_time()
    model = _fitted(loaded, frames[chosen], seed, grid[chosen], train)
    seconds = time.process_time() - started
    return _tested(model, frames[chosen], loaded.y, test) | {"seconds": seconds, "choosing": choosing, "chosen": chosen}


def _frame(loaded: Examples, train: Positions, settings: Settings) -> pd.DataFrame:
    """The examples with the aggregates that the settings name; what those depend on is taken from the training examples."""
    from hornboost.estimators.aggregates import RelationalAggregates

    if "aggregates" not in settings:
        return loaded.X
    aggregates = RelationalAggregates(loaded.database, **settings["aggregates"]).fit(loaded.X.iloc[train])
    return aggregates.transform(loaded.X)


def _fitted(loaded: Examples, X: pd.DataFrame, seed: int, settings: Settings, train: Positions) -> Any:
    from hornboost.estimators.c2rib import C2RIBClassifier

    options = {name: value for name, value in settings.items() if name != "aggregates"}
    return C2RIBClassifier(loaded.database, random_state=seed, **options).fit(X.iloc[train], loaded.y[train])


def _tested(model: Any, X: pd.DataFrame, y: NDArray[Any], test: Positions) -> Result:
    from sklearn.metrics import roc_auc_score

    history = model.history_
    is_second = y[test] == model.classes_[1]
    auc = float(roc_auc_score(is_second, model.decision_function(X.iloc[test]))) if 0 < is_second.sum() < len(test) else None
    requested = float(history["requested"].iloc[-1]) if "requested" in history else None
    right = model.predict(X.iloc[test]) == y[test]
    scored = int(history["clauses_scored"].sum())
    return {"accuracy": 100.0 * float(np.mean(right)), "auc": auc, "features": requested, "scored": scored, "n_test": len(test)}


def _squared_error(model: Any, X: pd.DataFrame, y: NDArray[Any], test: Positions) -> float:
    is_second = y[test] == model.classes_[1]
    return float(np.mean((model.predict_proba(X.iloc[test])[:, 1] - is_second) ** 2))


def _inner_folds(loaded: Examples, domain: str, train: Positions, seed: int, inner: int) -> list[tuple[Positions, Positions]]:
    """Folds of the training examples, made as the outer ones are: by compound where those are."""
    from sklearn.model_selection import StratifiedKFold

    if DOMAINS[domain].splits == "compounds":
        return [(train[first], train[second]) for first, second in by_compound(loaded, loaded.X.iloc[train], inner, seed)]
    folds = StratifiedKFold(inner, shuffle=True, random_state=seed).split(train, loaded.y[train])
    return [(train[first], train[second]) for first, second in folds]
