"""What a further condition of a rule must be worth: HornBoost on single tables and generated data, by that number.

    python -m benchmarks.worth --data DATA [--worth 0 1 2 3 4 5 8]
    python -m benchmarks.worth --data DATA --errors 0 1 2
    python -m benchmarks.worth --data DATA --ahead never 0.01

Prints log-loss, accuracy, conditions and processor seconds of a fit for each set and number. With `--errors` the number
is that of standard errors by which another setting must be better to be taken; with `--ahead` it is the share by which
the loss of another setting must be smaller in all rounds but the first ones, or it is given up. Nothing else is given.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

import hornboost as hb
from benchmarks import flagship
from benchmarks.papers.markdown import markdown_table
from hornboost.boosting import tuning

TABLES = ("breast-wisc", "pima", "german-credit", "horse-colic", "hepatitis", "ionosphere")
GENERATED: dict[str, tuple[str, dict[str, Any]]] = {
    "shop, 100 products": ("shop", {"n": 1_000, "products": 100, "noise": 0.02}),
    "shop, 600 products": ("shop", {"n": 1_000, "products": 600, "noise": 0.02}),
    "bank, 10 % noise": ("bank", {"n": 1_600, "noise": 0.1}),
    "trains, 10 % noise": ("trains", {"n": 1_600, "noise": 0.1}),
    "molecules, 10 % noise": ("molecules", {"n": 800, "noise": 0.1}),
}


def parts(data: Path) -> Iterator[tuple[str, Any, Any, Any, Any, Any]]:
    """Name, database, rows, labels, and what is learned from and tested on: five folds, or halves of three seeds."""
    for name in TABLES:
        loaded = flagship.load(data, name, None)
        for train, test in StratifiedKFold(5, shuffle=True, random_state=1).split(loaded.X, loaded.y):
            yield name, loaded.database, loaded.X, loaded.y, train, test
    for name, (generator, options) in GENERATED.items():
        for seed in range(3):
            database = getattr(hb.datasets, generator)(**options, seed=seed).database()
            X, y = database.examples()
            half = len(X) // 2
            yield name, database, X, np.asarray(y), np.arange(half), np.arange(half, len(X))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--worth", type=float, nargs="+", default=[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 8.0])
    parser.add_argument("--errors", type=float, nargs="+")
    parser.add_argument("--ahead", type=lambda text: -math.inf if text == "never" else float(text), nargs="+")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    numbers = arguments.ahead or arguments.errors or arguments.worth
    found: dict[str, dict[float, list[tuple[float, ...]]]] = {}
    for name, database, X, y, train, test in parts(arguments.data):
        for number in numbers:
            given: dict[str, Any] = {}
            if arguments.ahead:
                tuning.AHEAD = number
            elif arguments.errors:
                tuning.BY_CHANCE = number
            else:
                given["min_gain"] = number
            started = time.process_time()
            model = hb.HornBoostClassifier(database, **given, random_state=0, n_jobs=1).fit(X.iloc[train], y[train])
            seconds = time.process_time() - started
            proba = model.predict_proba(X.iloc[test])
            accuracy = 100.0 * float(np.mean(np.asarray(model.classes_)[proba.argmax(axis=1)] == y[test]))
            loss = float(log_loss(y[test], proba, labels=list(model.classes_)))
            found.setdefault(name, {}).setdefault(number, []).append((loss, accuracy, model.n_conditions_, seconds))
    rows = [
        [name, *("{:.4f} / {:.1f} / {:.0f} / {:.1f}".format(*np.mean(by[number], axis=0)) for number in numbers)]
        for name, by in found.items()
    ]
    print(markdown_table(["set", *(f"{number:g}" for number in numbers)], rows))


if __name__ == "__main__":
    main()
