"""One form for all clauses that differ only in the names of variables or in the order of their parts.

Literals and variables are coloured by what they look like and what they touch, until the colours tell all literals
apart; where they cannot, each literal of a class of equals is tried as its first, and the least outcome wins.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import lru_cache
from typing import NamedTuple

from hornboost.logic.clause import Clause, Literal, Test
from hornboost.logic.duration import duration_text
from hornboost.logic.text import print_literal, print_test


class _Shape(NamedTuple):
    """A literal apart from its variables.

    `text` tells all of it, `variables` stand in the order of the sorted `columns`.
    """

    text: str
    columns: tuple[str, ...]
    variables: tuple[str, ...]
    tests: tuple[Test, ...]


VariablePairs = tuple[tuple[str, str], ...]


def canonical(clause: Clause) -> Clause:
    """The same clause for all clauses that differ in names of variables, or order of literals,
    arguments and inequalities.

    >>> one = canonical(Clause.parse('y="1" :- a(k=K), b(k=K, x=U), b(x=V, k=K, c="u"), V != U.'))
    >>> one == canonical(Clause.parse('y="1" :- a(k=Z), b(c="u", k=Z, x=B), b(k=Z, x=A), A != B.'))
    True
    >>> print(one)
    y="1" :- a(k=A), b(k=A, x=B), b(k=A, x=C, c="u"), B != C.
    """
    shapes = [_shape(literal) for literal in clause.body]
    colours = {variable: 0 for shape in shapes for variable in shape.variables}
    for rank, variable in enumerate(dict.fromkeys(shapes[0].variables), 1):
        colours[variable] = rank
    order = _order(shapes, [""] + [shape.text for shape in shapes[1:]], colours, clause.unequal)
    numbers = _numbers(shapes, order)
    body = []
    for position in order:
        shape = shapes[position]
        bindings = tuple(
            [
                (column, _NAMES[numbers[variable]])
                for column, variable in zip(shape.columns, shape.variables, strict=True)
            ]
        )
        body.append(Literal(clause.body[position].table, bindings, shape.tests))
    unequal = tuple([(_NAMES[left], _NAMES[right]) for left, right in _numbered_pairs(clause.unequal, numbers)])
    return Clause(clause.head, tuple(body), unequal)


class _Names(dict[int, str]):
    def __missing__(self, number: int) -> str:
        letter, round_ = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[number % 26], number // 26
        return self.setdefault(number, f"{letter}{round_}" if round_ else letter)


_NAMES = _Names()


@lru_cache(maxsize=1 << 16)
def _shape(literal: Literal) -> _Shape:
    bindings = sorted(literal.bindings)
    tests = tuple(sorted(map(_in_longest_unit, literal.tests), key=print_test))
    columns = tuple([column for column, _ in bindings])
    text = print_literal(Literal(literal.table, tuple([(column, "") for column in columns]), tests))
    return _Shape(text, columns, tuple([variable for _, variable in bindings]), tests)


def _in_longest_unit(test: Test) -> Test:
    """The same test, in which a length of time is written as everywhere: `24h` as `1d`."""
    length = test.duration
    return test if length is None else Test(test.column, test.op, duration_text(length))


def _order(shapes: list[_Shape], texts: list[str], colours: dict[str, int], unequal: VariablePairs) -> list[int]:
    """The canonical order of the literals, as positions; `texts` and `colours` hold what is told apart so far."""
    while True:
        looks = [
            (text, tuple([colours[variable] for variable in shape.variables]))
            for text, shape in zip(texts, shapes, strict=True)
        ]
        kinds = sorted(set(looks))
        if len(kinds) == len(looks):
            return sorted(range(len(looks)), key=looks.__getitem__)
        ranks = {look: rank for rank, look in enumerate(kinds)}
        places = [ranks[look] for look in looks]
        refined = _refined(shapes, places, colours, unequal)
        if max(refined.values(), default=0) + 1 == len(set(colours.values())):
            return _broken_tie(shapes, texts, places, colours, unequal)
        colours = refined


def _refined(
    shapes: list[_Shape], places: list[int], colours: dict[str, int], unequal: VariablePairs
) -> dict[str, int]:
    """Colours that also tell variables apart by the literals they stand in and the variables they differ from."""
    seats: dict[str, list[tuple[int, int]]] = {variable: [] for variable in colours}
    for shape, place in zip(shapes, places, strict=True):
        for index, variable in enumerate(shape.variables):
            seats[variable].append((place, index))
    others: dict[str, set[tuple[int, str]]] = {variable: set() for variable in colours}
    for left, right in unequal:
        others[left].add((colours[right], right))
        others[right].add((colours[left], left))
    looks = {
        variable: (colour, tuple(sorted(seats[variable])), tuple(sorted([other for other, _ in others[variable]])))
        for variable, colour in colours.items()
    }
    ranks = {look: rank for rank, look in enumerate(sorted(set(looks.values())))}
    return {variable: ranks[look] for variable, look in looks.items()}


def _broken_tie(
    shapes: list[_Shape], texts: list[str], places: list[int], colours: dict[str, int], unequal: VariablePairs
) -> list[int]:
    """The best order over all ways of putting one of the first class of equals before the others."""
    classes = defaultdict(list)
    for position, place in enumerate(places):
        classes[place].append(position)
    for _, members in sorted(classes.items()):
        if len({shapes[position].variables for position in members}) > 1:
            break
    else:
        return sorted(range(len(places)), key=places.__getitem__)
    tried: list[int] = []
    for position in members:
        if not any(_interchangeable(shapes, texts, unequal, position, other) for other in tried):
            tried.append(position)
    orders = [
        _order(shapes, [*texts[:position], texts[position] + "!", *texts[position + 1 :]], colours, unequal)
        for position in tried
    ]
    return orders[0] if len(orders) == 1 else min(orders, key=lambda order: _encoding(shapes, order, unequal))


def _interchangeable(shapes: list[_Shape], texts: list[str], unequal: VariablePairs, one: int, other: int) -> bool:
    """Whether swapping the variables of two literals of equal shape gives the same clause,
    so that one of them need not be tried.
    """
    swap: dict[str, str] = {}
    for left, right in zip(shapes[one].variables, shapes[other].variables, strict=True):
        if swap.setdefault(left, right) != right or swap.setdefault(right, left) != left:
            return False
    literals = list(zip(texts, [shape.variables for shape in shapes], strict=True))
    swapped = [(text, tuple([swap.get(variable, variable) for variable in variables])) for text, variables in literals]
    pairs = {frozenset(pair) for pair in unequal}
    return (
        Counter(swapped) == Counter(literals)
        and {frozenset(swap.get(name, name) for name in pair) for pair in pairs} == pairs
    )


def _encoding(
    shapes: list[_Shape], order: list[int], unequal: VariablePairs
) -> tuple[list[tuple[str, list[int]]], list[tuple[int, int]]]:
    numbers = _numbers(shapes, order)
    literals = [
        (shapes[position].text, [numbers[variable] for variable in shapes[position].variables]) for position in order
    ]
    return literals, _numbered_pairs(unequal, numbers)


def _numbers(shapes: list[_Shape], order: list[int]) -> dict[str, int]:
    numbers: dict[str, int] = {}
    for position in order:
        for variable in shapes[position].variables:
            if variable not in numbers:
                numbers[variable] = len(numbers)
    return numbers


def _numbered_pairs(unequal: VariablePairs, numbers: dict[str, int]) -> list[tuple[int, int]]:
    pairs = {(numbers[left], numbers[right]) for left, right in unequal}
    return sorted({(min(pair), max(pair)) for pair in pairs})
