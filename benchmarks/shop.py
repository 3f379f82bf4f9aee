"""The shop of the first tutorial: HornBoost as it comes beside settings made by hand and the other estimators.

    python -m benchmarks.shop [--customers 500] [--seed 0]

Prints the area under the ROC curve of each over the same three folds, the ones of the tests.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Iterator
from itertools import product
from typing import Any

from sklearn.model_selection import StratifiedKFold, cross_val_score

import hornboost as hb


def settings(database: Any) -> Iterator[tuple[str, Any]]:
    """HornBoost with what it would choose set by hand (but for the number of rounds), and the other estimators."""
    yield "HornBoost as it comes", hb.HornBoostClassifier(database, random_state=0)
    yield "HornBoost, at most 10 rules", hb.HornBoostClassifier(database, max_rules=10, random_state=0)
    plain = {"aggregates": False, "constants": False, "corrective": False, "subsample": 1.0}
    for literals, depth in product((2, 3, 5), (2, 3, 4)):
        yield _by_hand(database, plain | {"max_literals": literals, "max_depth": depth})
    for other in ({"aggregates": True}, {"constants": True}, {"corrective": True}, {"subsample": 0.5}):
        yield _by_hand(database, plain | {"max_literals": 5, "max_depth": 3} | other)
    for name in ("C2RIB", "RankBoost", "PRankBoost", "KBS", "AdaBoostM1", "LogitBoost"):
        yield f"{name}, 3 joins", getattr(hb, f"{name}Classifier")(database, max_depth=3, random_state=0)


def _by_hand(database: Any, setting: dict[str, Any]) -> tuple[str, Any]:
    told = ", ".join(f"{name}={value}" for name, value in setting.items() if repr(value) not in ("False", "1.0"))
    return f"HornBoost, {told}", hb.HornBoostClassifier(database, random_state=0, **setting)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--customers", type=int, default=500)
    parser.add_argument("--seed", type=int, default=0, help="of the shop")
    arguments = parser.parse_args()
    n = arguments.customers
    database = hb.datasets.shop(n, new=n // 10, noise=0.02, seed=arguments.seed).database()
    X, y = database.examples()
    folds = StratifiedKFold(3, shuffle=True, random_state=0)
    warnings.simplefilter("ignore")
    for name, learner in settings(database):
        areas = cross_val_score(learner, X, y, cv=folds, scoring="roc_auc")
        print(f"{areas.mean():.3f}  {name}", flush=True)


if __name__ == "__main__":
    main()
