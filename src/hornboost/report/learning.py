"""The figures of a report about learning itself.

What a booster recorded round by round, and the learning curves of ranking boosters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from hornboost.report.cards import class_css
from hornboost.report.charts import Chart, Point, describe_axis
from hornboost.report.figures import MOST_CLASSES, Figure
from hornboost.report.text import name, number

History = Sequence[Mapping[str, Any]]

PROGRESS = (
    ("mean_margin", "mean margin"),
    ("training_error", "training error"),
    ("training_loss", "training loss"),
    ("error", "weighted error"),
    ("largest_vote", "largest vote"),
)
"""What a booster's rounds may record, and what it is called."""

WHY = {
    "mean_margin": "A margin is the votes for the right class less those against it, divided by all votes. It usually "
    "falls: the first rules are right about many examples, and each further one takes part of their share of the votes."
}
"""What a curve would leave its reader wondering about."""


def learning_figures(history: History, fold_histories: Sequence[History] = ()) -> list[Figure]:
    """Of a ranking booster the learning curves.

    Of others up to two quantities by round, the first with the rounds of new features.

    `fold_histories` are those of the fits of a cross-validation, with the held-out areas of their folds.
    """
    if any("aurpc" in row for row in history):
        return [
            _learning_curve(history, fold_histories, over)
            for over in ("clauses_evaluated", "round")
            if all(over in row for row in history)
        ]
    known = [(column, label) for column, label in PROGRESS if any(column in row for row in history)]
    return [_by_round(history, column, label, with_features=k == 0) for k, (column, label) in enumerate(known[:2])]


def _learning_curve(history: History, fold_histories: Sequence[History], over: str) -> Figure:
    """The area on the training examples and on held-out ones (Oliphant et al. 2009, Figures 2 and 4)."""
    classes = list(dict.fromkeys(str(row.get("class", "")) for row in history))[:MOST_CLASSES]
    training = {value: _curve(history, value, over, "aurpc") for value in classes}
    held_out = {value: _curve(history, value, over, "aurpc_held_out") for value in classes}
    folds = [_curve(rows, classes[0], over, "aurpc_held_out") for rows in fold_histories] if len(classes) == 1 else []
    if folds and not held_out[classes[0]]:
        held_out[classes[0]] = _mean_curve(folds)
    what = "clauses evaluated" if over == "clauses_evaluated" else "round"
    known = [curve for curve in (*training.values(), *held_out.values(), *folds) if curve]
    areas = [area for _, area in training[classes[0]]]
    title = f"recall-precision area by {what}, on the training examples {describe_axis(areas)}"
    bounds = (0.0, max(x for curve in known for x, _ in curve))
    chart = Chart(title, bounds, (0.0, 1.0), x_label=what, y_label="recall-precision area", width=560, height=300)
    legend = []
    for curve in folds:
        chart.line(curve, "line fold", "a fold of the cross-validation")
    for k, value in enumerate(classes):
        css, suffix = ("line main", "") if len(classes) == 1 else (f"line {class_css(k, 9)}", f", class {name(value)}")
        chart.line(training[value], f"{css} training", f"training examples{suffix}")
        chart.line(held_out[value], css, f"held-out examples{suffix}")
        legend.append((f"{css} training", f"training examples{suffix}"))
        if held_out[value]:
            legend.append((css, f"held-out examples{suffix}"))
    if folds:
        legend.append(("line fold", "one fold"))
    rows = [[f"{x:,}", f"{area:.4f}", value] for value in classes for x, area in training[value]]
    caption = f"By the number of {'clauses evaluated' if over == 'clauses_evaluated' else 'weak hypotheses'} so far."
    return Figure(
        f"Learning curve by {what}",
        caption,
        chart.svg(),
        legend,
        (what, "area on the training examples", "class"),
        rows[:500],
    )


def _curve(history: History, value: str, over: str, column: str) -> list[Point]:
    """The points of one class; clauses evaluated for the classes before it are not counted."""
    before = 0
    if over == "clauses_evaluated":
        values = [str(row.get("class", "")) for row in history]
        first = values.index(value) if value in values else 0
        before = int(history[first - 1][over]) if first else 0
    return [
        (row[over] - before, float(row[column]))
        for row in history
        if str(row.get("class", "")) == value and column in row
    ]


def _mean_curve(curves: Sequence[Sequence[Point]]) -> list[Point]:
    """The mean point of each round; a fold that ended early stays where it was."""
    known = [curve for curve in curves if curve]
    longest = max((len(curve) for curve in known), default=0)
    ends = [[curve[min(t, len(curve) - 1)] for curve in known] for t in range(longest)]
    return [(fmean(x for x, _ in points), fmean(area for _, area in points)) for points in ends]


def _by_round(history: History, column: str, label: str, *, with_features: bool) -> Figure:
    classes = list(dict.fromkeys(str(row.get("class", "")) for row in history))[:MOST_CLASSES]
    values = [float(row[column]) for row in history if column in row]
    rounds = [int(row["round"]) for row in history]
    bounds = (min(0.0, *values), max(values)) if len(values) > 1 else (0.0, max(values))
    sentence = f"{label} by round, {describe_axis(values)}"
    chart = Chart(sentence, (min(rounds), max(rounds)), bounds, x_label="round", y_label=label, width=560, height=300)
    marks = _entered(history) if with_features else []
    for k, (at, what) in enumerate(marks, start=1):
        chart.mark(at, k, f"round {at}: {what}")
    for k, value in enumerate(classes):
        rows = [row for row in history if str(row.get("class", "")) == value and column in row]
        css = "line main" if len(classes) == 1 else f"line {class_css(k, 9)}"
        chart.line([(row["round"], float(row[column])) for row in rows], css)
        if len(rows) <= 200:
            for row in rows:
                chart.point(
                    row["round"],
                    float(row[column]),
                    "dot",
                    f"round {row['round']}: {label} {number(round(float(row[column]), 4))}",
                    2,
                )
    legend = (
        [(f"line {class_css(k, 9)}", f"class {name(value)}") for k, value in enumerate(classes)]
        if len(classes) > 1
        else []
    )
    table = [[str(row["round"]), f"{float(row[column]):.4f}"] for row in history if column in row][:500]
    entered = [f"{k}. round {at}: {what}" for k, (at, what) in enumerate(marks, start=1)]
    caption = f"On the training examples, after each of {max(rounds)} rounds."
    return Figure(
        label.capitalize(),
        f"{caption} {WHY[column]}" if column in WHY else caption,
        chart.svg(),
        legend,
        ("round", label),
        table,
        entered,
    )


def _entered(history: History) -> list[tuple[int, str]]:
    return [
        (int(row["round"]), ", ".join(name(feature) for feature in row["activated"]) + " entered")
        for row in history
        if row.get("activated")
    ]
