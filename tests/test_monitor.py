from __future__ import annotations

import dataclasses
import json
import math

import numpy as np
import pytest

from hornboost.activation.monitor import ProgressMonitor, margins, mean_margin


def table_2(mean_margins, trend_window, threshold):
    """Table 2 of Hoche and Wrobel 2002 read line by line, with all of its history (and gradient(1) in no trend)."""
    gradient, ratio, asks, predict, fitted = {}, {}, [], {}, None
    for t in range(1, len(mean_margins) + 1):
        if t > 1:
            gradient[t] = np.polyfit(np.arange(1, t + 1), mean_margins[:t], 1)[0]
        if t > 2:
            rounds = range(t - trend_window, t) if t > trend_window else range(2, t)
            ratio[t] = np.mean([gradient[j] for j in rounds if j in gradient]) / gradient[t]
        if t > 4 and ratio[t - 2] < ratio[t - 1] > ratio[t]:
            r1, r2 = ratio[t - 1], ratio[t]
            ln_b = (r1 * np.log(2) - r2 * np.log(3)) / (r1 - r2)
            fitted = r1 * (np.log(2) - ln_b), ln_b, t - 3
        if t > 3:
            predict[t] = fitted[0] / (np.log(t - fitted[2]) - fitted[1]) if fitted else ratio[t]
        asks.append(t > 3 and predict[t] / ratio[t] > threshold)
    return gradient, ratio, predict, asks


def mean_margins_with(ratios, trend_window=10):
    """Mean margins whose ratio(3), ratio(4), … are the given ones; gradient(2) is 1."""
    margin, gradients, covariation = [0.0, 1.0], [1.0], 0.5
    for t, ratio in enumerate(ratios, start=3):
        gradients.append(np.mean(gradients[-trend_window:]) / ratio)
        step = gradients[-1] * t * (t * t - 1) / 12 - covariation
        covariation += step
        margin.append((2 * step + sum(margin)) / (t - 1))
    return margin


def test_gradient_is_the_least_squares_slope_worked_by_hand():
    monitor = ProgressMonitor()
    gradients = [monitor.update(margin).gradient for margin in (0.0, 0.4, 0.5, 0.7)]
    assert math.isnan(gradients[0])
    # t = 4: Σ(k − 2.5)·m = −0.2 + 0.25 + 1.05 = 1.1, over Σ(k − 2.5)² = 5
    assert gradients[1:] == pytest.approx([0.4, 0.25, 0.22], rel=1e-12)


def test_trend_and_ratio_worked_by_hand():
    monitor = ProgressMonitor()
    rounds = [monitor.update(margin) for margin in (0.0, 0.4, 0.5, 0.7)]
    assert math.isnan(rounds[1].trend)
    assert [r.trend for r in rounds[2:]] == pytest.approx([0.4, (0.4 + 0.25) / 2])
    assert [r.ratio for r in rounds[2:]] == pytest.approx([0.4 / 0.25, 0.325 / 0.22])
    assert math.isnan(rounds[2].predicted)
    assert rounds[3].predicted == rounds[3].ratio


def test_trend_looks_back_over_the_window_and_never_at_the_slope_of_one_point():
    monitor = ProgressMonitor(trend_window=3)
    rounds = [monitor.update(margin) for margin in (0.0, 0.4, 0.5, 0.7, 0.75, 0.9)]
    gradient = [r.gradient for r in rounds]
    assert rounds[3].trend == pytest.approx(np.mean(gradient[1:3]))
    assert rounds[4].trend == pytest.approx(np.mean(gradient[1:4]))
    assert rounds[5].trend == pytest.approx(np.mean(gradient[2:5]))


def test_a_and_b_worked_by_hand():
    monitor = ProgressMonitor()
    rounds = [monitor.update(margin) for margin in mean_margins_with([1.0, 2.0, 1.0, 0.5])]
    # ratio(4) = 2 is a local maximum and ratio(5) = 1: ln b = 2 ln 2 − ln 3, b = 4/3, a = 2 ln(3/2)
    assert monitor.log_b == pytest.approx(math.log(4 / 3))
    assert monitor.a == pytest.approx(2 * math.log(1.5))
    assert monitor.offset == 2
    assert rounds[4].predicted == pytest.approx(1.0)
    assert rounds[5].predicted == pytest.approx(2 * math.log(1.5) / math.log(3.0))


