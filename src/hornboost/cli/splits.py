"""The folds that `evaluate` is asked for: at random, known ones, by group, and splits in time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hornboost.errors import DataError, counted

if TYPE_CHECKING:
    from hornboost.data import Database

USUAL = 10
"""Folds at random, where nothing else is asked for."""


@dataclass(frozen=True, eq=False)
class AskedFolds:
    """What to learn from and what to predict, in each fold; splits in time also have the moments of the split."""

    parts: list[tuple[Any, Any]]
    moments: tuple[str, ...] = ()
    groups: str | None = None

    @property
    def what(self) -> str:
        """What a fold is called."""
        return "split" if self.moments else "fold"

    def about(self, number: int) -> dict[str, Any]:
        """What is known about a fold before anything is learned."""
        if not self.moments:
            return {"fold": number}
        train, test = self.parts[number - 1]
        return {"fold": number, "from": self.moments[number - 1], "train": len(train), "test": len(test)}

    @property
    def tested(self) -> Any:
        """The examples that are predicted in some fold."""
        return np.unique(np.concatenate([test for _, test in self.parts]))


def asked_folds(
    database: Database,
    y: Any,
    cv: int | None,
    folds: str | None,
    groups: str | None,
    split: Sequence[str] | None,
    rolling: int | None,
    horizon: str | None,
    seed: int,
) -> list[AskedFolds]:
    """The folds in the order in which they are told; those at random are left out if only others are asked for."""
    if split and rolling is not None:
        raise DataError("--split names the moments and --rolling asks for some; give one of them")
    if horizon is not None and not split and rolling is None:
        raise DataError("--horizon leaves out examples at a split in time; give --split or --rolling as well")
    if folds is not None and groups is not None:
        raise DataError("--folds names known folds and --groups asks for others; give one of them")
    found = [AskedFolds(database.folds(folds))] if folds is not None else []
    if groups is not None:
        found.append(AskedFolds(database.folds(groups=groups, n_splits=cv), groups=groups))
    elif folds is None and (cv is not None or not (split or rolling)):
        at_random = _shuffled if database.label_kind == "numbers" else _stratified
        found.append(AskedFolds(at_random(y, USUAL if cv is None else cv, seed)))
    if split or rolling is not None:
        from hornboost.data.splits import splits_in_time

        splits = splits_in_time(database, list(split) if split else None, rolling, horizon)
        found.append(AskedFolds([(one.train, one.test) for one in splits], tuple(one.moment for one in splits)))
    return found


def _stratified(y: Any, cv: int, seed: int) -> list[tuple[Any, Any]]:
    from sklearn.model_selection import StratifiedKFold

    counts = np.unique(np.asarray(y), return_counts=True)[1]
    if counts.min() < cv:
        few = counted(counts.min(), "example")
        way_out = "give a smaller --cv" if counts.min() > 1 else "give more examples of it"
        raise DataError(f"the smallest class has {few}, too few for {cv} folds; {way_out}")
    return list(StratifiedKFold(cv, shuffle=True, random_state=seed).split(np.zeros(len(y)), y))


def _shuffled(y: Any, cv: int, seed: int) -> list[tuple[Any, Any]]:
    from sklearn.model_selection import KFold

    if len(y) < 2 * cv:
        raise DataError(f"{len(y)} examples are too few for {cv} folds of at least two; give a smaller --cv")
    return list(KFold(cv, shuffle=True, random_state=seed).split(np.zeros(len(y))))
