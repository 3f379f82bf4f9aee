"""`hornboost report`: one self-contained HTML page about a model."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from hornboost.cli import options as shared
from hornboost.cli.output import check_output, note, progress_console
from hornboost.cli.source import TaskOptions
from hornboost.errors import DataError


@shared.gathers(options=shared.reading_options)
def report(
    model: shared.Model,
    data: Annotated[
        str,
        typer.Option(
            "--data", metavar="SOURCE", help="The folder, file or address with the tables that the rules look at."
        ),
    ],
    output: Annotated[Path, typer.Option("--output", "-o", help="The page to write.")] = Path("report.html"),
    cv: Annotated[
        str | None,
        typer.Option(
            help="Folds of the cross-validation, 5 unless said, 0 for none, or the name of folds that the schema knows."
        ),
    ] = None,
    groups: shared.Groups = None,
    split: shared.Split = None,
    rolling: shared.Rolling = None,
    horizon: shared.Horizon = None,
    cv_examples: Annotated[int, typer.Option(min=10, help="Examples to cross-validate on at most.")] = 5_000,
    explained: Annotated[int, typer.Option("--examples", min=0, help="Examples to explain at most.")] = 120,
    title: Annotated[str | None, typer.Option(help="What the page is called.")] = None,
    label: shared.Label = None,
    positive: shared.Positive = None,
    *,
    options: TaskOptions,
) -> None:
    """Write one HTML page about MODEL: its rules, how good they are, how they were learned, and explanations."""
    from hornboost.cli.source import as_read_by, open_for_model, open_task, say_what_was_read
    from hornboost.estimators.fitted import fitted
    from hornboost.model import file
    from hornboost.report import write_report

    check_output(output, model, data)
    saved = file.load(model)
    known = saved.target
    predicts = "numbers" if saved.ensemble.is_of_numbers else "classes"
    options = replace(options, label=label or known.label, positive=positive or _positive(known), predicts=predicts)
    if positive is None and label is None:
        options = replace(options, negative=_negative(known))
    database = (
        open_for_model(data, saved, options) if saved.is_relational else as_read_by(saved, open_task(data, options))
    )
    folds = _folds(cv, groups, database)
    in_time = _in_time(split, rolling, horizon, database)
    if saved.is_relational:
        say_what_was_read(database)
    X, y = database.examples()
    bound = fitted(saved, database if saved.is_relational else None)
    settings: dict[str, Any] = {
        "cv": folds,
        "groups": groups,
        "cv_examples": cv_examples,
        "explained": explained,
        "title": title,
        **in_time,
    }
    console = progress_console()
    if console is None:
        path = write_report(bound, X, y, output, **settings)
    else:
        with console.status("reading the model") as status:
            path = write_report(bound, X, y, output, step=status.update, **settings)
    note(f"wrote {path} ({path.stat().st_size / 1e6:.1f} MB)")


def _folds(cv: str | None, groups: str | None, database: Any) -> Any:
    """The number of folds, the name of known ones, or the parts of folds by group, refused before the work."""
    if groups is not None and cv != "0":
        if cv is not None and not (cv.isascii() and cv.isdigit()):
            raise DataError("--cv names known folds and --groups asks for others; give one of them")
        return database.folds(groups=groups, n_splits=None if cv is None else int(cv))
    cv = "5" if cv is None else cv
    if not (cv.isascii() and cv.isdigit() and len(cv) < 10):
        database.folds(cv)
        return cv
    if int(cv) == 1:
        raise DataError("--cv: a cross-validation needs at least two folds; give 2 or more, or 0 for none")
    return int(cv)


def _in_time(split: list[str] | None, rolling: int | None, horizon: str | None, database: Any) -> dict[str, Any]:
    """The splits in time that are asked for, refused before the work."""
    asked = {"time": split or None, "rolling": rolling, "horizon": horizon}
    given = {name: value for name, value in asked.items() if value is not None}
    if given:
        database.folds(**given)
    return given


def _positive(target: Any) -> str | None:
    return target.positive if target.label is not None else None


def _negative(target: Any) -> str | None:
    """The negative values, unless they are all that are not positive."""
    named = target.label is not None and target.negative not in (None, f"not {target.positive}")
    return target.negative if named else None
