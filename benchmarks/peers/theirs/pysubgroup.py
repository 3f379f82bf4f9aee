"""Subgroups of pysubgroup; an example is as likely to be positive as the training examples of its best subgroup."""

# /// script
# requires-python = ">=3.10,<3.13"
# dependencies = ["pysubgroup==0.9.0", "pandas", "pyarrow<20"]
# [tool.peer]
# package = "pysubgroup"
# tables = "one"
# readable = true
# note = "describes and does not classify: what it predicts is our reading of its ten best subgroups"
# [tool.peer.learners]
# beam = "ten subgroups (pysubgroup)"
# ///

from __future__ import annotations

from typing import Any


def prepare(task: Any, learner: str) -> Any:
    """The columns as they are, names as text."""
    train, test = (part[list(task.attributes)].copy() for part in (task.train, task.test))
    for name, kind in task.attributes.items():
        if kind == "nominal":
            train[name], test[name] = train[name].astype(object), test[name].astype(object)
    return train.assign(is_positive=task.is_positive), test


def fit(task: Any, data: Any, learner: str) -> Any:
    """The ten best subgroups of up to three conditions by weighted relative accuracy, found by beam search."""
    import pysubgroup

    target = pysubgroup.BinaryTarget("is_positive", True)
    space = pysubgroup.create_selectors(data[0], ignore=["is_positive"])
    problem = pysubgroup.SubgroupDiscoveryTask(
        data[0], target, space, result_set_size=10, depth=3, qf=pysubgroup.WRAccQF()
    )
    return pysubgroup.BeamSearch(beam_width=50).execute(problem)


def predict(task: Any, data: Any, model: Any) -> Any:
    """The share of positives in the purest of the subgroups that cover an example, or in all that none covers."""
    import numpy as np

    train, test = data
    positive, left = task.is_positive, np.ones(len(train), bool)
    found = np.full(len(test), -1.0)
    for _, subgroup, *_ in model.results:
        covered = np.asarray(subgroup.covers(train), bool)
        left &= ~covered
        share = (positive[covered].sum() + 1) / (covered.sum() + 2)
        found = np.where(np.asarray(subgroup.covers(test), bool), np.maximum(found, share), found)
    rest = (positive[left].sum() + 1) / (left.sum() + 2)
    return np.where(found < 0, rest, found)


def size(model: Any) -> dict[str, int]:
    """Subgroups and their conditions."""
    return {
        "rules": len(model.results),
        "conditions": sum(len(subgroup.selectors) for _, subgroup, *_ in model.results),
    }
