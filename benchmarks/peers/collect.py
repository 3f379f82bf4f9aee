"""From the predictions of fits to figures: quality over the test examples, time and size, means over folds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.run import Record, seconds_of

QUALITIES = ("accuracy", "auc", "aurpc", "log_loss")
"""What is measured on test examples; only of the last is less better."""


def figures(record: Record, truth: NDArray[np.bool_]) -> dict[str, float]:
    """The figures of a fit that is done; without probabilities there is an accuracy only."""
    from sklearn.metrics import log_loss

    from hornboost.metrics import aurpc_and_auroc

    found = {"seconds": seconds_of(record), "predict": float(record["processor"]["predict"])}
    if record.get("size"):
        found |= {name: float(value) for name, value in record["size"].items() if value is not None}
    if "classes" in record:
        return found | {"accuracy": 100.0 * float(np.mean(np.asarray(record["classes"]) == truth))}
    proba = np.asarray(record["probabilities"], np.float64)
    found["accuracy"] = 100.0 * float(np.mean((proba > 0.5) == truth))
    if truth.any() and not truth.all():
        found["aurpc"], found["auc"] = aurpc_and_auroc(truth, proba)
    found["log_loss"] = float(log_loss(truth, np.clip(proba, 0.0, 1.0), labels=[False, True]))
    return found


@dataclass(slots=True)
class Row:
    """A learner on a set: the figures of each fold that is done, and what became of the others."""

    peer: str
    learner: str
    set: str
    folds: dict[str, dict[str, float]] = field(default_factory=dict)
    lines: int | None = None
    stopped: int = 0
    limit: float = 0.0
    cannot: str = ""
    failed: str = ""

    def mean(self, name: str, folds: Iterable[str] | None = None) -> float | None:
        """The mean of a figure over folds; None unless each has it."""
        values = [self.folds[fold].get(name) for fold in (self.folds if folds is None else folds)]
        known = [value for value in values if value is not None]
        return fmean(known) if known and len(known) == len(values) else None

    @property
    def conditions(self) -> float | None:
        """Rules and conditions in all."""
        rules, conditions = self.mean("rules"), self.mean("conditions")
        return None if rules is None or conditions is None else rules + conditions


def add(row: Row, record: Record, truth: NDArray[np.bool_]) -> None:
    """Count a fold."""
    row.limit = max(row.limit, float(record["limit"]))
    row.lines = record.get("lines", row.lines)
    if record["state"] == "done":
        row.folds[record["fold"]] = figures(record, truth)
    elif record["state"] == "stopped":
        row.stopped += 1
    elif record["state"] == "cannot":
        row.cannot = record["cannot"]
    else:
        row.failed = record["error"].strip().rpartition("\n")[2]


def truth_of(folder: Path, fold: str) -> NDArray[np.bool_]:
    """Which test examples are positive."""
    classes: NDArray[np.bool_] = np.load(folder / "truth" / f"{fold}.npy")
    return classes


@dataclass(frozen=True, slots=True)
class Comparison:
    """HornBoost and a learner on the folds of a set that both have done."""

    set: str
    folds: int
    times: float
    """How many times as long the learner took."""
    ahead: Mapping[str, float]
    """For each quality by how much HornBoost is better."""


def comparison(ours: Row, other: Row) -> Comparison | None:
    """A learner beside HornBoost; None if no fold is done by both."""
    common = [fold for fold in ours.folds if fold in other.folds]
    if not common:
        return None
    ahead = {}
    for name in QUALITIES:
        mine, yours = ours.mean(name, common), other.mean(name, common)
        if mine is not None and yours is not None:
            ahead[name] = yours - mine if name == "log_loss" else mine - yours
    mine, yours = ours.mean("seconds", common), other.mean("seconds", common)
    assert mine is not None
    assert yours is not None
    return Comparison(ours.set, len(common), yours / max(mine, 1e-3), ahead)


def rows_of(rows: Sequence[Row], name: str) -> list[Row]:
    """The rows of a set."""
    return [row for row in rows if row.set == name]
