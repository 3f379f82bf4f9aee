"""What a model tells of the columns that it looks at, and whether tables were read so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from hornboost.data.convert import remap
from hornboost.data.date_forms import order_of
from hornboost.data.describe import type_name
from hornboost.data.table import Column, Table
from hornboost.data.values import boolean_text


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


def with_booleans(
    tables: Mapping[str, Table], columns: Mapping[tuple[str, str], ModelColumn]
) -> dict[str, Table] | None:
    """The tables, in which what a model knows as booleans is spelled so, as 0 and 1 of SQLite; None where all are."""
    found: dict[str, dict[str, Column]] = {}
    for (table, name), column in columns.items():
        here = tables[table].columns.get(name) if table in tables else None
        if here is not None and column.type == "nominal" and column.stored == "boolean":
            spelled = _as_booleans(here)
            if spelled is not None:
                found.setdefault(table, {})[name] = spelled
    if not found:
        return None
    return {
        name: replace(table, columns={**table.columns, **found[name]}) if name in found else table
        for name, table in tables.items()
    }


def _as_booleans(column: Column) -> Column | None:
    if column.stored == "boolean" or column.categories is None:
        return None
    found = boolean_categories(column.categories)
    if found is None:
        return None
    categories, mapping = found
    return replace(column, values=remap(column.codes, mapping), categories=categories, stored="boolean")


def boolean_categories(words: Iterable[str]) -> tuple[NDArray[np.object_], NDArray[np.int32]] | None:
    """The booleans that words spell, and the position of each word's among them; None if they spell anything else.

    >>> categories, mapping = boolean_categories(["True", "false", "true"])
    >>> categories.tolist(), mapping.tolist()
    (['false', 'true'], [1, 0, 1])
    """
    spelled = [boolean_text(word) for word in words]
    if not spelled or None in spelled:
        return None
    categories = sorted({word for word in spelled if word is not None})
    mapping = np.array([categories.index(str(word)) for word in spelled], dtype=np.int32)
    return np.array(categories, dtype=object), mapping
