"""Clauses: text, Prolog, subsumption; no data."""

from __future__ import annotations

from hornboost.logic.canonical import canonical
from hornboost.logic.clause import Clause, Head, Literal, Test
from hornboost.logic.subsumption import subsumes

__all__ = ["Clause", "Head", "Literal", "Test", "canonical", "subsumes"]
