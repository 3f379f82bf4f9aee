"""Symmetric relations: a table in which each row also stands for itself with two of its keys swapped."""

from __future__ import annotations

from collections.abc import Mapping
from copy import copy
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hornboost.data.table import Column, Table
from hornboost.errors import DataError

if TYPE_CHECKING:
    from hornboost.data.database import Database


def mirrored(database: Database, symmetric: Mapping[str, tuple[str, str]]) -> Database:
    """The database with both directions of each relation named in `symmetric`, the missing ones added as further rows.

    >>> import pandas as pd, hornboost as hb
    >>> molecule = pd.DataFrame({"m": ["x"], "active": ["1"]})
    >>> bond = pd.DataFrame({"m": ["x", "x"], "one": ["a", "b"], "two": ["b", "c"]})
    >>> db = hb.Database.from_frames(
    ...     {"molecule": molecule, "bond": bond}, target="molecule", key="m", label="active",
    ...     keys={"bond": {"one": "atom", "two": "atom"}},
    ... )
    >>> mirrored(db, {"bond": ("one", "two")}).tables["bond"].n_rows
    4
    """
    if symmetric and database.parts is not None:
        raise DataError(
            f"symmetric: the rows of '{next(iter(symmetric))}' are in partitions and cannot be turned round there; add "
            "both directions to the source and partition it again, or read the source itself"
        )
    tables = dict(database.tables)
    for name, (left, right) in symmetric.items():
        if name not in tables:
            raise DataError.unknown_table(name, tables)
        tables[name] = _mirrored(tables[name], left, right)
    other = object.__new__(type(database))
    other.__setstate__({**database.__getstate__(), "_built": replace(database._built, tables=tables)})
    return other


def _mirrored(table: Table, left: str, right: str) -> Table:
    for name in (left, right):
        if name not in table.columns:
            raise DataError.unknown_column(table.name, name, table.columns)
    one, two = table.columns[left], table.columns[right]
    if one.kind != "key" or one.domain != two.domain:
        raise DataError(
            f"table '{table.name}': the columns '{left}' and '{right}' are not keys of one thing, so the "
            "relation has no two directions"
        )
    swapped = {left: right, right: left}
    times = [] if table.times is None else [table.times.numbers]
    stacked = np.stack([*(column.values.astype(np.float64) for column in table.columns.values()), *times])
    turned = np.stack(
        [*(table.columns[swapped.get(name, name)].values.astype(np.float64) for name in table.columns), *times]
    )
    _, first = np.unique(np.concatenate([stacked, turned], axis=1), axis=1, return_index=True)
    added = np.sort(first[first >= table.n_rows]) - table.n_rows
    columns: dict[str, Column] = {}
    for name, column in table.columns.items():
        other = table.columns[swapped.get(name, name)]
        columns[name] = replace(copy(column), values=np.concatenate([column.values, other.values[added]]))
    when = table.times
    if when is not None:
        when = when.holding(np.concatenate([when.values, when.values[added]]))
    return Table(table.name, columns, table.n_rows + len(added), times=when, late=table.late)
