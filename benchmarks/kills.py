"""SIGKILL at random moments of a fit that keeps a checkpoint, each followed by a fit that goes on from it.

    python -m benchmarks.kills [--estimator hornboost] [--loans 2000] [--times 50] [--seed 0] [--python]
    python -m benchmarks.kills --python --slow-disk 0.2

A run is killed, goes on and is killed again until it is done; then the next run begins, until as many processes were
killed. On the command line a checkpoint is written every few seconds; with `--python` many times a second, so that many
of the signals come in the middle of a write; with `--slow-disk` each write takes so many seconds longer. After each
kill the file must be whole, hold all that it held before, and miss nothing that was found longer ago than the time
between two writes; at most one temporary file may lie beside it. Each model must be, byte for byte, that of a run that
nothing has broken off.
"""

from __future__ import annotations

import argparse
import json
import random
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import hornboost as hb
from hornboost.model import checkpoint
from hornboost.model.seal import unsealed

SCRIPT = """
import json, math, os, sys, time
import hornboost as hb
from hornboost.cli.learner import Learner, make_estimator
from hornboost.model import checkpoint
folder, model, kept, estimator, settings, seconds, slow = json.loads(sys.argv[1])
checkpoint.SECONDS, checkpoint.SHARE = seconds, math.inf
if slow:
    os.fsync = lambda handle: time.sleep(slow)
db = hb.Database.from_folder(folder)
X, y = db.examples()
def tell(row):
    print(time.time(), row["round"], flush=True)
learner = make_estimator(Learner(estimator, settings=settings), db)
if kept is not None:
    learner.set_params(checkpoint=kept)
print("learning", file=sys.stderr, flush=True)
learner.set_params(callbacks=[tell]).fit(X, y).save(model)
"""

OFTEN = 0.05
"""Seconds between two writes where a process is to be killed in the middle of one."""

Rounds = dict[str, list[Any]]
"""What a checkpoint holds: the searches of each run and of each fold of a trial, and the figures of trials."""


@dataclass
class Tally:
    """What was seen."""

    kills: int = 0
    in_a_write: int = 0
    before_the_first_search: int = 0
    runs: int = 0
    lost: list[int] = field(default_factory=list)
    sizes: list[int] = field(default_factory=list)


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--estimator", default="hornboost")
    parser.add_argument("--loans", type=int, default=2_000)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--longest", type=float, default=4.0, help="Seconds after which the last signals come.")
    parser.add_argument("--set", action="append", default=[], help="A parameter of the estimator, as name=value.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--python", action="store_true", help="Call fit from Python instead of the command line.")
    parser.add_argument(
        "--slow-disk", type=float, default=0.0, help="Seconds of a write before its file gets its name."
    )
    return parser


def main() -> None:
    parser = arguments()
    asked = parser.parse_args()
    if asked.slow_disk and not asked.python:
        parser.error("--slow-disk goes with --python")
    with tempfile.TemporaryDirectory() as place:
        tally = killed(Path(place), asked)
    print(
        f"{asked.estimator}, {'Python' if asked.python else 'command line'}: {tally.kills} kills, "
        f"{tally.in_a_write} of them in the middle of a write and {tally.before_the_first_search} before the first "
        f"search was kept; {tally.runs} runs came to the model of an unbroken run; no file was damaged, none was left "
        f"behind; {max(tally.lost, default=0)} rounds at most were to be found again after a kill; "
        f"the checkpoint had up to {max(tally.sizes, default=0):,} bytes"
    )


def killed(place: Path, asked: argparse.Namespace) -> Tally:
    """Kill as many processes as asked for, and check each time what is left."""
    rng, tally = random.Random(asked.seed), Tally()
    folder, kept = place / "bank", place / "kept" / "run.json"
    hb.datasets.bank(asked.loans, transactions=10, noise=0.1, seed=asked.seed).write(folder)
    assert _run(folder, place / "whole.json", None, asked).wait() == 0
    whole = (place / "whole.json").read_bytes()
    kept.parent.mkdir()
    is_under_way = True
    while tally.kills < asked.times or is_under_way:
        life = rng.uniform(0.0, asked.longest) if tally.kills < asked.times else None
        before = _rounds(kept)
        process = _run(folder, place / "model.json", kept, asked)
        if _is_killed(process, life):
            seconds = OFTEN + 2 * asked.slow_disk if asked.python else checkpoint.SECONDS
            _check(tally, before, kept, process, seconds)
            is_under_way = True
            continue
        assert process.returncode == 0, process.stderr
        assert (place / "model.json").read_bytes() == whole, "another model"
        assert [path.name for path in kept.parent.iterdir()] == [kept.name], "files are left behind"
        kept.unlink()
        tally.runs, is_under_way = tally.runs + 1, False
    return tally


def _run(folder: Path, model: Path, kept: Path | None, asked: argparse.Namespace) -> subprocess.Popen[str]:
    if asked.python:
        told = [str(folder), str(model), None if kept is None else str(kept), asked.estimator, asked.set]
        told += [OFTEN, asked.slow_disk]
        command = [sys.executable, "-c", SCRIPT, json.dumps(told)]
    else:
        command = [sys.executable, "-m", "hornboost", "fit", str(folder), "-o", str(model)]
        command += ["--estimator", asked.estimator, *(part for text in asked.set for part in ("--set", text))]
        command += [] if kept is None else ["--checkpoint", str(kept)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def _is_killed(process: subprocess.Popen[str], life: float | None) -> bool:
    """Let a process live for some seconds after its first word; whether it was killed then."""
    assert process.stderr is not None
    process.stderr.readline()
    try:
        process.wait(life)
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGKILL)
    return process.wait() == -signal.SIGKILL


def _check(tally: Tally, before: Rounds, kept: Path, process: subprocess.Popen[str], seconds: float) -> None:
    now = time.time()
    tally.kills += 1
    after = _rounds(kept)
    strays = [path for path in kept.parent.iterdir() if path != kept]
    assert len(strays) <= 1, strays
    tally.in_a_write += len(strays)
    if not after:
        tally.before_the_first_search += 1
        assert not before
        return
    tally.sizes.append(kept.stat().st_size)
    for name, found in before.items():
        is_done = name not in after and name.partition(", fold ")[0] in after
        assert is_done or after[name][: len(found)] == found, f"{name} has lost rounds"
    assert process.stdout is not None
    told = [line.split() for line in process.stdout if line.endswith("\n")]
    learned = max((len(found) for name, found in after.items() if not name.startswith("trial")), default=0)
    lost = [float(at) for at, number in told if int(number) > learned]
    tally.lost.append(len(lost))
    assert all(now - at < seconds + 1.0 for at in lost), "rounds are lost that were found long ago"


def _rounds(kept: Path) -> Rounds:
    """What a checkpoint holds; a damaged one is an error."""
    if not kept.exists():
        return {}
    body = unsealed(kept.read_bytes(), str(kept), "checkpoint", checkpoint.VERSION, "")
    return {name: found for name, found in body["runs"].items() if found}


if __name__ == "__main__":
    main()
