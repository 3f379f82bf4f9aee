"""Clauses: text, Prolog, SQL, subsumption; no data."""

from __future__ import annotations

from hornboost.logic.clause import Clause, Head, Literal, Test

__all__ = ["Clause", "Head", "Literal", "Test"]
