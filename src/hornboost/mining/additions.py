"""Literals that may be added to queries."""

from __future__ import annotations

from dataclasses import dataclass, field

from hornboost.mining.counter import followed
from hornboost.mining.language import Language
from hornboost.mining.paths import Shape, extended
from hornboost.mining.structure import Atom, Skeleton, Structure


@dataclass(eq=False, slots=True)
class Addition:
    """A literal that may be added to all queries of one skeleton, under the names that the longer query has.

    A binding joins about `fan_out` rows: so many stand on average beside a row of the relation.
    """

    shape: Shape
    skeleton: Skeleton
    fan_out: float
    structure: Structure | None = None
    _atoms: dict[int, Atom] = field(default_factory=dict)

    def atom(self, condition: int) -> Atom:
        """The literal with a condition, 0 for none: one for all queries that it is added to."""
        known = self._atoms.get(condition)
        if known is None:
            known = self._atoms[condition] = (*self.skeleton[-1], (condition,) if condition else ())
        return known


def additions_to(language: Language, skeleton: Skeleton, connected: bool) -> list[Addition]:
    """All literals that may be added to the queries of a skeleton."""
    return [_addition(language, skeleton, shape) for shape in language.shapes(skeleton, connected)]


def _addition(language: Language, skeleton: Skeleton, shape: Shape) -> Addition:
    relation = language.relations[shape[0]]
    return Addition(shape, extended(skeleton, shape), relation.fan_out[followed(relation, shape[1])])
