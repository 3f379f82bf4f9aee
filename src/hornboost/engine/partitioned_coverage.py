"""What clauses cover of examples that lie in partitions: asked there, and given back as bits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from hornboost.data.table import Table
from hornboost.engine import part as work
from hornboost.engine.coverage import BLOCK, Coverage, Flags
from hornboost.engine.part import Setup, new_token
from hornboost.engine.partitioned import SMALL
from hornboost.engine.parts import Handle, PerPart
from hornboost.engine.placement import Placement
from hornboost.engine.plan import JoinGroup
from hornboost.errors import DataError
from hornboost.stopping import check


@dataclass(eq=False)
class PartitionedCoverage(Coverage):
    """Clauses bound to a database whose rows lie in partitions."""

    token: int = field(default_factory=new_token)

    def __post_init__(self) -> None:
        super().__post_init__()
        _check_held(self.plan.root, (), self)

    def blocks(self, examples: Table) -> Iterator[tuple[int, Flags]]:
        placement, parts = Placement.of(self.database, examples), self.database.parts
        setups = [Setup(self.token, *each, {}, 0, 1) for each in placement.examples(self._looked_at(examples))]
        asked = parts.keep(PerPart(setups), small=SMALL)
        found = parts.values(parts.each(work.covered, asked, self.token, self._plan))
        n_features = len(self.plan.root.features)
        packed = np.empty((examples.n_rows, -(-n_features // 8)), np.uint8)
        for bits, chosen in zip(found, placement.positions, strict=True):
            packed[chosen] = bits
        for start in range(0, examples.n_rows, BLOCK):
            check()
            flags = np.unpackbits(packed[start : start + BLOCK], axis=1, count=n_features)
            yield start, flags.view(np.bool_)

    @cached_property
    def _plan(self) -> Handle:
        return self.database.parts.keep(self.plan)

    def _looked_at(self, examples: Table) -> Table:
        """The examples with nothing but their keys and what clauses ask of themselves."""
        asked, known = self.places[self.plan.root.table, True], examples.as_known()
        columns = {name: column for name, column in known.columns.items() if column.kind == "key" or name in asked}
        aggregates = {term: column for term, column in known.aggregates.items() if term in asked}
        return replace(known, columns=columns, aggregates=aggregates, late={})


def _check_held(group: JoinGroup, above: tuple[int, ...], coverage: Coverage) -> None:
    """Refuse clauses that reach farther than partitions hold rows; `above` are the distances of the rows above.

    A row is as near as the nearest that it shares a key with: what differs from others hangs below them in the plan.
    """
    store, join, depth = coverage.database.stored, group.join, 0
    if join is not None:
        shared = [ref for ref in (join.source, *(ref for _, ref in join.equal)) if ref is not None]
        depth = 1 + min((above[-ref.node] for ref in shared), default=0)
    if store is not None and join is not None and not store.is_whole(group.table):
        if join.source is None:
            raise DataError(
                f"{store.folder.name}: a literal of '{group.table}' shares no variable with the others, and no "
                "partition holds all rows of that table; read the source itself for this"
            )
        if depth > store.depth:
            raise DataError(
                f"{store.folder.name}: a literal of '{group.table}' is {depth} joins away from the example, and the "
                f"partitions hold rows up to {store.depth}; partition the source again with a larger depth"
            )
    for below in group.groups:
        _check_held(below, (*above, depth), coverage)
