"""Workers for partitions: those of a Dask cluster that runs, or some processes for as long as a command takes."""

from __future__ import annotations

import logging
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing import resource_tracker
from types import FrameType
from typing import TYPE_CHECKING, Any, NamedTuple

from hornboost.cli.output import note
from hornboost.cli.progress import stage_progress
from hornboost.errors import DataError, counted

if TYPE_CHECKING:
    from hornboost.data import Database

SETTINGS = {
    "distributed.scheduler.allowed-failures": 20,
    "distributed.scheduler.work-stealing": False,
    "distributed.worker.profile.enabled": False,
    "distributed.admin.tick.interval": "1s",
    "distributed.nanny.pre-spawn-environ.MALLOC_MMAP_THRESHOLD_": 1 << 25,
    "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": 1 << 26,
}
"""For workers of our own: a partition is tried again after many deaths, and stays where it is open; and nobody looks
many times a second what they are at. The C library keeps as much of what is freed as it would by itself; as Dask has
it, each array comes from the system anew, and a third of the time of a worker goes into clean pages for it.
"""

AGAIN = 5.0
"""Seconds after which workers that did not come back are started anew."""

PATIENCE = 10.0
"""Seconds that a scheduler has to answer."""


class Cluster(NamedTuple):
    """Who works on partitions: the cluster at an address, or a number of processes; nobody else if neither is named."""

    address: str | None = None
    workers: int | None = None


@contextmanager
def working_on(database: Database, cluster: Cluster, is_limited: bool = False) -> Iterator[Database]:
    """The database with the cluster's workers at work on its partitions.

    Where time is limited, they are opened when they are asked for: within the limit.
    """
    if cluster.address is None and cluster.workers is None:
        yield database
        return
    if cluster.address is not None and cluster.workers is not None:
        raise DataError("--dask and --workers both say who works on the partitions; leave one of them out")
    if database.stored is None:
        raise DataError(
            "the source is not in partitions, which workers could work on; write some with "
            "'hornboost partition SOURCE -o DIR --partitions N', and name DIR"
        )
    with _client(cluster) as client:
        n = len(client.scheduler_info(n_workers=-1)["workers"])
        note(f"{counted(n, 'worker')}; dashboard: {client.dashboard_link}")
        there = database.on(client)
        if n and not is_limited:
            with stage_progress() as told:
                there.parts.open(lambda opened: told("opening partitions", opened, there.parts.n))
        yield there


@contextmanager
def _client(cluster: Cluster) -> Iterator[Any]:
    """A client, closed at the end, and with it the processes that were started for it."""
    try:
        from distributed import Client
        from distributed.utils import silence_logging_cmgr
    except ImportError:
        raise DataError(
            "work on a Dask cluster needs the package distributed; install it with: pip install 'hornboost[dask]'"
        ) from None
    with ExitStack() as stack:
        if cluster.workers is None:
            stack.enter_context(silence_logging_cmgr(logging.CRITICAL))  # what goes wrong is told in a sentence
            try:
                client = stack.enter_context(Client(cluster.address, timeout=PATIENCE))
            except (OSError, ValueError) as error:
                raise DataError(
                    f"--dask: there is no Dask scheduler at '{cluster.address}' ({_reason(error)}); "
                    "start one with: dask scheduler"
                ) from None
        else:
            client = stack.enter_context(local_client(cluster.workers))
        yield client


@contextmanager
def local_client(n: int) -> Iterator[Any]:
    """The client of as many worker processes, which are closed with it.

    Dask starts a process again that died, but not one that died while it started: then there is one too few, until the
    cluster is told its size again.
    """
    import dask
    from distributed import Client

    done = threading.Event()

    def refill() -> None:
        while not done.wait(AGAIN):
            cluster.scale(n)

    with ExitStack() as stack:
        stack.enter_context(dask.config.set(SETTINGS))  # also for workers that are started later
        with _undisturbed():
            start = _local_cluster()
            cluster = stack.enter_context(
                start(n_workers=n, threads_per_worker=1, dashboard_address=":0", silence_logs=logging.CRITICAL)
            )
            client = stack.enter_context(Client(cluster))
        threading.Thread(target=refill, daemon=True).start()
        try:
            yield client
        finally:
            done.set()
            with _undisturbed():
                stack.close()


def _reason(error: Exception) -> str:
    return str(error).split(":")[0].splitlines()[0] or type(error).__name__


def _local_cluster() -> Any:
    """Dask's processes of this machine, for which a worker that died before it was known is no error.

    It would be one of the watch over the workers, which ends, and is raised when the cluster is closed.
    """
    from distributed import LocalCluster

    class Watchful(LocalCluster):  # type: ignore[misc]
        def _update_worker_status(self, op: str, worker: Any) -> None:
            with suppress(KeyError):
                super()._update_worker_status(op, worker)

    return Watchful


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Postpone Ctrl-C until the block ends: interrupted in the middle, Dask prints errors of its own.

    Processes that are started by threads of the block, now or later, never hear it: a terminal tells all processes of
    a command.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    pressed = False

    def note_it(number: int, frame: FrameType | None) -> None:
        nonlocal pressed
        pressed = True

    resource_tracker.ensure_running()  # whoever starts it lets its thread hear signals again
    before = signal.signal(signal.SIGINT, note_it)
    blocked = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, blocked)
        signal.signal(signal.SIGINT, before)
        if pressed:
            signal.raise_signal(signal.SIGINT)
