"""The engine: clauses as trees of joins, what they cover, and the weighted coverage of every refinement at once."""

from hornboost.engine.coverage import Coverage, covers
from hornboost.engine.engine import Engine
from hornboost.engine.frontier import Frontier, Refinement
from hornboost.engine.joins import Chain, Visible
from hornboost.engine.make import make_engine
from hornboost.engine.negations import with_negations
from hornboost.engine.numbers import Look, Numbers
from hornboost.engine.state import State
from hornboost.engine.tree import to_clause

__all__ = [
    "Chain",
    "Coverage",
    "Engine",
    "Frontier",
    "Look",
    "Numbers",
    "Refinement",
    "State",
    "Visible",
    "covers",
    "make_engine",
    "to_clause",
    "with_negations",
]
