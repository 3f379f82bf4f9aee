"""Steps from a clause to a more special one: the entries that its nodes keep, over all examples."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hornboost.data.table import Column
from hornboost.dtypes import CODE
from hornboost.engine import join_kernels
from hornboost.engine.expansion import expanded
from hornboost.engine.frontier import Refinement, refined_specs
from hornboost.engine.intervals import satisfies
from hornboost.engine.pieces import OF_PIECE, TooManyAtOnceError, by_pieces, joined_state, piece
from hornboost.engine.reach import NO_ROWS, Codes, Reach, gathered
from hornboost.engine.reaching import Reaching
from hornboost.engine.row_conditions import conditions_of
from hornboost.engine.seen import depends_on_cutoff, seen_satisfies
from hornboost.engine.state import NO_MASK, Entries, State, propagate
from hornboost.engine.tree import Join
from hornboost.errors import LimitError
from hornboost.logic.aggregate import Operand
from hornboost.logic.clause import Test
from hornboost.stopping import check

SPARSE = 4
"""A join that reaches fewer than one in so many rows of a table is followed first, and its rows are tested then."""


class Refining(Reaching):
    """What applies refinements; an `Engine` scores them, too."""

    max_entries: int

    def refine(self, state: State, refinement: Refinement, changed: tuple[bool, ...] | None = None) -> State:
        """The state after a step; kept, because boosting takes the same steps again.

        Where the examples are some of more, `changed` says which nodes lose entries of any of all that are covered.
        """
        key = ("state", state.number, refinement, changed)
        known: State | None = self.cache.get(key)
        if known is not None:
            return known
        refined = self._refine(state, refinement, changed)
        before = {entries.number for entries in state.entries}
        new = sum(entries.nbytes for entries in refined.entries if entries.number not in before)
        self.cache.put(key, refined, new + refined.covered.nbytes)
        return refined

    def _refine(self, state: State, refinement: Refinement, changed: tuple[bool, ...] | None) -> State:
        node, test, specs = refinement.node, refinement.test, refined_specs(state.specs, refinement)
        if not refinement.joins:
            assert test is not None
            alive = self._alive(state, state.specs[node].table, test, state.entries[node], node == 0)
            return state.filtered(node, alive, specs, changed)
        entries = list(state.entries)
        found = self._refine_closed(state, refinement, changed)
        if found is not None:
            return found
        try:
            for k in range(1, len(refinement.joins)):
                check()
                entries.append(self.entries(state, node, refinement.joins[:k], self.max_entries))
        except TooManyAtOnceError:
            if state.entries[node].number == OF_PIECE:
                raise
            return self._refine_by_pieces(state, refinement, changed)
        check()
        entries.append(self._below(state, node, refinement.joins, test, entries[-1]))
        check()
        alive = np.ones(len(entries[-1]), np.bool_)
        return propagate(specs, entries, state.covered, {len(specs) - 1: alive}, changed)

    def _refine_closed(self, state: State, refinement: Refinement, changed: tuple[bool, ...] | None) -> State | None:
        """The same where a closing join says which of many rows on the way to hold; None where all of them live on."""
        node, test, joins, middle = refinement.node, refinement.test, refinement.joins, len(state.specs)
        if changed is not None and not changed[middle]:
            return None
        try:
            closed = self.closed(state, node, joins)
        except LimitError:
            return None
        if closed is None:
            return None
        last = self._passing(state, closed.reach, joins[-1].table, test)
        covered = np.zeros(state.covered.size, np.bool_)
        covered[last.example] = True
        is_live = join_kernels.has_live_child(last.up, np.ones(len(last), np.bool_), closed.up.size)
        if changed is None:
            first = self.reach(state, node, joins[:1])
            codes = np.where(gathered(covered, first.example), first.codes, CODE(-1))
            if np.count_nonzero(is_live) == first._replace(codes=codes).count_rows():
                return None
        entries = *state.entries, Entries(closed.reach.example, closed.rows, closed.up), last
        specs, alive = refined_specs(state.specs, refinement), np.ones(len(last), np.bool_)
        return propagate(specs, entries, state.covered, {middle + 1: alive}, changed, frozenset({middle}))

    def _refine_by_pieces(self, state: State, refinement: Refinement, changed: tuple[bool, ...] | None) -> State:
        """The same, joined from pieces of the examples; which nodes lose entries is for all of them to say."""
        pieces = by_pieces(state, lambda part: self._refine(part, refinement, changed))
        if changed is None:
            lost = tuple(any(each) for each in zip(*(part.changed for _, _, part in pieces), strict=True))
            pieces = [
                (lo, hi, part if part.changed == lost else self._refine(piece(state, lo, hi), refinement, lost))
                for lo, hi, part in pieces
            ]
        return joined_state(pieces, state)

    def _below(self, state: State, node: int, joins: tuple[Join, ...], test: Test | None, before: Entries) -> Entries:
        """The entries of the last literal of a chain that pass its test, for the covered examples only."""
        known: Entries | None = self.cache.get(("entries", state.entries[node].number, joins))
        if known is not None:
            alive = gathered(state.covered, known.example)
            if test is not None:
                alive &= self._alive(state, joins[-1].table, test, known, False)
            if alive.all():
                return known
            example, rows, up, _ = join_kernels.compact(known.example, known.rows, known.up, alive, NO_ROWS)
            return Entries(example, rows, up)
        reach = self.reach(state, node, joins, before=before if len(joins) > 1 else None)
        return self._passing(state, reach, joins[-1].table, test)

    def _passing(self, state: State, reach: Reach, name: str, test: Test | None) -> Entries:
        """The entries behind a join that pass a test, for the covered examples only."""
        codes = np.where(gathered(state.covered, reach.example), reach.codes, CODE(-1))
        reach, table = reach._replace(codes=codes), self.database.tables[name]
        if test is None:
            return expanded(reach, NO_MASK)
        if depends_on_cutoff(table, test):
            return expanded(reach, NO_MASK, conditions_of(table, test, self.facts))
        if SPARSE * reach.count_rows() > table.n_rows:
            return expanded(reach, self.passes(table.name, test, None, False))
        found = expanded(reach, NO_MASK)
        alive = self.passes(table.name, test, found.rows, False)
        example, rows, up, _ = join_kernels.compact(found.example, found.rows, found.up, alive, NO_ROWS)
        return Entries(example, rows, up)

    def _alive(self, state: State, table: str, test: Test, entries: Entries, is_root: bool) -> NDArray[np.bool_]:
        """Which entries pass a test on the rows of their table."""
        if not is_root and depends_on_cutoff(self.database.tables[table], test):
            cutoffs = self.cutoffs(state, entries.example)
            return seen_satisfies(self.database.tables[table], test, self.facts, entries.rows, cutoffs)
        are_all = is_root and len(entries) == self.examples.n_rows  # the examples themselves
        return self.passes(table, test, None if are_all else entries.rows, is_root)

    def passes(self, table: str, test: Test, rows: Codes | None, is_root: bool) -> NDArray[np.bool_]:
        """Which rows of a table pass a test that says the same of them for all examples."""
        return satisfies(self.column(table, test.column, is_root), test, self.facts, rows)

    def column(self, table: str, operand: Operand, is_root: bool) -> Column:
        found = (self.examples if is_root else self.database.tables[table]).column(operand)
        assert found is not None
        return found
