"""Where a query comes from, told in numbers alone, so that whoever has the rows finds its bindings."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count

from hornboost.mining.structure import Skeleton

Shape = tuple[int, tuple[int, ...]]
"""A literal that may be added: its relation and variables, -1 for a new one."""
Step = tuple[Shape | None, int]
"""A literal that was added, None for the last one, and a condition on it, 0 for none."""
Path = tuple[Step, ...]
"""The steps from the most general query to another."""


@dataclass(frozen=True, slots=True)
class Family:
    """Queries that differ in their last condition only: by a literal `shape` after the query of a path, or by a
    further condition on its last one. Without conditions it is the query of the path itself.
    """

    path: Path
    shape: Shape | None = None
    conditions: tuple[int, ...] = ()

    @property
    def n_queries(self) -> int:
        return max(1, len(self.conditions))

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The literals that all of them have."""
        known = shapes_of(self.path)
        return known if self.shape is None else (*known, self.shape)

    @property
    def general(self) -> Path | None:
        """The path of the query that all of them refine."""
        if self.conditions:
            return self.path
        return self.path[:-1] if self.path else None

    def members(self) -> Iterator[Path]:
        """The path of each query."""
        if not self.conditions:
            yield self.path
        for condition in self.conditions:
            yield (*self.path, (self.shape, condition))


def shapes_of(path: Path) -> tuple[Shape, ...]:
    """The literals that were added on a path.

    >>> shapes_of((((1, (0, -1)), 3), (None, 5), ((2, (1,)), 0)))
    ((1, (0, -1)), (2, (1,)))
    """
    return tuple([shape for shape, _ in path if shape is not None])


def last_relation(shapes: tuple[Shape, ...]) -> int:
    """The relation of the last of a query's literals; where none was added, it is the examples."""
    return shapes[-1][0] if shapes else 0


def extended(skeleton: Skeleton, shape: Shape) -> Skeleton:
    """The literals of a query and one more.

    >>> extended(((0, (0,)),), (1, (0, -1)))
    ((0, (0,)), (1, (0, 1)))
    """
    fresh = count(1 + max((v for _, variables in skeleton for v in variables), default=-1))
    return (*skeleton, (shape[0], tuple([v if v >= 0 else next(fresh) for v in shape[1]])))
