"""Examples with the aggregates that clauses look at: computed once, by DuckDB, and then columns like others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hornboost.aggregates import plan
from hornboost.aggregates.compute import Aggregator
from hornboost.aggregates.meaning import meaning
from hornboost.aggregates.reach import rows_reached
from hornboost.data.table import Column, Table
from hornboost.errors import LimitError
from hornboost.logic.aggregate import Aggregate
from hornboost.stopping import check

if TYPE_CHECKING:
    from hornboost.data import Database

MOST_ROWS = 1 << 31
"""Rows that all examples together may reach over a path."""


def with_aggregates(database: Database, examples: Table, aggregates: Iterable[Aggregate]) -> Table:
    """The examples with these aggregates, of which those that they have already are not computed again."""
    new = [aggregate for aggregate in dict.fromkeys(aggregates) if aggregate not in examples.aggregates]
    if not new:
        return examples
    found = dict(zip(new, computed(database, examples, new), strict=True))
    return replace(examples, aggregates={**examples.aggregates, **found})


def computed(database: Database, examples: Table, aggregates: Sequence[Aggregate]) -> list[Column]:
    """Aggregates of the examples as columns."""
    meanings = [meaning(database, aggregate) for aggregate in aggregates]
    for path in dict.fromkeys(found.path for found in meanings):
        count = rows_reached(examples, database.tables, path.steps)
        if count > MOST_ROWS:
            raise LimitError(f"the examples reach {count:,} rows of '{path.label}', too many to aggregate; pass fewer")
    check()
    parts = {part.name: part for found in meanings for part in _parts(found)}
    values = Aggregator(database.tables, database.target.table, {}, exact=True).compute(examples, list(parts.values()))
    check()
    return [_column(database, found, values) for found in meanings]


def aggregate_type(database: Database, aggregate: Aggregate) -> Column:
    """The column that an aggregate is, without values."""
    found = meaning(database, aggregate)
    empty: NDArray[Any] = np.empty(0)
    return _column(database, found, {part.name: empty for part in (found, *_parts(found))})


def _parts(found: plan.Aggregate) -> list[plan.Aggregate]:
    """What DuckDB computes: a share is made of two counts, by one grouping for all values of a column."""
    if found.function != "share":
        return [found]
    return [
        replace(found, name=f"{found.name} selected", function="count"),
        replace(found, name=f"{found.path.label} all", function="count", where=None),
    ]


def _column(database: Database, found: plan.Aggregate, values: dict[str, NDArray[Any]]) -> Column:
    column = None if found.column is None else database.tables[found.path.table].columns[found.column]
    if found.function == "mode":
        assert column is not None
        return Column(found.name, "nominal", values[found.name], categories=column.categories)
    if found.function == "share":
        some, every = (values[part.name].astype(np.float64) for part in _parts(found))
        return Column(found.name, "numeric", np.divide(some, every, out=np.full_like(some, np.nan), where=every > 0))
    is_date = column is not None and column.is_date and found.function in ("min", "max")
    return Column(found.name, "numeric", values[found.name].astype(np.float64), is_date=is_date)
