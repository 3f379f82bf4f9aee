"""The application: its verbs, the version, and what a user sees when something goes wrong.

A verb imports nothing heavy before it runs, so that `--help` answers at once.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from hornboost import __version__
from hornboost.cli.audit import audit
from hornboost.cli.demo import demo
from hornboost.cli.evaluate import evaluate
from hornboost.cli.fit import fit
from hornboost.cli.inspect import convert, inspect
from hornboost.cli.interrupt import was_pressed
from hornboost.cli.output import clean, note, show_log
from hornboost.cli.partition import partition
from hornboost.cli.predict import explain, predict
from hornboost.cli.report import report
from hornboost.cli.rules import rules, sql
from hornboost.cli.streams import prepare
from hornboost.errors import HornBoostError

app = typer.Typer(
    name="hornboost",
    help="Learn small, readable ensembles of first-order rules straight from many tables.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for verb in (demo, inspect, audit, fit, predict, evaluate, rules, explain, sql, report, convert, partition):
    app.command()(verb)


def _show_version(asked: bool) -> None:
    if asked:
        typer.echo(f"hornboost {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    pass


def main() -> None:
    """Run the command: a user's error is one sentence on stderr and exit code 1."""
    prepare()
    show_log()
    try:
        app()
    except Exception as error:
        if not was_pressed():
            _tell(error)
        raise


def _tell(error: Exception) -> None:
    """End with a sentence where a user caused the error; anything else is one of ours."""
    if isinstance(error, HornBoostError):
        _fail(str(error))
    elif isinstance(error, OSError):
        _fail(f"{error.filename or 'the output'}: {error.strerror or error}")
    elif isinstance(error, RecursionError):
        _fail("the input is nested too deep to be followed; simplify it")
    elif isinstance(error, MemoryError):
        _fail("there is not enough memory for this; try fewer rows, a smaller --max-depth or a machine with more")


def _fail(message: str) -> None:
    from hornboost.data.readers.address import without_password

    text = clean(" ".join(without_password(message).split()))  # an address may stand where a file is expected
    note("hornboost: " + (text if len(text) <= 1000 else f"{text[:500]} … {text[-480:]}"))
    sys.exit(1)
