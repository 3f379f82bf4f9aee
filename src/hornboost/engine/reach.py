"""One join, ready to be followed: from which entries it leads to which rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from hornboost.dtypes import CODE
from hornboost.engine import join_kernels as kernels
from hornboost.engine.facts import Facts, writable
from hornboost.engine.tree import Join, Ref
from hornboost.errors import DataError
from hornboost.stopping import check

if TYPE_CHECKING:
    from hornboost.data import Database
    from hornboost.data.table import Table

Number = TypeVar("Number", bound=np.generic)
Codes = NDArray[np.int32]
Longs = NDArray[np.int64]
Floats = NDArray[np.float64]
NO_CODES: Codes = np.empty((0, 0), CODE)
NO_ROWS: Codes = np.empty(0, CODE)
NO_OFFSETS: Longs = np.empty(0, np.int64)
NO_TIMES: Floats = np.empty(0, np.float64)

AT_ONCE = 1 << 22
"""Values that one call looks at, or little more:
some hundredths of a second, so that Ctrl-C and time limits need not wait longer."""


FEW = 1 << 15
"""So many values are gathered faster where no position is checked."""


class Reach(NamedTuple):
    """From which entries a join leads to which rows: the input of one pass.

    `codes` is the key code of each entry and `offsets`/`order` the index of the joined column; without a join,
    `offsets` is empty and `codes` are the entries' own rows. Where the rows of the table have times, those of a key are
    sorted by them, and each entry sees those before its `stops`; where these or later values are asked for, `cutoffs`
    are those of the entries' examples. Both are empty otherwise. The matrices hold, a row a constraint, a column of
    the table in the order of the index and what it must (or must not) equal for each entry.
    """

    example: Codes
    codes: Codes
    offsets: Longs
    order: Codes
    stops: Longs = NO_OFFSETS
    cutoffs: Floats = NO_TIMES
    equal_columns: Codes = NO_CODES
    equal_codes: Codes = NO_CODES
    unequal_columns: Codes = NO_CODES
    unequal_codes: Codes = NO_CODES

    @property
    def edges(self) -> tuple[Codes, Longs, Codes, Longs, Floats, Codes, Codes, Codes, Codes]:
        """All but the examples: what the kernels that follow joins take."""
        return self[1:]

    @property
    def is_told_by_key(self) -> bool:
        """Whether all entries with one key reach the same rows."""
        n_constraints = self.equal_columns.shape[0] + self.unequal_columns.shape[0]
        return self.offsets.size > 0 and self.stops.size == 0 and n_constraints == 0

    def cuts(self, width: int = 1, n_threads: int = 1) -> list[int]:
        """Bounds of parts of the entries, one for each thread at least and none too
        large for one call that reads `width` values a row.
        """
        if n_threads == 1 and self.example.size * max(self.order.size, 1) * width <= AT_ONCE:
            return [0, self.example.size]
        rows = self.example.size if self.offsets.size == 0 else self.count_rows()
        if n_threads == 1 and rows * width <= AT_ONCE:
            return [0, self.example.size]
        size = max(min(AT_ONCE // width, -(-rows // n_threads)), 1)
        return list(kernels.cuts(self.example, self.codes, self.offsets, self.stops, size).tolist())

    def count_rows(self) -> int:
        """How many rows the join reaches from all entries together."""
        return int(kernels.count_reached(self.codes, self.offsets, self.stops))

    def part(self, lo: int, hi: int) -> Reach:
        """The same join from the entries lo..hi."""
        return self.taken(slice(lo, hi))

    def taken(self, which: slice | Longs) -> Reach:
        """The same join from some of the entries."""
        equal, unequal = (
            np.ascontiguousarray(codes[:, which]) if codes.size else codes
            for codes in (self.equal_codes, self.unequal_codes)
        )
        return self._replace(
            example=self.example[which],
            codes=self.codes[which],
            stops=self.stops[which] if self.stops.size else self.stops,
            cutoffs=self.cutoffs[which] if self.cutoffs.size else self.cutoffs,
            equal_codes=equal,
            unequal_codes=unequal,
        )


class Keys(NamedTuple):
    """The keys that joins from some entries look at, each set of them once for an example.

    `times` says how many entries have it.
    """

    example: Codes
    columns: dict[Ref, Codes]
    times: Codes

    @classmethod
    def of(cls, example: Codes, columns: dict[Ref, Codes]) -> Keys:
        """The distinct ones of the entries' keys."""
        kept, times = np.empty(example.size, CODE), np.empty(example.size, CODE)
        n = kernels.distinct_keys(example, _stacked(list(columns.values())), kept, times)
        if n == example.size:
            return cls(example, columns, times)
        kept = kept[:n]
        return cls(gathered(example, kept), {ref: gathered(c, kept) for ref, c in columns.items()}, times[:n].copy())

    @property
    def nbytes(self) -> int:
        return self.example.nbytes + self.times.nbytes + sum(codes.nbytes for codes in self.columns.values())


