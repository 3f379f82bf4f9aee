"""`hornboost evaluate`: cross-validation."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from hornboost.cli import options as shared
from hornboost.cli.cluster import Cluster, working_on
from hornboost.cli.learner import Learner, make_estimator
from hornboost.cli.output import note, say, show_json, show_table
from hornboost.cli.source import TaskOptions
from hornboost.stopping import holding

if TYPE_CHECKING:
    from hornboost.cli.splits import AskedFolds
    from hornboost.data import Database


@shared.gathers(options=shared.task_options, wanted=shared.learner_options, cluster=shared.cluster_options)
def evaluate(
    source: shared.Source,
    cv: Annotated[
        int | None,
        typer.Option(
            min=2,
            help="Folds of a cross-validation at random, stratified by class: 10, or none if others are asked for.",
        ),
    ] = None,
    folds: Annotated[str | None, typer.Option(help="Known folds that the schema names, instead of --cv.")] = None,
    groups: shared.Groups = None,
    split: shared.Split = None,
    rolling: shared.Rolling = None,
    horizon: shared.Horizon = None,
    *,
    options: TaskOptions,
    wanted: Learner,
    cluster: Cluster,
    as_json: shared.Json = False,
) -> None:
    """Estimate by cross-validation, or by splits in time, how well rules learned from SOURCE predict."""
    from hornboost.cli.fit import examples
    from hornboost.cli.source import open_task
    from hornboost.cli.splits import asked_folds

    with working_on(open_task(source, options), cluster) as database:
        X, y, behind = examples(database)
        learner = make_estimator(wanted, behind)
        asked = asked_folds(database, y, cv, folds, groups, split, rolling, horizon, wanted.seed or 0)
        evaluated = [
            _Evaluated(of, learner, _all_results(learner, X, y, of, database), np.asarray(y)[of.tested]) for of in asked
        ]
    if as_json:
        about: dict[str, Any] = {"estimator": type(learner).__name__, "positive": database.target.positive}
        beside = {"in_time": evaluated[1].as_json(database)} if len(evaluated) > 1 else {}
        show_json({**about, **evaluated[0].as_json(database), **beside})
        return
    for one in evaluated:
        one.show(database)


@dataclass(frozen=True, eq=False)
class _Evaluated:
    """What came out of some folds, and the labels of what they predicted."""

    of: AskedFolds
    learner: Any
    results: list[dict[str, Any]]
    y: Any

    @property
    def mean(self) -> dict[str, float]:
        kept = [name for name in self.results[0] if name not in self.of.about(1)]
        return {name: _mean([row[name] for row in self.results]) for name in kept}

    def as_json(self, database: Database) -> dict[str, Any]:
        """What a script reads."""
        is_of_numbers = database.label_kind == "numbers"
        baseline: dict[str, Any] = (
            {"baseline": _always_the_same(self.learner, self.y)} if is_of_numbers else {"majority": _majority(self.y)}
        )
        return {"folds": self.results, "mean": self.mean, **baseline}

    def show(self, database: Database) -> None:
        """Print a table and a sentence."""
        names, mean = list(self.results[0]), self.mean
        rows = [[_shown(name, row[name]) for name in names] for row in self.results]
        rows.append(["mean", *(_shown(name, mean[name]) if name in mean else "" for name in names[1:])])
        show_table(names, rows, right=names)
        if database.label_kind == "numbers":
            say(_about_numbers(self.learner, self.results, mean, self.y, self.over))
        else:
            say(_about_classes(self.results, mean, self.y, self.over, database))

    @property
    def over(self) -> str:
        """What the figures are means over."""
        n = len(self.results)
        if self.of.groups is not None:
            return f"{n} folds by {self.of.groups}"
        return f"{n} folds" if not self.of.moments else f"{n} splits in time" if n > 1 else "a split in time"


def _all_results(learner: Any, X: Any, y: Any, of: AskedFolds, database: Database) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = []
    limits: Counter[str] = Counter()
    try:
        for row, sentences in _results(learner, X, y, of, database):
            results.append(row)
            limits.update(sentences)
    except KeyboardInterrupt:
        note(_interrupted(results, len(of.parts), of.what))
        raise
    for sentence, n in limits.items():
        note(f"in {n} of {len(results)} {of.what}s {sentence}")
    return results


def _about_classes(results: list[dict[str, Any]], mean: dict[str, float], y: Any, over: str, database: Database) -> str:
    about = (
        f'; auroc and aurpc are of "{database.target.positive}"'
        if "auroc" in mean and database.target.positive is not None
        else ""
    )
    spread = f" ± {float(np.std([row['accuracy'] for row in results])):.1%}" if len(results) > 1 else ""
    spoken = f"accuracy {mean['accuracy']:.1%}{spread} over {over}"
    return f"{spoken}; always guessing the largest class: {_majority(y):.1%}{about}"


def _about_numbers(learner: Any, results: list[dict[str, Any]], mean: dict[str, float], y: Any, over: str) -> str:
    """The figure that the loss is about, beside that of the best number to say of all examples."""
    same = _always_the_same(learner, y)
    name, said, guess = {
        "absolute": ("mae", "MAE", "the median"),
        "quantile": ("pinball", "pinball loss", f"the {learner.quantile:g} quantile"),
    }.get(learner.loss, ("r2", "R²", "the mean"))
    known = [row[name] for row in results if row[name] == row[name]]
    spread = f" ± {_shown(name, np.std(known))}" if len(known) > 1 else ""
    spoken = f"{said} {_shown(name, mean[name])}{spread}"
    if name == "r2":
        name, said, spoken = "rmse", "RMSE", f"{spoken}, RMSE {_shown('rmse', mean['rmse'])}"
    elif name == "pinball":
        spoken += f", {mean['below']:.1%} of the labels below the prediction,"
    return f"{spoken} over {over}; always guessing {guess}: {said} {_shown(name, same[name])}"


def _results(
    learner: Any, X: Any, y: Any, of: AskedFolds, database: Database
) -> Iterator[tuple[dict[str, Any], list[str]]]:
    from sklearn.base import clone

    from hornboost.cli.fit import about_limits, fit_with_progress

    labels = np.asarray(y)
    for number, (train, test) in enumerate(of.parts, start=1):
        with holding():  # a fold is whole or does not count
            started = time.monotonic()
            what = f"{of.what} {number} of {len(of.parts)}"
            fitted = fit_with_progress(clone(learner), X.iloc[train], y.iloc[train], what)
            seconds = time.monotonic() - started
            row: dict[str, Any] = {**of.about(number), **_figures(fitted, X.iloc[test], labels[test], database)}
            row |= {"rules": len(getattr(fitted, "rules_", ())), "seconds": seconds}
        yield row, about_limits(fitted)


def _figures(fitted: Any, X: Any, y: Any, database: Database) -> dict[str, float]:
    """How a model does on held-out examples."""
    from hornboost.report.number_evaluation import number_figures

    predicted = fitted.predict(X)
    if database.label_kind == "numbers":
        return number_figures(y, predicted, fitted.loss, fitted.quantile)
    return {"accuracy": float(np.mean(predicted == y)), **_areas(fitted, X, y, database)}


def _interrupted(results: list[dict[str, Any]], n: int, what: str) -> str:
    """What is known when the folds were not all done; no mean, which would be taken for the result."""
    first = "r2" if results and "r2" in results[0] else "accuracy"
    done = ", ".join(f"{row['fold']} ({first} {row[first]:.3f})" for row in results)
    known = f"interrupted with {len(results)} of {n} {what}s done" + (f": {done}" if done else "")
    return f"{known}; there is no result"


def _areas(fitted: Any, X: Any, y: Any, database: Database) -> dict[str, float]:
    """The areas under both curves for the positive class, where there are two classes."""
    from sklearn.metrics import roc_auc_score

    from hornboost.estimators.examples import class_text
    from hornboost.metrics import aurpc

    if len(fitted.classes_) != 2:
        return {}
    last = class_text(fitted.classes_[1])
    positive = database.target.positive if database.target.positive is not None else last
    truth = np.array([class_text(value) == positive for value in y])
    if truth.all() or not truth.any():
        return {"auroc": float("nan"), "aurpc": float("nan")}
    scores = fitted.decision_function(X) * (1.0 if last == positive else -1.0)
    return {"auroc": float(roc_auc_score(truth, scores)), "aurpc": float(aurpc(truth, scores))}


def _mean(values: list[float]) -> float:
    """The mean of those that are known; a fold of one class has no area under a curve."""
    known = [value for value in values if value == value]
    return float(np.mean(known)) if known else float("nan")


def _always_the_same(learner: Any, y: Any) -> dict[str, float]:
    """How good it is to guess the mean of all labels; or their median or quantile, if that is what is predicted."""
    from hornboost.report.number_evaluation import number_figures

    numbers = np.asarray(y, np.float64)
    levels = {"absolute": 0.5, "quantile": learner.quantile}
    guess = np.quantile(numbers, levels[learner.loss]) if learner.loss in levels else numbers.mean()
    return number_figures(numbers, np.full(len(numbers), guess), learner.loss, learner.quantile)


def _majority(y: Any) -> float:
    return float(np.unique(np.asarray(y), return_counts=True)[1].max() / len(y))


def _shown(name: str, value: Any) -> str:
    if name in ("fold", "from", "train", "test"):
        return str(value)
    if name in ("mae", "rmse", "deviance", "pinball"):
        return f"{value:.5g}"
    return f"{value:.1f}" if name in ("rules", "seconds") else f"{value:.3f}"
