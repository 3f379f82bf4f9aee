"""`hornboost audit`: what a prediction could not have known."""

from __future__ import annotations

from typing import Annotated

import typer

from hornboost.cli import options as shared
from hornboost.cli.output import say, show_json
from hornboost.cli.source import TaskOptions


@shared.gathers(options=shared.task_options)
def audit(
    source: shared.Source,
    *,
    options: TaskOptions,
    folds: Annotated[
        bool, typer.Option(help="Learn small models to compare folds at random with folds in time.")
    ] = True,
    strict: Annotated[bool, typer.Option("--strict", help="End with exit code 1 if anything was found.")] = False,
    as_json: shared.Json = False,
) -> None:
    """Look in SOURCE for what was not known when predictions were due, and say what to declare."""
    from hornboost.cli.source import open_task

    database = open_task(source, options)
    found = database.audit(folds=folds)
    if as_json:
        show_json(found.to_dict())
    else:
        say(str(found))
    if strict and not found.is_clean:
        raise typer.Exit(1)
