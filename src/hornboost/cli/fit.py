"""`hornboost fit`: learn a model from a source and write it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hornboost.cli import options as shared
from hornboost.cli.cluster import Cluster, working_on
from hornboost.cli.learner import Learner, make_estimator, settings_of
from hornboost.cli.output import check_output, note, show_json, show_rounds
from hornboost.cli.source import TaskOptions
from hornboost.errors import HornBoostError, ModelError, counted
from hornboost.stopping import NONE_BETTER, OUT_OF_TIME, holding

if TYPE_CHECKING:
    from hornboost.data import Database

MANY_CLASSES = 8
"""Whole numbers that are so many classes may be meant as numbers."""

_QUALITY = {False: "accuracy", True: "r2"}
SHOWN = 5
"""Joins that were left out to name; there may be dozens."""


@shared.gathers(options=shared.task_options, wanted=shared.learner_options, cluster=shared.cluster_options)
def fit(
    source: shared.Source,
    output: Annotated[Path, typer.Option("--output", "-o", help="The model file to write.")] = Path("model.json"),
    *,
    options: TaskOptions,
    wanted: Learner,
    checkpoint: shared.Checkpoint = None,
    cluster: Cluster,
    as_json: shared.Json = False,
) -> None:
    """Learn rules from SOURCE and write them as a model file. Ctrl-C keeps what was learned so far."""
    from hornboost.cli.source import open_task
    from hornboost.data.doubts import likely_identifiers

    settings = settings_of(wanted, checkpoint)
    checkpoints = [Path(place) for place in (checkpoint, settings.get("checkpoint")) if isinstance(place, str | Path)]
    check_output(output, source, *checkpoints)
    with ExitStack() as closing:
        with _no_model_written(checkpoints):
            is_limited = settings.get("time_limit", wanted.time_limit) is not None
            database = closing.enter_context(working_on(open_task(source, options), cluster, is_limited))
            show_rounds(database.parts is not None)
            X, y, behind = examples(database)
            learner = make_estimator(wanted, behind, checkpoint)
            if not getattr(learner, "_learns_clauses", True):
                raise ModelError(
                    f"with this base {type(learner).__name__} learns no rules that a file can hold; "
                    "leave --set base=… out"
                )
            note(_about(database, len(X), learner))
            for sentence in likely_identifiers(database.tables.values()):
                note(sentence)
            started = time.monotonic()
            interrupted = _fit_and_save(learner, X, y, output)
        seconds = time.monotonic() - started
        quality = None
        try:
            if not interrupted:  # who is in a hurry does not wait for it
                quality = float(learner.score(X, y.to_numpy()))
        except KeyboardInterrupt:
            interrupted = True  # the model is written, which is still to be said
        _report(learner, X, y, output, seconds, quality, interrupted, as_json)
        if interrupted:
            raise typer.Exit(130)


@contextmanager
def _no_model_written(checkpoints: Sequence[Path]) -> Iterator[None]:
    """Say what Ctrl-C means before there is a model."""
    try:
        yield
    except KeyboardInterrupt:
        kept = next((place for place in checkpoints if place.exists()), None)
        what = "nothing was written"
        if kept is not None:
            what = f"{kept} holds what was found so far, and the same command continues from there"
        note(f"interrupted before the first rule was learned; {what}")
        raise


def _fit_and_save(learner: Any, X: Any, y: Any, output: Path) -> bool:
    """Fit, and write what was learned whenever Ctrl-C is pressed; returns whether it was."""
    is_saved = interrupted = False
    try:
        with holding():
            try:
                fit_with_progress(learner, X, y)
            except KeyboardInterrupt:
                interrupted = True
                if not hasattr(learner, "ensemble_"):
                    raise
            if not hasattr(learner, "ensemble_"):
                raise ModelError(
                    f"{type(learner).__name__} learned no rules that a file can hold; "
                    "choose an estimator that learns rules"
                )
            learner.save(output)
            is_saved = True
    except KeyboardInterrupt:
        if not is_saved:
            raise
        interrupted = True
    return interrupted


def examples(database: Database) -> tuple[Any, Any, Database]:
    """The examples, their labels, and the database behind them; where that is a single table its keys tell nothing."""
    behind = database.without_keys() if len(database.tables) == 1 else database
    return *behind.examples(), behind


def fit_with_progress(learner: Any, X: Any, y: Any, what: str = "learning") -> Any:
    """Fit with a progress bar on a terminal; parameters that the estimator refuses are the user's error."""
    from hornboost.cli.progress import fit_progress
    from hornboost.model.diagnosis import JoinsLeftOutWarning, UnreachedWarning

    known = learner.get_params(deep=False)
    with fit_progress(_n_rounds(learner, y), what) as callback, warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="no rule was learned")  # said in the report
        warnings.filterwarnings("ignore", category=JoinsLeftOutWarning)
        warnings.filterwarnings("ignore", category=UnreachedWarning)
        if "callbacks" in known:
            learner.set_params(callbacks=[callback])
        try:
            return learner.fit(X, y)
        except HornBoostError:
            raise
        except ValueError as error:
            raise ModelError(" ".join(str(error).split())) from None


def _n_rounds(learner: Any, y: Any) -> int | None:
    """Rounds that will be told, if that is known."""
    rounds = learner.get_params(deep=False).get("rounds")
    if not isinstance(rounds, int):
        return None
    return rounds * (len(set(y)) if getattr(learner, "against_the_rest", False) and len(set(y)) > 2 else 1)


