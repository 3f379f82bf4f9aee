"""Values and names as a page shows them.

Cut to a length that is said, without characters that act instead of being seen.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

CELL, NAME, RULE = 160, 60, 2000
"""Characters shown of a cell, of a table's or column's name, and of a whole rule."""


def shown(value: Any, limit: int = CELL) -> str:
    r"""A value as text; control characters are escaped, and what is too long is cut, with its length.

    >>> shown(1234567.0), shown(0.1 + 0.2), shown(None), shown("a\x00b")
    ('1,234,567', '0.3', 'missing', 'a\\x00b')
    >>> shown("x" * 1000, 5)
    'xxxxx… (1,000 characters)'
    """
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "missing"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return number(value)
    text = str(value)
    cut = text if len(text) <= limit else f"{text[:limit]}… ({len(text):,} characters)"
    return cut if cut.isprintable() else "".join(c if c.isprintable() else repr(c)[1:-1] for c in cut)


def name(value: str) -> str:
    """The name of a table, column or class."""
    return shown(value, NAME)


def number(value: float) -> str:
    """Up to six digits, with commas between thousands.

    >>> number(93500), number(0.8284271), number(-1.5e-9), number(1e300)
    ('93,500', '0.828427', '-1.5e-09', '1e+300')
    """
    if not math.isfinite(value):
        return str(value)
    if float(value).is_integer() and abs(value) < 1e15:
        return f"{int(value):,}"
    return f"{value:.6g}"


def key_text(keys: dict[str, Any] | Sequence[tuple[str, Any]]) -> str:
    """The identity of a row: its key columns; a single one is the value alone.

    >>> key_text({"loan_id": 17}), key_text({"student": "ann", "professor": "bob"})
    ('17', 'student ann, professor bob')
    """
    pairs = list(keys.items() if isinstance(keys, dict) else keys)
    identity = [
        str(value) if isinstance(value, int) and not isinstance(value, bool) else shown(value, NAME)
        for _, value in pairs
    ]
    if len(pairs) == 1:
        return identity[0]
    return ", ".join(f"{name(column)} {text}" for (column, _), text in zip(pairs, identity, strict=True))
