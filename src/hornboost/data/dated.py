"""A database that was read without times, with those that a model was learned with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hornboost.data.built import Built
from hornboost.data.domain import Domain
from hornboost.data.readers.options import with_times
from hornboost.data.table import Column, Table
from hornboost.data.times import check_comparable, encode_time
from hornboost.errors import DataError

if TYPE_CHECKING:
    from hornboost.data.database import Database

KnownLater = Mapping[str, Mapping[str, tuple[str, ...]]]
"""By table and by column with a time the columns that are filled in at that time."""


def dated(database: Database, times: Mapping[str, str], known_later: KnownLater, is_date: bool = True) -> Database:
    """The database with these times.

    The target may lack its column: the cutoffs, dates or numbers, then come with the examples, and its rows count for
    none.

    >>> import pandas as pd, hornboost as hb
    >>> loan = pd.DataFrame({"loan": [1, 2], "granted": ["2024-01-01", None], "ok": ["yes", "no"]})
    >>> db = hb.Database.from_frames({"loan": loan}, "loan", key="loan", label="ok")
    >>> len(dated(db, {"loan": "granted"}, {}).examples()[0])
    1
    """
    tables, target = dict(database.tables), database.target.table
    for name in {*times, *known_later}:
        if name not in tables:
            raise DataError.unknown_table(name, tables)
    for name, time in times.items():
        tables[name] = _timed(tables[name], time, database.domains, is_date if name == target else None)
    for name, later in known_later.items():
        tables[name] = _late(tables[name], later, database.domains)
    check_comparable(tables, target, database.schema.location)
    schema = database.schema
    if all(any(column.name == time for column in schema.tables[name].columns) for name, time in times.items()):
        schema = with_times(schema, {"times": times, "known_later": known_later})
    other: Database = object.__new__(type(database))
    state = {
        "_built": _with_cutoffs(replace(database._built, tables=tables), target),
        "_schema": schema,
        "_task": replace(database._task, time=times.get(target)),
    }
    other.__setstate__(database.__getstate__() | state)
    return other


def _timed(table: Table, name: str, domains: Mapping[str, Domain], cutoffs: bool | None) -> Table:
    """The table without the column of its time; `cutoffs` says of the target's, which may be absent, what they are."""
    rest = {column.name: column for column in table.columns.values() if column.name != name}
    if name in table.columns:
        time = _as_time(table.columns[name], domains, table.name)
    elif cutoffs is not None:
        time = Column(name, "numeric", np.full(table.n_rows, np.nan), is_date=cutoffs)
    else:
        raise DataError.unknown_column(table.name, name, table.columns)
    return Table(table.name, rest, table.n_rows, table.aggregates, time, table.late)


def _late(table: Table, known_later: Mapping[str, tuple[str, ...]], domains: Mapping[str, Domain]) -> Table:
    columns, late = dict(table.columns), dict[str, str]()
    for dating, names in known_later.items():
        for name in (*names, dating):
            if name not in columns:
                raise DataError.unknown_column(table.name, name, columns)
        columns[dating] = _as_time(columns[dating], domains, table.name)
        late |= dict.fromkeys([*names, dating], dating)
    return Table(table.name, columns, table.n_rows, table.aggregates, table.times, late)


def _as_time(column: Column, domains: Mapping[str, Domain], table: str) -> Column:
    """A column that was read as something else as times; text is encoded again by its distinct values."""
    import pyarrow as pa

    if column.kind == "numeric":
        return column
    values = domains[str(column.domain)].values if column.kind == "key" else pa.array(column.categories, pa.string())
    encoded = encode_time(column.name, pa.chunked_array([values]), f"table '{table}', column '{column.name}'")
    return replace(encoded, values=np.append(encoded.numbers, np.nan)[column.codes], stored=column.stored)


def _with_cutoffs(built: Built, target: str) -> Built:
    """The examples that have a cutoff, unless none of the rows has: then they are to be passed in with one."""
    cutoffs = built.tables[target].times
    if cutoffs is None or cutoffs.missing.all() or not cutoffs.missing.any():
        return built
    labelled, missing = built.labelled, cutoffs.missing
    keep = ~missing[labelled.rows]
    rest = replace(
        labelled, rows=labelled.rows[keep], labels=None if labelled.labels is None else labelled.labels[keep]
    )
    folds = {
        name: replace(found, of_example=found.of_example[keep]) if found.of_example.size else found
        for name, found in built.folds.items()
    }
    unlabelled = built.unlabelled[~missing[built.unlabelled]]
    whatever_time = labelled, built.unlabelled
    return replace(built, labelled=rest, unlabelled=unlabelled, folds=folds, whatever_time=whatever_time)
