"""Partitions at work: one call a partition, and the sums of what the calls give, wherever the partitions are."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import reduce
from typing import TYPE_CHECKING, Any, Protocol

from hornboost.memory import PYTHON
from hornboost.stopping import check

if TYPE_CHECKING:
    from hornboost.data.partitions.store import PartitionStore
    from hornboost.engine.part import Part

OPENING = 2
"""What a partition takes while it is opened, in times of what it takes afterwards."""

Handle = Any
"""A result that may still be on its way, and may lie elsewhere."""


@dataclass(frozen=True, slots=True)
class PerPart:
    """An argument of which every partition gets one of its own: values, or handles of them."""

    of_part: Sequence[Any]


class Parts(Protocol):
    """The partitions of a database, and who works on them.

    What is called are pure functions of a partition and their arguments, so any of them may be repeated at any time,
    and elsewhere. Handles are passed as arguments themselves, never inside another value.
    """

    @property
    def n(self) -> int:
        """How many partitions there are."""

    @property
    def together(self) -> int:
        """How many of them share the memory of a process."""

    def each(self, work: Callable[..., Any], *arguments: Any) -> list[Handle]:
        """Call `work(part, *arguments)` for every partition."""

    def total(self, add: Callable[[Any, Any], Any], work: Callable[..., Any], *arguments: Any) -> Handle:
        """The sum of what the calls for all partitions give: neighbours are added, in any order."""

    def value(self, handle: Handle) -> Any:
        """A result, waited for and fetched."""

    def values(self, handles: Sequence[Handle]) -> list[Any]:
        """Some results."""

    def keep(self, value: Any, small: int = 0) -> Handle:
        """A value that several calls use, sent once; of a `PerPart` each partition gets its own.

        Where all that is sent of it takes at most `small` bytes, it goes along with each call.
        """


class Opener(Protocol):
    """Opens a partition; small, and can be sent to another process."""

    def open(self) -> Part:
        """The partition, ready to work."""


@dataclass(frozen=True, slots=True)
class StoredOpener:
    """Opens one of the partitions in a folder."""

    store: PartitionStore
    part: int

    def open(self) -> Part:
        from hornboost.engine.part import Part

        return Part(self.store.open(self.part), self)


class LocalParts:
    """Partitions that are worked through one after the other in this process, opened when they are first needed.

    Within a limit of memory they are closed for others, so that they need not fit into it together. All are asked in
    turn, so the one that was used last is the one that will not be needed for longest.

    >>> parts = LocalParts([])
    >>> parts.values(parts.each(len)), parts.nbytes
    ([], 0)
    """

    def __init__(self, openers: Sequence[Opener], memory_limit: int | None = None) -> None:
        self.openers = tuple(openers)
        self._memory_limit = memory_limit
        self._largest = 0
        self._open: OrderedDict[int, Part] = OrderedDict()

    def within(self, memory_limit: int) -> None:
        """Use no more memory than this from now on, as far as the largest partition lets it."""
        self._memory_limit = memory_limit

    def open(self) -> None:
        """Open all partitions, as far as there is room for them."""
        for k in range(self.n):
            check()
            self._part(k)

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_open": OrderedDict()}

    @property
    def n(self) -> int:
        return len(self.openers)

    @property
    def together(self) -> int:
        return len(self.openers)

    @property
    def nbytes(self) -> int:
        """The bytes of those that are open."""
        return sum(part.nbytes for part in self._open.values())

    def each(self, work: Callable[..., Any], *arguments: Any) -> list[Handle]:
        return list(self._answers(work, arguments))

    def total(self, add: Callable[[Any, Any], Any], work: Callable[..., Any], *arguments: Any) -> Handle:
        return reduce(add, self._answers(work, arguments))

    def value(self, handle: Handle) -> Any:
        return handle

    def values(self, handles: Sequence[Handle]) -> list[Any]:
        return list(handles)

    def keep(self, value: Any, small: int = 0) -> Handle:
        return value

    def _answers(self, work: Callable[..., Any], arguments: Sequence[Any]) -> Iterator[Any]:
        for k in range(self.n):
            check()
            own = [one.of_part[k] if isinstance(one, PerPart) else one for one in arguments]
            yield work(self._part(k), *own)

    def _part(self, k: int) -> Part:
        if k not in self._open:
            is_tight = self._make_room()
            self._open[k] = self.openers[k].open()
            if is_tight:
                _free()
        self._open.move_to_end(k)
        return self._open[k]

    def _make_room(self) -> bool:
        """Close partitions until another one can be opened, which takes as much again while it is read; whether any."""
        if self._memory_limit is None:
            return False
        self._largest = max([self._largest, *(part.nbytes for part in self._open.values())])
        room = self._memory_limit - PYTHON - OPENING * self._largest
        is_full = False
        while self._open and self.nbytes > room:
            self._open.popitem(last=True)
            is_full = True
        if is_full:
            _free()
        return is_full


def _free() -> None:
    """Give back what closed partitions held: an engine and what it keeps refer to each other, which is found late.

    Arrow and the C library keep what was freed for later, more than an open partition takes.
    """
    import pyarrow as pa

    gc.collect()
    pa.default_memory_pool().release_unused()
    if sys.platform == "linux":
        with suppress(AttributeError):  # another library than that of GNU
            ctypes.CDLL(None).malloc_trim(0)
