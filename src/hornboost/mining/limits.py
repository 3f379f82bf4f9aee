"""How much mining may do, counted and never timed, and what it left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class Limits:
    """Where mining ends or leaves something out: each is told in `Mined.left_out`.

    `max_rows` bounds the rows that joins look at, over all queries; `max_bindings` the ways to bind one query.
    """

    max_patterns: int | None = None
    max_rows: int | None = None
    max_bindings: int = 5_000_000
    cache_bytes: int = 1 << 29


@dataclass
class LeftOut:
    """What was left out: a sentence for each kind of thing, however often it happened.

    >>> left_out = LeftOut(["a column was left out"])
    >>> for query in ("p", "q", "r"):
    ...     left_out.add("queries were not extended", lambda query=query: query)
    >>> left_out.sentences()
    ['a column was left out', 'queries were not extended: p and 2 more']
    """

    told: list[str] = field(default_factory=list)
    _first: dict[str, str] = field(default_factory=dict)
    _counts: Counter[str] = field(default_factory=Counter)

    def tell(self, sentence: str) -> None:
        """Something that happens once."""
        self.told.append(sentence)

    def add(self, kind: str, text: Callable[[], str]) -> None:
        """One more of a kind; only the first is asked for its text."""
        if kind not in self._first:
            self._first[kind] = text()
        self._counts[kind] += 1

    def sentences(self) -> list[str]:
        """All that was left out."""
        more = {kind: f" and {count - 1:,} more" if count > 1 else "" for kind, count in self._counts.items()}
        return [*self.told, *(f"{kind}: {first}{more[kind]}" for kind, first in self._first.items())]


def largest_affordable(costs: NDArray[np.float64], budget: float) -> float:
    """The cost above which steps must be left out, so that all others together
    stay within a budget; infinite where all do.

    >>> largest_affordable(np.array([5.0, 1.0, 2.0]), 4), largest_affordable(np.array([5.0, 1.0]), 6)
    (2.0, inf)
    """
    ordered = np.sort(costs)
    affordable = int(np.searchsorted(np.cumsum(ordered), budget, side="right"))
    if affordable == len(ordered):
        return np.inf
    below = int(np.searchsorted(ordered, ordered[affordable]))  # of equal ones all or none
    return float(ordered[below - 1]) if below else -np.inf
