"""Partitions on a Dask cluster give the very same models, also when its workers die."""

from __future__ import annotations

import logging
import operator
import os
import pickle
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sklearn.base import clone

import hornboost as hb
from hornboost import stopping
from hornboost.cli.cluster import _undisturbed, local_client
from hornboost.data.partitions import PartitionStore
from hornboost.engine import make
from hornboost.engine.dask_call import FAN, Called, shared_out
from hornboost.engine.dask_parts import DaskParts
from hornboost.engine.make import make_engine
from hornboost.engine.needs import Needs
from hornboost.engine.part import Part
from hornboost.engine.parts import LocalParts, PerPart
from hornboost.errors import DataError, LimitError
from hornboost.memory import PYTHON

distributed = pytest.importorskip("distributed", reason="dask[distributed] is not installed")

ESTIMATORS = [
    hb.HornBoostClassifier(rounds=3, max_literals=2, max_depth=2, random_state=0),
    hb.C2RIBClassifier(rounds=4, random_state=0),
    hb.C2RIBClassifier(rounds=4, features="margin", random_state=0),
    hb.C2RIBClassifier(rounds=3, features="V3", random_state=0),
    hb.KBSClassifier(rounds=3, random_state=0),
    hb.AdaBoostM1Classifier(rounds=3, random_state=0),
    hb.LogitBoostClassifier(rounds=3, random_state=0),
    hb.MLynxClassifier(max_length=2, restarts=3, random_state=0),
]


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with local_client(2) as client:
        yield client


@pytest.fixture(scope="module")
def whole() -> hb.Database:
    return hb.datasets.trains(80, noise=0.1, seed=3).database()


@pytest.fixture(scope="module")
def folder(whole: hb.Database, tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("trains") / "parts"
    whole.partition(place, partitions=3)
    return place


@pytest.fixture
def divided(folder: Path) -> hb.Database:
    return hb.Database.from_partitions(folder)


def saved(model: Any, folder: Path) -> bytes:
    model.save(folder / "model.json")
    return (folder / "model.json").read_bytes()


def fitted(estimator: Any, database: hb.Database, **parameters: Any) -> Any:
    return clone(estimator).set_params(database=database, **parameters).fit(*database.examples())


def kill_one(client: Any, rng: random.Random) -> None:
    client.wait_for_workers(2, timeout=60)
    os.kill(rng.choice([nanny.pid for nanny in client.cluster.workers.values()]), signal.SIGKILL)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda one: type(one).__name__)
def test_models_are_the_same_bytes(
    estimator: Any, client: Any, whole: hb.Database, divided: hb.Database, tmp_path: Path
) -> None:
    there = fitted(estimator, divided, client=client)
    assert isinstance(there._database.parts, DaskParts)
    assert saved(there, tmp_path) == saved(fitted(estimator, whole), tmp_path)


@pytest.mark.parametrize("n_workers", [1, 4])
def test_models_do_not_depend_on_the_number_of_workers(
    n_workers: int, whole: hb.Database, divided: hb.Database, tmp_path: Path
) -> None:
    cluster = distributed.LocalCluster(
        n_workers=n_workers, threads_per_worker=2, processes=False, dashboard_address=None
    )
    with cluster, distributed.Client(cluster) as client:
        found = fitted(ESTIMATORS[1], divided, client=client)
    assert saved(found, tmp_path) == saved(fitted(ESTIMATORS[1], whole), tmp_path)


def test_workers_that_die_change_nothing(client: Any, whole: hb.Database, divided: hb.Database, tmp_path: Path) -> None:
    rng = random.Random(0)

    def kill(row: dict[str, Any]) -> None:
        if row["round"] in (2, 4):
            kill_one(client, rng)

    estimator = hb.C2RIBClassifier(rounds=6, random_state=0)
    found = fitted(estimator, divided, client=client, callbacks=[kill])
    assert saved(found, tmp_path) == saved(fitted(estimator, whole), tmp_path)


def test_all_workers_may_die_at_once(client: Any, whole: hb.Database, divided: hb.Database, tmp_path: Path) -> None:
    def kill(row: dict[str, Any]) -> None:
        if row["round"] == 2:
            client.wait_for_workers(2, timeout=60)
            for nanny in client.cluster.workers.values():
                os.kill(nanny.pid, signal.SIGKILL)

    estimator = hb.C2RIBClassifier(rounds=4, random_state=0)
    found = fitted(estimator, divided, client=client, callbacks=[kill], time_limit=60.0)
    assert saved(found, tmp_path) == saved(fitted(estimator, whole, time_limit=60.0), tmp_path)


