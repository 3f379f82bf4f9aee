"""Partitions on worker processes: the same models, workers that are killed, and what a step costs.

    python -m benchmarks.scale same [--loans 2000]
    python -m benchmarks.scale kills [--times 10] [--loans 20000]
    python -m benchmarks.scale steps [--loans 20000]
    python -m benchmarks.scale overhead [--loans 100000]

`same` fits every estimator from the whole database, from 1, 2, 7 and 16 partitions in this process and on 1, 2 and 4
worker processes, and compares the bytes of the models. `kills` sends SIGKILL to random workers at random moments of
fits and compares as well. `steps` gives the time and the bytes of a step for 1 to 16 partitions on two workers: a step
is a question to all partitions (which conditions there are, what they weigh, what a refinement covers) and the answer.
`overhead` compares two worker processes, a partition each, with two threads in one process.
"""

from __future__ import annotations

import argparse
import os
import pickle
import random
import signal
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from sklearn.base import clone, is_regressor

import hornboost as hb
from hornboost.cli.cluster import local_client
from hornboost.engine.parts import PerPart
from hornboost.errors import HornBoostError

ESTIMATORS = {
    "HornBoost": hb.HornBoostClassifier(rounds=5, max_depth=2),
    "HornBoost, numbers": hb.HornBoostRegressor(rounds=5, max_depth=2),
    "C²RIB": hb.C2RIBClassifier(rounds=10),
    "C²RIB^D": hb.C2RIBClassifier(rounds=10, features="margin"),
    **{f"V{k}": hb.C2RIBClassifier(rounds=4, features=f"V{k}") for k in range(1, 17)},
    "RankBoost": hb.RankBoostClassifier(rounds=4),
    "PRankBoost": hb.PRankBoostClassifier(rounds=4),
    "KBS": hb.KBSClassifier(rounds=4),
    "AdaBoost.M1": hb.AdaBoostM1Classifier(rounds=4),
    "mLynx": hb.MLynxClassifier(max_length=2, restarts=5),
    "LogitBoost": hb.LogitBoostClassifier(rounds=4),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["same", "kills", "steps", "overhead"])
    parser.add_argument("--loans", type=int, help="Examples; each has --transactions of the rows.")
    parser.add_argument("--transactions", type=int, default=10)
    parser.add_argument("--times", type=int, default=10, help="Workers to kill.")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--only", help="The estimators whose names begin so.")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    usual = {"same": 2_000, "kills": 20_000, "steps": 20_000, "overhead": 100_000}
    asked.loans = asked.loans or usual[asked.what]
    with tempfile.TemporaryDirectory() as place:
        {"same": same, "kills": kills, "steps": steps, "overhead": overhead}[asked.what](Path(place), asked)


def bank(asked: argparse.Namespace) -> hb.Database:
    return hb.datasets.bank(asked.loans, transactions=asked.transactions, noise=0.1, seed=0).database()


def divided(database: hb.Database, folder: Path, n: int) -> hb.Database:
    if not folder.exists():
        database.partition(folder, partitions=n)
    return hb.Database.from_partitions(folder)


def fitted(estimator: Any, database: hb.Database, **parameters: Any) -> Any:
    return clone(estimator).set_params(database=database, random_state=0, **parameters).fit(*database.examples())


def bytes_of(model: Any, place: Path) -> bytes:
    model.save(place / "model.json")
    return (place / "model.json").read_bytes()


