"""How much less time C²RIB^D takes than C²RIB on the eleven domains of its paper, measured in one process; prints JSON.

    python -m benchmarks.margin DATA [--folds 3]
    python -m benchmarks.margin --wide 1000000 [--folds 3]
    python -m benchmarks.margin --generated 10000 [--folds 3]

Seconds are processor time of `fit`, the median over folds; the two learners take turns, so that other work on the
machine slows both. The ratio of the clauses that their searches score does not depend on the machine: it is what
C²RIB^D saves, and what it saved in seconds when a clause cost milliseconds. Here a pass over all attributes costs less
than the rest of a round. `--wide` has a generated database of as many rows instead: 60 attributes in eight tables, of
which four tell the class, so that a pass over all of them is what costs. `--generated` has the generated bank, trains
and molecules of as many examples.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np
import pandas as pd

import hornboost as hb
from benchmarks.papers.c2rib_runs import fit_and_test
from benchmarks.papers.c2rib_tables import PAPER, PLAIN
from benchmarks.papers.domains import DOMAINS, Domain

WHOLE = {"Eastbound Trains": Domain("trains1000", ("trains3",))}
"""With 55 training trains a fit is all overhead; time is measured on the 1,000."""


LARGE: dict[str, dict[str, Any]] = {"C²RIB": {}, "C²RIB^D": {"features": "margin"}, "C²RIB^D, stall=None": PAPER}
"""With many examples margins may grow on for long while the error stays, so a stall counts as slowing down, too."""


def measure(data: Path, name: str, folds: int) -> dict[str, Any]:
    runs: dict[str, list[dict[str, Any]]] = {line: [] for line in PLAIN}
    for task in DOMAINS[name].tasks[:3]:
        for fold in range(folds):
            for line, settings in PLAIN.items():
                runs[line].append(fit_and_test(data, domain=name, task=task, seed=0, fold=fold, settings=settings))
    seconds = {line: median(run["seconds"] for run in found) for line, found in runs.items()}
    ratios = [second["seconds"] / first["seconds"] for first, second in zip(*runs.values(), strict=True)]
    scored = [second["scored"] / first["scored"] for first, second in zip(*runs.values(), strict=True)]
    accuracy = {line: round(fmean(run["accuracy"] for run in found), 1) for line, found in runs.items()}
    return {
        "ratio": round(median(ratios), 2),
        "scored_ratio": round(median(scored), 2),
        "seconds": {line: round(value, 4) for line, value in seconds.items()},
        "accuracy": accuracy,
        "features": round(fmean(run["features"] for run in runs["C²RIB^D"]), 1),
    }


def wide(rows: int, seed: int) -> hb.Database:
    """Customers who are told apart by rows of two of seven tables; a twentieth of the labels is wrong."""
    rng = np.random.default_rng(seed)
    n, n_tables = rows // 40, 7

    def attributes(size: int, numbers: int, names: int) -> dict[str, Any]:
        drawn = {f"x{k}": rng.normal(size=size).round(3) for k in range(numbers)}
        return drawn | {f"s{k}": rng.choice(list("abcdefgh"), size) for k in range(names)}

    frames = {"customer": pd.DataFrame({"customer": np.arange(n), **attributes(n, 2, 2)})}
    for t in range(n_tables):
        size = (rows - n) // n_tables
        frames[f"t{t}"] = pd.DataFrame({"customer": rng.integers(0, n, size), **attributes(size, 4, 4)})
    one, other = frames["t1"], frames["t4"]
    is_good = np.zeros(n, np.bool_)
    is_good[one.customer[(one.s0 == "a") & (one.x1 >= 1.2)]] = True
    is_good[other.customer[(other.s2 == "c") & (other.x3 <= -1.3)]] = True
    frames["customer"]["good"] = np.where(is_good ^ (rng.random(n) < 0.05), "yes", "no")
    links = [(f"t{t}.customer", "customer.customer") for t in range(n_tables)]
    return hb.Database.from_frames(
        frames, target="customer", key="customer", label="good", positive="yes", foreign_keys=links
    )


GENERATED: dict[str, Callable[[int, int], hb.Database]] = {
    "bank": lambda n, seed: hb.datasets.bank(n, transactions=10, noise=0.05, seed=seed).database(),
    "trains": lambda n, seed: hb.datasets.trains(n, noise=0.05, seed=seed).database(),
    "molecules": lambda n, seed: hb.datasets.molecules(n, noise=0.05, seed=seed).database(),
}


def measure_large(made: Callable[[int, int], hb.Database], size: int, seeds: int) -> dict[str, Any]:
    """Processor seconds of `fit` and accuracy on a quarter of the examples, the learners taking turns.

    Each has a database of its own: what the first fit counts and encodes of one would be there for those after it.
    """
    runs: dict[str, list[tuple[float, float]]] = {line: [] for line in LARGE}
    for seed in range(seeds):
        for line, settings in LARGE.items():
            database = made(size, seed)
            X, y = database.examples()
            is_tested = np.random.default_rng(seed).random(len(X)) < 0.25
            learner = hb.C2RIBClassifier(database, random_state=seed, **settings)
            started = time.process_time()
            learner.fit(X[~is_tested], y[~is_tested])
            seconds = time.process_time() - started
            runs[line].append((seconds, 100 * float((learner.predict(X[is_tested]) == y[is_tested]).mean())))
    return {
        "size": size,
        "ratio": {
            line: round(median(own / whole for (own, _), (whole, _) in zip(found, runs["C²RIB"], strict=True)), 2)
            for line, found in runs.items()
        },
        "seconds": {line: [round(seconds, 2) for seconds, _ in found] for line, found in runs.items()},
        "accuracy": {line: [round(accuracy, 1) for _, accuracy in found] for line, found in runs.items()},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, nargs="?", help="the folder of data sets")
    parser.add_argument("--folds", type=int, default=3)
    parser.add_argument("--wide", type=int, metavar="ROWS", help="a generated database of as many rows instead")
    parser.add_argument("--generated", type=int, metavar="EXAMPLES", help="generated databases of as many examples")
    options = parser.parse_args()
    if options.wide is not None or options.generated is not None:
        measure_large(wide, 4000, 1)  # compiles the kernels
        sizes: dict[str, tuple[Callable[[int, int], hb.Database], int]] = {}
        if options.wide is not None:
            sizes["wide"] = wide, options.wide
        if options.generated is not None:
            sizes |= {name: (made, options.generated) for name, made in GENERATED.items()}
        found = {name: measure_large(made, size, options.folds) for name, (made, size) in sizes.items()}
        print(json.dumps(found, indent=1, ensure_ascii=False))
        return
    DOMAINS.update(WHOLE)
    fit_and_test(
        options.data, domain="breast-wisc", task=None, seed=0, fold=0, settings={"rounds": 2}
    )  # compiles the kernels
    names = [name for name in DOMAINS if name != "QSARs, split by pair"]
    found = {name: measure(options.data, name, options.folds) for name in names}
    result = {"domains": found} | {
        f"{what}_at_most_0.6": sum(f[what] <= 0.6 for f in found.values()) for what in ("ratio", "scored_ratio")
    }
    print(json.dumps(result, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
