"""How gradient boosting tunes itself: settings are tried on held-out examples, one choice after the other."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hornboost.boosting.descent import Descent
from hornboost.boosting.folds import never_held_out
from hornboost.estimators.examples import Training
from hornboost.learners.hypotheses import Floats
from hornboost.learners.losses import average
from hornboost.stopping import check, learning, untimed

MOST_ROUNDS = 1_000
PATIENCE = 10
"""Rounds without a smaller held-out loss after which a setting is given up, beside a quarter of those before them.

Where all votes are fitted again with each round, it counts for several, and these are enough.
"""

EARLY = 20
AHEAD = 0.01
"""After so many rounds on one fold, a setting is given up unless it saves this share of what is at stake.

It is compared with the best setting so far after as many rounds, and goes on like this in all later rounds, on all
folds: what clearly helps does so from the start.
"""

SIGNIFICANT = 4.0
"""How many times as much a further condition gains as by chance where a test at the level of 5 % takes it."""

MARGIN = 0.03
PLAIN = {"min_gain": SIGNIFICANT, "aggregates": True, "constants": False, "negations": False, "corrective": False}
"""Plain boosting, and the share of what is at stake that another kind must save: less is not worth it."""

BY_CHANCE = 2.0
"""Standard errors that settings which are equally good differ by, but for one case in twenty."""

FEWER = 1e-3
"""The share of what is at stake that half as many rounds with corrected votes may lose: next to nothing."""

NAMES = 0.1
"""The share of what is at stake that names must save where rules that reach further can say what is named.

A name says nothing about one that was not seen.
"""

SAID = 0.5
"""The share of what names save that rules without names must save, too; with less, they do not say what is named."""

WORTH = 1e-3
"""The share of the loss before the first round that is too little to be worth further ones.

Where the loss is nearly gone, a twentieth of what is left, but no less than a tenth of that share. Where examples are
many, a tenth of these shares: they tell smaller differences apart, and want more rounds. Of numbers never more than
five times that share of what is left: there a loss that has fallen far is not nearly gone.
"""

DONE = 5e-4
"""The share of the loss before the first round that is as good as none: where no more is left, boosting ends.

