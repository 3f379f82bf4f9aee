"""Features of featuretools (deep feature synthesis), learned from by LightGBM."""

# /// script
# requires-python = ">=3.10,<3.13"
# dependencies = ["featuretools==1.31.0", "lightgbm==4.7.0", "scikit-learn", "pandas<3", "pyarrow", "setuptools<81"]
# [tool.peer]
# package = "featuretools"
# tables = "many"
# [tool.peer.learners]
# plain = "featuretools + LightGBM"
# interesting = "featuretools with interesting values + LightGBM"
# ///

from __future__ import annotations

from typing import Any


def cannot(task: Any, learner: str) -> str | None:
    """Tables that share keys without a reference between them."""
    return "needs foreign keys, which these tables do not have" if task.tables and not task.foreign_keys else None


def prepare(task: Any, learner: str) -> Any:
    """An entity set: each table needs an index of its own, and each reference is a relationship."""
    import featuretools as ft
    import pandas as pd

    entities = ft.EntitySet(task.name)
    target = pd.concat([task.train.drop(columns=task.label), task.test], ignore_index=True)
    for name, frame in {**task.tables, task.target: target}.items():
        kinds = task.columns[name]
        types = {column: "Double" for column, kind in kinds.items() if kind == "numeric"}
        types |= {column: "Categorical" for column, kind in kinds.items() if kind in ("nominal", "key")}
        index = task.primary_keys.get(name, f"{name}_row")
        if index not in frame:
            frame = frame.assign(**{index: range(len(frame))})
        entities.add_dataframe(
            frame,
            name,
            index=index,
            logical_types={**types, index: "Integer" if frame[index].dtype.kind == "i" else "Categorical"},
        )
    for source, to in task.foreign_keys:
        (child, column), (parent, index) = source.split("."), to.split(".")
        if task.primary_keys.get(parent) == index:
            entities.add_relationship(parent, index, child, column)
    if learner == "interesting":
        prepare_interesting(task, entities)
    return entities


def prepare_interesting(task: Any, entities: Any) -> None:
    """The most frequent values of every column of names, to be aggregated over separately."""
    for name, columns in task.columns.items():
        for column, kind in columns.items():
            if kind == "nominal" and name != task.target:
                values = task.tables[name][column].value_counts().index[:5].tolist()
                entities.add_interesting_values(dataframe_name=name, values={column: values})


def fit(task: Any, data: Any, learner: str) -> Any:
    """Features up to two joins deep, of all examples, and LightGBM on those of the training examples."""
    import featuretools as ft
    from lightgbm import LGBMClassifier, early_stopping
    from sklearn.model_selection import train_test_split

    where = ["count", "mean", "max", "min"] if learner == "interesting" else None
    matrix, _ = ft.dfs(
        entityset=data, target_dataframe_name=task.target, max_depth=2, where_primitives=where, verbose=False, n_jobs=1
    )
    n_train = len(task.train)
    index = task.primary_keys.get(task.target)
    if index is not None:
        matrix = matrix.loc[[*task.train[index], *task.test[index]]]
    matrix = matrix.drop(columns=[name for name in task.key if name in matrix])
    for name in matrix:
        if matrix[name].dtype.kind not in "iufb":
            kept = matrix[name].iloc[:n_train].value_counts().index[:250]
            matrix[name] = matrix[name].astype(object).where(matrix[name].isin(kept)).astype("category")
    matrix = matrix.set_axis([f"f{number}" for number in range(matrix.shape[1])], axis=1)
    X, y = matrix.iloc[:n_train], task.is_positive
    grown, held, of_grown, of_held = train_test_split(X, y, test_size=0.1, stratify=y, random_state=0)
    model = LGBMClassifier(n_estimators=1000, learning_rate=0.05, n_jobs=1, random_state=0, verbose=-1)
    model.fit(grown, of_grown, eval_set=[(held, of_held)], callbacks=[early_stopping(50, verbose=False)])
    return model, matrix.iloc[n_train:]


def predict(task: Any, data: Any, model: Any) -> Any:
    """Probabilities of the positive class; the features of the test examples were made beside the others."""
    return model[0].predict_proba(model[1])[:, 1]


def size(model: Any) -> None:
    """Nothing that could be read."""
