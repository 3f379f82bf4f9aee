"""Examples over partitions: which lie where, and numbers of them divided and gathered."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from hornboost.data.table import Table
from hornboost.dtypes import CODE
from hornboost.engine.parts import PerPart

if TYPE_CHECKING:
    from hornboost.data import Database


@dataclass(frozen=True, eq=False, slots=True)
class Placement:
    """The positions of the examples of each partition, and their rows there, where these say what their keys are."""

    positions: tuple[NDArray[np.intp], ...]
    rows: tuple[NDArray[np.integer], ...] | None
    n: int

    @classmethod
    def of(cls, database: Database, examples: Table) -> Placement:
        """The examples where a database has them; asked once for each of its tables of examples."""
        with _lock:
            known = _known.setdefault(database, WeakKeyDictionary())
            found = known.get(examples)
        if found is None:
            found = known[examples] = cls._of(database, examples)
        return found

    @classmethod
    def _of(cls, database: Database, examples: Table) -> Placement:
        places = database.places(examples)
        order = np.argsort(places.partition, kind="stable")
        cuts = np.searchsorted(places.partition[order], np.arange(1, database.parts.n))
        positions = tuple(np.split(order, cuts))
        rows = None if places.row is None else tuple(places.row[chosen] for chosen in positions)
        return cls(positions, rows, examples.n_rows)

    def taken(self, chosen: NDArray[np.integer]) -> Placement:
        """Some of the examples, given in rising order, where they are."""
        kept = [np.isin(positions, chosen) for positions in self.positions]
        pairs = zip(self.positions, kept, strict=True)
        rows = None if self.rows is None else tuple(row[mask] for row, mask in zip(self.rows, kept, strict=True))
        return Placement(tuple(np.searchsorted(chosen, some[mask]) for some, mask in pairs), rows, chosen.size)

    def examples(self, examples: Table) -> Iterator[tuple[Table, NDArray[np.integer] | None]]:
        """The rows of each partition; where it has their keys, these are not sent."""
        if self.rows is None:
            yield from ((examples.take(chosen), None) for chosen in self.positions)
            return
        keyless = {
            name: column if column.kind != "key" else column.holding(np.zeros(self.n, CODE))
            for name, column in examples.columns.items()
        }
        bare = replace(examples, columns=keyless)
        for chosen, rows in zip(self.positions, self.rows, strict=True):
            yield bare.take(chosen), rows

    def divided(self, numbers: NDArray[Any]) -> PerPart:
        """What is known of each example, by partition."""
        return PerPart([numbers[chosen] for chosen in self.positions])

    def in_order(self, answers: Sequence[NDArray[Any]], offsets: NDArray[np.int64] | None = None) -> NDArray[Any]:
        """What partitions know of each example, or of its rows, which begin at `offsets`, in the order of examples."""
        out = np.empty(self.n if offsets is None else int(offsets[-1]), np.result_type(*answers))
        for answer, chosen in zip(answers, self.positions, strict=True):
            if offsets is None:
                out[chosen] = answer
            else:
                counts = offsets[chosen + 1] - offsets[chosen]
                shifts = offsets[chosen] - np.append(0, np.cumsum(counts)[:-1])[: counts.size]
                out[np.repeat(shifts, counts) + np.arange(answer.size)] = answer
        return out

    def among(self, chosen: NDArray[Any]) -> PerPart:
        """The places of some examples, in rising order, among those of their partitions."""
        return PerPart([np.flatnonzero(np.isin(positions, chosen)).astype(CODE) for positions in self.positions])

    def gathered(self, packed: Sequence[NDArray[np.uint8]]) -> NDArray[np.bool_]:
        """Bits of each example, packed by partition, as flags in the order of the examples."""
        out = np.empty(self.n, np.bool_)
        for bits, chosen in zip(packed, self.positions, strict=True):
            out[chosen] = np.unpackbits(bits, count=chosen.size).view(np.bool_)
        return out


_known: WeakKeyDictionary[Database, WeakKeyDictionary[Table, Placement]] = WeakKeyDictionary()
_lock = threading.Lock()
