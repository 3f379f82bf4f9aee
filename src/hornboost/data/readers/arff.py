"""ARFF: one table with declared types."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hornboost.data.convert import factorize, parse_numbers
from hornboost.data.readers.options import task_from_options, with_times, with_types
from hornboost.data.readers.prolog import read_text
from hornboost.data.schema import ColumnKind, ColumnSchema, Schema, TableSchema
from hornboost.data.source import ArrowSource
from hornboost.errors import DataError

if TYPE_CHECKING:
    import pyarrow as pa

ATTRIBUTE = re.compile(r"""@attribute\s+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|\S+)\s+(.+)""", re.IGNORECASE)
SPARSE = re.compile(r"""[ \t]*(\d{1,9})[ \t]+('(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*"|[^ \t,{}'"]+)[ \t]*(?:,|(?=}))""")
NUMERIC = frozenset(["numeric", "real", "integer"])
JAVA_DATES = (("yyyy", "%Y"), ("MM", "%m"), ("dd", "%d"), ("HH", "%H"), ("mm", "%M"), ("ss", "%S"), ("'", ""))


@dataclass(frozen=True)
class Attribute:
    """A declared column: its values where they are listed, its format where it is a date."""

    name: str
    type: ColumnKind
    values: tuple[str, ...] | None = None
    date_format: str | None = None


