"""HornBoost with its defaults, and the learners of the papers."""

# /// script
# requires-python = ">=3.11"
# dependencies = []
# [tool.peer]
# package = "hornboost"
# tables = "many"
# ours = true
# readable = true
# [tool.peer.learners]
# hornboost = "HornBoost"
# fixed = "HornBoost, nothing tuned"
# fifty = "HornBoost, 50 rules and conditions"
# c2rib = "C²RIB^D"
# prankboost = "PRankBoost"
# mlynx = "mLynx"
# kbs = "KBS"
# ///

from __future__ import annotations

from typing import Any

FIXED: dict[str, Any] = {
    "rounds": 60,
    "learning_rate": 0.3,
    "max_literals": 3,
    "max_depth": 2,
    "constants": False,
    "corrective": False,
    "subsample": 1.0,
    "min_gain": 4.0,
    "random_state": 0,
    "n_jobs": 1,
}
"""All that `HornBoostClassifier` would choose by cross-validation, set once for all sets."""


def cannot(task: Any, learner: str) -> str | None:
    """mLynx looks for patterns that join."""
    return "joins tables, and here is one" if learner == "mlynx" and not task.tables else None


def prepare(task: Any, learner: str) -> Any:
    """Declare the tables."""
    import pandas as pd

    import hornboost as hb

    if not task.tables and not task.key:
        return None
    return hb.Database.from_frames(
        {task.target: pd.concat([task.train, task.test]), **task.tables},
        target=task.target,
        key=task.key,
        label=task.label,
        positive=task.positive,
        keys=task.domains,
        foreign_keys=[tuple(link) for link in task.foreign_keys],
        types={f"{table}.{name}": kind for table, columns in task.columns.items() for name, kind in columns.items()},
    )


def fit(task: Any, data: Any, learner: str) -> Any:
    """Fit a classifier with nothing set, with all set, or with so few rules that they and their conditions are 50."""
    import hornboost as hb

    X, y = task.train.drop(columns=task.label), task.train[task.label]
    if learner == "fixed":
        return hb.HornBoostClassifier(data, **FIXED, aggregates=bool(task.foreign_keys)).fit(X, y)
    if learner != "fifty":
        return estimator(data, learner).fit(X, y)
    most = 16
    while True:
        model = hb.HornBoostClassifier(data, max_rules=most, random_state=0, n_jobs=1).fit(X, y)
        parts = sum(size(model).values())
        if parts <= 50 or most == 1:
            return model
        most = min(most - 1, int(most * 50 / parts))


def estimator(data: Any, learner: str) -> Any:
    """The classifier of a name."""
    import hornboost as hb

    if learner == "c2rib":
        return hb.C2RIBClassifier(data, features="margin", random_state=0)
    if learner == "prankboost":
        return hb.PRankBoostClassifier(data, random_state=0)
    if learner == "mlynx":
        return hb.MLynxClassifier(data, random_state=0)
    if learner == "kbs":
        return hb.KBSClassifier(data, base="clause", rounds=30, random_state=0)
    return hb.HornBoostClassifier(data, random_state=0, n_jobs=1)


def predict(task: Any, data: Any, model: Any) -> Any:
    """Probabilities of the positive class."""
    return model.predict_proba(task.test)[:, list(model.classes_).index(task.positive)]


def size(model: Any) -> dict[str, int]:
    """Rules, and the conditions in their bodies."""
    rules = model.rules_
    return {"rules": len(rules), "conditions": sum(rule.clause.length for rule in rules)}


def warm_up() -> None:
    """Compile the kernels of all learners, or read them from where they are kept."""
    import hornboost as hb

    database = hb.datasets.bank(60, transactions=4, noise=0.1).database()
    X, y = database.examples()
    for learner in ("hornboost", "c2rib", "prankboost", "mlynx", "kbs"):
        estimator(database, learner).fit(X, y).predict_proba(X)
