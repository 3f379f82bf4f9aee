"""Orthogonal gradient boosting of rules (fastogb), with 50 rules and conditions in all."""

# /// script
# requires-python = ">=3.10,<3.13"
# dependencies = ["fastogb==0.2.0", "pandas", "pyarrow"]
# [tool.peer]
# package = "fastogb"
# tables = "one"
# readable = true
# note = "grown a rule at a time while rules and conditions are 50 at most"
# [tool.peer.learners]
# fastogb = "fastogb, 50 rules and conditions"
# ///

from __future__ import annotations

from typing import Any


def prepare(task: Any, learner: str) -> Any:
    """Tables of objects, and which columns hold names."""
    columns = list(task.attributes)
    names = [name for name, kind in task.attributes.items() if kind == "nominal"]
    return task.train[columns].to_numpy(object), task.test[columns].to_numpy(object), columns, names


def fit(task: Any, data: Any, learner: str) -> Any:
    """The settings of the package's own example, a rule after the other."""
    import copy

    from fastogb import FullyCorrective, GeneralRuleBoostingEstimator, OrthogonalBoostingObjective

    model = GeneralRuleBoostingEstimator(
        num_rules=1,
        objective_function=OrthogonalBoostingObjective,
        weight_update_method=FullyCorrective(),
        loss="logistic",
        search="greedy",
        include_default_rule=True,
        search_params={"feature_names": data[2], "categorical": data[3]},
        objective_params={"epsilon": 1e-4},
    )
    y = task.is_positive * 2.0 - 1.0
    best = None
    for rules in range(1, 26):
        before = 0 if best is None else len(best.rules_)
        model.num_rules = rules
        model.fit(data[0], y)
        if sum(size(model).values()) > 50 or len(model.rules_) == before:
            break
        best = copy.deepcopy(model)
    return best


def predict(task: Any, data: Any, model: Any) -> Any:
    """Probabilities of the positive class."""
    found = model.predict_proba(data[1])
    return found[:, 1] if found.ndim == 2 else found


def size(model: Any) -> dict[str, int]:
    """Rules, the default rule among them, and their conditions."""
    members = model.rules_.members
    return {"rules": len(members), "conditions": sum(len(rule.q) for rule in members)}


def warm_up() -> None:
    """Compile what is compiled on first use."""
    import numpy as np
    from fastogb import FullyCorrective, GeneralRuleBoostingEstimator, OrthogonalBoostingObjective

    X = np.array([[float(i % 7), "ab"[i % 2]] for i in range(60)], object)
    y = np.where(np.arange(60) % 7 > 3, 1.0, -1.0)
    model = GeneralRuleBoostingEstimator(
        num_rules=2,
        objective_function=OrthogonalBoostingObjective,
        weight_update_method=FullyCorrective(),
        loss="logistic",
        search="greedy",
        search_params={"feature_names": ["a", "b"], "categorical": ["b"]},
        objective_params={"epsilon": 1e-4},
    )
    model.fit(X, y).predict_proba(X)