def test_a_checkpoint_of_a_cluster_goes_on_without_one(client: Any, divided: hb.Database, tmp_path: Path) -> None:
    given = {"checkpoint": tmp_path / "run.json"}
    fitted(hb.C2RIBClassifier(rounds=3, random_state=0), divided, client=client, **given)
    more = hb.C2RIBClassifier(rounds=6, random_state=0)
    resumed = fitted(more, divided, **given)
    assert saved(resumed, tmp_path) == saved(fitted(more, divided), tmp_path)


def test_ctrl_c_and_time_limits_keep_what_was_learned(client: Any, divided: hb.Database) -> None:
    long = hb.C2RIBClassifier(divided, rounds=10**6, random_state=0, client=client)
    late = clone(long).set_params(time_limit=1.0)
    started = time.monotonic()
    late.fit(*divided.examples())
    assert late.stopped_ == "the time limit was reached"
    assert time.monotonic() - started < 5.0

    def press(row: dict[str, Any]) -> None:
        if row["round"] == 3:
            os.kill(os.getpid(), signal.SIGINT)

    pressed = clone(long).set_params(callbacks=[press])
    with pytest.raises(KeyboardInterrupt):
        pressed.fit(*divided.examples())
    assert pressed.n_rounds_ == 3


def test_a_client_is_a_parameter_and_no_part_of_a_model(client: Any, divided: hb.Database) -> None:
    model = fitted(hb.C2RIBClassifier(rounds=2, random_state=0), divided, client=client)
    assert clone(model).client is client
    loaded = pickle.loads(pickle.dumps(model))
    assert loaded.client is None
    assert str(loaded.rules_) == str(model.rules_)
    parts = divided.on(client).parts
    assert isinstance(parts, DaskParts)
    assert divided.on(client).parts is parts  # opened once, whoever asks
    assert isinstance(pickle.loads(pickle.dumps(divided.on(client))).parts, LocalParts)


@pytest.mark.parametrize(
    "estimator",
    [
        hb.RelationalPatterns(max_length=2),
        hb.MLynxClassifier(max_length=2, restarts=2, random_state=0),
        hb.KBSSubgroups(),
    ],
    ids=lambda one: type(one).__name__,
)
def test_what_is_no_booster_takes_a_client_too(
    estimator: Any, client: Any, whole: hb.Database, divided: hb.Database
) -> None:
    X, _ = whole.examples()
    there, here = fitted(estimator, divided, client=client), fitted(estimator, whole)
    assert clone(there).client is client
    asked = next(name for name in ("transform", "predict_proba", "covers") if hasattr(there, name))
    expected = getattr(here, asked)(X)
    loaded = pickle.loads(pickle.dumps(there))
    assert loaded.client is None
    for model in (there, loaded, there.set_params(client=None)):
        np.testing.assert_array_equal(getattr(model, asked)(X), expected)


def test_a_round_is_a_line_of_the_log(client: Any, folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "hornboost")
    fitted(hb.C2RIBClassifier(rounds=2, random_state=0), hb.Database.from_partitions(folder), client=client)
    told = [record.getMessage() for record in caplog.records if record.name == "hornboost"]
    assert told[0].startswith("opening 3 partitions on ")
    assert [line.split(":")[0] for line in told[-2:]] == ["round 1 of '1'", "round 2 of '1'"]


class Toy(Part):
    def __init__(self, opener: Toys) -> None:
        self.opener = opener

    nbytes = 10**6


@dataclass(frozen=True)
class Toys:
    """Opens a partition that holds a number, or dies of it."""

    number: int

    def open(self) -> Toy:
        if self.number < 0:
            os.kill(os.getpid(), signal.SIGKILL)
        if self.number == 0:
            raise DataError("part-00000: the file is missing")
        return Toy(self)


def times(part: Toy, factor: int) -> int:
    return part.opener.number * factor


def listed(part: Toy, word: str) -> list[tuple[int, str]]:
    return [(part.opener.number, word)]


