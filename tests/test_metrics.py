from __future__ import annotations

from decimal import Decimal, localcontext

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from hornboost.displays import RecallPrecisionDisplay
from hornboost.errors import DataError
from hornboost.metrics import area_between, aurpc, aurpc_and_auroc, recall_precision_curve


def random_points(n: int, seed: int) -> tuple[np.ndarray, ...]:
    """Pairs of points whose sizes and distances span many orders of magnitude;
    every tenth step in true positives is tiny.
    """
    rng = np.random.default_rng(seed)
    tp_a, fp_a = 10.0 ** rng.uniform(-6, 3, n), 10.0 ** rng.uniform(-6, 3, n)
    tp_a[::7] = 0.0
    fp_a[::5] = 0.0
    step_tp, step_fp = 10.0 ** rng.uniform(-8, 3, n), 10.0 ** rng.uniform(-8, 3, n)
    step_tp[::10] = tp_a[::10] * 10.0 ** rng.uniform(-14, -9, len(step_tp[::10]))
    step_fp[::3] = 0.0
    return tp_a, fp_a, tp_a + step_tp, fp_a + step_fp


def quadrature(tp_a: np.ndarray, fp_a: np.ndarray, tp_b: np.ndarray, fp_b: np.ndarray) -> np.ndarray:
    """Gauss-Legendre over u = log(N(x) / N_A), where the integrand (Oliphant et al. 2009, section 4) is smooth."""
    nodes, node_weights = np.polynomial.legendre.leggauss(48)
    d, n_a = tp_b - tp_a, tp_a + fp_a
    q = (d + (fp_b - fp_a)) / n_a
    width = np.log1p(q)
    u = width[:, None] * (nodes + 1) / 2
    true_positives = tp_a[:, None] + d[:, None] * np.expm1(u) / q[:, None]
    return d / (n_a * q) * (true_positives @ node_weights) * width / 2


def closed_form(tp_a: float, fp_a: float, tp_b: float, fp_b: float) -> float:
    """The antiderivative (Oliphant et al. 2009, section 4) as in textbooks, with digits enough for cancellations."""
    with localcontext() as context:
        context.prec = 90
        ta, fa, tb, fb = (Decimal(value) for value in (tp_a, fp_a, tp_b, fp_b))
        if ta == tb:
            return 0.0
        s = (fb - fa) / (tb - ta)
        slope, shift = 1 + s, fa - s * ta
        if shift == 0:
            return float((tb - ta) / slope)
        return float((tb - ta) / slope - shift / slope**2 * ((slope * tb + shift) / (slope * ta + shift)).ln())


def test_area_between_equals_numerical_quadrature():
    tp_a, fp_a, tp_b, fp_b = random_points(10_000, seed=1)
    usable = (tp_a + fp_a > 0) & (tp_b > tp_a)
    points = [values[usable] for values in (tp_a, fp_a, tp_b, fp_b)]
    assert usable.sum() > 9_000
    np.testing.assert_allclose(area_between(*points), quadrature(*points), rtol=1e-12, atol=0)


def test_area_between_equals_the_closed_form_in_ninety_digits():
    points = random_points(10_000, seed=2)
    expected = np.array([closed_form(*point) for point in zip(*points, strict=True)])
    np.testing.assert_allclose(area_between(*points), expected, rtol=1e-12, atol=0)


@pytest.mark.parametrize("q", [1e-300, 1e-17, 1e-9, 0.0499999, 0.05, 0.0500001, 1.0, 1e9, 1e300])
def test_area_between_is_continuous_in_the_size_of_the_step(q):
    point = (0.5, 0.5, 0.5 * (1 + q), 0.5 * (1 + q))
    assert float(area_between(*point)) == pytest.approx(closed_form(*point), rel=1e-13)


def test_area_from_the_origin_is_the_horizontal_extension():
    assert area_between(0, 0, 3, 1) == 3 * 3 / 4
    assert area_between(5e-324, 0, 3, 1) == pytest.approx(3 * 3 / 4, rel=1e-15)


def test_no_further_true_positive_gives_no_area():
    np.testing.assert_array_equal(area_between([0, 0, 2], [0, 0, 1], [0, 0, 2], [0, 5, 5]), 0.0)


def test_a_perfect_ranking_has_area_one_and_a_constant_score_the_share_of_positives():
    assert aurpc([1, 1, 0, 0, 0], [5, 4, 3, 2, 1]) == 1.0
    assert aurpc([1, 1, 0, 0, 0], np.zeros(5)) == 2 / 5


