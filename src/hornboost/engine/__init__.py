"""The engine: clauses as trees of joins, and the weighted coverage of every refinement at once."""

from hornboost.engine.compile import clause_state, covers
from hornboost.engine.engine import Engine
from hornboost.engine.frontier import Frontier, Refinement
from hornboost.engine.joins import Chain, Visible
from hornboost.engine.tree import State, to_clause
from hornboost.engine.weights import fixed_point

__all__ = ["Chain", "Engine", "Frontier", "Refinement", "State", "Visible", "clause_state", "covers", "fixed_point", "to_clause"]