def same(place: Path, asked: argparse.Namespace) -> None:
    """Every estimator, from everywhere."""
    sources = {True: hb.datasets.spending(asked.loans // 10, seed=0).database(), False: bank(asked)}
    for name, estimator in ESTIMATORS.items():
        if asked.only is not None and not name.startswith(asked.only):
            continue
        whole = sources[is_regressor(estimator)]
        expected = bytes_of(fitted(estimator, whole), place)
        found: dict[str, Callable[[], Any]] = {}
        if "n_jobs" in estimator.get_params():
            found["n_jobs=2"] = lambda: fitted(estimator, whole, n_jobs=2)  # noqa: B023
        for n in (1, 2, 7, 16):
            parts = divided(whole, place / f"{whole.target.table}-{n}", n)
            found[f"{n} partitions"] = lambda parts=parts: fitted(estimator, parts)  # type: ignore[misc]  # noqa: B023
        told = [_told(what, expected, fit, place) for what, fit in found.items()]
        parts = divided(whole, place / f"{whole.target.table}-7", 7)
        for n in (1, 2, 4):
            with local_client(n) as client:
                told.append(_told(f"{n} workers", expected, lambda: fitted(estimator, parts.on(client)), place))  # noqa: B023
        print(f"{name}: {'; '.join(told)}", flush=True)


def _told(what: str, expected: bytes, fit: Callable[[], Any], place: Path) -> str:
    try:
        return f"{what} {'same' if bytes_of(fit(), place) == expected else 'ANOTHER MODEL'}"
    except HornBoostError as error:
        return f"{what} refused ({error})"


def kills(place: Path, asked: argparse.Namespace) -> None:
    """Fits whose workers are killed at random."""
    database, rng = bank(asked), random.Random(asked.seed)
    estimator = hb.C2RIBClassifier(rounds=asked.rounds)
    expected = bytes_of(fitted(estimator, database), place)
    parts = divided(database, place / "parts", 4)
    killed, done = [0], threading.Event()
    with local_client(2) as client:

        def kill() -> None:
            while killed[0] < asked.times and not done.wait(rng.uniform(0.2, 5.0)):
                client.wait_for_workers(2, timeout=300)
                pid = rng.choice([nanny.pid for nanny in client.cluster.workers.values()])
                if pid is not None:
                    os.kill(pid, signal.SIGKILL)
                    killed[0] += 1

        started, fits = time.monotonic(), 0
        killer = threading.Thread(target=kill)
        killer.start()
        try:
            while killer.is_alive():
                assert bytes_of(fitted(estimator, parts, client=client), place) == expected, "another model"
                fits += 1
        finally:
            done.set()
            killer.join()
        seconds = time.monotonic() - started
    print(
        f"{killed[0]} workers killed in {fits} fits of {asked.rounds} rounds in {seconds:.0f} s; "
        "the same model each time"
    )


class Measured:
    """Partitions whose questions and answers are weighed and timed."""

    def __init__(self, parts: Any) -> None:
        self.parts, self.seconds, self.sent, self.kept, self.received = parts, list[float](), 0, 0, 0
        self._asked = time.perf_counter()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.parts, name)

    def each(self, work: Callable[..., Any], *arguments: Any) -> list[Any]:
        self._asked = time.perf_counter()
        self.sent += self.parts.n * sum(_size(one) for one in arguments)
        return list(self.parts.each(work, *arguments))

    def keep(self, value: Any) -> Any:
        values = value.of_part if isinstance(value, PerPart) else [value]
        self.kept += sum(_size(one) for one in values)
        return self.parts.keep(value)

    def value(self, handle: Any) -> Any:
        return self.values([handle])[0]

    def values(self, handles: Sequence[Any]) -> list[Any]:
        found = list(self.parts.values(handles))
        self.seconds.append(time.perf_counter() - self._asked)
        self.received += sum(_size(one) for one in found)
        return found


def _size(value: Any) -> int:
    """Bytes that are sent; a future is a name."""
    return 0 if isinstance(value, PerPart) or type(value).__name__ == "Future" else len(pickle.dumps(value, 5))


def steps(place: Path, asked: argparse.Namespace) -> None:
    """What a step costs with more and more partitions."""
    database = bank(asked)
    estimator = hb.C2RIBClassifier(rounds=asked.rounds)
    print("partitions | steps a round | ms a step | bytes a step: to a partition | back | a round: weights")
    with local_client(2) as client:
        for n in (1, 2, 4, 8, 16):
            parts = divided(database, place / f"parts-{n}", n)
            fitted(estimator, parts, client=client)  # opened, compiled, and asked once
            there = parts.on(client)
            measured = Measured(there.parts)
            fitted(estimator, there.in_parts(measured))
            count = len(measured.seconds)
            row = [n, f"{count / asked.rounds:.1f}", f"{1000 * statistics.median(measured.seconds):.1f}"]
            row += [f"{measured.sent / count / n:,.0f}", f"{measured.received / count:,.0f}"]
            print(*row, f"{measured.kept / asked.rounds:,.0f}", sep=" | ", flush=True)


def overhead(place: Path, asked: argparse.Namespace) -> None:
    """Two processes against two threads."""
    database = bank(asked)
    estimator = hb.C2RIBClassifier(rounds=asked.rounds)
    parts = divided(database, place / "parts", 2)
    rows = sum(table.n_rows for table in database.tables.values())
    with local_client(2) as client:
        ways: dict[str, Callable[[], Any]] = {
            "threads": lambda: fitted(estimator, database, n_jobs=2),
            "processes": lambda: fitted(estimator, parts, client=client),
        }
        seconds: dict[str, list[float]] = {name: [] for name in ways}
        for _ in range(4):
            for name, fit in ways.items():
                started = time.perf_counter()
                fit()
                seconds[name].append(time.perf_counter() - started)
    first = {name: found[0] for name, found in seconds.items()}
    best = {name: min(found[1:]) for name, found in seconds.items()}
    print(
        f"{rows:,} rows, {asked.loans:,} examples, {asked.rounds} rounds: two threads {best['threads']:.2f} s, two "
        f"processes {best['processes']:.2f} s, {best['processes'] / best['threads']:.2f} times; the first fit, "
        f"partitions opened and kernels loaded, {first['threads']:.2f} s and {first['processes']:.2f} s"
    )


if __name__ == "__main__":
    main()
