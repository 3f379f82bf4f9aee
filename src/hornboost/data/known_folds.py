"""Folds that a schema names: who is learned from and who is predicted where each of them is held out."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hornboost.data.built import Built, FoldValues
from hornboost.data.schema import Schema
from hornboost.errors import DataError, did_you_mean

Split = tuple[NDArray[np.intp], NDArray[np.intp]]


def known_folds(schema: Schema, built: Built, name: str | None = None) -> list[Split]:
    """The splits of some folds, or of the first that belong to the rows of the target; see `Database.folds`."""
    known = [folds.name for folds in schema.folds]
    if not known:
        raise DataError(
            f"{schema.location}: the schema names no folds; take some at random, with --cv or sklearn.model_selection"
        )
    name = _first(schema, built) if name is None else name
    if name not in known:
        raise DataError(f"{schema.location}: there are no folds '{name}'{did_you_mean(name, known)}")
    if name not in built.folds:
        raise DataError(
            f"{schema.location}: the folds '{name}' are a file of their own; use examples(held_out='{name}')"
        )
    folds = built.folds[name]
    if folds.problem is not None:
        raise DataError(f"{schema.location}: {folds.problem}")
    is_one_split = set(folds.values) in ({"train", "test"}, {"train", "val"})
    tests = [1 - folds.values.index("train")] if is_one_split else range(len(folds.values))
    return [_split(folds, test, f"{schema.location}: the folds '{name}'") for test in tests]


def _first(schema: Schema, built: Built) -> str:
    for folds in schema.folds:
        if folds.file is None and built.folds[folds.name].problem is None:
            return folds.name
    others = ", ".join(f"'{folds.name}'" for folds in schema.folds)
    problem = f"none of the folds {others} belong to the rows of table '{built.labelled.target.table}'"
    raise DataError(f"{schema.location}: {problem}; use the splitters of sklearn.model_selection")


def _split(folds: FoldValues, test: int, place: str) -> Split:
    """Who is learned from and who is predicted where one of the values is held out."""
    parts = (
        np.flatnonzero((folds.of_example >= 0) & (folds.of_example != test)),
        np.flatnonzero(folds.of_example == test),
    )
    for what, part in zip(("train on", "test on"), parts, strict=True):
        if part.size == 0:
            raise DataError(
                f"{place} leave no example to {what} where '{folds.values[test]}' is held out; correct the folds, or "
                "split with sklearn.model_selection"
            )
    return parts
