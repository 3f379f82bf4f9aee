"""One fit of plain C²RIB or C²RIB^D and its test."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.papers.domains import examples, splits
from benchmarks.papers.protocol import Result


def fit_and_test(
    data: Path, *, domain: str, task: str | None, seed: int, fold: int, settings: Mapping[str, Any]
) -> Result:
    """Accuracy, AUC, features asked for, clauses scored, and seconds of `fit`.

    Of the process, so that other work does not count.
    """
    from sklearn.metrics import roc_auc_score

    from hornboost.boosting.c2rib import C2RIBClassifier

    loaded = examples(data, domain, task)
    train, test = splits(domain, loaded, seed)[fold]
    started = time.process_time()
    model = C2RIBClassifier(loaded.database, random_state=seed, **settings).fit(loaded.X.iloc[train], loaded.y[train])
    seconds = time.process_time() - started
    X, y, history = loaded.X.iloc[test], loaded.y[test], model.history_
    is_second = y == model.classes_[1]
    return {
        "accuracy": 100.0 * float(np.mean(model.predict(X) == y)),
        "auc": float(roc_auc_score(is_second, model.decision_function(X))) if 0 < is_second.sum() < len(test) else None,
        "features": float(history["requested"].iloc[-1]) if "requested" in history else None,
        "scored": int(history["clauses_scored"].sum()),
        "n_test": len(test),
        "seconds": seconds,
    }
