"""Clauses: text, Prolog, canonical form; no data."""

from __future__ import annotations

from hornboost.logic.aggregate import Aggregate
from hornboost.logic.canonical import canonical
from hornboost.logic.clause import Clause, Head, Literal, Test

__all__ = ["Aggregate", "Clause", "Head", "Literal", "Test", "canonical"]
