"""From the predictions of fits to figures: quality over the test examples, time and size, means over folds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean, stdev

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
    stopped: dict[str, float] = field(default_factory=dict)
    """The folds that were not done in time, with the seconds of the processor that they had."""
    memory: int = 0
    """Gigabytes that were not enough, or 0."""
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
    row.lines = record.get("lines", row.lines)
    if record["state"] == "done":
        row.folds[record["fold"]] = figures(record, truth)
    elif record["state"] == "stopped":
        row.stopped[record["fold"]] = float(record["used"] if "used" in record else record["limit"])
    elif record["state"] == "cannot":
        row.cannot = record["cannot"]
    elif record["state"] == "memory":
        row.memory = max(row.memory, int(record["memory"]))
    else:
        row.failed = record["error"].strip().rpartition("\n")[2]


def truth_of(folder: Path, fold: str) -> NDArray[np.bool_]:
    """Which test examples are positive."""
    classes: NDArray[np.bool_] = np.load(folder / "truth" / f"{fold}.npy")
    return classes


@dataclass(frozen=True, slots=True)
class Comparison:
    """HornBoost and a learner on the folds of a set that both have done, or one of them was stopped in."""

    set: str
    folds: int
    times: float
    """How many times as long the learner took."""
    at_least: bool
    """Whether it was stopped in one of the folds, so that it takes longer still."""
    at_most: bool
    """Whether HornBoost was, which is then not the faster one, whatever the limit."""
    ahead: Mapping[str, float]
    """For each quality by how much HornBoost is better."""
    errors: Mapping[str, float]
    """The standard errors of these differences, where there are three folds or more."""

    def behind(self, name: str, by: float = 0.0) -> bool:
        """Whether HornBoost is worse by more than what is let pass (`LET_PASS`), or not `by` better."""
        return name in self.ahead and self.ahead[name] < (by or -LET_PASS[name])

    def is_unclear(self, name: str) -> bool:
        """Whether the difference is within two standard errors of the folds."""
        return name in self.errors and abs(self.ahead[name]) < 2 * self.errors[name]


LET_PASS = {"accuracy": 0.5, "auc": 0.005, "aurpc": 0.005, "log_loss": 0.01}
"""Differences that do not count."""


def comparison(ours: Row, other: Row) -> Comparison | None:
    """A learner beside HornBoost; None if there is no fold that one of them has done, and the other has begun."""
    common = [fold for fold in ours.folds if fold in other.folds]
    stopped = [fold for fold in ours.folds if fold in other.stopped]
    lost = [fold for fold in ours.stopped if fold in other.folds]
    if not common and not stopped and not lost:
        return None
    ahead: dict[str, float] = {}
    errors: dict[str, float] = {}
    for name in QUALITIES:
        pairs = [(ours.folds[fold].get(name), other.folds[fold].get(name)) for fold in common]
        sign = -1.0 if name == "log_loss" else 1.0
        found = [sign * (mine - yours) for mine, yours in pairs if mine is not None and yours is not None]
        if found and len(found) == len(common):
            ahead[name] = fmean(found)
            errors |= {name: stdev(found) / len(found) ** 0.5} if len(found) > 2 else {}
    yours = sum(other.folds[fold]["seconds"] for fold in (*common, *lost))
    yours += sum(other.stopped[fold] for fold in stopped)
    mine = sum(ours.folds[fold]["seconds"] for fold in (*common, *stopped)) + sum(ours.stopped[fold] for fold in lost)
    n = len(common) + len(stopped) + len(lost)
    return Comparison(ours.set, n, yours / max(mine, 1e-3 * n), bool(stopped), bool(lost), ahead, errors)


def rows_of(rows: Sequence[Row], name: str) -> list[Row]:
    """The rows of a set."""
    return [row for row in rows if row.set == name]
