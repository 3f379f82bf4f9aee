"""A source that is several times larger than the memory given: partitioned and learned from within that memory.

    python -m benchmarks.partitions [--loans 400000] [--transactions 100] [--partitions 16] [--memory 1.4GB] [--dir DIR]

The bank is generated straight to Parquet. Each step is a process of its own, whose peak of resident memory is told with
the time it took: `hornboost partition`, a fit from the partitions, and a prediction. `--local` also loads the whole
source and learns from it, and compares the two models byte by byte.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from hornboost.datasets import write_bank
from hornboost.memory import bytes_of, bytes_text


@dataclass(frozen=True)
class Measured:
    """What a process took."""

    seconds: float
    peak: int
    output: str


def measured(*command: str) -> Measured:
    """Run a command and wait for it."""
    started = time.monotonic()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
        _, status, usage = os.wait4(process.pid, 0)
        said.seek(0)
        output = said.read().decode()
    if status:
        sys.exit(f"{' '.join(command)} failed:\n{output}")
    return Measured(time.monotonic() - started, usage.ru_maxrss * 1024, output)


def hornboost(*arguments: str) -> Measured:
    """Run the command line."""
    return measured(sys.executable, "-m", "hornboost", *arguments)


def show(what: str, found: Measured) -> None:
    """A row of the table."""
    print(f"| {what} | {found.seconds:,.0f} s | {bytes_text(found.peak)} |", flush=True)


def run(folder: Path, asked: argparse.Namespace) -> None:
    """Generate, partition, learn, predict."""
    source, parts = folder / "bank", folder / f"parts-{asked.partitions}"
    if not source.exists():
        write_bank(source, asked.loans, asked.transactions)
    rows = asked.loans * (asked.transactions + 7)
    print(f"about {rows:,} rows, memory {bytes_text(bytes_of(asked.memory))}\n\n| step | time | peak |\n|---|---|---|")
    sizes = ["--partitions", str(asked.partitions), "--memory", asked.memory]
    show("partition", hornboost("partition", str(source), "-o", str(parts), "--overwrite", *sizes))
    learner = ["--estimator", asked.estimator, "--rounds", str(asked.rounds), "--max-depth", "2"]
    limit = ["--memory", asked.memory]
    models = [folder / "partitioned.json", folder / "local.json"]
    show("fit", hornboost("fit", str(parts), "-o", str(models[0]), *learner, *limit))
    show("predict", hornboost("predict", str(models[0]), str(parts), "-o", str(folder / "predicted.csv"), *limit))
    print(hornboost("rules", str(models[0])).output)
    if asked.local:
        show("fit of the whole source", hornboost("fit", str(source), "-o", str(models[1]), *learner))
        print("\nthe models are", "the same" if models[0].read_bytes() == models[1].read_bytes() else "DIFFERENT")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loans", type=int, default=400_000)
    parser.add_argument("--transactions", type=int, default=100)
    parser.add_argument("--partitions", type=int, default=16)
    parser.add_argument("--memory", default="1.4GB")
    parser.add_argument("--estimator", default="c2rib")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--local", action="store_true", help="also learn from the whole source, and compare")
    parser.add_argument("--dir", type=Path, help="where the source is kept, for another run")
    asked = parser.parse_args()
    if asked.dir is not None:
        asked.dir.mkdir(parents=True, exist_ok=True)
        run(asked.dir, asked)
        return
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder), asked)


if __name__ == "__main__":
    main()
