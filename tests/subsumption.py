"""Which of two clauses is more general: theta-subsumption, with or without object identity."""

from __future__ import annotations

from collections import Counter
from datetime import datetime

from hornboost.logic.clause import Clause, Literal, Test

Object = str | tuple[int, str]
"""A variable, or the unnamed object in one column of one literal."""


def subsumes(general: Clause, special: Clause, *, oi: bool = True) -> bool:
    """Whether a substitution maps `general`, root to root, into `special`; then it covers whatever `special` covers.

    With `oi` distinct variables go to distinct objects. A threshold is implied by a sharper one. A column that a
    literal leaves out holds an object of its own. A variable that may be null (it occurs once) is no image for one that
    may not.

    >>> general = Clause.parse('y="1" :- a(k=K), b(k=K, x>=3).')
    >>> subsumes(general, Clause.parse('y="1" :- a(k=K), b(k=K, x>=5, c="u").'))
    True
    >>> subsumes(general, Clause.parse('y="1" :- a(k=K), b(k=K, x>=2).'))
    False
    """
    if general.head != special.head:
        return False
    return _Search(general, special, oi).found()


class _Search:
    """Backtracking over the images of the literals of `general`, one after the other."""

    def __init__(self, general: Clause, special: Clause, oi: bool) -> None:
        self._general, self._oi = general, oi
        self._columns = [dict(literal.bindings) for literal in special.body]
        self._demanding, self._solid = _never_null(general), _never_null(special)
        self._unequal = {frozenset(pair) for pair in special.unequal}
        self._candidates = [
            [
                place
                for place, other in enumerate(special.body)
                if other.table == literal.table and _tests_follow(literal, other)
            ]
            for literal in general.body
        ]

    def found(self) -> bool:
        root = self._match(0, 0, {}) if 0 in self._candidates[0] else None
        return root is not None and self._extend(root, 1)

    def _extend(self, theta: dict[str, Object], position: int) -> bool:
        if position == len(self._general.body):
            return all(frozenset((theta[left], theta[right])) in self._unequal for left, right in self._general.unequal)
        images = (self._match(position, place, theta) for place in self._candidates[position])
        return any(self._extend(longer, position + 1) for longer in images if longer is not None)

    def _match(self, position: int, place: int, theta: dict[str, Object]) -> dict[str, Object] | None:
        """`theta` extended to map the literal at `position` onto the one at `place`."""
        theta = dict(theta)
        for column, variable in self._general.body[position].bindings:
            image = self._columns[place].get(column, (place, column))
            if variable in theta:
                if theta[variable] != image:
                    return None
            elif (variable in self._demanding and image not in self._solid) or (self._oi and image in theta.values()):
                return None
            theta[variable] = image
        return theta


def _never_null(clause: Clause) -> set[str]:
    """The variables that a covered example cannot have null: they are joined or compared."""
    uses = Counter(variable for literal in clause.body for _, variable in literal.bindings)
    return {variable for variable, count in uses.items() if count > 1}.union(*clause.unequal)


def _tests_follow(general: Literal, special: Literal) -> bool:
    return all(any(_follows(test, stronger) for stronger in special.tests) for test in general.tests)


def _follows(test: Test, stronger: Test) -> bool:
    if test == stronger:
        return True
    if test.column == stronger.column and (test.op, stronger.op) == ("!=", "="):
        return test.value != stronger.value
    if test.column != stronger.column or test.op != stronger.op or test.op not in (">=", "<="):
        return False
    low, high = (test.value, stronger.value) if test.op == ">=" else (stronger.value, test.value)
    if isinstance(low, str) and isinstance(high, str):
        return datetime.fromisoformat(low) <= datetime.fromisoformat(high)
    return not isinstance(low, str | None) and not isinstance(high, str | None) and low <= high
