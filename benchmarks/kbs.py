"""Time of KBS on adult (100 rounds) against scikit-learn's AdaBoostClassifier; prints JSON.

Run: python -m benchmarks.kbs DATA.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.ensemble import AdaBoostClassifier
from sklearn.tree import DecisionTreeClassifier

from hornboost.boosting.kbs import KBSClassifier
from hornboost.estimators.matrix import MatrixEncoder


def best_time(fit: Callable[[], Any], repeats: int) -> float:
    """The shortest of several runs: what the machine does beside is not ours."""
    times = []
    for _ in range(repeats):
        start = time.process_time()
        fit()
        times.append(time.process_time() - start)
    return min(times)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="the folder that holds adult/examples.csv.gz")
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    frame = pd.read_csv(options.data / "adult" / "examples.csv.gz")
    y = frame.pop("income").to_numpy()
    matrix = MatrixEncoder(frame).matrix(frame)
    rounds = options.rounds
    KBSClassifier(base="clause", rounds=2, max_literals=1).fit(frame, y)  # compiles
    stump = DecisionTreeClassifier(max_depth=1)
    seconds = {
        "scikit-learn AdaBoostClassifier, stumps": best_time(
            lambda: AdaBoostClassifier(stump, n_estimators=rounds).fit(matrix, y), options.repeats
        ),
        "KBS, stumps": best_time(lambda: KBSClassifier(base="stump", rounds=rounds).fit(matrix, y), options.repeats),
        "KBS, clauses of one condition": best_time(
            lambda: KBSClassifier(base="clause", rounds=rounds, max_literals=1).fit(frame, y), options.repeats
        ),
    }
    base = seconds["scikit-learn AdaBoostClassifier, stumps"]
    result = {
        name: {"cpu_seconds": round(value, 3), "ratio": round(value / base, 3)} for name, value in seconds.items()
    }
    print(json.dumps({"data": "adult", "examples": len(y), "rounds": rounds, "times": result}, indent=2))


if __name__ == "__main__":
    main()
