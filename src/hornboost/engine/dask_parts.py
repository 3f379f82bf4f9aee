"""Partitions on the workers of a Dask cluster: every result is a future that Dask computes again if its worker dies."""

from __future__ import annotations

import logging
import math
import pickle
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from hornboost.engine.part import Part, open_part
from hornboost.engine.parts import Handle, LocalParts, Opener, PerPart
from hornboost.errors import DataError
from hornboost.stopping import check

if TYPE_CHECKING:
    from distributed import Client

FAN = 8
"""Results that are added at a time on the way to their sum; so many, or fewer, are added in this process."""

SMALL = 1 << 16
"""Bytes of a value that goes along with every task that needs it."""

LOOK = 5.0
"""Seconds after which it is looked whether there are workers at all."""

PATIENCE = 60.0
"""Seconds without any worker after which work is given up."""

SOON = 0.2
"""Seconds between two looks at Ctrl-C and the time limit while results are waited for."""

_log = logging.getLogger("hornboost")
_locks: WeakKeyDictionary[Part, threading.Lock] = WeakKeyDictionary()
_guard = threading.Lock()


@dataclass(eq=False, slots=True)
class _Sum:
    """The last few parts of a sum, which are added here: that saves the way from worker to worker.

    `total` is its value once it is known, and `sent` what tasks are given for it, each in a tuple.
    """

    add: Callable[[Any, Any], Any]
    parts: list[Handle]
    total: tuple[Any] | None = None
    sent: tuple[Any] | None = None


class DaskParts:
    """Partitions that the workers of a Dask client open and work on.

    It is sent as its partitions in one process: who reads a model has another cluster, or none.
    """

    def __init__(self, client: Client, openers: Sequence[Opener]) -> None:
        self.client = checked_client(client)
        self.openers = tuple(openers)
        self._parts: list[Handle] | None = None
        self._looked = time.monotonic()

    def __reduce__(self) -> tuple[type[LocalParts], tuple[tuple[Opener, ...]]]:
        return LocalParts, (self.openers,)

    @property
    def n(self) -> int:
        return len(self.openers)

    @property
    def together(self) -> int:
        return math.ceil(self.n / max(len(self._workers()), 1))

    def each(self, work: Callable[..., Any], *arguments: Any) -> list[Handle]:
        sent = [self._sent(one) if isinstance(one, _Sum) else one for one in arguments]
        return self._on_parts(_work, work.__name__, work, PerPart(self._opened()), *sent)

    def reduce(self, add: Callable[[Any, Any], Any], handles: Sequence[Handle]) -> Handle:
        level = list(handles)
        while len(level) > FAN:
            groups = [level[k : k + FAN] for k in range(0, len(level), FAN)]
            with _told():
                level = [
                    self.client.submit(_added, add, *group, pure=False) if len(group) > 1 else group[0]
                    for group in groups
                ]
        return level[0] if len(level) == 1 else _Sum(add, level)

    def value(self, handle: Handle) -> Any:
        return self.values([handle])[0]

    def values(self, handles: Sequence[Handle]) -> list[Any]:
        sums = [handle if isinstance(handle, _Sum) else _Sum(_added, [handle]) for handle in handles]
        unknown = [one for one in sums if one.total is None]
        found = iter(self._gathered([part for one in unknown for part in one.parts]))
        for one in unknown:
            one.total = (_added(one.add, *(next(found) for _ in one.parts)),)
            one.parts = []
        return [one.total[0] for one in sums if one.total is not None]

    def _gathered(self, futures: list[Handle]) -> list[Any]:
        from distributed import wait

        while futures:
            with _told(), suppress(TimeoutError):
                wait(futures, timeout=SOON)
                return list(self.client.gather(futures))
            self._look_around()
        return []

    def _sent(self, one: _Sum) -> Any:
        """A sum as an argument: with each task while it is small, once for all where it is not."""
        if one.sent is None:
            value = self.value(one)
            is_small = len(pickle.dumps(value, pickle.HIGHEST_PROTOCOL)) <= SMALL
            one.sent = (value if is_small else self.keep(value),)
        return one.sent[0]

    def keep(self, value: Any) -> Handle:
        if isinstance(value, PerPart):  # beside its partition, from where it need not be sent again
            return PerPart(self._on_parts(_beside, "keep", PerPart(self._opened()), value))
        with _told():
            return self.client.submit(_same, value, pure=False)

    def open(self, told: Callable[[int], object]) -> None:
        """Open the partitions now, and tell how many are open each time that there are more."""
        from distributed import wait

        pending = self._opened()
        while pending:
            told(self.n - len(pending))
            with _told(), suppress(TimeoutError):
                pending = list(wait(pending, timeout=SOON, return_when="FIRST_COMPLETED").not_done)
            self._look_around()
        told(self.n)

    def _opened(self) -> list[Handle]:
        if self._parts is None:
            self._parts = self._on_parts(open_part, "open", PerPart(self.openers), retries=1)
            _log.info("opening %d partitions on %d workers", self.n, len(self._workers()))
        return self._parts

    def _on_parts(self, work: Callable[..., Any], name: str, *arguments: Any, **options: Any) -> list[Handle]:
        """A task a partition. Dask runs it where its partition is open, or anywhere.

        Tasks that name a worker would wait for ever where all workers died at once.
        """
        own = [one.of_part if isinstance(one, PerPart) else [one] * self.n for one in arguments]
        with _told():
            return list(self.client.map(work, *own, key=name, pure=False, **options))

    def _workers(self) -> list[str]:
        return sorted(self.client.scheduler_info(n_workers=-1)["workers"])

    def _wait_for_workers(self) -> list[str]:
        started = time.monotonic()
        while True:
            workers = self._workers()
            if workers:
                return workers
            if time.monotonic() - started > PATIENCE:
                raise DataError(
                    f"the Dask cluster has had no worker for {PATIENCE:g} seconds; start workers, or leave the "
                    "cluster out"
                )
            check()
            time.sleep(SOON)

    def _look_around(self) -> None:
        """While results are waited for: whether the work has to end, and whether there is a worker at all."""
        check()
        if time.monotonic() - self._looked > LOOK:
            self._wait_for_workers()
            self._looked = time.monotonic()


