"""Exceptions. Each message names the thing, the place and the way out, in one sentence."""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Iterable
from collections.abc import Set as AbstractSet
from types import FrameType


class HornBoostError(Exception):
    """Base of every error that HornBoost raises on purpose; the command line prints it as one sentence.

    Names and values of the user's are part of many messages, and may hold ends of lines, which are shown as they are
    written in rules.
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(str(message).replace("\r", "\\r").replace("\n", "\\n"))


class DataError(HornBoostError, ValueError):
    """A table, schema or file cannot be used as it is."""

    @classmethod
    def unknown_column(cls, table: str, column: str, known: Iterable[str]) -> DataError:
        return cls(f"table '{table}': there is no column '{column}'{did_you_mean(column, known)}")

    @classmethod
    def unknown_table(cls, table: str, known: Iterable[str]) -> DataError:
        return cls(f"there is no table '{table}'{did_you_mean(table, known)}")


class ClauseError(HornBoostError, ValueError):
    """A clause cannot be parsed, or does not fit the database."""


class ModelError(HornBoostError, ValueError):
    """A model file cannot be read, or does not fit the database."""


class ReadingWarning(UserWarning):
    """Something in the data was read in a way that may not be meant, such as numbers as text for a single cell."""


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn at the line of the user's that called the package: how many calls lie between differs between estimators."""
    frame, level = sys._getframe(1), 2
    while frame.f_back is not None and _is_ours(frame):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _is_ours(frame: FrameType) -> bool:
    """Whether a function is of the package, or a decorator of others around one."""
    module = str(frame.f_globals.get("__name__"))
    return module.partition(".")[0] == "hornboost" or module in ("sklearn.base", "contextlib")


class LimitError(HornBoostError):
    """A refinement or query would exceed a limit that protects the user's machine."""


def counted(n: int, noun: str) -> str:
    """A number of things, as a sentence has them.

    >>> counted(1, "rule"), counted(2000, "rule"), counted(2, "class")
    ('1 rule', '2,000 rules', '2 classes')
    """
    ending = "" if n == 1 else "es" if noun.endswith("s") else "s"
    return f"{n:,} {noun}{ending}"


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """The end of an error sentence: the nearest known name, or all of them when few.

    >>> did_you_mean("mol", ["molecule_id", "element"])
    "; did you mean 'molecule_id'?"
    >>> did_you_mean("x", ["element"])
    "; known are 'element'"
    """
    names = sorted(known) if isinstance(known, AbstractSet) else list(known)  # a set has another order in every process
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    close = close or [other for other in names if name and name.lower() in other.lower()][:1]
    if close:
        return f"; did you mean '{close[0]}'?"
    if 0 < len(names) <= 12:
        return "; known are " + ", ".join(f"'{other}'" for other in names)
    return ""
