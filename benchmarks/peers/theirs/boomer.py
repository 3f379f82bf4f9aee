"""BOOMER (mlrl-boomer): gradient-boosted rules on a single table."""

# /// script
# requires-python = ">=3.10,<3.13"
# dependencies = ["mlrl-boomer==0.12.3", "pandas", "pyarrow"]
# [tool.peer]
# package = "mlrl-boomer"
# tables = "one"
# readable = true
# note = "missing names are a name of their own: left missing, its AUC on horse-colic was 0.66, not 0.88"
# [tool.peer.learners]
# boomer = "BOOMER"
# ///

from __future__ import annotations

from typing import Any


def prepare(task: Any, learner: str) -> Any:
    """Numbers for names, counted from 0, with one for missing names; missing numbers may stay."""
    import pandas as pd

    train, test = (part[list(task.attributes)].copy() for part in (task.train, task.test))
    for name, kind in task.attributes.items():
        if kind == "nominal":
            train[name], test[name] = train[name].fillna("missing"), test[name].fillna("missing")
            codes = {value: float(code) for code, value in enumerate(pd.concat([train[name], test[name]]).unique())}
            train[name], test[name] = train[name].map(codes), test[name].map(codes)
    nominal = [number for number, kind in enumerate(task.attributes.values()) if kind == "nominal"]
    return train.to_numpy("float32"), test.to_numpy("float32"), nominal


def fit(task: Any, data: Any, learner: str) -> Any:
    """The classifier with its defaults: 1,000 rules, a step of 0.3."""
    from mlrl.boosting import BoomerClassifier

    y = task.is_positive.astype("uint8").reshape(-1, 1)
    return BoomerClassifier(random_state=1).fit(data[0], y, nominal_feature_indices=data[2])


def predict(task: Any, data: Any, model: Any) -> Any:
    """Probabilities of the positive class."""
    import numpy as np

    found = model.predict_proba(data[1])
    found = found.toarray() if hasattr(found, "toarray") else np.asarray(found)
    return found.reshape(len(task.test), -1)[:, -1]


def size(model: Any) -> dict[str, int]:
    """Rules, the default rule among them, and their conditions."""
    from mlrl.common.cython.rule_model import RuleModelVisitor

    class Counter(RuleModelVisitor):  # type: ignore[misc]
        conditions = 0

        def visit_empty_body(self, body: Any) -> None: ...

        def visit_conjunctive_body(self, body: Any) -> None:
            parts = (
                part for name in dir(body) if name.endswith("_indices") and (part := getattr(body, name)) is not None
            )
            self.conditions += sum(len(part) for part in parts)

        def visit_complete_head(self, head: Any) -> None: ...

        def visit_partial_head(self, head: Any) -> None: ...

    counter = Counter()
    model.model_.visit_used(counter)
    return {"rules": int(model.model_.get_num_used_rules()), "conditions": counter.conditions}
