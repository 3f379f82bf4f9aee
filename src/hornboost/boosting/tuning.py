"""How gradient boosting tunes itself: settings are tried on held-out examples, one choice after the other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hornboost.boosting.descent import Descent
from hornboost.engine.sampling import example_hash
from hornboost.estimators.examples import Training
from hornboost.learners.hypotheses import Floats
from hornboost.stopping import check, learning

MOST_ROUNDS = 1_000
PATIENCE = 25
"""Rounds without a smaller held-out loss after which a setting is given up."""

FEW_RULES = 10
"""The same where all votes are fitted again with each round, which then counts for several."""

BEHIND = 1.1
EARLIEST = 50
"""After so many rounds a setting is given up if its loss is this many times that of the best one at the same size."""

MARGIN = 0.03
"""The share of the held-out loss that another kind of boosting must save: less is chance."""

WORTH = 1e-3
"""The share of the loss before the first round that is too little to be worth further ones."""

FEW = 5_000
"""Examples up to which every one is held out once; of more, a fifth is."""

FOLDS = 5

MANY = 20_000
"""Examples that settings are chosen on at most; of the one chosen, the number of rounds is chosen on all."""


@dataclass(frozen=True, order=True, slots=True)
class Setting:
    """What clauses may say: how long they are, how far they reach, whether they look at aggregates and names.

    And whether the votes of all are fitted again with each new one.
    """

    max_literals: int
    max_depth: int
    aggregates: bool = False
    constants: bool = False
    corrective: bool = False


@dataclass(frozen=True, eq=False, slots=True)
class Trial:
    """A setting, the number of rounds that was best for it, and the held-out loss after each round that was tried."""

    setting: Setting
    rounds: int
    losses: tuple[float, ...]

    @property
    def loss(self) -> float:
        """The held-out loss after that number of rounds."""
        return self.losses[self.rounds - 1]

    def loss_at(self, rounds: int, setting: Setting) -> float:
        """The held-out loss with as many conditions as another setting has after some rounds, or at the end."""
        as_many = rounds * setting.max_literals // self.setting.max_literals
        return self.losses[min(max(as_many, 1), len(self.losses)) - 1]


Choices = Mapping[str, Sequence[Any]]
"""The values that each field of a setting may take; the first is where the search starts."""


Attempt = Callable[[Setting, Trial | None], Trial | None]
"""Tries a setting beside the best one so far; gives nothing where time is up before the first round."""


def search(choices: Choices, attempt: Attempt) -> tuple[list[Trial], Trial | None]:
    """Try values for one field after the other, each beside the best of the others so far; the best comes last.

    Numbers go up and then down from where the search starts, for as long as that helps. Ends where an attempt gives
    nothing, since time is up.
    """
    best = attempt(Setting(**{name: values[0] for name, values in choices.items()}), None)
    trials = [] if best is None else [best]
    for name, values in choices.items():
        for way in _ways(values):
            start = best
            for value in way:
                if best is None:
                    return trials, best
                trial = attempt(replace(best.setting, **{name: value}), best)
                if trial is None:
                    return trials, best
                trials.append(trial)
                if trial.loss >= best.loss - (MARGIN if name == "corrective" else 0.0) * abs(best.loss):
                    break
                best = trial
            if best is not start:
                break
    return trials, best


def _ways(values: Sequence[Any]) -> Iterator[Sequence[Any]]:
    """The other values in the order in which they are tried: those above the first, and those below it."""
    start = values[0]
    yield sorted(value for value in values if value > start)
    yield sorted((value for value in values if value < start), reverse=True)


def tried(
    training: Training,
    setting: Setting,
    descent: Callable[[Floats], Descent],
    held_outs: Sequence[NDArray[np.bool_]],
    most_rounds: int,
    best: Trial | None = None,
) -> Trial | None:
    """Boost on what each fold leaves, all folds in turn, until the held-out loss has not fallen for a while.

    Or until it is clearly behind that of the best setting with as many conditions.

    None where Ctrl-C or the end of the time for such trials came before the first round.
    """
    folds = [(descent(np.where(held_out, 0.0, training.weights)), np.flatnonzero(held_out)) for held_out in held_outs]
    masses = [float(training.weights[held_out].sum()) for _, held_out in folds]
    losses: list[float] = []
    start = float(np.average([one.loss_at(held_out, training.weights) for one, held_out in folds], weights=masses))
    with learning():
        for number in range(1, min(most_rounds, MOST_ROUNDS) + 1):
            check()
            ended = [one.step() is None for one, _ in folds]
            parts = [one.loss_at(held_out, training.weights) for one, held_out in folds]
            losses.append(float(np.average(parts, weights=masses)))
            if best is not None and number >= EARLIEST and losses[-1] > BEHIND * best.loss_at(number, setting):
                break
            if all(ended) or number - _best(losses, start) >= (FEW_RULES if setting.corrective else PATIENCE):
                break
    return Trial(setting, _best(losses, start), tuple(losses)) if losses else None


def _best(losses: Sequence[float], start: float) -> int:
    """The fewest rounds after which the loss is smallest, but for a thousandth of what it was before the first."""
    curve = np.asarray(losses)
    return int(np.argmax(curve <= curve.min() + WORTH * start)) + 1


def n_distinct(training: Training) -> int:
    """How many examples differ: one that is repeated, or weighted, says nothing new about rows that were not seen."""
    assert training.problem is not None
    return int(np.unique(training.problem.content).size)


def sample(training: Training, seed: int) -> NDArray[np.intp] | None:
    """The examples that settings are tried on, where there are more than enough: those that come first by hash."""
    assert training.problem is not None
    content, of_example = np.unique(training.problem.content, return_inverse=True)
    if len(content) <= MANY:
        return None
    taken = np.zeros(len(content), np.bool_)
    taken[np.argsort(example_hash(seed, 1, content), kind="stable")[:MANY]] = True
    return np.flatnonzero(taken[of_example])


def folds(training: Training, seed: int) -> Iterator[NDArray[np.bool_]]:
    """Which examples each fold holds out: as many of each class, by a hash of their content.

    Equal examples stay together.
    """
    assert training.problem is not None
    classes = training.y if training.labels else np.zeros(len(training.y))
    by_content = np.lexsort((classes, training.problem.content))
    content, first, group = np.unique(training.problem.content[by_content], return_index=True, return_inverse=True)
    stratum = classes[by_content][first]
    order = np.lexsort((example_hash(seed, 0, content), stratum))
    place = np.empty(len(content), np.int64)
    place[order] = np.arange(len(content)) % FOLDS
    of_example = np.empty(len(classes), np.int64)
    of_example[by_content] = place[group]
    for fold in range(FOLDS if len(content) <= FEW else 1):
        held_out = of_example == fold
        if held_out.any() and not held_out.all():
            yield held_out
