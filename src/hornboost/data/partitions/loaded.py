"""Partitions of a database that is in memory."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hornboost.data.partitions.warehouse import loaded
from hornboost.data.partitions.writer import MOST_PARTS, new_folder, no_progress, write_partitions
from hornboost.errors import DataError

if TYPE_CHECKING:
    from hornboost.data.database import Database


def partition_loaded(
    database: Database,
    folder: Path,
    *,
    partitions: int,
    depth: int,
    small_table: int,
    max_bins: int,
    overwrite: bool = False,
) -> None:
    """Write a database in partitions; see `Database.partition`."""
    import duckdb

    sizes = {"partitions": partitions, "depth": depth, "small_table": small_table, "max_bins": max_bins}
    check_sizes(**sizes)
    if database.given_facts is not None:
        raise DataError(f"{database.given_facts.folder.name}: these are partitions already; partition their source")
    with new_folder(folder, overwrite) as temporary:
        try:
            with duckdb.connect() as connection:
                warehouse = loaded(connection, database.tables, database.domains)
                write_partitions(database, warehouse, temporary, no_progress, **sizes)
        except duckdb.Error as error:
            reason = str(error).strip().splitlines()[0]
            raise DataError(f"{folder}: the partitions cannot be made ({reason}); nothing was written") from None


def check_sizes(partitions: int, depth: int, small_table: int, max_bins: int) -> None:
    """Refuse numbers that make no partitions."""
    least = {
        "partitions": (partitions, 1),
        "depth": (depth, 1),
        "small_table": (small_table, 0),
        "max_bins": (max_bins, 2),
    }
    for name, (value, low) in least.items():
        if type(value) is not int or value < low:
            raise DataError(f"{name} must be an int in [{low}, inf). Got {value!r} instead.")
    if partitions > MOST_PARTS:
        raise DataError(f"partitions must be at most {MOST_PARTS:,}. Got {partitions:,} instead.")
