"""Progress of a fit on a terminal: rounds, rules, margin and the time left; and Ctrl-C that keeps the model learned so far."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from hornboost.cli.output import progress_console


@contextmanager
def fit_progress(total: int, what: str = "learning") -> Iterator[Callable[[dict[str, Any]], None]]:
    """A callback for estimators that draws a bar on a terminal and does nothing elsewhere."""
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
            margin = row.get("mean_margin")
            about = f"{len(rules)} rules" + (f", margin {margin:.3f}" if isinstance(margin, float) else "")
            progress.update(task, advance=1, about=about)

        yield update


def _identity(rule: Any) -> Any:
    return getattr(rule, "specs", rule if isinstance(rule, str) else id(rule))


class Interruption:
    """Ctrl-C raises KeyboardInterrupt as always, and is remembered: a fit that it ended may have left a usable model."""

    def __init__(self) -> None:
        self.happened = False

    @contextmanager
    def watched(self) -> Iterator[None]:
        try:
            before = signal.signal(signal.SIGINT, self._handle)
        except ValueError:  # not in the main thread, where signals cannot be watched
            yield
            return
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, before)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        self.happened = True
        raise KeyboardInterrupt
