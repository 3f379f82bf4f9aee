"""Rules without function symbols, as the background of a Prolog program may have them."""

from __future__ import annotations

from dataclasses import dataclass

Predicate = tuple[str, int]
"""A name and a number of arguments."""

OF_NUMBERS = frozenset(["<", ">", "=<", ">=", "=:=", r"=\="])
"""Comparisons of numbers."""

EQUAL, UNEQUAL = frozenset(["=", "==", "=:="]), frozenset([r"\=", r"\==", r"=\="])
COMPARISONS = OF_NUMBERS | EQUAL | UNEQUAL


@dataclass(frozen=True)
class Variable:
    """A variable of a rule."""

    name: str


Argument = str | Variable
"""A constant as plain text, or a variable."""


@dataclass(frozen=True)
class Goal:
    r"""A predicate with arguments; `holds` is false after `\+`."""

    predicate: Predicate
    arguments: tuple[Argument, ...]
    holds: bool = True


@dataclass(frozen=True)
class Comparison:
    """`left op right`."""

    op: str
    left: Argument
    right: Argument


@dataclass(frozen=True)
class DatalogRule:
    """A rule whose every argument is a constant or a variable; `place` says where it stands, for messages."""

    head: Goal
    goals: tuple[Goal, ...]
    comparisons: tuple[Comparison, ...]
    place: str
