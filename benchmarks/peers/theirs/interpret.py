"""Explainable boosting machines of interpret on a single table."""

# /// script
# requires-python = ">=3.10,<3.13"
# dependencies = ["interpret-core==0.7.8", "pandas", "pyarrow"]
# [tool.peer]
# package = "interpret-core"
# tables = "one"
# note = "a model is a curve for each column and for pairs of columns; it has no rules to be counted"
# [tool.peer.learners]
# ebm = "EBM (interpret)"
# ///

from __future__ import annotations

from typing import Any


def prepare(task: Any, learner: str) -> Any:
    """The columns as they are, with their kinds."""
    kinds = ["nominal" if kind == "nominal" else "continuous" for kind in task.attributes.values()]
    return task.train[list(task.attributes)], task.test[list(task.attributes)], kinds


def fit(task: Any, data: Any, learner: str) -> Any:
    """The classifier with its defaults."""
    from interpret.glassbox import ExplainableBoostingClassifier

    model = ExplainableBoostingClassifier(feature_types=data[2], random_state=0, n_jobs=1)
    return model.fit(data[0], task.is_positive)


def predict(task: Any, data: Any, model: Any) -> Any:
    """Probabilities of the positive class."""
    return model.predict_proba(data[1])[:, 1]


def size(model: Any) -> None:
    """There are curves, and no rules."""
