"""The engine over a database, whether its rows are here or in partitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from hornboost.data.table import Table
from hornboost.engine.engine import Engine

if TYPE_CHECKING:
    from hornboost.data import Database


def make_engine(database: Database, examples: Table, **options: Any) -> Engine:
    """An engine over encoded examples, with the options of `Engine`."""
    if database.parts is None:
        return Engine(database, examples, **options)
    from hornboost.engine.partitioned import PartitionedEngine

    return PartitionedEngine(database, examples, **options)
