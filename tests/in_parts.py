"""A database in partitions without files: every partition has all rows, and works for its own examples alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hornboost import Database
from hornboost.data.places import Places
from hornboost.data.table import Table
from hornboost.engine.part import Part
from hornboost.engine.parts import LocalParts
from hornboost.engine.sampling import splitmix64

Assignment = Callable[[Table], NDArray[Any]]


@dataclass(frozen=True, eq=False)
class Shared:
    """Opens a partition that shares the rows of the whole database."""

    database: Database

    def open(self) -> Part:
        return Part(self.database, self)


def in_parts(database: Database, n: int, assign: Assignment | None = None) -> Database:
    """The database with its examples in `n` partitions: by a hash of their first key, or as an assignment says."""

    def places(examples: Table) -> Places:
        found = assign(examples) if assign is not None else by_key(examples)
        return Places(np.asarray(found) % n)

    return database.in_parts(LocalParts([Shared(database)] * n), places)


def by_key(examples: Table) -> NDArray[np.int64]:
    codes = examples.keys[0].codes if examples.keys else np.zeros(examples.n_rows, np.int32)
    return (splitmix64(codes.astype(np.uint64)) % np.uint64(1 << 30)).astype(np.int64)
