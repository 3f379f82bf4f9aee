"""The measurement behind the defaults of C2RIBClassifier.

Cross-validated accuracy and AUC over settings, one at a time.

Run: HORNBOOST_DATA=<data folder> python -m benchmarks.defaults [--seeds 1] > docs/defaults.md
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

import hornboost as hb

SETS = [
    ("breast-wisc", None),
    ("horse-colic", None),
    ("hypothyroid", None),
    ("splice-junction", "boundary_vs_none"),
    ("pima", None),
    ("mutagenesis", None),
    ("financial", None),
    ("trains1000", "trains3"),
]
GENERATED: dict[str, Callable[[], Any]] = {
    "trains, no noise": lambda: hb.datasets.trains(1000, seed=3),
    "trains, 10 % noise": lambda: hb.datasets.trains(1000, noise=0.1, seed=3),
    "bank, 10 % noise": lambda: hb.datasets.bank(1000, noise=0.1, seed=3),
}
SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "max_literals=3": {"max_literals": 3},
    "max_literals=5": {"max_literals": 5},
    "max_depth=1": {"max_depth": 1},
    "early_stopping=10": {"early_stopping": 10, "validation_fraction": 0.2},
    'features="margin"': {"features": "margin"},
    '"margin", stall=10': {"features": "margin", "stall": 10},
    '"margin", stall=10, existential': {"features": "margin", "stall": 10, "ranking": "existential"},
}

CHOSEN = """
What follows from these figures:

- `max_depth=2`: with a single join, neither the rules planted in the trains nor those of trains3 are found. A third
  join reaches no additional rule here, and multiplies the number of joins to search.
- `max_literals=8`: the differences between 3, 5 and 8 are within the noise. Pruning shortens the rules anyway, so the
  limit only bounds the time.
- `early_stopping=None`: early stopping helps when labels are noisy, and costs accuracy when they are clean
  (splice-junction). If you expect noisy labels, set `early_stopping=10`.
- `features=None`, `stall=None` (10 from 10,000 examples on), `ranking="spread"`: with all features, the engine is as
  fast as with a few, and never hides the one that matters. With `features="margin"`, set `stall=10,
  ranking="existential"` unless you want the behaviour of the paper, whose ranking hides the balance on the loans.
"""


def measure(database: hb.Database, settings: dict[str, Any], seeds: int) -> tuple[float, float, float]:
    """Mean accuracy, AUC and seconds of processor time a fit, over 10 folds and the seeds."""
    X, y = database.examples()
    results = []
    for seed in range(seeds):
        for train, test in StratifiedKFold(10, shuffle=True, random_state=seed).split(X, y):
            model = hb.C2RIBClassifier(database, random_state=seed, **settings)
            started = time.process_time()
            model.fit(X.iloc[train], y.iloc[train])
            seconds = time.process_time() - started
            score = model.decision_function(X.iloc[test])
            auc = roc_auc_score(y.iloc[test] == model.classes_[1], score)
            results.append((np.mean(model.predict(X.iloc[test]) == y.iloc[test].to_numpy()), auc, seconds))
    accuracy, auc, seconds = np.mean(results, axis=0)
    return float(accuracy), float(auc), float(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=1)
    seeds = parser.parse_args().seeds
    folder = Path(os.environ["HORNBOOST_DATA"])
    databases = {name: hb.Database.from_folder(folder / name, task=task) for name, task in SETS}
    databases |= {name: make().database() for name, make in GENERATED.items()}
    print("# How the defaults of `C2RIBClassifier` were chosen\n")
    print("Each cell shows the accuracy in percent, the AUC and the processor milliseconds per fit, in stratified")
    print(f"10-fold cross-validation with 100 rounds; number of seeds: {seeds}.")
    print(f"Written by `HORNBOOST_DATA=<data folder> python -m benchmarks.defaults --seeds {seeds}`.\n")
    print("| set | " + " | ".join(SETTINGS) + " |")
    print("|---|" + "---|" * len(SETTINGS))
    for name, database in databases.items():
        cells = []
        for settings in SETTINGS.values():
            accuracy, auc, seconds = measure(database, settings, seeds)
            cells.append(f"{100 * accuracy:.1f} / {auc:.3f} / {1000 * seconds:.0f}")
        print(f"| {name} | " + " | ".join(cells) + " |", flush=True)
    print(CHOSEN, end="")


if __name__ == "__main__":
    main()
