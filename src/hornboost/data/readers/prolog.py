"""Ground facts and mode declarations in Prolog syntax, as Aleph and srlearn write them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hornboost.data.readers.typed import convert_text
from hornboost.data.schema import ColumnKind, ColumnSchema, Schema, TableSchema, Task
from hornboost.data.source import ArrowSource, Source
from hornboost.errors import DataError, counted, did_you_mean
from hornboost.logic.datalog import Predicate

if TYPE_CHECKING:
    import pyarrow as pa

ESCAPE = r"""\\(?:x[0-9a-fA-F]+\\?|[0-7]+\\?|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|.)"""
TOKEN = re.compile(
    rf"""(?P<skip>\s+|%[^\n]*|//[^\n]*|/\*.*?\*/)
    |(?P<quoted>'(?:[^'\\]|''|{ESCAPE})*'|"(?:[^"\\]|""|{ESCAPE})*")
    |(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?![A-Za-z0-9_]))
    |(?P<variable>[A-Z_][A-Za-z0-9_]*)
    |(?P<atom>[^\W\d_A-Z]\w*|\d\w+)
    |(?P<end>\.(?=\s|%|$))
    |(?P<punctuation>[()\[\]{{}},|])
    |(?P<symbol>[^\s\w()\[\]{{}},|'"%.]+|\.)""",
    re.VERBOSE | re.DOTALL,
)
QUOTED = re.compile(rf"{ESCAPE}|''|\"\"", re.DOTALL)
CONTROLS = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "e": "\x1b",
    "s": " ",
    "\n": "",
}
"""What a letter stands for after a backslash (ISO 13211-1, 6.4.2.1, and SWI-Prolog's \\e and \\s);
an escaped end of line is nothing."""

NUMBER_TYPES = frozenset(["int", "integer", "float", "real", "number", "num", "nat", "numeric", "double"])

Token = tuple[str, str]


@dataclass(frozen=True)
class Mode:
    """`bond(+drug, -atom, #type)`: for each argument its sign and type.

    `kinds` and `names` say which columns they become where signs, types and values do not decide that.
    """

    predicate: str
    signs: tuple[str, ...]
    types: tuple[str, ...]
    kinds: tuple[ColumnKind, ...] = ()
    names: tuple[str, ...] = ()

    @property
    def columns(self) -> list[str]:
        """Columns are called by their types, numbered where a type recurs.

        >>> Mode("bond", ("+", "-", "-"), ("drug", "atom", "atom")).columns
        ['drug', 'atom1', 'atom2']
        """
        if self.names:
            return list(self.names)
        seen: dict[str, int] = {}
        names = []
        for kind in self.types:
            seen[kind] = seen.get(kind, 0) + 1
            names.append(f"{kind}{seen[kind]}" if self.types.count(kind) > 1 else kind)
        return names


@dataclass(frozen=True, eq=False)
class ProgramRule:
    """A clause with a body, or a fact with variables; `place` says where it stands, for messages."""

    head: list[Token]
    body: list[Token]
    place: str

    @property
    def predicate(self) -> Predicate:
        """What it is about."""
        return predicate(self.head)

    def __str__(self) -> str:
        is_plain = bool(self.body) and self.body[0] != ("symbol", "-->")
        return text_of([*self.head, *([("symbol", ":-")] if is_plain else []), *self.body])[:80] + "."


@dataclass(eq=False)
class Program:
    """The facts of each predicate and arity, column-wise, the rules, and the clauses that are directives.

    `terms` shows the first fact of a predicate with an argument that is a list or a term.
    """

    facts: dict[Predicate, list[list[str]]] = field(default_factory=dict)
    rules: list[ProgramRule] = field(default_factory=list)
    directives: list[str] = field(default_factory=list)
    terms: dict[Predicate, str] = field(default_factory=dict)

    def add(self, name: str, arguments: Sequence[str]) -> None:
        """One more fact."""
        columns = self.facts.setdefault((name, len(arguments)), [[] for _ in arguments])
        for column, argument in zip(columns, arguments, strict=True):
            column.append(argument)


