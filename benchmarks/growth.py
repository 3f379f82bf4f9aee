"""How a fit of `HornBoostClassifier` grows with the rows: the generated bank, ten transactions a loan, 100 rounds.

`python -m benchmarks.growth` goes from 10⁴ to 10⁶ related rows, `--most 7` to 10⁷ (a million loans). With `--tuned`
nothing is given, so that all is chosen. Each size has a process of its own, which tells processor seconds, seconds by
the clock, and the most memory it held, of which the data take a part that is told, too.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from benchmarks.powers import add_powers, most_memory, table, told_one

GIVEN: dict[str, Any] = {
    "rounds": 100,
    "max_literals": 3,
    "max_depth": 2,
    "constants": False,
    "aggregates": False,
}


def fit(power: int, n_jobs: int, given: dict[str, Any]) -> dict[str, float]:
    """Figures of one fit on 10 to this power rows."""
    import hornboost as hb

    database = hb.datasets.bank(10 ** (power - 1), transactions=10, noise=0.1, seed=0).database()
    X, y = database.examples()
    few = hb.datasets.bank(200, seed=0).database()  # so that nothing is compiled or loaded while the clock runs
    hb.HornBoostClassifier(few, **given, random_state=0, n_jobs=n_jobs).fit(*few.examples())
    before = most_memory()
    clock, processor = time.perf_counter(), time.process_time()
    model = hb.HornBoostClassifier(database, **given, random_state=0, n_jobs=n_jobs).fit(X, y)
    return {
        "examples": float(len(X)),
        "rows": float(10**power),
        "seconds": time.perf_counter() - clock,
        "processor": time.process_time() - processor,
        "data": before,
        "memory": most_memory(),
        "accuracy": float(model.score(X.iloc[:10_000], y.iloc[:10_000])),
    }


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth", description=__doc__)
    add_powers(parser, "rows")
    parser.add_argument("--tuned", action="store_true", help="give nothing, so that all is chosen")
    asked = parser.parse_args()
    if not told_one(asked, lambda power, n_jobs: fit(power, n_jobs, {} if asked.tuned else GIVEN)):
        print(table("benchmarks.growth", asked, "rows", *(["--tuned"] if asked.tuned else [])))


if __name__ == "__main__":
    main()