def read_arff(path: str | Path, options: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `Database` for an ARFF file; the last attribute is the label unless one is named."""
    path = Path(path)
    lines = re.split(r"\r\n|\n|\r", read_text(path))  # no other character ends a line, whatever str.splitlines thinks
    relation, attributes, start = _header(lines, path.name)
    columns = _data(lines, start, attributes, path.name)
    import pyarrow as pa

    table = re.sub(r"\W+", "_", relation).strip("_") or "examples"
    schema = Schema(
        {table: TableSchema(table, tuple(ColumnSchema(attribute.name, attribute.type) for attribute in attributes))},
        location=path.name,
    ).validate()
    notes = []
    if options.get("label") is None:
        options = {**options, "label": attributes[-1].name}
        notes.append(f"the last attribute '{attributes[-1].name}' is the label")
    schema = with_types(with_times(schema, options), options)
    rest = {name: value for name, value in options.items() if name != "types"}
    task = task_from_options(schema, None, {"target": table, **rest})
    source = ArrowSource(table, pa.table(columns), path.name)
    return {"schema": schema, "task": task, "sources": {table: source}, "inferred": notes}


def _header(lines: list[str], location: str) -> tuple[str, list[Attribute], int]:
    relation = "examples"
    attributes: list[Attribute] = []
    for number, line in enumerate(lines):
        text = line.strip()
        word = text.split(maxsplit=1)[0].lower() if text else ""
        if word == "@relation":
            relation = _unquote(text[len("@relation") :].strip()) or relation
        elif word == "@attribute":
            attributes.append(_attribute(text, f"{location}: line {number + 1}"))
        elif word == "@data":
            if not attributes:
                raise DataError(f"{location}: there is no @attribute before @data; declare the columns")
            return relation, attributes, number + 1
        elif text and not text.startswith("%"):
            raise DataError(
                f"{location}: line {number + 1}: '{text[:40]}' is no ARFF declaration; "
                "write @relation, @attribute or @data"
            )
    raise DataError(f"{location}: there is no @data line; add it before the rows")


def _attribute(text: str, place: str) -> Attribute:
    found = ATTRIBUTE.fullmatch(text)
    if found is None:
        raise DataError(f"{place}: '{text[:60]}' is no attribute; write @attribute name type")
    name, kind = _unquote(found[1]), found[2].strip()
    if kind.startswith("{"):
        if not kind.endswith("}"):
            raise DataError(f"{place}: the values of attribute '{name}' do not end in a brace; write {{a, b}}")
        values = [value.strip() for row in _rows([kind[1:-1]], place) for value in row]
        return Attribute(name, "nominal", tuple(dict.fromkeys(values)))
    word, _, rest = kind.partition(" ")
    if word.lower() in NUMERIC:
        return Attribute(name, "numeric")
    if word.lower() == "string":
        return Attribute(name, "nominal")
    if word.lower() == "date":
        return Attribute(name, "date", date_format=_unquote(rest.strip()) or None)
    raise DataError(
        f"{place}: attribute '{name}' has the type '{kind[:30]}'; only numeric, nominal, string and date can be read"
    )


def _rows(lines: list[str], *places: str) -> Iterator[list[str]]:
    """The values of each line; `places` are named in errors."""
    text = "".join(lines[:100_000])
    quotes = '"' if '"' in text and "'" not in text else "'"
    reader = csv.reader(lines, skipinitialspace=True, quotechar=quotes, escapechar="\\")
    for number in range(len(lines)):
        try:
            row = next(reader)
        except csv.Error as error:
            raise DataError(f"{places[number]}: the line cannot be read ({error}); correct it") from None
        if reader.line_num != number + 1:
            raise DataError(
                f"{places[number]}: a quote is not closed on its line; close it, or write \\{quotes} for the character"
            )
        yield row


def _data(lines: list[str], start: int, attributes: list[Attribute], location: str) -> dict[str, pa.ChunkedArray]:
    numbers = [
        number
        for number in range(start, len(lines))
        if lines[number].strip() and not lines[number].lstrip().startswith("%")
    ]
    places = [f"{location}: line {number + 1}" for number in numbers]
    texts = [lines[number].strip() for number in numbers]
    if texts and texts[0].startswith("{"):
        rows = [_dense(text, attributes, place) for text, place in zip(texts, places, strict=True)]
    else:
        rows = list(_rows(texts, *places))
    for place, row in zip(places, rows, strict=True):
        if len(row) != len(attributes):
            raise DataError(f"{place} has {len(row)} values for {len(attributes)} attributes; correct the line")
    columns = zip(*rows, strict=True) if rows else ([] for _ in attributes)
    return {
        attribute.name: _convert(attribute, column, numbers, location)
        for attribute, column in zip(attributes, columns, strict=True)
    }


def _dense(text: str, attributes: list[Attribute], place: str) -> list[str]:
    """A sparse row, `{1 x, 4 2.5}`: a number that it leaves out is 0, a nominal value the first that is declared."""
    dense: dict[int, str] = {}
    at = 1
    while text[at:].strip() != "}":
        found = SPARSE.match(text, at)
        if found is None or int(found[1]) >= len(attributes) or int(found[1]) in dense:
            raise DataError(f"{place}: '{text[at : at + 40]}' is no sparse value; write {{position value, ...}}")
        dense[int(found[1])] = _unquote(found[2])
        at = found.end()
    for position, attribute in enumerate(attributes):
        if position not in dense:
            if attribute.type != "numeric" and not attribute.values:
                raise DataError(
                    f"{place}: the sparse row leaves out '{attribute.name}', which has no first value; write it"
                )
            dense[position] = attribute.values[0] if attribute.values else "0"
    return [dense[position] for position in range(len(attributes))]


def _convert(attribute: Attribute, values: Any, numbers: list[int], location: str) -> pa.ChunkedArray:
    import pyarrow as pa
    import pyarrow.compute as pc

    place = f"{location}: attribute '{attribute.name}'"
    text = pa.chunked_array(
        [pa.array([None if value.strip() == "?" else value.strip() for value in values], type=pa.string())]
    )
    if attribute.type == "numeric":
        return pa.chunked_array([pa.array(parse_numbers(text, place), from_pandas=True)])
    if attribute.date_format is not None:
        pattern = attribute.date_format
        for java, python in JAVA_DATES:
            pattern = pattern.replace(java, python)
        try:
            return pc.strptime(text, format=pattern, unit="us")
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise DataError(f"{place}: {str(error).splitlines()[0]}; correct the value or the date format") from None
    if attribute.values is not None:
        codes, distinct = factorize(text)
        for code, value in enumerate(distinct.to_pylist()):
            if value not in attribute.values:
                line = numbers[int((codes == code).argmax())] + 1
                raise DataError(
                    f"{place}: line {line} holds '{value}', which is not among the declared values; "
                    "correct it or declare it"
                )
    return text


def _unquote(text: str) -> str:
    if len(text) >= 2 and text[0] == text[-1] and text[0] in "'\"":
        return re.sub(r"\\(.)", r"\1", text[1:-1])
    return text
