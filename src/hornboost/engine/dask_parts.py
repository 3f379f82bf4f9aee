"""Partitions on the workers of a Dask cluster: they are futures that Dask computes again if their worker dies.

A question goes to each worker once for all of its partitions. The worker works through them as this process would, and
adds up what they say; what many workers say is added up by some of them. A question is a call to the workers that hold
partitions; where one of these does not answer, it is a task, which Dask runs wherever they are, or opens them for it.
"""

from __future__ import annotations

import itertools
import logging
import math
import operator
import pickle
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from weakref import WeakKeyDictionary

from hornboost.engine.dask_call import FAN, Add, Answers, Argument, Call, Caller, can_call
from hornboost.engine.parts import Handle, LocalParts, Opener, PerPart
from hornboost.errors import DataError, counted
from hornboost.stopping import check

if TYPE_CHECKING:
    from distributed import Client, Future

SPENT = 64, 1 << 25
"""Futures that were read, and bytes of them, after which they are let go: a word about each delays the next task."""

TINY = 1 << 14
"""Bytes that a question carries each time: to leave them out where workers had them in the last one saves nothing."""

LOOK = 5.0
"""Seconds after which it is looked whether there are workers at all, whether some have nothing to do, and where the
partitions are. The next question is asked by tasks: a cluster that has had none for long may be closed as idle.
"""

PATIENCE = 60.0
"""Seconds without any worker after which work is given up."""

CLOSED = "closing", "closed"
"""States of a client that comes back no more."""

SOON = 0.2
"""Seconds between two looks at Ctrl-C and the time limit while results are waited for."""

_log = logging.getLogger("hornboost")
_locks: WeakKeyDictionary[LocalParts, threading.Lock] = WeakKeyDictionary()
_guard = threading.Lock()


@dataclass(eq=False, slots=True)
class _Kept:
    """A value that several questions need, and what tasks are given for it, a value or a future a task."""

    value: Any
    small: int
    sent: Argument | None = None


@dataclass(eq=False, slots=True)
class _Question:
    """What every group is asked, with its own arguments: by a call, or by tasks where there is none.

    There are a few answers, each of them the sum of those of some neighbours.
    """

    work: Callable[..., Any]
    add: Add
    name: str
    groups: Sequence[Future]
    arguments: Sequence[Argument]
    call: Call | None = None
    tasks: list[Future] | None = None
    answers: Answers | None = None


@dataclass(frozen=True, eq=False, slots=True)
class _Item:
    """The answer of one partition, which comes with those of all."""

    question: _Question
    number: int

    def value(self, answer: Any) -> Any:
        return answer[self.number]


@dataclass(frozen=True, eq=False, slots=True)
class _Sum:
    """The sum of the answers of all partitions."""

    question: _Question

    def value(self, answer: Any) -> Any:
        return answer