def _about(database: Database, n: int, learner: Any) -> str:
    target = database.target
    tables = "one table" if len(database.tables) == 1 else counted(len(database.tables), "table")
    if database.label_kind == "numbers":
        sides = "a number"
    else:
        several = counted(len(target.classes), "class")
        if len(target.classes) >= MANY_CLASSES and all(name.isdecimal() for name in target.classes):
            several += "; if they are amounts, say --predicts numbers"
        sides = several if target.positive is None else f'positive "{target.positive}"'
    rows = f"{counted(n, 'row')} of '{target.table}'"
    return f"{type(learner).__name__} on {rows}: predicts '{target.label}' ({sides}) from {tables}"


def _report(
    fitted: Any,
    X: Any,
    y: Any,
    output: Path,
    seconds: float,
    quality: float | None,
    interrupted: bool,
    as_json: bool,
) -> None:
    """What was learned, what ended the search early, and what was left out of it."""
    from sklearn.base import is_regressor

    from hornboost.model.tuning import LOSSES, told

    rules, stopped, tuning = fitted.rules_, getattr(fitted, "stopped_", None), told(fitted)
    if as_json:
        show_json(
            {
                "model": str(output),
                "estimator": type(fitted).__name__,
                "rules": len(rules),
                "seconds": seconds,
                f"training_{_QUALITY[is_regressor(fitted)]}": quality,
                "interrupted": interrupted,
                "stopped": stopped,
                "tuning": tuning.get("tuning"),
                "refused": [{"join": path, "rows": count} for path, count in _refused(fitted)],
                "left_out": _left_out(fitted),
                "unreached": getattr(fitted, "unreached_", {}),
            }
        )
        return
    if not rules and not interrupted and not _ran_out_of_time(fitted):
        for reason in [stopped] if stopped == NONE_BETTER else fitted.diagnose(X, y):
            note(f"nothing was learned: {reason}")
    for sentence in (*about_limits(fitted), *_about_tuning(tuning)):
        note(sentence)
    right = ""
    if quality is not None and rules and getattr(fitted, "loss", "") in ("absolute", "quantile"):  # R² is of means
        of_path = fitted.path_
        right = f", {LOSSES[of_path.attrs['loss']]} {of_path['training_loss'].iloc[-1]:.4g} on the training examples"
    elif quality is not None and is_regressor(fitted):
        right = f", R² {quality:.3f} on the training examples"
    elif quality is not None and y.nunique() > 1:  # of one class, all are right whatever was learned
        right = f", right on {quality:.1%} of the training examples"
    note(f"{'interrupted; kept' if interrupted else 'learned'} {counted(len(rules), 'rule')} in {seconds:.1f} s{right}")
    note(f"wrote {output}; see them with: hornboost rules {output}")


def _about_tuning(told: Mapping[str, Any]) -> list[str]:
    """What was chosen, and on what evidence."""
    from hornboost.model.tuning import Chosen

    chosen = Chosen.of(told)
    if chosen is None:
        return []
    return [f"tuned by {chosen.evidence}: {chosen.setting}; held-out {chosen.loss} {chosen.value:.4g}"]


def about_limits(fitted: Any) -> list[str]:
    """What limits did to a fit: that time ran out, which joins were too large, and what else was left out."""
    sentences = []
    if _ran_out_of_time(fitted):
        sentences.append(
            f"the time limit of {fitted.time_limit:g} s ended the search; the model holds what was learned until then"
        )
    refused = sorted(_refused(fitted), key=lambda join: -join[1])
    if refused:
        shown = ", ".join(f"{path} ({counted(count, 'row')})" for path, count in refused[:SHOWN])
        more = f" and {len(refused) - SHOWN} more" if len(refused) > SHOWN else ""
        joins = "1 join was" if len(refused) == 1 else f"{len(refused)} joins were"
        sentences.append(
            f"{joins} left out for reaching more rows than there is memory for: {shown}{more}; raise --memory"
        )
    sentences += _about_unreached(fitted)
    left_out = getattr(fitted, "left_out_", {})
    if isinstance(left_out, dict) and left_out:  # miners list sentences, which they say as warnings
        shown = ", ".join(f"{name} ({why})" for name, why in list(left_out.items())[:SHOWN])
        more = f" and {len(left_out) - SHOWN} more" if len(left_out) > SHOWN else ""
        sentences.append(f"left out: {shown}{more}")
    return sentences


def _left_out(fitted: Any) -> list[dict[str, str]]:
    left_out = getattr(fitted, "left_out_", {})
    if not isinstance(left_out, dict):
        return [{"reason": sentence} for sentence in left_out]
    return [{"name": name, "reason": why} for name, why in left_out.items()]


def _about_unreached(fitted: Any) -> list[str]:
    from hornboost.data.distances import about_unreached

    missed = getattr(fitted, "unreached_", {})
    if not missed:
        return []
    return list(about_unreached(missed, fitted._database.target.table, fitted._engine_options()["max_depth"]))


def _ran_out_of_time(fitted: Any) -> bool:
    return OUT_OF_TIME in (getattr(fitted, "stopped_", None) or "")


def _refused(fitted: Any) -> list[tuple[str, int]]:
    from hornboost.engine.tree import path_text

    return [(path_text(joins), count) for joins, count in getattr(fitted, "refused_", {}).items()]
