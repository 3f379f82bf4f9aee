"""Partitions on worker processes: the same models, workers that are killed, and what a step costs.

    python -m benchmarks.scale same [--loans 500] [--only NAME ...]
    python -m benchmarks.scale kills [--times 10] [--loans 500] [--workers 2] [--only NAME ...]
    python -m benchmarks.scale steps [--loans 20000]
    python -m benchmarks.scale overhead [--loans 100000]

`same` fits every estimator from the whole database, from 1, 2, 7 and 16 partitions in this process and on 1, 2 and 4
worker processes, and compares the bytes of the models. `kills` sends SIGKILL to one of the workers, or to all, at
random moments of fits and compares as well. `steps` gives the time and the bytes of a step for 1 to 16 partitions: a
step is a question to all partitions (take a refinement, which ones there are then, and what they weigh) and the
answer; `processor here` is what the main process, with Dask's scheduler in it, computes for it in all of its threads.
`overhead` compares two worker processes, a partition each, with two threads in one process, and tells what both
partitions take in one process, and what Dask takes for a question and for tasks that do nothing.
"""

from __future__ import annotations

import argparse
import operator
import os
import pickle
import random
import signal
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from sklearn.base import clone, is_regressor

import hornboost as hb
from hornboost.cli.cluster import local_client
from hornboost.engine.dask_parts import DaskParts
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
LONGER: dict[str, dict[str, Any]] = {
    **{name: {"rounds": 100} for name in ESTIMATORS if name.startswith(("C", "V", "A", "L"))},
    "KBS": {"rounds": 60},
    "RankBoost": {"rounds": 12},
    "PRankBoost": {"rounds": 12},
    "mLynx": {"max_length": 3, "max_depth": 2},
}
"""What makes a fit on two workers take some seconds, in which they can be killed."""

