"""How a fit of `HornBoostClassifier` grows with the rows: the generated bank, ten transactions a loan, 100 rounds.

`python -m benchmarks.growth` goes from 10⁴ to 10⁶ related rows, `--most 7` to 10⁷ (a million loans). Each size has a
process of its own, which tells processor seconds, seconds by the clock, and the most memory it held, of which the data
take a part that is told, too.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from typing import Any

from benchmarks.papers.markdown import markdown_table

ROUNDS = 100


def fit(power: int, n_jobs: int) -> dict[str, float]:
    """Figures of one fit on 10 to this power rows."""
    import hornboost as hb

    database = hb.datasets.bank(10 ** (power - 1), transactions=10, noise=0.1, seed=0).database()
    X, y = database.examples()
    given: dict[str, Any] = {
        "rounds": ROUNDS,
        "max_literals": 3,
        "max_depth": 2,
        "constants": False,
        "aggregates": False,
    }
    few = hb.datasets.bank(200, seed=0).database()  # so that nothing is compiled or loaded while the clock runs
    hb.HornBoostClassifier(few, **{**given, "rounds": 2}, random_state=0, n_jobs=n_jobs).fit(*few.examples())
    before = _memory()
    clock, processor = time.perf_counter(), time.process_time()
    model = hb.HornBoostClassifier(database, **given, random_state=0, n_jobs=n_jobs).fit(X, y)
    return {
        "rows": float(10**power),
        "seconds": time.perf_counter() - clock,
        "processor": time.process_time() - processor,
        "data": before,
        "memory": _memory(),
        "accuracy": float(model.score(X.iloc[:10_000], y.iloc[:10_000])),
    }


def _memory() -> float:
    """The most memory that this process has held, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    parser.add_argument("--least", type=int, default=4, help="ten to this power rows at first")
    parser.add_argument("--most", type=int, default=6, help="ten to this power rows at last")
    parser.add_argument("--jobs", type=int, default=1, help="threads")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        print(json.dumps(fit(given.one, given.jobs)))
        return
    found: list[dict[str, float]] = []
    for power in range(given.least, given.most + 1):
        command = [sys.executable, "-m", "benchmarks.growth", "--one", str(power), "--jobs", str(given.jobs)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        found.append(json.loads(done.stdout.splitlines()[-1]))
    rows = []
    for k, one in enumerate(found):
        growth = one["processor"] / found[k - 1]["processor"] if k else None
        rows.append(
            [
                f"{one['rows'] / 10:,.0f}",
                f"{one['rows']:,.0f}",
                f"{one['processor']:.1f}",
                f"{one['seconds']:.1f}",
                "" if growth is None else f"{growth:.1f}x",
                f"{one['data']:,.0f}",
                f"{one['memory']:,.0f}",
                f"{one['accuracy']:.3f}",
            ]
        )
    columns = ["examples", "rows", "processor s", "seconds", "growth", "MB before", "MB at most", "accuracy"]
    print(markdown_table(columns, rows))


if __name__ == "__main__":
    main()
