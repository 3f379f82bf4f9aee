"""Processor seconds of fits: as many rounds as LightGBM has trees, and HornBoost with its tuning.

    python -m benchmarks.speed --data DATA [--times 3]

On adult, 200 rounds with all settings given beside 200 trees of LightGBM, both on one thread; on mutagenesis and on
both sets of loans, fits with nothing given, aggregates included. All take turns, and the shortest time of each counts.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import hornboost as hb
from benchmarks.flagship import load
from benchmarks.papers.domains import Examples
from benchmarks.papers.markdown import markdown_table

ROUNDS = 200
GIVEN: dict[str, Any] = {"rounds": ROUNDS, "max_literals": 3, "max_depth": 2, "aggregates": False, "constants": False}
TUNED = ("Mutagenicity", "PKDD loans, AC", "PKDD loans, A")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, default=os.environ.get("HORNBOOST_DATA"), help="folder of all data sets")
    parser.add_argument("--times", type=int, default=3, help="fits of each, after one that is not timed")
    asked = parser.parse_args()
    if asked.data is None:
        parser.error("name the folder of data sets by --data or HORNBOOST_DATA")
    warnings.simplefilter("ignore")
    adult = load(asked.data, "adult", None)
    fits: dict[tuple[str, str], Callable[[], object]] = {
        ("adult", f"LightGBM, {ROUNDS} trees"): partial(trees, adult),
        ("adult", f"HornBoost, {ROUNDS} rounds, nothing tuned"): partial(rules, adult, **GIVEN),
    }
    fits |= {(row, "HornBoost, tuned"): partial(rules, load(asked.data, row, None)) for row in TUNED}
    took: dict[tuple[str, str], list[float]] = {each: [] for each in fits}
    for _ in range(asked.times + 1):
        for each, fit in fits.items():
            started = time.process_time()
            fit()
            took[each].append(time.process_time() - started)
    best = {each: min(times[1:]) for each, times in took.items()}
    first = next(iter(best.values()))
    rows = [
        [data, what, f"{seconds:.2f}", f"{seconds / first:.2f}" if data == "adult" else ""]
        for (data, what), seconds in best.items()
    ]
    print(markdown_table(["examples", "fit", "seconds", "relative to LightGBM"], rows))


def rules(loaded: Examples, **given: Any) -> object:
    """HornBoost on all examples."""
    return hb.HornBoostClassifier(loaded.database, random_state=0, n_jobs=1, **given).fit(loaded.X, loaded.y)


def trees(loaded: Examples) -> object:
    """LightGBM on all rows: numbers, and names as categories."""
    from lightgbm import LGBMClassifier

    X = loaded.X.astype({name: "category" for name in loaded.X.columns if loaded.X[name].dtype.kind not in "iuf"})
    return LGBMClassifier(n_estimators=ROUNDS, n_jobs=1, verbose=-1).fit(X, loaded.y)


if __name__ == "__main__":
    main()
