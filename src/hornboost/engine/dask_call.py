"""Calls to the workers that hold partitions, past Dask's tasks, which take several times as long.

Where there are many, some of them are called, and each calls others and adds up what they answer: calls form a tree.

Nothing depends on a call. Partitions are results of tasks, which Dask computes again if their worker dies, and whoever
gets no answer to a call asks the same by tasks.
"""

from __future__ import annotations

import asyncio
import itertools
import logging
from collections.abc import Callable, Sequence
from concurrent import futures
from functools import reduce
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from distributed import Client, Future

    from hornboost.engine.parts import LocalParts

Answers = list[Any]

Add = Callable[[Any, Any], Any]

FAN = 8
"""How many this process calls at most, and each of those that call others."""

_last: WeakKeyDictionary[LocalParts, dict[int, Any]] = WeakKeyDictionary()
"""At a worker: the marked arguments of the last call to a group that had any."""


class Argument(NamedTuple):
    """What each group is given for an argument, a value or the result of a task at its worker.

    `mark` names a value of some size that the next calls may have again.
    """

    of_group: Sequence[Any]
    is_task: bool = False
    mark: int | None = None


class _Beside(NamedTuple):
    """An argument that lies at the worker, as the result of a task."""

    key: Any


class _Marked(NamedTuple):
    """An argument that the worker had in its last call, or, in a tuple, has from this one on."""

    mark: int
    value: tuple[Any] | None


class Called(NamedTuple):
    """What a group is asked at its worker, and those after it, which that worker asks."""

    at: str
    key: Any
    arguments: Sequence[Any]
    others: tuple[Called, ...] = ()


class Caller:
    """Calls the worker of each group of partitions."""

    def __init__(self, client: Client, at: Sequence[str]) -> None:
        self.client = client
        self.at = at
        self.known: frozenset[int] = frozenset()

    def call(self, groups: Sequence[Future], work: Callable[..., Any], add: Add, arguments: Sequence[Argument]) -> Call:
        """Begin to call."""
        coming = asyncio.run_coroutine_threadsafe(
            _called(self.client, self.asked(groups, arguments), work, add), self.client.loop.asyncio_loop
        )
        return Call(self, coming, frozenset(one.mark for one in arguments if one.mark is not None))

    def asked(self, groups: Sequence[Future], arguments: Sequence[Argument]) -> tuple[Called, ...]:
        """Whom this process calls, and what it sends. What all workers had in the last call is not sent again."""
        asked = [
            Called(at, group.key, [self.sent(one, k) for one in arguments])
            for k, (at, group) in enumerate(zip(self.at, groups, strict=True))
        ]
        return shared_out(asked)

    def sent(self, argument: Argument, k: int) -> Any:
        """What a call sends to one of the groups for an argument."""
        value = argument.of_group[k]
        if argument.mark is not None:
            return _Marked(argument.mark, None if argument.mark in self.known else (value,))
        return _Beside(value.key) if argument.is_task else value


def shared_out(groups: Sequence[Called]) -> tuple[Called, ...]:
    """Neighbours in few shares, of which the first group is called, and calls the others in the same way."""
    n = min(len(groups), FAN)
    cuts = [k * len(groups) // n for k in range(n + 1)] if n else []
    return tuple(groups[lo]._replace(others=shared_out(groups[lo + 1 : hi])) for lo, hi in itertools.pairwise(cuts))


class Call(NamedTuple):
    """A call that is under way."""

    caller: Caller
    coming: futures.Future[Answers | None]
    marks: frozenset[int]

    def is_over(self, seconds: float) -> bool:
        """Whether it ends within some seconds."""
        return bool(futures.wait([self.coming], timeout=seconds).done)

    def answers(self) -> Answers | None:
        """What those who were called answer; None where one of them gives no answer."""
        found = self.coming.result()
        if found is not None and self.marks:
            self.caller.known = self.marks
        return found

    def give_up(self) -> None:
        """Wait no longer."""
        self.coming.cancel()


def can_call(groups: Sequence[Future], arguments: Sequence[Argument]) -> bool:
    """Whether the groups are open, and what goes with them is there: only tasks wait for others."""
    needed = [*groups, *(future for argument in arguments if argument.is_task for future in argument.of_group)]
    return all(future.status == "finished" for future in needed)


async def _called(client: Client, asked: Sequence[Called], work: Callable[..., Any], add: Add) -> Answers | None:
    calls = [client.run(answered_here, one, work, add, workers=[one.at], on_error="ignore") for one in asked]
    try:
        found = [told.get(one.at) for one, told in zip(asked, await asyncio.gather(*calls), strict=True)]
    except Exception:  # noqa: BLE001  (tasks have the same trouble, and tell)
        return None
    return None if any(one is None for one in found) else [answer for (answer,) in found]


async def answered_here(asked: Called, work: Callable[..., Any], add: Add, dask_worker: Any) -> tuple[Any] | None:
    """The sum of what groups answer, in a tuple; None where something is not where it should be, or goes wrong."""
    try:
        others = [_answered_there(one, work, add, dask_worker) for one in asked.others]
        *found, own = await asyncio.gather(*others, _own_answer(asked, work, dask_worker))  # others are called first
        return (await _run(dask_worker, reduce, add, [own, *found]) if found else own,)
    except Exception:  # noqa: BLE001  (a task tells what it is)
        return None


async def _own_answer(asked: Called, work: Callable[..., Any], worker: Any) -> Any:
    group = worker.data[asked.key]
    return await _run(worker, work, group, *_recalled(worker, group, asked.arguments))


async def _run(worker: Any, function: Callable[..., Any], *arguments: Any) -> Any:
    pool = worker.executors["default"]  # that of tasks: as many at a time as the worker has threads
    return await asyncio.get_running_loop().run_in_executor(pool, function, *arguments)


async def _answered_there(asked: Called, work: Callable[..., Any], add: Add, worker: Any) -> Any:
    """What another worker answers, called as a client would call it."""
    from distributed.protocol.pickle import dumps

    told = await worker.rpc(asked.at).run(function=dumps(answered_here), args=dumps((asked, work, add)))
    (answer,) = told["result"]
    return answer


def _recalled(worker: Any, group: LocalParts, arguments: Sequence[Any]) -> list[Any]:
    found, marked, last = [], {}, _last.get(group, {})
    for one in arguments:
        if isinstance(one, _Marked):
            marked[one.mark] = last[one.mark] if one.value is None else one.value[0]
            found.append(marked[one.mark])
        else:
            found.append(worker.data[one.key] if isinstance(one, _Beside) else one)
    if marked:
        _last[group] = marked
    return found


def _is_of_others(record: logging.LogRecord) -> bool:
    """Workers log every function that they are called with; ours would be many lines a second."""
    return record.args != (answered_here.__name__,)


logging.getLogger("distributed.worker").addFilter(_is_of_others)
