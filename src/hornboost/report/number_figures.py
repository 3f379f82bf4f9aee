"""The figures of a report about held-out numbers: predicted against actual, and the errors."""

from __future__ import annotations

import numpy as np

from hornboost.report.charts import Chart, thinned
from hornboost.report.figures import Figure
from hornboost.report.number_evaluation import NumberEvaluation
from hornboost.report.text import number

MOST_POINTS = 800
BINS = 30


def number_curves(evaluation: NumberEvaluation, label: str) -> list[Figure]:
    """Predicted against actual numbers, errors by prediction, and how errors are distributed."""
    return [_predicted_and_actual(evaluation, label), _errors(evaluation), _distribution(evaluation)]


def _predicted_and_actual(evaluation: NumberEvaluation, label: str) -> Figure:
    values = np.concatenate([evaluation.truth, evaluation.predicted])
    bounds = (float(values.min()), float(values.max()))
    chart = Chart("Predicted against actual", bounds, bounds, x_label=f"predicted {label}", y_label=f"actual {label}")
    chart.line([(bounds[0], bounds[0]), (bounds[1], bounds[1])], "line chance", "predicted exactly")
    pairs = list(zip(evaluation.predicted.tolist(), evaluation.truth.tolist(), strict=True))
    for predicted, actual in thinned(pairs, MOST_POINTS):
        chart.point(predicted, actual, "dot", f"predicted {number(predicted)}, actual {number(actual)}", 2)
    rows = _in_groups(evaluation)
    caption = "Held-out examples; on the line the prediction is exact. The table has the means of ten equal groups."
    columns = ("predicted, mean", "actual, mean", "examples")
    legend = [("line chance", "predicted exactly")]
    return Figure("Predicted against actual", caption, chart.svg(), legend, columns, rows)


def _in_groups(evaluation: NumberEvaluation) -> list[list[str]]:
    order = np.argsort(evaluation.predicted, kind="stable")
    parts = np.array_split(order, min(10, len(order)))
    means = [(float(evaluation.predicted[part].mean()), float(evaluation.truth[part].mean())) for part in parts]
    return [[number(p), number(t), f"{len(part):,}"] for (p, t), part in zip(means, parts, strict=True)]


def _errors(evaluation: NumberEvaluation) -> Figure:
    error = evaluation.truth - evaluation.predicted
    low, high = float(evaluation.predicted.min()), float(evaluation.predicted.max())
    most = float(np.abs(error).max())
    chart = Chart("Errors", (low, high), (-most, most), x_label="predicted", y_label="actual − predicted")
    chart.line([(low, 0.0), (high, 0.0)], "line chance", "no error")
    for predicted, off in thinned(list(zip(evaluation.predicted.tolist(), error.tolist(), strict=True)), MOST_POINTS):
        chart.point(predicted, off, "dot", f"predicted {number(predicted)}, off by {number(off)}", 2)
    caption = "What is left of each held-out example. A pattern here is something that the rules do not say yet."
    return Figure("Errors by prediction", caption, chart.svg(), [("line chance", "no error")])


def _distribution(evaluation: NumberEvaluation) -> Figure:
    error = evaluation.truth - evaluation.predicted
    counts, edges = np.histogram(error, bins=BINS)
    chart = Chart(
        "Distribution of errors",
        (float(edges[0]), float(edges[-1])),
        (0.0, float(counts.max())),
        x_label="actual − predicted",
        y_label="examples",
    )
    rows = []
    for count, start, stop in zip(counts.tolist(), edges[:-1].tolist(), edges[1:].tolist(), strict=True):
        chart.bar(start, stop, count, "ghost", f"{count:,} examples from {number(start)} to {number(stop)}")
        rows.append([number(start), number(stop), f"{count:,}"])
    middle = number(float(np.median(np.abs(error))))
    caption = f"Half of the held-out predictions are off by {middle} or less."
    return Figure("Distribution of errors", caption, chart.svg(), (), ("from", "to", "examples"), rows)