def test_negatives_on_top_start_the_curve_at_precision_zero():
    # from (0, 1) to (1, 1): the integral of x / (x + 1) over 0..1
    assert aurpc([0, 1], [2.0, 1.0]) == pytest.approx(1 - np.log(2), rel=1e-12)
    curve = recall_precision_curve([0, 1], [2.0, 1.0])
    np.testing.assert_array_equal(curve.recall, [0, 0, 1])
    np.testing.assert_array_equal(curve.precision, [0, 0, 0.5])


def test_ties_are_one_point_whatever_their_order():
    score = np.array([3.0, 2.0, 2.0, 2.0, 1.0])
    expected = (1 + float(area_between(1, 0, 2, 2))) / 2
    for y in ([1, 1, 0, 0, 0], [1, 0, 1, 0, 0], [1, 0, 0, 1, 0]):
        assert aurpc(y, score) == pytest.approx(expected, rel=1e-15)
        assert len(recall_precision_curve(y, score).thresholds) == 4


def test_an_integer_weight_is_a_repetition_and_weight_zero_an_absence():
    rng = np.random.default_rng(3)
    y, score, weight = rng.integers(0, 2, 200), rng.integers(0, 30, 200) / 7, rng.integers(0, 4, 200)
    repeated = aurpc(np.repeat(y, weight), np.repeat(score, weight))
    assert aurpc(y, score, weight) == pytest.approx(repeated, rel=1e-14)
    corrupted = np.where(weight == 0, 1 - y, y)
    assert aurpc(corrupted, score, weight) == aurpc(y, score, weight)


def test_the_area_agrees_with_the_trapezoid_over_a_finely_interpolated_curve():
    rng = np.random.default_rng(4)
    y = rng.integers(0, 2, 300)
    score = y + rng.normal(size=300).round(1)
    display = RecallPrecisionDisplay.from_predictions(y, score, ax=False)
    assert np.trapezoid(display.precision, display.recall) == pytest.approx(display.aurpc, abs=1e-4)


def test_recall_rises_and_every_point_matches_a_count():
    y, score = np.array(["no", "yes", "yes", "no"]), np.array([0.1, 0.9, 0.4, 0.4])
    curve = recall_precision_curve(y, score, pos_label="yes")
    np.testing.assert_array_equal(curve.thresholds, [np.inf, 0.9, 0.4, 0.1])
    np.testing.assert_allclose(curve.recall, [0, 1 / 2, 1, 1])
    np.testing.assert_allclose(curve.precision, [1, 1, 2 / 3, 1 / 2])


def test_errors_say_what_is_wrong():
    with pytest.raises(DataError, match="pos_label"):
        aurpc(["a", "b"], [1, 2])
    with pytest.raises(DataError, match="no positive example"):
        aurpc([0, 0], [1, 2])
    with pytest.raises(DataError, match="NaN"):
        aurpc([0, 1], [1, np.nan])
    with pytest.raises(DataError, match="two classes"):
        aurpc([0, 1, 2], [1, 2, 3])
    with pytest.raises(DataError, match="equally long"):
        aurpc([0, 1], [1, 2, 3])
    with pytest.raises(DataError, match="sample_weight"):
        aurpc([0, 1], [1, 2], [1, -1])


def test_display_draws_in_scikit_learns_manner():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    from sklearn.datasets import make_classification
    from sklearn.linear_model import LogisticRegression
    from sklearn.tree import DecisionTreeClassifier

    X, y = make_classification(random_state=0)
    logistic = LogisticRegression().fit(X, y)
    display = RecallPrecisionDisplay.from_estimator(logistic, X, y, color="green")
    assert display.aurpc == aurpc(y, logistic.decision_function(X))
    assert display.line_.get_color() == "green"
    assert "LogisticRegression" in display.line_.get_label()
    assert display.ax_.get_xlabel() == "Recall"
    flipped = RecallPrecisionDisplay.from_estimator(logistic, X, y, pos_label=0, ax=False)
    assert flipped.aurpc == aurpc(y, -logistic.decision_function(X), pos_label=0)
    tree = DecisionTreeClassifier(max_depth=2).fit(X, y)
    again = RecallPrecisionDisplay.from_estimator(tree, X, y, name="tree", ax=display.ax_)
    assert again.aurpc == aurpc(y, tree.predict_proba(X)[:, 1])
    assert again.ax_ is display.ax_
    again.plot(display.ax_, plot_chance_level=True)
    assert len(display.ax_.lines) == 4


@pytest.mark.parametrize("number", range(5))
def test_both_areas_are_those_of_the_single_metrics(number: int) -> None:
    rng = np.random.default_rng(number)
    y, score = (rng.random(60) < 0.2).astype(int), rng.integers(0, 12, 60) / 4
    both = aurpc_and_auroc(y, score)
    assert both == pytest.approx((aurpc(y, score), roc_auc_score(y, score)), rel=1e-12)
    assert np.isnan(aurpc_and_auroc([1, 1], [0.5, 0.2])[1])
