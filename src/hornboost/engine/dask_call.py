"""Calls to the workers that hold partitions, past Dask's tasks, which take several times as long.

Nothing depends on a call. Partitions are results of tasks, which Dask computes again if their worker dies, and whoever
gets no answer to a call asks the same by tasks.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Sequence
from concurrent import futures
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from distributed import Client, Future

    from hornboost.engine.parts import LocalParts

Answers = list[Any]

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


class Caller:
    """Calls the worker of each group of partitions."""

    def __init__(self, client: Client, at: Sequence[str]) -> None:
        self.client = client
        self.at = at
        self.known: frozenset[int] = frozenset()

    def call(self, groups: Sequence[Future], work: Callable[..., Any], arguments: Sequence[Argument]) -> Call:
        """Begin to call. What all workers had in the last call is not sent again."""
        own = [[self.sent(one, k) for one in arguments] for k in range(len(groups))]
        coming = asyncio.run_coroutine_threadsafe(
            _called(self.client, self.at, [group.key for group in groups], work, own), self.client.loop.asyncio_loop
        )
        return Call(self, coming, frozenset(one.mark for one in arguments if one.mark is not None))

    def sent(self, argument: Argument, k: int) -> Any:
        """What a call sends to one of the groups for an argument."""
        value = argument.of_group[k]
        if argument.mark is not None:
            return _Marked(argument.mark, None if argument.mark in self.known else (value,))
        return _Beside(value.key) if argument.is_task else value


class Call(NamedTuple):
    """A call that is under way."""

    caller: Caller
    coming: futures.Future[Answers | None]
    marks: frozenset[int]

    def is_over(self, seconds: float) -> bool:
        """Whether it ends within some seconds."""
        return bool(futures.wait([self.coming], timeout=seconds).done)

    def answers(self) -> Answers | None:
        """The answer of each group; None where one of them gave none."""
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


async def _called(
    client: Client, at: Sequence[str], keys: Sequence[Any], work: Callable[..., Any], own: Sequence[Sequence[Any]]
) -> Answers | None:
    asked = [
        client.run(answered_here, key, work, arguments, workers=[worker], on_error="ignore")
        for worker, key, arguments in zip(at, keys, own, strict=True)
    ]
    try:
        found = [told.get(worker) for worker, told in zip(at, await asyncio.gather(*asked), strict=True)]
    except Exception:  # noqa: BLE001  (tasks have the same trouble, and tell)
        return None
    return None if any(one is None for one in found) else [answer for (answer,) in found]


async def answered_here(key: Any, work: Callable[..., Any], arguments: Sequence[Any], dask_worker: Any) -> Any:
    """What a group at this worker answers, in a tuple; None where something is not here, or goes wrong."""
    try:
        group = dask_worker.data[key]
        values = _recalled(dask_worker, group, arguments)
        pool = dask_worker.executors["default"]  # that of tasks: as many at a time as the worker has threads
        return (await asyncio.get_running_loop().run_in_executor(pool, work, group, *values),)
    except Exception:  # noqa: BLE001  (a task tells what it is)
        return None


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
