"""The application: its verbs, the version, and what a user sees when something goes wrong.

A verb is a module of its own that imports nothing heavy before it runs, so that `--help` answers at once.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from hornboost import __version__
from hornboost.cli.demo import demo
from hornboost.errors import HornBoostError

app = typer.Typer(
    name="hornboost",
    help="Learn small, readable ensembles of first-order rules straight from many tables.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command()(demo)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"hornboost {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")] = False,
) -> None:
    pass


def main() -> None:
    """Run the command line: a user's error is one sentence on stderr and exit code 1, Ctrl-C is 130."""
    try:
        app()
    except HornBoostError as error:
        typer.echo(f"hornboost: {error}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)
