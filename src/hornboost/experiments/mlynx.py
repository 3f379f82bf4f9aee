"""The tables of mLynx (seed 001): Mutagenesis with atoms and bonds only, and UW-CSE with one area left out; plain numbers for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hornboost.data import Database
from hornboost.estimators.mlynx import MLynxClassifier

PAPER: dict[str, Any] = {
    "mutagenesis_188": 83.94,
    "mutagenesis_42": 80.90,
    "uwcse": {
        "ai": (0.929, 0.295),
        "graphics": (0.960, 0.697),
        "language": (0.980, 0.797),
        "systems": (0.933, 0.252),
        "theory": (0.922, 0.427),
        "mean": (0.945, 0.494),
    },
}
"""Accuracy in percent; areas under the ROC curve and under the recall-precision curve."""

AREAS = ("ai", "graphics", "language", "systems", "theory")
BONDS = {"bond": ("atom1", "atom2")}
RINGS = ("ring", "ring_atom", "ring_system", "ring_system_ring")
MOLECULE = ("log_mutag", "subset", "fold", "fold_gilps", "logp", "lumo", "ind1", "inda")


def atoms_and_bonds(data: Path, task: str) -> Database:
    """Mutagenesis without what is known of a whole molecule or its rings."""
    return Database.from_folder(data / "mutagenesis", task=task, exclude_tables=list(RINGS), exclude_columns=list(MOLECULE))


def mutagenesis(data: Path, task: str = "regression_friendly_188", seeds: Sequence[int] = (0, 1, 2), **parameters: Any) -> dict[str, Any]:
    """Accuracy in percent over stratified ten-fold cross-validations, one for each seed; all is learned on the training folds."""
    from sklearn.model_selection import StratifiedKFold, cross_val_score

    database = atoms_and_bonds(data, task)
    X, y = database.examples()
    runs = []
    for seed in seeds:
        model = MLynxClassifier(database, symmetric=BONDS, random_state=seed, **parameters)
        folds = StratifiedKFold(10, shuffle=True, random_state=seed)
        runs.append(100.0 * float(cross_val_score(model, X, y, cv=folds).mean()))
    return {"task": task, "accuracy": float(np.mean(runs)), "runs": runs, "parameters": parameters}


UWCSE: dict[str, Any] = {"support": "positive", "min_support": 0.05, "max_length": 3, "alpha": 1e-4}
"""Five in a hundred of all pairs would leave out whatever tells the few advisers, so the positive pairs decide."""


def uwcse(data: Path, task: str = "advised_by_all_pairs", seed: int = 0, **parameters: Any) -> dict[str, Any]:
    """Areas under the ROC and the recall-precision curve (trapezoids), and average precision, for each area left out and in the mean."""
    database = Database.from_folder(data / "uwcse", task=task)
    X, y = database.examples()
    is_positive = np.asarray(y) == database.target.positive
    settings = UWCSE | parameters
    rows: dict[str, Any] = {}
    for area, (train, test) in zip(AREAS, database.folds("leave_one_area_out"), strict=True):
        model = MLynxClassifier(database, random_state=seed, **settings).fit(X.iloc[train], y.iloc[train])
        rows[area] = areas(is_positive[test], model.decision_function(X.iloc[test])) | {"queries": len(model.rules_)}
    means = {name: float(np.mean([row[name] for row in rows.values()])) for name in rows[AREAS[0]]}
    return {"task": task, **rows, "mean": means, "parameters": settings}


def areas(is_positive: NDArray[np.bool_], scores: NDArray[np.float64]) -> dict[str, float]:
    """The three measures of a ranking.

    >>> areas(np.array([True, False]), np.array([1.0, 0.0]))
    {'roc': 1.0, 'pr': 1.0, 'average_precision': 1.0}
    """
    from sklearn.metrics import auc, average_precision_score, precision_recall_curve, roc_auc_score

    precision, recall, _ = precision_recall_curve(is_positive, scores)
    return {
        "roc": float(roc_auc_score(is_positive, scores)),
        "pr": float(auc(recall, precision)),
        "average_precision": float(average_precision_score(is_positive, scores)),
    }
