"""How gradient boosting tunes itself: settings are tried on held-out examples, one choice after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hornboost import exact
from hornboost.boosting.corrective import MOST_RULES
from hornboost.boosting.descent import Descent
from hornboost.engine.sampling import example_hash
from hornboost.estimators.examples import Training
from hornboost.learners.hypotheses import Floats
from hornboost.learners.loss_kernels import SMALLEST
from hornboost.learners.losses import average
from hornboost.stopping import check, learning, untimed

MOST_ROUNDS = 1_000
PATIENCE, OF_MANY = 25, 100
"""Rounds without a smaller held-out loss after which a setting is given up, and the same where examples are many."""

FEW_RULES = 10
"""The same where all votes are fitted again with each round, which then counts for several."""

BEHIND = 2.5
EARLIEST = 10
"""After n rounds, at least so many, a setting is given up if its loss is BEHIND/n above that of the best one.

Measured as a share of that, and at the same size.
"""

SIGNIFICANT = 4.0
"""How many times as much a further condition gains as by chance where a test at the level of 5 % takes it."""

MARGIN = 0.03
PLAIN = {"min_gain": SIGNIFICANT, "aggregates": True, "constants": False, "corrective": False, "subsample": 1.0}
"""Plain boosting, and the share of its held-out loss that another kind must save: less is not worth it."""

BY_CHANCE = 2.0
"""Standard errors that settings which are equally good differ by, but for one case in twenty."""

NAMES = 0.1
"""The share of the held-out loss that names must save where rules that reach further can say what is named.

A name says nothing about one that was not seen.
"""

WORTH = 1e-3
"""The share of the loss before the first round that is too little to be worth further ones.

