"""The rows of tables as the kernels of mining read them: keys side by side, and which conditions each row holds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hornboost.data.table import Table
from hornboost.mining.relation import Relation
from hornboost.mining.row_kernels import HeldRows
from hornboost.mining.sight import known_since

Number = TypeVar("Number", bound=np.generic)


@dataclass(eq=False)
class RelationRows:
    """The rows of a table, or of the examples, that are here; `is_dated` says that something has a time."""

    table: Table
    relation: Relation
    is_dated: bool

    @cached_property
    def keys(self) -> NDArray[np.int32]:
        """The codes of the key columns, side by side."""
        return side_by_side([column.codes for column in self.table.keys], np.int32, self.table.n_rows)

    @cached_property
    def held(self) -> HeldRows:
        """Which conditions each row holds."""
        table, relation = self.table, self.relation
        columns = [cut.held(table.columns[cut.column]) for cut in relation.cuts]
        held = side_by_side(columns, np.int32, table.n_rows)
        if not self.is_dated:
            return HeldRows(held)
        rows = undated(held)
        if relation.is_timed or table.late:
            rows = _with_late(rows, [known_since(table, cut.column) for cut in relation.cuts])
        if relation.first_age:
            assert table.times is not None
            times = np.ascontiguousarray(table.times.numbers)
            rows = _with_ages(rows, times, relation.ages, relation.first_age)
        return rows

    @property
    def nbytes(self) -> int:
        """The bytes of what was asked for."""
        known = self.__dict__
        return (known["keys"].nbytes if "keys" in known else 0) + (known["held"].held.nbytes if "held" in known else 0)


def undated(held: NDArray[np.int32]) -> HeldRows:
    """Rows that hold the same for all examples, where other tables have times: one kind of kernel serves them all."""
    return HeldRows(held, np.empty((0, 0)), np.empty(0), np.empty((0, 2)))


def _with_late(rows: HeldRows, since: Sequence[NDArray[np.float64] | None]) -> HeldRows:
    """The same where some attributes are known from other times on than their rows."""
    if all(known is None for known in since):
        return rows
    always = np.full(len(rows.held), -np.inf)
    columns = [always if known is None else known for known in since]
    return rows._replace(since=side_by_side(columns, np.float64, len(rows.held)))


def _with_ages(rows: HeldRows, times: NDArray[np.float64], ages: NDArray[np.float64], first: int) -> HeldRows:
    """The same with intervals of ages as conditions on a further attribute, of which rows hold none by themselves."""
    assert rows.since is not None
    since = np.hstack([rows.since, np.full((len(times), 1), -np.inf)]) if len(rows.since) else rows.since
    held = np.hstack([rows.held, np.zeros((len(times), 1), np.int32)])
    return HeldRows(held, since, times, ages, first)


def side_by_side(columns: Sequence[NDArray[Any]], dtype: type[Number], n_rows: int) -> NDArray[Number]:
    """Columns as one matrix."""
    return np.stack(columns, axis=1).astype(dtype, order="C") if columns else np.empty((n_rows, 0), dtype)