And no setting is tried that can only save more of it. Where labels have no noise, hundreds of rounds would go by while
each example's probability comes nearer to 1.
"""

MOST_STANDING = 1_000_000
"""Held-out examples that stand for others at most; beyond, a class that is never held out is next to nothing."""


@dataclass(frozen=True, order=True, slots=True)
class Setting:
    """What clauses may say: how long they are, how far they reach, whether they look at aggregates and names.

    And whether they exclude single values of the examples' own columns (`negations`), whether the votes of all are
    fitted again with each new one, on what share of the examples each is grown, and what a further condition of one
    must gain.
    """

    max_literals: int
    max_depth: int
    aggregates: bool = False
    constants: bool = False
    corrective: bool = False
    subsample: float = 1.0
    min_gain: float = 0.0
    negations: bool = False

    def __str__(self) -> str:
        return ", ".join(f"{one.name}={getattr(self, one.name)}" for one in fields(self))

    def says_more_than(self, other: Setting) -> bool:
        """Whether its clauses may say all that those of another setting may, and more."""
        least, most = replace(self, min_gain=other.min_gain), replace(other, min_gain=self.min_gain)
        says_all = all(getattr(least, one.name) >= getattr(most, one.name) for one in fields(self))
        return says_all and self.min_gain <= other.min_gain and self.subsample == other.subsample and self != other


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

    start: float = math.nan
    """The held-out loss before the first round."""

    early: float = math.nan
    """That of the first fold after the first EARLY rounds, or at the end."""

    beside: float | None = None
    """The loss of the best setting before it: on the same folds, and of one given up after as many rounds."""

    is_given_up: bool = False
    """Whether it ended as another setting was clearly better."""

    is_whole: bool = True
    """Whether it ended by itself, not because time was up."""

    scores: list[Floats] = field(default_factory=list)
    """Those of all examples where the first fold ended, or nothing: boosting again gives the same ones."""

    onwards: list[float] = field(default_factory=list)
    """The loss of the first fold EARLY rounds after its end, once it has been asked for."""

    @property
    def loss(self) -> float:
        """The held-out loss after that number of rounds."""
        return self.losses[self.rounds - 1]

    @property
    def is_done(self) -> bool:
        """Whether next to nothing of the loss is left."""
        return self.loss <= DONE * self.start

    def stake(self, loss: float) -> float:
        """What shares of a loss refer to: the loss, or what rules have saved of it so far if that is less.

        Of noisy labels most of the loss cannot be saved, and a small part of it is much of what can.
        """
        return max(0.0, min(loss, self.start - self.loss))

    def saves(self, other: Trial, share: float) -> bool:
        """Whether it saves so much of another's held-out loss, and more than chance does.

        Folds differ by chance in what they save; the mean over all of them has a standard error.
        """
        if self.is_given_up:
            return False
        error = _standard_error(np.subtract(other.of_folds, self.of_folds))
        return other.loss - self.loss > max(share * other.stake(other.loss), BY_CHANCE * error)

    def loss_at(self, rounds: int) -> float:
        """The held-out loss after some rounds, or at the end."""
        return self.losses[min(rounds, len(self.losses)) - 1]


def _standard_error(values: Floats) -> float:
    """That of their mean, whatever unit they are in: squares of very large or small numbers are no numbers any more."""
    if len(values) < 2:
        return 0.0
    exponent = math.frexp(float(np.abs(values).max()))[1]
    return float(np.ldexp(np.ldexp(values, -exponent).std(ddof=1), exponent)) / math.sqrt(len(values))


Choices = Mapping[str, Sequence[Any]]
"""The values that each field of a setting may take; the first is where the search starts."""


Descend = Callable[[Setting, Floats, int | None], Descent]
"""Begins to boost with a setting and weights on a fold, or only to look where that leads."""


Attempt = Callable[[Setting, Trial | None, Sequence[Trial]], Trial | None]
"""Tries a setting beside the best one so far and all others; gives nothing where time is up before the first round."""


def search(choices: Choices, attempt: Attempt) -> tuple[list[Trial], Trial | None]:
    """Try values for one field after the other, each beside the best of the others so far; all trials and the best.

    Numbers go up and then down from where the search starts, for as long as that helps. Ends where an attempt gives
    nothing, since time is up.
    """
    first = attempt(Setting(**{name: values[0] for name, values in choices.items()}), None, ())
    if first is None:
        return [], None
    found = _Found(attempt, first)
    # what comes first because most depends on it is looked at again for what was chosen after it
    again = ["corrective"] if next(iter(choices)) == "corrective" else []
    for name in [*choices, *again]:
        for way in _ways(choices[name], getattr(found.best.setting, name)):
            start = found.best
            for value in way:
                margin = MARGIN if value != PLAIN.get(name, value) else 0.0
                if not found.takes(replace(found.best.setting, **{name: value}), margin):
                    break
            if found.best is not start:
                break
        for setting in _plainer(found.best.setting, choices) if name == "max_depth" else ():
            if found.takes(setting, MARGIN):
                break
    return found.trials, found.best


class _Found:
    """What was tried so far, and the best of it."""

    def __init__(self, attempt: Attempt, first: Trial) -> None:
        self.attempt, self.trials, self.best, self.is_over = attempt, [first], first, False

    def takes(self, setting: Setting, share: float) -> bool:
        """Whether a setting that was not tried yet saves so much of the best one's loss, or is as good with less."""
        if self.is_over or any(one.setting == setting for one in self.trials):
            return False
        if self.best.is_done and _loss_for_less(setting, self.best) == 0.0:
            return False
        trial = self.attempt(setting, self.best, self.trials)
        if trial is None:
            self.is_over = True
            return False
        is_as_good = _is_as_good_with_less(trial, self.best) and self._says_what_is_named(trial)
        self.trials.append(trial)
        if not is_as_good and not trial.saves(self.best, share):
            return False
        self.best = trial
        return True

    def _says_what_is_named(self, trial: Trial) -> bool:
        """Whether rules without names, in place of rules with names, keep enough of what the names save."""
        if trial.setting.constants or not self.best.setting.constants:
            return True
        before = [one.loss for one in self.trials if not one.setting.constants and not one.is_given_up]
        return trial.loss <= SAID * self.best.loss + (1.0 - SAID) * min(before, default=math.inf)


def _is_as_good_with_less(trial: Trial, best: Trial) -> bool:
    """Whether a setting has a loss that may pass for the best one's, as its rules are fewer or go without something.

    Names may be fewer rules, but say nothing of things that were not seen.
    """
    lost = _loss_for_less(trial.setting, best)
    is_shorter = trial.rounds <= 0.5 * best.rounds and trial.setting.constants <= best.setting.constants
    is_less = is_shorter or (lost > 0.0 and trial.setting.corrective == best.setting.corrective)
    return is_less and not trial.is_given_up and trial.loss <= best.loss + lost * best.stake(best.loss)


