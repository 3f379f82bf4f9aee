"""Popper's folders: background in `bk.pl`, examples in `exs.pl`, declarations in `bias.pl`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hornboost.data.readers.derive import derive
from hornboost.data.readers.options import STATED_OPTIONS, check_options, over_stated
from hornboost.data.readers.prolog import (
    Mode,
    Program,
    arguments_of,
    build_tables,
    clauses,
    constant,
    is_number,
    parse_fact,
    parse_program,
    read_text,
    split_at_commas,
    text_of,
)
from hornboost.data.schema import ColumnKind
from hornboost.errors import DataError
from hornboost.logic.datalog import Predicate

FILES = ("bk.pl", "exs.pl", "bias.pl")

BEYOND = (
    "holds a list or a term: programs over these are beyond rules about tables of constants; learn them with Popper"
)

Place = tuple[Predicate, int]
"""An argument of a predicate."""


@dataclass(eq=False)
class Bias:
    """What `bias.pl` declares; everything else in it steers Popper's search and is left out."""

    heads: list[Predicate] = field(default_factory=list)
    bodies: list[Predicate] = field(default_factory=list)
    types: dict[str, list[str]] = field(default_factory=dict)
    directions: dict[str, list[str]] = field(default_factory=dict)


def is_popper(folder: Path) -> bool:
    """Whether a folder holds the three files of Popper."""
    return all((folder / name).is_file() for name in FILES)


