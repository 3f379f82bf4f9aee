"""Trials that a checkpoint keeps: the losses of those that are done, and of the one under way what was found so far."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import islice

import numpy as np

from hornboost.boosting.tuning import Setting, Trial
from hornboost.learners.memory import Memory, Outcome
from hornboost.model.checkpoint import Checkpoint


class KeptTrials:
    """The trials of settings on the examples that `about` tells of, in the order in which they are tried.

    That order depends on what came out of the trials before, so a fit that goes on comes by the same ones.
    """

    def __init__(self, checkpoint: Checkpoint | None, about: str) -> None:
        self._checkpoint = checkpoint
        self._about = about
        self._number = 0

    def trial(self, setting: Setting, n_folds: int, attempt: Callable[[list[Memory]], Trial | None]) -> Trial | None:
        """The next trial, known or attempted, with the memory of each fold."""
        self._number += 1
        name = f"trial {self._number}, start and losses beside the best {self._about}: {setting}"
        if self._checkpoint is None:
            return attempt([Memory() for _ in range(n_folds)])
        done = self._checkpoint.memory(name)
        if done.knows_more:
            return done.recall(lambda: None, _written, lambda outcome: _read(outcome, setting))
        folds = [f"{name}, fold {fold}" for fold in range(n_folds)]
        trial = attempt([self._checkpoint.memory(fold) for fold in folds])
        if trial is not None and trial.is_whole and np.isfinite([*trial.losses, *trial.offsets]).all():
            done.recall(lambda: trial, _written, lambda outcome: _read(outcome, setting))
            for fold in folds:
                self._checkpoint.forget(fold)
        return trial


def _written(trial: Trial | None) -> Outcome:
    assert trial is not None
    kind = (float(trial.rounds), float(trial.is_given_up), float(len(trial.of_folds)), float(len(trial.losses)))
    ends = (trial.start, trial.early) if trial.of_folds else ()
    beside = () if trial.beside is None else (trial.beside,)
    return Outcome((), (*kind, *ends, *trial.of_folds, *trial.losses, *trial.offsets, *beside))


def _read(outcome: Outcome, setting: Setting) -> Trial:
    rounds, is_given_up, n_folds, n = (int(figure) for figure in outcome.figures[:4])
    figures = iter(outcome.figures[4:])
    start, early = (next(figures, math.nan), next(figures, math.nan)) if n_folds else (math.nan, math.nan)
    of_folds, losses = tuple(islice(figures, n_folds)), tuple(islice(figures, n))
    offsets = tuple(islice(figures, n if n_folds else 0))
    beside = tuple(figures)
    if not 1 <= rounds <= n or len(losses) != n or len(offsets) != (n if n_folds else 0) or len(beside) > 1:
        raise ValueError(f"there are no {rounds} rounds")
    beaten = beside[0] if beside else None
    return Trial(setting, rounds, losses, offsets, of_folds, start, early, beaten, bool(is_given_up))
