"""How fast the engine is: ratios measured in one process, so that they mean the same on every machine.

Run: python -m benchmarks.engine [--data DATA] [--json]
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hornboost.data import Database
from hornboost.engine import Engine, Frontier
from hornboost.learners.clauses import weights_in_units

EXAMPLES = 100_000
ROWS = 5_000_000
ROUNDS = 100
DEPTH = 4

TARGETS: dict[str, tuple[str, float]] = {
    "nominal_vs_bincount": ("at most", 2.0),
    "nominal_vs_bincount_shuffled": ("at most", 2.0),
    "numeric_vs_bincount": ("at most", 2.0),
    "numeric_vs_bincount_shuffled": ("at most", 2.0),
    "later_round_nominal": ("at most", 1 / 3),
    "later_round_numeric": ("at most", 1 / 10),
    "growth_per_decade_nominal": ("at most", 11.0),
    "growth_per_decade_numeric": ("at most", 11.0),
    "mutagenesis_candidates_per_second": ("at least", 8_000_000.0),
    "two_threads_speedup": ("at least", 1.6),
    "loading_memory_vs_arrow": ("at most", 3.0),
}


def measure(data: Path | None = None) -> dict[str, float]:
    """All figures; those of Mutagenesis only where `data`, the folder of data sets, is given."""
    results = against_bincount(shuffled=False) | against_bincount(shuffled=True) | growth() | threads()
    if data is not None:
        results |= mutagenesis(data)
    return results | loading()


def main() -> None:
    """Measure all targets and print them, as a table or as JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    folder = os.environ.get("HORNBOOST_DATA")
    parser.add_argument(
        "--data", type=Path, default=folder and Path(folder), help="the folder of data sets (default: HORNBOOST_DATA)"
    )
    parser.add_argument("--json", action="store_true", help="print JSON for scripts")
    options = parser.parse_args()
    results = measure(options.data)
    if options.json:
        print(json.dumps(results, indent=2))
        return
    for name, value in results.items():
        bound = TARGETS.get(name)
        wanted = "" if bound is None else f"  ({bound[0]} {bound[1]:,.4g}: {_verdict(name, value)})"
        print(f"{name:40} {value:>16,.4g}{wanted}")


def _verdict(name: str, value: float) -> str:
    direction, bound = TARGETS[name]
    return "met" if (value <= bound if direction == "at most" else value >= bound) else "missed"


def related_rows(n_examples: int, n_rows: int, kind: str, shuffled: bool, seed: int = 0) -> Database:
    """One table of examples and one of rows that belong to them, with one attribute: 50 names or 1,000 numbers."""
    import pyarrow as pa

    rng = np.random.default_rng(seed)
    owner = rng.integers(0, n_examples, n_rows)
    if not shuffled:
        owner.sort()
    drawn = rng.integers(0, 50 if kind == "nominal" else 1000, n_rows)
    names = pa.array([f"value {k}" for k in range(50)])
    value = (
        pa.DictionaryArray.from_arrays(drawn.astype(np.int32), names)
        if kind == "nominal"
        else pa.array(drawn.astype(np.float64))
    )
    return Database.from_frames(
        {
            "example": pa.table(
                {"id": np.arange(n_examples), "label": pa.array(np.where(rng.random(n_examples) < 0.5, "1", "0"))}
            ),
            "row": pa.table({"id": owner, "value": value}),
        },
        target="example",
        key="id",
        label="label",
        foreign_keys=[("row.id", "example.id")],
    )


def against_bincount(shuffled: bool) -> dict[str, float]:
    """(a) the first scoring of all conditions of an attribute against a plain
    count of the same codes; (b) a later round's.
    """
    results = {}
    suffix = "_shuffled" if shuffled else ""
    for kind in ("nominal", "numeric"):
        database = related_rows(EXAMPLES, ROWS, kind, shuffled)
        step = Step(database)
        codes = step.codes()
        first, later, count = interleaved(step.first_round, step.later_round, partial(np.bincount, codes))
        results[f"{kind}_vs_bincount{suffix}"] = first / count
        results[f"{kind}_ns_per_row{suffix}"] = first / ROWS * 1e9
        if not shuffled:
            results[f"later_round_{kind}"] = later / first
    return results