def read_text(path: Path) -> str:
    """The text of a file."""
    if path.exists() and not path.is_file():
        raise DataError(f"{path.name}: this is no file; give one that holds text")
    try:
        return path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise DataError(f"{path.name}: the file is not UTF-8 text; save it in that encoding") from None
    except OSError as error:
        raise DataError(f"{path.name}: the file cannot be read ({error.strerror}); check the path") from None


def clauses(text: str, location: str) -> Iterator[tuple[str, list[Token]]]:
    """The clauses of a text as tokens, each with the place where it begins."""
    current: list[Token] = []
    start = position = counted = 0
    line = 1
    while position < len(text):
        found = TOKEN.match(text, position)
        if found is None:
            raise _error(
                location,
                text,
                position,
                f"cannot read {text[position : position + 20].splitlines()[0]!r}; check its quotes",
            )
        kind = str(found.lastgroup)
        if kind == "end":
            if not current:
                raise _error(location, text, position, "there is no clause before the full stop; remove it")
            line, counted = line + text.count("\n", counted, start), start
            yield f"{location}: line {line}", current
            current = []
        elif kind != "skip":
            if not current:
                start = position
            current.append((kind, found.group()))
        position = found.end()
    if current:
        raise _error(
            location, text, start, f"the clause '{text_of(current)[:60]}' does not end in a full stop; add one"
        )


def parse_program(text: str, location: str, *, rules: bool = False) -> Program:
    """Facts and directives; a rule or a fact with variables is an error that names it, unless `rules` are wanted."""
    program = Program()
    for place, tokens in clauses(text, location):
        if tokens[0] in (("symbol", ":-"), ("symbol", "?-")):
            program.directives.append(text_of(tokens[1:]))
        elif ("symbol", ":-") in tokens or ("symbol", "-->") in tokens:
            rule = _rule(tokens, place)
            if not rules:
                raise DataError(f"{place}: '{rule}' is a rule, not a fact; replace it by the facts that it derives")
            program.rules.append(rule)
        elif rules and any(kind == "variable" for kind, _ in tokens):
            program.rules.append(ProgramRule(tokens, [], place))
        else:
            program.add(*parse_fact(tokens, place))
            if tokens.count(("punctuation", "(")) > 1 or ("punctuation", "[") in tokens:
                program.terms.setdefault(predicate(tokens), f"{place}: '{text_of(tokens)[:80]}.'")
    return program


def _rule(tokens: list[Token], place: str) -> ProgramRule:
    arrow = next(k for k, token in enumerate(tokens) if token in (("symbol", ":-"), ("symbol", "-->")))
    is_grammar = tokens[arrow][1] == "-->"  # the arrow stays, so that its goals are taken for no others
    return ProgramRule(tokens[:arrow], tokens[arrow + (not is_grammar) :], place)


def parse_fact(tokens: Sequence[Token], place: str) -> tuple[str, list[str]]:
    """The predicate of a fact and its arguments."""
    shown = text_of(tokens)[:80]
    variable = next((token for kind, token in tokens if kind == "variable"), None)
    if variable is not None:
        problem = f"the fact '{shown}.' has the variable {variable}"
        raise DataError(f"{place}: {problem}; facts must be ground, so quote it or write it in lower case")
    if tokens[0][0] not in ("atom", "quoted") or (len(tokens) > 1 and (tokens[1][1] != "(" or tokens[-1][1] != ")")):
        raise DataError(f"{place}: '{shown}.' is no fact; write predicate(constant, ...).")
    parts = arguments_of(tokens)
    if not all(parts):
        raise DataError(f"{place}: '{shown}.' lacks an argument; write predicate(constant, ...).")
    try:
        return constant(tokens[:1]), [constant(part) for part in parts]
    except ValueError as error:
        raise DataError(f"{place}: {error}; write '\\\\\\\\' for a backslash") from None


def predicate(tokens: Sequence[Token]) -> Predicate:
    """The name and arity of a term."""
    return (constant(tokens[:1]), len(arguments_of(tokens))) if tokens else ("", 0)


