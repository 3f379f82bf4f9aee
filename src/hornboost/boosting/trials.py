"""Trials that a checkpoint keeps: the losses of those that are done, and of the one under way what was found so far."""

from __future__ import annotations

from collections.abc import Callable

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
        name = f"trial {self._number} {self._about}: {setting}"
        if self._checkpoint is None:
            return attempt([Memory() for _ in range(n_folds)])
        done = self._checkpoint.memory(name)
        if done.knows_more:
            return done.recall(lambda: None, _written, lambda outcome: _read(outcome, setting, n_folds))
        folds = [f"{name}, fold {fold}" for fold in range(n_folds)]
        trial = attempt([self._checkpoint.memory(fold) for fold in folds])
        if trial is not None and trial.is_whole and np.isfinite([*trial.losses, *trial.offsets]).all():
            done.recall(lambda: trial, _written, lambda outcome: _read(outcome, setting, n_folds))
            for fold in folds:
                self._checkpoint.forget(fold)
        return trial


def _written(trial: Trial | None) -> Outcome:
    assert trial is not None
    return Outcome((), (float(trial.rounds), *trial.of_folds, *trial.losses, *trial.offsets))


def _read(outcome: Outcome, setting: Setting, n_folds: int) -> Trial:
    rounds, *figures = outcome.figures
    of_folds, figures = figures[:n_folds], figures[n_folds:]
    losses, offsets = figures[: len(figures) // 2], figures[len(figures) // 2 :]
    if not 1 <= rounds <= len(losses) or len(losses) != len(offsets):
        raise ValueError(f"there are no {rounds:g} rounds")
    return Trial(setting, int(rounds), tuple(losses), tuple(offsets), tuple(of_folds))
