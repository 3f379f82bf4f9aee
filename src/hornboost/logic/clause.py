"""Clauses as data: a head, the literals of the body, and inequalities between variables."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal as Choice

Op = Choice["=", ">=", "<=", "missing"]


@dataclass(frozen=True, slots=True)
class Test:
    """A condition on one column of a literal: `element="c"`, `charge>=0.142`, `charge is missing`.

    The value is a string for `=`, a float (or an ISO date as a string) for `>=` and `<=`, None for `missing`.
    """

    column: str
    op: Op
    value: str | float | None = None


@dataclass(frozen=True, slots=True)
class Literal:
    """One table of the body: key columns bound to variables, and tests on its columns."""

    table: str
    bindings: tuple[tuple[str, str], ...] = ()
    tests: tuple[Test, ...] = ()


@dataclass(frozen=True, slots=True)
class Head:
    """The label column and the value that the clause predicts for it."""

    label: str
    value: str


@dataclass(frozen=True, slots=True)
class Clause:
    """`head :- body.`; `body[0]` is the literal of the target table.

    `unequal` holds the pairs of variables that must denote distinct objects.
    """

    head: Head
    body: tuple[Literal, ...]
    unequal: tuple[tuple[str, str], ...] = field(default=())
