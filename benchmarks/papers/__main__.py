"""`python -m benchmarks.papers TABLE --data DATA`: a table of the papers, on the real data."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from benchmarks.papers.protocol import default_cache
from benchmarks.papers.tables import TABLES, reproduce, table, write_page
from hornboost.cli import options as shared
from hornboost.cli.interrupt import ctrl_c
from hornboost.cli.output import note, progress_console, say, show_json, show_table
from hornboost.errors import DataError, HornBoostError

app = typer.Typer(
    add_completion=False, pretty_exceptions_enable=False, context_settings={"help_option_names": ["-h", "--help"]}
)


@app.command()
def papers(
    tables: Annotated[list[str] | None, typer.Argument(metavar="[TABLE]...", help="Tables, or 'all'.")] = None,
    data: Annotated[
        Path | None, typer.Option(envvar="HORNBOOST_DATA", help="The folder of the papers' data sets.")
    ] = None,
    show_list: Annotated[bool, typer.Option("--list", help="Show the tables and exit.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="A few rounds on two folds: does it run? The figures mean nothing.")
    ] = False,
    plain: Annotated[
        bool, typer.Option("--plain", help="Leave out the lines with settings chosen by nested validation.")
    ] = False,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="A Markdown file to write the tables to.")
    ] = None,
    cache: Annotated[
        Path | None, typer.Option(help="Where results are kept, so that a run can go on where it stopped.")
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget kept results of these tables first.")] = False,
    jobs: Annotated[int, typer.Option(min=1, help="Processes.")] = 2,
    as_json: shared.Json = False,
) -> None:
    """Repeat tables of the papers and set our figures beside the published ones."""
    if show_list:
        _show_tables(as_json)
        return
    names = list(TABLES) if tables and "all" in tables else list(dict.fromkeys(tables or ()))
    if not names:
        raise DataError("no table was named; 'python -m benchmarks.papers --list' shows all")
    chosen = {name: table(name) for name in names}
    if data is None:
        raise DataError("the folder of data sets is not known; give it with --data or HORNBOOST_DATA")
    folder = cache or default_cache()
    contents = []
    for name in names:
        with _progress(name) as starting:
            content = reproduce(
                name, data, quick=quick, plain=plain, cache=folder, fresh=fresh, n_jobs=jobs, starting=starting
            )
        contents.append(content)
        if not as_json and output is None:
            say(chosen[name].markdown(content))
    if output is not None:
        write_page(output, contents, plain)
        note(f"wrote {output}")
    if as_json:
        show_json(contents)


def _show_tables(as_json: bool) -> None:
    if as_json:
        show_json({name: known.title for name, known in TABLES.items()})
    else:
        show_table(["table", "what it is"], [[name, known.title] for name, known in TABLES.items()])


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


def main() -> None:
    """Run the command: a user's error is one sentence on stderr and exit code 1."""
    with ctrl_c():
        try:
            app(prog_name="python -m benchmarks.papers")
        except HornBoostError as error:
            note(f"benchmarks.papers: {error}")
            sys.exit(1)


if __name__ == "__main__":
    main()
