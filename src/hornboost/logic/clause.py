"""Clauses as data: a head, the literals of the body, and inequalities between variables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal as Choice

from hornboost.errors import ClauseError, did_you_mean
from hornboost.logic.aggregate import Aggregate, Operand
from hornboost.logic.duration import is_duration, microseconds_of

Op = Choice["=", "!=", ">=", "<=", "missing"]
HeadOp = Choice["=", "+=", "*="]


@dataclass(frozen=True, slots=True)
class Test:
    """A condition on one column of a literal: `element="c"`, `charge>=0.142`, `charge is missing`, `age<=90d`.

    `element!="c"` holds where the value is another one, and not missing. In the literal of the target a test may look
    at an aggregate instead: `mean(trans.amount)>=3000`. The value is a string for `=` and `!=`, None for `missing`, and
    for `>=` and `<=` a float, or as a string an ISO date or a length of time (of the age of a row).
    """

    column: Operand
    op: Op
    value: str | float | None = None

    @property
    def duration(self) -> float | None:
        """The microseconds of a bound that is a length of time."""
        if self.op in (">=", "<=") and isinstance(self.value, str) and is_duration(self.value):
            return microseconds_of(self.value)
        return None

    def __str__(self) -> str:
        from hornboost.logic.text import print_test

        return print_test(self)


@dataclass(frozen=True, slots=True)
class Literal:
    """One table of the body: key columns bound to variables, each at most once, and tests on its columns."""

    table: str
    bindings: tuple[tuple[str, str], ...] = ()
    tests: tuple[Test, ...] = ()

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of the literal in the order of its bindings, each once."""
        return tuple(dict.fromkeys(variable for _, variable in self.bindings))

    def __str__(self) -> str:
        from hornboost.logic.text import print_literal

        return print_literal(self)


@dataclass(frozen=True, slots=True)
class Head:
    """The label column and the value that the clause predicts for it.

    Of a number it predicts a change: by how much the label grows (`spend += 3.2`, or `spend -= 3.2`) or which multiple
    of itself it becomes (`claims *= 1.3`); the value is the text of that number.
    """

    label: str
    value: str
    op: HeadOp = "="

    def __str__(self) -> str:
        from hornboost.logic.text import print_head

        return print_head(self)


