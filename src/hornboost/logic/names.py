"""Names of variables."""

from __future__ import annotations

from collections.abc import Collection
from functools import lru_cache
from itertools import count


def variable_name(column: str, taken: Collection[str]) -> str:
    """A name for what a column holds: its first letter, and a number where that name is taken.

    >>> variable_name("account_id", {"A"}), variable_name("2nd", ()), variable_name("№", ())
    ('A2', 'N', 'X')
    """
    letter = _letter(column)
    if letter not in taken:
        return letter
    return next(name for name in (f"{letter}{i}" for i in count(2)) if name not in taken)


@lru_cache(maxsize=4096)
def _letter(column: str) -> str:
    return next((c for c in column if c.isascii() and c.isalpha()), "x").upper()