def growth() -> dict[str, float]:
    """(c) the worst factor by which ten times the rows cost more, from 10^5 to 10^7 rows, 50 an example."""
    results = {}
    for kind in ("nominal", "numeric"):
        steps = [Step(related_rows(n // 50, n, kind, shuffled=False)) for n in (10**5, 10**6, 10**7)]
        times = interleaved(*(step.first_round for step in steps))
        results[f"growth_per_decade_{kind}"] = max(times[1] / times[0], times[2] / times[1])
    return results


def threads() -> dict[str, float]:
    """(e) one thread against two on the same step."""
    database = related_rows(EXAMPLES, ROWS, "nominal", shuffled=False)
    alone, both = shortest(Step(database).first_round, Step(database, n_jobs=2).first_round)
    return {"two_threads_speedup": alone / both}


def mutagenesis(folder: Path, repeats: int = 5) -> dict[str, float]:
    """(d) candidates a second in full refinement steps.

    Frontier, scores, choice and the new state; the median of some runs.
    """
    database = Database.from_folder(folder / "mutagenesis")
    X, y = database.examples()
    examples = database.encode(X)
    classes = (np.asarray(y, object) == database.target.positive).astype(np.int32)
    runs = [_greedy_clauses(Engine(database, examples), classes) for _ in range(repeats + 1)]
    counted, spent, new = (
        np.array(part) for part in zip(*runs[1:], strict=True)
    )  # the first run encodes the tables and loads the kernels
    return {
        "mutagenesis_candidates_per_second": float(np.median(counted.sum(axis=1) / spent.sum(axis=1))),
        "mutagenesis_candidates_per_second_first_step": float(np.median(counted[:, 0] / spent[:, 0])),
        "mutagenesis_candidates_per_second_later_steps": float(
            np.median(counted[:, 1:].sum(axis=1) / spent[:, 1:].sum(axis=1))
        ),
        "mutagenesis_candidates_in_the_first_step": float(counted[0, 0] / ROUNDS),
        "mutagenesis_microseconds_per_step": float(np.median(spent.sum(axis=1)) / ROUNDS / DEPTH * 1e6),
        "mutagenesis_share_of_steps_from_new_clauses": float(new[0] / ROUNDS / DEPTH),
    }


def _greedy_clauses(engine: Engine, classes: NDArray[np.int32]) -> tuple[list[float], list[float], int]:
    """Grow clauses under ever new weights.

    The first steps, in which the engine learns which example satisfies what, count too.

    Returns the candidates and the seconds by step, and how many clauses were refined for the first time.
    """
    rng = np.random.default_rng(0)
    counted, spent = [0.0] * DEPTH, [0.0] * DEPTH
    known: dict[int, int] = {}
    for _ in range(ROUNDS):
        weights = weights_in_units(rng.exponential(size=classes.size) ** 2, np.ones(classes.size))
        state = engine.root()
        for step in range(DEPTH):
            start = time.process_time()
            frontier = engine.frontier(state)
            table = engine.score(frontier, weights, classes, 2)
            gain = np.sqrt(table[:, 1]) - np.sqrt(table[:, 0])
            refined = engine.refine(state, frontier.refinement(int(gain.argmax())))
            spent[step] += time.process_time() - start
            if state.number not in known:
                known[state.number] = conditions_known(engine, frontier)
            counted[step] += known[state.number]
            state = refined
    return counted, spent, len(known)


def conditions_known(engine: Engine, frontier: Frontier) -> int:
    """The distinct conditions, alone or with their literals, whose coverage the scores tell.

    Every value that some reached row has.

    The frontier lists only thresholds at which coverage changes; for those between, it is that of the next tighter one.
    """
    total = 0
    for group in frontier.groups:
        for option in group.options:
            entries = frontier.state.entries[option.chain.node]
            if option.chain.joins:
                entries = engine.entries(frontier.state, option.chain.node, option.chain.joins)
            codes = option.attributes.codes(option.block.attributes)[
                :, entries.rows[frontier.state.covered[entries.example]]
            ]
            total += bool(option.chain.joins)
            for k in option.block.attributes:
                distinct = np.unique(codes[k])
                total += (2 if option.attributes.numeric[k] else 1) * int((distinct >= 0).sum()) + int(
                    (distinct == -1).any()
                )
    return total


def loading() -> dict[str, float]:
    """(f) peak memory of loading the bank of 10^7 rows from Parquet, beyond what an import takes,
    against its size in Arrow.
    """
    from hornboost.datasets import write_bank

    with tempfile.TemporaryDirectory() as folder:
        write_bank(folder, 93_500, transactions=100)
        answer = subprocess.run([sys.executable, "-c", _LOADING, folder], check=True, capture_output=True, text=True)
    peak, arrow, rows = (int(part) for part in answer.stdout.split())
    return {"loading_memory_vs_arrow": peak / arrow, "loading_rows": rows, "loading_arrow_bytes": arrow}


_LOADING = """
import resource, sys
import pyarrow.parquet as pq
import pyarrow.dataset
import numba, pandas, duckdb, hornboost
from pathlib import Path
from hornboost.data import Database
peak = lambda: resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before = peak()
database = Database.from_folder(sys.argv[1])
used = peak() - before
tables = [pq.read_table(path) for path in Path(sys.argv[1]).glob("*.parquet")]
print(used, sum(table.nbytes for table in tables), sum(table.num_rows for table in tables))
"""


class Step:
    """The first refinement step of a boosting round over one database."""

    def __init__(self, database: Database, n_jobs: int = 1) -> None:
        X, y = database.examples()
        self.database = database
        self.examples = database.encode(X)
        self.classes = (np.asarray(y) == "1").astype(np.int32)
        self.weights = weights_in_units(np.random.default_rng(1).random(self.classes.size), np.ones(self.classes.size))
        self.n_jobs = n_jobs
        self.engine = self.first_round()

    def codes(self) -> NDArray[np.int32]:
        """The codes of the attribute, as the engine sees them."""
        matrix: NDArray[np.int32] = self.engine.attributes("row", False).codes([0])
        return matrix[0, :]

    def first_round(self) -> Engine:
        """All conditions of the attribute, with nothing known but the encoded tables and their indexes."""
        engine = Engine(self.database, self.examples, max_depth=1, n_jobs=self.n_jobs)
        engine.score(engine.frontier(engine.root()), self.weights, self.classes, 2)
        return engine

    def later_round(self) -> None:
        """The same with other weights, after the first round."""
        self.engine.score(self.engine.frontier(self.engine.root()), self.weights, self.classes, 2)


def interleaved(*tasks: Callable[[], Any], repeats: int = 7) -> list[float]:
    """The median processor time of each task, taking turns.

    Other work on the machine slows all alike and is not counted.
    """
    times = _times(tasks, repeats, time.process_time)
    return [float(np.median(spent)) for spent in times]


def shortest(*tasks: Callable[[], Any], repeats: int = 15) -> list[float]:
    """The shortest time by the clock of each task, taking turns.

    The one least disturbed by other work on the machine.
    """
    return [min(spent) for spent in _times(tasks, repeats, time.perf_counter)]


def _times(tasks: Sequence[Callable[[], Any]], repeats: int, clock: Callable[[], float]) -> list[list[float]]:
    times: list[list[float]] = [[] for _ in tasks]
    for _ in range(repeats):
        for task, spent in zip(tasks, times, strict=True):
            start = clock()
            task()
            spent.append(clock() - start)
    return times


if __name__ == "__main__":
    main()
