"""The engine over a database, and what is summed up of its rows, whether these are here or in partitions."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from hornboost.aggregates.reached import RowsReached
from hornboost.data.bins import MAX_BINS
from hornboost.data.table import Table
from hornboost.engine.dask_parts import LOOK, SOON
from hornboost.engine.divided import divided, partitions_needed
from hornboost.engine.engine import Engine
from hornboost.engine.needs import USUAL_CACHE, Needs, cache_within, room_of_worker
from hornboost.engine.parts import LocalParts, Parts
from hornboost.engine.seeded import SeededEngine
from hornboost.errors import LimitError
from hornboost.memory import bytes_of
from hornboost.stopping import check

if TYPE_CHECKING:
    from hornboost.data import Database
    from hornboost.data.partitions import PartitionStore


def make_engine(database: Database, examples: Table, **options: Any) -> Engine:
    """An engine over encoded examples, with the options of `Engine`."""
    if database.parts is None:
        engine = Engine(database, examples, **options)
        needed = partitions_needed(engine)
        return engine if needed == 1 else make_engine(divided(database, needed), examples, **options)
    from hornboost.engine.partitioned import PartitionedEngine

    if database.stored is not None:
        database.stored.check(options.get("max_depth", 0), options.get("max_bins", MAX_BINS))
        limit = options.get("memory_limit")
        if limit is not None and isinstance(database.parts, LocalParts):
            Needs.of(database).check_largest(database.stored, limit)
            database.parts.within(bytes_of(limit))
        elif limit is not None:
            room, wanted = _room_of_workers(database.stored, database.parts, limit), options.get("cache_bytes")
            options["cache_bytes"] = cache_within(room, USUAL_CACHE if wanted is None else wanted)
    return PartitionedEngine(database, examples, **options)


def _room_of_workers(store: PartitionStore, parts: Parts, limit: int | str) -> int:
    """What a limit leaves each worker; one that is being replaced comes within seconds."""
    until = time.monotonic() + LOOK
    while True:
        try:
            return room_of_worker(store, parts.together, limit)
        except LimitError:
            if time.monotonic() > until:
                raise
        check()
        time.sleep(SOON)


def rows_reached(database: Database, examples: Table) -> RowsReached:
    """What encoded examples reach along paths, to be summed up."""
    if database.parts is None:
        return RowsReached(database, examples)
    from hornboost.engine.partitioned_rows import PartitionedRows

    return PartitionedRows(database, examples)


def seeded(engine: Engine) -> SeededEngine:
    """The literals that are true of single examples, whether their rows are here or in partitions."""
    if engine.database.parts is None:
        return SeededEngine(engine)
    from hornboost.engine.partitioned import PartitionedEngine
    from hornboost.engine.partitioned_seeded import PartitionedSeeded

    assert isinstance(engine, PartitionedEngine)
    return PartitionedSeeded(engine)
