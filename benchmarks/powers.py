"""Fits on more and more rows, from a power of ten to another, each in a process of its own with its own memory."""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from collections.abc import Callable
from typing import Any

from benchmarks.papers.markdown import markdown_table

Figures = dict[str, float]


def most_memory() -> float:
    """The most memory that this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def add_powers(parser: argparse.ArgumentParser, what: str) -> None:
    """The options that say how many rows of what there are, first and last."""
    parser.add_argument("--least", type=int, default=4, help=f"ten to this power {what} at first")
    parser.add_argument("--most", type=int, default=6, help=f"ten to this power {what} at last")
    parser.add_argument("--jobs", type=int, default=1, help="threads")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)


def told_one(given: Any, fit: Callable[[int, int], Figures]) -> bool:
    """Print the figures of one power if this process is the one for it."""
    if given.one is None:
        return False
    print(json.dumps(fit(given.one, given.jobs)))
    return True


def table(module: str, given: Any, rows: str, *options: str) -> str:
    """The figures of all powers in Markdown; a fit tells how many `examples` and `rows` it saw.

    The processes get these options, too.
    """
    lines: list[list[str]] = []
    before: float | None = None
    for power in range(given.least, given.most + 1):
        command = [sys.executable, "-m", module, "--one", str(power), "--jobs", str(given.jobs), *options]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        one: Figures = json.loads(done.stdout.splitlines()[-1])
        growth = "" if before is None else f"{one['processor'] / before:.1f}x"
        before = one["processor"]
        sizes = [f"{one['examples']:,.0f}", f"{one['rows']:,.0f}"]
        costs = [f"{one['processor']:.1f}", f"{one['seconds']:.1f}", growth]
        lines.append([*sizes, *costs, f"{one['data']:,.0f}", f"{one['memory']:,.0f}", f"{one['accuracy']:.3f}"])
    columns = ["examples", rows, "processor s", "seconds", "growth", "MB before", "MB at most", "accuracy"]
    return markdown_table(columns, lines)
