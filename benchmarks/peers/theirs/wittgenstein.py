"""RIPPER of wittgenstein on a single table."""

# /// script
# requires-python = ">=3.10,<3.13"
# dependencies = ["wittgenstein==0.3.5", "scikit-learn", "pandas", "pyarrow"]
# [tool.peer]
# package = "wittgenstein"
# tables = "one"
# readable = true
# [tool.peer.learners]
# ripper = "RIPPER (wittgenstein)"
# ///

from __future__ import annotations

from typing import Any


def prepare(task: Any, learner: str) -> Any:
    """A name of its own for missing names, and the median where a number is missing."""
    train, test = (part[list(task.attributes)].copy() for part in (task.train, task.test))
    for name, kind in task.attributes.items():
        filler = "missing" if kind == "nominal" else train[name].median()
        train[name], test[name] = train[name].fillna(filler), test[name].fillna(filler)
    return train, test


def fit(task: Any, data: Any, learner: str) -> Any:
    """RIPPERk with its defaults."""
    import wittgenstein

    model = wittgenstein.RIPPER(random_state=0)
    model.fit(data[0], y=task.is_positive, pos_class=True)
    return model


def predict(task: Any, data: Any, model: Any) -> Any:
    """Probabilities of the positive class."""
    return model.predict_proba(data[1])[:, 1]


def size(model: Any) -> dict[str, int]:
    """Rules and their conditions."""
    rules = model.ruleset_.rules
    return {"rules": len(rules), "conditions": sum(len(rule.conds) for rule in rules)}
