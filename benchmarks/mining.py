"""Candidates counted a second while mining Mutagenesis (atoms and bonds only) to length 4 at 5 % support,
best of some runs; prints JSON.

Literals that cannot be added to a more general query, and those with a new variable that could only be a known one, are
known to be infrequent; they are neither counted nor in the figure.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path

import numpy as np

from benchmarks.papers.mlynx import BONDS, atoms_and_bonds
from hornboost.data.mirror import mirrored
from hornboost.mining.language import Language
from hornboost.mining.miner import Miner, thresholds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path, help="the folder of the data sets")
    parser.add_argument("--length", type=int, default=4)
    parser.add_argument("--support", type=float, default=0.05)
    parser.add_argument("--repeat", type=int, default=5)
    options = parser.parse_args()
    database = mirrored(atoms_and_bonds(options.data, "regression_friendly_188"), BONDS)
    X, y = database.examples()
    classes, weights = (np.asarray(y) == "1").astype(np.int32), np.ones(len(X))
    runs = []
    for length in (2, *[options.length] * options.repeat):  # the first run compiles
        wall, processor = time.perf_counter(), time.process_time()
        language = Language.of(database, database.encode(X), weights, bins=4, oi=True, symmetric=BONDS, steps=length)
        total = np.bincount(classes, weights).astype(np.float64)
        miner = Miner(language, classes, weights, thresholds(options.support, "overall", total, 1))
        mined = miner.mine(length)
        runs.append((time.process_time() - processor, time.perf_counter() - wall))
    processor, wall = min(runs[1:])
    print(
        json.dumps(
            {
                "queries": len(mined.queries),
                "distinct_columns": len({query.covered for query in mined.queries}),
                "candidates": mined.candidates,
                "seconds": round(wall, 2),
                "processor_seconds": round(processor, 2),
                "candidates_a_processor_second": round(mined.candidates / processor),
            }
        )
    )


if __name__ == "__main__":
    main()
