"""Aggregates in clauses: `mean(trans.amount)` is a number that an example has by the rows that it reaches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

ROWS = ("count", "share")
"""Functions of rows, without a column."""

MOMENTS = ("mean", "sum", "std")
NUMERIC = (*MOMENTS, "min", "max")
SPREAD = ("distinct", "mode", "mode_share")
LAST = "last"
"""The value in the latest row that has one."""

FUNCTIONS = (*ROWS, *NUMERIC, *SPREAD, LAST)


@dataclass(frozen=True, slots=True)
class TableStep:
    """A table on the way from the target to the rows of an aggregate.

    `keys` are the column of the row before and the column of this table that are equal; they need not be named where
    one foreign key leads there.
    """

    table: str
    keys: tuple[str, str] | None = None


@dataclass(frozen=True, slots=True)
class Aggregate:
    """A function of a column, or of the rows, at the end of a path of foreign keys; `where` leaves rows out.

    So does `within`: the name of the rows' age, and how old they are at most, as a length of time or, where times are
    numbers, a number. A path of one name leads there the shortest way, a longer one names all tables after the target.

    >>> str(Aggregate("mean", (TableStep("trans"),), "amount"))
    'mean(trans.amount)'
    >>> str(Aggregate("count", (TableStep("account"), TableStep("trans", ("id", "from"))), None, ("type", "in")))
    'count(account.trans[id=from] where type="in")'
    >>> str(Aggregate("sum", (TableStep("trans"),), "amount", ("type", "in"), ("age", "90d")))
    'sum(trans.amount where type="in", age<=90d)'
    """

    function: str
    path: tuple[TableStep, ...]
    column: str | None = None
    where: tuple[str, str] | None = None
    within: tuple[str, str | float] | None = None

    @property
    def table(self) -> str:
        """The table whose rows are aggregated."""
        return self.path[-1].table

    def __str__(self) -> str:
        from hornboost.logic.text import print_aggregate

        return print_aggregate(self)


class KeyStep(NamedTuple):
    """A join of a path: the column of the row before that equals a column of the table."""

    before: str
    table: str
    column: str


Route = tuple[KeyStep, ...]
"""What a path means in a database."""


def columns_of(aggregate: Aggregate, target: str, route: Route) -> list[tuple[str, str]]:
    """The columns that an aggregate looks at, by table, on the way and at the end.

    >>> columns_of(Aggregate("mean", (TableStep("b"),), "x"), "a", (KeyStep("id", "b", "a"),))
    [('a', 'id'), ('b', 'a'), ('b', 'x')]
    """
    found, before = [], target
    for step in route:
        found += [(before, step.before), (step.table, step.column)]
        before = step.table
    found += [] if aggregate.column is None else [(before, aggregate.column)]
    return found if aggregate.where is None else [*found, (before, aggregate.where[0])]


Operand = str | Aggregate
"""What a test looks at: a column of the row, or in the target's literal an aggregate."""
