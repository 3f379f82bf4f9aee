"""RelationalAggregates on a generated bank against hand-written DuckDB queries for the same columns; prints JSON."""

from __future__ import annotations

import argparse
import json
import time
from typing import Any

import duckdb
import numpy as np

from hornboost import datasets
from hornboost.estimators.aggregates import RelationalAggregates

NUMERIC = {"order": ["amount"], "trans": ["month", "amount", "balance"]}
NOMINAL = {"disp": ["type"], "order": ["bank_to", "k_symbol"], "trans": ["operation", "k_symbol"]}


def bare(connection: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    """The same columns as `RelationalAggregates(max_depth=2)`.

    A query a table, and one for each nominal column's most frequent value.
    """
    single = """SELECT l.loan_id, a.frequency, a.opened_year, d.region, d.avg_salary, d.unemployment
                FROM loan l LEFT JOIN account a USING (account_id) LEFT JOIN district d USING (district_id)"""
    results = {"single": connection.sql(single).fetchnumpy()}
    for table in ("disp", "order", "trans"):
        joined = f'FROM loan l JOIN account a USING (account_id) JOIN "{table}" t USING (account_id)'
        functions = ("avg", "sum", "min", "max", "stddev_samp")
        columns = [
            "count(*)",
            *(f"{function}(t.{column})" for column in NUMERIC.get(table, []) for function in functions),
        ]
        results[table] = connection.sql(
            f"SELECT l.loan_id, {', '.join(columns)} {joined} GROUP BY l.loan_id"
        ).fetchnumpy()
        for column in NOMINAL[table]:
            inner = f"SELECT l.loan_id, t.{column} AS v, count(*) AS n {joined} WHERE v IS NOT NULL GROUP BY ALL"
            outer = f"SELECT loan_id, count(*), arg_max(v, n), max(n) / sum(n) FROM ({inner}) GROUP BY loan_id"
            results[f"{table}.{column}"] = connection.sql(outer).fetchnumpy()
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loans", type=int, default=93_500)
    parser.add_argument("--transactions", type=int, default=100)
    parser.add_argument("--repeat", type=int, default=3)
    options = parser.parse_args()
    data = datasets.bank(options.loans, options.transactions)
    database = data.database()
    X, _ = database.examples()
    aggregates = RelationalAggregates(database, max_depth=2)

    connection = duckdb.connect()
    for name, table in data.tables.items():
        connection.register("source", table)
        connection.sql(f'CREATE TABLE "{name}" AS SELECT * FROM source')
    ours, theirs = [], []
    for _ in range(options.repeat):
        start = time.perf_counter()
        out = aggregates.fit_transform(X)
        ours.append(time.perf_counter() - start)
        start = time.perf_counter()
        expected = bare(connection)
        theirs.append(time.perf_counter() - start)
    order = np.argsort(expected["trans"]["loan_id"])
    balance = expected["trans"]["avg(t.balance)"][order]
    np.testing.assert_allclose(np.asarray(out["mean(trans.balance)"])[np.argsort(np.asarray(out["loan_id"]))], balance)
    print(
        json.dumps(
            {
                "rows": sum(table.num_rows for table in data.tables.values()),
                "examples": len(X),
                "columns": len(aggregates.aggregates_),
                "seconds": round(min(ours), 2),
                "bare_seconds": round(min(theirs), 2),
                "times_bare": round(min(ours) / min(theirs), 2),
            }
        )
    )


if __name__ == "__main__":
    main()
