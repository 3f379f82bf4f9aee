"""Every classifier on the same folds: three generated databases, and two tables that come with scikit-learn.

    python -m benchmarks.which [SET …] [--seed 0]

Prints a table for each data set, in Markdown: accuracy, areas under the ROC and recall-precision curves (of several
classes: the mean over them), log-loss, rules, and the least processor seconds of a fit, all over the same five folds.
Estimators have their defaults, but for 30 rounds of the ranking boosters, C²RIB^D with `stall=10,
ranking="existential"`, and queries of two literals for mLynx. LightGBM comes with `pip install '.[test]'`; without it,
its rows are left out.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.metrics import average_precision_score, log_loss, roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OrdinalEncoder, label_binarize

import hornboost as hb

FOLDS = 5
COLUMNS = ("estimator", "accuracy", "ROC area", "recall-precision area", "log-loss", "rules", "seconds")


def single(table: Any) -> tuple[None, Any, Any]:
    return None, table.data, table.target.to_numpy()


def related(data: Any) -> tuple[Any, Any, Any]:
    database = data.database()
    X, y = database.examples()
    return database, X, y.to_numpy()


SETS: dict[str, tuple[str, Callable[[int], tuple[Any, Any, Any]]]] = {
    "bank": (
        "A bank of seven tables: 800 loans, 10 % of the labels wrong",
        lambda seed: related(hb.datasets.bank(800, transactions=10, noise=0.1, seed=seed)),
    ),
    "trains": (
        "Trains and their cars: 800 trains, 10 % of the labels wrong",
        lambda seed: related(hb.datasets.trains(800, noise=0.1, seed=seed)),
    ),
    "pairs": (
        "Who advises whom: 4,040 pairs, 40 of them positive",
        lambda seed: related(hb.datasets.skewed_pairs(4040, skew=100, seed=seed)),
    ),
    "cancer": (
        "One table: `load_breast_cancer`, 569 examples, 30 numbers",
        lambda seed: single(load_breast_cancer(as_frame=True)),
    ),
    "wine": (
        "One table: `load_wine`, 178 examples, 13 numbers, 3 classes",
        lambda seed: single(load_wine(as_frame=True)),
    ),
}


def estimators(database: Any) -> Iterator[tuple[str, Any]]:
    """Those that apply to a database, or to a single table."""
    yield "HornBoost", hb.HornBoostClassifier(database, random_state=0)
    yield "HornBoost, `max_rules=10`", hb.HornBoostClassifier(database, max_rules=10, random_state=0)
    yield "C²RIB", hb.C2RIBClassifier(database, random_state=0)
    yield "C²RIB^D", hb.C2RIBClassifier(database, features="margin", stall=10, ranking="existential", random_state=0)
    yield "V3", hb.C2RIBClassifier(database, features="V3", random_state=0)
    yield "RankBoost", hb.RankBoostClassifier(database, rounds=30, random_state=0)
    yield "PRankBoost", hb.PRankBoostClassifier(database, rounds=30, random_state=0)
    yield "KBS", hb.KBSClassifier(database, base="clause", random_state=0)
    yield "AdaBoost.M1", hb.AdaBoostM1Classifier(database, base="clause", random_state=0)
    yield "LogitBoost", hb.LogitBoostClassifier(database, base="clause", random_state=0)
    if database is None:
        yield "AdaBoost.M1, trees", hb.AdaBoostM1Classifier(base="tree", random_state=0)
    else:
        yield "mLynx", hb.MLynxClassifier(database, max_length=2, max_patterns=2_000, restarts=5, random_state=0)
    if find_spec("lightgbm") is not None:
        yield trees(database)


def trees(database: Any) -> tuple[str, Any]:
    """LightGBM, of a database on its aggregates."""
    from lightgbm import LGBMClassifier

    learner = LGBMClassifier(n_jobs=1, random_state=0, verbose=-1)
    if database is None:
        return "LightGBM", learner
    names = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    numbers = make_column_transformer(
        (names, make_column_selector(dtype_exclude="number")), remainder="passthrough", verbose_feature_names_out=False
    )
    aggregates = hb.RelationalAggregates(database, max_depth=2)
    return "RelationalAggregates, LightGBM", make_pipeline(aggregates, numbers, learner)


def figures(estimator: Any, X: Any, y: Any, n_folds: int, seed: int) -> dict[str, float]:
    """Figures of held-out examples, means over the folds."""
    estimator = clone(estimator)
    folds = list(StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(X, y))
    found: list[dict[str, float]] = []
    for train, test in folds:
        started = time.process_time()
        estimator.fit(X.iloc[train], y[train])
        seconds = time.process_time() - started
        held_out = X.iloc[test]
        found.append(
            {
                "accuracy": float(np.mean(estimator.predict(held_out) == y[test])),
                **areas(estimator.predict_proba(held_out), y[test], estimator.classes_),
                "rules": n_rules(estimator),
                "seconds": seconds,
            }
        )
    means = {name: float(np.mean([one[name] for one in found])) for name in found[0]}
    return means | {"seconds": min(one["seconds"] for one in found)}  # of the others, one may compile kernels


def n_rules(estimator: Any) -> float:
    try:
        return len(estimator.rules_)
    except (AttributeError, hb.HornBoostError):  # trees of scikit-learn, or behind a booster
        return np.nan


def areas(probabilities: Any, y: Any, classes: Any) -> dict[str, float]:
    is_of = label_binarize(y, classes=classes)
    scores = probabilities if len(classes) > 2 else probabilities[:, 1]
    return {
        "ROC area": float(roc_auc_score(is_of, scores)),
        "recall-precision area": float(average_precision_score(is_of, scores)),
        "log-loss": float(log_loss(y, probabilities, labels=classes)),
    }


def row(name: str, of: dict[str, float]) -> str:
    rules = "" if np.isnan(of["rules"]) else f"{of['rules']:.0f}"
    shown = [f"{of['accuracy']:.1%}", *(f"{of[column]:.3f}" for column in COLUMNS[2:5]), rules, f"{of['seconds']:.2f}"]
    return f"| {' | '.join([name, *shown])} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"of {', '.join(SETS)}; all if none is named")
    parser.add_argument("--seed", type=int, default=0, help="other seeds give other data and folds")
    options = parser.parse_args()
    if unknown := set(options.sets) - set(SETS):
        parser.error(f"there is no set {min(unknown)!r}; choose of {', '.join(SETS)}")
    if find_spec("lightgbm") is None:
        print("LightGBM is not installed, so its rows are left out; pip install '.[test]' brings it\n", file=sys.stderr)
    warnings.simplefilter("ignore")
    for name in options.sets or SETS:
        title, make = SETS[name]
        database, X, y = make(options.seed)
        print(f"{title}:\n\n| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}", flush=True)
        for estimator, one in estimators(database):
            print(row(estimator, figures(one, X, y, FOLDS, options.seed)), flush=True)
        print()


if __name__ == "__main__":
    main()
