"""Scoring with 100 rules: a million examples in Python and as SQL in DuckDB, and one example after loading.

Run: python -m benchmarks.scoring [--examples 1000000] [--transactions 5] [--json]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import duckdb
import numpy as np

import hornboost as hb
from hornboost.estimators.fitted import FittedModel
from hornboost.model.ensemble import Ensemble, Rule
from hornboost.model.file import SavedModel, saved_schema


def random_rules(n: int, seed: int = 0) -> tuple[Rule, ...]:
    """Rules over one to three tables, with one to three conditions each."""
    rng = np.random.default_rng(seed)
    rules = []
    for k in range(n):
        amount, balance = 500 * rng.integers(1, 16), 1000 * rng.integers(1, 50)
        bodies = [
            f'trans(account_id=A, operation="{rng.choice(["cash", "transfer", "card", "cheque"])}", amount>={amount})',
            f'order(account_id=A, amount>={amount}, bank_to="{rng.choice(list("ABCDEF"))}")',
            f'disp(client_id=C, account_id=A, type="disponent"), client(client_id=C, age<={rng.integers(20, 80)})',
            f"account(account_id=A, district_id=D), district(district_id=D, avg_salary>={1000 * rng.integers(8, 13)})",
            f'trans(account_id=A, k_symbol="penalty", balance<={balance}), order(account_id=A, amount<={amount})',
        ]
        clause = hb.Clause.parse(f'risky="1" :- loan(loan_id=L, account_id=A), {bodies[k % 5]}.')
        rules.append(Rule(clause, (float(rng.normal()),)))
    return tuple(rules)


def saved(database: hb.Database, n_rules: int, path: Path) -> None:
    ensemble = Ensemble(("0", "1"), random_rules(n_rules), (0.1,))
    model = SavedModel(ensemble, np.array(["0", "1"], object), database.target, saved_schema(ensemble, database, {}))
    FittedModel(model).save(path)


def seconds(task: Callable[[], Any], repeat: int) -> tuple[float, float, Any]:
    """The least time and processor time of some runs: others on the machine can only add to them."""
    times, processor, result = [], [], None
    for _ in range(repeat):
        started, used = time.perf_counter(), time.process_time()
        result = task()
        times.append(time.perf_counter() - started)
        processor.append(time.process_time() - used)
    return min(times), min(processor), result


def measure(examples: int, transactions: int, n_rules: int, repeat: int) -> dict[str, float]:
    data = hb.datasets.bank(examples, transactions=transactions, seed=0)
    database = data.database()
    X, _ = database.examples()
    with tempfile.TemporaryDirectory() as folder, duckdb.connect() as connection:
        saved(database, n_rules, Path(folder) / "model.json")
        model = hb.load(Path(folder) / "model.json", database=database)
        for name, table in data.tables.items():
            connection.register("source", table)
            connection.execute(f'CREATE TABLE "{name}" AS SELECT * FROM source')
            connection.unregister("source")
        statement = model.to_sql("duckdb")
        first, _, _ = seconds(lambda: model.decision_function(X[:1]), 1)
        in_python, python_cpu, scores = seconds(lambda: model.decision_function(X), repeat)
        in_duckdb, duckdb_cpu, rows = seconds(lambda: connection.sql(statement).to_arrow_table(), repeat)
        order = np.argsort(rows.column("loan_id").to_numpy())
        expected = scores[np.argsort(X["loan_id"].to_numpy())]
        one = [seconds(partial(model.decision_function, X[k : k + 1]), 1)[:2] for k in range(200)]
    return {
        "examples": examples,
        "rows": sum(table.num_rows for table in data.tables.values()),
        "rules": n_rules,
        "python_seconds": in_python,
        "duckdb_seconds": in_duckdb,
        "python_over_duckdb": in_python / in_duckdb,
        "python_processor_seconds": python_cpu,
        "duckdb_processor_seconds": duckdb_cpu,
        "largest_difference": float(np.abs(rows.column("score_of_1").to_numpy()[order] - expected).max()),
        "first_example_ms": 1000 * first,
        "one_example_ms_median": 1000 * statistics.median(wall for wall, _ in one),
        "one_example_ms_least": 1000 * min(wall for wall, _ in one),
        "one_example_processor_ms_median": 1000 * statistics.median(processor for _, processor in one),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=1_000_000)
    parser.add_argument("--transactions", type=int, default=5)
    parser.add_argument("--rules", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    results = measure(options.examples, options.transactions, options.rules, options.repeat)
    if options.json:
        sys.stdout.write(json.dumps(results, indent=1) + "\n")
    else:
        for name, value in results.items():
            sys.stdout.write(f"{name:24} {value:>16,.4g}\n")


if __name__ == "__main__":
    main()