def _loss_for_less(setting: Setting, best: Trial) -> float:
    """The share of the best setting's loss that a setting may lose, since its rules are fewer or go without something.

    Without names, which say nothing of things that were not seen. With votes that are fitted again each round, fewer
    rules are enough. Without aggregates where examples are many: rules about single rows are fewer and found sooner,
    and one part that is held out tells how good they are.
    """
    if best.setting.constants and not setting.constants:
        return NAMES
    if setting.corrective and not best.setting.corrective:
        return FEWER
    is_on_many = len(best.of_folds) == 1
    return AHEAD if is_on_many and best.setting.aggregates and not setting.aggregates else 0.0


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
    descend: Descend,
    held_outs: Sequence[NDArray[np.bool_]],
    most_rounds: int,
    best: Trial | None = None,
    others: Sequence[Trial] = (),
    least_rounds: int | None = None,
) -> Trial | None:
    """Boost on what each fold leaves, all folds in turn, until the held-out loss has not fallen for a while.

    With `least_rounds` that is not asked before so many, and further ones must be worth a rule. Or until the loss is
    not clearly smaller than that of the best setting so far, or is that of another one to the last bit; one fold tells
    after the first rounds, or after further ones from where the best setting ended.

    None where Ctrl-C or the end of the time for such trials came before the first round.
    """
    unseen = never_held_out(training, held_outs)
    folds = [
        _Fold(training, descend(setting, np.where(held_out, 0.0, training.weights), number), held_out, unseen)
        for number, held_out in enumerate(held_outs)
    ]
    most = min(most_rounds, MOST_ROUNDS)
    worth = 0.1 * WORTH if len(folds) == 1 else WORTH
    start = _mean([fold.start for fold in folds], folds)
    losses: list[float] = []
    rounds, beside, is_given_up = 0, None if best is None else best.loss, False
    is_raced = best is not None
    with learning() as ending:
        if best is not None and (scouted := _scouted(folds[0], setting, best, others, most)) is not None:
            if not _goes_further(training, setting, descend, held_outs[0], unseen, best):
                return scouted
            is_raced = False
        for number in range(1, most + 1):
            for fold in folds:
                fold.boost(number)
            losses.append(_mean([fold.losses[number - 1] for fold in folds], folds))
            rounds = _best(losses, start, worth, vanishes=folds[0].descent.loss.curvature_vanishes)
            lowest = int(np.argmin(losses)) + 1 if least_rounds is None else rounds
            if is_raced and best is not None and number > EARLY and _is_behind(losses, setting, best):
                rounds, beside, is_given_up = number, best.loss_at(number), True
                break
            patience = PATIENCE + (0.0 if setting.corrective else 0.25 * lowest)
            if number >= (least_rounds or 0) and number - lowest >= patience:
                break
            if losses[-1] <= DONE * start or all(fold.is_over for fold in folds):
                break
    if not losses:
        return None
    return Trial(
        setting,
        rounds,
        tuple(losses),
        tuple(_mean([fold.offsets[place] for fold in folds], folds) for place in range(len(losses))),
        tuple(fold.losses[rounds - 1] for fold in folds),
        start,
        folds[0].losses[min(EARLY, len(losses)) - 1],
        beside,
        is_given_up,
        ending.reason is None,
        [folds[0].descent.scores] if len(folds[0].losses) == len(losses) else [],  # it may have scouted further
    )