Where the loss is nearly gone, a twentieth of what is left, but no less than a tenth of that share. Where examples are
many, a tenth of all this: they tell smaller differences apart, and want more rounds.
"""

FEW = 5_000
"""Examples up to which every one is held out once; of more, a fifth is."""

FOLDS = 5

MANY = 20_000
"""Examples that settings are chosen on at most; of the one chosen, the number of rounds is chosen on all."""


@dataclass(frozen=True, order=True, slots=True)
class Setting:
    """What clauses may say: how long they are, how far they reach, whether they look at aggregates and names.

    And whether the votes of all are fitted again with each new one, on what share of the examples each is grown, and
    what a further condition of one must gain.
    """

    max_literals: int
    max_depth: int
    aggregates: bool = False
    constants: bool = False
    corrective: bool = False
    subsample: float = 1.0
    min_gain: float = 0.0

    def __str__(self) -> str:
        return ", ".join(f"{field.name}={getattr(self, field.name)}" for field in fields(self))

    @property
    def pace(self) -> float:
        """Rounds in which as much is said as in one round of steps that are not halved."""
        return 2.0 if self.subsample < 1.0 else 1.0


@dataclass(frozen=True, eq=False, slots=True)
class Trial:
    """A setting, the number of rounds that was best for it, and the held-out loss after each round that was tried."""

    setting: Setting
    rounds: int
    losses: tuple[float, ...]
    offsets: tuple[float, ...] = ()
    """What held-out scores were too low by after each round."""

    of_folds: tuple[float, ...] = ()
    """The held-out loss of each fold after the best number of rounds."""

    is_whole: bool = True
    """Whether it ended by itself, not because time was up."""

    @property
    def loss(self) -> float:
        """The held-out loss after that number of rounds."""
        return self.losses[self.rounds - 1]

    def saves(self, other: Trial, share: float) -> bool:
        """Whether it saves so much of another's held-out loss, and more than chance does.

        Folds differ by chance in what they save; the mean over all of them has a standard error.
        """
        differences = np.subtract(other.of_folds, self.of_folds)
        error = float(differences.std(ddof=1)) / math.sqrt(len(differences)) if len(differences) > 1 else 0.0
        return other.loss - self.loss > max(share * abs(other.loss), BY_CHANCE * error)

    def loss_at(self, rounds: int, setting: Setting) -> float:
        """The held-out loss with as many conditions as another setting has after some rounds, or at the end."""
        ours, theirs = self.setting.max_literals / self.setting.pace, setting.max_literals / setting.pace
        return self.losses[min(max(int(rounds * theirs / ours), 1), len(self.losses)) - 1]


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
    # what comes first because most depends on it is looked at again for what was chosen after it
    again = ["corrective"] if next(iter(choices)) == "corrective" else []
    for name in [*choices, *again]:
        if best is None or (name == "subsample" and best.setting.corrective):
            continue
        for way in _ways(choices[name], getattr(best.setting, name)):
            start = best
            for value in way:
                setting = replace(best.setting, **{name: value})
                if any(one.setting == setting for one in trials):
                    break
                trial = attempt(setting, best)
                if trial is None:
                    return trials, best
                trials.append(trial)
                margin = MARGIN if value != PLAIN.get(name, value) else 0.0
                if not trial.saves(best, margin):
                    break
                best = trial
            if best is not start:
                break
        for setting in _plainer(best.setting, choices) if name == "max_depth" else ():
            if any(one.setting == setting for one in trials):
                continue
            trial = attempt(setting, best)
            if trial is None:
                return trials, best
            trials.append(trial)
            describes = best.setting.constants and not setting.constants
            if trial.saves(best, MARGIN) or (describes and trial.loss <= (1.0 + NAMES) * best.loss):
                best = trial
    return trials, best


def _plainer(setting: Setting, choices: Choices) -> Iterator[Setting]:
    """What clauses may say of single rows instead of aggregates and names: as far as they reach, and as near as now.

    Aggregates draw a search away from what takes several conditions, so that what is further away is not found.
    """
    rows = {name: min(choices.get(name, (False,))) for name in ("aggregates", "constants")}
    yield replace(setting, max_depth=max(choices["max_depth"]), **rows)
    yield replace(setting, aggregates=rows["aggregates"])


def _ways(values: Sequence[Any], start: Any) -> Iterator[Sequence[Any]]:
    """The other values in the order in which they are tried: those above the one so far, and those below it."""
    yield sorted(value for value in values if value > start)
    yield sorted((value for value in values if value < start), reverse=True)


def tried(
    training: Training,
    setting: Setting,
    descent: Callable[[Floats, int], Descent],
    held_outs: Sequence[NDArray[np.bool_]],
    most_rounds: int,
    best: Trial | None = None,
) -> Trial | None:
    """Boost on what each fold leaves, all folds in turn, until the held-out loss has not fallen for a while.

    Or until it is clearly behind that of the best setting with as many conditions.

    None where Ctrl-C or the end of the time for such trials came before the first round.
    """
    folds = [
        (descent(np.where(held_out, 0.0, training.weights), number), np.flatnonzero(held_out))
        for number, held_out in enumerate(held_outs)
    ]
    masses = np.array([training.weights[held_out].sum() for _, held_out in folds])
    is_of_many = len(held_outs) == 1
    patience = FEW_RULES if setting.corrective else (OF_MANY if is_of_many else PATIENCE) * setting.pace
    worth = 0.1 * WORTH if is_of_many else WORTH
    losses: list[float] = []
    of_folds: list[tuple[float, ...]] = []
    offsets: list[float] = []
    start = average(np.array([one.loss_at(held_out, training.weights) for one, held_out in folds]), masses)
    with learning() as ending:
        for number in range(1, min(most_rounds, MOST_ROUNDS) + 1):
            with untimed() if all(one.is_known for one, _ in folds) else nullcontext():
                check()
                ended = [one.step() is None for one, _ in folds]
            of_folds.append(tuple(one.loss_at(held_out, training.weights) for one, held_out in folds))
            losses.append(average(np.array(of_folds[-1]), masses))
            offsets.append(average(np.array([_offset(training, *fold) for fold in folds]), masses))
            if best is not None and _is_behind(losses, setting, best):
                break
            if all(ended) or number - _best(losses, start, worth) >= patience:
                break
    if not losses:
        return None
    rounds = _best(losses, start, worth)
    return Trial(setting, rounds, tuple(losses), tuple(offsets), of_folds[rounds - 1], ending.reason is None)


def _offset(training: Training, descent: Descent, held_out: NDArray[np.intp]) -> float:
    return descent.loss.offset(training.y[held_out], descent.scores[held_out], training.weights[held_out])


def _is_behind(losses: Sequence[float], setting: Setting, best: Trial) -> bool:
    """Whether a setting will not come up with the best one any more.

    Of corrected votes there are not many: their loss is expected to go on falling as it did of late.
    """
    if setting.corrective == best.setting.corrective:
        as_many = len(losses) / setting.pace
        return as_many >= EARLIEST and losses[-1] > (1.0 + BEHIND / as_many) * best.loss_at(len(losses), setting)
    if not setting.corrective or not 2 * FEW_RULES <= len(losses) < MOST_RULES or losses[-1] <= best.loss:
        return False
    fall = exact.log(losses[-1] / max(losses[-1 - FEW_RULES], SMALLEST)) / FEW_RULES
    return losses[-1] * exact.exp(fall * (MOST_RULES - len(losses))) > best.loss


def _best(losses: Sequence[float], start: float, worth: float = WORTH) -> int:
    """The fewest rounds after which the loss is smallest, but for what is not worth further ones."""
    curve = np.asarray(losses)
    least = float(curve.min())
    return int(np.argmax(curve <= least + min(max(0.05 * least, 0.1 * worth * start), worth * start))) + 1


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
