"""Fits with random parameters on random generated databases, one after the other in one process, for as long as asked.

    python -m benchmarks.soak [--minutes 30] [--seed 0]

Each setting is fitted twice, the second time with other threads, memory, sizes of pieces and caches, and every other
setting once more from partitions: rules and votes must be the same to the last bit. Every third setting is fitted again
and gets Ctrl-C at a random moment: `fit` must raise KeyboardInterrupt, and what it has learned must predict. Prints a
row a minute: fits, those from partitions, interrupts, what went wrong, and the resident memory, of which the largest of
the last third must not exceed that of the first by a tenth. Every estimator is fitted before that, so that all code is
loaded.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import os
import random
import signal
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import psutil

import hornboost as hb

Build = Callable[[random.Random, int], hb.Database]
Draw = Callable[[random.Random], tuple[Any, dict[str, Any]]]

CLASSES: dict[str, Build] = {
    "bank": lambda rng, seed: hb.datasets.bank(
        rng.randint(40, 1500), transactions=rng.randint(2, 30), seed=seed, dated=rng.random() < 0.3
    ).database(),
    "trains": lambda rng, seed: hb.datasets.trains(rng.randint(30, 800), seed=seed).database(),
    "molecules": lambda rng, seed: hb.datasets.molecules(rng.randint(30, 300), seed=seed).database(),
    "pairs": lambda rng, seed: hb.datasets.skewed_pairs(rng.randint(300, 2000), seed=seed).database(),
}
NUMBERS: dict[str, Build] = {
    "spending": lambda rng, seed: hb.datasets.spending(rng.randint(40, 800), seed=seed).database(),
}
COUNTS: dict[str, Build] = {
    "orders": lambda rng, seed: hb.datasets.spending(rng.randint(40, 800), counts=True, seed=seed).database(),
}

CLASSIFIERS: dict[str, Draw] = {
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
    "mlynx": lambda rng: (
        hb.MLynxClassifier,
        {"max_length": rng.randint(1, 2), "restarts": rng.randint(1, 5), "average": rng.random() < 0.5},
    ),
}
REGRESSORS: dict[str, Draw] = {
    "numbers": lambda rng: (
        hb.HornBoostRegressor,
        {
            "loss": rng.choice(["squared", "absolute", "quantile"]),
            "aggregates": rng.random() < 0.5,
            "rounds": rng.choice([5, 20]),
        },
    ),
    "counts": lambda rng: (
        hb.HornBoostRegressor,
        {"loss": "poisson", "aggregates": rng.random() < 0.5, "rounds": rng.choice([5, 20])},
    ),
}
ESTIMATORS = CLASSIFIERS | REGRESSORS
DATABASES = dict.fromkeys(CLASSIFIERS, CLASSES) | {"numbers": NUMBERS | COUNTS, "counts": COUNTS}


@dataclass
class Tally:
    """What happened."""

    fits: int = 0
    from_partitions: int = 0
    interrupts: int = 0
    finished_first: int = 0
    failures: int = 0

    def fails(self, what: str) -> None:
        self.failures += 1
        print(what, flush=True)


class Setting(NamedTuple):
    """An estimator with its parameters, and the database that it learns from."""

    name: str
    make: Any
    given: dict[str, Any]
    kind: str
    seed: int
    database: hb.Database

    def __str__(self) -> str:
        return f"{self.name} {self.given} on {self.kind} {self.seed}"

    def estimator(self, rng: random.Random, database: hb.Database, **others: Any) -> Any:
        """The estimator, with options on which no rule depends."""
        more: dict[str, Any] = {"cache_bytes": rng.choice([0, 100_000, 1 << 30])}
        if self.name != "mlynx":
            more |= {"n_jobs": rng.choice([1, 2]), "memory_limit": rng.choice([None, "2GB", "8GB"])} | others
        return self.make(database, **self.given, **more)

    def partitioned(self, rng: random.Random, folder: str) -> hb.Database:
        """The database in partitions, with some of its tables whole in each."""
        return self.database.partition(
            f"{folder}/parts",
            rng.randint(1, 6),
            depth=self.given["max_depth"],
            small_table=rng.choice([0, 100, 10_000]),
            max_bins=self.given.get("max_bins", 1 << 16),
        )


def drawn(rng: random.Random) -> Setting:
    name, seed = rng.choice(list(ESTIMATORS)), rng.randrange(10**6)
    kind = rng.choice(list(DATABASES[name]))
    make, own = ESTIMATORS[name](rng)
    given = {
        "rounds": rng.randint(1, 12),
        "max_depth": rng.choice([1, 2, 2, 3 if kind != "pairs" else 2]),
        "max_bins": rng.choice([4, 50, 1 << 16]),
        "random_state": seed,
    } | own
    given = {key: value for key, value in given.items() if key in make().get_params()}
    return Setting(name, make, given, kind, seed, DATABASES[name][kind](rng, seed))


def learned(model: Any) -> str:
    return repr([(str(rule.clause), rule.votes, rule.coverage) for rule in model.rules_])


def one_setting(rng: random.Random, tally: Tally, in_parts: bool, interrupted: bool) -> None:
    setting = drawn(rng)
    try:
        with tempfile.TemporaryDirectory() as folder:
            expected, source = _learned_twice(setting, rng, tally), setting.database
            if in_parts:
                source = setting.partitioned(rng, folder)
                found = learned(setting.estimator(rng, source).fit(*source.examples()))
                tally.fits, tally.from_partitions = tally.fits + 1, tally.from_partitions + 1
                if found != expected:
                    tally.fails(f"{setting}: another model from {source}")
            if interrupted:
                endless = {"restarts": 10_000} if setting.name == "mlynx" else {"rounds": 10_000}
                model = setting.estimator(rng, source).set_params(**endless)
                _interrupted(model, *source.examples(), rng.random() * 2.0, tally)
    except Exception:  # noqa: BLE001  # whatever goes wrong is told at the end
        tally.fails(f"{setting}: {traceback.format_exc()}")


def _learned_twice(setting: Setting, rng: random.Random, tally: Tally) -> str:
    X, y = setting.database.examples()
    pieces: dict[str, Any] = {} if setting.given.get("aggregates") else {"max_entries": 10_000}
    first = learned(setting.estimator(rng, setting.database).fit(X, y))
    again = learned(setting.estimator(rng, setting.database, **pieces).fit(X, y))
    tally.fits += 2
    if again != first:
        tally.fails(f"{setting}: another model")
    return first


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
        model.predict(X.iloc[:50])


def resident() -> float:
    """Megabytes, after what is no longer used was given back."""
    gc.collect()
    if sys.platform == "linux":
        ctypes.CDLL("libc.so.6").malloc_trim(0)
    return float(psutil.Process().memory_info().rss) / 1e6


def _load(rng: random.Random) -> None:
    """Fit every estimator everywhere: code is loaded when it is first needed, and stays."""
    for name, draw in ESTIMATORS.items():
        make, own = draw(rng)
        few = {key: value for key, value in {"rounds": 2, "n_jobs": 2}.items() if key in make().get_params()}
        for build in DATABASES[name].values():
            database = build(rng, 0)
            make(database, **(own | few)).fit(*database.examples())
            with tempfile.TemporaryDirectory() as folder:
                parts = database.partition(f"{folder}/parts", 2)
                make(parts, **(own | few | {"max_depth": 2})).fit(*parts.examples())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rng, tally, sizes = random.Random(asked.seed), Tally(), list[float]()
    _load(rng)
    started, due = time.monotonic(), 1.0
    print("minute    fits  in parts  interrupts  failures  resident MB", flush=True)
    for number in range(10**9):
        one_setting(rng, tally, in_parts=number % 2 == 1, interrupted=number % 3 == 2)
        minutes = (time.monotonic() - started) / 60
        if minutes >= due or minutes >= asked.minutes:
            due = minutes + 1.0
            sizes.append(resident())
            counts = f"{tally.fits:8}{tally.from_partitions:10}{tally.interrupts:12}{tally.failures:10}"
            print(f"{minutes:6.1f}{counts}{sizes[-1]:13.0f}", flush=True)
        if minutes >= asked.minutes:
            break
    third = max(len(sizes) // 3, 1)
    growth = max(sizes[-third:]) / max(sizes[:third]) - 1
    print(f"resident memory grew by {growth:.1%} from the first third to the last")
    sys.exit(1 if tally.failures or growth > 0.1 else 0)


if __name__ == "__main__":
    main()
