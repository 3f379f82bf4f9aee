"""What stands behind the ranking table.

What the rules look like where the paper's claim is not confirmed, and what a split is worth.

Run: python -m benchmarks.papers.ranking_rules DATA uwcse homology icml-split
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np
from sklearn.model_selection import StratifiedShuffleSplit

import hornboost as hb
from benchmarks.papers.ranking import CLAIM, DATA_SETS, loaded

HEADER = "learner    training AURPC  held-out AURPC  held-out AUROC  median coverage  mean precision"


def describe(data: Path, data_set: str, learner: str) -> list[float]:
    """Means over the folds."""
    database, X, y, folds = loaded(data, data_set)
    estimator = hb.RankBoostClassifier if learner == "RankBoost" else hb.PRankBoostClassifier
    rows = []
    for train, test in folds:
        clf = estimator(database, random_state=0).fit(X.iloc[train], y[train], eval_set=(X.iloc[test], y[test]))
        last = clf.history_.iloc[-1]
        coverage = np.array([rule.coverage for rule in clf.rules_])
        precision = (coverage[:, 1] / coverage.sum(axis=1)).mean()
        rows.append(
            [last["aurpc"], last["aurpc_held_out"], last["auroc_held_out"], np.median(coverage.sum(axis=1)), precision]
        )
    return [float(mean) for mean in np.mean(rows, axis=0)]


def random_splits(data: Path, data_set: str) -> list[float]:
    """AURPC of Clause on twelve random splits of 70 and 30 percent."""
    database, X, y, _ = loaded(data, data_set)
    found = []
    for train, test in StratifiedShuffleSplit(12, test_size=0.3, random_state=1).split(X, y):
        clf = hb.PRankBoostClassifier(database, random_state=0).fit(
            X.iloc[train], y[train], eval_set=(X.iloc[test], y[test])
        )
        found.append(float(clf.history_["aurpc_held_out"].iloc[-1]))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="the folder of data sets")
    parser.add_argument("data_sets", nargs="+", choices=DATA_SETS)
    options = parser.parse_args()
    for data_set in options.data_sets:
        print(f"{DATA_SETS[data_set].title}\n{HEADER}")
        for learner in CLAIM:
            aurpc, held_out, auroc, covered, precision = describe(options.data, data_set, learner)
            print(
                f"{learner:10} {aurpc:14.3f} {held_out:15.3f} {auroc:15.3f} {covered:16.0f} {precision:15.2f}",
                flush=True,
            )
        if data_set == "icml-split":
            splits = random_splits(options.data, data_set)
            print(f"Clause on random splits: {np.mean(splits):.3f} ± {np.std(splits, ddof=1):.3f}")


if __name__ == "__main__":
    main()
