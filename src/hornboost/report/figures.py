"""The figures of a report about held-out predictions: recall-precision and ROC curves, calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from hornboost.displays import RecallPrecisionDisplay
from hornboost.report.cards import class_css
from hornboost.report.charts import Chart
from hornboost.report.evaluation import Evaluation, reliability
from hornboost.report.text import name

MOST_CLASSES = 6


@dataclass(frozen=True)
class Figure:
    """A drawing with a caption, the keys of its colours, and the numbers behind it as a table."""

    title: str
    caption: str
    svg: Markup
    legend: Sequence[tuple[str, str]] = ()
    columns: Sequence[str] = ()
    rows: Sequence[Sequence[str]] = ()
    marks: Sequence[str] = ()


def curve_figures(evaluation: Evaluation) -> list[Figure]:
    """Recall-precision and ROC curves from the held-out predictions, and how far their probabilities can be trusted."""
    return [_recall_precision(evaluation), _roc(evaluation), _calibration(evaluation)]


def _classes(evaluation: Evaluation) -> list[int]:
    return [evaluation.positive] if evaluation.is_binary else list(range(min(len(evaluation.classes), MOST_CLASSES)))


def _recall_precision(evaluation: Evaluation) -> Figure:
    chart = Chart("Recall-precision curves", (0, 1), (0, 1), x_label="recall", y_label="precision", percent=True)
    rows = []
    for k in _classes(evaluation):
        for fold, truth, p in _parts(evaluation, k):
            if not truth.any() or not evaluation.is_binary:
                continue
            display = RecallPrecisionDisplay.from_predictions(truth.astype(int), p, ax=False)
            chart.line(zip(display.recall, display.precision, strict=True), "line fold", f"fold {fold + 1}")
        truth, p = evaluation.truth == k, evaluation.probabilities[:, k]
        if not truth.any():
            continue
        display = RecallPrecisionDisplay.from_predictions(truth.astype(int), p, ax=False)
        chart.line([(0, display.prevalence), (1, display.prevalence)], "line chance", "chance")
        chart.line(
            zip(display.recall, display.precision, strict=True),
            _css(evaluation, k),
            f"class {name(evaluation.classes[k])}",
        )
        rows.append([name(evaluation.classes[k]), f"{display.aurpc:.4f}", f"{display.prevalence:.4f}"])
    caption = "Of the examples called positive, the share that is; by the share of positives that is found."
    return Figure(
        "Recall and precision", caption, chart.svg(), _legend(evaluation), ("class", "area", "by chance"), rows
    )


def _roc(evaluation: Evaluation) -> Figure:
    from sklearn.metrics import auc, roc_curve

    chart = Chart(
        "ROC curves", (0, 1), (0, 1), x_label="false positive rate", y_label="true positive rate", percent=True
    )
    chart.line([(0, 0), (1, 1)], "line chance", "chance")
    rows = []
    for k in _classes(evaluation):
        for fold, truth, p in _parts(evaluation, k):
            if evaluation.is_binary and 0 < truth.sum() < len(truth):
                fpr, tpr, _ = roc_curve(truth, p)
                chart.line(zip(fpr, tpr, strict=True), "line fold", f"fold {fold + 1}")
        truth, p = evaluation.truth == k, evaluation.probabilities[:, k]
        if 0 < truth.sum() < len(truth):
            fpr, tpr, _ = roc_curve(truth, p)
            chart.line(zip(fpr, tpr, strict=True), _css(evaluation, k), f"class {name(evaluation.classes[k])}")
            rows.append([name(evaluation.classes[k]), f"{auc(fpr, tpr):.4f}"])
    caption = "True positives found, by the share of negatives that is called positive with them."
    return Figure("ROC", caption, chart.svg(), _legend(evaluation), ("class", "area"), rows)


def _calibration(evaluation: Evaluation) -> Figure:
    if evaluation.is_binary:
        p, truth = evaluation.probabilities[:, evaluation.positive], evaluation.truth == evaluation.positive
        what = f"probability of {name(evaluation.classes[evaluation.positive])}"
    else:
        p = evaluation.probabilities.max(axis=1)
        truth = evaluation.probabilities.argmax(axis=1) == evaluation.truth
        what = "probability of the predicted class"
    chart = Chart("Calibration", (0, 1), (0, 1), x_label=what, y_label="observed share", percent=True)
    counts, edges = np.histogram(p, bins=20, range=(0, 1))
    for count, start, stop in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        if count:
            chart.bar(
                start,
                stop,
                0.18 * count / counts.max(),
                "ghost",
                f"{count:,} examples between {start:.0%} and {stop:.0%}",
            )
    chart.line([(0, 0), (1, 1)], "line chance", "perfect calibration")
    rows = reliability(p, truth)
    chart.line([(mean, share) for mean, share, *_ in rows], "line main thin")
    for mean, share, low, high, n in rows:
        chart.whisker(mean, low, high, "whisker")
        chart.point(mean, share, "dot big", f"predicted {mean:.1%}, observed {share:.1%} of {n:,} examples", 4)
    table = [
        [f"{mean:.3f}", f"{share:.3f}", f"{low:.3f} to {high:.3f}", f"{n:,}"] for mean, share, low, high, n in rows
    ]
    caption = (
        "How often what was given a probability came true, in ten equal groups with 95 % intervals; bars: "
        "how many examples got which."
    )
    legend = [("line main", "observed"), ("line chance", "perfect")]
    return Figure(
        "Calibration", caption, chart.svg(), legend, ("predicted", "observed", "95 % interval", "examples"), table
    )


def _parts(evaluation: Evaluation, k: int) -> list[tuple[int, Any, Any]]:
    return [
        (fold, evaluation.truth[part] == k, evaluation.probabilities[part, k])
        for fold in range(evaluation.n_folds)
        for part in [evaluation.fold == fold]
    ]


def _css(evaluation: Evaluation, k: int) -> str:
    return "line main" if evaluation.is_binary else f"line {class_css(k, 9)}"


def _legend(evaluation: Evaluation) -> list[tuple[str, str]]:
    if evaluation.is_binary:
        return [("line main", "all folds"), ("line fold", "one fold"), ("line chance", "chance")]
    return [(_css(evaluation, k), name(evaluation.classes[k])) for k in _classes(evaluation)]
