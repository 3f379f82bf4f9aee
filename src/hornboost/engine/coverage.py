"""What clauses cover: many clauses over many examples, each join followed once for all clauses that ask about its rows.

Whoever asks what a clause covers, or which rows make it so, asks here. (A search that refines one clause again and
again keeps the rows that live in a `State` instead, and follows joins with the same kernels.)
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hornboost.aggregates.attach import with_aggregates
from hornboost.data.table import Table
from hornboost.dtypes import CODE
from hornboost.engine import join_kernels as kernels
from hornboost.engine.facts import Facts, writable
from hornboost.engine.fit_check import check_clause
from hornboost.engine.plan import JoinGroup, JoinPlan
from hornboost.engine.reach import NO_OFFSETS, NO_TIMES, Codes, Reach, cutoffs_of, follow, lifted
from hornboost.engine.row_conditions import RowConditions, column_of, matrix_of, number_columns
from hornboost.engine.state import NO_MASK
from hornboost.engine.tree import Join, Ref, Spec
from hornboost.errors import LimitError
from hornboost.logic.aggregate import Aggregate, Operand
from hornboost.logic.clause import Clause
from hornboost.stopping import check, working

if TYPE_CHECKING:
    from hornboost.data import Database

Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]
BLOCK = 1 << 16
"""Examples at a time: what is known about them then fits in the processor's cache and never in too much memory."""

TRACED = 1 << 12
"""Examples at a time when the rows that joins reach are kept."""

MAX_ENTRIES = 20_000_000
"""Rows that a join may reach before a block is halved."""

MOST_ENTRIES = int(np.iinfo(np.int32).max)
"""Rows that a join may reach from one example."""


def covers(database: Database, clause: Clause | str, examples: Table | None = None) -> Flags:
    """Which examples a clause covers: those of `database.examples()`, or the encoded rows passed in.

    >>> import pandas as pd, hornboost as hb
    >>> molecules = pd.DataFrame({"m": ["a", "b"], "active": ["1", "0"]})
    >>> atoms = pd.DataFrame({"m": ["a", "a", "b"], "element": ["c", "n", "c"]})
    >>> db = hb.Database.from_frames(
    ...     {"molecule": molecules, "atom": atoms}, target="molecule", key="m", label="active",
    ...     foreign_keys=[("atom.m", "molecule.m")],
    ... )
    >>> covers(db, 'active="1" :- molecule(m=M), atom(m=M, element="n").')
    array([ True, False])
    """
    if isinstance(clause, str):
        clause = Clause.parse(clause)
    rows = database.encoded_examples() if examples is None else examples
    return Coverage.of(database, [clause]).covered(rows)[:, 0]


@dataclass(frozen=True, eq=False, slots=True)
class Level:
    """The rows bound on one level of the path from the example; `up` leads from an entry to the one above it."""

    table: Table
    rows: Codes
    up: Codes


@dataclass(frozen=True, eq=False, slots=True)
class Visit:
    """What one block of examples found in a group.

    The join that led there, and the rows with what lies below each, if something does.

    `shared` says from which of a few entries the same is found as from each, where it was looked for from those alone.
    """

    reach: Reach
    level: Level | None
    below: Flags | None
    shared: NDArray[np.int64] | None


class _TooManyError(Exception):
    """A join reaches more rows than may be held at once."""

    def __init__(self, join: Join, count: int) -> None:
        self.join = join
        self.count = count


