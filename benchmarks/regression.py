"""Root mean squared errors of HornBoostRegressor and of LightGBM on single tables, with the defaults of both.

    python -m benchmarks.regression [--seeds 2] [--json]

Diabetes is scikit-learn's; Friedman's first function (1991) is generated with noise of standard deviation 1. A figure
is the mean over five-fold cross-validations with different seeds.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np


def tables() -> dict[str, Callable[[], tuple[Any, Any]]]:
    from sklearn.datasets import load_diabetes, make_friedman1

    return {
        "diabetes": lambda: load_diabetes(return_X_y=True),
        "Friedman 1, 500 examples": lambda: make_friedman1(500, noise=1.0, random_state=0),
        "Friedman 1, 2,000 examples": lambda: make_friedman1(2000, noise=1.0, random_state=0),
    }


def models() -> dict[str, Any]:
    """What is compared; without LightGBM (`pip install '.[test]'` brings it) its rows are left out."""
    from sklearn.dummy import DummyRegressor

    import hornboost as hb

    return {"HornBoost": hb.HornBoostRegressor(random_state=0), **trees(), "the mean": DummyRegressor()}


def trees() -> dict[str, Any]:
    if find_spec("lightgbm") is None:
        return {}
    import lightgbm

    return {
        "LightGBM": lightgbm.LGBMRegressor(random_state=0, n_jobs=1, verbose=-1),
        "LightGBM, 200 trees": lightgbm.LGBMRegressor(n_estimators=200, random_state=0, n_jobs=1, verbose=-1),
    }


def measured(model: Any, X: Any, y: Any, seeds: int) -> dict[str, float]:
    """The error, and seconds a fit."""
    from sklearn.model_selection import KFold, cross_val_score

    started = time.perf_counter()
    errors = [
        -cross_val_score(
            model, X, y, cv=KFold(5, shuffle=True, random_state=seed), scoring="neg_root_mean_squared_error"
        ).mean()
        for seed in range(seeds)
    ]
    return {"rmse": float(np.mean(errors)), "seconds": (time.perf_counter() - started) / (5 * seeds)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    found: dict[str, dict[str, dict[str, float]]] = {}
    for table, make in tables().items():
        X, y = make()
        found[table] = {name: measured(model, X, y, arguments.seeds) for name, model in models().items()}
    if arguments.json:
        print(json.dumps(found, indent=1))
        return
    names = list(next(iter(found.values())))
    print(f"| table | {' | '.join(names)} |\n|---|{'---|' * len(names)}")
    for table, of_model in found.items():
        figures = [f"{of_model[name]['rmse']:.4g}" for name in names]
        print(f"| {table} | {' | '.join(figures)} |")


if __name__ == "__main__":
    main()
