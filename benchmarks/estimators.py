"""A fit of every estimator on Mutagenesis, the loans and splice junctions, and scoring, explaining and covering.

    python -m benchmarks.estimators DATA [--against OTHER/src] [--only WORD …] [--json]

Figures are processor seconds of one thread, the least of several runs. `--against` names the `src` folder of another
checkout: two processes, one of each version, take turns run by run, so that other work on the machine slows both, and
the ratio of the two is printed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from functools import cache, partial
from itertools import chain
from pathlib import Path
from typing import Any

SETS = {"mutagenesis": "mutagenesis", "loans": "financial", "splice": "splice-junction"}
SECONDS, RUNS = 2.0, (5, 40)
"""A task is run until it has used this time, but so many times at least and at most."""


def estimators() -> dict[str, Any]:
    import hornboost as hb

    few: dict[str, Any] = {"rounds": 30, "random_state": 0}
    return {
        "c2rib": hb.C2RIBClassifier(random_state=0),
        "c2rib margin": hb.C2RIBClassifier(features="margin", random_state=0),
        "rankboost": hb.RankBoostClassifier(**few),
        "prankboost": hb.PRankBoostClassifier(**few),
        "prankboost path": hb.PRankBoostClassifier(weak_learner="path", **few),
        "kbs": hb.KBSClassifier(base="clause", **few),
        "adaboost": hb.AdaBoostM1Classifier(base="clause", **few),
        "logitboost": hb.LogitBoostClassifier(base="clause", **few),
        "subgroups": hb.KBSSubgroups(n_subgroups=5),
        "mlynx": hb.MLynxClassifier(max_length=2, max_patterns=2_000, restarts=5, random_state=0),
    }


def fits(data: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    from sklearn.base import clone

    import hornboost as hb

    for title, folder in SETS.items():
        database = hb.Database.from_folder(data / folder)
        X, y = database.examples()
        for name, estimator in estimators().items():
            model = clone(estimator).set_params(database=database)
            if (name, title) != ("mlynx", "loans"):  # a million transactions are more than it mines in seconds
                yield f"fit {name}, {title}", partial(model.fit, X, y)


@cache
def bank() -> tuple[Any, Any, Any]:
    """A generated bank of 100,000 loans, its examples, and a model of 30 rounds."""
    import hornboost as hb

    database = hb.datasets.bank(100_000, transactions=5, noise=0.05, seed=0).database()
    X, y = database.examples()
    return database, X, hb.C2RIBClassifier(database, rounds=30, random_state=0).fit(X[:2000], y[:2000])


def score(first: int, n: int) -> Any:
    _, X, model = bank()
    return model.decision_function(X[first : first + n])


def explain(n: int) -> Any:
    _, X, model = bank()
    return model.explain(X[:n])


def cover() -> Any:
    database, _, model = bank()
    return database.covers(model.rules_[-1].clause)


USES: dict[str, Callable[[], Any]] = {
    "score 1 example, 20 times": lambda: [score(k, 1) for k in range(20)],
    "score 100,000 examples": lambda: score(0, 100_000),
    "explain 1,000 examples": lambda: explain(1000),
    "cover 100,000 examples by a clause": cover,
}


def tasks(data: Path) -> Iterator[tuple[str, Callable[[], Any]]]:
    return chain(fits(data), USES.items())


def work(data: Path, only: list[str]) -> None:
    """Name each task that has a word of `only`, and run it once for every line read, until an empty one."""
    warnings.simplefilter("ignore")
    for name, task in tasks(data):
        if only and not any(word in name for word in only):
            continue
        task()  # compiles the kernels
        print(name, flush=True)
        while sys.stdin.readline().strip():
            started = time.process_time()
            task()
            print(time.process_time() - started, flush=True)


class Version:
    """A process that runs the tasks with the package of a `src` folder, or with the installed one."""

    def __init__(self, source: Path | None, arguments: list[str]) -> None:
        path = {} if source is None else {"PYTHONPATH": str(source.resolve())}
        command = [sys.executable, "-m", "benchmarks.estimators", *arguments, "--work"]
        pipe = subprocess.PIPE
        self.process = subprocess.Popen(command, env=os.environ | path, stdin=pipe, stdout=pipe, text=True)

    def read(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def tell(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def seconds(self) -> float:
        """The processor time of one run."""
        self.tell("run")
        return float(self.read())


def measure(versions: list[Version]) -> Iterator[tuple[str, list[float]]]:
    """Each task with the least seconds of each version: others on the machine can only add to them."""
    while name := min(version.read() for version in versions):
        runs: list[list[float]] = []
        while len(runs) < RUNS[0] or (len(runs) < RUNS[1] and sum(map(sum, runs)) < SECONDS * len(versions)):
            runs.append([version.seconds() for version in versions])
        for version in versions:
            version.tell("")
        yield name, [min(times) for times in zip(*runs, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, help="the folder of the data sets")
    parser.add_argument("--against", type=Path, help="the src folder of another checkout")
    parser.add_argument("--only", nargs="*", default=[], help="words of the tasks to run")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--work", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        work(options.data, options.only)
        return
    sources = [None] if options.against is None else [None, options.against]
    versions = [Version(source, [str(options.data), "--only", *options.only]) for source in sources]
    found = {}
    for name, (here, *there) in measure(versions):
        found[name] = {"seconds": here} | ({"against": there[0], "ratio": here / there[0]} if there else {})
        if not options.json:
            print(f"{name:36}" + "".join(f"{what:>9} {value:7.4f}" for what, value in found[name].items()), flush=True)
    if options.json:
        print(json.dumps(found, indent=1))


if __name__ == "__main__":
    main()
