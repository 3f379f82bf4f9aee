"""Dates that a model looks at: they are written as those that it learned from, or in ISO 8601."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from hornboost.data.date_forms import are_counted, order_of
from hornboost.data.partitions.store import AbsentColumn
from hornboost.errors import DataError
from hornboost.logic.moment import DAY

if TYPE_CHECKING:
    from hornboost.data import Database
    from hornboost.data.model_columns import ModelColumn
    from hornboost.data.table import Column


def check_dates(columns: Mapping[tuple[str, str], ModelColumn], database: Database) -> None:
    """Refuse plain numbers, and another order of day and month, where a model learned from dates."""
    for (table, name), column in columns.items():
        found = database.tables[table].columns.get(name) if table in database.tables else None
        if found is None or column.type != "date" or column.stored is None:
            continue
        place = f"{database.schema.location}: table '{table}', column '{name}'"
        if are_counted(found.stored) and not are_counted(column.stored):
            _refuse_numbers(found, place)
        here, learned = order_of(found.stored), order_of(column.stored)
        if here is not None and learned is not None and here != learned:
            orders = [order.partition("-")[0] for order in (here, learned)]
            reason = f"the {orders[0]} comes first here, and the {orders[1]} where the model learned"
            raise DataError(f"{place}: {reason}; use ISO 8601 dates such as 1993-07-05")


def _refuse_numbers(found: Column, place: str) -> None:
    held = "these are numbers"
    if not isinstance(found, AbsentColumn):
        rows = np.flatnonzero(~found.missing)
        if not rows.size:
            return
        held = f"row {rows[0] + 1} holds {found.numbers[rows[0]] / DAY:.15g}, a number"
    raise DataError(f"{place}: {held} where the model learned from dates; use ISO 8601 dates such as 1993-07-05")
