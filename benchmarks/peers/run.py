"""Runs single fits, each as a process of its own with limits of time and memory, and keeps what each gave."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.peers.environments import Environment
from benchmarks.peers.peer import SERVER, Peer
from benchmarks.peers.prepare import digest

BY_THE_CLOCK = 10
"""A fit that waits, or runs on a busy machine, may take this many times its seconds of the processor by the clock."""

START = 30.0
"""Seconds of the processor for what comes before the clock starts: reading and compiling."""

MEMORY = 10
"""Gigabytes that a fit may take."""

OUT_OF_MEMORY = re.compile(r"MemoryError|bad_alloc|OutOfMemoryError|[Uu]nable to allocate|Cannot allocate memory")

Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Fit:
    """A learner on a fold."""

    peer: Peer
    environment: Environment
    learner: str
    folder: Path
    fold: str

    @property
    def key(self) -> str:
        """What the record is kept under: the peer's version and settings, and the data."""
        parts = [self.peer.name, self.environment.version, self.peer.settings, self.learner]
        return hashlib.sha256(json.dumps([*parts, digest(self.folder, self.fold)]).encode()).hexdigest()[:16]

    def kept(self, records: Path) -> Path:
        """The file of the record."""
        return records / self.folder.name / f"{self.peer.name}-{self.learner}-{self.fold}-{self.key}.json"


def record_of(fit: Fit, records: Path, limit: float) -> Record:
    """What a fit gave, from its record or by running it.

    A record of a fit that was stopped is good for limits up to the one that stopped it.
    """
    file = fit.kept(records)
    if file.exists():
        known: Record = json.loads(file.read_text(encoding="utf-8"))
        if known["state"] != "stopped" or known["limit"] >= limit:
            return known
    record = {
        "peer": fit.peer.name,
        "version": fit.environment.version,
        "learner": fit.learner,
        "set": fit.folder.name,
        "fold": fit.fold,
        "limit": limit,
        **run(fit, limit),
    }
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_suffix(".partial")
    partial.write_text(json.dumps(record), encoding="utf-8")
    partial.replace(file)
    return record


def run(fit: Fit, limit: float) -> Record:
    """Let the peer's server run the driver, and kill it with all that it has started where it does not end."""
    scratch = Path(tempfile.mkdtemp(prefix="peer-"))
    output, said = scratch / "result.json", scratch / "said.txt"
    arguments = [fit.peer.file, fit.folder, fit.fold, fit.learner, output, limit + START]
    started = time.perf_counter()
    try:
        status, used = server(fit.environment.python, fit.peer).run(
            {
                "arguments": [str(argument) for argument in arguments],
                "clock": BY_THE_CLOCK * (limit + START),
                "memory": MEMORY << 30,
                "said": str(said),
            }
        )
        clock = time.perf_counter() - started
        if status is None:
            return {"state": "stopped", "clock": clock, "used": min(used, limit)}
        return {"clock": clock, **outcome(output, status, said, limit)}
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


class Server:
    """A process in a peer's environment that has imported its packages, and forks one for each fit."""

    def __init__(self, python: Path, peer: Peer) -> None:
        self.process = subprocess.Popen(
            [str(python), str(SERVER), str(peer.file), *(["warm"] if peer.ours else [])],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=surroundings(peer),
        )

    def run(self, wanted: dict[str, Any]) -> tuple[int | None, float]:
        """The exit status of a fit, or None if the clock has ended it, and its seconds of the processor."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self.process.stdin.write(json.dumps(wanted) + "\n")
        self.process.stdin.flush()
        status, used = json.loads(self.process.stdout.readline())
        return status, used


@cache
def server(python: Path, peer: Peer) -> Server:
    """The server of a peer. It ends when this process does, since then there is nothing more to read."""
    return Server(python, peer)


def outcome(output: Path, status: int, said: Path, limit: float) -> Record:
    """The result of a process that has ended: done, cannot, failed, or stopped at a limit of time or memory."""
    words = said.read_text(encoding="utf-8", errors="replace")[-2000:] if said.exists() else ""
    if output.exists():
        result: Record = json.loads(output.read_text(encoding="utf-8"))
        state = "failed" if "error" in result else "cannot" if "cannot" in result else "done"
        if state == "done" and seconds_of(result) > limit:
            state = "stopped"
    elif status in (-signal.SIGXCPU, -signal.SIGKILL, 128 + signal.SIGXCPU, 128 + signal.SIGKILL):
        state, result = "stopped", {}
    else:
        state, result = "failed", {"error": f"it ended with status {status}\n{words}"}
    if state == "failed" and OUT_OF_MEMORY.search(result["error"] + words):
        state = "memory"
    return {"state": state, "memory": MEMORY, **result}


def seconds_of(result: Record) -> float:
    """Processor seconds from the tables to the model."""
    return float(result["processor"]["prepare"] + result["processor"]["fit"])


def surroundings(peer: Peer) -> dict[str, str]:
    """The environment variables of a peer: one thread for each, and nothing of ours on its path."""
    taken = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    names = ("OMP", "OPENBLAS", "MKL", "NUMBA", "NUMEXPR", "POLARS")
    taken |= {f"{name}_NUM_THREADS": "1" for name in names} | {"POLARS_MAX_THREADS": "1"}
    if peer.ours:
        import hornboost

        taken["PYTHONPATH"] = str(Path(hornboost.__file__).parents[1])
    return taken | {"PYTHONHASHSEED": "0", "PYTHONWARNINGS": "ignore"}


def tell(fit: Fit, record: Record) -> None:
    """A line about a fit, for who is waiting."""
    seconds = f" {seconds_of(record):.1f} s" if record["state"] == "done" else ""
    reason = record.get("cannot") or record.get("error", "").strip().rpartition("\n")[2]
    print(
        f"{fit.folder.name} {fit.fold} {fit.peer.name} {fit.learner}: {record['state']}{seconds} {reason}",
        file=sys.stderr,
    )
