"""Questions to partitions on a Dask cluster are calls; where a call fails, tasks give the same answer."""

from __future__ import annotations

import asyncio
import logging
import operator
import os
import signal
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hornboost import stopping
from hornboost.cli.cluster import local_client
from hornboost.engine import dask_call
from hornboost.engine.dask_call import Caller
from hornboost.engine.dask_parts import SOON, TINY, DaskParts
from hornboost.engine.part import Part
from hornboost.engine.parts import PerPart
from hornboost.errors import DataError

distributed = pytest.importorskip("distributed", reason="dask[distributed] is not installed")

LARGE = np.arange(TINY, dtype=np.int64)
"""More bytes than are sent with every call."""


class Number(Part):
    """A partition that is a number."""

    nbytes = 10**6

    def __init__(self, opener: Numbers) -> None:
        self.number = opener.number


@dataclass(frozen=True)
class Numbers:
    number: int

    def open(self) -> Number:
        return Number(self)


def times(part: Number, factor: int) -> int:
    return part.number * factor


def added(part: Number, values: Any, more: int = 0) -> int:
    return part.number + int(values.sum()) + more


def dying(part: Number, scar: Path) -> int:
    """The number of a partition, whose worker dies of the first question."""
    if part.number == 1 and not scar.exists():
        scar.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return part.number


def failing(part: Number) -> int:
    raise DataError(f"part-0000{part.number}: the file was changed")


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    with local_client(2) as client:
        yield client


@pytest.fixture
def parts(client: Any) -> DaskParts:
    """Four partitions of two workers, which were asked once."""
    client.wait_for_workers(2, timeout=60)
    parts = DaskParts(client, [Numbers(k) for k in range(1, 5)])
    assert total(parts, times, 1) == 10
    return parts


def total(parts: DaskParts, work: Any, *arguments: Any) -> Any:
    return parts.value(parts.total(operator.add, work, *arguments))


def is_called(parts: DaskParts, work: Any, *arguments: Any) -> bool:
    """Whether a question is a call that is answered."""
    handle = parts.total(operator.add, work, *arguments)
    parts.value(handle)
    return handle.question.call is not None and handle.question.tasks is None


def test_open_partitions_are_called_and_make_no_tasks(client: Any, parts: DaskParts) -> None:
    before = client.cluster.scheduler.transition_counter
    assert total(parts, times, 3) == 30
    assert parts.values(parts.each(times, PerPart([1, 2, 3, 4]))) == [1, 4, 9, 16]
    assert is_called(parts, times, parts.keep(7, small=100))
    assert client.cluster.scheduler.transition_counter == before


def test_what_is_not_there_yet_is_waited_for_by_tasks(parts: DaskParts) -> None:
    kept = parts.keep(PerPart([1, 2, 3, 4]))
    assert not is_called(parts, times, kept)
    assert total(parts, times, kept) == 30
    assert is_called(parts, times, kept)


def test_a_large_value_is_sent_in_the_first_of_several_calls(parts: DaskParts) -> None:
    kept, expected = parts.keep(LARGE, small=1 << 20), 10 + 4 * int(LARGE.sum())
    handle = parts.total(operator.add, added, kept)
    (argument,) = (one for one in handle.question.arguments if one.mark is not None)
    caller = handle.question.call.caller
    assert caller.sent(argument, 0).value == (argument.of_group[0],)
    assert parts.value(handle) == expected
    assert caller.sent(argument, 0).value is None
    assert [total(parts, added, kept, k) for k in range(1, 4)] == [expected + 4 * k for k in range(1, 4)]
    other = parts.keep(2 * LARGE, small=1 << 20)
    assert [total(parts, added, one) for one in (other, kept, other)] == [
        2 * expected - 10,
        expected,
        2 * expected - 10,
    ]
    assert is_called(parts, added, other)


def test_a_worker_may_forget_what_it_had(client: Any, parts: DaskParts) -> None:
    kept, expected = parts.keep(LARGE, small=1 << 20), 10 + 4 * int(LARGE.sum())
    assert total(parts, added, kept) == expected
    client.run(forget)
    assert not is_called(parts, added, kept)
    assert is_called(parts, added, kept)
    assert total(parts, added, kept) == expected


def forget() -> None:
    dask_call._last.clear()


def test_a_worker_may_die_of_a_call(parts: DaskParts, tmp_path: Path) -> None:
    handle = parts.total(operator.add, dying, tmp_path / "scar")
    assert handle.question.call is not None
    assert parts.value(handle) == 10
    assert total(parts, times, 2) == 20


def test_a_call_does_not_wait_for_a_worker_that_is_gone(
    client: Any, parts: DaskParts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("hornboost.engine.dask_parts.LOOK", 0.5)
    parts._looked = parts._evened = time.monotonic()
    parts._caller = Caller(client, ["tcp://127.0.0.1:9"] * 2)  # Dask tries for half a minute to connect
    started = time.monotonic()
    handle = parts.total(operator.add, times, 3)
    assert handle.question.call is not None
    assert parts.value(handle) == 30
    assert time.monotonic() - started < 10.0


def test_a_call_that_takes_long_can_be_ended(client: Any, parts: DaskParts) -> None:
    started = time.monotonic()
    with stopping.fitting(time_limit=0.5), stopping.learning() as ending:
        total(parts, slow)
    assert ending.reason is not None
    assert time.monotonic() - started < 3.0


def slow(part: Number) -> int:
    time.sleep(2.0)
    return part.number


def test_what_goes_wrong_in_a_call_is_told_by_a_task(parts: DaskParts) -> None:
    handle = parts.total(operator.add, failing)
    assert handle.question.call is not None
    with pytest.raises(DataError, match=r"part-0000\d: the file was changed"):
        parts.value(handle)


def test_every_few_seconds_a_question_is_a_task(client: Any, parts: DaskParts, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("hornboost.engine.dask_parts.LOOK", 0.0)
    before = client.cluster.scheduler.transition_counter
    assert not is_called(parts, times, 3)
    assert client.cluster.scheduler.transition_counter > before


def test_calls_are_no_lines_of_the_log() -> None:
    logger = logging.getLogger("distributed.worker")
    seen: list[str] = []
    for name in (dask_call.answered_here.__name__, "another"):
        record = logger.makeRecord(logger.name, logging.INFO, "", 0, "Run out-of-band function %r", (name,), None)
        if logger.filter(record):
            seen.append(name)
    assert seen == ["another"]


def test_calls_rest_where_workers_do_not_reach_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=8, processes=False, dashboard_address=None)
    with cluster, distributed.Client(cluster) as client:
        parts = DaskParts(client, [Numbers(k) for k in range(1, 17)])
        assert parts.value(parts.total(operator.add, times, 1)) == 136

        async def lost(*asked: Any) -> Any:
            await asyncio.sleep(2 * SOON)
            raise OSError("timed out")

        monkeypatch.setattr(dask_call, "_answered_there", lost)
        questions = []
        for _ in range(4):
            handle = parts.total(operator.add, times, 1)
            assert parts.value(handle) == 136
            questions.append(handle.question.call)
        assert questions[0] is not None
        assert questions[1:] == [None] * 3
        parts._calls_again = 0.0
        assert parts.value(parts.total(operator.add, times, 1)) == 136
        assert parts._caller is not None