@dataclass(eq=False)
class Coverage:
    """Clauses bound to a database.

    What is prepared about its tables is kept, so that asking again costs the examples only.
    """

    database: Database
    plan: JoinPlan
    facts: Facts = field(init=False)
    _matrices: dict[str, Floats] = field(default_factory=dict)
    places: dict[tuple[str, bool], dict[Operand, int]] = field(default_factory=dict)
    _conditions: dict[int, RowConditions] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.facts = Facts.of(self.database)
        self._collect(self.plan.root, is_root=True)

    @classmethod
    def of(cls, database: Database, clauses: Sequence[Clause]) -> Coverage:
        """Clauses in any order of their literals; one that does not fit the database is refused."""
        target = database.target.table
        rooted = [clause.rooted(target) for clause in clauses]
        for clause in rooted:
            check_clause(database, clause)
        return _bound(database, JoinPlan.of(rooted, target))

    @classmethod
    def of_trees(cls, database: Database, trees: Sequence[Sequence[Spec]]) -> Coverage:
        """Clauses as a search has grown them."""
        return _bound(database, JoinPlan.of_trees(trees, database.target.table))

    @property
    def of_clause(self) -> tuple[int, ...]:
        """The column of each clause in what `blocks` gives: clauses with one body share it."""
        return self.plan.of_clause

    @property
    def nbytes(self) -> int:
        """The bytes of what is prepared about the tables."""
        return sum(matrix.nbytes for matrix in self._matrices.values())

    @working()
    def covered(self, examples: Table) -> Flags:
        """A row for each example and a column for each clause."""
        columns = list(self.of_clause)
        out = np.empty((examples.n_rows, len(columns)), np.bool_)
        for start, found in self.blocks(examples):
            out[start : start + len(found)] = found[:, columns]
        return out

    def blocks(self, examples: Table) -> Iterator[tuple[int, Flags]]:
        """Block by block where it begins and what is covered.

        A row for each example and a column for each distinct body.
        """
        examples = self._ready(examples)
        for start in range(0, examples.n_rows, BLOCK):
            for at, _, found in self._halved(examples, start, min(start + BLOCK, examples.n_rows), None):
                yield at, found

    def traced(self, examples: Table) -> Iterator[tuple[int, Trace]]:
        """The same with the rows that were found on the way."""
        examples = self._ready(examples)
        for start in range(0, examples.n_rows, TRACED):
            visits: dict[int, Visit] = {}
            for at, few, found in self._halved(examples, start, min(start + TRACED, examples.n_rows), visits):
                yield at, Trace(self, few, found, visits)

    def _ready(self, examples: Table) -> Table:
        """The examples with the aggregates that clauses ask for."""
        asked = [operand for operand in self.places[self.plan.root.table, True] if isinstance(operand, Aggregate)]
        return with_aggregates(self.database, examples, asked).as_known()

    def _halved(
        self, examples: Table, start: int, stop: int, visits: dict[int, Visit] | None
    ) -> Iterator[tuple[int, Table, Flags]]:
        """A block, or its halves where the joins reach too many rows."""
        check()
        few = part(examples, start, stop)
        if visits is not None:
            visits.clear()
        try:
            found = self._root(few, MAX_ENTRIES if stop - start > 1 else MOST_ENTRIES, visits)
        except _TooManyError as error:
            if stop - start <= 1:
                path = f"{error.join.table}.{error.join.column}"
                raise LimitError(
                    f"the join {path} reaches {error.count:,} rows from one example, too many to look at"
                ) from None
            middle = (start + stop) // 2
            yield from self._halved(examples, start, middle, visits)
            yield from self._halved(examples, middle, stop, visits)
        else:
            yield start, few, found

    def _root(self, examples: Table, room: int, visits: dict[int, Visit] | None) -> Flags:
        root = self.plan.root
        rows = np.arange(examples.n_rows, dtype=CODE)
        # the conditions of the root depend on the dictionaries of the rows passed in, so they are not kept
        conditions = RowConditions.of(root, examples, self.places[root.table, True], self.facts)
        matrix = matrix_of(examples, self.places[root.table, True])
        level = Level(examples, rows, rows)
        below = self._below(root, [level], room, visits)
        out = np.zeros((examples.n_rows, len(root.features)), np.bool_)
        kernels.combine(rows, rows, NO_TIMES, matrix, below, *conditions.arrays, out)
        return out

    def _below(self, group: JoinGroup, path: list[Level], room: int, visits: dict[int, Visit] | None) -> Flags:
        """The flags of all groups below the rows at the end of the path, side by side."""
        parts = [self._flags(below, path, room, visits) for below in group.groups]
        return np.concatenate(parts, axis=1) if parts else np.zeros((path[-1].rows.size, 0), np.bool_)

    def _flags(self, group: JoinGroup, path: list[Level], room: int, visits: dict[int, Visit] | None) -> Flags:
        """Which features of a group some row behind each entry at the end of the path has."""
        assert group.join is not None
        check()
        shared = self._shared(group, path)
        if shared is not None:
            path = _narrowed(path, np.unique(shared, return_index=True)[1])
        reach = follow(
            self.database,
            self.facts,
            group.join,
            path[-1].rows,
            lambda ref: self._codes(ref, path),
            lambda: _cutoffs(path),
        )
        matrix, conditions = self.prepared(group)
        out = np.zeros((path[-1].rows.size, len(group.features)), np.bool_)
        level = below = None
        if not group.groups:
            kernels.exists(*reach.edges, matrix, *conditions.arrays, out)
        else:
            count = reach.count_rows()
            if count > room:
                raise _TooManyError(group.join, count)
            level = Level(
                self.database.tables[group.table], *kernels.expand(*reach.edges, NO_MASK, matrix, *conditions.arrays)
            )
            below = self._below(group, [*path, level], room, visits)
            kernels.combine(level.rows, level.up, reach.cutoffs, matrix, below, *conditions.arrays, out)
        if visits is not None:
            visits[id(group)] = Visit(reach, level, below, shared)
        return out if shared is None else out[shared]

    def _shared(self, group: JoinGroup, path: list[Level]) -> NDArray[np.int64] | None:
        """For each entry which of a few finds the same: a join without a variable leads all to the same rows.

        Where rows or values have times, to those of the same cutoff.
        """
        assert group.join is not None
        n = path[-1].rows.size
        if group.join.source is not None or group.join.unequal or n <= 1:
            return None
        if self._is_dated(group):
            return np.unique(_cutoffs(path), return_inverse=True)[1]
        return np.zeros(n, np.int64)

    def _is_dated(self, group: JoinGroup) -> bool:
        """Whether what is found in a group and below it depends on the cutoff."""
        return self.facts.is_dated(group.table) or any(self._is_dated(below) for below in group.groups)

    def _codes(self, ref: Ref, path: list[Level]) -> Codes:
        """The key codes of a column some levels up, for each entry at the end of the path."""
        at = lifted(level.up for level in path[: -ref.node : -1])
        level = path[-ref.node]
        rows = level.rows if at is None else level.rows[at]
        if len(path) == ref.node:
            return writable(column_of(level.table, ref.column).values[rows], CODE)
        return self.facts.key(level.table.name, ref.column)[rows]

    def prepared(self, group: JoinGroup) -> tuple[Floats, RowConditions]:
        """The matrix of a table's columns, and the conditions of a group on them."""
        places = self.places[group.table, False]
        if group.table not in self._matrices:
            self._matrices[group.table] = matrix_of(self.database.tables[group.table], places)
        if id(group) not in self._conditions:
            self._conditions[id(group)] = RowConditions.of(group, self.database.tables[group.table], places, self.facts)
        return self._matrices[group.table], self._conditions[id(group)]

    def _collect(self, group: JoinGroup, is_root: bool) -> None:
        """Number the columns that the features of each table look at."""
        places = self.places.setdefault((group.table, is_root), {})
        number_columns(group, self.database.tables[group.table], places)
        for below in group.groups:
            self._collect(below, is_root=False)


