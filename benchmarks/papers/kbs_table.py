"""Table 1 and figures 4 and 5 of Scholz 2005 as jobs: one for each data set, learner and seed."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.papers import kbs
from benchmarks.papers.protocol import Job, Result, mean_and_deviation

TITLE = "KBS, AdaBoost.M1 and LogitBoost (Scholz 2005, Table 1, Figures 4 and 5)"
FIGURES = ("adult", "ionosphere", "pima")

Curves = Mapping[str, Mapping[str, Sequence[float]]]
"""Algorithm → "auc" and "squared_error", a value a round."""


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
            for seed in range(1 if quick else 5):
                listed.append(
                    Job(accuracy, {"data_set": data_set, "learner": learner, "seed": seed, "quick": quick}, data)
                )
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
        ours = {learner: _figures(data_set, learner, values) for learner, values in learners.items()}
        rows.append({"row": data_set, "published": kbs.PAPER[data_set], "ours": ours})
    return {"table": "kbs-1", "title": TITLE, "rows": rows, "curves": drawn, "seconds": _seconds(listed, results)}


def _seconds(listed: Sequence[Job], results: Sequence[Result]) -> dict[str, float]:
    """Processor time by data set, of all its learners and seeds."""
    total: dict[str, float] = {}
    for job, result in zip(listed, results, strict=True):
        data_set = job.arguments["data_set"]
        total[data_set] = total.get(data_set, 0.0) + result["job_seconds"]
    return total


def _figures(data_set: str, learner: str, accuracies: Sequence[float]) -> dict[str, Any]:
    """Mean and deviation over seeds, and how they stand to the paper's."""
    accuracy, deviation = mean_and_deviation(accuracies)
    return {
        "accuracy": accuracy,
        "deviation": deviation,
        "seeds": len(accuracies),
        "verdict": verdict(data_set, learner, accuracy, deviation),
    }


def verdict(data_set: str, learner: str, accuracy: float, deviation: float) -> str:
    """How an accuracy stands to the paper's for that learner, or for KBS where the paper has no such learner.

    >>> verdict("cmc", "KBS / tree", 52.3, 0.5), verdict("cmc", "KBS / tree", 52.0, 0.5)
    ('better', 'within one sd')
    >>> verdict("cmc", "KBS, defaults", 50.0, 0.5)
    'worse'
    """
    printed = kbs.PAPER[data_set].get(learner, kbs.PAPER[data_set]["KBS / tree"])
    if round(accuracy, 2) >= printed:
        return "better"
    return "within one sd" if printed - accuracy <= deviation else "worse"


def _is_alike(curves: Curves) -> bool:
    ours, theirs = (np.array(curves[name]["auc"]) for name in ("KBS", "LogitBoost"))
    rises = all(curve.argmax() + 1 >= 0.9 * len(curve) for curve in (ours, theirs))
    return bool(rises and abs(ours[-1] - theirs[-1]) < 0.01 and theirs[-1] >= ours[-1])


def _overfits_early(curves: Curves) -> bool:
    auc = np.array(curves["KBS"]["auc"])
    return bool(auc.argmax() < 5 and auc[-1] < auc.max())


def _is_ahead(curves: Curves) -> bool:
    return bool(np.mean(curves["KBS"]["auc"]) > np.mean(curves["LogitBoost"]["auc"]))


CLAIMS: Mapping[str, tuple[str, Callable[[Curves], bool]]] = {
    "adult": ("the curves are alike, LogitBoost's a bit ahead, and neither overfits", _is_alike),
    "ionosphere": ("the AUC of KBS is best after 3 rounds and falls then", _overfits_early),
    "pima": ("KBS is marginally better than LogitBoost", _is_ahead),
}


def figure_claims(curves: Mapping[str, Curves]) -> list[str]:
    """Whether what the paper reads from figures 4 and 5 holds, a sentence a data set."""
    sentences = []
    for data_set, algorithms in curves.items():
        claim, holds = CLAIMS[data_set]
        found = []
        for name, values in algorithms.items():
            auc, squared = np.array(values["auc"]), np.array(values["squared_error"])
            found.append(
                f"{name} has its largest AUC ({auc.max():.3f}) after {auc.argmax() + 1} rounds and ends at "
                f"{auc[-1]:.3f}, "
                f"its smallest squared error ({squared.min():.3f}) after {squared.argmin() + 1} and ends at "
                f"{squared[-1]:.3f}"
            )
        word = "confirmed" if holds(algorithms) else "not confirmed"
        sentences.append(f"{data_set}, the paper: {claim}. **{word.capitalize()}**: {'; '.join(found)}.")
    return sentences


def draw(content: Mapping[str, Any], folder: Path) -> list[Path]:
    """Figures 4 and 5 as pictures."""
    return kbs.draw(content["curves"], folder)
