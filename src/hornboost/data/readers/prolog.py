"""Ground facts and mode declarations in Prolog syntax, as Aleph and srlearn write them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from hornboost.data.readers.typed import convert_text
from hornboost.data.schema import ColumnSchema, Schema, TableSchema, Task
from hornboost.data.source import ArrowSource, Source
from hornboost.errors import DataError, did_you_mean

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
    """`bond(+drug, -atom, #type)`: for each argument its sign and type."""

    predicate: str
    signs: tuple[str, ...]
    types: tuple[str, ...]


@dataclass(eq=False)
class Program:
    """The facts of each predicate and arity, column-wise, and the clauses that are directives."""

    facts: dict[tuple[str, int], list[list[str]]] = field(default_factory=dict)
    directives: list[str] = field(default_factory=list)


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


def clauses(text: str, location: str) -> Iterator[tuple[int, list[Token]]]:
    """The clauses of a text as tokens, each with the place where it begins."""
    current: list[Token] = []
    start = position = 0
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
            yield start, current
            current = []
        elif kind != "skip":
            if not current:
                start = position
            current.append((kind, found.group()))
        position = found.end()
    if current:
        raise _error(location, text, start, f"the clause '{_text(current)[:60]}' does not end in a full stop; add one")


def parse_program(text: str, location: str) -> Program:
    """Facts and directives; a rule or a fact with variables is an error that names it."""
    program = Program()
    for start, tokens in clauses(text, location):
        if tokens[0] in (("symbol", ":-"), ("symbol", "?-")):
            program.directives.append(_text(tokens[1:]))
        elif ("symbol", ":-") in tokens or ("symbol", "-->") in tokens:
            problem = f"'{_text(tokens)[:80]}.' is a rule, not a fact; replace it by the facts that it derives"
            raise _error(location, text, start, problem)
        else:
            name, arguments = _fact(tokens, location, text, start)
            columns = program.facts.setdefault((name, len(arguments)), [[] for _ in arguments])
            for column, argument in zip(columns, arguments, strict=True):
                column.append(argument)
    return program


def _fact(tokens: list[Token], location: str, text: str, start: int) -> tuple[str, list[str]]:
    variable = next((token for kind, token in tokens if kind == "variable"), None)
    if variable is not None:
        problem = f"the fact '{_text(tokens)[:80]}.' has the variable {variable}"
        raise _error(location, text, start, f"{problem}; facts must be ground, so quote it or write it in lower case")
    if tokens[0][0] not in ("atom", "quoted") or (len(tokens) > 1 and (tokens[1][1] != "(" or tokens[-1][1] != ")")):
        raise _error(location, text, start, f"'{_text(tokens)[:80]}.' is no fact; write predicate(constant, ...).")
    parts = list(_arguments(tokens[2:-1])) if len(tokens) > 1 else []
    if not all(parts):
        raise _error(
            location, text, start, f"'{_text(tokens)[:80]}.' lacks an argument; write predicate(constant, ...)."
        )
    try:
        return _constant(tokens[:1]), [_constant(part) for part in parts]
    except ValueError as error:
        raise _error(location, text, start, f"{error}; write '\\\\\\\\' for a backslash") from None


def _arguments(tokens: Sequence[Token]) -> Iterator[list[Token]]:
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


def _constant(tokens: Sequence[Token]) -> str:
    """A constant as plain text: quotes are taken off, a compound term stays as it is written."""
    if len(tokens) == 1 and tokens[0][0] == "quoted":
        token = tokens[0][1]
        return QUOTED.sub(lambda found: _character(found.group(), token[0]), token[1:-1])
    return _text(tokens)


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


def _text(tokens: Sequence[Token]) -> str:
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
    warnings = []
    tables: dict[str, TableSchema] = {}
    sources: dict[str, Source] = {}
    examples = [pos + neg for pos, neg in zip(positive.facts[head, arity], negative.facts[head, arity], strict=True)]
    count = len(positive.facts[head, arity][0])
    label = head if head not in _column_names(by_predicate[head, arity][0].types) else head + "_label"
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
            warnings.append(
                f"{location}: the {len(columns[0]) if columns else 1} facts of '{name}/{size}' have no mode "
                "and are left out"
            )
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
    names = _column_names(modes[0].types)
    for position, (name, kind, values) in enumerate(zip(names, modes[0].types, columns, strict=True)):
        constant = all(mode.signs[position] == "#" for mode in modes)
        text = _column(values)
        number = convert_text(text, name, [])
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


def _column_names(types: Sequence[str]) -> list[str]:
    """Columns are called by their types, numbered where a type recurs.

    >>> _column_names(["drug", "atom", "atom"])
    ['drug', 'atom1', 'atom2']
    """
    seen: dict[str, int] = {}
    names = []
    for kind in types:
        seen[kind] = seen.get(kind, 0) + 1
        names.append(f"{kind}{seen[kind]}" if list(types).count(kind) > 1 else kind)
    return names
