"""Table 1 and figures 4 and 5 of the KBS paper (seed 004) as jobs: one a data set, learner and seed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from hornboost.experiments import kbs
from hornboost.experiments.protocol import Job, Result, mean_and_deviation

TITLE = "KBS, AdaBoost.M1 and LogitBoost (Scholz 2005, Table 1, Figures 4 and 5)"
FIGURES = ("adult", "ionosphere", "pima")
SEEDS = {"kdd04-homology": 1}


def accuracy(data: Path, *, data_set: str, learner: str, seed: int, quick: bool) -> Result:
    """The accuracy of a cross-validation, in percent."""
    found = kbs.table1(data, [seed], quick, [data_set], [learner])
    return {"accuracy": found[data_set][learner]["accuracy"]}


def curves(data: Path, *, data_set: str, quick: bool) -> Result:
    """AUC and squared error over the rounds."""
    return dict(kbs.figures(data, [data_set], quick=quick)[data_set])


def jobs(data: Path, quick: bool) -> list[Job]:
    """Table 1 and the curves; a quick run has two small sets."""
    listed = []
    for data_set in ("german-credit",) if quick else tuple(kbs.PAPER):
        for learner in kbs.learners(data_set):
            for seed in range(1 if quick else SEEDS.get(data_set, 5)):
                listed.append(Job(accuracy, {"data_set": data_set, "learner": learner, "seed": seed, "quick": quick}, data))
    for data_set in ("pima",) if quick else FIGURES:
        listed.append(Job(curves, {"data_set": data_set, "quick": quick}, data))
    return listed


def summary(listed: Sequence[Job], results: Sequence[Result]) -> dict[str, Any]:
    """Accuracies with their deviation over seeds beside the paper's, and the curves."""
    found: dict[str, dict[str, list[float]]] = {}
    drawn: dict[str, Any] = {}
    for job, result in zip(listed, results, strict=True):
        data_set = job.arguments["data_set"]
        if "learner" in job.arguments:
            found.setdefault(data_set, {}).setdefault(job.arguments["learner"], []).append(result["accuracy"])
        else:
            drawn[data_set] = {name: values for name, values in result.items() if name != "job_seconds"}
    rows = []
    for data_set, learners in found.items():
        ours = {learner: dict(zip(("accuracy", "deviation"), mean_and_deviation(v), strict=True)) for learner, v in learners.items()}
        rows.append({"row": data_set, "published": kbs.PAPER[data_set], "ours": ours})
    return {"table": "kbs-1", "title": TITLE, "rows": rows, "curves": drawn}
