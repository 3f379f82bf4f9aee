"""Time and memory of the ranking boosters on generated skewed pairs, beside one scoring pass over the related rows.

    python -m benchmarks.ranking [examples] [rounds]

The default is the size of the paper's largest data set: 281,000 examples at 1:149 with about 3,000,000 related rows,
100 weak learners, one core.
"""

from __future__ import annotations

import argparse
import json
import resource
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

import hornboost as hb
from hornboost.engine import Engine
from hornboost.engine.seeded import SeededEngine
from hornboost.learners.clauses import weights_in_units

TIME_LIMIT = 20.0


def resident() -> float:
    """Memory of the process in MB."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


@contextmanager
def peak_memory() -> Iterator[list[float]]:
    """The largest growth of the process's memory in MB while the block runs, looked at every 20 ms."""
    before, done = resident(), threading.Event()
    growth = [0.0]

    def watch() -> None:
        while not done.wait(0.02):
            growth[0] = max(growth[0], resident() - before)

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield growth
    finally:
        done.set()
        watcher.join()


def scoring_pass(database: Any, X: Any, y: Any) -> float:
    """Seconds of one pass over the related rows.

    Every literal over one join from the examples, with every condition on its attributes.
    """
    engine = Engine(database, database.encode(X), max_depth=1, look_ahead=1)
    weights, classes = weights_in_units(np.ones(len(y)), np.ones(len(y))), (y == "1").astype(np.int32)
    started = time.process_time()
    engine.score(engine.frontier(engine.root()), weights, classes, 2)
    return time.process_time() - started


def deep_pass(database: Any, X: Any, y: Any) -> float:
    """Seconds of one pass at the learners' depth, by their engine, which shares keys.

    Every literal or pair of literals, and its tests.
    """
    engine = SeededEngine(Engine(database, database.encode(X), cache_bytes=200_000_000))
    weights, classes = weights_in_units(np.ones(len(y)), np.ones(len(y))), (y == "1").astype(np.int32)
    started = time.process_time()
    engine.score(engine.root(), engine.literals(engine.root(), int(np.argmax(classes))), weights, classes)
    return time.process_time() - started


def measure(examples: int, rounds: int) -> dict[str, Any]:
    small = hb.datasets.skewed_pairs(3_000, skew=149).database()
    X, y = small.examples()
    for estimator in (hb.RankBoostClassifier(small, rounds=2), hb.PRankBoostClassifier(small, rounds=2)):
        estimator.fit(X, y)  # compiles the kernels
    data = hb.datasets.skewed_pairs(examples, skew=149, related=11)
    arrow = sum(table.nbytes for table in data.tables.values()) / 1e6
    related = sum(table.num_rows for name, table in data.tables.items() if name != "pair")
    database = data.database()
    del data
    X, y = database.examples()
    y = np.asarray(y)
    result: dict[str, Any] = {"examples": examples, "related_rows": related, "arrow_mb": round(arrow), "rounds": rounds}
    passes = {kind.__name__: min(kind(database, X, y) for _ in range(2)) for kind in (scoring_pass, deep_pass)}
    result |= {f"{name}_seconds": round(seconds, 2) for name, seconds in passes.items()}
    print(json.dumps(result), flush=True)
    for name, estimator in (
        ("PRankBoost", hb.PRankBoostClassifier(database, rounds=rounds, random_state=0, cache_bytes=200_000_000)),
        ("RankBoost", hb.RankBoostClassifier(database, rounds=rounds, random_state=0, cache_bytes=200_000_000)),
    ):
        with peak_memory() as growth:
            started = time.process_time()
            estimator.fit(X, y)
            seconds = time.process_time() - started
        score = estimator.history_["aurpc"].iloc[-1]
        result[name] = {
            "seconds": round(seconds, 1),
            **{f"over_{name}": round(seconds / one, 1) for name, one in passes.items()},
            "memory_mb": round(growth[0]),
            "memory_over_arrow": round(growth[0] / arrow, 2),
            "training_aurpc": round(float(score), 3),
            "rounds": len(estimator.history_),
            "clauses_evaluated": estimator.clauses_evaluated_,
            "slowest_rounds": sorted(estimator.history_["seconds"].round(2).tolist())[-3:],
        }
        print(name, json.dumps(result[name]), flush=True)
    started = time.monotonic()
    limited = hb.PRankBoostClassifier(database, rounds=rounds, random_state=0, time_limit=TIME_LIMIT).fit(X, y)
    elapsed = time.monotonic() - started
    result["time_limit"] = {"seconds": TIME_LIMIT, "took": round(elapsed, 2), "rounds": len(limited.history_)}
    print("time_limit", json.dumps(result["time_limit"]), flush=True)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("examples", type=int, nargs="?", default=281_000)
    parser.add_argument("rounds", type=int, nargs="?", default=100)
    options = parser.parse_args()
    measure(options.examples, options.rounds)


if __name__ == "__main__":
    main()
