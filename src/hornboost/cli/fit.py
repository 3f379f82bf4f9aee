"""`hornboost fit`: learn a model from a source and write it."""

from __future__ import annotations

import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hornboost.cli import options as shared
from hornboost.cli.output import note, show_json
from hornboost.errors import HornBoostError, ModelError

if TYPE_CHECKING:
    from hornboost.data import Database


def fit(
    source: shared.Source,
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file to write.")] = Path("model.json"),
    target: shared.Target = None,
    key: shared.Key = None,
    label: shared.Label = None,
    positive: shared.Positive = None,
    task: shared.TaskName = None,
    exclude: shared.Exclude = None,
    link: shared.Link = None,
    schema: shared.SqlSchema = None,
    estimator: shared.Estimator = "c2rib",
    features: shared.Features = None,
    rounds: shared.Rounds = 100,
    max_depth: shared.Depth = None,
    time_limit: shared.TimeLimit = None,
    seed: shared.Seed = 0,
    settings: shared.Set = None,
    as_json: shared.Json = False,
) -> None:
    """Learn rules from SOURCE and write them as a model file. Ctrl-C keeps what was learned so far."""
    from hornboost.cli.progress import Interruption
    from hornboost.cli.source import likely_identifiers, open_task

    check_writable(output)
    database = open_task(source, shared.task_options(target, key, label, positive, task, exclude, link, schema))
    X, y, behind = examples(database)
    learner = shared.make_estimator(estimator, behind, rounds, features, max_depth, time_limit, seed, settings)
    note(_about(database, len(X), learner))
    for column in likely_identifiers(database):
        note(f"{column} looks like an identifier; if rules should not name single values, leave it out with --exclude")
    interruption = Interruption()
    started = time.monotonic()
    with interruption.watched():
        fitted = fit_with_progress(learner, X, y)
    seconds = time.monotonic() - started
    if not hasattr(fitted, "ensemble_"):
        raise ModelError(f"{type(fitted).__name__} learned no rules that a file can hold; choose an estimator that learns rules")
    fitted.save(output)
    _report(fitted, X, y, output, seconds, interruption.happened, as_json)
    if interruption.happened:
        raise typer.Exit(130)


def check_writable(output: Path) -> None:
    """Refuse a place that cannot be written before the work begins, not after it."""
    folder = output.absolute().parent
    if not folder.is_dir():
        raise ModelError(f"{output}: there is no folder '{folder}'; make it first")
    if output.is_dir():
        raise ModelError(f"{output}: this is a folder; name the file to write")


def examples(database: Database) -> tuple[Any, Any, Database | None]:
    """The examples, their labels, and the database behind them; a single table needs none, and its keys tell nothing."""
    from hornboost.cli.source import is_single_table

    X, y = database.examples()
    if not is_single_table(database):
        return X, y, database
    keys = [column.name for column in database.tables[database.target.table].keys]
    return X.drop(columns=keys), y, None


def fit_with_progress(learner: Any, X: Any, y: Any, what: str = "learning") -> Any:
    """Fit with a progress bar on a terminal; parameters that the estimator refuses are the user's error."""
    from hornboost.cli.progress import fit_progress

    known = learner.get_params(deep=False)
    classes = len(set(y))
    runs = classes if classes > 2 else 1
    with fit_progress(int(known.get("rounds") or 0) * runs or 1, what) as callback, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="interrupted|no rule was learned")  # said in the report
        if "callbacks" in known:
            learner.set_params(callbacks=[callback])
        try:
            return learner.fit(X, y)
        except HornBoostError:
            raise
        except ValueError as error:
            raise ModelError(" ".join(str(error).split())) from None


def _about(database: Database, n: int, learner: Any) -> str:
    target = database.target
    sides = f'positive "{target.positive}"' if target.positive is not None else f"{len(target.classes)} classes"
    tables = "one table" if len(database.tables) == 1 else f"{len(database.tables)} tables"
    return f"{type(learner).__name__} on {n:,} rows of '{target.table}': predicts '{target.label}' ({sides}) from {tables}"


def _report(fitted: Any, X: Any, y: Any, output: Path, seconds: float, interrupted: bool, as_json: bool) -> None:
    rules = fitted.rules_
    accuracy = float((fitted.predict(X) == y.to_numpy()).mean())
    if as_json:
        show_json(
            {
                "model": str(output),
                "estimator": type(fitted).__name__,
                "rules": len(rules),
                "seconds": seconds,
                "training_accuracy": accuracy,
                "interrupted": interrupted,
            }
        )
        return
    if not rules and not interrupted:
        for reason in fitted.diagnose(X, y):
            note(f"nothing was learned: {reason}")
    state = "interrupted; kept" if interrupted else "learned"
    note(f"{state} {len(rules)} rules in {seconds:.1f} s, right on {accuracy:.1%} of the training examples")
    note(f"wrote {output}; see them with: hornboost rules {output}")
