"""The ways to bind a query, and what a new literal makes of them.

Long passes are made in parts, between which work may end.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from hornboost.engine.join_kernels import cuts
from hornboost.engine.reach import AT_ONCE, NO_OFFSETS
from hornboost.mining import query_kernels as kernels
from hornboost.mining.row_kernels import Cutoffs, HeldRows
from hornboost.stopping import check

Codes = NDArray[np.int32]
Words = NDArray[np.uint64]


@dataclass(frozen=True, eq=False, slots=True)
class Bindings:
    """Every way to bind a query, sorted by example: the codes of its variables, and the row of its last literal.

    `cutoffs` are those of all examples, None where nothing has a time.
    """

    example: Codes
    variables: Codes
    rows: Codes
    cutoffs: Cutoffs = None

    @classmethod
    def of_examples(cls, keys: Codes, cutoffs: Cutoffs = None) -> Bindings:
        """Each example with its own keys."""
        everyone = np.arange(len(keys), dtype=np.int32)
        return cls(everyone, np.ascontiguousarray(keys), everyone, cutoffs)

    def __len__(self) -> int:
        return len(self.example)

    @property
    def nbytes(self) -> int:
        return self.example.nbytes + self.variables.nbytes + self.rows.nbytes

    def count_reached(self, literal: kernels.Prepared) -> int:
        """The rows that a literal joins with all bindings."""
        return int(
            kernels.count_reached(
                self.example, self.variables, literal.variable, literal.offsets, literal.times, self.cutoffs
            )
        )

    def reach(self, literal: kernels.Prepared, slots: kernels.Slots, rows: HeldRows, known: Words) -> Words:
        """The conditions of a new literal that each example reaches under each slot (see `kernels.reach_literal`)."""
        reached: Words | None = None
        for part in self._parts(literal):
            found = kernels.reach_literal(
                part.example, part.variables, part.rows, slots, literal, rows, known, self.cutoffs
            )
            reached = found if reached is None else np.bitwise_or(reached, found, out=reached)
        assert reached is not None
        return reached

    def extended(
        self, literal: kernels.Prepared, rows: HeldRows, attribute: int, condition: int, limit: int
    ) -> Bindings:
        """The bindings that a new literal gives, one more than `limit` at most.

        An `attribute` of -1 asks for no condition.
        """
        made = []
        for part in self._parts(literal):
            made.append(
                kernels.extend(part.example, part.variables, literal, rows, attribute, condition, limit, self.cutoffs)
            )
            limit -= len(made[-1][0])
            if limit < 0:
                break
        example, variables, last = made[0] if len(made) == 1 else map(np.concatenate, zip(*made, strict=True))
        return Bindings(example, variables, last, self.cutoffs)

    def with_condition(self, rows: HeldRows, attribute: int, condition: int) -> Bindings:
        """The bindings whose last row holds a condition."""
        found = kernels.select(self.example, self.variables, self.rows, rows, attribute, condition, self.cutoffs)
        return Bindings(*found, self.cutoffs)

    def _parts(self, literal: kernels.Prepared) -> Iterator[Bindings]:
        if len(self) * max(len(literal.rows), 1) <= AT_ONCE or self.count_reached(literal) <= AT_ONCE:
            yield self
            return
        codes = np.ascontiguousarray(self.variables[:, literal.variable])
        for lo, hi in pairwise(cuts(self.example, codes, literal.offsets, NO_OFFSETS, AT_ONCE).tolist()):
            check()
            yield Bindings(self.example[lo:hi], self.variables[lo:hi], self.rows[lo:hi], self.cutoffs)
