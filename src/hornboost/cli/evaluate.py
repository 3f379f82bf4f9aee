"""`hornboost evaluate`: cross-validation."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from hornboost.cli import options as shared
from hornboost.cli.output import note, say, show_json, show_table
from hornboost.errors import DataError
from hornboost.stopping import holding

if TYPE_CHECKING:
    from hornboost.data import Database


def evaluate(
    source: shared.Source,
    cv: Annotated[int, typer.Option(min=2, help="Folds of a cross-validation, stratified by class.")] = 10,
    folds: Annotated[str | None, typer.Option(help="Known folds that the schema names, instead of --cv.")] = None,
    target: shared.Target = None,
    key: shared.Key = None,
    label: shared.Label = None,
    positive: shared.Positive = None,
    predicts: shared.Predicts = None,
    task: shared.TaskName = None,
    exclude: shared.Exclude = None,
    link: shared.Link = None,
    schema: shared.SqlSchema = None,
    tables: shared.Tables = None,
    exclude_table: shared.ExcludeTable = None,
    where: shared.Where = None,
    allow_outside: shared.AllowOutside = False,
    times: shared.Times = None,
    known_later: shared.KnownLater = None,
    estimator: shared.Estimator = "hornboost",
    features: shared.Features = None,
    rounds: shared.Rounds = None,
    max_depth: shared.Depth = None,
    max_rules: shared.MaxRules = None,
    time_limit: shared.TimeLimit = None,
    seed: shared.Seed = 0,
    settings: shared.Set = None,
    as_json: shared.Json = False,
) -> None:
    """Estimate by cross-validation how well rules learned from SOURCE predict."""
    from hornboost.cli.fit import examples
    from hornboost.cli.source import open_task

    database = open_task(
        source,
        shared.task_options(
            target,
            key,
            label,
            positive,
            task,
            exclude,
            link,
            schema,
            tables,
            exclude_table,
            where,
            allow_outside,
            predicts,
            times,
            known_later,
        ),
    )
    X, y, behind = examples(database)
    learner = shared.make_estimator(
        estimator, behind, rounds, features, max_depth, time_limit, seed, settings, max_rules
    )
    is_of_numbers = database.label_kind == "numbers"
    split = _shuffled if is_of_numbers else _stratified
    splits = database.folds(folds) if folds is not None else split(y, cv, seed)
    results: list[dict[str, Any]] = []
    limits: Counter[str] = Counter()
    try:
        for row, sentences in _results(learner, X, y, splits, database):
            results.append(row)
            limits.update(sentences)
    except KeyboardInterrupt:
        note(_interrupted(results, len(splits)))
        raise
    for sentence, n in limits.items():
        note(f"in {n} of {len(results)} folds {sentence}")
    mean = _mean(results)
    if as_json:
        about: dict[str, Any] = {"positive": database.target.positive}
        baseline: dict[str, Any] = {"baseline": _always_the_mean(y)} if is_of_numbers else {"majority": _majority(y)}
        show_json({"estimator": type(learner).__name__, **about, "folds": results, "mean": mean, **baseline})
        return
    names = list(results[0])
    rows = [[_shown(name, row[name]) for name in names] for row in results]
    rows.append(["mean", *(_shown(name, mean[name]) for name in names[1:])])
    show_table(names, rows, right=names)
    say(_about_numbers(results, mean, y) if is_of_numbers else _about_classes(results, mean, y, database))


def _about_classes(results: list[dict[str, Any]], mean: dict[str, float], y: Any, database: Database) -> str:
    spread = float(np.std([row["accuracy"] for row in results]))
    about = (
        f'; auroc and aurpc are of "{database.target.positive}"'
        if "auroc" in mean and database.target.positive is not None
        else ""
    )
    spoken = f"accuracy {mean['accuracy']:.1%} ± {spread:.1%} over {len(results)} folds"
    return f"{spoken}; always guessing the largest class: {_majority(y):.1%}{about}"


def _about_numbers(results: list[dict[str, Any]], mean: dict[str, float], y: Any) -> str:
    spread = float(np.std([row["r2"] for row in results]))
    spoken = f"R² {mean['r2']:.3f} ± {spread:.3f}, RMSE {mean['rmse']:.5g} over {len(results)} folds"
    return f"{spoken}; always guessing the mean: RMSE {_always_the_mean(y)['rmse']:.5g}"


def _stratified(y: Any, cv: int, seed: int) -> list[tuple[Any, Any]]:
    from sklearn.model_selection import StratifiedKFold

    counts = np.unique(np.asarray(y), return_counts=True)[1]
    if counts.min() < cv:
        raise DataError(f"the smallest class has {counts.min()} examples, too few for {cv} folds; give a smaller --cv")
    return list(StratifiedKFold(cv, shuffle=True, random_state=seed).split(np.zeros(len(y)), y))


def _shuffled(y: Any, cv: int, seed: int) -> list[tuple[Any, Any]]:
    from sklearn.model_selection import KFold

    if len(y) < 2 * cv:
        raise DataError(f"{len(y)} examples are too few for {cv} folds of at least two; give a smaller --cv")
    return list(KFold(cv, shuffle=True, random_state=seed).split(np.zeros(len(y))))


def _results(
    learner: Any, X: Any, y: Any, splits: list[tuple[Any, Any]], database: Database
) -> Iterator[tuple[dict[str, Any], list[str]]]:
    from sklearn.base import clone

    from hornboost.cli.fit import about_limits, fit_with_progress

    labels = np.asarray(y)
    for number, (train, test) in enumerate(splits, start=1):
        with holding():  # a fold is whole or does not count
            started = time.monotonic()
            fitted = fit_with_progress(clone(learner), X.iloc[train], y.iloc[train], f"fold {number} of {len(splits)}")
            seconds = time.monotonic() - started
            row: dict[str, Any] = {"fold": number, **_figures(fitted, X.iloc[test], labels[test], database)}
            row |= {"rules": len(getattr(fitted, "rules_", ())), "seconds": seconds}
        yield row, about_limits(fitted)


def _figures(fitted: Any, X: Any, y: Any, database: Database) -> dict[str, float]:
    """How a model does on held-out examples."""
    from hornboost.report.number_evaluation import number_figures

    predicted = fitted.predict(X)
    if database.label_kind == "numbers":
        return number_figures(y, predicted, is_of_counts=fitted.loss == "poisson")
    return {"accuracy": float(np.mean(predicted == y)), **_areas(fitted, X, y, database)}


def _interrupted(results: list[dict[str, Any]], n: int) -> str:
    """What is known when the folds were not all done; no mean, which would be taken for the result."""
    first = "r2" if results and "r2" in results[0] else "accuracy"
    done = ", ".join(f"{row['fold']} ({first} {row[first]:.3f})" for row in results)
    return f"interrupted with {len(results)} of {n} folds done" + (f": {done}" if done else "") + "; there is no result"


def _areas(fitted: Any, X: Any, y: Any, database: Database) -> dict[str, float]:
    """The areas under both curves for the positive class, where there are two classes."""
    from sklearn.metrics import roc_auc_score

    from hornboost.metrics import aurpc

    if len(fitted.classes_) != 2:
        return {}
    positive = database.target.positive if database.target.positive is not None else str(fitted.classes_[1])
    truth = np.array([str(value) == positive for value in y])
    if truth.all() or not truth.any():
        return {"auroc": float("nan"), "aurpc": float("nan")}
    scores = fitted.decision_function(X) * (1.0 if str(fitted.classes_[1]) == positive else -1.0)
    return {"auroc": float(roc_auc_score(truth, scores)), "aurpc": float(aurpc(truth, scores))}


def _mean(results: list[dict[str, Any]]) -> dict[str, float]:
    return {name: float(np.nanmean([row[name] for row in results])) for name in results[0] if name != "fold"}


def _always_the_mean(y: Any) -> dict[str, float]:
    """How good it is to guess the mean of all labels."""
    from hornboost.report.number_evaluation import number_figures

    numbers = np.asarray(y, np.float64)
    return number_figures(numbers, np.full(len(numbers), numbers.mean()))


def _majority(y: Any) -> float:
    return float(np.unique(np.asarray(y), return_counts=True)[1].max() / len(y))


def _shown(name: str, value: Any) -> str:
    if name == "fold":
        return str(value)
    if name in ("mae", "rmse", "deviance"):
        return f"{value:.5g}"
    return f"{value:.1f}" if name in ("rules", "seconds") else f"{value:.3f}"
