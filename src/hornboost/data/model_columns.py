"""What a model tells of the columns that it looks at, and whether tables were read so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from hornboost.data.date_forms import order_of
from hornboost.data.describe import type_name
from hornboost.data.table import Column, Table


class ModelColumn(Protocol):
    """What a model tells of a column that it looks at."""

    @property
    def type(self) -> str:
        """key, nominal, numeric or date."""

    @property
    def domain(self) -> str | None:
        """The identifiers that a key shares with others."""

    @property
    def stored(self) -> str | None:
        """What the values were stored as, in the words of `stored_type`."""


def is_read_as(tables: Mapping[str, Table], columns: Mapping[tuple[str, str], ModelColumn]) -> bool:
    """Whether columns have the types that a model knows, and keys that it joins are the same identifiers here; what is
    not there is for the model to miss.
    """
    joined: dict[str, set[str | None]] = {}
    for (table, name), column in columns.items():
        found = tables[table].columns.get(name) if table in tables else None
        if found is None:
            continue
        if not _is_alike(found, column):
            return False
        if column.domain is not None:
            joined.setdefault(column.domain, set()).add(found.domain)
    return all(len(domains) == 1 for domains in joined.values())


def _is_alike(found: Column, column: ModelColumn) -> bool:
    respelled = column.type == "nominal" and found.stored == "text" and column.stored not in (None, "text", "integer")
    orders = {order_of(found.stored), order_of(column.stored)} - {None} if column.type == "date" else ()
    return type_name(found) == column.type and not respelled and len(orders) < 2
