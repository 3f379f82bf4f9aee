"""Work that the threads of an engine share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import Any, TypeVar

from hornboost.stopping import check

Result = TypeVar("Result")


def shared(pool: Executor | None, work: Callable[..., Result], *arguments: Sequence[Any]) -> list[Result]:
    """The results of some calls, each made by this thread or one of the pool, whichever comes first.

    Between two of them work may end.
    """
    calls = list(zip(*arguments, strict=True))
    if pool is None:
        return [_checked(work, call) for call in calls]
    futures = [pool.submit(work, *call) for call in calls[1:]]
    try:
        results = [work(*calls[0])]
        for future, call in zip(futures, calls[1:], strict=True):
            results.append(_checked(work, call) if future.cancel() else future.result())
    finally:
        for future in futures:
            future.cancel()
    return results


def _checked(work: Callable[..., Result], call: tuple[Any, ...]) -> Result:
    check()
    return work(*call)
