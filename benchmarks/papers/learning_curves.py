"""Draw figures 2 and 4 of the PRankBoost paper for our data sets, from the JSON of its table.

Run: python -m benchmarks.papers prankboost-2 --data DATA --json > ranking.json
and: python -m benchmarks.papers.learning_curves ranking.json docs/images/learning-curves.png
"""

from __future__ import annotations

import argparse
import json
import re
from pathlib import Path

import matplotlib as mpl
import pandas as pd

import hornboost as hb

LEARNERS = ("RankBoost", "Clause", "Path", "Mix1", "Mix2", "Mix3")


def draw(source: Path, picture: Path) -> None:
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    (content,) = json.loads(source.read_text(encoding="utf-8"))
    panels = {title: curves for title, curves in content["curves"].items() if len(curves) > len(LEARNERS)}
    figure, axes = plt.subplots(
        -(-len(panels) // 2), 2, figsize=(10, 3.1 * -(-len(panels) // 2)), squeeze=False, layout="constrained"
    )
    for ax, (title, curves) in zip(axes.flat, panels.items(), strict=False):
        points = [
            {
                "model": learner,
                "round": point["round"],
                "clauses_evaluated": point["evaluated"],
                "aurpc": point["aurpc"],
            }
            for learner in LEARNERS
            for point in curves[learner]
        ]
        hb.LearningCurveDisplay(pd.DataFrame(points)).plot(ax, marker=".", linewidth=1.2)
        ax.autoscale(axis="y")
        ax.set(title=re.split(r", | \(", title)[0], xscale="log")
        ax.set_ylim(bottom=0.0)
        ax.get_legend().remove()
    for ax in list(axes.flat)[len(panels) :]:
        ax.set_visible(False)
    figure.legend(*axes[0, 0].get_legend_handles_labels(), loc="outside lower center", ncols=len(LEARNERS))
    figure.savefig(picture, dpi=80)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("source", type=Path, help="the JSON of the table")
    parser.add_argument("picture", type=Path, help="the file to draw")
    options = parser.parse_args()
    draw(options.source, options.picture)


if __name__ == "__main__":
    main()
