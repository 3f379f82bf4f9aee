"""Joins that close on a second key, from few examples at a time."""

from __future__ import annotations

from hornboost.engine import seeded_kernels as kernels
from hornboost.engine.blocks import build_block
from hornboost.engine.closing import marks_of
from hornboost.engine.engine import Engine
from hornboost.engine.frontier import Option
from hornboost.engine.joins import Chain
from hornboost.engine.key_kernels import Bits
from hornboost.engine.state import State
from hornboost.errors import LimitError
from hornboost.stopping import check


class Closings:
    """What `Engine.options` gives for such a join, faster."""

    def __init__(self) -> None:
        self._marks: dict[tuple[str, str, str], Bits] = {}

    @staticmethod
    def knows(chain: Chain) -> bool:
        """Whether a chain is one join that shares one more key with the clause."""
        return len(chain.joins) == 1 and len(chain.joins[0].equal) == 1 and not chain.joins[0].unequal

    def options(self, engine: Engine, state: State, chain: Chain) -> list[Option]:
        """The option of a chain below a node; none when it reaches too much, or when closing drops nothing."""
        (join,) = chain.joins
        check()
        try:
            reach = engine.checked_reach(state, chain.node, chain.joins)
        except LimitError:
            return []
        marks = self._marked(engine, join.table, join.column, join.equal[0][0])
        example, rows, dropped = kernels.closing_rows(*reach[:5], reach.equal_columns[0], reach.equal_codes[0], marks)
        if not dropped:
            return []
        check()
        attributes = engine.attributes(join.table, False)
        selected = tuple(range(len(attributes.columns)))
        block = build_block(
            engine.rows_alone(state, join.table, example, rows),
            attributes.inputs(selected),
            True,
            engine.workshop.pool,
            engine.workshop.n_jobs,
        )
        assert block is not None
        return [Option(chain, block, attributes)]

    def _marked(self, engine: Engine, table: str, column: str, other: str) -> Bits:
        """Where pairs of keys of the table's rows fall."""
        if (table, column, other) not in self._marks:
            index = engine.database.index(table, column)
            self._marks[table, column, other] = marks_of(
                index.offsets, engine.facts.key_by(table, other, column, index)
            )
        return self._marks[table, column, other]
