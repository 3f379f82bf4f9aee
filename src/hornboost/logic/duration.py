"""Lengths of time as text, `90d`, `12h`, `30min` or `1.5s`, and as microseconds."""

from __future__ import annotations

import re
from fractions import Fraction

UNITS = {"d": 86_400_000_000, "h": 3_600_000_000, "min": 60_000_000, "s": 1_000_000}
"""The microseconds of each unit, the longest first."""

_DURATION = re.compile(r"([-+]?(?:\d+(?:\.\d*)?|\.\d+))(d|h|min|s)", re.ASCII)


def is_duration(text: str) -> bool:
    """Whether a text spells a length of time.

    >>> is_duration("90d"), is_duration("90"), is_duration("1997-01-01")
    (True, False, False)
    """
    return _DURATION.fullmatch(text) is not None


def microseconds_of(text: str) -> float:
    """The microseconds that a text spells, a whole number of them.

    >>> microseconds_of("90d"), microseconds_of("1.5s")
    (7776000000000.0, 1500000.0)
    """
    found = _DURATION.fullmatch(text)
    if found is None:
        raise ValueError(f"'{text}' is no length of time; write a number and one of {', '.join(UNITS)}, such as 90d")
    return float(round(Fraction(found[1]) * UNITS[found[2]]))


def duration_text(microseconds: float) -> str:
    """The text of a length of time in the longest unit of which it is a whole number, otherwise in seconds.

    >>> duration_text(90 * 86_400e6), duration_text(36 * 3_600e6), duration_text(1_500_000), duration_text(-60e6)
    ('90d', '36h', '1.5s', '-1min')
    """
    whole = round(microseconds)
    for unit, length in UNITS.items():
        if whole % length == 0:
            return f"{whole // length}{unit}"
    seconds, rest = divmod(abs(whole), UNITS["s"])
    return f"{'-' if whole < 0 else ''}{seconds}.{f'{rest:06}'.rstrip('0')}s"


def readable(microseconds: float) -> str:
    """A length of time to about six digits, in the longest unit that it reaches unless it is whole in another.

    >>> readable(90 * 86_400e6), readable(36 * 3600e6), readable(86_400e6 * 45.123456789), readable(1_500_000)
    ('90d', '36h', '45.1235d', '1.5s')
    """
    exact = duration_text(microseconds)
    if not exact.endswith("s") or abs(microseconds) < UNITS["h"]:
        return exact
    unit, length = ("d", UNITS["d"]) if abs(microseconds) >= UNITS["d"] else ("h", UNITS["h"])
    return f"{microseconds / length:.6g}{unit}"
