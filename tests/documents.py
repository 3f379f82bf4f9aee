"""Documents that run: python blocks are executed, `hornboost` commands are called,
and the text block after one is its output.

`python tests/documents.py docs/tutorials/shop.md …` writes the outputs into the documents.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

BLOCK = re.compile(
    r"^```(python|console)\n(.*?)^```\n(?:\n?```text\n(.*?)^```\n)?|^<!-- python\n(.*?)^-->\n", re.DOTALL | re.MULTILINE
)
NUMBER = re.compile(r"-?\d+\.\d+")
SECONDS = re.compile(r"\b\d+\.\d s\b")
COLUMN_OF_SECONDS = re.compile(r"(?<=  seconds\n)(?:.* \d+\.\d\n)+")
"""What differs from run to run: how long a command took, in a sentence and as the last column of a table."""


def produced(text: str) -> str:
    """The document with the outputs that its blocks give now, run in a folder of its own."""
    namespace: dict[str, Any] = {"__name__": "__main__"}

    def run(match: re.Match[str]) -> str:
        kind, code, _, hidden = match.groups()
        if hidden is not None:
            output_of_python(hidden, namespace)
            return match.group(0)
        output = output_of_python(code, namespace) if kind == "python" else output_of_commands(code)
        lines = "".join(line.rstrip() + "\n" for line in SECONDS.sub("… s", output).rstrip().splitlines())
        shown = COLUMN_OF_SECONDS.sub(_without_seconds, lines)
        return f"```{kind}\n{code}```\n" + (f"\n```text\n{shown}```\n" if shown else "")

    with _in_new_folder():
        return BLOCK.sub(run, text)


def _without_seconds(rows: re.Match[str]) -> str:
    return re.sub(r"(?m)\d+\.\d$", lambda number: "…".rjust(len(number[0])), rows[0])


def is_near(one: str, other: str) -> bool:
    """Whether two texts differ in nothing but broken numbers, and in these by one unit of the last place that is shown.

    >>> is_near("area 0.93", "area 0.94"), is_near("area 0.93", "area 0.95"), is_near("3 rules", "4 rules")
    (True, False, False)
    """
    numbers = list(zip(NUMBER.findall(one), NUMBER.findall(other), strict=False))
    same_text = NUMBER.sub("#", one) == NUMBER.sub("#", other)
    return same_text and all(abs(Decimal(a) - Decimal(b)) <= max(_unit(a), _unit(b)) for a, b in numbers)


def _unit(number: str) -> Decimal:
    return Decimal(1).scaleb(-len(number.partition(".")[2]))


def output_of_python(code: str, namespace: dict[str, Any]) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as output:
        exec(compile(code, "<document>", "exec"), namespace)
    return output.getvalue()


def output_of_commands(lines: str) -> str:
    """What the commands print, notices among it."""
    from typer.testing import CliRunner

    from hornboost.cli.app import app

    output = []
    for line in lines.splitlines():
        command = shlex.split(line.removeprefix("$ "))
        assert command[0] == "hornboost", f"only hornboost's commands are run, not {line!r}"
        result = CliRunner().invoke(app, command[1:])
        assert result.exit_code == 0, result.output
        output.append(result.output)
    return "".join(output)


@contextlib.contextmanager
def _in_new_folder() -> Iterator[None]:
    before = Path.cwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            yield
        finally:
            os.chdir(before)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        document = Path(name)
        document.write_text(produced(document.read_text(encoding="utf-8")), encoding="utf-8")