@dataclass(frozen=True, slots=True)
class Clause:
    """`head :- body.`; `body[0]` is the literal of the target table.

    It covers the target row of `body[0]` when each other literal finds a row such that all tests hold, a variable that
    occurs more than once has one non-null value, and the variables of each pair in `unequal` have distinct non-null
    values. Two literals may find the same row.

    Examples
    --------
    >>> clause = Clause.parse('active="1" :- drug(drug=D, lumo<=-1.2), atom(drug=D, element="c", charge>=0.142).')
    >>> print(clause)
    active="1" :- drug(drug=D, lumo<=-1.2), atom(drug=D, element="c", charge>=0.142).
    >>> clause.variables, clause.length
    (('D',), 3)
    """

    head: Head
    body: tuple[Literal, ...]
    unequal: tuple[tuple[str, str], ...] = field(default=())

    @classmethod
    def parse(cls, text: str) -> Clause:
        """Read a clause from text (see `hornboost.logic.text` for the grammar)."""
        from hornboost.logic.text import parse_clause

        return parse_clause(text)

    def __str__(self) -> str:
        from hornboost.logic.text import print_clause

        return print_clause(self)

    @property
    def root(self) -> Literal:
        """The literal of the target table."""
        return self.body[0]

    @property
    def literals(self) -> tuple[Literal, ...]:
        """The body without the root."""
        return self.body[1:]

    @property
    def variables(self) -> tuple[str, ...]:
        """The variables of the body in order of appearance."""
        return tuple(dict.fromkeys(variable for literal in self.body for _, variable in literal.bindings))

    @property
    def aggregates(self) -> tuple[Aggregate, ...]:
        """The aggregates that tests look at, each once."""
        found = (test.column for literal in self.body for test in literal.tests)
        return tuple(dict.fromkeys(operand for operand in found if isinstance(operand, Aggregate)))

    @property
    def length(self) -> int:
        """The number of tests of the root, plus for each other literal its tests, or 1 when it has none."""
        return len(self.root.tests) + sum(max(1, len(literal.tests)) for literal in self.literals)

    def with_head(self, label: str, value: str, op: HeadOp = "=") -> Clause:
        """Return the same body under another head.

        Examples
        --------
        >>> str(Clause.parse('class="a" :- examples(x>=1).').with_head("class", "b"))
        'class="b" :- examples(x>=1).'
        """
        return replace(self, head=Head(label, value, op))

    def tightened(self) -> Clause:
        """Return the same clause without tests that others on the same row imply.

        Examples
        --------
        >>> str(Clause.parse('y="1" :- a(id=K, x<=5, x>=1, x<=3), b(a=K, x<=4).').tightened())
        'y="1" :- a(id=K, x>=1, x<=3), b(a=K, x<=4).'
        >>> str(Clause.parse('y="1" :- a(id=K), b(a=K, age<=90d, age<=36h).').tightened())
        'y="1" :- a(id=K), b(a=K, age<=36h).'
        >>> str(Clause.parse('y="1" :- a(c!="u", c="v", d!="u", d!="v").').tightened())
        'y="1" :- a(c="v", d!="u", d!="v").'
        """
        if all(len(literal.tests) < 2 for literal in self.body):
            return self
        return replace(self, body=tuple(replace(literal, tests=_tightest(literal.tests)) for literal in self.body))

    def without_implied(self) -> Clause:
        """Return the same clause without literals that find a row wherever another one of the body does.

        Examples
        --------
        >>> text = 'y="1" :- a(id=K), b(a=K, c=C, x>=3), c(c=C), b(a=K, c=D, x>=1), b(a=K, z="u").'
        >>> str(Clause.parse(text).without_implied())
        'y="1" :- a(id=K), b(a=K, c=C, x>=3), c(c=C), b(a=K, z="u").'
        """
        body = list(self.body)
        for position in range(len(body) - 1, 0, -1):
            literal, rest = body[position], body[:position] + body[position + 1 :]
            seats = Counter(variable for other in rest for _, variable in other.bindings)
            seats.update(variable for pair in self.unequal for variable in pair)
            if any(_implies(other, literal, seats) for other in rest[1:]):  # the root is a row that is passed in
                body = rest
        return self if len(body) == len(self.body) else replace(self, body=tuple(body))

    def rooted(self, target: str) -> Clause:
        """Return the same clause with its first literal over the target table in front.

        Examples
        --------
        >>> str(Clause.parse('y="1" :- b(a=K, x>=1), a(a=K).').rooted("a"))
        'y="1" :- a(a=K), b(a=K, x>=1).'
        """
        for position, literal in enumerate(self.body):
            if literal.table == target:
                return (
                    self
                    if position == 0
                    else replace(self, body=(literal, *self.body[:position], *self.body[position + 1 :]))
                )
        raise ClauseError(
            f"the clause '{self}' has no literal over the target table '{target}'"
            + did_you_mean(target, [literal.table for literal in self.body])
        )

    def to_prolog(self, columns: Mapping[str, Sequence[str]] | None = None) -> str:
        """Write the clause in Prolog; `columns` gives each table's columns in the order of its arguments."""
        from hornboost.logic.prolog import clause_to_prolog

        return clause_to_prolog(self, columns)

    def to_sql(self, dialect: str = "duckdb", key: str | Sequence[str] | None = None) -> str:
        """Write one SELECT of the key columns of the target rows that the clause covers.

        A clause does not know the types of the columns: they are taken for text, numbers or times without a zone, as
        its tests ask for, and keys are compared as the database does. The SQL of a model (`to_sql` of an estimator)
        goes by the types.
        """
        from hornboost.sql.clause import clause_to_sql

        try:
            return clause_to_sql(self, dialect, key)
        except RecursionError:
            raise ClauseError(
                f"a chain of {len(self.body)} literals nests too deep for SQL; shorten the clause"
            ) from None


def _implies(one: Literal, other: Literal, seats: Mapping[str, int]) -> bool:
    """Whether the row of one literal is always one for another, whose variables occur `seats` times beside it.

    A variable without a seat is free. One with a single seat is not: that its value is not null would be lost.
    """
    if one.table != other.table:
        return False
    named, mine = dict(one.bindings), Counter(variable for _, variable in other.bindings)
    for column, variable in other.bindings:
        if seats.get(variable, 0) == 0 and mine[variable] == 1:
            continue
        if named.get(column) != variable or seats[variable] < 2:
            return False
    return set(_tightest((*one.tests, *other.tests))) == set(_tightest(one.tests))


def _tightest(tests: tuple[Test, ...]) -> tuple[Test, ...]:
    """Tests on one row, of those with one column and direction the tightest; a value is not any other."""
    best: dict[tuple[Operand, Op], float] = {}
    for test in tests:
        if (bound := _bound(test)) is not None:
            choose = max if test.op == ">=" else min
            best[test.column, test.op] = choose(best.get((test.column, test.op), bound), bound)
    kept = [test for test in tests if (bound := _bound(test)) is None or best[test.column, test.op] == bound]
    values = {(test.column, test.value) for test in tests if test.op == "="}
    return tuple(dict.fromkeys(test for test in kept if not _is_another(test, values)))


def _is_another(test: Test, values: set[tuple[Operand, str | float | None]]) -> bool:
    """Whether a test says that a column differs from a value, and another one gives it a different value."""
    return test.op == "!=" and any(column == test.column and value != test.value for column, value in values)


def _bound(test: Test) -> float | None:
    """The bound of a number, or of an age or a moment in microseconds; None where there is none."""
    if not isinstance(test.value, str):
        return test.value
    if test.op in ("=", "!=") or test.duration is not None:
        return test.duration
    from hornboost.logic.moment import exact_moment, is_moment

    return exact_moment(test.value) if is_moment(test.value) else None
