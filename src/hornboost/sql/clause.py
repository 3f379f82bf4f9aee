"""Clauses as SQL: the rows that a clause covers, as one boolean expression over nested EXISTS."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import TYPE_CHECKING

from hornboost.errors import ClauseError
from hornboost.logic.clause import Clause
from hornboost.sql import names
from hornboost.sql.columns import ColumnPlace
from hornboost.sql.conditions import Conditions
from hornboost.sql.dialects import Dialect

if TYPE_CHECKING:
    from sqlglot import exp


CUTOFF = ""
"""What stands among variables, none of which is called so, for the cutoff of the example."""


def clause_to_sql(clause: Clause, dialect: str = "duckdb", key: str | Sequence[str] | None = None) -> str:
    """One SELECT of the target rows that the clause covers.

    `key`, or the columns bound in the root literal, or all columns.

    >>> print(clause_to_sql(Clause.parse('y="1" :- a(id=K), b(a=K, kind="x").')))
    SELECT "t0"."id" FROM "a" AS "t0" WHERE EXISTS(SELECT 1 FROM "b" AS "t1" WHERE "t1"."a" = "t0"."id" AND
    CAST("t1"."kind" AS TEXT) = 'x')
    """
    from sqlglot import exp

    if key is None:
        key = list(dict.fromkeys(column for column, _ in clause.root.bindings))
    columns = [names.column("t0", name) for name in ([key] if isinstance(key, str) else key)]
    query = exp.select(*(columns or [names.every_column("t0")])).from_(names.table(clause.root.table, "t0"))
    condition = coverage_condition(clause, "t0", dialect)
    if condition != exp.true():
        query = query.where(condition, copy=False)
    return Dialect.named(dialect, ClauseError).text(names.without_doubt(query, "hb_"))


def coverage_condition(clause: Clause, root_alias: str = "t0", dialect: str = "duckdb") -> exp.Condition:
    """A sqlglot condition that is true for the rows of the target table, known as `root_alias`, that the clause covers.

    >>> coverage_condition(Clause.parse('y="1" :- a(x>=2).'), "t0", "sqlite").sql("sqlite")
    'CAST("t0"."x" AS REAL) >= 2'
    """
    return covering(clause, root_alias, Conditions(Dialect.named(dialect, ClauseError)))


def covering(clause: Clause, root_alias: str, conditions: Conditions) -> exp.Condition:
    """The same, with the conditions written by `conditions`."""
    from sqlglot import exp

    found = _Translation(clause, root_alias, conditions).conditions()
    return exp.and_(*found, copy=False) if found else exp.true()


class _Translation:
    """The EXISTS nest of one clause: literals that share no unbound variable go into separate subqueries.

    A subquery refers to the query right around it and no further, which is all that Spark and BigQuery can decorrelate.
    So literals that ask for the cutoff of the example, which the outermost query has, go into the first subquery.
    """

    def __init__(self, clause: Clause, root_alias: str, conditions: Conditions) -> None:
        self._body = clause.body
        self._unequal = clause.unequal
        self._write = conditions
        aliases = [f"t{position}" for position in range(len(clause.body))]
        self._aliases = [root_alias, *(alias + "_" if alias == root_alias else alias for alias in aliases[1:])]
        self._dated = conditions.times.keys() if conditions.is_cutoff_of_examples else frozenset()

    def conditions(self) -> list[exp.Condition]:
        return self._conditions([0], {}, list(range(1, len(self._body))))

    def _conditions(self, inside: list[int], outer: Mapping[str, ColumnPlace], rest: list[int]) -> list[exp.Condition]:
        """What a query over the literals `inside` demands, with subqueries for those of `rest`."""
        conditions: list[exp.Condition] = []
        scope = dict(outer)
        for position in inside:
            alias, literal = self._aliases[position], self._body[position]
            conditions += self._write.counts(literal.table, alias) if position else []
            for name, variable in literal.bindings:
                place = self._write.place(literal.table, alias, name)
                if variable in scope:
                    conditions.append(self._write.equal(place, scope[variable]))
                scope[variable] = place
            conditions += [self._write.condition(literal.table, alias, test) for test in literal.tests]
        for left, right in self._unequal:
            if left in scope and right in scope and not (left in outer and right in outer):
                conditions.append(self._write.differ(scope[left], scope[right]))
        known = {*scope, CUTOFF} if 0 in inside else scope.keys()
        conditions += [self._exists(group, scope, known) for group in self._groups(rest, known)]
        return conditions

    def _exists(self, group: list[int], outer: Mapping[str, ColumnPlace], around: AbstractSet[str]) -> exp.Condition:
        """`around` are the variables of the query right around, and the cutoff if that has it."""
        from sqlglot import exp

        inside = [self._first(group, outer.keys())]
        while True:
            rest = [position for position in group if position not in inside]
            bound = self._variables(inside)
            known = bound | around
            far = [part for part in self._groups(rest, known) if self._touched(part, known) & (around - bound)]
            if not far:
                break
            needed = self._touched(far[0], known) & (around - bound - {CUTOFF})
            inside.append(self._first(far[0], needed or bound))
        first, *others = [
            self._write.sources.facts(self._body[position].table, self._aliases[position]) for position in inside
        ]
        query = exp.select("1").from_(first, copy=False)
        for other in others:
            query = query.join(other, join_type="cross", copy=False)
        return exp.Exists(this=query.where(*self._conditions(inside, outer, rest), copy=False))

    def _groups(self, positions: list[int], known: Iterable[str]) -> list[list[int]]:
        """The literals in sets that share no variable, and no inequality, outside `known`."""
        groups: list[tuple[list[int], set[str]]] = []
        for position in positions:
            members, names = [position], self._touched([position], known).difference(known)
            for other in [group for group in groups if group[1] & names]:
                groups.remove(other)
                members, names = other[0] + members, other[1] | names
            groups.append((members, names))
        return [sorted(members) for members, _ in groups]

    def _touched(self, positions: list[int], known: Iterable[str]) -> set[str]:
        """The variables of the literals, and those that their unknown ones must differ from."""
        variables = self._variables(positions)
        if any(self._body[position].table in self._dated for position in positions):
            variables.add(CUTOFF)
        fresh = variables.difference(known)
        return variables.union(*(pair for pair in self._unequal if fresh.intersection(pair)))

    def _variables(self, positions: list[int]) -> set[str]:
        return {variable for position in positions for _, variable in self._body[position].bindings}

    def _first(self, positions: list[int], names: Iterable[str]) -> int:
        joined = (position for position in positions if not self._variables([position]).isdisjoint(names))
        return next(joined, positions[0])
