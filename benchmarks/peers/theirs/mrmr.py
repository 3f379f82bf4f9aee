"""The ten columns that mrmr-selection takes, learned from by HistGradientBoosting."""

# /// script
# requires-python = ">=3.10,<3.13"
# dependencies = ["mrmr-selection==0.2.8", "scikit-learn", "pandas", "pyarrow"]
# [tool.peer]
# package = "mrmr-selection"
# tables = "one"
# note = "selects columns and does not classify: HistGradientBoosting learns from them"
# [tool.peer.learners]
# ten = "mrmr-selection, ten columns + HistGradientBoosting"
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
    return train.fillna(medians), test.fillna(medians)


def fit(task: Any, data: Any, learner: str) -> Any:
    """Select, and learn."""
    import pandas as pd
    from mrmr import mrmr_classif
    from sklearn.ensemble import HistGradientBoostingClassifier

    y = pd.Series(task.is_positive.astype(int), index=data[0].index)
    chosen = mrmr_classif(X=data[0], y=y, K=min(10, data[0].shape[1]), n_jobs=1, show_progress=False)
    model = HistGradientBoostingClassifier(early_stopping=True, max_iter=1000, random_state=0)
    return model.fit(data[0][chosen], y), chosen


def predict(task: Any, data: Any, model: Any) -> Any:
    """Probabilities of the positive class."""
    return model[0].predict_proba(data[1][model[1]])[:, 1]


def size(model: Any) -> None:
    """Nothing that could be read."""
