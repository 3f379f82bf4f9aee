"""Rare classes: HornBoost with Newton steps as they are, and with those beyond some log-odds held back.

    python -m benchmarks.rare [--steps 1e9 2 1]

Prints log-loss and area under the ROC curve on generated tables of 12 numbers, of which half (of 24,000 rows, a third)
are held out. "Smooth" tables follow a sum of effects, the others two rules.
"""

from __future__ import annotations

import argparse

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import log_loss, roc_auc_score

import hornboost as hb
from benchmarks.papers.markdown import markdown_table
from hornboost.learners import losses

SIZES = ((4_000, 0.02), (24_000, 0.005), (24_000, 0.02))
TABLES = [(kind, n, rate) for kind in ("smooth", "rules") for n, rate in SIZES]


def table(kind: str, n: int, rate: float) -> tuple[pd.DataFrame, NDArray[np.int64]]:
    """Rows and labels, of which about a share of `rate` is 1."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n, 12))
    if kind == "smooth":
        odds = 1.5 * X[:, 0] + 3.6 * ((X[:, 1] > 0.8) & (X[:, 2] < 0)) + 0.7 * X[:, 3] * X[:, 4]
    else:
        odds = 8.0 * ((X[:, 0] > 1) & (X[:, 1] > 0.5)) + 4.0 * ((X[:, 2] > 1.5) & (X[:, 3] < 0))
    low, high = -30.0, 30.0
    for _ in range(60):
        middle = 0.5 * (low + high)
        low, high = (low, middle) if (1.0 / (1.0 + np.exp(-odds - middle))).mean() > rate else (middle, high)
    y = rng.random(n) < 1.0 / (1.0 + np.exp(-odds - middle))
    return pd.DataFrame(X, columns=[f"x{i}" for i in range(12)]), y.astype(np.int64)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=float, nargs="+", default=[1e9, 2.0, 1.0])
    steps = parser.parse_args().steps
    rows = []
    for kind, n, rate in TABLES:
        X, y = table(kind, n, rate)
        train = n // 2 if n < 5_000 else n * 2 // 3
        cells = []
        for step in steps:
            losses.WHOLE_STEP = step
            model = hb.HornBoostClassifier(random_state=0, n_jobs=1).fit(X[:train], y[:train])
            proba = model.predict_proba(X[train:])[:, 1]
            cells.append(f"{log_loss(y[train:], proba):.4f} / {roc_auc_score(y[train:], proba):.3f}")
        rows.append([kind, f"{n:,}", f"{rate:.1%}", *cells])
    print(markdown_table(["table", "rows", "positive", *(f"{step:g}" for step in steps)], rows))


if __name__ == "__main__":
    main()
