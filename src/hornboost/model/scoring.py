"""Coverage of many clauses over many examples: each join is followed once for all clauses that ask about its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hornboost.data.table import Column, Table
from hornboost.dtypes import CODE, MISSING
from hornboost.engine.attributes import code_of
from hornboost.engine.tree import NO_CODES, Codes, Join, Ref
from hornboost.errors import ClauseError, DataError
from hornboost.logic.clause import Clause, Test
from hornboost.logic.moment import moment_of
from hornboost.model.plan import Group, Plan
from hornboost.stopping import check, working

if TYPE_CHECKING:
    from hornboost.data import Database

Flags = NDArray[np.bool_]
CHUNK = 1 << 16
"""Examples scored at a time: what is known about them then fits in the processor's cache and never in too much memory."""

MAX_ENTRIES = 20_000_000
"""Rows that the joins may reach together before a chunk is halved."""

NO_VALUE = -3
"""A code that no row has."""


@dataclass(frozen=True, eq=False, slots=True)
class Level:
    """The rows bound on one level of the path from the example: `up` leads from an entry to the one above it."""

    table: Table
    rows: Codes
    up: Codes


class _TooManyError(Exception):
    """The joins reach more rows than may be held at once."""


@dataclass(eq=False)
class Coverage:
    """Clauses bound to a database. What is prepared about its tables is kept, so that asking again costs the examples only."""

    database: Database
    plan: Plan
    _matrices: dict[str, NDArray[np.float64]] = field(default_factory=dict)
    _places: dict[tuple[str, bool], dict[str, int]] = field(default_factory=dict)
    _conditions: dict[int, Any] = field(default_factory=dict)
    _keys: dict[tuple[str, str], Codes] = field(default_factory=dict)

    @classmethod
    def of(cls, database: Database, clauses: Sequence[Clause]) -> Coverage:
        coverage = cls(database, Plan.of(clauses, database.target.table))
        coverage._collect(coverage.plan.root, is_root=True)
        return coverage

    @working()
    def covered(self, examples: Table) -> Flags:
        """A row for each example and a column for each distinct body; `plan.of_clause` says which clause has which."""
        n = examples.n_rows
        if n <= CHUNK:
            return self._chunk(examples)
        return np.concatenate([self._chunk(part(examples, start, min(start + CHUNK, n))) for start in range(0, n, CHUNK)])

    def chunks(self, examples: Table) -> Any:
        """The same in pieces, with the position at which each begins."""
        for start in range(0, max(examples.n_rows, 1), CHUNK):
            yield start, self._chunk(part(examples, start, min(start + CHUNK, examples.n_rows)))

    def _chunk(self, examples: Table) -> Flags:
        check()
        try:
            return self._root(examples, MAX_ENTRIES if examples.n_rows > 1 else np.iinfo(np.int32).max)
        except _TooManyError:
            half = examples.n_rows // 2
            return np.concatenate([self._chunk(part(examples, 0, half)), self._chunk(part(examples, half, examples.n_rows))])

    def _root(self, examples: Table, room: int) -> Flags:
        from hornboost.model import kernels

        root = self.plan.root
        rows = np.arange(examples.n_rows, dtype=CODE)
        matrix = _matrix(examples, self._places[root.table, True])
        flags = self._below(root, [Level(examples, rows, rows)], room)
        out = np.zeros((examples.n_rows, len(root.features)), np.bool_)
        kernels.combine(rows, rows, matrix, flags, self._compiled(root, examples, True), out)
        return out

    def _below(self, group: Group, path: list[Level], room: int) -> Flags:
        """The flags of all groups below the rows at the end of the path, side by side."""
        parts = [self._flags(below, path, room) for below in group.groups]
        return np.concatenate(parts, axis=1) if parts else np.zeros((path[-1].rows.size, 0), np.bool_)

    def _flags(self, group: Group, path: list[Level], room: int) -> Flags:
        """Which features of a group some row behind each entry at the end of the path has."""
        check()
        from hornboost.model import kernels

        assert group.join is not None
        n = path[-1].rows.size
        if group.join.source is None and not group.join.unequal and n > 1:
            alone = [replace(level, rows=level.rows[:1], up=level.up[:1] * 0) for level in path]
            return np.repeat(self._flags(group, alone, room), n, axis=0)
        table = self._table(group.table)
        edges = self._edges(group.join, table, path)
        matrix = self._matrix(group.table)
        conditions = self._compiled(group, table, False)
        out = np.zeros((n, len(group.features)), np.bool_)
        if not group.groups:
            kernels.exists(edges, matrix, conditions, out)
            return out
        if _reached(edges) > room:
            raise _TooManyError
        rows, up = kernels.candidates(edges, matrix, conditions)
        flags = self._below(group, [*path, Level(table, rows, up)], room)
        kernels.combine(rows, up, matrix, flags, conditions, out)
        return out

    def _edges(self, join: Join, table: Table, path: list[Level]) -> Any:
        from hornboost.model.kernels import Edges

        if join.source is None:
            codes = np.zeros(path[-1].rows.size, CODE)
            offsets, order = np.array([0, table.n_rows], np.int64), np.arange(table.n_rows, dtype=CODE)
        else:
            index = self.database.index(table.name, join.column)
            codes, offsets, order = self._codes(join.source, path), index.offsets, index.rows
        equal = [(self._key(table, column), self._codes(ref, path)) for column, ref in join.equal]
        unequal = [(self._key(table, column), self._codes(ref, path)) for column, ref in join.unequal]
        return Edges(codes, offsets, order, *_stacked(equal), *_stacked(unequal))

    def _codes(self, ref: Ref, path: list[Level]) -> Codes:
        """The key codes of a column some levels up, for each entry at the end of the path."""
        at: Codes | None = None
        for level in path[: -ref.node : -1]:
            at = level.up if at is None else level.up[at]
        level = path[-ref.node]
        rows = level.rows if at is None else level.rows[at]
        return np.ascontiguousarray(_column(level.table, ref.column).values[rows], CODE)

    def _table(self, name: str) -> Table:
        if name not in self.database.tables:
            raise DataError.unknown_table(name, self.database.tables)
        return self.database.tables[name]

    def _key(self, table: Table, column: str) -> Codes:
        at = (table.name, column)
        if at not in self._keys:
            self._keys[at] = np.require(_column(table, column).values, CODE, ["C", "W"])
        return self._keys[at]

    def _collect(self, group: Group, is_root: bool) -> None:
        """Number the columns that the features of each table look at."""
        places = self._places.setdefault((group.table, is_root), {})
        for feature in group.features:
            pairs = (*feature.same, *feature.differ)
            for name in [*(test.column for test in feature.tests), *(name for pair in pairs for name in pair)]:
                places.setdefault(name, len(places))
        for below in group.groups:
            self._collect(below, is_root=False)

    def _matrix(self, name: str) -> NDArray[np.float64]:
        if name not in self._matrices:
            self._matrices[name] = _matrix(self._table(name), self._places[name, False])
        return self._matrices[name]

    def _compiled(self, group: Group, table: Table, is_root: bool) -> Any:
        """The conditions of a group; those of the root depend on the dictionaries of the rows passed in, so they are not kept."""
        if is_root:
            return self._compile(group, table, self._places[group.table, True])
        if id(group) not in self._conditions:
            self._conditions[id(group)] = self._compile(group, table, self._places[group.table, False])
        return self._conditions[id(group)]

    def _compile(self, group: Group, table: Table, places: dict[str, int]) -> Any:
        from hornboost.model import kernels

        bounds = np.cumsum([0, *(len(below.features) for below in group.groups)])
        first = [0]
        rows: list[tuple[int, int, int, float, float]] = []
        for feature in group.features:
            for test in feature.tests:
                low, high = self._interval(_column(table, test.column), table.name, test)
                rows.append((kernels.MISSING if test.op == "missing" else kernels.INTERVAL, places[test.column], 0, low, high))
            rows += [(kernels.SAME, places[one], places[other], 0.0, 0.0) for one, other in feature.same]
            rows += [(kernels.DIFFER, places[one], places[other], 0.0, 0.0) for one, other in feature.differ]
            rows += [(kernels.NEEDS, int(bounds[below]) + number, 0, 0.0, 0.0) for below, number in feature.needs]
            first.append(len(rows))
        kind, column, other, low_, high_ = zip(*rows, strict=True) if rows else ((), (), (), (), ())
        integers = [np.array(values, np.int64) for values in (first, kind, column, other)]
        return kernels.Conditions(integers[0], integers[1], integers[2], integers[3], np.array(low_, float), np.array(high_, float))

    def _interval(self, column: Column, table: str, test: Test) -> tuple[float, float]:
        """The values that pass a test, in the numbers of the float matrix."""
        if test.op == "missing":
            return 0.0, 0.0
        if test.op == "=":
            value = self._constant(column, table, str(test.value))
            return value, value
        if column.kind != "numeric":
            raise ClauseError(f"table '{table}': column '{column.name}' is {column.kind} and has no order for '{test.op}'; use = instead")
        assert test.value is not None
        bound = moment_of(test.value) if isinstance(test.value, str) else test.value
        return (bound, np.inf) if test.op == ">=" else (-np.inf, bound)

    def _constant(self, column: Column, table: str, value: str) -> float:
        if column.kind == "key":
            domain = self.database.domains[column.domain or ""]
            code = int(domain.encode([value])[0])
            return float(code if code < domain.size else NO_VALUE)
        if column.kind == "nominal":
            return float(code_of(column, value))
        try:
            return float(value)
        except ValueError:
            raise ClauseError(f"table '{table}': column '{column.name}' is numeric, and {value!r} is no number") from None


def part(table: Table, start: int, stop: int) -> Table:
    """Some consecutive rows of a table."""
    columns = {name: replace(column, values=column.values[start:stop]) for name, column in table.columns.items()}
    return Table(table.name, columns, max(stop - start, 0))


def _matrix(table: Table, places: dict[str, int]) -> NDArray[np.float64]:
    """Columns of a table side by side as doubles, NaN for missing."""
    matrix = np.empty((table.n_rows, len(places)), np.float64)
    for name, place in places.items():
        column = _column(table, name)
        matrix[:, place] = column.values
        if column.kind != "numeric":
            matrix[column.values == MISSING, place] = np.nan
    return matrix


def _column(table: Table, name: str) -> Column:
    if name not in table.columns:
        raise DataError.unknown_column(table.name, name, table.columns)
    return table.columns[name]


def _stacked(pairs: list[tuple[Codes, Codes]]) -> tuple[Codes, Codes]:
    if not pairs:
        return NO_CODES, NO_CODES
    return np.stack([column for column, _ in pairs]), np.stack([codes for _, codes in pairs])


def _reached(edges: Any) -> int:
    from hornboost.engine.kernels import count_reached

    return int(count_reached(edges.codes, edges.offsets))
