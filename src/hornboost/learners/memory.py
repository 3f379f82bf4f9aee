"""What a run's searches found, in order, so that a run that was broken off is repeated without searching."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeVar

from hornboost.engine.tree import Spec
from hornboost.errors import HornBoostError, ModelError

Result = TypeVar("Result")


class Outcome(NamedTuple):
    """The clauses that a search found, as trees of joins, and figures that go with them."""

    clauses: tuple[tuple[Spec, ...], ...]
    figures: tuple[float, ...] = ()


class Memory:
    """The results of all searches of a run: those known from before are given back one by one, further ones are noted.

    >>> memory = Memory([Outcome((), (1.0,))])
    >>> def search(result):
    ...     return memory.recall(lambda: result, lambda one: Outcome((), (one,)), lambda found: found.figures[0])
    >>> search(5.0), search(7.0), len(memory.found)
    (1.0, 7.0, 2)
    """

    def __init__(self, found: list[Outcome] | None = None, noted: Callable[[], object] = lambda: None) -> None:
        """`noted` is called whenever a further result is there."""
        self.found = [] if found is None else found
        self.noted = noted
        self.recalled = 0

    @property
    def knows_more(self) -> bool:
        """Whether the next result is known."""
        return self.recalled < len(self.found)

    def recall(
        self, search: Callable[[], Result], written: Callable[[Result], Outcome], read: Callable[[Outcome], Result]
    ) -> Result:
        """The next result: read from what is known, or searched for."""
        if self.knows_more:
            try:
                result = read(self.found[self.recalled])
            except HornBoostError:
                raise
            except (IndexError, TypeError, ValueError):
                raise ModelError(
                    "the checkpoint holds something else than this booster finds; delete it to begin anew"
                ) from None
        else:
            result = search()
            self.found.append(written(result))
            self.noted()
        self.recalled += 1
        return result
