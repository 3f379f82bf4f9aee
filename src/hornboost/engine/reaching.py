"""The rows that joins reach from the nodes of a clause, within the limits of an engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from hornboost.data.table import Table
from hornboost.engine import join_kernels
from hornboost.engine.cache import Cache
from hornboost.engine.closing import Closed, closed, is_closing, marks_of, pays
from hornboost.engine.expansion import expanded
from hornboost.engine.facts import Facts
from hornboost.engine.joins import FIRST_NEW
from hornboost.engine.key_kernels import Bits
from hornboost.engine.needs import MOST_ENTRIES, Ways
from hornboost.engine.pieces import OF_PIECE, TooManyAtOnceError
from hornboost.engine.reach import (
    NO_OFFSETS,
    NO_ROWS,
    NO_TIMES,
    Codes,
    Floats,
    Keys,
    Reach,
    cutoffs_of,
    follow,
    gathered,
    refs_of,
)
from hornboost.engine.state import NO_MASK, Entries, State
from hornboost.engine.tree import Join, Ref, path_text
from hornboost.errors import LimitError
from hornboost.stopping import check

if TYPE_CHECKING:
    from hornboost.data import Database


class TooManyRowsError(LimitError):
    """Joins reach more rows than may be followed, and how many."""

    def __init__(self, message: str, count: int) -> None:
        super().__init__(message)
        self.count = count


class Reaching:
    """What follows joins; an `Engine` scores and refines by them."""

    database: Database
    examples: Table
    facts: Facts
    cache: Cache
    ways: Ways

    if TYPE_CHECKING:

        @property
        def refused(self) -> dict[tuple[Join, ...], int]: ...
        @property
        def most_entries(self) -> int: ...
        def key(self, table: str, column: str, is_root: bool) -> Codes: ...

    def entries(self, state: State, node: int, joins: tuple[Join, ...], at_once: int = MOST_ENTRIES) -> Entries:
        """The entries that a chain of joins below a node reaches,
        over all of the node's entries; kept with the node.
        """
        key = ("entries", state.entries[node].number, joins)
        known: Entries | None = self.cache.get(key)
        if known is None:
            reach = self.checked_reach(state, node, joins, at_once)
            if len(state.entries[0]) > 1 and reach.count_rows() > at_once:
                raise TooManyAtOnceError(f"the join {path_text(joins)} reaches more than {at_once:,} rows")
            known = expanded(reach, NO_MASK)
            if state.entries[node].number != OF_PIECE:
                self.cache.put(key, known, known.nbytes)
        return known

    def held_entries(self, state: State, node: int, joins: tuple[Join, ...], at_once: int = MOST_ENTRIES) -> Entries:
        """`entries` that are held on the way to other rows; refused where there are too many."""
        if self.ways.is_strict:
            known: Entries | None = self.cache.get(("entries", state.entries[node].number, joins))
            n = self.reach(state, node, joins, at_once).count_rows() if known is None else len(known)
            self.check_count(n, joins, on_the_way=True)
        return self.entries(state, node, joins, at_once)

    def checked_reach(self, state: State, node: int, joins: tuple[Join, ...], at_once: int = MOST_ENTRIES) -> Reach:
        """The rows that joins reach from a node; refused where there are too many."""
        check()
        reach = self.reach(state, node, joins, at_once)
        self.check_count(reach.count_rows(), joins)
        return reach

    def check_count(self, count: int, joins: tuple[Join, ...], *, on_the_way: bool = False) -> None:
        """Refuse joins that reach more rows than there is room for, and remember that they were.

        And those that reach more than are looked at or, where further joins begin, than are held `on_the_way`.
        """
        most = self.ways.held if on_the_way else self.ways.reached
        reaches = f"the join {path_text(joins)} reaches {count:,} rows"
        if count > most:
            raise TooManyRowsError(
                f"{reaches}, and up to {most:,} are followed; set max_depth to do so all the same", count
            )
        if count > min(self.most_entries, MOST_ENTRIES):
            self.refused[joins] = count
            raise TooManyRowsError(
                f"{reaches}, and there is memory for {self.most_entries:,}; raise memory_limit to follow it", count
            )

    def reach(
        self,
        state: State,
        node: int,
        joins: tuple[Join, ...],
        at_once: int = MOST_ENTRIES,
        before: Entries | None = None,
    ) -> Reach:
        """The last join of a chain as the input of one pass, from the entries of what comes before it."""
        above, lookup = self._above(state, node, joins, at_once, before)
        return follow(
            self.database, self.facts, joins[-1], above.example, lookup, lambda: self.cutoffs(state, above.example)
        )

    def distinct_reach(self, state: State, node: int, joins: tuple[Join, ...], at_once: int) -> Reach:
        """`checked_reach` from one of the entries of an example that have the same keys; these are kept for joins to
        other tables.
        """
        refs = refs_of(joins[-1])
        if not refs or (node == 0 and len(joins) == 1):  # an example is an entry of its own
            return self.checked_reach(state, node, joins, at_once)
        check()
        above, lookup = self._above(state, node, joins, at_once)
        key = ("keys", above.number, node, refs)
        known: Keys | None = self.cache.get(key)
        if known is None:
            known = Keys.of(above.example, {ref: lookup(ref) for ref in refs})
            self.cache.put(key, known, known.nbytes)
        example, columns = known.example, known.columns
        reach = follow(
            self.database, self.facts, joins[-1], example, columns.__getitem__, lambda: self.cutoffs(state, example)
        )
        self.check_count(int(join_kernels.count_repeated(reach.codes, reach.offsets, reach.stops, known.times)), joins)
        return reach

    def closed(self, state: State, node: int, joins: tuple[Join, ...]) -> Closed | None:
        """Two joins of which the second closes, where they lead over many rows; these are not held on the way.

        Refused where there are too many of them.
        """
        if not is_closing(joins) or any(self.facts.is_dated(join.table) for join in joins):
            return None
        number = state.entries[node].number
        if number == OF_PIECE:
            return None
        known: Closed | None = self.cache.get(("closed", number, joins))
        if known is None:
            check()
            first, last = self.reach(state, node, joins[:1]), joins[1]
            n_held = first.count_rows()
            if not pays(n_held, self.database.tables[last.table].n_rows):
                return None
            if self.ways.is_strict:
                self.check_count(n_held, joins[:1], on_the_way=True)
            self.check_count(n_held, joins[:1])
            assert last.source is not None
            (column, other), index = last.equal[0], self.database.index(last.table, last.column)
            keys = self.facts.key_by(
                joins[0].table,
                last.source.column,
                joins[0].column,
                self.database.index(joins[0].table, joins[0].column),
            )
            equal = self.facts.key_by(last.table, column, last.column, index)
            behind = Reach(NO_ROWS, NO_ROWS, index.offsets, index.rows, equal_columns=equal[None, :])
            known = closed(first, keys, state.codes(node, other, self.key), behind, self._marks(last, behind))
            self.cache.put(("closed", number, joins), known, known.nbytes)
        return known

    def _marks(self, join: Join, behind: Reach) -> Bits:
        """Which pairs of keys the rows of a closing join may have together."""
        key = ("marks", join.table, join.column, join.equal[0][0])
        known: Bits | None = self.cache.get(key)
        if known is None:
            known = marks_of(behind.offsets, behind.equal_columns[0])
            self.cache.put(key, known, known.nbytes)
        return known

    def _above(
        self, state: State, node: int, joins: tuple[Join, ...], at_once: int, before: Entries | None = None
    ) -> tuple[Entries, Callable[[Ref], Codes]]:
        """The entries that the last join of a chain leads from, and the keys of variables there."""
        if len(joins) == 1:
            if node > 0 and self.ways.is_strict:
                self.check_count(len(state.entries[node]), joins, on_the_way=True)
            return state.entries[node], lambda ref: state.codes(node, ref, self.key)
        above = self.held_entries(state, node, joins[:-1], at_once) if before is None else before

        def lookup(ref: Ref) -> Codes:
            if ref.node == FIRST_NEW - (len(joins) - 2):
                return gathered(self.key(joins[-2].table, ref.column, False), above.rows)
            if len(joins) > 2:
                raise ValueError(
                    "a chain of more than two literals may close on existing variables in its second one only"
                )
            return gathered(state.codes(node, ref, self.key), above.up)

        return above, lookup

    def cutoffs(self, state: State, example: Codes) -> Floats:
        """Up to when the examples of some entries may look."""
        own, everyone = cutoffs_of(self.examples), state.entries[0]
        if len(everyone) != own.size:
            own = own[everyone.rows]
        return own if example is everyone.example else gathered(own, example)

    def ages(self, state: State, table: str, example: Codes, rows: Codes) -> Floats:
        """How old some rows of a table are to the examples that see them."""
        times = self.database.tables[table].times
        assert times is not None
        return self.cutoffs(state, example) - times.numbers[rows]

    def rows_alone(self, state: State, table: str, example: Codes, rows: Codes) -> Reach:
        """Rows of a table that are reached already, as the input of one pass."""
        seen_up_to = self.cutoffs(state, example) if self.facts.is_dated(table) else NO_TIMES
        return Reach(example, rows, NO_OFFSETS, NO_ROWS, cutoffs=seen_up_to)
