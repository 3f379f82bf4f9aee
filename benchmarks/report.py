"""Time and size of a report on the generated bank, ten million rows by default.

Run: python -m benchmarks.report [--loans 93500] [--rounds 100]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import hornboost as hb
from hornboost.datasets import write_bank


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--loans", type=int, default=93_500)
    parser.add_argument("--rounds", type=int, default=100)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_bank(folder / "bank", options.loans, transactions=100, noise=0.05)
        database = hb.Database.from_folder(folder / "bank")
        rows = sum(table.n_rows for table in database.tables.values())
        clf = hb.C2RIBClassifier(database, rounds=options.rounds, random_state=0).fit(*database.examples())
        clf.save(folder / "model.json")
        command = [
            "report",
            str(folder / "model.json"),
            "--data",
            str(folder / "bank"),
            "-o",
            str(folder / "report.html"),
        ]
        started = time.perf_counter()
        subprocess.run([sys.executable, "-m", "hornboost", *command], check=True)
        seconds, size = time.perf_counter() - started, (folder / "report.html").stat().st_size
        print(f"{rows:,} rows, {len(clf.rules_)} rules: {seconds:.1f} s, {size / 1e6:.2f} MB")


if __name__ == "__main__":
    main()