def test_the_protocol_is_that_of_partitions_in_this_process(client: Any) -> None:
    client.wait_for_workers(2, timeout=60)
    openers = [Toys(k) for k in range(1, 10)]
    for parts in (DaskParts(client, openers), LocalParts(openers)):
        own = parts.keep(PerPart(list(range(9))))
        three = parts.keep(3)
        assert parts.value(parts.total(operator.add, times, three)) == 135
        assert parts.values(parts.each(times, own)) == [k * (k - 1) for k in range(1, 10)]
        assert parts.values([parts.total(operator.add, times, own), *parts.each(times, 10)[:2]]) == [240, 10, 20]
        assert parts.value(parts.total(operator.add, listed, parts.keep("k", small=100))) == [
            (k, "k") for k in range(1, 10)
        ]
        assert parts.n == 9
    parts = DaskParts(client, openers)
    for k in range(4):
        parts.values(parts.each(times, parts.keep(k)))  # beside the partitions: they stay where they are
    assert [len(workers) for workers in client.who_has(parts._groups).values()] == [1, 1]
    assert parts.is_even()
    opened: list[int] = []
    DaskParts(client, openers).open(opened.append)
    assert opened == sorted(opened)
    assert (opened[0], opened[-1]) == (0, 9)
    assert DaskParts(client, openers).together == 5


