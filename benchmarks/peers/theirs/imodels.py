"""Rule learners of imodels on a single table; names are turned into columns of 0 and 1."""

# /// script
# requires-python = ">=3.10,<3.13"
# dependencies = ["imodels==3.0.4", "six", "pandas", "pyarrow"]
# [tool.peer]
# package = "imodels"
# tables = "one"
# readable = true
# note = "imports `six`, which it does not install"
# [tool.peer.learners]
# slipper = "SLIPPER (imodels)"
# boosted = "BoostedRules (imodels)"
# skope = "SkopeRules (imodels)"
# figs = "FIGS (imodels)"
# ///

from __future__ import annotations

from typing import Any


def prepare(task: Any, learner: str) -> Any:
    """A column for each name, and the median where a number is missing."""
    import pandas as pd

    train, test = (part[list(task.attributes)] for part in (task.train, task.test))
    names = [name for name, kind in task.attributes.items() if kind == "nominal"]
    train, test = (pd.get_dummies(part, columns=names, dtype=float) for part in (train, test))
    test = test.reindex(columns=train.columns, fill_value=0.0)
    medians = train.median()
    return train.fillna(medians).to_numpy(float), test.fillna(medians).to_numpy(float), list(train.columns)


def fit(task: Any, data: Any, learner: str) -> Any:
    """The learner with its defaults. SLIPPER's first rule may be worse than none by chance: then with another seed."""
    from imodels import BoostedRulesClassifier, FIGSClassifier, SkopeRulesClassifier, SlipperClassifier

    kind = {
        "slipper": SlipperClassifier,
        "boosted": BoostedRulesClassifier,
        "skope": SkopeRulesClassifier,
        "figs": FIGSClassifier,
    }[learner]
    for seed in range(10 if learner == "slipper" else 1):
        try:
            return kind(random_state=seed).fit(data[0], task.is_positive.astype(int), feature_names=data[2])
        except ValueError as error:
            failure = error
    raise failure


def predict(task: Any, data: Any, model: Any) -> Any:
    """Probabilities of the positive class."""
    return model.predict_proba(data[1])[:, 1]


def size(model: Any) -> dict[str, int] | None:
    """Rules and their conditions; of FIGS, trees and their splits."""
    name = type(model).__name__
    if name == "FIGSClassifier":
        return {"rules": len(model.trees_), "conditions": int(model.complexity_)}
    if name == "SlipperClassifier":
        return {"rules": len(model.estimators_), "conditions": sum(len(each.rule) for each in model.estimators_)}
    if name == "BoostedRulesClassifier":
        return {"rules": len(model.estimators_), "conditions": len(model.estimators_)}
    return {"rules": len(model.rules_), "conditions": sum(len(rule.agg_dict) for rule in model.rules_)}
