"""Ctrl-C at random moments of a fit: how often a usable model is kept, on the command line and in Python.

    python -m benchmarks.interrupts [--estimator c2rib] [--loans 50000] [--times 50] [--seed 0] [--python]

Each run is a process of its own that gets SIGINT once its search has begun. On the command line it must end with 130
and without a traceback, and the file must load and predict; in Python `fit` must raise KeyboardInterrupt and the
estimator predict. Where no rule was learned yet, there must be no file and no model.
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
from pathlib import Path

import hornboost as hb
from hornboost.cli.learner import Learner, make_estimator

SCRIPT = """
import json, sys
import hornboost as hb
from hornboost.cli.learner import Learner, make_estimator
db = hb.Database.from_folder(sys.argv[1])
X, y = db.examples()
learner = make_estimator(Learner(sys.argv[2], rounds=100000, settings=json.loads(sys.argv[3])), db)
sys.stderr.write("learning\\n")
sys.stderr.flush()
try:
    learner.fit(X, y)
except KeyboardInterrupt:
    rules = len(learner.predict_proba(X.iloc[:500])) and len(learner.rules_) if hasattr(learner, "ensemble_") else None
    print(json.dumps(rules))
    sys.exit(130)
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--estimator", default="c2rib")
    parser.add_argument("--loans", type=int, default=50_000)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--longest", type=float, default=12.0, help="Seconds after which the last signals come.")
    parser.add_argument("--set", action="append", default=[], help="A parameter of the estimator, as name=value.")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--python", action="store_true", help="Call fit from Python instead of the command line.")
    asked = parser.parse_args()
    signal.signal(
        signal.SIGINT, signal.default_int_handler
    )  # processes that a shell starts in its background ignore it
    rng = random.Random(asked.seed)
    kept = empty = 0
    waits = []
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place) / "bank"
        hb.datasets.bank(asked.loans, transactions=20, noise=0.05, seed=0).write(folder)
        _compile(folder, asked)
        for number in range(asked.times):
            model = Path(place) / f"{number}.json"
            rules, wait = _interrupted(folder, model, asked, rng.uniform(0.0, asked.longest))
            waits.append(wait)
            kept, empty = kept + (rules is not None), empty + (rules is None)
    print(
        f"{asked.estimator}, {'Python' if asked.python else 'command line'}: "
        f"{kept + empty} of {asked.times} ended as they should, "
        f"{kept} with a model, {empty} before the first rule; at most {max(waits):.1f} s after the signal"
    )


def _compile(folder: Path, asked: argparse.Namespace) -> None:
    """Learn a few rules once, so that no run ends while kernels are compiled."""
    database = hb.Database.from_folder(folder)
    make_estimator(Learner(asked.estimator, rounds=3, settings=asked.set), database).fit(*database.examples())


def _interrupted(folder: Path, model: Path, asked: argparse.Namespace, after: float) -> tuple[int | None, float]:
    """The rules that one interrupted run kept (None: it had learned none), and how long it took to end."""
    if asked.python:
        command = [sys.executable, "-c", SCRIPT, str(folder), asked.estimator, json.dumps(asked.set)]
    else:
        command = [
            sys.executable,
            "-m",
            "hornboost",
            "fit",
            str(folder),
            "-o",
            str(model),
            "--estimator",
            asked.estimator,
        ]
        command += ["--rounds", "100000", *(part for text in asked.set for part in ("--set", text))]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    first = process.stderr.readline()
    time.sleep(after)
    process.send_signal(signal.SIGINT)
    pressed = time.monotonic()
    out, err = process.communicate(timeout=120)
    wait = time.monotonic() - pressed
    if process.returncode != 130 or "Traceback" in err:
        raise SystemExit(f"after {after:.2f} s: exit code {process.returncode}\n{first}{err}")
    if asked.python:
        return json.loads(out), wait
    if not model.exists():
        assert "nothing was written" in err, err
        return None, wait
    database = hb.Database.from_folder(folder)
    loaded = hb.load(model, database=database)
    loaded.predict_proba(database.examples()[0].iloc[:500])
    return len(loaded.rules_), wait


if __name__ == "__main__":
    main()