SMALL_TABLE = 100
"""Rows up to which tables are whole in every partition: so few that even a small bank is really divided."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["same", "kills", "steps", "overhead"])
    parser.add_argument("--loans", type=int, help="Examples; each has --transactions of the rows.")
    parser.add_argument("--transactions", type=int, default=10)
    parser.add_argument("--times", type=int, default=10, help="Workers to kill.")
    parser.add_argument("--workers", type=int, default=2, help="Workers of which some are killed.")
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--only", nargs="+", help="The estimators whose names begin so.")
    parser.add_argument("--dir", type=Path, help="Where partitions are kept, for another run with the same sizes.")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    usual = {"same": 500, "kills": 500, "steps": 20_000, "overhead": 100_000}
    asked.loans = asked.loans or usual[asked.what]
    if asked.what in ("steps", "overhead"):
        asked.rounds = asked.rounds or 20
    run = {"same": same, "kills": kills, "steps": steps, "overhead": overhead}[asked.what]
    if asked.dir is not None:
        asked.dir.mkdir(parents=True, exist_ok=True)
        run(asked.dir, asked)
        return
    with tempfile.TemporaryDirectory() as place:
        run(Path(place), asked)


def bank(asked: argparse.Namespace) -> hb.Database:
    return hb.datasets.bank(asked.loans, transactions=asked.transactions, noise=0.1, seed=0).database()


def divided(database: hb.Database, folder: Path, n: int) -> hb.Database:
    if not folder.exists():
        database.partition(folder, partitions=n, small_table=SMALL_TABLE)
    return hb.Database.from_partitions(folder)


def fitted(estimator: Any, database: hb.Database, **parameters: Any) -> Any:
    return clone(estimator).set_params(database=database, random_state=0, **parameters).fit(*database.examples())


def bytes_of(model: Any, place: Path) -> bytes:
    model.save(place / "model.json")
    return (place / "model.json").read_bytes()


def _sources(asked: argparse.Namespace) -> dict[bool, hb.Database]:
    """Where numbers are learned from, and where classes."""
    return {True: hb.datasets.spending(asked.loans // 2, seed=0).database(), False: bank(asked)}


def _named(asked: argparse.Namespace) -> list[tuple[str, Any]]:
    """The estimators asked for, by the beginnings of their names."""
    return [(name, one) for name, one in ESTIMATORS.items() if asked.only is None or name.startswith(tuple(asked.only))]


def same(place: Path, asked: argparse.Namespace) -> None:
    """Every estimator, from everywhere."""
    sources = _sources(asked)
    with ExitStack() as stack:
        clients = {n: stack.enter_context(local_client(n)) for n in (1, 2, 4)}
        for name, estimator in _named(asked):
            whole = sources[is_regressor(estimator)]
            ways: dict[str, Callable[[], Any]] = {}
            if "n_jobs" in estimator.get_params():
                ways["n_jobs=2"] = partial(fitted, estimator, whole, n_jobs=2)
            parts = {n: divided(whole, place / f"{whole.target.table}-{n}", n) for n in (1, 2, 7, 16)}
            ways |= {f"{n} partitions": partial(fitted, estimator, one) for n, one in parts.items()}
            ways |= {f"{n} workers": partial(fitted, estimator, parts[7], client=one) for n, one in clients.items()}
            expected = bytes_of(fitted(estimator, whole), place)
            told = [_told(what, expected, fit, place) for what, fit in ways.items()]
            print(f"{name}: {'; '.join(told)}", flush=True)


def _told(what: str, expected: bytes, fit: Callable[[], Any], place: Path) -> str:
    try:
        return f"{what} {'same' if bytes_of(fit(), place) == expected else 'ANOTHER MODEL'}"
    except HornBoostError as error:
        return f"{what} refused ({error})"


def kills(place: Path, asked: argparse.Namespace) -> None:
    """Fits whose workers are killed at random."""
    sources, rng, n = _sources(asked), random.Random(asked.seed), max(4, asked.workers)
    with local_client(asked.workers) as client:
        for name, estimator in _named(asked):
            whole = sources[is_regressor(estimator)]
            parts = divided(whole, place / f"{whole.target.table}-{n}", n)
            longer = clone(estimator).set_params(**LONGER.get(name, {}))
            if asked.rounds is not None and "rounds" in longer.get_params():
                longer.set_params(rounds=asked.rounds)
            expected = bytes_of(fitted(longer, whole), place)
            started = time.monotonic()
            fits = _killed(client, lambda: bytes_of(fitted(longer, parts, client=client), place), asked.times, rng)  # noqa: B023
            counts = [count for _, count in fits]
            others = sum(model != expected for model, _ in fits)
            print(
                f"{name}: {sum(counts)} workers killed in {len(fits)} fits, {sum(map(bool, counts))} of which lost "
                f"some (up to {max(counts)} in one), in {time.monotonic() - started:.0f} s; "
                f"{f'{others} OTHER MODELS' if others else 'the same model each time'}",
                flush=True,
            )


def _killed(client: Any, fit: Callable[[], bytes], times: int, rng: random.Random) -> list[tuple[bytes, int]]:
    """Fit until workers were killed so many times, one of them or all at once; models, and how many died meanwhile."""
    killed, done = [0], threading.Event()

    def kill() -> None:
        while killed[0] < times and not done.wait(rng.uniform(0.1, 3.0)):
            client.wait_for_workers(max(1, len(client.cluster.workers)), timeout=300)
            pids = [nanny.pid for nanny in client.cluster.workers.values() if nanny.pid is not None]
            if not pids:  # all are dead, and their processes are just being started again
                continue
            for pid in pids if rng.random() < 0.2 else [rng.choice(pids)]:
                with suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)
                    killed[0] += 1

    fits: list[tuple[bytes, int]] = []
    killer = threading.Thread(target=kill)
    killer.start()
    try:
        while killer.is_alive():
            before = killed[0]
            model = fit()
            fits.append((model, killed[0] - before))
    finally:
        done.set()
        killer.join()
    return fits


class Measured(DaskParts):
    """Partitions whose questions and answers are weighed and timed."""

    def __init__(self, parts: DaskParts) -> None:
        super().__init__(parts.client, parts.openers)
        self.clear()

    def clear(self) -> None:
        """Begin anew."""
        self.seconds, self.here, self.sent, self.kept, self.received = list[float](), list[float](), 0, 0, 0
        self._asking = self._answered = time.perf_counter()

    def _asked(self, work: Callable[..., Any], add: Callable[[Any, Any], Any], name: str, *arguments: Any) -> Any:
        self._asking = time.perf_counter()
        self.here.append(self._asking - self._answered)
        question = super()._asked(work, add, name, *arguments)
        if question.call is not None:
            weighing = time.perf_counter()
            self.sent += sum(map(_size, question.call.caller.asked(question.groups, question.arguments)))
            self._asking += time.perf_counter() - weighing
        return question

    def _tasks(self, work: Callable[..., Any], name: str, *arguments: Sequence[Any], **options: Any) -> list[Any]:
        size = sum(_size(one) for each in arguments for one in each)
        if name == "keep":
            self.kept += size
        else:
            self.sent += size
        return super()._tasks(work, name, *arguments, **options)

    def _answers(self, question: Any) -> list[Any]:
        found = super()._answers(question)
        self._answered = time.perf_counter()
        self.seconds.append(self._answered - self._asking)
        self.received += sum(map(_size, found))
        return found


def _size(value: Any) -> int:
    """Bytes that are sent; a future is a name."""
    return 40 if type(value).__name__ == "Future" else len(pickle.dumps(value, 5))


def steps(place: Path, asked: argparse.Namespace) -> None:
    """What a step costs with more and more partitions."""
    database = bank(asked)
    estimator = hb.C2RIBClassifier(rounds=asked.rounds)
    print(
        "| partitions | workers | steps a round | ms a step | of it here | processor here | bytes a step, there "
        "| back | kept a round |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    for workers, numbers in {2: (1, 2, 4, 8, 16), 16: (16,), 40: (40,)}.items():
        with local_client(workers) as client:
            for n in numbers:
                parts = divided(database, place / f"parts-{n}", n).on(client)
                measured = Measured(parts.parts)
                there = parts.in_parts(measured)
                for _ in range(2):  # opened, compiled, and asked once
                    measured.clear()
                    busy = time.process_time()
                    fitted(estimator, there)
                count = len(measured.seconds)
                busy = 1000 * (time.process_time() - busy) / count
                step, here = (1000 * statistics.median(one) for one in (measured.seconds, measured.here))
                row = [n, workers, f"{count / asked.rounds:.1f}", f"{step + here:.1f}", f"{here:.1f}", f"{busy:.1f}"]
                row += [f"{measured.sent / count:,.0f}", f"{measured.received / count:,.0f}"]
                print("", *row, f"{measured.kept / asked.rounds:,.0f} |", sep=" | ", flush=True)


class Took(NamedTuple):
    """Seconds of the clock, and of the processors in all processes."""

    wall: float
    processors: float


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
            "partitions": lambda: fitted(estimator, parts),
        }
        took: dict[str, list[Took]] = {name: [] for name in ways}
        for _ in range(asked.times):
            for name, fit in ways.items():
                started, busy = time.perf_counter(), _processors(client)
                fit()
                wall = time.perf_counter() - started
                took[name].append(Took(wall, _processors(client) - busy))
        question = _round_trip(partial(_question, parts.on(client).parts))
        tasks = _round_trip(partial(_two_tasks, client))
    first = {name: found[0] for name, found in took.items()}
    best = {name: Took(*map(min, zip(*found[1:], strict=True))) for name, found in took.items()}
    threads, processes = best["threads"], best["processes"]
    middle = {name: statistics.median(one.wall for one in found[1:]) for name, found in took.items()}
    print(
        f"{rows:,} rows, {asked.loans:,} examples, {asked.rounds} rounds, the best of {asked.times - 1} fits: two "
        f"threads {threads.wall:.2f} s (processors {threads.processors:.2f} s), two processes {processes.wall:.2f} s "
        f"({processes.processors:.2f} s), {processes.wall / threads.wall:.2f} times; medians {middle['threads']:.2f} s "
        f"and {middle['processes']:.2f} s, {middle['processes'] / middle['threads']:.2f} times; the first fit, "
        f"partitions opened and kernels loaded, {first['threads'].wall:.2f} s and {first['processes'].wall:.2f} s; "
        f"both partitions in one process, one after the other, {best['partitions'].wall:.2f} s; a question with "
        f"nothing to do, {1000 * question:.1f} ms, and two tasks of that kind, {1000 * tasks:.1f} ms"
    )


def _round_trip(ask: Callable[[], object]) -> float:
    """Seconds from asking two workers for nothing to having it."""
    took = []
    for _ in range(31):
        started = time.perf_counter()
        ask()
        took.append(time.perf_counter() - started)
    return statistics.median(took[1:])


def _question(parts: Any) -> None:
    parts.value(parts.total(operator.add, _nothing))


def _nothing(part: Any) -> int:
    return 0


def _two_tasks(client: Any) -> None:
    client.gather(client.map(abs, [-1, 1], pure=False))


def _processors(client: Any) -> float:
    return time.process_time() + float(sum(client.run(time.process_time).values()))


if __name__ == "__main__":
    main()
