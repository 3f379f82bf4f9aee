"""A source that is several times larger than the memory given: partitioned and learned from within that memory.

    python -m benchmarks.partitions [--loans 400000] [--transactions 100] [--partitions 16] [--memory 1.4GB] [--dir DIR]

The bank is generated straight to Parquet. Each step is a process of its own, whose peak of resident memory is told with
the time it took: `hornboost partition`, a fit from the partitions, and a prediction; with `--workers N` the last two
have worker processes, and the peak of each process is told. `--local` also loads the whole source and learns from it,
and compares the two models byte by byte. The rules planted in the bank are looked for among those that were learned.
`--limits 1GB 2GB` learns from the whole source within each of these limits, and from no partitions.

    python -m benchmarks.partitions --loans 935000 --partitions 32 --memory 6GB --workers 2     # 10⁸ rows
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import hornboost as hb
from hornboost.logic import Clause
from hornboost.memory import bytes_of, bytes_text

OFTEN = 0.05
"""Seconds between two looks at the processes: at the highest that the memory of each has been."""

STATES = {"more than memory_limit": " (refused)", "left out for reaching more rows": " (without some joins)"}
"""What is told of a step, by what its output says."""


@dataclass(frozen=True)
class Measured:
    """What a command took, and the peak of its process and of those that it started, the largest of these first."""

    seconds: float
    peaks: tuple[int, ...]
    output: str


def measured(*command: str) -> Measured:
    """Run a command and wait for it."""
    started = time.monotonic()
    with tempfile.TemporaryFile() as said:
        process = subprocess.Popen(command, stdout=said, stderr=subprocess.STDOUT)
        peaks: dict[int, int] = {}
        while process.poll() is None:
            for pid in _family(process.pid):
                peaks[pid] = max(peaks.get(pid, 0), _peak(pid))
            time.sleep(OFTEN)
        said.seek(0)
        output = said.read().decode()
    if process.returncode and "more than memory_limit" not in output:
        sys.exit(f"{' '.join(command)} failed:\n{output}")
    own = peaks.pop(process.pid)
    return Measured(time.monotonic() - started, (own, *sorted(peaks.values(), reverse=True)), output)


def _family(pid: int) -> list[int]:
    """A process and all that come from it."""
    try:
        lists = [path.read_text().split() for path in Path(f"/proc/{pid}/task").glob("*/children")]
    except OSError:
        return [pid]
    return [pid, *(one for children in lists for child in children for one in _family(int(child)))]


def _peak(pid: int) -> int:
    """The bytes that a process has had in memory at most so far."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM")), 0)


def hornboost(*arguments: str) -> Measured:
    """Run the command line."""
    return measured(sys.executable, "-m", "hornboost", *arguments)


def show(what: str, found: Measured) -> None:
    """A row of the table; helpers of Dask that work on no partition are left out."""
    own, *others = found.peaks
    peaks = [own, *(peak for peak in others if peak > own / 2)]
    state = next((state for said, state in STATES.items() if said in found.output), "")
    print(f"| {what}{state} | {found.seconds:,.0f} s | {', '.join(map(bytes_text, peaks))} |", flush=True)


def run(folder: Path, asked: argparse.Namespace) -> None:
    """Generate, partition, learn, predict."""
    source, parts = folder / "bank", folder / f"parts-{asked.partitions}"
    print("| step | time | peak of each process |\n|---|---|---|")
    if not source.exists():
        made = f"{str(source)!r}, {asked.loans}, {asked.transactions}"
        generate = f"from hornboost.datasets import write_bank; write_bank({made})"
        show("generate", measured(sys.executable, "-c", generate))
    learner = ["--estimator", asked.estimator, "--rounds", str(asked.rounds), "--max-depth", "2"]
    if asked.limits:
        for given in asked.limits:
            command = ["fit", str(source), "-o", str(folder / "whole.json"), *learner, "--memory", given]
            show(f"fit of the whole source within {given}", hornboost(*command))
        return
    if asked.again or not parts.exists():
        sizes = ["--partitions", str(asked.partitions), "--memory", asked.memory]
        show("partition", hornboost("partition", str(source), "-o", str(parts), "--overwrite", *sizes))
    limit = ["--memory", asked.memory] if asked.workers is None else ["--workers", str(asked.workers)]
    models = [folder / "partitioned.json", folder / "local.json"]
    show("fit", hornboost("fit", str(parts), "-o", str(models[0]), *learner, *limit))
    show("predict", hornboost("predict", str(models[0]), str(parts), "-o", str(folder / "predicted.csv"), *limit))
    if asked.local:
        show("fit of the whole source", hornboost("fit", str(source), "-o", str(models[1]), *learner))
        print("\nthe models are", "the same" if models[0].read_bytes() == models[1].read_bytes() else "DIFFERENT")
    stored = hb.Database.from_partitions(parts).stored
    rows = 0 if stored is None else sum(table.rows for table in stored.manifest.tables)
    print(f"\n{rows:,} rows, memory {bytes_text(bytes_of(asked.memory))}, {asked.partitions} partitions")
    planted = [Clause.parse(text) for text in hb.datasets.bank(10).rules]
    learned = [rule.clause for rule in hb.load(models[0]).rules_]
    print(f"{sum(is_among(rule, learned) for rule in planted)} of {len(planted)} planted rules found; learned:")
    print(*learned, sep="\n")


def is_among(planted: Clause, learned: Sequence[Clause]) -> bool:
    """Whether a clause joins the same tables and asks the same of them, thresholds apart."""
    return any(_shape(planted) <= _shape(clause) for clause in learned)


def _shape(clause: Clause) -> set[tuple[str, str, str, str]]:
    """The tables of a clause, and its tests; of a threshold only the direction."""
    found = {(literal.table, "", "", "") for literal in clause.body}
    for literal in clause.body:
        for test in literal.tests:
            value = "" if test.op in ("<=", ">=", "<", ">") else str(test.value)
            found.add((literal.table, str(test.column), test.op, value))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--loans", type=int, default=400_000)
    parser.add_argument("--transactions", type=int, default=100)
    parser.add_argument("--partitions", type=int, default=16)
    parser.add_argument("--memory", default="1.4GB")
    parser.add_argument("--workers", type=int, help="worker processes that learn and predict, instead of --memory")
    parser.add_argument("--estimator", default="c2rib")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--limits", nargs="*", help="only learn from the whole source, within each of these limits")
    parser.add_argument("--local", action="store_true", help="also learn from the whole source, and compare")
    parser.add_argument("--dir", type=Path, help="where source and partitions are kept, for another run")
    parser.add_argument("--again", action="store_true", help="make partitions again that are kept")
    asked = parser.parse_args()
    if asked.dir is not None:
        asked.dir.mkdir(parents=True, exist_ok=True)
        run(asked.dir, asked)
        return
    with tempfile.TemporaryDirectory() as folder:
        run(Path(folder), asked)


if __name__ == "__main__":
    main()
