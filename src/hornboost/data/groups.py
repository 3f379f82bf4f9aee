"""Folds that keep the examples of a group together: what is predicted then is a group that was never seen."""

from __future__ import annotations

import warnings
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hornboost.data.build import rows_of
from hornboost.data.schema import Task, split_reference
from hornboost.data.table import Column
from hornboost.errors import DataError, counted, did_you_mean

if TYPE_CHECKING:
    from hornboost.data.database import Database

USUAL = 10
"""Folds where their number is not said and there are as many groups."""

Folds = list[tuple[NDArray[np.intp], NDArray[np.intp]]]


def folds_by_group(database: Database, groups: Any, n_splits: Any = None) -> Folds:
    """Folds of about equal size, with the shares of the classes kept as far as groups allow; see `Database.folds`."""
    from sklearn.model_selection import GroupKFold, StratifiedGroupKFold

    place, codes = _groups(database, groups)
    found = np.unique(codes).size
    if n_splits is None:
        n_splits = min(USUAL, found)
    if isinstance(n_splits, bool) or not isinstance(n_splits, int | np.integer) or n_splits < 2:
        if found < 2:
            raise DataError(f"{place}: all examples are of one group, so none can be held out; name another column")
        raise DataError(f"{place}: the number of folds must be an int in [2, inf). Got {n_splits!r} instead.")
    if found < n_splits:
        few = f"{counted(found, 'group')} {'is' if found == 1 else 'are'} too few for {n_splits} folds"
        raise DataError(f"{place}: {few}; take at most {found}")
    if database.label_kind != "classes":
        return list(GroupKFold(n_splits).split(codes, groups=codes))
    labels = np.unique(np.asarray(database.examples()[1]), return_inverse=True)[1]
    for splitter in (StratifiedGroupKFold(n_splits), GroupKFold(n_splits)):
        with suppress(ValueError), warnings.catch_warnings():  # of classes that not every fold can have
            warnings.simplefilter("ignore", UserWarning)
            parts = list(splitter.split(codes, labels, codes))
            if all(test.size and np.unique(labels[train]).size > 1 for train, test in parts):
                return parts
    raise DataError(f"{place}: {n_splits} folds leave a single class to learn from; take fewer folds or another column")


def _groups(database: Database, name: Any) -> tuple[str, NDArray[np.int64]]:
    """Where errors are, and the group of each example; one without a value is a group of its own."""
    target, tables, location = database.target.table, database.schema.tables, database.schema.location
    if not isinstance(name, str):
        raise DataError(f"{location}: groups are named by a column, as 'column' or 'table.column', not by {name!r:.60}")
    known = [column.name for column in tables[target].columns]
    table, column = (target, name) if name in known or "." not in name else split_reference(name, tables)
    if table not in tables:
        raise DataError(f"{location}: groups: there is no table '{table}'{did_you_mean(table, tables)}")
    known = [found.name for found in tables[table].columns]
    if column not in known:
        raise DataError(f"{location}: groups: table '{table}' has no column '{column}'{did_you_mean(column, known)}")
    place = f"{location}: groups by '{table}.{column}'"
    codes = _codes(database, table, column, place)[database.example_rows]
    return place, np.where(codes < 0, codes.max(initial=0) + 1 + np.arange(codes.size), codes)


def _codes(database: Database, table: str, column: str, place: str) -> NDArray[np.int64]:
    """A number for each value of a column, by row of the target; -1 where there is none."""
    target = database.target
    if table == target.table:
        if column == target.label:
            raise DataError(f"{place}: this is the label, whose values every fold needs; name another column")
        if column in database.hidden_codes:
            return database.hidden_codes[column].astype(np.int64)
    if table not in database.tables:
        raise DataError(f"{place}: the table is not read here; name a column of the target")
    found = database.tables[table]
    known = found.columns.get(column)
    if found.times is not None and found.times.name == column:
        known = found.times
    rows = rows_of(table, Task(target.table), database.tables, database.schema)
    if known is None:
        raise DataError(f"{place}: its values are not kept here; name a column that rules may use")
    if rows is None:
        raise DataError(
            f"{place}: the examples have no row each in '{table}' to take it from; name a column of the target, or of "
            "a table whose primary key the target holds"
        )
    return np.append(_numbered(known), -1)[rows]


def _numbered(column: Column) -> NDArray[np.int64]:
    if column.kind != "numeric":
        return column.codes.astype(np.int64)
    codes = np.unique(column.numbers, return_inverse=True)[1].astype(np.int64)
    return np.where(column.missing, -1, codes)
