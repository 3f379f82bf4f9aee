"""100 restarts of Algorithm 1 over 5,000 x 3,000 booleans,
against as many mRMR steps of mrmr-selection; prints JSON.
"""

from __future__ import annotations

import argparse
import json
import time

import numpy as np
import pandas as pd
from mrmr import mrmr_classif
from sklearn.feature_selection import f_classif

from hornboost.estimators.selector import MutualInformationSelector


def data(n_examples: int, n_features: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Booleans of which some hundred say a little about two classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n_examples)
    strength = np.where(np.arange(n_features) < 200, rng.uniform(0.05, 0.25, n_features), 0.0)
    rate = rng.uniform(0.1, 0.6, n_features)
    return rng.random((n_examples, n_features)) < rate + np.outer(y - 0.5, strength), y


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=3000)
    parser.add_argument("--features", type=int, default=5000)
    parser.add_argument("--restarts", type=int, default=100)
    parser.add_argument("--alpha", type=float, default=1e-3)
    parser.add_argument("--steps", type=int, default=10, help="steps of mrmr-selection to time, then scaled up")
    options = parser.parse_args()
    X, y = data(options.examples, options.features)

    MutualInformationSelector(restarts=1, random_state=0).fit(X[:100, :10], y[:100])
    start = time.perf_counter()
    selector = MutualInformationSelector(restarts=options.restarts, alpha=options.alpha, random_state=0).fit(X, y)
    seconds = time.perf_counter() - start
    steps = sum(restart.grown for restart in selector.history_)

    frame, labels = pd.DataFrame(X.astype(float)).rename(columns=str), pd.Series(y)
    # its own relevance goes column by column in Python; one vectorised call keeps the comparison to the steps
    # themselves
    relevance = lambda X, y: pd.Series(f_classif(X, y)[0], index=X.columns)  # noqa: E731
    timed = {}
    for k in (1, 1 + options.steps):
        start = time.perf_counter()
        mrmr_classif(frame, labels, K=k, relevance=relevance, n_jobs=1, show_progress=False)
        timed[k] = time.perf_counter() - start
    a_step = (timed[1 + options.steps] - timed[1]) / options.steps
    print(
        json.dumps(
            {
                "examples": options.examples,
                "features": options.features,
                "restarts": options.restarts,
                "steps": steps,
                "selected": len(selector.selected_),
                "seconds": round(seconds, 3),
                "mrmr_selection_seconds_a_step": round(a_step, 3),
                "mrmr_selection_seconds": round(a_step * steps, 1),
                "times_faster": round(a_step * steps / seconds, 1),
            }
        )
    )


if __name__ == "__main__":
    main()