@pytest.mark.parametrize(("ratio", "asks"), [(0.5, True), (0.73, True), (0.735, False), (0.8, False)])
def test_a_feature_is_asked_for_when_the_ratio_falls_below_the_prediction_by_the_threshold(ratio, asks):
    # predict(6) = 0.73814; over 1.01 it is 0.73083
    monitor = ProgressMonitor()
    rounds = [monitor.update(margin) for margin in mean_margins_with([1.0, 2.0, 1.0, ratio])]
    assert [r.asks for r in rounds] == [False] * 5 + [asks]


def test_after_forgetting_nothing_is_asked_for_until_a_new_local_maximum():
    sequence = mean_margins_with([1.0, 2.0, 1.0, 0.5, 0.4, 0.3, 0.6, 0.5, 0.2])
    never_forgets, forgets = ProgressMonitor(), ProgressMonitor()
    asked = [never_forgets.update(margin).asks for margin in sequence]
    assert asked == [False] * 5 + [True, True, True, False, False, True]
    asked = []
    for margin in sequence:
        asked.append(forgets.update(margin).asks)
        if asked[-1]:
            forgets.forget()
    assert asked == [False] * 5 + [True, False, False, False, False, True]


@pytest.mark.parametrize("margin", [0.0, 0.1, 0.3, -0.7])
def test_a_constant_mean_margin_asks_for_nothing(margin):
    monitor = ProgressMonitor()
    rounds = [monitor.update(margin) for _ in range(30)]
    assert all(r.gradient == 0.0 for r in rounds[1:])
    assert not any(r.asks for r in rounds)


def test_a_mean_margin_that_is_no_number_asks_for_nothing():
    monitor = ProgressMonitor()
    sequence = [*mean_margins_with([1.0, 2.0, 1.0]), math.nan, 0.1, 0.2]
    assert not any(monitor.update(margin).asks for margin in sequence)


def test_a_shallow_maximum_predicts_although_b_underflows():
    monitor = ProgressMonitor()
    rounds = [monitor.update(margin) for margin in mean_margins_with([0.999, 1.0001, 1.0, 0.98])]
    assert monitor.log_b < -745
    assert rounds[-1].predicted == pytest.approx(1.0, abs=1e-4)
    assert rounds[-1].asks


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("trend_window", [3, 10])
def test_the_monitor_agrees_with_table_2_read_line_by_line(seed, trend_window):
    rng = np.random.default_rng(seed)
    sequence = 0.5 / np.sqrt(np.arange(1, 61)) + rng.normal(scale=0.01, size=60)
    monitor = ProgressMonitor(trend_window)
    rounds = [monitor.update(margin) for margin in sequence]
    gradient, ratio, predict, asks = table_2(sequence, trend_window, 1.01)
    assert [r.gradient for r in rounds[1:]] == pytest.approx(list(gradient.values()), rel=1e-8)
    assert [r.ratio for r in rounds[2:]] == pytest.approx(list(ratio.values()), rel=1e-8)
    assert [r.predicted for r in rounds[3:]] == pytest.approx(list(predict.values()), rel=1e-6)
    assert [r.asks for r in rounds] == asks
    assert monitor.a is not None


def test_a_monitor_restored_from_its_fields_goes_on_alike():
    sequence = mean_margins_with([1.0, 2.0, 1.0, 0.8, 0.6, 0.9, 0.5, 0.4])
    monitor = ProgressMonitor()
    for margin in sequence[:6]:
        monitor.update(margin)
    restored = ProgressMonitor(**json.loads(json.dumps(dataclasses.asdict(monitor))))
    assert [restored.update(margin) for margin in sequence[6:]] == [monitor.update(margin) for margin in sequence[6:]]


def test_margin_is_the_confidence_for_the_class_less_that_against_it():
    # rules of confidence 1 (covers 0, 1), 0.5 (covers 1) and the default −0.5 (covers all): Σ|c| = 2
    votes, y = np.array([0.5, 1.0, -0.5]), np.array([1, -1, -1])
    assert margins(votes, y, 2.0) == pytest.approx([0.25, -0.5, 0.25])
    assert mean_margin(votes, y, 2.0) == pytest.approx(0.0)
    assert mean_margin(votes, y, 2.0, [1, 0, 1]) == pytest.approx(0.25)


def test_margins_without_any_confidence_are_zero():
    assert margins([0.0, 0.0], [1, -1], 0.0).tolist() == [0.0, 0.0]
