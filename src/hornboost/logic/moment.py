"""Dates and times as numbers and as text: whole microseconds since 1970-01-01 in UTC, written in ISO 8601.

A year outside 1 to 9999 has a sign where it is not positive and as many digits as it needs (`12020-01-01`, and
`-0043-03-15` for the Ides of March of 44 BC). `infinity` and `-infinity` are later and earlier than every other moment.
"""

from __future__ import annotations

import math
import re

import numpy as np

DAY = 86_400_000_000
"""The microseconds of a day."""

LAST = 2**63 - 1
"""The count of microseconds that stands for `infinity` where only a 64-bit integer can be kept;
its negative for `-infinity`."""

_MOMENT = re.compile(
    r"([+-]?\d{4,6})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d)(?:\.(\d{1,6})\d*)?)?\s?(Z|[+-]\d\d(?::?\d\d)?)?)?",
    re.ASCII,
)


def moment_text(microseconds: float, day_only: bool = True) -> str:
    """The text of a moment; midnight is left out if `day_only`, as in the thresholds of rules.

    >>> moment_text(1_706_781_661_000_001), moment_text(86_400e6)
    ('2024-02-01T10:01:01.000001', '1970-01-02')
    >>> moment_text(86_400e6, day_only=False), moment_text(-math.inf)
    ('1970-01-02T00:00:00', '-infinity')
    """
    if abs(microseconds) >= LAST:
        return "infinity" if microseconds > 0 else "-infinity"
    day, rest = divmod(int(microseconds), DAY)
    date = day_text(day)
    if rest == 0 and day_only:
        return date
    seconds, fraction = divmod(rest, 1_000_000)
    time = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{date}T{time}.{fraction:06}" if fraction else f"{date}T{time}"


def day_text(day: int) -> str:
    """The text of a day, counted from 1970-01-01.

    >>> day_text(0), day_text(-735000), day_text(3670687)
    ('1970-01-01', '-0043-08-22', '12020-01-01')
    """
    month = np.datetime64(day, "D").astype("datetime64[M]")
    number = int(month.astype(np.int64))
    year = 1970 + number // 12
    first = int(month.astype("datetime64[D]").astype(np.int64))
    return f"{'-' if year < 0 else ''}{abs(year):04}-{number % 12 + 1:02}-{day - first + 1:02}"


def moment_of(text: str) -> float:
    """The moment that a text spells, in microseconds since 1970-01-01; one with an offset from UTC is brought to UTC.

    >>> moment_of("1970-01-02T12:00"), moment_of("1970-01-01 02:00:00+02:00"), moment_of("infinity")
    (129600000000.0, 0.0, inf)
    """
    exact = exact_moment(text)
    return math.copysign(math.inf, exact) if abs(exact) == LAST else float(exact)


def exact_moment(text: str) -> int:
    """The same as a whole number, `LAST` standing for infinity; ValueError for what is no moment."""
    if text in ("infinity", "-infinity"):
        return LAST if text == "infinity" else -LAST
    found = _MOMENT.fullmatch(text)
    if found is None:
        raise ValueError(f"'{text}' is no date in ISO 8601")
    year, month, day = int(found[1]), int(found[2]), int(found[3])
    hour, minute, second = (int(part or 0) for part in found.group(4, 5, 6))
    if not (1 <= month <= 12 and 1 <= day <= _days_in(year, month) and hour < 24 and minute < 60 and second < 60):
        raise ValueError(f"'{text}' is no date in ISO 8601")
    first = int(np.datetime64((year - 1970) * 12 + month - 1, "M").astype("datetime64[D]").astype(np.int64))
    seconds = ((first + day - 1) * 24 + hour) * 3600 + minute * 60 + second - _offset(found[8])
    exact = seconds * 1_000_000 + int((found[7] or "").ljust(6, "0"))
    if abs(exact) >= LAST:
        raise ValueError(f"'{text}' is beyond the times that microseconds in 64 bits can count")
    return exact


def is_moment(text: str) -> bool:
    """Whether a text spells a moment."""
    try:
        exact_moment(text)
    except ValueError:
        return False
    return True


def _days_in(year: int, month: int) -> int:
    leap = year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
    return (31, 29 if leap else 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)[month - 1]


def _offset(text: str | None) -> int:
    """Seconds east of UTC."""
    if text is None or text == "Z":
        return 0
    digits = text[1:].replace(":", "").ljust(4, "0")
    return (-1 if text[0] == "-" else 1) * (int(digits[:2]) * 3600 + int(digits[2:]) * 60)
