"""getML community: features of FastProp, learned from by XGBoost."""

# /// script
# requires-python = ">=3.10,<3.13"
# dependencies = ["getml==1.5.1", "pandas", "pyarrow"]
# [tool.peer]
# package = "getml"
# tables = "many"
# [tool.peer.learners]
# fastprop = "getML FastProp + XGBoost"
# ///

from __future__ import annotations

from typing import Any

DEPTH = 3
"""Joins between an example and a row that features are made of."""


def cannot(task: Any, learner: str) -> str | None:
    """Tables that share keys without a reference between them."""
    return "needs foreign keys, which these tables do not have" if task.tables and not task.foreign_keys else None


def prepare(task: Any, learner: str) -> Any:
    """Frames with roles, and a data model: a copy of a table for each way of joins that leads to it."""
    import getml

    parts = {"train": task.train.assign(is_positive=task.is_positive), "test": task.test.assign(is_positive=0)}
    frames = {part: prepare_frame(task, task.target, frame, part) for part, frame in parts.items()}
    others = {name: prepare_frame(task, name, frame, name) for name, frame in task.tables.items()}
    model = getml.data.DataModel(frames["train"].to_placeholder("population"))
    copies = dict.fromkeys(others, 0)
    prepare_joins(task, model, model.population, task.target, others, copies, DEPTH)
    container = getml.data.Container(**frames)
    container.add(**{name: others[name] for name, used in copies.items() if used})
    container.freeze()
    return model, container


def prepare_frame(task: Any, name: str, frame: Any, shown: str) -> Any:
    """A table in the engine: keys, names, numbers and times have roles of their own."""
    import getml

    kinds = task.columns[name]
    roles = {"key": "join_key", "nominal": "categorical", "numeric": "numerical", "date": "numerical"}
    found: dict[str, list[str]] = {"target": ["is_positive"]} if "is_positive" in frame else {}
    for column, kind in kinds.items():
        found.setdefault(roles[kind], []).append(column)
    frame = frame[[*kinds, *found.get("target", [])]].copy()
    for column, kind in kinds.items():
        if kind == "date":
            frame[column] = frame[column].astype("int64").astype(float)
        elif kind != "numeric":
            frame[column] = frame[column].astype(str).where(frame[column].notna(), None)
    if "is_positive" in frame:
        frame["is_positive"] = frame["is_positive"].astype(float)
    return getml.data.DataFrame.from_pandas(frame, name=shown, roles=found)


def prepare_joins(
    task: Any, model: Any, at: Any, name: str, others: Any, copies: Any, depth: int, came: Any = None
) -> None:
    """Follow each reference, in both directions, except back over the one that led here."""
    for source, to in task.foreign_keys if depth else ():
        for here, there in ((source, to), (to, source)):
            (table, column), (other, other_column) = here.split("."), there.split(".")
            if table != name or other == task.target or (source, to) == came:
                continue
            placeholder = others[other].to_placeholder(other)
            relationship = "many-to-one" if there == to else "many-to-many"
            at.join(placeholder, on=(column, other_column), relationship=relationship)
            copies[other] += 1
            prepare_joins(task, model, placeholder, other, others, copies, depth - 1, (source, to))


def fit(task: Any, data: Any, learner: str) -> Any:
    """FastProp and XGBoost with their defaults and one thread."""
    import getml

    model, container = data
    pipe = getml.pipeline.Pipeline(
        data_model=model,
        feature_learners=[
            getml.feature_learning.FastProp(
                loss_function=getml.feature_learning.loss_functions.CrossEntropyLoss, num_threads=1
            )
        ],
        predictors=[getml.predictors.XGBoostClassifier(n_jobs=1)],
    )
    return pipe.fit(container.train, check=False)


def predict(task: Any, data: Any, model: Any) -> Any:
    """Probabilities of the positive class."""
    import numpy as np

    return np.asarray(model.predict(data[1].test)).ravel()


def warm_up() -> None:
    """Start the engine, with all that it keeps inside the environment."""
    import sys

    import getml

    getml.engine.launch(home_directory=sys.prefix, launch_browser=False, allow_push_notifications=False, in_memory=True)
    getml.engine.set_project("peers")


def size(model: Any) -> None:
    """Nothing that could be read."""
