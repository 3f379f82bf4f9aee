r"""The facts that rules of a Prolog program derive, where they are plain enough: Datalog, worked out by DuckDB.

The body of a rule may hold goals on constants and variables, `\+` of a predicate that only has facts, and comparisons.
Lists, terms, arithmetic, cuts and alternatives are refused in a sentence.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from hornboost.data.readers.prolog import (
    Mode,
    Program,
    ProgramRule,
    Token,
    arguments_of,
    constant,
    parse_fact,
    predicate,
    split_at_commas,
    text_of,
)
from hornboost.errors import DataError, counted
from hornboost.logic.datalog import COMPARISONS, Argument, Comparison, DatalogRule, Goal, Predicate, Variable
from hornboost.sql.datalog import argument_column, derived_facts

if TYPE_CHECKING:
    import duckdb

MOST_FACTS = 2_000_000
"""Facts that rules may derive for one predicate."""


def derive(program: Program, modes: Sequence[Mode]) -> list[str]:
    """Add to a program the facts of the declared predicates that its rules derive; returns what there is to say of it.

    Rules that no declared predicate needs are left out, and so are those of a predicate that only tests what is known
    (all of its arguments are `+` or `#`, as in `X =< 3`) where they cannot be worked out: thresholds take their place.
    """
    wanted = list(dict.fromkeys((mode.predicate, len(mode.signs)) for mode in modes))
    tests = [
        place
        for place in wanted
        if place not in program.facts
        and all(set(mode.signs) <= {"+", "#"} for mode in modes if (mode.predicate, len(mode.signs)) == place)
    ]
    notes = []
    for place in tests:
        problem = _problem(program.rules, place)
        if problem is not None:
            wanted.remove(place)
            notes.append(f"the rules of '{place[0]}/{place[1]}' are left out: {problem}")
    rules = _needed(program.rules, wanted)
    unused = dict.fromkeys(rule.predicate for rule in program.rules if rule not in rules)
    notes += [
        f"the rules of '{name}/{size}' are left out: no declared predicate needs them"
        for name, size in unused
        if (name, size) not in tests
    ]
    if not rules:
        return notes
    for place, columns in _derived(program.facts, _checked(rules)).items():
        before = len(program.facts[place][0]) if place in program.facts else 0
        n = len(columns[0]) - before
        notes.append(f"{counted(n, 'fact')} of '{place[0]}/{place[1]}' {'is' if n == 1 else 'are'} derived by rules")
        program.facts[place] = columns
    return notes


def _problem(rules: Sequence[ProgramRule], place: Predicate) -> str | None:
    """Why the rules of a predicate cannot be worked out, if they cannot."""
    try:
        _checked(_needed(rules, [place]))
    except DataError as error:
        return str(error)
    return None


def _checked(rules: Sequence[ProgramRule]) -> list[DatalogRule]:
    """The rules as Datalog, or an error that says why they are none."""
    parsed = [_datalog(rule) for rule in rules]
    heads = {rule.head.predicate for rule in parsed}
    for rule in parsed:
        _check(rule, heads)
    return parsed


def _needed(rules: Sequence[ProgramRule], wanted: Sequence[Predicate]) -> list[ProgramRule]:
    """The rules of some predicates, and of those that they look at."""
    needed = set(wanted)
    while True:
        found = [rule for rule in rules if rule.predicate in needed]
        below = {predicate(_positive(goal)) for rule in found for goal in split_at_commas(rule.body) if goal}
        if below <= needed:
            return found
        needed |= below


def _positive(goal: list[Token]) -> list[Token]:
    return goal[1:] if goal[0] == ("symbol", "\\+") else goal


def _datalog(rule: ProgramRule) -> DatalogRule:
    if not rule.body:
        parse_fact(rule.head, rule.place)  # which says that it has a variable
    goals: list[Goal] = []
    comparisons: list[Comparison] = []
    fresh = iter(range(10**9))
    for part in split_at_commas(rule.body) if rule.body else ():
        op = _comparison(part)
        if op is not None:
            at = part.index(("symbol", op))
            comparisons.append(
                Comparison(op, _argument(part[:at], rule, fresh), _argument(part[at + 1 :], rule, fresh))
            )
        else:
            goals.append(_goal(part, rule, fresh))
    return DatalogRule(_goal(rule.head, rule, fresh), tuple(goals), tuple(comparisons), rule.place)


def _comparison(tokens: Sequence[Token]) -> str | None:
    return next((token for kind, token in tokens if kind == "symbol" and token in COMPARISONS), None)


def _goal(tokens: list[Token], rule: ProgramRule, fresh: Iterator[int]) -> Goal:
    holds = tokens[:1] != [("symbol", "\\+")]
    tokens = tokens if holds else tokens[1:]
    plain = tokens and tokens[0][0] in ("atom", "quoted")
    plain = plain and all(kind != "symbol" or token in ("-", "+") for kind, token in tokens)
    if not plain or len(tokens) < 4 or (tokens[1][1] != "(" or tokens[-1][1] != ")"):
        raise _refused(rule, f"the goal '{text_of(tokens)}'" if tokens else "an empty goal")
    return Goal(predicate(tokens), tuple(_argument(part, rule, fresh) for part in arguments_of(tokens)), holds)


def _argument(tokens: Sequence[Token], rule: ProgramRule, fresh: Iterator[int]) -> Argument:
    if len(tokens) == 1 and tokens[0][0] == "variable":
        name = tokens[0][1]
        return Variable(f"_{next(fresh)}" if name == "_" else name)
    is_number = len(tokens) == 2 and tokens[0][1] in ("-", "+") and tokens[1][0] == "number"
    if not is_number and (len(tokens) != 1 or tokens[0][0] not in ("atom", "quoted", "number")):
        is_list = bool(tokens) and tokens[0][1] == "["
        raise _refused(rule, f"the {'list' if is_list else 'term'} '{text_of(tokens)}'")
    return constant(tokens)


def _refused(rule: ProgramRule, what: str) -> DataError:
    return DataError(
        f"{rule.place}: the rule '{rule}' has {what}, and only goals on constants and variables and comparisons can be "
        "worked out; replace the rule by the facts that it derives"
    )


def _check(rule: DatalogRule, derived: set[Predicate]) -> None:
    """That every variable is bound, and that what is negated is no consequence of rules."""
    bound = {argument for goal in rule.goals if goal.holds for argument in goal.arguments}
    asked = [*rule.head.arguments, *(side for test in rule.comparisons for side in (test.left, test.right))]
    asked += [argument for goal in rule.goals if not goal.holds for argument in goal.arguments]
    for argument in asked:
        if isinstance(argument, Variable) and argument not in bound:
            raise DataError(
                f"{rule.place}: the variable {argument.name} of a rule is bound by no goal of its body; "
                "replace the rule by the facts that it derives"
            )
    for goal in rule.goals:
        if not goal.holds and goal.predicate in derived:
            raise DataError(
                f"{rule.place}: the rule negates '{goal.predicate[0]}/{goal.predicate[1]}', which rules derive; "
                "replace it by the facts that it derives"
            )


def _derived(
    facts: Mapping[Predicate, list[list[str]]], rules: Sequence[DatalogRule]
) -> dict[Predicate, list[list[str]]]:
    """All facts of the predicates that rules derive, those that were there first."""
    import duckdb
    import pyarrow as pa

    places = {goal.predicate for rule in rules for goal in (rule.head, *rule.goals)}
    tables = {place: f"p{number}" for number, place in enumerate(sorted(places))}
    with duckdb.connect() as connection:
        for place, table in tables.items():
            columns = facts.get(place) or [[] for _ in range(place[1])]
            held = {argument_column(k): pa.array(values, pa.string()) for k, values in enumerate(columns)}
            connection.register(table, pa.table(held))
        _saturate(connection, rules, tables)
        heads = dict.fromkeys(rule.head.predicate for rule in rules)
        return {place: _in_order(connection.view(tables[place]), facts.get(place), place[1]) for place in heads}


def _saturate(
    connection: duckdb.DuckDBPyConnection, rules: Sequence[DatalogRule], tables: Mapping[Predicate, str]
) -> None:
    """Apply the rules until nothing new follows."""
    held = dict.fromkeys(tables, -1)
    grows = True
    while grows:
        grows = False
        for rule in rules:
            place = rule.head.predicate
            derived = connection.sql(derived_facts(rule, tables))
            found = derived.union(connection.view(tables[place])).distinct().to_arrow_table()
            grows |= found.num_rows > held[place]
            held[place] = found.num_rows
            connection.register(tables[place], found)
            if found.num_rows > MOST_FACTS:
                raise DataError(
                    f"{rule.place}: the rules of '{place[0]}/{place[1]}' derive more than {MOST_FACTS:,} facts; "
                    "declare fewer predicates or give the facts that matter"
                )


def _in_order(found: duckdb.DuckDBPyRelation, held: list[list[str]] | None, size: int) -> list[list[str]]:
    """The facts of a predicate, those of the program in its order and the others by their text."""
    known = list(zip(*held, strict=True)) if held else []
    seen = set(known)
    rows = [*known, *sorted(row for row in found.fetchall() if row not in seen)]
    return [list(column) for column in zip(*rows, strict=True)] if rows else [[] for _ in range(size)]
