"""Clauses as Prolog.

A row is a fact; in it a key or nominal value is an atom, a date its ISO text, a missing value `[]`.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from hornboost.errors import ClauseError
from hornboost.logic.clause import Clause, Literal, Test
from hornboost.logic.text import print_number

_PLAIN_ATOM = re.compile(r"[a-z][A-Za-z0-9_]*")
_COMPARE = {">=": ">=", "<=": "=<"}


def clause_to_prolog(clause: Clause, columns: Mapping[str, Sequence[str]] | None = None) -> str:
    r"""The clause, after one comment line a table that names the arguments of its facts.

    `columns` gives each table's columns; without it, a table's arguments are the columns that the clause mentions.

    >>> print(clause_to_prolog(Clause.parse('active="1" :- drug(drug=D, lumo<=-1.2), atom(drug=D, element="c").')))
    % drug(drug, lumo)
    % atom(drug, element)
    active(D, '1') :- drug(D, V1), number(V1), V1 =< -1.2, atom(D, c), D \== [].
    """
    if clause.aggregates:
        raise ClauseError(
            f"the aggregate '{clause.aggregates[0]}' of the clause has no form in Prolog; "
            "export SQL, or fit with aggregates=False"
        )
    ages = [test for literal in clause.body for test in literal.tests if test.duration is not None]
    if ages:
        raise ClauseError(
            f"the test '{ages[0]}' of the clause has no form in Prolog, whose facts have no age; export SQL"
        )
    arguments = (
        _mentioned(clause) if columns is None else {literal.table: columns[literal.table] for literal in clause.body}
    )
    fresh = (name for name in _numbered("V") if name not in clause.variables)
    goals: list[str] = []
    for literal in clause.body:
        goals += _goals(literal, arguments[literal.table], fresh)
    uses = Counter(variable for literal in clause.body for _, variable in literal.bindings)
    uses.update(variable for pair in clause.unequal for variable in 2 * pair)
    goals += [f"{variable} \\== []" for variable, count in uses.items() if count > 1]
    goals += [f"{left} \\== {right}" for left, right in clause.unequal]
    comments = ["% " + _term(table, map(atom, names)) for table, names in arguments.items()]
    value = atom(clause.head.value) if clause.head.op == "=" else clause.head.value
    head = _term(clause.head.label, [*clause.root.variables, value])
    return "\n".join([*comments, f"{head} :- {', '.join(goals)}."])


def atom(text: str) -> str:
    r"""The text as a Prolog atom.

    >>> print(atom("c"), atom("Order"), atom("it's"))
    c 'Order' 'it\'s'
    """
    return text if _PLAIN_ATOM.fullmatch(text) else "'" + "".join(map(_character, text)) + "'"


def _character(character: str) -> str:
    if character in "\\'":
        return "\\" + character
    return character if character.isprintable() else f"\\x{ord(character):x}\\"


def _term(name: str, arguments: Iterator[str] | Sequence[str]) -> str:
    inner = ", ".join(arguments)
    return f"{atom(name)}({inner})" if inner else atom(name)


def _mentioned(clause: Clause) -> dict[str, list[str]]:
    tables: dict[str, list[str]] = {}
    for literal in clause.body:
        names = tables.setdefault(literal.table, [])
        for name in [*(column for column, _ in literal.bindings), *(str(test.column) for test in literal.tests)]:
            if name not in names:
                names.append(name)
    return tables


def _goals(literal: Literal, columns: Sequence[str], fresh: Iterator[str]) -> list[str]:
    """The literal as a fact's pattern, followed by what a pattern cannot say."""
    names = {column for column, _ in literal.bindings} | {str(test.column) for test in literal.tests}
    unknown = names.difference(columns)
    if unknown:
        raise ClauseError(
            f"the clause names the column '{min(unknown)}' of table '{literal.table}', which 'columns' does not list"
        )
    variables = dict(literal.bindings)
    arguments: list[str] = []
    conditions: list[str] = []
    for column in columns:
        tests = [test for test in literal.tests if test.column == column]
        if column not in variables and len(tests) == 1 and tests[0].op in ("=", "missing"):
            arguments.append(_constant(tests[0]))
            continue
        argument = variables.get(column) or (next(fresh) if tests else "_")
        arguments.append(argument)
        for test in tests:
            conditions += _conditions(argument, test)
    return [_term(literal.table, arguments), *conditions]


def _conditions(argument: str, test: Test) -> list[str]:
    if test.op in ("=", "missing"):
        return [f"{argument} == {_constant(test)}"]
    if test.op == "!=":
        return [f"{argument} \\== []", f"{argument} \\== {_constant(test)}"]
    if isinstance(test.value, str):
        return [f"atom({argument})", f"{argument} @{_COMPARE[test.op]} {atom(test.value)}"]
    return [f"number({argument})", f"{argument} {_COMPARE[test.op]} {print_number(test.value)}"]


def _constant(test: Test) -> str:
    return "[]" if test.op == "missing" else atom(str(test.value))


def _numbered(prefix: str) -> Iterator[str]:
    number = 0
    while True:
        number += 1
        yield f"{prefix}{number}"
