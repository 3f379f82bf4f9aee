"""Frequent queries, and how each came from its parent."""

from __future__ import annotations

from dataclasses import dataclass

from hornboost.logic.clause import Clause
from hornboost.mining.additions import Addition
from hornboost.mining.paths import Path, Shape
from hornboost.mining.structure import Body, Structure


@dataclass(eq=False, slots=True)
class Query:
    """A frequent query: its coverage of the training examples as packed bits, its support by class, and how it came
    from its parent: by a new literal (`added`), or by a further condition on the last one.

    A `pending` one says nothing new before its last literal has further conditions. To one that was refined, the
    literals `barren` cannot be added. What its family shares has about so many bindings as `rows`.
    """

    body: Body
    structure: Structure
    parent: Query | None = None
    added: Addition | None = None
    condition: int = 0
    covered: bytes = b""
    support: tuple[float, ...] = ()
    pending: bool = False
    barren: frozenset[Shape] = frozenset()
    rows: float = 0.0

    @property
    def path(self) -> Path:
        """The steps to it from the most general query."""
        if self.parent is None:
            return ()
        return (*self.parent.path, (None if self.added is None else self.added.shape, self.condition))

    @property
    def length(self) -> int:
        """Σ max(1, conditions) over its literals, the conditions alone for the example's own."""
        return len(self.body[0][2]) + sum(max(1, len(tests)) for _, _, tests in self.body[1:])


def query_text(clause: Clause) -> str:
    """A query as text: the clause's body without its head."""
    return str(clause).partition(" :- ")[2].removesuffix(".")
