"""Quality against time, and against the size of models that can be read: a small picture for each set."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.peers.collect import Row

MARKS = "osD^vP*X<>hd8p"


def draw(rows: Sequence[Row], names: Mapping[tuple[str, str], str], file: Path, across: str, label: str) -> bool:
    """Draw the area under the ROC curve of each learner over `across` ("seconds" or "conditions"), a set a picture.

    Nothing is drawn, and False returned, where no set has something to be compared: learners of two packages, or three.
    """
    from matplotlib import rc_context

    sets = [name for name in dict.fromkeys(row.set for row in rows) if _is_compared(_points(rows, name, across))]
    if not sets:
        return False
    points = [row for name in sets for row, _, _ in _points(rows, name, across)]
    shown = [key for key in names if any((row.peer, row.learner) == key for row in points)]
    with rc_context({"svg.hashsalt": "hornboost", "svg.fonttype": "none", "font.size": 8}):
        _panels(rows, sets, {key: names[key] for key in shown}, file, across, label)
    return True


def _panels(
    rows: Sequence[Row], sets: Sequence[str], names: Mapping[tuple[str, str], str], file: Path, across: str, label: str
) -> None:
    from matplotlib.figure import Figure

    columns = min(3, len(sets))
    lines = -(-len(sets) // columns)
    figure = Figure(figsize=(3.2 * columns, 2.5 * lines + 1.8), layout="constrained")
    panels = figure.subplots(lines, columns, squeeze=False).ravel()
    marks: dict[str, Any] = {}
    for panel, name in zip(panels, sets, strict=False):
        for row, x, y in _points(rows, name, across):
            number = list(names).index((row.peer, row.learner))
            ours = row.peer == "hornboost"
            style = {"marker": MARKS[number % len(MARKS)], "s": 60 if ours else 32, "zorder": 3 if ours else 2}
            marks[names[row.peer, row.learner]] = panel.scatter(x, y, color=f"C{number % 10}", **style)
        _scale(panel)
        panel.set_title(name)
        panel.grid(alpha=0.3)
        panel.set_xlabel(label)
        panel.set_ylabel("area under ROC")
    for panel in panels[len(sets) :]:
        panel.set_axis_off()
    in_order = [name for name in names.values() if name in marks]
    figure.legend([marks[name] for name in in_order], in_order, loc="outside lower center", ncols=min(3, len(in_order)))
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, metadata={"Date": None})


def _scale(panel: Any) -> None:
    """Powers of ten across, with numbers between them where there is room, and no mark on a border."""
    from matplotlib.ticker import LogLocator, NullFormatter

    panel.set_xscale("log")
    panel.margins(0.1)
    low, high = panel.get_xlim()
    panel.xaxis.set_major_locator(LogLocator(subs=(1,) if high > 200 * low else (1, 2, 5)))
    panel.xaxis.set_major_formatter("{x:g}")
    panel.xaxis.set_minor_formatter(NullFormatter())


def _is_compared(points: Sequence[tuple[Row, float, float]]) -> bool:
    return len(points) > 2 or len({row.peer for row, _, _ in points}) > 1


def _points(rows: Sequence[Row], name: str, across: str) -> list[tuple[Row, float, float]]:
    found = []
    for row in rows:
        x = row.conditions if across == "conditions" else row.mean(across)
        y = row.mean("auc")
        if row.set == name and x and y is not None:
            found.append((row, x, y))
    return found
