"""LightGBM and scikit-learn's HistGradientBoosting on a single table; names are categories."""

# /// script
# requires-python = ">=3.10,<3.13"
# dependencies = ["lightgbm==4.7.0", "scikit-learn", "pandas", "pyarrow"]
# [tool.peer]
# package = "lightgbm"
# tables = "one"
# [tool.peer.learners]
# lightgbm = "LightGBM"
# histgradientboosting = "HistGradientBoosting"
# ///

from __future__ import annotations

from typing import Any


def prepare(task: Any, learner: str) -> Any:
    """Names as categories that training and test examples share."""
    import pandas as pd

    train, test = (part[list(task.attributes)].copy() for part in (task.train, task.test))
    for name, kind in task.attributes.items():
        if kind == "nominal":
            train[name] = train[name].astype("category")
            test[name] = pd.Categorical(test[name], categories=train[name].cat.categories)
        elif kind == "date":
            train[name], test[name] = train[name].astype("int64"), test[name].astype("int64")
    return train, test


def fit(task: Any, data: Any, learner: str) -> Any:
    """Trees until a tenth of the training examples says that they are enough, as both packages' guides have it."""
    from lightgbm import LGBMClassifier, early_stopping
    from sklearn.ensemble import HistGradientBoostingClassifier
    from sklearn.model_selection import train_test_split

    X, y = data[0], task.is_positive
    if learner == "histgradientboosting":
        few = X.select_dtypes("category").nunique()
        categories = [name in few and few[name] <= 255 for name in X.columns]
        X = X.assign(**{name: X[name].cat.codes.where(X[name].notna()) for name in few.index if few[name] > 255})
        model = HistGradientBoostingClassifier(
            categorical_features=categories, early_stopping=True, max_iter=1000, random_state=0
        )
        return model.fit(X, y)
    grown, held, of_grown, of_held = train_test_split(X, y, test_size=0.1, stratify=y, random_state=0)
    model = LGBMClassifier(n_estimators=1000, learning_rate=0.05, n_jobs=1, random_state=0, verbose=-1)
    return model.fit(grown, of_grown, eval_set=[(held, of_held)], callbacks=[early_stopping(50, verbose=False)])


def predict(task: Any, data: Any, model: Any) -> Any:
    """Probabilities of the positive class."""
    return model.predict_proba(data[1])[:, 1]


def size(model: Any) -> None:
    """Nothing that could be read."""
