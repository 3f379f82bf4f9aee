"""A database with other links than those that it was read with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from hornboost.data.schema import ForeignKey

if TYPE_CHECKING:
    from hornboost.data import Database


def linked(database: Database, links: Sequence[ForeignKey]) -> Database:
    """The database with these links between keys of one domain in place of its own.

    >>> import pandas as pd, hornboost as hb
    >>> loan, rate = pd.DataFrame({"loan": [1, 2]}), pd.DataFrame({"loan": [1, 1]})
    >>> known = {"key": "loan", "foreign_keys": [("rate.loan", "loan.loan")]}
    >>> db = hb.Database.from_frames({"loan": loan, "rate": rate}, "loan", **known)
    >>> len(db.links), len(linked(db, []).links)
    (1, 0)
    """
    other: Database = object.__new__(type(database))
    other.__setstate__(database.__getstate__() | {"_schema": replace(database.schema, foreign_keys=tuple(links))})
    return other
