"""What the rules that did not fire lacked: how many of their conditions hold, and the first that fails."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hornboost.data.frames import decode_table
from hornboost.data.table import Table
from hornboost.data.times import time_text
from hornboost.engine.coverage import Coverage, Trace
from hornboost.logic.aggregate import Aggregate
from hornboost.logic.clause import Clause, Literal
from hornboost.model.ensemble import Ensemble, Rule
from hornboost.model.explanation import Missed, shown, shown_length
from hornboost.model.views import age_text, cutoff_of
from hornboost.model.witnesses import cells, only, rows_behind

if TYPE_CHECKING:
    from hornboost.data import Database


def prefixes(clause: Clause) -> Iterator[tuple[Clause, str]]:
    """The clause condition by condition, each with what the last one says when it fails.

    >>> for prefix, failed in prefixes(Clause.parse('y="1" :- a(id=K, x>=1), b(a=K, kind="u").')):
    ...     print(prefix.length, failed)
    1 x>=1 does not hold in table 'a'
    2 no row of table 'b' is joined
    2 no such row of table 'b' has kind="u"
    """
    body: tuple[Literal, ...] = ()
    known: set[str] = set()
    stated: list[tuple[str, str]] = []
    for number, literal in enumerate(clause.body):
        bare = replace(literal, tests=())
        shorter = Clause(clause.head, (*body, bare), tuple(stated))
        repeats = len(set(literal.variables)) < len(literal.bindings)
        if number > 0 or repeats:
            what = "no row of table '{}' is joined" if number else "two key columns of table '{}' differ"
            yield shorter, what.format(literal.table)
        for k, test in enumerate(literal.tests, start=1):
            shorter = replace(shorter, body=(*body, replace(literal, tests=literal.tests[:k])))
            where = f"no such row of table '{literal.table}' has {test}"
            if number == 0:
                where = f"{test} does not hold"
                where += "" if isinstance(test.column, Aggregate) else f" in table '{literal.table}'"
            yield shorter, where
        body = (*body, literal)
        known.update(literal.variables)
        for pair in clause.unequal:
            if pair not in stated and known.issuperset(pair):
                stated.append(pair)
                yield Clause(clause.head, body, tuple(stated)), f"{pair[0]} != {pair[1]} does not hold for any such row"


def conditions(clause: Clause) -> tuple[list[tuple[Clause, str]], list[tuple[Clause, str]]]:
    """The conditions on the example itself, each on its own, and those on joined rows, which each need all before them.

    Each with what it says when it fails.
    """
    root, others = clause.body[0], clause.body[1:]
    alone = (Clause(clause.head, (replace(root, bindings=(), tests=(test,)),)) for test in root.tests)
    own = [list(prefixes(one))[-1] for one in alone]
    return own, list(prefixes(replace(clause, body=(replace(root, tests=()), *others))))


@dataclass(eq=False)
class Steps:
    """The rules and, where they are asked for, their conditions, bound to a database together.

    One pass tells all of them.
    """

    rules: Sequence[Rule]
    coverage: Coverage
    columns: list[list[int]]
    n_own: list[int]
    """How many conditions of a rule are on the example itself; of the others, each needs all that come before it."""

    conditions: list[list[tuple[Clause, str]]]
    """A clause for each condition of a rule, and what is said if it fails."""

    @classmethod
    def kept(cls, ensemble: Ensemble, database: Database, with_conditions: bool) -> Steps:
        """Those of the last time, if they are the same."""
        kept: Steps | None = ensemble.__dict__.get("_steps")
        if kept is None or kept.coverage.database is not database or bool(kept.columns) != with_conditions:
            ensemble.__dict__["_steps"] = kept = cls.of(ensemble, database, with_conditions)
        return kept

    @classmethod
    def of(cls, ensemble: Ensemble, database: Database, with_conditions: bool) -> Steps:
        clauses = [rule.clause.rooted(database.target.table) for rule in ensemble.rules]
        found = [conditions(clause) for clause in clauses] if with_conditions else []
        steps = [[*own, *joined] for own, joined in found]
        coverage = Coverage.of(database, [*clauses, *(clause for rule in steps for clause, _ in rule)])
        place = iter(coverage.of_clause[len(clauses) :])
        columns = [[next(place) for _ in rule] for rule in steps]
        return cls(ensemble.rules, coverage, columns, [len(own) for own, _ in found], steps)

    def nearest(
        self,
        trace: Trace,
        e: int,
        fired: NDArray[np.bool_],
        votes: Sequence[float],
        otherwise: Sequence[float],
        limit: int,
    ) -> list[Missed]:
        """The rules that did not fire, those with the largest share of satisfied conditions first."""
        found = []
        for r in np.flatnonzero(~fired).tolist():
            holds = trace.covered[e, self.columns[r]]
            joined = holds[self.n_own[r] :]
            satisfied = int(holds[: self.n_own[r]].sum()) + (len(joined) if joined.all() else int(np.argmin(joined)))
            first = len(holds) if holds.all() else int(np.argmin(holds))
            found.append((-satisfied / max(len(holds), 1), -abs(votes[r]), r, satisfied, first))
        nearest = sorted(found)[:limit]
        return [
            Missed(self.rules[r], otherwise[r], votes[r], n, len(self.columns[r]), self._failed(trace, e, r, k))
            for _, _, r, n, k in nearest
        ]

    def _failed(self, trace: Trace, e: int, r: int, k: int) -> str:
        """What is said of the condition of a rule that an example fails; of an aggregate also its value."""
        if k == len(self.conditions[r]):
            return "its rows do not fit together"
        clause, failed = self.conditions[r][k]
        aggregate = _last_aggregate(clause)
        if aggregate is None:
            return failed + self._when(trace, e, r, k)
        examples = only(trace.examples, [aggregate])
        (cell,) = decode_table(examples, trace.coverage.database.domains, np.array([e]), dates_as_text=True).to_dict(
            "records"
        )
        value = cells(cell)[str(aggregate)]
        text = shown_length(value) if aggregate.function in ("min", "max") else shown(value)
        return f"{failed}: it is {text}{_of_rows(trace.examples, aggregate, e)}"

    def _when(self, trace: Trace, e: int, r: int, k: int) -> str:
        """Of a row with a time: up to when it is looked for, and how old one is that is too old or too young."""
        clause, literal = self.conditions[r][k][0], self.conditions[r][k][0].body[-1]
        table = trace.coverage.database.tables[literal.table]
        if (
            table.times is None
            or len(clause.body) == 1
            or (k and clause.unequal != self.conditions[r][k - 1][0].unequal)
        ):
            return ""
        cutoff = cutoff_of(trace.examples, e)
        if not literal.tests or literal.tests[-1].column != table.age:
            return f" among those before {time_text(cutoff, table.times.is_date)}"
        number, position = len(self.rules) + sum(map(len, self.conditions[:r])) + k - 1, len(clause.body) - 1
        row = trace.latest(number, position, e) if literal.tests[-1].op == "<=" else None
        which = "one" if row is None else "the youngest"
        if row is None:
            row = int(trace.witnesses(number, np.array([e]))[position][0])
        time = time_text(float(table.times.numbers[row]), table.times.is_date)
        return f": {which}, of {time}, is {age_text(table, row, cutoff)} old"


def _last_aggregate(clause: Clause) -> Aggregate | None:
    """The aggregate in the last condition of a clause, if it is one."""
    tests = clause.root.tests if len(clause.body) == 1 else ()
    return tests[-1].column if tests and isinstance(tests[-1].column, Aggregate) else None


def _of_rows(examples: Table, aggregate: Aggregate, e: int) -> str:
    """The number of rows that an aggregate of an example is of, in words."""
    if aggregate.function == "count":
        return ""
    count = int(examples.aggregates[rows_behind(aggregate)].numbers[e])
    return f" of {count:,} row{'s' * (count != 1)}"
