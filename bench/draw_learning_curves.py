"""Draw figures 2 and 4 of the PRankBoost paper for our data sets, from the JSON of its table.

Run: hornboost reproduce prankboost-2 --data DATA --json > ranking.json
and: python bench/draw_learning_curves.py ranking.json docs/images/learning-curves.png
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import matplotlib as mpl
import pandas as pd

import hornboost as hb

LEARNERS = ("RankBoost", "Clause", "Path", "Mix1", "Mix2", "Mix3")


def main(source: str, picture: str) -> None:
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    (content,) = json.loads(Path(source).read_text(encoding="utf-8"))
    panels = {title: curves for title, curves in content["curves"].items() if len(curves) > len(LEARNERS)}
    figure, axes = plt.subplots(-(-len(panels) // 2), 2, figsize=(10, 3.1 * -(-len(panels) // 2)), squeeze=False, layout="constrained")
    for ax, (title, curves) in zip(axes.flat, panels.items(), strict=False):
        points = [
            {"model": learner, "round": point["round"], "clauses_evaluated": point["evaluated"], "aurpc": point["aurpc"]}
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


if __name__ == "__main__":
    main(*sys.argv[1:3])
