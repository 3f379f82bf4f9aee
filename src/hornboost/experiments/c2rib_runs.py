"""One fit of C²RIB and its test: plain, or with options chosen by a cross-validation inside the training examples."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hornboost.experiments.domains import DOMAINS, Examples, examples, splits
from hornboost.experiments.protocol import Result

Settings = Mapping[str, Any]


def fit_and_test(data: Path, *, domain: str, task: str | None, seed: int, fold: int, settings: Settings) -> Result:
    """Accuracy, AUC, seconds of `fit` (of the process, so that other work on the machine does not count) and features asked for."""
    loaded = examples(data, domain, task)
    train, test = splits(domain, loaded, seed)[fold]
    started = time.process_time()
    model = estimator(loaded, seed, settings).fit(loaded.X.iloc[train], loaded.y[train])
    seconds = time.process_time() - started
    return _tested(model, loaded, test) | {"seconds": seconds}


def choose_fit_and_test(
    data: Path, *, domain: str, task: str | None, seed: int, fold: int, grid: Mapping[str, Settings], inner: int
) -> Result:
    """The same with the settings of the grid that do best in `inner` folds of the training examples; of equals the first."""
    loaded = examples(data, domain, task)
    train, test = splits(domain, loaded, seed)[fold]
    parts = _inner_folds(loaded, domain, train, seed, inner)
    started = time.process_time()
    scores = {name: fmean(_accuracy(loaded, seed, settings, *part) for part in parts) for name, settings in grid.items()}
    chosen = max(scores, key=lambda name: round(scores[name], 9))
    choosing = time.process_time() - started
    started = time.process_time()
    model = estimator(loaded, seed, grid[chosen]).fit(loaded.X.iloc[train], loaded.y[train])
    seconds = time.process_time() - started
    return _tested(model, loaded, test) | {"seconds": seconds, "choosing": choosing, "chosen": chosen}


def estimator(loaded: Examples, seed: int, settings: Settings) -> Any:
    """A `C2RIBClassifier` with these settings, behind `RelationalAggregates` if they name some."""
    from sklearn.pipeline import make_pipeline

    from hornboost.estimators.aggregates import RelationalAggregates
    from hornboost.estimators.c2rib import C2RIBClassifier

    options = dict(settings)
    aggregates = options.pop("aggregates", None)
    classifier = C2RIBClassifier(loaded.database, random_state=seed, **options)
    return classifier if aggregates is None else make_pipeline(RelationalAggregates(loaded.database, **aggregates), classifier)


def _tested(model: Any, loaded: Examples, test: NDArray[np.intp]) -> Result:
    from sklearn.metrics import roc_auc_score

    X, y = loaded.X.iloc[test], loaded.y[test]
    classifier = model[-1] if hasattr(model, "steps") else model
    history = classifier.history_
    is_second = y == classifier.classes_[1]
    auc = float(roc_auc_score(is_second, model.decision_function(X))) if 0 < is_second.sum() < len(y) else None
    requested = float(history["requested"].iloc[-1]) if "requested" in history else None
    return {"accuracy": 100.0 * float(np.mean(model.predict(X) == y)), "auc": auc, "features": requested, "n_test": len(test)}


def _accuracy(loaded: Examples, seed: int, settings: Settings, train: NDArray[np.intp], test: NDArray[np.intp]) -> float:
    model = estimator(loaded, seed, settings).fit(loaded.X.iloc[train], loaded.y[train])
    return float(np.mean(model.predict(loaded.X.iloc[test]) == loaded.y[test]))


def _inner_folds(
    loaded: Examples, domain: str, train: NDArray[np.intp], seed: int, inner: int
) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Folds of the training examples, made as the outer ones are: by compound where those are."""
    from sklearn.model_selection import GroupKFold, StratifiedKFold

    if DOMAINS[domain].splits == "compounds":
        groups = loaded.X.iloc[train][loaded.database.target.key[0]].to_numpy()
        parts = list(GroupKFold(inner).split(train, groups=groups))
    else:
        parts = list(StratifiedKFold(inner, shuffle=True, random_state=seed).split(train, loaded.y[train]))
    return [(train[first], train[second]) for first, second in parts]
