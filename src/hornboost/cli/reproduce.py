"""`hornboost reproduce`: a table of the papers, on the real data."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from hornboost.cli import options as shared
from hornboost.cli.output import note, progress_console, say, show_json, show_table
from hornboost.errors import DataError


def _complete_table(incomplete: str) -> list[str]:
    from hornboost.experiments.reproduce import TABLES

    return [name for name in [*TABLES, "all"] if name.startswith(incomplete)]


def reproduce(
    table: Annotated[list[str] | None, typer.Argument(help="Tables, or 'all'.", autocompletion=_complete_table)] = None,
    data: Annotated[Path | None, typer.Option(envvar="HORNBOOST_DATA", help="The folder of the papers' data sets.")] = None,
    show_list: Annotated[bool, typer.Option("--list", help="Show the tables and exit.")] = False,
    quick: Annotated[bool, typer.Option("--quick", help="A few rounds on two folds: does it run? The figures mean nothing.")] = False,
    plain: Annotated[bool, typer.Option("--plain", help="Leave out the lines with settings chosen by nested validation.")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="A Markdown file to write the tables to.")] = None,
    cache: Annotated[Path | None, typer.Option(help="Where results are kept, so that a run can go on where it stopped.")] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget kept results of these tables first.")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 2,
    as_json: shared.Json = False,
) -> None:
    """Repeat tables of the papers and set our figures beside the published ones."""
    from hornboost.experiments.protocol import default_cache
    from hornboost.experiments.reproduce import TABLES, write_page
    from hornboost.experiments.reproduce import reproduce as run
    from hornboost.experiments.reproduce import table as find

    if show_list:
        if as_json:
            show_json({name: known.title for name, known in TABLES.items()})
        else:
            show_table(["table", "what it is"], [[name, known.title] for name, known in TABLES.items()])
        return
    names = list(TABLES) if table and "all" in table else list(dict.fromkeys(table or ()))
    if not names:
        raise DataError("no table was named; 'hornboost reproduce --list' shows all")
    for name in names:
        find(name)
    if data is None:
        raise DataError("the folder of data sets is not known; give it with --data or HORNBOOST_DATA")
    folder = cache or default_cache()
    contents = []
    for name in names:
        with _progress(name) as starting:
            content = run(name, data, quick=quick, plain=plain, cache=folder, fresh=fresh, n_jobs=jobs, starting=starting)
        contents.append(content)
        if not as_json and output is None:
            say(find(name).markdown(content))
    if output is not None:
        write_page(output, contents, plain)
        note(f"wrote {output}")
    if as_json:
        show_json(contents)


@contextmanager
def _progress(name: str) -> Iterator[Callable[[int], Callable[[], None]]]:
    """A bar of finished jobs on a terminal, nothing elsewhere."""
    console = progress_console()
    if console is None:
        yield lambda total: lambda: None
        return
    from rich.progress import Progress

    with Progress(console=console, transient=True) as bar:

        def starting(total: int) -> Callable[[], None]:
            task = bar.add_task(name, total=total)
            return lambda: bar.advance(task)

        yield starting
