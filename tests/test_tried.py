"""When a setting is given up, and how long boosting waits for a smaller loss, on curves that are given."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from hornboost.boosting import trials, tuning
from hornboost.boosting.tuning import DONE, EARLY, PATIENCE, Setting, Trial

PLAIN, OTHER = Setting(3, 2), Setting(5, 2)


class Scripted:
    """A descent whose held-out loss after each round is given."""

    def __init__(self, curve: Callable[[int], float], vanishes: bool = True) -> None:
        self.curve, self.round, self.scores = curve, 0, np.zeros(5)
        self.loss = SimpleNamespace(
            offset=lambda *_: 0.0, mean=lambda *_: curve(self.round), curvature_vanishes=vanishes
        )
        self.is_known, self.max_rules = False, np.inf

    def step(self) -> object:
        self.round += 1
        return self


def falling(by: float, start: float = 0.7) -> Callable[[int], float]:
    return lambda n: start * by**n


def tried(
    curves: Sequence[Callable[[int], float]],
    setting: Setting = PLAIN,
    best: Trial | None = None,
    most: int = 60,
    others: Sequence[Trial] = (),
    onwards: Callable[[Setting], Callable[[int], float]] = lambda _: falling(1.0),
    least_rounds: int | None = None,
) -> tuple[Trial, list[int]]:
    """The trial of a setting by the curve of each fold, and how many rounds each fold was boosted.

    `onwards` gives the curve of a setting from where the best one ended.
    """
    training: Any = SimpleNamespace(weights=np.ones(len(curves)), y=np.zeros(len(curves)), labels=())
    runs = [Scripted(curve) for curve in curves]
    held_outs = [np.arange(len(curves)) == fold for fold in range(len(curves))]

    def descend(setting: Setting, _: object, fold: int | None) -> Any:
        return Scripted(onwards(setting)) if fold is None else runs[fold]

    trial = tuning.tried(training, setting, descend, held_outs, most, best, others, least_rounds)  # type: ignore[arg-type,return-value]
    assert trial is not None
    return trial, [run.round for run in runs]


def test_a_setting_that_is_not_ahead_on_one_fold_is_given_up_there() -> None:
    best, _ = tried([falling(0.97)] * 5)
    trial, rounds = tried([falling(0.97)] + [falling(0.5)] * 4, OTHER, best)
    assert rounds == [EARLY, 0, 0, 0, 0]
    assert trial.is_given_up
    assert (trial.rounds, trial.loss) == (EARLY, pytest.approx(0.7 * 0.97**EARLY))
    assert trial.beside == trial.loss


def test_one_that_is_given_up_is_not_taken_though_its_fold_has_a_smaller_loss_than_all() -> None:
    best, _ = tried([falling(0.9, 0.1)] + [falling(0.9, 1.0)] * 4, most=EARLY)
    trial, _ = tried([falling(0.9, 0.1)] * 5, OTHER, best, most=EARLY)
    assert trial.loss < best.loss
    assert not trial.saves(best, 0.0)


def test_one_that_is_ahead_goes_on_as_if_it_were_alone() -> None:
    best, _ = tried([falling(0.97)] * 5)
    trial, rounds = tried([falling(0.96)] * 5, OTHER, best)
    alone, _ = tried([falling(0.96)] * 5, OTHER)
    assert rounds == [60] * 5
    assert not trial.is_given_up
    assert (trial.rounds, trial.losses, trial.early) == (alone.rounds, alone.losses, alone.early)
    assert trial.beside == best.loss
    assert trial.saves(best, 0.03)


def test_one_that_does_exactly_as_another_did_is_given_up_though_it_is_ahead() -> None:
    best, _ = tried([falling(0.97)] * 5)
    other, _ = tried([falling(0.96)] * 5, OTHER, best)
    trial, rounds = tried([falling(0.96)] * 5, Setting(5, 3), best, others=[best, other])
    assert rounds == [EARLY, 0, 0, 0, 0]
    assert trial.is_given_up


def test_one_that_may_say_more_goes_on_where_it_falls_from_the_end_of_the_best() -> None:
    best, _ = tried([falling(0.97)] * 5)
    end = 0.7 * 0.97**60
    trial, rounds = tried(
        [falling(0.971)] * 5, OTHER, best, onwards=lambda setting: falling(0.99 if setting == OTHER else 1.0, end)
    )
    assert rounds == [60] * 5
    assert not trial.is_given_up
    assert best.onwards == [end]


def test_one_that_falls_no_faster_from_there_than_the_best_itself_is_given_up() -> None:
    best, _ = tried([falling(0.97)] * 5)
    trial, rounds = tried([falling(0.971)] * 5, OTHER, best, onwards=lambda _: falling(0.99, 0.7 * 0.97**60))
    assert rounds == [EARLY, 0, 0, 0, 0]
    assert trial.is_given_up


def test_one_that_may_say_less_is_not_tried_from_the_end_of_the_best() -> None:
    best, _ = tried([falling(0.97)] * 5, OTHER)
    trial, _ = tried([falling(0.971)] * 5, PLAIN, best, onwards=lambda _: falling(0.5))
    assert trial.is_given_up
    assert best.onwards == []


@pytest.mark.parametrize("more", [Setting(5, 2), Setting(3, 3), Setting(3, 2, constants=True), Setting(4, 3)])
def test_what_a_setting_may_say_more(more: Setting) -> None:
    assert more.says_more_than(PLAIN)
    assert not PLAIN.says_more_than(more)
    assert not more.says_more_than(more)


def test_a_setting_whose_conditions_need_no_gain_says_more() -> None:
    strict = Setting(3, 2, min_gain=4.0)
    assert PLAIN.says_more_than(strict)
    assert not strict.says_more_than(PLAIN)
    assert not Setting(5, 2, min_gain=4.0).says_more_than(PLAIN)


def test_one_that_loses_its_lead_is_given_up() -> None:
    best, _ = tried([falling(0.97)] * 5)
    trial, rounds = tried([lambda n: falling(0.96 if n < 30 else 0.98)(n)] * 5, OTHER, best)
    assert rounds == [30] * 5
    assert trial.is_given_up
    assert (trial.loss, trial.beside) == (trial.losses[29], best.losses[29])


def test_boosting_ends_where_next_to_nothing_of_the_loss_is_left() -> None:
    trial, rounds = tried([falling(0.5)] * 5)
    enough = math.ceil(math.log2(1 / DONE))
    assert rounds == [enough] * 5
    assert trial.rounds == enough
    assert trial.is_done


def test_nothing_else_is_tried_where_next_to_nothing_is_left() -> None:
    best, _ = tried([falling(0.5)] * 5)
    asked: list[Setting] = []

    def attempt(setting: Setting, *_: object) -> Trial:
        asked.append(setting)
        return best

    trials, found = tuning.search({"max_literals": (3, 1, 2, 5), "max_depth": (2, 3)}, attempt)
    assert asked == [PLAIN]
    assert (trials, found) == ([best], best)


@pytest.mark.parametrize(("share", "given_up"), [(1.05, False), (1.12, True)])
def test_rules_that_describe_may_be_behind_those_that_name(share: float, given_up: bool) -> None:
    best, _ = tried([falling(0.97)] * 5, Setting(3, 2, constants=True))
    trial, _ = tried([lambda n: share * falling(0.97)(n)] * 5, Setting(3, 3), best)
    assert trial.is_given_up is given_up


@pytest.mark.parametrize(("after", "given_up"), [(0.3, True), (0.1, False)])
def test_corrected_votes_must_be_better_with_few_rules(after: float, given_up: bool) -> None:
    best, _ = tried([falling(0.97)] * 5)
    trial, rounds = tried([lambda n: max(after, 0.7 - 0.1 * n)] * 5, Setting(3, 2, corrective=True), best)
    assert trial.is_given_up is given_up
    assert rounds[1:] == ([0] * 4 if given_up else rounds[:4])
    assert rounds[0] == PATIENCE if given_up else rounds[0] > PATIENCE


@pytest.mark.parametrize(("still", "rounds"), [(19, 59), (21, 40)])
def test_boosting_waits_ten_rounds_and_a_quarter_of_those_before(still: int, rounds: int) -> None:
    def curve(n: int) -> float:
        return 0.7 - 0.01 * min(n, 40) - (0.1 if n >= 40 + still else 0.0)

    assert tried([curve], most=100)[0].rounds == rounds


def test_boosting_does_not_end_before_the_rounds_that_a_sample_was_worth() -> None:
    def curve(n: int) -> float:
        return 0.7 - 0.01 * min(n, 20) - (0.1 if n >= 90 else 0.0)

    assert tried([curve], most=200)[0].rounds == 20
    assert tried([curve], most=200, least_rounds=80)[0].rounds == 20
    assert tried([curve], most=200, least_rounds=90)[0].rounds == 90


def test_boosting_goes_on_while_the_loss_falls_slowly() -> None:
    """After the first rounds each takes off less than is worth a rule, but many of them are."""

    def curve(n: int) -> float:
        return 0.7 - 0.02 * min(n, 10) - 0.000002 * n

    trial, _ = tried([curve], most=200)
    assert len(trial.losses) == 200
    assert trial.rounds > 100
    on_all, _ = tried([curve], most=200, least_rounds=0)  # of a million examples it would fall a little for ever
    assert len(on_all.losses) < 100


def test_a_fold_in_which_no_clause_gains_is_left_as_it_is() -> None:
    class Short(Scripted):
        def step(self) -> object:
            return super().step() if self.round < 3 else None

    training: Any = SimpleNamespace(weights=np.ones(2), y=np.zeros(2), labels=())
    runs = [Short(falling(0.9)), Scripted(falling(0.9))]
    held_outs = [np.array([True, False]), np.array([False, True])]
    trial = tuning.tried(training, PLAIN, lambda *given: runs[given[-1] or 0], held_outs, 10)  # type: ignore[arg-type,return-value]
    assert trial is not None
    assert trial.of_folds == pytest.approx((0.7 * 0.9**3, 0.7 * 0.9**10))


def test_a_checkpoint_keeps_all_of_a_trial() -> None:
    best, _ = tried([falling(0.97), falling(0.96)])
    given_up, _ = tried([falling(0.98)] * 3, OTHER, best)
    for trial in (best, given_up):
        again = trials._read(trials._written(trial), trial.setting)
        names = set(Trial.__slots__) - {"scores", "onwards"}  # which boosting again gives
        kept = [(getattr(again, name), getattr(trial, name)) for name in names]
        assert all(one == other or (one != one and other != other) for one, other in kept)
