"""What a database takes of the memory before anything is learned, and what is left for that."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hornboost.errors import LimitError, counted
from hornboost.memory import PYTHON, bytes_of, bytes_text

if TYPE_CHECKING:
    from hornboost.data import Database
    from hornboost.data.partitions import PartitionStore

ENTRY_BYTES = 32
"""What an entry takes while a join is followed: three numbers, and as many again where they are sorted out."""

MOST_ENTRIES = (1 << 31) - 1
"""Entries of a literal at most, whatever the memory: their numbers are of 32 bits."""


USUAL_CACHE = 1 << 30
"""Bytes that are kept between rounds where nothing is said, or a quarter of what the tables leave if that is more."""


def cache_within(room: int, cache_bytes: int | None) -> int:
    """How many bytes may be kept between rounds: no more than half of what the tables leave.

    >>> [cache_within(gigabytes << 30, None) >> 20 for gigabytes in (1, 3, 16)]
    [512, 1024, 4096]
    """
    wanted = max(USUAL_CACHE, room // 4) if cache_bytes is None else cache_bytes
    return min(wanted, room // 2)


EVERY = 1 << 62


class Ways(NamedTuple):
    """Rows that joins may reach, from all examples together: behind the last join, held on the way to others, and
    behind all joins from the examples.
    """

    reached: int = EVERY
    held: int = EVERY
    together: int = EVERY

    @property
    def is_strict(self) -> bool:
        """Whether fewer rows are followed than are looked at."""
        return self.held < self.reached

    def within(self, most: int) -> Ways:
        """These where there is room for so many."""
        return Ways(min(self.reached, most), min(self.held, most), self.together)

    def of_share(self, share: float) -> Ways:
        """These for a share of the examples, from which joins reach as much less."""
        return Ways(*(rows if rows == EVERY else math.ceil(share * rows) for rows in self))

    def narrowed(self, counts: NDArray[np.int64]) -> Ways:
        """These where joins from the examples reach so many rows each: less if all together reach too many.

        The widest are left out then, equal ones alike; never all.

        >>> Ways(reached=9, held=5, together=18).narrowed(np.array([2, 20, 3, 6, 6, 8]))
        Ways(reached=6, held=5, together=18)
        >>> Ways(reached=9, held=5, together=12).narrowed(np.array([2, 20, 3, 6, 6, 8]))
        Ways(reached=3, held=3, together=12)
        """
        widths, n = np.unique(counts[counts <= self.reached], return_counts=True)
        n_kept = int(np.searchsorted(np.cumsum(widths * n), self.together, side="right"))
        if n_kept == widths.size:
            return self
        most = int(widths[max(n_kept, 1) - 1])
        return Ways(most, min(self.held, most), self.together)


EVERY_WAY = Ways()

MANY, OF_ROWS = 1_000_000, 20
"""Rows that may be held on the way to others: so many, or so many times as many as the database has."""

WIDER = 10
"""How many times as many the last join may reach: it is looked at, and not followed further."""

TOGETHER = 2
"""How many times as many as that all joins from the examples may reach together: a rule looks at each of them."""


def affordable(database: Database) -> Ways:
    """How many rows joins may reach so that they can be followed for one rule after the other.

    Keys that nearly all rows share, such as a comma among words, lead to far more.
    """
    held = max(MANY, OF_ROWS * database.n_rows)
    return Ways(WIDER * held, held, TOGETHER * WIDER * held)


class Needs(NamedTuple):
    """Bytes: of the tables themselves, and of their rows by key and their values as codes, which every fit asks for."""

    tables: int
    indexes: int
    codes: int

    @classmethod
    def of(cls, database: Database) -> Needs:
        """Those of a database, counted, not measured."""
        tables = indexes = codes = 0
        for table in database.tables.values():
            columns = [*table.columns.values(), *([] if table.times is None else [table.times])]
            tables += sum(column.nbytes for column in columns)
            row = 4 if table.times is None else 12
            indexes += sum(row * table.n_rows + 8 * database.domains[key.domain or ""].size for key in table.keys)
            codes += 4 * table.n_rows * len(table.attributes)
        return cls(tables, indexes, codes)

    @classmethod
    def of_largest(cls, store: PartitionStore) -> Needs:
        """Those of the largest partition in a folder, as its manifest counts them."""
        return max(cls.of_each(store), key=sum)

    @classmethod
    def of_each(cls, store: PartitionStore) -> list[Needs]:
        """Those of the partitions in a folder, as its manifest counts them."""
        return [cls._of_stored(store, part) for part in range(store.n)]

    @classmethod
    def _of_stored(cls, store: PartitionStore, part: int) -> Needs:
        tables = indexes = codes = 0
        for table in store.manifest.tables:
            rows, is_dated = table.parts[part], table.times is not None
            keys = [column for column in table.columns if column.kind == "key"]
            attributes = [column for column in table.columns if column.kind != "key"]
            numbers = sum(column.kind == "numeric" for column in attributes) + is_dated
            tables += rows * (8 * numbers + 4 * (len(table.columns) + is_dated - numbers))
            indexes += sum((12 if is_dated else 4) * rows + 8 * min(rows, key.distinct) for key in keys)
            codes += 4 * rows * len(attributes)
        return cls(tables, indexes, codes)

    def check_largest(self, store: PartitionStore, memory_limit: int | str) -> None:
        """Refuse a limit within which the largest partition of a folder cannot be open beside the examples."""
        limit, own = bytes_of(memory_limit), sum(Needs.of_largest(store))
        if PYTHON + sum(self) + own > limit:
            parts = "the only partition" if store.n == 1 else f"the largest of {store.n:,} partitions"
            raise LimitError(
                f"Python itself takes {bytes_text(PYTHON)} of memory, the examples {bytes_text(sum(self))} and {parts} "
                f"{bytes_text(own)}, which is more than memory_limit={bytes_text(limit)}; raise it, or make more "
                "partitions with 'hornboost partition'"
            )

    def room_within(self, memory_limit: int | str | None, is_part: bool = False) -> int:
        """What a limit leaves to learn with; refused where that is nothing.

        A limit that was given is one of the process. How much memory that has at the moment does not count, since what
        is learned must not depend on it. Where none is given, the share of the memory that is left alone is Python's.
        """
        limit, python = bytes_of(memory_limit), 0 if memory_limit is None else PYTHON
        room = limit - python - sum(self)
        if room <= 0:
            own = f"Python itself takes {bytes_text(python)} of memory, " if python else ""
            way_out = "make more partitions" if is_part else "divide the database"
            raise LimitError(
                f"{own}the tables take {bytes_text(self.tables)} of memory, their rows by key "
                f"{bytes_text(self.indexes)} and their values as codes {bytes_text(self.codes)}, which is more than "
                f"memory_limit={bytes_text(limit)}; raise it, or {way_out} with 'hornboost partition'"
            )
        return room


def room_of_worker(store: PartitionStore, held: int, memory_limit: int | str) -> int:
    """What a limit leaves a worker that holds so many partitions, the largest ones; refused where that is nothing."""
    limit, own = bytes_of(memory_limit), sum(sorted(map(sum, Needs.of_each(store)))[-held:])
    room = limit - PYTHON - own
    if room <= 0:
        raise LimitError(
            f"Python itself takes {bytes_text(PYTHON)} of memory, and the {counted(held, 'partition')} that a worker "
            f"holds {bytes_text(own)}, which is more than memory_limit={bytes_text(limit)} of each process; raise it, "
            "or take more workers"
        )
    return room
