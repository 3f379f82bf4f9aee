"""The tables of mLynx.

Mutagenesis with atoms and bonds only, and UW-CSE with one area left out; plain numbers for JSON.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hornboost.data import Database
from hornboost.estimators.mlynx import MLynxClassifier
from hornboost.estimators.patterns import RelationalPatterns
from hornboost.mining import selection
from hornboost.mining.bayes import BernoulliBayes

AREAS = ("ai", "graphics", "language", "systems", "theory")
BONDS = {"bond": ("atom1", "atom2")}
RINGS = ("ring", "ring_atom", "ring_system", "ring_system_ring")
MOLECULE = ("log_mutag", "subset", "fold", "fold_gilps", "logp", "lumo", "ind1", "inda")


def atoms_and_bonds(data: Path, task: str) -> Database:
    """Mutagenesis without what is known of a whole molecule or its rings."""
    return Database.from_folder(
        data / "mutagenesis", task=task, exclude_tables=list(RINGS), exclude_columns=list(MOLECULE)
    )


def mutagenesis(
    data: Path, task: str = "regression_friendly_188", seeds: Sequence[int] = (0, 1, 2), **parameters: Any
) -> dict[str, Any]:
    """Accuracy in percent over stratified ten-fold cross-validations, one for each seed.

    All is learned on the training folds.
    """
    from sklearn.model_selection import StratifiedKFold, cross_val_score

    database = atoms_and_bonds(data, task)
    X, y = database.examples()
    runs = []
    for seed in seeds:
        model = MLynxClassifier(database, symmetric=BONDS, random_state=seed, **parameters)
        folds = StratifiedKFold(10, shuffle=True, random_state=seed)
        runs.append(100.0 * float(cross_val_score(model, X, y, cv=folds).mean()))
    return {"task": task, "accuracy": float(np.mean(runs)), "runs": runs, "parameters": parameters}


UWCSE: dict[str, Any] = {"support": "positive", "min_support": 0.1}
"""A tenth of all pairs would leave out whatever tells the few advisers, so the positive pairs decide."""

Setting = tuple[int, float, float]
Scores = dict[tuple[str, str], NDArray[np.float64]]
"""By area and by what is kept of the selections."""

SETTINGS: tuple[Setting, ...] = tuple(
    (k, *rest) for k in (2, 3) for rest in ((1.0, 1e-4), (1.0, 1e-3), (10.0, 1e-3), (10.0, 1e-2))
)
"""The length of a query, the weight of a positive pair, and alpha: the paper's and ten times as much. A weight of ten
makes the class six times as uncertain, and every query tell more, so that alpha is a decade above."""


KEPT = ("best", "average")
"""The best selection, as in the paper, with the setting that is best inside the training areas; or the mean of the
log-posteriors of all selections with all settings, so that nothing is chosen.
"""


def uwcse(
    data: Path,
    task: str = "advised_by_all_pairs",
    seed: int = 0,
    settings: Sequence[Setting] = SETTINGS,
    **parameters: Any,
) -> dict[str, Any]:
    """Areas under the ROC and the recall-precision curve (trapezoids), and average precision,
    for each area left out and in the mean.

    The setting of a best selection is chosen for each area on the four others, each of them left out in turn, by the
    sum of the first two. `parameters` are those of the selection.
    """
    database = Database.from_folder(data / "uwcse", task=task)
    X, y = database.examples()
    is_positive = np.asarray(y) == database.target.positive
    rows_of = {area: test for area, (_, test) in zip(AREAS, database.folds("leave_one_area_out"), strict=True)}

    def without(*left_out: str) -> Iterator[tuple[Setting, Scores]]:
        train = np.concatenate([rows for area, rows in rows_of.items() if area not in left_out])
        tests = {area: X.iloc[rows_of[area]] for area in left_out}
        return _scores(database, X.iloc[train], y.iloc[train], is_positive[train], tests, settings, seed, parameters)

    reached: dict[str, dict[Setting, float]] = {area: dict.fromkeys(settings, 0.0) for area in rows_of}
    for one, other in combinations(rows_of, 2) if len(settings) > 1 else ():
        for setting, scores in without(one, other):
            for area, tested in ((one, other), (other, one)):
                found = areas(is_positive[rows_of[tested]], scores[tested, "best"])
                reached[area][setting] += found["roc"] + found["pr"]
    result: dict[str, Any] = {"task": task, "parameters": UWCSE | parameters, **{kept: {} for kept in KEPT}}
    for area, test in rows_of.items():
        by_setting = dict(without(area))
        chosen = max(settings, key=reached[area].__getitem__)
        everything = np.mean([scores[area, "average"] for scores in by_setting.values()], axis=0)
        result["best"][area] = areas(is_positive[test], by_setting[chosen][area, "best"]) | {"setting": chosen}
        result["average"][area] = areas(is_positive[test], everything)
    for kept in KEPT:
        rows = result[kept].values()
        result[kept]["mean"] = {
            name: float(np.mean([row[name] for row in rows])) for name in ("roc", "pr", "average_precision")
        }
    return result


def _scores(
    database: Database,
    X: Any,
    y: Any,
    is_positive: NDArray[np.bool_],
    tests: Mapping[str, Any],
    settings: Sequence[Setting],
    seed: int,
    parameters: dict[str, Any],
) -> Iterator[tuple[Setting, Scores]]:
    """Learn from X and y with each setting and score the rows of `tests`.

    What `MLynxClassifier` does, with one mining for each length.
    """
    classes = is_positive.astype(np.int64)
    for length in dict.fromkeys(setting[0] for setting in settings):
        patterns = RelationalPatterns(database, max_length=length, **UWCSE).fit(X, y)
        columns, matrix = patterns.transform(X), {name: patterns.transform(rows) for name, rows in tests.items()}
        for weight in dict.fromkeys(setting[1] for setting in settings if setting[0] == length):
            weights = np.where(is_positive, weight, 1.0)
            information = selection.Information.of(selection.encode(columns, weights), classes, 2, weights)
            bayes = BernoulliBayes.fit(columns, classes, 2, weights)
            odds = np.log(bayes.p) - np.log1p(-bayes.p)
            for alpha in (setting[2] for setting in settings if setting[:2] == (length, weight)):
                best, history = selection.stochastic(
                    information, np.random.RandomState(seed).random_sample, alpha=alpha, **parameters
                )
                shares = dict(zip(KEPT, (selection.shares([best]), selection.shares(history)), strict=True))
                yield (
                    (length, weight, alpha),
                    {
                        (name, kept): rows[:, list(share)] @ ((odds[1] - odds[0])[list(share)] * list(share.values()))
                        for name, rows in matrix.items()
                        for kept, share in shares.items()
                    },
                )


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
