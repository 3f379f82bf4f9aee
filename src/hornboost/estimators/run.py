"""A boosting loop under way: its rounds are counted, told, watched on other examples, and kept whatever ends it."""

from __future__ import annotations

import logging
import math
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from hornboost.estimators.examples import Targets
from hornboost.learners.hypotheses import Floats, Rows
from hornboost.learners.memory import Memory
from hornboost.model.votes import Round, Tally, Vote
from hornboost.stopping import NONE_BETTER, check, unstopped, untimed

_log = logging.getLogger("hornboost")

Callback = Callable[[dict[str, Any]], object]
"""Told each round's row of the history; boosting ends when it returns True."""

Measure = Callable[[Floats, Targets, Floats], dict[str, float]]
"""Scores, labels and weights of examples → named figures, the first of which is a loss."""

ASKED = "a callback asked for the end"

Loop = Generator[Round, None, str]
"""A boosting loop: it yields a round at a time, for as long as it is asked, and returns why it ended by itself."""


class Watched:
    """Examples that are not learned from, scored round by round."""

    def __init__(self, rows: Rows, y: Targets, weights: Floats, start: Floats, measure: Measure) -> None:
        self.y = y
        self.weights = weights
        self.measure = measure
        self.tally = Tally(start, rows)

    def figures(self) -> dict[str, float]:
        """How the votes so far do."""
        return self.measure(self.tally.scores, self.y, self.weights)

    def add(self, votes: Sequence[Vote]) -> None:
        """Add the votes of a round."""
        self.tally.add(votes)


@dataclass(eq=False)
class Run:
    """One loop, for all classes at once or for the class `positive` against the others.

    `seed` is the loop's own, `memory` what its searches found. With `held_out` examples the loop ends after `patience`
    rounds without a smaller loss on them, and the rounds up to the smallest are kept. The figures of `shown` examples
    are told only. A loop may leave its `state` here for what comes after it; where that changes with each round, its
    `snapshot` is what `kept` holds of the last round that is kept, and None if there is no such round.
    """

    positive: int | None
    seed: int
    memory: Memory = field(default_factory=Memory)
    held_out: Watched | None = None
    patience: int = 0
    shown: Watched | None = None
    about: dict[str, Any] = field(default_factory=dict)
    rounds: list[Round] = field(default_factory=list)
    history: list[dict[str, Any]] = field(default_factory=list)
    stopped: str | None = None
    state: Any = None
    snapshot: Callable[[], Any] | None = None
    kept: Any = None
    n_learned: int = 0
    best: int = 0
    least_loss: float = math.inf

    def step(self, loop: Loop, callbacks: Sequence[Callback]) -> None:
        """Take the next round, and whatever was known before the first; the loop may end instead."""
        started = time.perf_counter()
        with untimed() if self.memory.knows_more else nullcontext():  # what is known is worth the time to repeat it
            while True:
                check()
                try:
                    found = next(loop)
                except StopIteration as end:
                    self.stopped = end.value
                    return
                self.rounds.append(found)
                for watched in (self.held_out, self.shown):
                    if watched is not None:
                        with unstopped():
                            watched.add(found.votes)
                if found.is_learned:
                    self.n_learned += 1
                    break
                self.history.append({**self.about, "round": 0, **found.row, **self._watch()})
        row = {
            **self.about,
            "round": self.n_learned,
            **found.row,
            **self._watch(),
            "seconds": time.perf_counter() - started,
        }
        self.history.append(row)
        if _log.isEnabledFor(logging.INFO):
            _log.info("%s", _line(row), extra={"is_round": True})
        answers = [callback(row) for callback in callbacks]
        if any(answer is True for answer in answers):
            self.stopped = ASKED
        elif self.held_out is not None and len(self.rounds) - self.best >= self.patience:
            self.stopped = f"the loss on held-out examples did not fall for {self.patience} rounds"

    def finish(self) -> None:
        """Drop the rounds after the smallest loss on held-out examples."""
        if self.held_out is None:
            self._keep()
        else:
            if self.rounds and not self.best and self.stopped != ASKED:
                self.stopped = NONE_BETTER
            del self.rounds[self.best :]
            self.n_learned = sum(found.is_learned for found in self.rounds)

    def _keep(self) -> None:
        """Keep the rounds so far, whatever becomes of those that follow."""
        self.best = len(self.rounds)
        if self.snapshot is not None and self.rounds:
            self.kept = self.snapshot()

    def _watch(self) -> dict[str, float]:
        row: dict[str, float] = {}
        if self.held_out is not None:
            loss = next(iter(self.held_out.figures().values()))
            if loss < self.least_loss:
                self.least_loss = loss
                self._keep()
            row["validation_loss"] = loss
        if self.shown is not None:
            row |= {f"{name}_held_out": value for name, value in self.shown.figures().items()}
        return row


@dataclass(frozen=True)
class Printed:
    """A callback that prints every so many rounds: the number, its figures, and the rule."""

    every: int

    def __call__(self, row: Mapping[str, Any]) -> None:
        """Print a round, if it is its turn."""
        if row["round"] % self.every:
            return
        figures = [f"{name}: {value:.4g}" for name, value in row.items() if isinstance(value, float | np.floating)]
        told = [f"class: {row['class']}"] if "class" in row else []
        rule = [str(row["rule"])] if row.get("rule") else []
        sys.stdout.write("\t".join([f"[{row['round']}]", *told, *figures, *rule]) + "\n")


def _line(row: dict[str, Any]) -> str:
    """A row of the history in a line of the log."""
    figures = [f"{name} {value:.4g}" for name, value in row.items() if isinstance(value, float) and name != "seconds"]
    of_class = f" of {row['class']!r}" if "class" in row else ""
    told = ", ".join([*figures, f"{row['seconds']:.2f} s"])
    return f"round {row['round']}{of_class}: {row.get('rule', '')} ({told})"
