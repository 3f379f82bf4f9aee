"""The engine over a database, whether its rows are here or in partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hornboost.data.bins import MAX_BINS
from hornboost.data.table import Table
from hornboost.engine.engine import Engine

if TYPE_CHECKING:
    from hornboost.data import Database


def make_engine(database: Database, examples: Table, **options: Any) -> Engine:
    """An engine over encoded examples, with the options of `Engine`."""
    if database.parts is None:
        return Engine(database, examples, **options)
    from hornboost.engine.partitioned import PartitionedEngine

    if database.stored is not None:
        database.stored.check(options.get("max_depth", 0), options.get("max_bins", MAX_BINS))
    return PartitionedEngine(database, examples, **options)
