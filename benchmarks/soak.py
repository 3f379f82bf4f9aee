"""Fits with random parameters on random generated databases, one after the other in one process, for as long as asked.

    python -m benchmarks.soak [--minutes 30] [--seed 0]

Each setting is fitted twice, the second time with other threads, memory, sizes of pieces and caches: rules and votes
must be the same to the last bit. Every third setting is fitted once more and gets Ctrl-C at a random moment: `fit` must
raise KeyboardInterrupt, and what it has learned must predict. Prints a row a minute: fits, interrupts, what went wrong,
and the resident memory, of which the largest of the last third must not exceed that of the first by a tenth. Every
estimator is fitted before that, so that all code is loaded.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import random
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import psutil

import hornboost as hb

DATABASES: dict[str, Callable[[random.Random, int], hb.Database]] = {
    "bank": lambda rng, seed: hb.datasets.bank(
        rng.randint(40, 1500), transactions=rng.randint(2, 30), seed=seed, dated=rng.random() < 0.3
    ).database(),
    "trains": lambda rng, seed: hb.datasets.trains(rng.randint(30, 800), seed=seed).database(),
    "molecules": lambda rng, seed: hb.datasets.molecules(rng.randint(30, 300), seed=seed).database(),
    "pairs": lambda rng, seed: hb.datasets.skewed_pairs(rng.randint(300, 2000), seed=seed).database(),
}

ESTIMATORS: dict[str, Callable[[random.Random], tuple[Any, dict[str, Any]]]] = {
    "hornboost": lambda rng: (
        hb.HornBoostClassifier,
        {"aggregates": rng.random() < 0.5, "rounds": rng.choice([5, 20]), "max_literals": rng.randint(1, 4)},
    ),
    "c2rib": lambda rng: (
        hb.C2RIBClassifier,
        {"features": rng.choice([None, "margin", "V1", "V7", "V15"]), "early_stopping": rng.choice([None, 3])},
    ),
    "rankboost": lambda rng: (hb.RankBoostClassifier, {}),
    "prankboost": lambda rng: (
        hb.PRankBoostClassifier,
        {"weak_learner": rng.choice(["clause", "path", "mix1", "mix2", "mix3"])},
    ),
    "kbs": lambda rng: (hb.KBSClassifier, {"base": "clause", "stratify": rng.random() < 0.5}),
    "adaboost": lambda rng: (hb.AdaBoostM1Classifier, {"base": "clause"}),
    "logitboost": lambda rng: (hb.LogitBoostClassifier, {"base": "clause"}),
}


@dataclass
class Tally:
    """What happened."""

    fits: int = 0
    interrupts: int = 0
    finished_first: int = 0
    failures: int = 0

    def fails(self, what: str) -> None:
        self.failures += 1
        print(what, flush=True)


def drawn(rng: random.Random) -> tuple[str, Callable[[dict[str, Any]], Any], hb.Database]:
    """A setting: what to call it, how to make its estimator with further options, and the database."""
    kind, name, seed = rng.choice(list(DATABASES)), rng.choice(list(ESTIMATORS)), rng.randrange(10**6)
    database = DATABASES[kind](rng, seed)
    make, own = ESTIMATORS[name](rng)
    given = {
        "rounds": rng.randint(1, 12),
        "max_depth": rng.choice([1, 2, 2, 3 if kind != "pairs" else 2]),
        "max_bins": rng.choice([4, 50, 1 << 16]),
        "random_state": seed,
    } | own
    return f"{name} {given} on {kind} {seed}", lambda others: make(database, **given, **others), database


def others(rng: random.Random) -> dict[str, Any]:
    """Options on which no rule depends."""
    return {
        "n_jobs": rng.choice([1, 2]),
        "cache_bytes": rng.choice([0, 100_000, 1 << 30]),
        "memory_limit": rng.choice([None, "2GB", "8GB"]),
    }


def learned(model: Any) -> str:
    return repr([(str(rule.clause), rule.votes, rule.coverage) for rule in model.rules_])


def one_setting(rng: random.Random, tally: Tally, interrupted: bool) -> None:
    what, make, database = drawn(rng)
    X, y = database.examples()
    try:
        model = make(others(rng)).fit(X, y)
        again = make({**others(rng), "max_entries": model.max_entries if "aggregates" in what else 10_000}).fit(X, y)
        tally.fits += 2
        if learned(model) != learned(again):
            tally.fails(f"{what}: another model")
        if interrupted:
            _interrupted(make({**others(rng)}).set_params(rounds=10_000), X, y, rng.random() * 2.0, tally)
    except Exception:  # noqa: BLE001  # whatever goes wrong is told at the end
        tally.fails(f"{what}: {traceback.format_exc()}")


def _interrupted(model: Any, X: Any, y: Any, seconds: float, tally: Tally) -> None:
    timer = threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT))
    tally.fits += 1
    try:
        try:
            timer.start()
            model.fit(X, y)
            timer.cancel()
            timer.join()
            time.sleep(0.01)  # a signal on its way comes now
            tally.finished_first += 1
        finally:
            timer.cancel()
    except KeyboardInterrupt:
        tally.interrupts += 1
    if hasattr(model, "ensemble_"):
        model.predict_proba(X.iloc[:50])


def resident() -> float:
    """Megabytes, after what is no longer used was given back."""
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    return float(psutil.Process().memory_info().rss) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rng, tally, sizes = random.Random(asked.seed), Tally(), list[float]()
    for name in ESTIMATORS:  # code is loaded when it is first needed, and stays
        make, own = ESTIMATORS[name](rng)
        for build in DATABASES.values():
            database = build(rng, 0)
            make(database, **own).set_params(rounds=2, n_jobs=2).fit(*database.examples())
    started, due = time.monotonic(), 1.0
    print("minute    fits  interrupts  failures  resident MB", flush=True)
    for number in range(10**9):
        one_setting(rng, tally, interrupted=number % 3 == 2)
        minutes = (time.monotonic() - started) / 60
        if minutes >= due or minutes >= asked.minutes:
            due = minutes + 1.0
            sizes.append(resident())
            counts = f"{tally.fits:8}{tally.interrupts:12}{tally.failures:10}"
            print(f"{minutes:6.1f}{counts}{sizes[-1]:13.0f}", flush=True)
        if minutes >= asked.minutes:
            break
    third = max(len(sizes) // 3, 1)
    growth = max(sizes[-third:]) / max(sizes[:third]) - 1
    print(f"resident memory grew by {growth:.1%} from the first third to the last")
    sys.exit(1 if tally.failures or growth > 0.1 else 0)


if __name__ == "__main__":
    main()