def test_sums_are_added_as_a_tree_by_calls_and_by_tasks() -> None:
    cluster = distributed.LocalCluster(n_workers=3, threads_per_worker=10, processes=False, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        parts = DaskParts(client, [Toys(k) for k in range(1, 41)])
        expected = [(k, "of") for k in range(1, 41)]
        for asks in ("tasks", "calls", "tasks"):
            if asks == "tasks":
                parts._caller = None
            question = parts.total(operator.add, listed, "of").question
            assert (question.call is None) == (asks == "tasks")
            answers = parts._answers(question)
            assert (question.tasks is None) == (asks == "calls")
            assert len(answers) <= FAN
            assert [one for answer in answers for one in answer] == expected
        assert parts.values(parts.each(times, parts.keep(PerPart(list(range(40)))))) == [k * (k + 1) for k in range(40)]


def test_no_caller_in_a_tree_calls_more_than_a_few() -> None:
    def deepest(asked: tuple[Called, ...]) -> int:
        assert len(asked) <= FAN
        return 1 + max((deepest(one.others) for one in asked), default=0)

    def in_order(asked: tuple[Called, ...]) -> list[str]:
        return [at for one in asked for at in (one.at, *in_order(one.others))]

    for n in (0, 1, FAN, FAN + 1, 100, 1000):
        groups = [Called(str(k), k, ()) for k in range(n)]
        tree = shared_out(groups)
        assert in_order(tree) == [one.at for one in groups]
        assert deepest(tree) <= 5
    assert all(not one.others for one in shared_out(groups[:FAN]))


def test_partitions_are_shared_out_again_among_more_workers(divided: hb.Database) -> None:
    cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client, distributed.Client(cluster):  # the last one is the usual one
        estimator = hb.C2RIBClassifier(divided, rounds=1, random_state=0, client=client)
        X, y = divided.examples()
        used = []
        for _ in range(2):
            estimator.fit(X, y)
            used.append(divided.on(client).parts)
        cluster.scale(2)
        client.wait_for_workers(2, timeout=60)
        for _ in range(2):
            estimator.fit(X, y)
            used.append(divided.on(client).parts)
        assert used[0] is used[1]
        assert used[1] is not used[2]
        assert used[2] is used[3]


def test_a_worker_that_comes_for_a_dead_one_gets_its_partitions(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    client.wait_for_workers(2, timeout=60)
    parts = DaskParts(client, [Toys(k) for k in range(1, 10)])
    kept = parts.keep(3)
    assert parts.value(parts.total(operator.add, times, kept)) == 135
    dead = parts._holders(parts._opened())[0]
    (pid,) = (nanny.pid for nanny in client.cluster.workers.values() if nanny.worker_address == dead)
    os.kill(pid, signal.SIGKILL)
    while dead in parts._workers():
        time.sleep(0.05)
    assert parts.value(parts.total(operator.add, times, kept)) == 135
    client.wait_for_workers(2, timeout=60)
    assert not parts.is_even()
    monkeypatch.setattr("hornboost.engine.dask_parts.LOOK", 0.0)
    for _ in range(600):
        assert parts.value(parts.total(operator.add, times, kept)) == 135
        if parts.is_even():
            break
    assert parts.is_even()


def test_workers_that_partitions_were_opened_for_may_all_die(client: Any) -> None:
    client.wait_for_workers(2, timeout=60)
    parts = DaskParts(client, [Toys(k) for k in range(1, 10)])
    assert parts.value(parts.total(operator.add, times, 3)) == 135
    first, second = parts._holders(parts._opened())
    assert first is not None
    assert second is not None
    parts._open_at(0, second)
    parts._open_at(1, first)
    while parts._coming:
        parts._even_out()
    assert parts._holders(parts._opened()) == [second, first]  # where they are asked from now on
    parts._open_at(0, first)
    for nanny in client.cluster.workers.values():
        os.kill(nanny.pid, signal.SIGKILL)
    while {first, second} & set(parts._workers()):
        time.sleep(0.05)
    with stopping.fitting(time_limit=30.0), stopping.learning() as ending:
        assert parts.value(parts.total(operator.add, times, 3)) == 135
        parts._even_out()
    assert ending.reason is None, "waits for workers that are dead"
    assert all(at in parts._workers() for at, _ in parts._coming.values())


def test_a_worker_may_die_before_it_is_known() -> None:
    with local_client(1) as client:
        cluster = client.cluster
        cluster.scheduler_info["workers"].clear()
        cluster.scale(0)
        while cluster.scheduler.workers:
            time.sleep(0.05)
    assert cluster.status.name == "closed"


def test_what_goes_wrong_is_told_in_a_sentence(client: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    parts = DaskParts(client, [Toys(0), Toys(1)])
    handles = parts.each(times, 1)
    with pytest.raises(DataError, match="part-00000: the file is missing"):
        parts.values(handles)
    monkeypatch.setattr(client.cluster.scheduler, "allowed_failures", 0)
    parts = DaskParts(client, [Toys(-1)])
    handles = parts.each(times, 1)
    with pytest.raises(DataError, match=r"^1 workers died one after the other in the task 'open-.*too little memory"):
        parts.value(handles[0])
    client.wait_for_workers(2, timeout=60)


def test_what_cannot_work_is_refused_in_a_sentence(
    client: Any, whole: hb.Database, divided: hb.Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(DataError, match="not in partitions, which workers could work on; write it"):
        fitted(hb.C2RIBClassifier(), whole, client=client)
    with pytest.raises(DataError, match=r"'client' is of type 'str'; pass a dask\.distributed\.Client"):
        fitted(hb.C2RIBClassifier(), divided, client="tcp://nowhere")
    limited = hb.Database.from_partitions(divided.stored.folder, memory_limit="1GB")  # type: ignore[union-attr]
    with pytest.raises(DataError, match="from_partitions: memory_limit is for partitions that this process opens"):
        limited.on(client)
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(DataError, match=r"pip install 'hornboost\[dask\]'"):
        fitted(hb.C2RIBClassifier(), divided, client=client)


def of_two(store: PartitionStore) -> int:
    """What a worker needs for the two largest partitions."""
    return sum(sorted(map(sum, Needs.of_each(store)))[-2:])


def test_workers_that_are_being_replaced_are_waited_for(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    divided = hb.Database.from_partitions(folder)
    assert divided.stored is not None
    limit = PYTHON + of_two(divided.stored) + 1

    class Restarting:
        """One of two workers is away for the first two looks, or for ever."""

        def __init__(self, looks: float) -> None:
            self.looks = looks

        @property
        def together(self) -> int:
            self.looks -= 1
            return 2 if self.looks < 0 else 3

    assert make._room_of_workers(divided.stored, Restarting(2), limit) == 1  # type: ignore[arg-type]
    monkeypatch.setattr(make, "LOOK", 0.5)
    with pytest.raises(LimitError, match="the 3 partitions that a worker holds"):
        make._room_of_workers(divided.stored, Restarting(np.inf), limit)  # type: ignore[arg-type]


def test_a_memory_limit_is_one_of_each_worker(client: Any, folder: Path, tmp_path: Path) -> None:
    client.wait_for_workers(2, timeout=60)
    divided = hb.Database.from_partitions(folder)
    assert divided.stored is not None
    held = PYTHON + of_two(divided.stored)  # two of three partitions at one of two workers
    estimator = hb.C2RIBClassifier(rounds=2, random_state=0)
    told = r"the 2 partitions that a worker holds .*, which is more than memory_limit=.* of each process; raise it, or"
    with pytest.raises(LimitError, match=told):
        fitted(estimator, divided, client=client, memory_limit=held)
    tight = fitted(estimator, divided, client=client, memory_limit=held + 10**7)
    assert saved(tight, tmp_path) == saved(fitted(estimator, divided), tmp_path)


def test_a_memory_limit_of_workers_bounds_what_they_keep(client: Any, folder: Path) -> None:
    client.wait_for_workers(2, timeout=60)
    divided = hb.Database.from_partitions(folder).on(client)
    assert divided.stored is not None
    room = 10**7
    limit = PYTHON + of_two(divided.stored) + room
    examples = divided.encode(divided.examples()[0])
    for wanted, kept in ((None, room // 2), (0, 0), (10**6, 10**6), (10**8, room // 2)):
        engine = make_engine(divided, examples, memory_limit=limit, cache_bytes=wanted)
        assert engine.cache.limit == kept


def test_partitions_are_opened_within_the_time_limit_of_a_fit(
    run: Any, client: Any, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    client.wait_for_workers(2, timeout=60)
    opened: list[float | None] = []
    plain = DaskParts.open
    monkeypatch.setattr(DaskParts, "open", lambda self, told: (opened.append(None), plain(self, told))[1])
    options = ["-o", tmp_path / "m.json", "--estimator", "c2rib", "--dask", client.scheduler.address]
    for limit in (["--time-limit", 60], ["--set", "time_limit=60"]):
        assert run("fit", folder, *options, *limit)[0] == 0
        assert not opened
    assert run("fit", folder, *options)[0] == 0
    assert opened


def test_the_command_line_works_on_a_cluster_or_on_processes_of_its_own(
    run: Any, client: Any, folder: Path, tmp_path: Path
) -> None:
    client.wait_for_workers(2, timeout=60)
    options = ["--estimator", "c2rib", "--rounds", 3]
    assert run("fit", folder, "-o", tmp_path / "local.json", *options)[0] == 0
    code, _, err = run("fit", folder, "-o", tmp_path / "dask.json", *options, "--dask", client.scheduler.address)
    assert code == 0, err
    assert err.startswith("2 workers; dashboard: http")
    code, _, err = run("fit", folder, "-o", tmp_path / "own.json", *options, "--workers", 1)
    assert code == 0, err
    assert err.startswith("1 worker; dashboard: http")
    models = {(tmp_path / f"{name}.json").read_bytes() for name in ("local", "dask", "own")}
    assert len(models) == 1


def test_the_command_line_refuses_what_it_cannot_reach(
    run: Any, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = ["-o", tmp_path / "m.json"]
    code, _, err = run("fit", folder, *output, "--workers", 2, "--dask", "tcp://127.0.0.1:9")
    assert (code, err) == (
        1,
        "hornboost: --dask and --workers both say who works on the partitions; leave one of them out\n",
    )
    monkeypatch.setattr("hornboost.cli.cluster.PATIENCE", 0.5)
    code, _, err = run("fit", folder, *output, "--dask", "tcp://127.0.0.1:9")
    assert code == 1
    assert err.startswith("hornboost: --dask: there is no Dask scheduler at 'tcp://127.0.0.1:9'")
    assert err.count("\n") == 1
    code, _, err = run("predict", tmp_path / "m.json", folder, "--workers", 2, "--memory", "1GB")
    assert (code, err.startswith("hornboost: --memory is for partitions that this process opens")) == (1, True)
    hb.datasets.trains(30, seed=0).write(tmp_path / "plain")
    code, _, err = run("fit", tmp_path / "plain", *output, "--workers", 2)
    assert code == 1
    assert "the source is not in partitions" in err
    monkeypatch.setitem(sys.modules, "distributed", None)
    assert "pip install 'hornboost[dask]'" in run("fit", folder, *output, "--workers", 2)[2]


def test_a_closed_client_is_refused_and_told_of(divided: hb.Database) -> None:
    cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None)
    with cluster:
        client = distributed.Client(cluster)
        parts = DaskParts(client, [Toys(1)])
        assert parts.value(parts.total(operator.add, times, 1)) == 1
        client.close()
        with pytest.raises(DataError, match="the client is closed; pass one that is connected"):
            fitted(ESTIMATORS[0], divided, client=client)
        with pytest.raises(DataError, match=r"the connection to the Dask cluster is lost .* fit with a checkpoint"):
            parts.value(parts.total(operator.add, times, 2))


def test_ctrl_c_while_workers_start_is_left_until_they_have() -> None:
    blocked = "import signal; print(signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, []))"
    heard = []

    def start() -> None:
        command = [sys.executable, "-c", blocked]
        heard.append(subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip())

    def undisturbed() -> None:
        with _undisturbed():
            process = threading.Thread(target=start)
            process.start()
            os.kill(os.getpid(), signal.SIGINT)
            process.join()

    with pytest.raises(KeyboardInterrupt):
        undisturbed()
    assert heard == ["True"]
    start()
    assert heard == ["True", "False"]
