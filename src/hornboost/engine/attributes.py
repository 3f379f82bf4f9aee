"""Every attribute of a table as int32 codes in value order,
so that one kernel scans nominal and numeric columns alike.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hornboost.data.bins import MAX_BINS, Bins, most_each, numbered
from hornboost.data.index import KeyIndex
from hornboost.data.table import Column, Table
from hornboost.dtypes import CODE, MISSING, UNSEEN
from hornboost.engine.thresholds import MOST, length, threshold
from hornboost.logic.aggregate import Aggregate, Operand
from hornboost.logic.clause import Op, Test
from hornboost.logic.duration import duration_text
from hornboost.logic.moment import moment_text
from hornboost.stopping import check

if TYPE_CHECKING:
    import pyarrow as pa


BETWEEN = frozenset({"mean", "sum", "std", "share", "mode_share"})
"""Aggregates whose thresholds lie between values; those of others are values that rows have, or counts."""


class Layout(NamedTuple):
    """How `kernels.build_pairs` numbers the conditions of some attributes of a table."""

    selected: NDArray[np.int64]
    sizes: NDArray[np.int64]
    numeric: NDArray[np.bool_]
    bases: NDArray[np.int64]
    stamp_bases: NDArray[np.int64]
    edges: NDArray[np.int64]
    """For each numeric attribute where its `>=`, its `<=` and its `is missing` begin."""
    attributes: tuple[int, ...]


class Inputs(NamedTuple):
    """What one pass over the rows of a table reads of some of its attributes, in the order of an index or of the rows.

    `late` is for each attribute the row of `dates` from which on its values are known (-1: from the row's time on), or
    empty where none is late; `times` are those of the rows where `age`, the number of that attribute, is asked for, and
    `max_bins` is how many ages are told apart at most.
    """

    codes: NDArray[np.int32]
    layout: Layout
    late: NDArray[np.int64]
    dates: NDArray[np.float64]
    age: int | None
    times: NDArray[np.float64]
    max_bins: int = MAX_BINS


NONE_LATE, NO_DATES = np.empty(0, np.int64), np.empty((0, 0), np.float64)
NO_TIMES = np.empty(0, np.float64)


class Attributes:
    """The codes of a table's attributes, encoded when first asked for.

    A nominal attribute keeps its dictionary's codes; a numeric one is replaced by the rank of its value among the
    distinct values of the column (its `levels`, where the rows are some of more), so that every threshold is a code;
    more than `max_bins` of them are put together in bins, and so are more than `max_thresholds` of all columns
    together, most of those columns that have most. Columns of a key domain in `constants` count as nominal.
    `aggregated` says to encode the aggregates of examples instead.

    `dated` says that the rows are seen by examples up to their cutoffs: if they have times, their age is the last
    attribute, number `age`. It has no codes here, since a row is of another age for every example.
    """

    def __init__(
        self,
        table: Table,
        constants: Mapping[str, pa.Array] | None = None,
        *,
        aggregated: bool = False,
        dated: bool = False,
        max_bins: int = MAX_BINS,
        max_thresholds: int | None = None,
    ) -> None:
        self.table = table
        self._constants = constants or {}
        self.max_bins = min(max_bins, MOST) if aggregated else max_bins
        self.max_thresholds = None if aggregated else max_thresholds
        shown: dict[Operand, Column] = {
            name: column
            for name, column in table.columns.items()
            if column.kind != "key" or column.domain in self._constants
        }
        if aggregated:
            shown = dict(table.aggregates.items())
        self._n_coded = len(shown)
        self.age = self._n_coded if dated and table.times is not None else None
        if dated and table.times is not None:
            shown[str(table.age)] = Column(str(table.age), "numeric", NO_TIMES, is_date=table.times.is_date)
        self.operands, self.columns = list(shown), list(shown.values())
        late = {name: dating for name, dating in table.late.items() if dated and name in shown}
        self._dating = list(dict.fromkeys(late.values()))
        places = [self._dating.index(late[str(name)]) if name in late else -1 for name in self.operands]
        self._late = np.array(places, np.int64)
        self.number = {column.name: k for k, column in enumerate(self.columns)}
        self.numeric = np.array([column.kind == "numeric" for column in self.columns], dtype=np.bool_)
        is_nominal = [isinstance(name, str) and shown[name].kind == "nominal" for name in self.operands]
        self.nominal = np.array(is_nominal, dtype=np.bool_)
        """Which are nominal columns: neither keys that count as such, nor aggregates."""
        self.sizes = np.zeros(len(self.columns), np.int64)
        self.values: list[NDArray[np.float64] | NDArray[np.object_] | None] = [None] * len(self.columns)
        self._codes = np.empty((self._n_coded, table.n_rows), CODE)
        self._dates: dict[str | None, NDArray[np.float64]] = {}
        self._bins: dict[int, Bins] = {}
        self._by_index: dict[str, tuple[NDArray[np.int32], set[int]]] = {}
        self._layouts: dict[tuple[int, ...], Layout] = {}
        self._inputs: dict[tuple[tuple[int, ...], str | None], Inputs] = {}
        self._lock = threading.Lock()

    def codes(self, selected: Sequence[int]) -> NDArray[np.int32]:
        """The matrix of codes, a row an attribute; the rows of `selected` are filled."""
        if any(self.values[k] is None for k in selected):
            with self._lock:
                if self.max_thresholds is not None and not self._bins:
                    self._number(self.max_thresholds)
                for k in selected:
                    if self.values[k] is None:
                        check()
                        self._encode(k)
        return self._codes

    def codes_by(self, column: str, rows: NDArray[np.int32], selected: Sequence[int]) -> NDArray[np.int32]:
        """The matrix of codes in the order of the index of a key column, whose `rows` are given."""
        codes = self.codes(selected)
        with self._lock:
            if column not in self._by_index:
                in_order = rows.size == self.table.n_rows and bool(np.all(rows[1:] > rows[:-1]))
                ordered = codes if in_order else np.empty((len(codes), rows.size), CODE)
                self._by_index[column] = ordered, set(range(len(codes))) if in_order else set()
            matrix, filled = self._by_index[column]
            for k in selected:
                if k not in filled:
                    check()
                    np.take(codes[k], rows, out=matrix[k], mode="clip")
                    filled.add(k)
        return matrix

    def inputs(self, selected: tuple[int, ...], by: tuple[str, KeyIndex] | None = None) -> Inputs:
        """What a pass reads of some attributes: in the order of the rows, or `by` the index of a key column."""
        place = (selected, None if by is None else by[0])
        if place not in self._inputs:
            self._inputs[place] = self._read(selected, by)
        return self._inputs[place]

    def _read(self, selected: tuple[int, ...], by: tuple[str, KeyIndex] | None) -> Inputs:
        coded = tuple(k for k in selected if k != self.age)
        codes = self.codes(coded) if by is None else self.codes_by(by[0], by[1].rows, coded)
        late, dates = self._late[list(coded)], NO_DATES
        late = late if np.any(late >= 0) else NONE_LATE
        if late.size:
            dates = self._dates_in_order() if by is None else self._dates_in_order(by[0], by[1].rows)
        if len(coded) == len(selected):
            return Inputs(codes, self.layout(coded), late, dates, None, NO_TIMES, self.max_bins)
        own = None if self.table.times is None else self.table.times.numbers
        times = own if by is None else by[1].times
        assert times is not None
        return Inputs(codes, self.layout(coded), late, dates, self.age, times, self.max_bins)

    def _dates_in_order(self, column: str | None = None, rows: NDArray[np.int32] | None = None) -> NDArray[np.float64]:
        """From when on later values are known, a row a column that says so, also in the order of an index."""
        with self._lock:
            if column not in self._dates:
                found = np.stack([self.table.columns[name].numbers for name in self._dating])
                self._dates[column] = found if rows is None else np.ascontiguousarray(found[:, rows])
        return self._dates[column]

    def seen(self, selected: Sequence[int], rows: NDArray[np.int32], cutoffs: NDArray[np.float64]) -> NDArray[np.int32]:
        """The codes of some rows, those of `selected` filled, as examples with these cutoffs see them; without the age.

        Nothing but values that are known later depends on the cutoffs.
        """
        codes = np.ascontiguousarray(self.codes(selected)[:, rows])
        for k in selected:
            if self._late[k] >= 0:
                known = self.table.columns[self._dating[self._late[k]]].numbers[rows] < cutoffs
                codes[k, ~known] = MISSING
        return codes

    def levelled(self) -> list[Column]:
        """The columns with the levels of these rows, so that some of them are numbered as all are."""
        self.codes(range(self._n_coded))
        return [
            replace(column, levels=self._bins[k]) if column.kind == "numeric" else column
            for k, column in enumerate(self.columns[: self._n_coded])
        ]

    @property
    def has_late(self) -> bool:
        """Whether some values are known later than their rows."""
        return bool(self._dating)

    def layout(self, selected: tuple[int, ...]) -> Layout:
        """The numbers of the conditions on some attributes, whose codes must have been asked for."""
        if selected not in self._layouts:
            chosen = np.array(selected, np.int64)
            sizes, numeric = self.sizes[chosen], self.numeric[chosen]
            bases = 1 + _running(np.where(numeric, 2 * sizes, sizes) + 1)
            edges = np.stack([bases[:-1], bases[:-1] + sizes, bases[:-1] + 2 * sizes], axis=1)[numeric]
            self._layouts[selected] = Layout(
                chosen, sizes, numeric, bases, _running(np.where(numeric, 0, sizes)), edges, selected
            )
        return self._layouts[selected]

    def _number(self, most: int) -> None:
        """Number the values of all numeric columns, in no more than so many bins together."""
        numeric = [k for k in range(self._n_coded) if self.numeric[k]]
        for k in numeric:
            check()
            self._number_one(k)
        each = most_each([self._bins[k].size for k in numeric], most)
        for k in numeric:
            fine = self._bins[k]
            if fine.size > each:
                self._bins[k] = fine.at_most(each)
                self._codes[k] = np.append(self._bins[k].number(fine.low), CODE(MISSING))[self._codes[k]]

    def _number_one(self, k: int) -> None:
        column = self.columns[k].here()
        self._bins[k], self._codes[k] = numbered(column.numbers, self.max_bins, column.levels)

    def _encode(self, k: int) -> None:
        column = self.columns[k].here()
        values: NDArray[np.float64] | NDArray[np.object_]
        if column.kind == "numeric":
            if k not in self._bins:
                self._number_one(k)
            values = self._bins[k].low
        elif column.kind == "key":
            values, self._codes[k] = _constant_codes(self._constants[column.domain or ""], column.codes)
        else:
            assert column.categories is not None
            values, self._codes[k] = column.categories, column.codes
        self.sizes[k] = len(values)
        self.values[k] = values  # last: it says to other threads that the rest is there

    def test(self, k: int, offset: int) -> Test:
        """The condition that `build_pairs` numbers `offset` from the base of attribute `k`."""
        column, operand, size, values = self.columns[k], self.operands[k], int(self.sizes[k]), self.values[k]
        assert values is not None
        if not self.numeric[k]:
            return Test(operand, "missing") if offset == size else Test(operand, "=", str(values[offset]))
        if offset == 2 * size:
            return Test(operand, "missing")
        at_least = offset < size
        place, bins = (size - 1 - offset if at_least else offset - size), self._bins[k]
        op: Op = ">=" if at_least else "<="
        if isinstance(operand, Aggregate):
            if column.is_age:
                return Test(operand, op, duration_text(length(bins, place, at_least=at_least)))
            is_exact = column.is_date or operand.function not in BETWEEN
            value = threshold(bins, place, at_least=at_least, exact=is_exact)
        else:
            value = float(bins.low[place] if at_least else bins.high[place])
        return Test(operand, op, moment_text(value) if column.is_date else value)


def _running(sizes: NDArray[np.int64]) -> NDArray[np.int64]:
    """Zero, and the sums of the sizes so far."""
    sums = np.zeros(sizes.size + 1, np.int64)
    np.cumsum(sizes, out=sums[1:])
    return sums


def _constant_codes(identifiers: pa.Array, codes: NDArray[np.int32]) -> tuple[NDArray[np.object_], NDArray[np.int32]]:
    """The identifiers of a domain in order, as text, and a key column in their numbers; unknown keys equal none."""
    import pyarrow as pa

    order = np.argsort(identifiers.to_numpy(zero_copy_only=False), kind="stable")
    number = np.full(order.size + 2, UNSEEN, CODE)
    number[order] = np.arange(order.size, dtype=CODE)
    number[-1] = MISSING
    return np.asarray(identifiers.cast(pa.string()), object)[order], number[np.clip(codes, -1, order.size)]
