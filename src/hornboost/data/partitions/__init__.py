"""A database on disk in partitions: some of the examples each, with every row that they reach."""

from __future__ import annotations

from hornboost.data.partitions.store import PartitionStore

__all__ = ["PartitionStore"]
