"""What can be added at the root, learned once for all rounds.

Over distinct keys where examples share them, not walking long chains.

The conditions behind two joins are the union of those behind the second one over the keys that the first one reaches;
and a second join that closes on another key of the example meets the first one half-way. So the cost of a chain is that
of its parts.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from hornboost.dtypes import CODE
from hornboost.engine import seeded_kernels as kernels
from hornboost.engine.blocks import Block, build_block, united_keys
from hornboost.engine.engine import Engine
from hornboost.engine.frontier import NodeOptions, Option
from hornboost.engine.holders import Holders, n_reached, root_columns
from hornboost.engine.joins import Chain
from hornboost.engine.reach import NO_OFFSETS, NO_ROWS, Longs, Reach
from hornboost.engine.tree import Join
from hornboost.errors import LimitError
from hornboost.stopping import check


@dataclass(frozen=True, eq=False, slots=True)
class RootPart:
    """Options at the root whose pairs tell about the examples, or about the distinct values of one of their keys.

    `places` is the place of each option in schema order.
    """

    group: NodeOptions
    places: Longs
    n_examples: int
    holders: Holders | None


class RootBuilder:
    """Builds the parts of a root frontier."""

    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self._near: dict[tuple[str, str], Block] = {}

    def parts(self) -> list[RootPart]:
        """Chains that involve several keys over the examples, the others over the keys that they start from."""
        engine = self.engine
        chains = engine.graph.chains(engine.root(), 0, None, engine.max_depth, engine.look_ahead)
        found: dict[str | None, list[tuple[int, Option]]] = {None: []}
        for place, chain in enumerate(chains):
            columns = root_columns(chain)
            column = columns.pop() if len(columns) == 1 else None
            if column is not None and engine.shared_by(column) is None:
                column = None
            source = self._source(column)[0]
            found.setdefault(column, []).extend((place, option) for option in self._options(source, chain))
        result = []
        for column, options in found.items():
            places = np.array([place for place, _ in options], np.int64)
            group = NodeOptions.of([option for _, option in options])
            result.append(RootPart(group, places, engine.examples.n_rows, self._source(column)[1]))
        return result

    def _source(self, column: str | None) -> tuple[Engine, Holders | None]:
        """The engine over the distinct keys of a column, where examples share them, and which each example has."""
        held = None if column is None else self.engine.shared_by(column)
        return (self.engine, None) if held is None else held

    def _options(self, source: Engine, chain: Chain) -> list[Option]:
        check()
        if len(chain.joins) == 1 and source is self.engine:
            return source.options(source.root(), chain, None)
        if not self._allowed(chain.joins):
            return []
        check()
        if len(chain.joins) == 1:
            return source.options(source.root(), chain, None)
        if any(self.engine.facts.is_dated(join.table) for join in chain.joins[-2:]):
            return source.options(source.root(), chain, None)  # what lies behind a key is not the same for all examples
        attributes = self.engine.attributes(chain.table, False)
        block = self._closed(chain.joins) if chain.joins[1].equal else self._far(source, chain.joins)
        return [Option(chain, block, attributes)]

    def _allowed(self, joins: tuple[Join, ...]) -> bool:
        """Whether the examples together, not only their distinct keys, reach no more rows than the limit."""
        assert joins[0].source is not None
        source, holders = self._source(joins[0].source.column)
        reach = source.reach(source.root(), 0, (*joins[:-1], replace(joins[-1], equal=())))
        try:
            self.engine.check_count(n_reached(reach, holders), joins)
        except LimitError:
            return False
        return True

    def _far(self, source: Engine, joins: tuple[Join, ...]) -> Block:
        """The block behind two joins: for each key the union over the keys that the first join reaches."""
        reach = source.reach(source.root(), 0, joins)
        check()
        near = self._behind(joins[-1])
        check()
        return united_keys(reach, near, self.engine.workshop.pool, self.engine.workshop.n_jobs)

    def _behind(self, join: Join) -> Block:
        """The block of a literal over all keys of the domain that it is joined on."""
        at = (join.table, join.column)
        if at not in self._near:
            index = self.engine.database.index(join.table, join.column)
            attributes = self.engine.attributes(join.table, False)
            selected = tuple(range(len(attributes.columns)))
            keys = np.arange(index.size, dtype=CODE)
            reach = Reach(keys, keys, index.offsets, index.rows)
            inputs = attributes.inputs(selected, (join.column, index))
            block = build_block(reach, inputs, True, self.engine.workshop.pool, self.engine.workshop.n_jobs)
            assert block is not None
            self._near[at] = block
        return self._near[at]

    def _closed(self, joins: tuple[Join, ...]) -> Block:
        """The block of a second literal that closes on another key of the example.

        Its rows are looked up by that key.
        """
        first, second = joins
        ((column, closing),) = second.equal
        assert first.source is not None
        assert second.source is not None
        engine, database = self.engine, self.engine.database
        there, back = database.index(first.table, first.column), database.index(second.table, column)
        n_keys = database.domains[database.tables[second.table].columns[second.column].domain or ""].size
        example, rows = kernels.meet(
            engine.key("", first.source.column, True),
            there.offsets,
            there.rows,
            engine.key(first.table, second.source.column, False),
            engine.key("", closing.column, True),
            back.offsets,
            back.rows,
            engine.key(second.table, second.column, False),
            n_keys,
        )
        check()
        attributes = engine.attributes(second.table, False)
        selected = tuple(range(len(attributes.columns)))
        reach = Reach(example, rows, NO_OFFSETS, NO_ROWS)
        block = build_block(reach, attributes.inputs(selected), True, engine.workshop.pool, engine.workshop.n_jobs)
        assert block is not None
        return block
