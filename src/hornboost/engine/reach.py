"""One join, ready to be followed: from which entries it leads to which rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hornboost.dtypes import CODE
from hornboost.engine import join_kernels as kernels
from hornboost.engine.tree import Join, Ref
from hornboost.stopping import check

if TYPE_CHECKING:
    from hornboost.data import Database
    from hornboost.engine.facts import Facts

Codes = NDArray[np.int32]
Longs = NDArray[np.int64]
NO_CODES: Codes = np.empty((0, 0), CODE)
NO_ROWS: Codes = np.empty(0, CODE)
NO_OFFSETS: Longs = np.empty(0, np.int64)

AT_ONCE = 1 << 23
"""Values that one call looks at, or little more:
some hundredths of a second, so that Ctrl-C and time limits need not wait longer."""


class Reach(NamedTuple):
    """From which entries a join leads to which rows: the input of one pass.

    `codes` is the key code of each entry and `offsets`/`order` the index of the joined column; without a join,
    `offsets` is empty and `codes` are the entries' own rows. The matrices hold, a row a constraint, a column of the
    table and what it must (or must not) equal for each entry.
    """

    example: Codes
    codes: Codes
    offsets: Longs
    order: Codes
    equal_columns: Codes = NO_CODES
    equal_codes: Codes = NO_CODES
    unequal_columns: Codes = NO_CODES
    unequal_codes: Codes = NO_CODES

    @property
    def edges(self) -> tuple[Codes, Longs, Codes, Codes, Codes, Codes, Codes]:
        """All but the examples: what the kernels that follow joins take."""
        return self[1:]

    def cuts(self, width: int = 1, n_threads: int = 1) -> list[int]:
        """Bounds of parts of the entries, one for each thread at least and none too
        large for one call that reads `width` values a row.
        """
        if n_threads == 1 and self.example.size * max(self.order.size, 1) * width <= AT_ONCE:
            return [0, self.example.size]
        rows = self.example.size if self.offsets.size == 0 else int(kernels.count_reached(self.codes, self.offsets))
        size = max(min(AT_ONCE // width, -(-rows // n_threads)), 1)
        return list(kernels.cuts(self.example, self.codes, self.offsets, size).tolist())

    def part(self, lo: int, hi: int) -> Reach:
        """The same join from some of the entries."""
        equal, unequal = (np.ascontiguousarray(codes[:, lo:hi]) for codes in (self.equal_codes, self.unequal_codes))
        return self._replace(
            example=self.example[lo:hi], codes=self.codes[lo:hi], equal_codes=equal, unequal_codes=unequal
        )


def follow(database: Database, facts: Facts, join: Join, example: Codes, lookup: Callable[[Ref], Codes]) -> Reach:
    """A join from some entries, whose examples are given.

    `lookup` tells the key of each entry that a variable stands for.

    A join without a source leads from every entry to all rows of the table.
    """
    if join.source is None:
        n_rows = database.tables[join.table].n_rows
        codes, offsets, order = (
            np.zeros(example.size, CODE),
            np.array([0, n_rows], np.int64),
            np.arange(n_rows, dtype=CODE),
        )
    else:
        index = database.index(join.table, join.column)
        codes, offsets, order = lookup(join.source), index.offsets, index.rows

    def constraints(pairs: Sequence[tuple[str, Ref]]) -> tuple[Codes, Codes]:
        if not pairs:
            return NO_CODES, NO_CODES
        return _stacked([facts.key(join.table, column) for column, _ in pairs]), _stacked(
            [lookup(ref) for _, ref in pairs]
        )

    return Reach(example, codes, offsets, order, *constraints(join.equal), *constraints(join.unequal))


def lifted(ups: Iterable[Codes]) -> Codes | None:
    """The entry some levels above each entry, by the steps upwards that lead there; None where there are no steps."""
    at: Codes | None = None
    for up in ups:
        at = up if at is None else gathered(up, at)
    return at


def gathered(values: Codes, at: Codes) -> Codes:
    """`values[at]`, part by part where they are many."""
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