class _Fold:
    """Boosting on what a fold leaves, and the loss on what it holds out after each round.

    Nothing is known of new examples of a class that is never held out (`unseen`), so that any that is held out may
    stand for one, with its part of the weight of the class. Else nothing would speak against ever smaller
    probabilities of the class.
    """

    def __init__(
        self, training: Training, descent: Descent, held_out: NDArray[np.bool_], unseen: NDArray[np.intp]
    ) -> None:
        self.descent, self.places = descent, np.flatnonzero(held_out)
        self.y, self.weights = training.y[self.places], training.weights[self.places]
        if len(unseen) and len(unseen) * len(self.places) <= MOST_STANDING:
            of_class = [float(training.weights[training.y == label].sum()) for label in unseen]
            shares = self.weights / float(training.weights.sum())
            self.weights = np.concatenate([self.weights, *(weight * shares for weight in of_class)])
            self.y = np.concatenate([self.y, np.repeat(np.asarray(unseen, self.y.dtype), len(self.places))])
            self.places = np.tile(self.places, 1 + len(unseen))
        self.mass = float(self.weights.sum())
        self.start = descent.loss.mean(self.y, descent.scores[self.places], self.weights)
        self.losses: list[float] = []
        self.offsets: list[float] = []
        self.is_over = False

    def boost(self, rounds: int) -> None:
        """Go on until there are so many rounds; where no clause gains anything, they change nothing."""
        loss = self.descent.loss
        while len(self.losses) < rounds:
            if not self.is_over:
                with untimed() if self.descent.is_known else nullcontext():
                    check()
                    self.is_over = self.descent.step() is None
            scores = self.descent.scores[self.places]
            self.offsets.append(loss.offset(self.y, scores, self.weights))
            self.losses.append(loss.mean(self.y, scores, self.weights))


def _mean(values: Sequence[float], folds: Sequence[_Fold]) -> float:
    return average(np.array(values), np.array([fold.mass for fold in folds]))


def _scouted(fold: _Fold, setting: Setting, best: Trial, others: Sequence[Trial], most: int) -> Trial | None:
    """The trial of a setting that is given up after the first rounds on one fold, if it is.

    One whose loss is exactly that of one that was not taken finds the same rules, and is not taken either, unless it
    may lose a little as it goes without something.
    Corrected votes are as good as they get with few rules, so they are compared with all rules of the best setting.
    """
    if best.setting.corrective and not setting.corrective:
        return None
    is_like = setting.corrective == best.setting.corrective
    n = min(EARLY if is_like else PATIENCE, most)
    fold.boost(n)
    losses = tuple(fold.losses)
    rounds = n if is_like else int(np.argmin(losses)) + 1
    beside = best.early if is_like else best.of_folds[0]
    rivals = [one for one in others if one is not best and one.setting.corrective == setting.corrective]
    is_known = is_like and losses[-1] in [one.early for one in rivals] and not _loss_for_less(setting, best)
    if not is_known and _is_ahead(losses[rounds - 1], beside, setting, best):
        return None
    return Trial(setting, rounds, losses, beside=beside, is_given_up=True)


def _goes_further(
    training: Training,
    setting: Setting,
    descend: Descend,
    held_out: NDArray[np.bool_],
    unseen: NDArray[np.intp],
    best: Trial,
) -> bool:
    """Whether clauses that may say more find something where those of the best setting have ended, on one fold.

    What matters beside larger effects is not found in the first rounds.
    """
    if setting.corrective or not setting.says_more_than(best.setting):
        return False
    weights = np.where(held_out, 0.0, training.weights)
    if math.isfinite(descend(setting, weights, None).max_rules):
        return False  # the rules so far would count, too
    if not best.scores:
        again = _Fold(training, descend(best.setting, weights, None), held_out, unseen)
        again.boost(len(best.losses))
        best.scores.append(again.descent.scores)

    def onwards(setting: Setting) -> float:
        further = _Fold(training, descend(setting, weights, None), held_out, unseen)
        further.descent.scores = best.scores[0].copy()
        further.boost(EARLY)
        return further.losses[-1]

    if not best.onwards:
        best.onwards.append(onwards(best.setting))
    loss = onwards(setting)
    return loss < best.of_folds[0] and _is_ahead(loss, best.onwards[0], setting, best)


def _is_behind(losses: Sequence[float], setting: Setting, best: Trial) -> bool:
    """Whether a setting has lost its lead over the best one after as many rounds."""
    is_like = setting.corrective == best.setting.corrective
    return is_like and not _is_ahead(losses[-1], best.loss_at(len(losses)), setting, best)


def _is_ahead(loss: float, other: float, setting: Setting, best: Trial) -> bool:
    """Whether the loss of a setting is so far below the other one, of the best setting, that it may be tried on."""
    lead = -_loss_for_less(setting, best) or AHEAD
    return loss < other - lead * best.stake(other)


def _best(losses: Sequence[float], start: float, worth: float = WORTH, *, vanishes: bool = True) -> int:
    """The fewest rounds after which the loss is smallest, but for what is not worth further ones."""
    curve = np.asarray(losses)
    least = float(curve.min())
    spared = min(max(0.05 * least, 0.1 * worth * start), worth * start) if vanishes else worth * min(start, 5.0 * least)
    return int(np.argmax(curve <= max(least + spared, DONE * start))) + 1