def _bound(database: Database, plan: JoinPlan) -> Coverage:
    if database.parts is None:
        return Coverage(database, plan)
    from hornboost.engine.partitioned_coverage import PartitionedCoverage

    return PartitionedCoverage(database, plan)


@dataclass(frozen=True, eq=False, slots=True)
class Trace:
    """A block of examples, what is covered of it, and the way there, for as long as the next block is not asked for."""

    coverage: Coverage
    examples: Table
    covered: Flags
    visits: dict[int, Visit]

    def witnesses(self, clause: int, covered: NDArray[np.int64]) -> dict[int, Codes]:
        """For some examples that a clause covers one row for each of its literals,
        by position; together they satisfy it.

        An entry is found where all that is needed below it is found, so the first one below each chosen one will do.
        """
        seats = self.coverage.plan.seats[clause]
        entries, rows = [covered], [covered.astype(CODE)]
        for seat in seats[1:]:
            visit = self.visits[id(seat.group)]
            above = entries[seat.parent] if visit.shared is None else visit.shared[entries[seat.parent]]
            matrix, conditions = self.coverage.prepared(seat.group)
            if visit.level is None or visit.below is None:
                entries.append(above)  # there is nothing below it
                rows.append(kernels.first_row(above, seat.feature, *visit.reach.edges, matrix, *conditions.arrays))
            else:
                level = visit.level
                found = kernels.first_below(
                    above,
                    seat.feature,
                    level.rows,
                    level.up,
                    visit.reach.cutoffs,
                    matrix,
                    visit.below,
                    *conditions.arrays,
                )
                entries.append(found)
                rows.append(level.rows[found])
        return {seat.literal: found for seat, found in zip(seats, rows, strict=True)}

    def latest(self, clause: int, literal: int, example: int) -> int | None:
        """Of the rows that a literal, on which no other hangs, finds for an example the last in the order of times.

        None where the literal does not hang on the example itself.
        """
        seat = next(seat for seat in self.coverage.plan.seats[clause] if seat.literal == literal)
        if seat.parent != 0:
            return None
        visit = self.visits[id(seat.group)]
        entry = example if visit.shared is None else int(visit.shared[example])
        reach = visit.reach.part(entry, entry + 1)
        start = reach.offsets[reach.codes[0]]
        stop = reach.stops[0] if reach.stops.size else reach.offsets[reach.codes[0] + 1]
        backwards = reach._replace(
            codes=np.zeros(1, CODE),
            offsets=np.array([0, stop - start]),
            order=np.ascontiguousarray(reach.order[start:stop][::-1]),
            stops=NO_OFFSETS,
            equal_columns=np.ascontiguousarray(reach.equal_columns[:, start:stop][:, ::-1]),
            unequal_columns=np.ascontiguousarray(reach.unequal_columns[:, start:stop][:, ::-1]),
        )
        matrix, conditions = self.coverage.prepared(seat.group)
        first = kernels.first_row(np.zeros(1, np.int64), seat.feature, *backwards.edges, matrix, *conditions.arrays)
        return int(first[0])


def _cutoffs(path: Sequence[Level]) -> Floats:
    """Up to when the examples of the entries at the end of a path may look."""
    own = cutoffs_of(path[0].table)[path[0].rows]
    at = lifted(level.up for level in path[:0:-1])
    return own if at is None else own[at]


def _narrowed(path: Sequence[Level], at: NDArray[np.int64]) -> list[Level]:
    """The path to some of the entries at its end alone, each with a way of its own."""
    narrow = []
    for level in reversed(path):
        narrow.append(replace(level, rows=level.rows[at], up=np.arange(at.size, dtype=CODE)))
        at = level.up[at].astype(np.int64)
    return narrow[::-1]


def part(table: Table, start: int, stop: int) -> Table:
    """Some consecutive rows of a table."""
    if start == 0 and stop == table.n_rows:
        return table
    return table.take(slice(start, stop))
