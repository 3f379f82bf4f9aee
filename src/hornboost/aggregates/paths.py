"""Paths over foreign keys from the examples to the rows of other tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from hornboost.data.describe import Link
from hornboost.data.table import Column, Table

if TYPE_CHECKING:
    from hornboost.data.partitions.store import PartitionStore


@dataclass(frozen=True)
class Hop:
    """One step over a foreign key, in either direction; `single` where it leads to one row at most."""

    table: str
    column: str
    to_table: str
    to_column: str
    single: bool


@dataclass(frozen=True)
class TablePath:
    """Steps from the target to a table, and the name under which its columns are shown."""

    steps: tuple[Hop, ...]
    label: str = ""

    @property
    def table(self) -> str:
        return self.steps[-1].to_table

    @property
    def single(self) -> bool:
        return all(step.single for step in self.steps)


def hops(tables: Mapping[str, Table], links: Sequence[Link], given: PartitionStore | None = None) -> list[Hop]:
    """All steps over foreign keys, in either direction.

    Where there is no foreign key at all, key columns of one domain are joined. `given` knows of all rows which keys are
    unique, where these tables hold some of them.
    """
    steps: list[Hop] = []
    for link in links:
        unique = key_is_unique(tables[link.to_table], link.to_column, given)
        steps.append(Hop(link.table, link.column, link.to_table, link.to_column, single=unique))
        steps.append(Hop(link.to_table, link.to_column, link.table, link.column, single=False))
    if not links:
        keys = [(table.name, column) for table in tables.values() for column in table.keys]
        steps = [
            Hop(a, x.name, b, y.name, single=False) for a, x in keys for b, y in keys if a != b and x.domain == y.domain
        ]
    return list(dict.fromkeys(steps))


def find_paths(
    tables: Mapping[str, Table], links: Sequence[Link], target: str, max_depth: int, given: PartitionStore | None = None
) -> list[TablePath]:
    """All paths of at most `max_depth` steps from the target that visit no table twice, the shortest first.

    A step follows a foreign key in either direction; where there is none at all, it joins key columns of one domain.
    """
    steps = hops(tables, links, given)
    found: list[TablePath] = []
    ends: list[tuple[Hop, ...]] = [()]
    for _ in range(max_depth):
        ends = [(*end, step) for end in ends for step in steps if _continues(end, step, target)]
        found += [TablePath(end) for end in ends]
    return [TablePath(path.steps, label) for path, label in zip(found, _labels(found), strict=True)]


def _continues(end: tuple[Hop, ...], step: Hop, target: str) -> bool:
    visited = {target, *(earlier.to_table for earlier in end)}
    return step.table == (end[-1].to_table if end else target) and step.to_table not in visited


def _labels(paths: Sequence[TablePath]) -> list[str]:
    """The table's name where one path leads there, otherwise all tables on the way,
    with the key columns where that is not enough.
    """
    short = [path.table for path in paths]
    long = [".".join(step.to_table for step in path.steps) for path in paths]
    full = [".".join(f"{step.to_table}[{step.column}={step.to_column}]" for step in path.steps) for path in paths]
    return [
        one if short.count(one) == 1 else two if long.count(two) == 1 else three
        for one, two, three in zip(short, long, full, strict=True)
    ]


def key_is_unique(table: Table, column: str, given: PartitionStore | None) -> bool:
    """Whether no two rows have the same key, also among those that are elsewhere."""
    return is_unique(table.columns[column]) if given is None else given.is_unique(table.name, column)


def is_unique(column: Column) -> bool:
    codes = column.values[column.values >= 0].astype(np.int64)
    return len(codes) == 0 or int(np.bincount(codes).max()) == 1
