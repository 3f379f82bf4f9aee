"""How many joins away from an example the tables are, and which of them no rule can look at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from hornboost.data.table import Table

FARTHEST = 4
"""Joins to the farthest table that gradient boosting looks at where its depth is left to be chosen."""


def distances(tables: Mapping[str, Table], target: str) -> dict[str, int]:
    """The joins between an example and a row of each other table that can be reached at all, the nearest first."""
    known = {column.domain for column in tables[target].keys}
    found: dict[str, int] = {}
    while True:
        distance = max(found.values(), default=0) + 1
        near = [
            name
            for name, table in tables.items()
            if name != target and name not in found and known & {column.domain for column in table.keys}
        ]
        if not near:
            return found
        found |= dict.fromkeys(near, distance)
        known |= {column.domain for name in near for column in tables[name].keys}


def unreached(tables: Mapping[str, Table], target: str, max_depth: int) -> dict[str, str]:
    """The tables that no rule of so many joins can look at, each with the reason."""
    found = distances(tables, target)
    far = {name: f"{distance} joins away" for name, distance in found.items() if distance > max_depth}
    apart = {name: "no link leads there" for name in tables if name != target and name not in found}
    return far | apart


def about_unreached(missed: Mapping[str, str], target: str, max_depth: int) -> Iterable[str]:
    """Sentences about them, with the way out of each kind.

    >>> list(about_unreached({"item": "3 joins away", "log": "no link leads there"}, "shop", 2))[0]
    'rules of up to 2 joins (max_depth) reach no row of item (3 joins away)'
    """
    far = [f"{name} ({why})" for name, why in missed.items() if why.endswith("away")]
    apart = [name for name, why in missed.items() if not why.endswith("away")]
    if far:
        joins = "1 join" if max_depth == 1 else f"{max_depth} joins"
        yield f"rules of up to {joins} (max_depth) reach no row of {', '.join(far)}"
    if apart:
        yield f"no link leads from {target} to {', '.join(apart)}: no rule looks there unless a foreign key is declared"
