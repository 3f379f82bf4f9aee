"""Examples with the aggregates that clauses look at: computed once, and then columns like others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from hornboost.aggregates.meaning import meaning
from hornboost.aggregates.reach import rows_reached
from hornboost.aggregates.reached import RowsReached
from hornboost.aggregates.view import cutoffs_are_dates
from hornboost.data.table import Column, Table
from hornboost.dtypes import CODE
from hornboost.errors import LimitError
from hornboost.logic.aggregate import Aggregate

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
        count = rows_reached(database, examples, path.steps)
        if count > MOST_ROWS:
            raise LimitError(f"the examples reach {count:,} rows of '{path.label}', too many to aggregate; pass fewer")
    reached = RowsReached(database, examples)
    reached.look(meanings)
    return [reached.column(found) for found in meanings]


def aggregate_type(database: Database, aggregate: Aggregate) -> Column:
    """The column that an aggregate is, without values."""
    found = meaning(database, aggregate)
    return found.typed(database.tables[found.path.table], np.empty(0, CODE), is_dated=cutoffs_are_dates(database))
