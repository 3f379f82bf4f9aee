"""Names of variables."""

from __future__ import annotations

from collections.abc import Collection
from itertools import count


def variable_name(column: str, taken: Collection[str]) -> str:
    """A name for what a column holds: its first letter, and a number where that name is taken.

    >>> variable_name("account_id", {"A"}), variable_name("2nd", ()), variable_name("№", ())
    ('A2', 'N', 'X')
    """
    letter = next((c for c in column if c.isascii() and c.isalpha()), "x").upper()
    return next(name for name in (letter + (str(i) if i > 1 else "") for i in count(1)) if name not in taken)
