"""The tables of mLynx (seed 001): Mutagenesis with atoms and bonds only, and UW-CSE with one area left out; plain numbers for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hornboost.data import Database
from hornboost.estimators.mlynx import MLynxClassifier
from hornboost.estimators.patterns import MINING_CONSTRAINTS, RelationalPatterns
from hornboost.estimators.selector import MutualInformationSelector
from hornboost.mining.bayes import BernoulliBayes

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


UWCSE: dict[str, Any] = {"support": "positive", "min_support": 0.1, "max_length": 3}
"""A tenth of all pairs would leave out whatever tells the few advisers, so the positive pairs decide."""

SETTINGS = ((1.0, 1e-4), (5.0, 5e-3), (5.0, 1e-2), (10.0, 5e-3), (10.0, 1e-2), (20.0, 1e-2), (20.0, 2e-2))
"""The weight of a positive pair, and alpha; the first are the paper's. With so few positives no query tells much of an unweighted class."""


def uwcse(
    data: Path, task: str = "advised_by_all_pairs", seed: int = 0, settings: Sequence[tuple[float, float]] = SETTINGS, **parameters: Any
) -> dict[str, Any]:
    """Areas under the ROC and the recall-precision curve (trapezoids), and average precision, for each area left out and in the mean.

    For each area the settings are chosen on the four others, each of them left out in turn, by the mean over three random selections.
    """
    database = Database.from_folder(data / "uwcse", task=task)
    X, y = database.examples()
    is_positive = np.asarray(y) == database.target.positive
    mined = UWCSE | {name: value for name, value in parameters.items() if name in MINING_CONSTRAINTS}
    selected = {name: value for name, value in parameters.items() if name not in MINING_CONSTRAINTS}
    rows_of = {area: test for area, (_, test) in zip(AREAS, database.folds("leave_one_area_out"), strict=True)}
    chosen = _chosen(database, X, y, is_positive, rows_of, settings, mined, selected, seed)
    rows: dict[str, Any] = {}
    for area, test in rows_of.items():
        train = np.concatenate([rows for other, rows in rows_of.items() if other != area])
        weight, alpha = chosen[area]
        model = MLynxClassifier(database, alpha=alpha, random_state=seed, **mined, **selected)
        model.fit(X.iloc[train], y.iloc[train], sample_weight=np.where(is_positive[train], weight, 1.0))
        told = {"queries": len(model.rules_), "weight": weight, "alpha": alpha}
        rows[area] = areas(is_positive[test], model.decision_function(X.iloc[test])) | told
    means = {name: float(np.mean([row[name] for row in rows.values()])) for name in ("roc", "pr", "average_precision", "queries")}
    return {"task": task, **rows, "mean": means, "parameters": mined | selected}


def _chosen(
    database: Database,
    X: Any,
    y: Any,
    is_positive: NDArray[np.bool_],
    rows_of: dict[str, NDArray[np.intp]],
    settings: Sequence[tuple[float, float]],
    mined: dict[str, Any],
    selected: dict[str, Any],
    seed: int,
) -> dict[str, tuple[float, float]]:
    """For each area the setting whose mean of both areas under curves is largest, over the other areas left out as well.

    What is learned without two areas serves either of them.
    """
    if len(settings) == 1:
        return dict.fromkeys(rows_of, settings[0])
    found: dict[str, dict[tuple[float, float], float]] = {area: dict.fromkeys(settings, 0.0) for area in rows_of}
    for left_out in combinations(rows_of, 2):
        train = np.concatenate([rows for area, rows in rows_of.items() if area not in left_out])
        patterns = RelationalPatterns(database, **mined).fit(X.iloc[train], y.iloc[train])
        matrix = {area: patterns.transform(X.iloc[rows_of[area]]) for area in left_out}
        columns, classes = patterns.transform(X.iloc[train]), is_positive[train].astype(np.int64)
        for (weight, alpha), k in product(settings, range(3)):
            weights = np.where(is_positive[train], weight, 1.0)
            selector = MutualInformationSelector(alpha=alpha, random_state=1000 * k + seed, **selected)
            chosen = selector.fit(columns, classes, sample_weight=weights).selected_
            bayes = BernoulliBayes.fit(columns[:, chosen], classes, 2, weights)
            for area, other in (left_out, left_out[::-1]):
                g = bayes.discriminants(matrix[other][:, chosen])
                reached = areas(is_positive[rows_of[other]], g[:, 1] - g[:, 0])
                found[area][weight, alpha] += reached["roc"] + reached["pr"]
    return {area: max(settings, key=found[area].__getitem__) for area in rows_of}


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
