"""Progress of a fit on a terminal: rounds, rules, margin and the time left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from hornboost.cli.output import progress_console
from hornboost.errors import counted

FIGURES = {"mean_margin": "margin", "training_loss": "loss"}
"""What a round's row may tell, and what it is called."""


@contextmanager
def fit_progress(total: int | None, what: str = "learning") -> Iterator[Callable[[dict[str, Any]], None]]:
    """A callback for estimators that draws a bar on a terminal and does nothing elsewhere.

    `total` is None where the number of rounds is not known before.
    """
    console = progress_console()
    if console is None:
        yield lambda row: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = [
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[about]}"),
        TimeRemainingColumn(),
    ]
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task(what, total=total, about="")
        rules: set[Any] = set()

        def update(row: dict[str, Any]) -> None:
            rules.add(_identity(row.get("rule")))
            figures = [(name, row.get(column)) for column, name in FIGURES.items()]
            told = [f"{name} {value:.4g}" for name, value in figures if isinstance(value, float)]
            about = ", ".join([counted(len(rules), "rule"), *told])
            progress.update(task, advance=1, about=about)

        yield update


@contextmanager
def stage_progress() -> Iterator[Callable[[str, int, int], None]]:
    """A function that is told what is done, how much of it and of how much, and draws a bar of it on a terminal."""
    console = progress_console()
    if console is None:
        yield lambda what, done, of: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = [TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()]
    with Progress(*columns, console=console, transient=True) as progress:
        task = progress.add_task("")
        yield lambda what, done, of: progress.update(task, description=what, completed=done, total=of)


def _identity(rule: Any) -> Any:
    return getattr(rule, "specs", rule if isinstance(rule, str) else id(rule))
