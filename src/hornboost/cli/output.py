"""What the command prints: text and tables on stdout, notices and progress on stderr, JSON for scripts."""

from __future__ import annotations

import json
import logging
import math
import os
import sys
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from hornboost.errors import DataError, ModelError, ReadingWarning

SOURCES = (".csv", ".csv.gz", ".parquet", ".toml", ".pl", ".b", ".f", ".n", ".txt")
"""What files in a folder end in that are read with it."""

if TYPE_CHECKING:
    from rich.console import Console


def clean(text: Any) -> str:
    r"""Text that a terminal shows and does not obey: characters that cannot be printed are escaped.

    >>> print(clean("a\x1b[2Jb"))
    a\x1b[2Jb
    """
    shown = str(text)
    return (
        shown if shown.isprintable() else "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in shown)
    )


def say(text: Any = "") -> None:
    """A line of the result."""
    typer.echo(clean(text))


def note(text: Any) -> None:
    """A line beside the result: what was chosen, what to know. That nobody can read it ends no work."""
    with suppress(OSError):
        typer.echo(clean(text), err=True)


class _Notes(logging.Handler):
    tells_rounds = False

    def emit(self, record: logging.LogRecord) -> None:
        if self.tells_rounds or not getattr(record, "is_round", False):
            note(f"hornboost: {record.getMessage()}")


def show_log() -> None:
    """Show on stderr what the package logs, which by itself prints nothing, and warnings in the same way.

    A line a round would bury the rest; a fit that takes long enough to want them asks by `show_rounds`.
    """
    logger = logging.getLogger("hornboost")
    logger.setLevel(logging.INFO)
    logger.addHandler(_Notes())
    warnings.showwarning = lambda message, *_: note(f"hornboost: {message}")
    warnings.filterwarnings("ignore", category=ReadingWarning)  # told when the source was read


def show_rounds(wanted: bool) -> None:
    """Whether each round of a fit is a line, too."""
    _Notes.tells_rounds = wanted


def show_json(content: Any) -> None:
    """The whole result for a script; what is not finite is null."""
    typer.echo(json.dumps(_finite(content), ensure_ascii="utf" not in (sys.stdout.encoding or "utf").lower(), indent=1))


def show_table(columns: Sequence[str], rows: Iterable[Sequence[Any]], *, right: Sequence[str] = ()) -> None:
    """Aligned columns, without a frame, so that a pipe can read them too; only the last column may be long."""
    cells = [[clean(cell) for cell in row] for row in rows]
    widths = [max([len(name), *(len(row[k]) for row in cells)]) for k, name in enumerate(columns)]
    for row in [list(columns), *cells]:
        aligned = [
            cell.rjust(width) if name in right else cell.ljust(width)
            for cell, width, name in zip(row, widths, columns, strict=True)
        ]
        typer.echo("  ".join(aligned).rstrip())


def check_output(output: Path | None, *inputs: str | Path) -> None:
    """Refuse, before the work begins, a file that cannot be written or that would
    replace one that the command reads or writes itself.
    """
    from hornboost.model.whole import check_writable

    if output is None:
        return
    place = Path(os.path.realpath(output))
    for given in inputs:
        read = Path(os.path.realpath(given))
        if read == place:
            raise ModelError(
                f"{output}: this file is named twice on the command line and would be overwritten; "
                "choose another output"
            )
        if place.exists() and place.is_relative_to(read) and _is_read(place, read):
            raise ModelError(f"{output}: this is a file of '{given}' and would be overwritten; choose another output")
    check_writable(output)


def _is_read(file: Path, folder: Path) -> bool:
    """Whether a file in a folder is read with it: as the schema says, or as its name does where there is none."""
    from hornboost.data.partitions.manifest import is_partitioned
    from hornboost.data.readers.csv import table_name
    from hornboost.data.schema_file import read_schema

    if is_partitioned(folder):
        return True
    try:
        schema = read_schema(folder / "schema.toml")
    except DataError:  # there is none, or it is what cannot be read
        return file.name.endswith(SOURCES)
    named = [table.file or name for name, table in schema.tables.items()] + [folds.file for folds in schema.folds]
    is_named = any(os.path.realpath(folder / name) == str(file) for name in named if name is not None)
    return is_named or file.name == "schema.toml" or table_name(file) in schema.tables


def write_text(path: Path | None, text: str) -> None:
    """Write a result to a file, whole or not at all, or to stdout."""
    from hornboost.model.whole import write_whole

    if path is None:
        _check_encoding(text)
        sys.stdout.write(clean(text) if sys.stdout.isatty() else text)
        sys.stdout.flush()
    else:
        write_whole(path, text.encode("utf-8", "surrogatepass"))


def _check_encoding(text: str) -> None:
    """What a person reads is escaped where the output's encoding lacks a character.

    A file that a program reads would be another one.
    """
    try:
        text.encode(
            sys.stdout.encoding or "utf-8",
            "surrogatepass" if "utf" in (sys.stdout.encoding or "utf").lower() else "strict",
        )
    except UnicodeEncodeError as error:
        character = error.object[error.start : error.start + 1]
        way_out = "write a file with --output, or set PYTHONIOENCODING=utf-8"
        raise DataError(
            f"the encoding '{sys.stdout.encoding}' of the output cannot hold {character!r}; {way_out}"
        ) from None


def progress_console() -> Console | None:
    """Where progress is drawn: stderr on a terminal, otherwise nowhere."""
    if not sys.stderr.isatty():
        return None
    from rich.console import Console

    return Console(stderr=True)


def _finite(content: Any) -> Any:
    if isinstance(content, dict):
        return {str(name): _finite(value) for name, value in content.items()}
    if isinstance(content, list | tuple):
        return [_finite(value) for value in content]
    if hasattr(content, "item"):
        content = content.item()
    if isinstance(content, float) and not math.isfinite(content):
        return None
    return content if content is None or isinstance(content, str | int | float | bool) else str(content)