def read_popper(folder: str | Path, options: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `Database` for a folder with `bk.pl`, `exs.pl` and `bias.pl`."""
    check_options(options, STATED_OPTIONS)
    folder = Path(folder)
    for name in FILES:
        if not (folder / name).is_file():
            raise DataError(
                f"{folder.name}: there is no file '{name}'; Popper's background, examples and declarations are "
                f"{', '.join(FILES)}"
            )
    bias = _bias(read_text(folder / "bias.pl"))
    positive, negative = _examples(read_text(folder / "exs.pl"))
    if not negative.facts:
        raise DataError(f"{folder.name}: exs.pl has no negative examples; add facts neg({_shown(positive)}).")
    background = parse_program(read_text(folder / "bk.pl"), "bk.pl", rules=True)
    _check_background(background, bias)
    signs = [Mode(place[0], _signs(bias, place), ("",) * place[1]) for place in bias.bodies if place[1] > 0]
    notes = [f"bk.pl: {note}" for note in derive(background, signs)]
    background.rules.clear()
    modes = _modes(bias, background, positive, negative)
    schema, task, sources, warnings = build_tables(background, modes, positive, negative, folder.name)
    schema, task = over_stated(schema, task, options)
    return {"schema": schema, "task": task, "sources": sources, "warnings": [*notes, *warnings]}


def _bias(text: str) -> Bias:
    found = Bias()
    for _, tokens in clauses(text, "bias.pl"):
        parts = arguments_of(tokens) if ("symbol", ":-") not in tokens else []
        if any(kind == "variable" for kind, _ in tokens) or len(parts) != 2:
            continue
        what, name = tokens[0][1], constant(parts[0])
        if what in ("head_pred", "body_pred"):
            if not text_of(parts[1]).isdigit():
                raise DataError(f"bias.pl: '{text_of(tokens)}.' has no arity; write {what}({name}, 2).")
            (found.heads if what == "head_pred" else found.bodies).append((name, int(text_of(parts[1]))))
        elif what in ("type", "direction"):
            listed = [constant(part) for part in split_at_commas(parts[1][1:-1]) if part]
            (found.types if what == "type" else found.directions)[name] = listed
    if not found.heads or not found.bodies:
        missing = "head_pred" if not found.heads else "body_pred"
        raise DataError(f"bias.pl: there is no {missing}(name, arity); declare the predicates that rules are made of")
    return found


def _examples(text: str) -> tuple[Program, Program]:
    found = {"pos": Program(), "neg": Program()}
    for place, tokens in clauses(text, "exs.pl"):
        if tokens[0] == ("symbol", ":-"):
            continue
        parts, shown = arguments_of(tokens), f"{place}: '{text_of(tokens)[:80]}.'"
        if tokens[0][1] not in found or len(parts) != 1:
            raise DataError(f"{shown} is no example; write pos(target(a)). or neg(target(b)).")
        if any(kind == "punctuation" for part in arguments_of(parts[0]) for kind, _ in part):
            raise DataError(f"{shown} {BEYOND}")
        found[tokens[0][1]].add(*parse_fact(parts[0], place))
    if not found["pos"].facts:
        raise DataError("exs.pl: there are no positive examples; write pos(target(a)). for each")
    return found["pos"], found["neg"]


def _check_background(background: Program, bias: Bias) -> None:
    """That the declared predicates are about constants, and that there are facts."""
    for place in (*bias.bodies, *bias.heads):
        if place in background.terms:
            raise DataError(f"{background.terms[place]} {BEYOND}")
    known = {*background.facts, *(rule.predicate for rule in background.rules)}
    absent = [place for place in bias.bodies if place not in known]
    if len(absent) == len(bias.bodies):
        name, size = absent[0]
        raise DataError(f"bk.pl: no declared predicate has facts, not even '{name}/{size}'; add them to bk.pl")


def _signs(bias: Bias, place: Predicate) -> tuple[str, ...]:
    listed = bias.directions.get(place[0], [])
    return tuple("+" if way == "in" else "-" for way in listed) if len(listed) == place[1] else ("-",) * place[1]


def _modes(bias: Bias, background: Program, positive: Program, negative: Program) -> list[Mode]:
    """A mode for each declared predicate that has facts: arguments that share a type can be joined."""
    head = next(iter(positive.facts))
    facts = {place: background.facts[place] for place in bias.bodies if place in background.facts and place[1] > 0}
    facts = {head: [], **{place: columns for place, columns in facts.items() if place != head}}
    facts[head] = [
        one + two for one, two in zip(positive.facts[head], negative.facts.get(head, [[]] * head[1]), strict=True)
    ]
    types = _types(bias, facts)
    places: dict[str, list[Place]] = {}
    for place, kind in types.items():
        places.setdefault(kind, []).append(place)
    kinds = {
        kind: "key" if any(place[0] == head for place in found) else _kind([facts[name][at] for name, at in found])
        for kind, found in places.items()
    }
    modes = []
    for name in facts:
        own = tuple(types[name, at] for at in range(name[1]))
        is_typed = len(bias.types.get(name[0], [])) == name[1]
        names = () if is_typed else tuple(f"arg{at}" for at in range(1, name[1] + 1))
        modes.append(Mode(name[0], _signs(bias, name), own, tuple(kinds[kind] for kind in own), names))
    return modes


def _kind(columns: Sequence[Sequence[str]]) -> ColumnKind:
    """Arguments that occur in several places are keys; others are numbers or names that a rule may test."""
    numeric = all(is_number(value) for column in columns for value in column)
    if numeric and (
        len(columns) == 1 or not all(value.lstrip("-+").isdigit() for column in columns for value in column)
    ):
        return "numeric"
    return "nominal" if len(columns) == 1 else "key"


def _types(bias: Bias, facts: dict[Predicate, list[list[str]]]) -> dict[Place, str]:
    """The type of each argument: the declared one, or that of the arguments that share a constant with it."""
    declared = {
        (place, at): kind
        for place in facts
        if len(bias.types.get(place[0], [])) == place[1]
        for at, kind in enumerate(bias.types[place[0]])
    }
    above: dict[Place, Place] = {}

    def top(place: Place) -> Place:
        while place in above:
            place = above[place]
        return place

    first: dict[str, Place] = {}
    for place, value in _untyped(facts, declared):
        other = top(first.setdefault(value, place))
        if other != top(place):
            above[top(place)] = other
    return {
        (place, at): declared.get((place, at)) or _type_name(top((place, at)))
        for place in facts
        for at in range(place[1])
    }


def _untyped(facts: dict[Predicate, list[list[str]]], declared: dict[Place, str]) -> Iterator[tuple[Place, str]]:
    for place, columns in facts.items():
        for at, column in enumerate(columns):
            if (place, at) not in declared:
                yield from (((place, at), value) for value in dict.fromkeys(column))


def _type_name(place: Place) -> str:
    (name, size), at = place
    return name if size == 1 else f"{name}_{at + 1}"


def _shown(program: Program) -> str:
    name, size = next(iter(program.facts))
    return f"{name}({', '.join('abcdefghij'[:size])})"