def checked_client(client: Any) -> Client:
    """A client of Dask, or the sentence that says what is missing."""
    try:
        from distributed import Client
    except ImportError:
        raise DataError(
            "work on a Dask cluster needs the package distributed; install it with: pip install 'hornboost[dask]'"
        ) from None
    if not isinstance(client, Client):
        raise DataError(f"the parameter 'client' is of type '{type(client).__name__}'; pass a dask.distributed.Client")
    if client.asynchronous:
        raise DataError("the client is asynchronous; pass one that was made with asynchronous=False")
    return client


@contextmanager
def _told() -> Iterator[None]:
    """What goes wrong in the cluster itself, as a sentence."""
    from concurrent.futures import CancelledError

    import dask
    from distributed import KilledWorker
    from distributed.comm import CommClosedError

    try:
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            yield
    except KilledWorker as error:
        raise DataError(
            f"{error.allowed_failures + 1} workers died one after the other in the task '{error.task}'; most often "
            "they have too little memory: make more partitions, or give workers more"
        ) from None
    except (CancelledError, CommClosedError) as error:
        raise DataError(
            f"the connection to the Dask cluster is lost ({type(error).__name__}); start it again and go on from a "
            "checkpoint"
        ) from None


def _work(work: Callable[..., Any], part: Part, *arguments: Any) -> Any:
    """Work on a partition, one task at a time: what it keeps between tasks is not meant for several threads."""
    with _guard:
        lock = _locks.setdefault(part, threading.Lock())
    with lock:
        return work(part, *arguments)


def _beside(part: Part, value: Any) -> Any:
    return value


def _same(value: Any) -> Any:
    return value


def _added(add: Callable[[Any, Any], Any], first: Any, *others: Any) -> Any:
    for other in others:
        first = add(first, other)
    return first


def _register_size() -> None:
    """Tell Dask how large partitions are, so that it does not move them about for a small task."""
    try:
        from dask.sizeof import sizeof
    except ImportError:
        return
    sizeof.register(Part, lambda part: part.nbytes)


_register_size()