def arguments_of(tokens: Sequence[Token]) -> list[list[Token]]:
    """The arguments of a term."""
    return list(split_at_commas(tokens[2:-1])) if len(tokens) > 1 else []


def split_at_commas(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Parts of a sequence of tokens, at the commas outside brackets."""
    depth = 0
    part: list[Token] = []
    for kind, token in tokens:
        depth += (token in "([{") - (token in ")]}") if kind == "punctuation" else 0
        if token == "," and kind == "punctuation" and depth == 0:
            yield part
            part = []
        else:
            part.append((kind, token))
    yield part


def constant(tokens: Sequence[Token]) -> str:
    """A constant as plain text: quotes are taken off, a compound term stays as it is written."""
    if len(tokens) == 1 and tokens[0][0] == "quoted":
        token = tokens[0][1]
        return QUOTED.sub(lambda found: _character(found.group(), token[0]), token[1:-1])
    return text_of(tokens)


def _character(written: str, quote: str) -> str:
    """What an escape or a doubled quote stands for."""
    if written[0] != "\\":
        return quote if written[0] == quote else written
    name = written[1:].removesuffix("\\") or "\\"
    if name in CONTROLS or name in "\\'\"`":
        return CONTROLS.get(name, name)
    digits, base = (name[1:], 16) if name[0] in "xuU" else (name, 8)
    try:
        code = int(digits, base)
        return chr(code) if not 0xD800 <= code < 0xE000 else chr(-1)
    except (ValueError, OverflowError):
        raise ValueError(f"{written!r} is no escape of Prolog") from None


def is_number(text: str) -> bool:
    """Whether a constant is a number.

    >>> is_number("-1.5e3"), is_number("c1")
    (True, False)
    """
    return re.fullmatch(r"[-+]?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?", text, re.ASCII) is not None


def text_of(tokens: Sequence[Token]) -> str:
    """Tokens as they are written."""
    text = "".join(f" {token} " if kind == "symbol" and token in (":-", "-->") else token for kind, token in tokens)
    return text.replace(",", ", ") if " :- " in text or " --> " in text else text


def _error(location: str, text: str, position: int, problem: str) -> DataError:
    line = text.count("\n", 0, position) + 1
    return DataError(f"{location}: line {line}: {problem}")


def parse_mode(text: str, location: str) -> Mode:
    """A mode declaration.

    >>> parse_mode("bond(+drug, -atom, #int)", "b").signs
    ('+', '-', '#')
    """
    found = re.fullmatch(r"\s*(\w+)\s*\((.*)\)\s*\.?\s*", text, re.DOTALL)
    parts = [part.strip() for part in found[2].split(",")] if found else []
    if found is None or not all(re.fullmatch(r"[+\-#@&`^]\s*\w+", part) for part in parts):
        raise DataError(f"{location}: '{text.strip()}' is no mode; write predicate(+type, -type, #type)")
    return Mode(found[1], tuple(part[0] for part in parts), tuple(part[1:].strip() for part in parts))


def build_tables(
    background: Program, modes: Sequence[Mode], positive: Program, negative: Program, location: str
) -> tuple[Schema, Task, dict[str, Source], list[str]]:
    """Schema, task, sources and warnings.

    A table for each predicate with a mode, and one of examples with their label.
    """
    import pyarrow as pa

    head, arity = _head(positive, negative, location)
    by_predicate: dict[tuple[str, int], list[Mode]] = {}
    for mode in modes:
        by_predicate.setdefault((mode.predicate, len(mode.signs)), []).append(mode)
    if (head, arity) not in by_predicate:
        known = [f"{name}/{size}" for name, size in by_predicate]
        raise DataError(
            f"{location}: there is no mode of the target '{head}/{arity}'{did_you_mean(f'{head}/{arity}', known)}"
        )
    from hornboost.data.readers.derive import derive

    others = [mode for mode in modes if (mode.predicate, len(mode.signs)) != (head, arity)]
    warnings = [f"{location}: {note}" for note in derive(background, others)]
    tables: dict[str, TableSchema] = {}
    sources: dict[str, Source] = {}
    examples = [pos + neg for pos, neg in zip(positive.facts[head, arity], negative.facts[head, arity], strict=True)]
    count = len(positive.facts[head, arity][0])
    label = head if head not in by_predicate[head, arity][0].columns else head + "_label"
    facts = {(head, arity): examples} | {
        place: columns for place, columns in background.facts.items() if place != (head, arity)
    }
    if (head, arity) in background.facts:
        warnings.append(
            f"{location}: the facts of the target '{head}' in the background are left out, as they give the answer"
        )
    inputs = {kind for mode in by_predicate[head, arity] for kind in mode.types}
    for (name, size), columns in facts.items():
        own = by_predicate.get((name, size))
        if own is None or size == 0:
            n = len(columns[0]) if columns else 1
            have = "has no mode and is" if n == 1 else "have no mode and are"
            warnings.append(f"{location}: the {counted(n, 'fact')} of '{name}/{size}' {have} left out")
            continue
        table = name if sum(other == name for other, _ in by_predicate) == 1 else f"{name}_{size}"
        arrow, schemas = _table_columns(own, columns, inputs)
        if (name, size) == (head, arity):
            target = table
            truth = np.arange(len(columns[0])) < count
            arrow[label] = _column(["true" if value else "false" for value in truth])
            schemas.append(ColumnSchema(label, "nominal"))
        sources[table] = ArrowSource(table, pa.table(arrow), location)
        tables[table] = TableSchema(table, tuple(schemas))
    key = tuple(column.name for column in tables[target].columns if column.type == "key")
    task = Task(target, key, label, ("true",), ("false",))
    return Schema(tables, target=task, location=location).validate(), task, sources, warnings


def _head(positive: Program, negative: Program, location: str) -> tuple[str, int]:
    for what, program in (("positive", positive), ("negative", negative)):
        if len(program.facts) != 1:
            names = ", ".join(f"{name}/{size}" for name, size in program.facts) or "none"
            raise DataError(
                f"{location}: the {what} examples must be facts of one predicate, and there are {names}; keep one"
            )
    one, other = next(iter(positive.facts)), next(iter(negative.facts))
    if one != other:
        raise DataError(
            f"{location}: positive examples are '{one[0]}/{one[1]}', negative ones '{other[0]}/{other[1]}'; "
            "use one predicate"
        )
    if one[1] == 0:
        raise DataError(f"{location}: the target '{one[0]}' has no arguments; examples need at least one key")
    return one


def _table_columns(
    modes: Sequence[Mode], columns: Sequence[list[str]], inputs: set[str]
) -> tuple[dict[str, Any], list[ColumnSchema]]:
    """Arrow columns and their types.

    Whole numbers that a mode wants as constants (#) are names, other numbers are numeric.
    """
    arrow: dict[str, Any] = {}
    schemas = []
    names = modes[0].columns
    for position, (name, kind, values) in enumerate(zip(names, modes[0].types, columns, strict=True)):
        constant = all(mode.signs[position] == "#" for mode in modes)
        text = _column(values)
        if modes[0].kinds:
            column = ColumnSchema(name, modes[0].kinds[position], kind if modes[0].kinds[position] == "key" else None)
            arrow[name] = convert_text(text, name, [])[0] if column.type == "numeric" else text
            schemas.append(column)
            continue
        number = convert_text(text, name, [])[0]
        numeric = number.type == "double" or (number.type == "int64" and not constant and kind in NUMBER_TYPES)
        if not numeric or (kind in inputs and not constant):
            arrow[name] = text
            schemas.append(ColumnSchema(name, "nominal") if constant else ColumnSchema(name, "key", kind))
        else:
            arrow[name] = number
            schemas.append(ColumnSchema(name, "numeric"))
    return arrow, schemas


def _column(values: Sequence[str]) -> pa.ChunkedArray:
    import pyarrow as pa

    return pa.chunked_array([pa.array(values, type=pa.string())])