def refs_of(join: Join) -> tuple[Ref, ...]:
    """The variables whose keys a join looks at."""
    named = [] if join.source is None else [join.source]
    return tuple(dict.fromkeys([*named, *(ref for _, ref in join.equal), *(ref for _, ref in join.unequal)]))


def follow(
    database: Database,
    facts: Facts,
    join: Join,
    example: Codes,
    lookup: Callable[[Ref], Codes],
    cutoffs: Callable[[], Floats],
) -> Reach:
    """A join from some entries, whose examples are given.

    `lookup` tells the key of each entry that a variable stands for, `cutoffs` up to when the example of each may look.

    A join without a source leads from every entry to all rows of the table.
    """
    if join.source is None:
        index = facts.all_rows(join.table)
        codes = np.zeros(example.size, CODE)
    else:
        index = database.index(join.table, join.column)
        codes = lookup(join.source)
    seen_up_to = cutoffs() if facts.is_dated(join.table) else NO_TIMES
    stops = NO_OFFSETS if index.times is None else kernels.seen_stops(codes, index.offsets, index.times, seen_up_to)

    def constraints(pairs: Sequence[tuple[str, Ref]]) -> tuple[Codes, Codes]:
        if not pairs:
            return NO_CODES, NO_CODES
        by = None if join.source is None else join.column
        return _stacked([facts.key_by(join.table, column, by, index) for column, _ in pairs]), _stacked(
            [lookup(ref) for _, ref in pairs]
        )

    return Reach(
        example,
        codes,
        index.offsets,
        index.rows,
        stops,
        seen_up_to,
        *constraints(join.equal),
        *constraints(join.unequal),
    )


def cutoffs_of(examples: Table) -> Floats:
    """Up to when each example may look."""
    if examples.times is None:
        raise DataError(
            f"the rows of table '{examples.name}' have no time up to which each may look; encode them with the database"
        )
    return writable(examples.times.numbers, np.float64)


def lifted(ups: Iterable[Codes]) -> Codes | None:
    """The entry some levels above each entry, by the steps upwards that lead there; None where there are no steps."""
    at: Codes | None = None
    for up in ups:
        at = up if at is None else gathered(up, at)
    return at


def gathered(values: NDArray[Number], at: Codes) -> NDArray[Number]:
    """`values[at]`, part by part where they are many."""
    if at.size <= FEW:
        return values.take(at, mode="clip")
    if at.size <= AT_ONCE:
        return values[at]
    out = np.empty(at.size, values.dtype)
    for lo in range(0, at.size, AT_ONCE):
        check()
        out[lo : lo + AT_ONCE] = values[at[lo : lo + AT_ONCE]]
    return out


def _stacked(columns: Sequence[Codes]) -> Codes:
    """The columns as rows of a matrix; a single one is not copied."""
    return columns[0][None, :] if len(columns) == 1 else np.stack(columns)
