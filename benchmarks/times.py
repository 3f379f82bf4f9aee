"""What times cost: fits on the generated bank with dates, its times declared and not, and how they grow.

`python -m benchmarks.times` fits `HornBoostClassifier` and `C2RIBClassifier` to the same rows twice: with the times of
the tables declared, and with dates that are columns like others. All rows come before their loans and no table gives
the outcome away, so that both see the same; a processor second is one with, and one without, in turns. Then it goes
from 10⁴ dated transactions to 10⁶ with times declared, `--most 7` to 10⁷, each size in a process of its own.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from benchmarks.papers.markdown import markdown_table
from benchmarks.powers import add_powers, most_memory, table, told_one

GIVEN: dict[str, Any] = {"rounds": 100, "max_literals": 3, "max_depth": 2, "random_state": 0}
LEAK = "reminder"


def databases(n: int) -> tuple[Any, Any]:
    """The bank of n loans, every row of which was known before, with its times declared and without."""
    import hornboost as hb

    made = hb.datasets.bank(n, transactions=10, noise=0.1, dated=True, seed=0)
    times = {table: column for table, column in made.plan.times.items() if table != LEAK}
    tables = {name: table.to_pandas(date_as_object=False) for name, table in made.tables.items() if name != LEAK}
    cutoffs = tables["loan"].set_index("account_id")["granted"]
    for name, column in times.items():
        if name != "loan":
            table = tables[name]
            tables[name] = table[table[column] < table["account_id"].map(cutoffs)].reset_index(drop=True)
    links = [link for link in made.plan.foreign_keys if not any(end.startswith(LEAK) for end in link)]
    given: dict[str, Any] = {
        "target": "loan",
        "key": "loan_id",
        "label": "risky",
        "positive": "1",
        "foreign_keys": links,
    }
    declared: dict[str, Any] = {"times": times, "known_later": {"card": {"closed": ["reason"]}}}
    return hb.Database.from_frames(tables, **given, **declared), hb.Database.from_frames(tables, **given)


def models(n_jobs: int) -> dict[str, Any]:
    """The estimators by name."""
    import hornboost as hb

    return {
        "HornBoostClassifier": hb.HornBoostClassifier(constants=False, aggregates=False, n_jobs=n_jobs, **GIVEN),
        "C2RIBClassifier": hb.C2RIBClassifier(n_jobs=n_jobs, **GIVEN),
    }


def fit_seconds(model: Any, database: Any) -> tuple[float, float, float]:
    """Processor seconds and seconds of a fit, and the accuracy on some of the examples."""
    from sklearn.base import clone

    X, y = database.examples()
    clock, processor = time.perf_counter(), time.process_time()
    fitted = clone(model).set_params(database=database).fit(X, y)
    seconds = time.process_time() - processor, time.perf_counter() - clock
    return *seconds, float(fitted.score(X.iloc[:10_000], y.iloc[:10_000]))


def compare(n: int, repeats: int, n_jobs: int) -> list[list[str]]:
    """Processor seconds of each estimator with and without times, the best of some turns."""
    few = databases(200)
    both = databases(n)
    rows = []
    for name, model in models(n_jobs).items():
        for database in few:
            fit_seconds(model.set_params(rounds=3), database)  # so that nothing is compiled while the clock runs
        model.set_params(rounds=GIVEN["rounds"])
        turns = [[fit_seconds(model, database) for database in both] for _ in range(repeats)]
        declared, plain = (min(turn[k][0] for turn in turns) for k in range(2))
        accuracy = [f"{turns[0][k][2]:.3f}" for k in (1, 0)]
        rows.append([name, f"{plain:.2f}", f"{declared:.2f}", f"{declared / plain:.2f}x", *accuracy])
    return rows


def grow(power: int, n_jobs: int) -> dict[str, float]:
    """Figures of one fit of `HornBoostClassifier` on 10 to this power transactions with times."""
    model = models(n_jobs)["HornBoostClassifier"]
    fit_seconds(model.set_params(rounds=2), databases(200)[0])
    database, _ = databases(10 ** (power - 1))
    before = most_memory()
    processor, seconds, accuracy = fit_seconds(model.set_params(rounds=GIVEN["rounds"]), database)
    rows = sum(table.n_rows for table in database.tables.values() if table.times is not None)
    figures = {
        "examples": 10.0 ** (power - 1),
        "rows": float(rows),
        "processor": processor,
        "seconds": seconds,
        "accuracy": accuracy,
    }
    return {**figures, "data": before, "memory": most_memory()}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.times", description=__doc__)
    parser.add_argument("--loans", type=int, default=20_000, help="examples of the comparison; 0 leaves it out")
    parser.add_argument("--repeats", type=int, default=3, help="turns of the comparison")
    add_powers(parser, "transactions")
    given = parser.parse_args()
    if told_one(given, grow):
        return
    if given.loans:
        columns = ["estimator", "processor s without times", "with", "ratio", "accuracy without", "with"]
        print(markdown_table(columns, compare(given.loans, given.repeats, given.jobs)))
        print()
    print(table("benchmarks.times", given, "dated rows"))


if __name__ == "__main__":
    main()