class DaskParts:
    """Partitions that the workers of a Dask client open and work on, a group of neighbours for each of their threads.

    It is sent as its partitions in one process: who reads a model has another cluster, or none.
    """

    def __init__(self, client: Client, openers: Sequence[Opener]) -> None:
        self.client = checked_client(client)
        self.openers = tuple(openers)
        self._cuts: list[int] = []
        self._groups: list[Future] | None = None
        self._coming: dict[int, tuple[str, Future]] = {}
        self._caller: Caller | None = None
        self._calls_again = 0.0
        """When to call again: not soon after a call that was waited for in vain with all workers there.

        They may not reach each other.
        """
        self._marks = itertools.count()
        self._looked = self._evened = time.monotonic()
        self._spent: list[Future] = []
        self._spent_bytes = 0

    def __reduce__(self) -> tuple[type[LocalParts], tuple[tuple[Opener, ...]]]:
        return LocalParts, (self.openers,)

    @property
    def n(self) -> int:
        return len(self.openers)

    @property
    def together(self) -> int:
        return math.ceil(self.n / len(self._wait_for_workers()))

    def each(self, work: Callable[..., Any], *arguments: Any) -> list[Handle]:
        question = self._asked(_each, operator.add, work.__name__, work, *arguments)
        return [_Item(question, number) for number in range(self.n)]

    def total(self, add: Add, work: Callable[..., Any], *arguments: Any) -> Handle:
        return _Sum(self._asked(_total, add, work.__name__, add, work, *arguments))

    def value(self, handle: Handle) -> Any:
        return self.values([handle])[0]

    def values(self, handles: Sequence[Handle]) -> list[Any]:
        questions = dict.fromkeys(handle.question for handle in handles)
        found = {question: reduce(question.add, self._answers(question)) for question in questions}
        return [handle.value(found[handle.question]) for handle in handles]

    def _answers(self, question: _Question) -> Answers:
        waited = 0.0
        if question.answers is None and question.call is not None:
            started = time.monotonic()
            question.answers = self._heard(question.call, question.groups)
            waited = time.monotonic() - started
        if question.answers is None:
            if question.tasks is None:
                self._caller = None
                question.tasks = self._ask_by_tasks(question)
            found = self._gathered(question.tasks)
            question.answers = [found[future] for future in question.tasks]
            if question.call is not None and waited > SOON and self._are_at(question.groups, question.call.caller.at):
                self._calls_again = time.monotonic() + PATIENCE
            self._caller = self._caller or self._found_caller(self._opened())
        return question.answers

    def _heard(self, call: Call, groups: Sequence[Future]) -> Answers | None:
        """What a call brings; None where a worker does not answer, or is found to be dead while it is waited for."""
        try:
            while not call.is_over(SOON):
                if self._look_around() and not self._are_at(groups, call.caller.at):
                    return None
            with _told():
                return call.answers()
        finally:
            call.give_up()

    def _gathered(self, futures: list[Future]) -> dict[Future, Any]:
        while futures:
            with _told():
                found = self.client.sync(_soon, self.client, futures)
            if found is not None:
                self._let_go(futures, found)
                return dict(zip(futures, found, strict=True))
            self._look_around()
        return {}

    def _let_go(self, futures: list[Future], found: list[Any]) -> None:
        """Give up futures that were read, some time or other."""
        from dask.sizeof import sizeof

        self._spent += futures
        self._spent_bytes += sum(sizeof(one) for one in found)
        if len(self._spent) > SPENT[0] or self._spent_bytes > SPENT[1]:
            self._spent, self._spent_bytes = [], 0

    def keep(self, value: Any, small: int = 0) -> Handle:
        return _Kept(value, small)

    def _sent(self, kept: _Kept) -> Argument:
        """What each group is given for a value: with each question while it is small, once for all where it is not.

        Then it lies beside the partitions: were it anywhere else, Dask might take a question, and partitions, there.
        """
        if kept.sent is None:
            groups = self._opened()
            values = self._divided(kept.value)
            size = sum(map(_size, values)) if kept.small else 0
            if 0 < size <= kept.small:
                kept.sent = Argument(values, mark=next(self._marks) if size > TINY else None)
            else:
                kept.sent = Argument(self._tasks(_beside, "keep", groups, values), is_task=True)
            kept.value = None
        return kept.sent

    def _divided(self, value: Any) -> Sequence[Any]:
        """An argument as each task is given it."""
        if not isinstance(value, PerPart):
            return [value] * (len(self._cuts) - 1)
        return [PerPart(value.of_part[lo:hi]) for lo, hi in itertools.pairwise(self._cuts)]

    def is_even(self) -> bool:
        """Whether the threads that there are now, some of which may be new, have as many groups each as they can."""
        if self._groups is None or self.client.status != "running":
            return True
        threads, held = self._workers(), Counter(self._holders(self._groups))
        most = len(self._groups) / max(sum(threads.values()), 1)
        return len(self._groups) >= min(self.n, sum(threads.values())) and all(
            held[name] <= math.ceil(most * n) for name, n in threads.items()
        )

    def _holders(self, groups: Sequence[Future]) -> list[str | None]:
        """The worker of each group, None while it is opened."""
        return [next(iter(workers), None) for workers in self._who_has(groups)]

    def _who_has(self, groups: Sequence[Future]) -> list[Collection[str]]:
        with _told():
            found = self.client.who_has(list(groups))
        return [found[future.key] for future in groups]

    def _found_caller(self, groups: Sequence[Future]) -> Caller | None:
        """Who calls the worker of each group; None while one of them is opened, or calls are of no use."""
        if time.monotonic() < self._calls_again:
            return None
        at = [worker for worker in self._holders(groups) if worker is not None]
        return Caller(self.client, at) if len(at) == len(groups) else None

    def _are_at(self, groups: Sequence[Future], at: Sequence[str]) -> bool:
        return all(worker in workers for worker, workers in zip(at, self._who_has(groups), strict=True))

    def _even_out(self) -> None:
        """Open groups that a worker has beyond its threads where threads have none: at one that came for a dead one.

        They are asked where they are until they are open there.
        """
        assert self._groups is not None
        threads = self._workers()
        for k, (at, future) in list(self._coming.items()):
            if future.done() or at not in threads:
                del self._coming[k]
                self._groups[k] = future if self._may_move(future) else self._groups[k]
        if self._coming:
            return
        holders = self._holders(self._groups)
        held = Counter(holders)
        free = [name for name, n in threads.items() for _ in range(n - held[name])]
        for k, name in enumerate(holders):
            if free and name is not None and held[name] > threads.get(name, 0):
                held[name] -= 1
                self._open_at(k, free.pop())

    def _open_at(self, k: int, at: str) -> None:
        openers = self.openers[self._cuts[k] : self._cuts[k + 1]]
        there = {"workers": [at], "allow_other_workers": True}
        (future,) = self._tasks(_open, "open", [openers], retries=1, **there)
        self._coming[k] = at, future

    def _may_move(self, future: Future) -> bool:
        """Let what was opened at a worker be opened anywhere when that one dies; whether it is open even then.

        A task that names a worker, if only as the first choice, would wait for it for ever where all workers die at
        once: Dask asks those who come whether they are the one. What is not open now may wait already.
        """
        if future.status != "finished":
            return False
        with _told():
            self.client.sync(self.client.scheduler.set_restrictions, worker={future.key: []})
        return self._holders([future]) != [None]

    def open(self, told: Callable[[int], object]) -> None:
        """Open the partitions now, and tell how many are open each time that there are more."""
        from distributed import wait

        sizes = dict(zip(self._opened(), (hi - lo for lo, hi in itertools.pairwise(self._cuts)), strict=True))
        pending = set(sizes)
        while pending:
            told(self.n - sum(sizes[future] for future in pending))
            with _told(), suppress(TimeoutError), self.client.as_current():
                pending = wait(list(pending), timeout=SOON, return_when="FIRST_COMPLETED").not_done
            self._look_around()
        told(self.n)

    def _opened(self) -> list[Future]:
        if self._groups is None:
            threads = sum(self._wait_for_workers().values())
            n_groups = min(self.n, max(threads, 1))
            self._cuts = [k * self.n // n_groups for k in range(n_groups + 1)]
            openers = [self.openers[lo:hi] for lo, hi in itertools.pairwise(self._cuts)]
            self._groups = self._tasks(_open, "open", openers, retries=1)
            _log.info("opening %s on %s", counted(self.n, "partition"), counted(len(self._workers()), "worker"))
        elif time.monotonic() - self._evened > LOOK:
            self._even_out()
            self._caller = None
            self._evened = time.monotonic()
        return self._groups

    def _asked(self, work: Callable[..., Any], add: Add, name: str, *arguments: Any) -> _Question:
        groups = tuple(self._opened())
        own = [self._sent(one) if isinstance(one, _Kept) else Argument(self._divided(one)) for one in arguments]
        question = _Question(work, add, name, groups, own)
        if self._caller is not None and can_call(groups, own):
            question.call = self._caller.call(groups, work, add, own)
        else:
            question.tasks = self._ask_by_tasks(question)
        return question

    def _ask_by_tasks(self, question: _Question) -> list[Future]:
        own = [argument.of_group for argument in question.arguments]
        level = self._tasks(question.work, question.name, question.groups, *own)
        while len(level) > FAN:
            shares = [level[k : k + FAN] for k in range(0, len(level), FAN)]
            level = self._tasks(_added, f"add-{question.name}", [question.add] * len(shares), shares)
        return level

    def _tasks(self, work: Callable[..., Any], name: str, *arguments: Sequence[Any], **options: Any) -> list[Future]:
        """A task a group. Dask runs it where its partitions are open, or anywhere.

        Tasks that name a worker would wait for ever where all workers died at once. Keys say which tasks belong
        together: many alike that need little are taken for the first ones of a large graph, and run anywhere at all.
        """
        token = uuid4().hex
        keys = [(f"{name}-{token}", k) for k in range(len(arguments[0]))]
        with _told():
            return list(self.client.map(work, *arguments, key=keys, pure=False, **options))

    def _workers(self) -> dict[str, int]:
        """The workers, and how many threads each has."""
        if self.client.status in CLOSED:
            raise _lost("closed")
        with _told():
            known = self.client.scheduler_info(n_workers=-1)
        return {name: one["nthreads"] for name, one in known.get("workers", {}).items()}

    def _wait_for_workers(self) -> dict[str, int]:
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

    def _look_around(self) -> bool:
        """While results are waited for: whether to end, and whether there is a worker at all, if it is time."""
        check()
        if time.monotonic() - self._looked <= LOOK:
            return False
        self._wait_for_workers()
        self._looked = time.monotonic()
        return True


async def _soon(client: Client, futures: list[Future]) -> list[Any] | None:
    """The results, where they are there soon."""
    from distributed import wait

    try:
        with client.as_current():  # there may be others
            await wait(futures, timeout=SOON)
    except TimeoutError:
        return None
    found: list[Any] = await client.gather(futures)
    return found


def _size(value: Any) -> int:
    """Bytes that are sent; arrays are counted and not copied."""
    apart: list[int] = []
    rest = pickle.dumps(value, 5, buffer_callback=lambda buffer: apart.append(buffer.raw().nbytes))
    return len(rest) + sum(apart)


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


def check_open(client: Any) -> None:
    """Refuse a client that is closed, which what was learned with it may still hold."""
    if checked_client(client).status in CLOSED:
        raise DataError("the client is closed; pass one that is connected")


@contextmanager
def _told() -> Iterator[None]:
    """What goes wrong in the cluster itself, as a sentence."""
    from concurrent.futures import CancelledError

    import dask
    from distributed import KilledWorker
    from distributed.client import ClosedClientError
    from distributed.comm import CommClosedError

    try:
        with dask.config.set({"distributed.admin.large-graph-warning-threshold": "1TB"}):
            yield
    except KilledWorker as error:
        task = error.task[0] if isinstance(error.task, tuple) else error.task
        raise DataError(
            f"{error.allowed_failures + 1} workers died one after the other in the task '{task}'; most often "
            "they have too little memory: make more partitions, or give workers more"
        ) from None
    except (CancelledError, ClosedClientError, CommClosedError) as error:
        raise _lost(type(error).__name__) from None


def _lost(reason: str) -> DataError:
    return DataError(
        f"the connection to the Dask cluster is lost ({reason}); start it again, and fit with a checkpoint, so that "
        "the fit can be continued"
    )


def _open(openers: Sequence[Opener]) -> LocalParts:
    group = LocalParts(openers)
    group.open()
    return group


def _each(group: LocalParts, work: Callable[..., Any], *arguments: Any) -> list[Any]:
    with _alone(group):
        return group.each(work, *arguments)


def _added(add: Add, answers: Sequence[Any]) -> Any:
    return reduce(add, answers)


def _total(group: LocalParts, add: Add, work: Callable[..., Any], *arguments: Any) -> Any:
    with _alone(group):
        return group.total(add, work, *arguments)


def _alone(group: LocalParts) -> threading.Lock:
    """Work on partitions is one task at a time: what they keep between tasks is not meant for several threads."""
    with _guard:
        return _locks.setdefault(group, threading.Lock())


def _beside(group: LocalParts, value: Any) -> Any:
    return value


def _register_size() -> None:
    """Tell Dask how large partitions are, so that it does not move them about for a small task."""
    try:
        from dask.sizeof import sizeof
    except ImportError:
        return
    sizeof.register(LocalParts, lambda parts: parts.nbytes)


_register_size()
