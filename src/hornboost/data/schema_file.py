"""`schema.toml`: read, check and write."""

from __future__ import annotations

import json
import os
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from hornboost.data.labels import LabelKind, as_label_kind
from hornboost.data.schema import (
    COLUMN_TYPES,
    ColumnSchema,
    Folds,
    ForeignKey,
    Schema,
    TableSchema,
    Task,
    split_reference,
)
from hornboost.data.values import value_text
from hornboost.errors import DataError, did_you_mean

DOCUMENTARY = ("description", "doc", "notes", "title")
"""Fields that only document; they may stand in any part and are read over."""

FIELDS: Mapping[str, frozenset[str]] = {
    "the file": frozenset(
        [
            "name",
            "target",
            "task",
            "folds",
            "tables",
            "foreign_keys",
            "provenance",
            "citation",
            "licence",
            "value_labels",
        ]
    ),
    "task": frozenset(
        ["name", "table", "key", "label", "positive", "negative", "where", "exclude_columns", "exclude_tables"]
    )
    | {"classes", "class_counts", "examples", "positives", "negatives", "predicts", "time"},
    "folds": frozenset(["name", "column", "columns", "values", "file", "kind"]),
    "table": frozenset(["file", "rows", "primary_key", "columns", "missing", "time", "known_later"]),
    "column": frozenset(["name", "type", "domain"]),
    "foreign key": frozenset(["from", "to"]),
}
"""The other fields of each part."""


def read_schema(path: str | Path) -> Schema:
    """Read and check a `schema.toml`."""
    path = Path(path)
    location = f"{path.parent.name}/{path.name}" if path.parent.name else path.name
    if path.exists() and not path.is_file():
        raise DataError(f"{location}: this is no file; give the folder that holds schema.toml")
    try:
        text = path.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise DataError(f"{location}: the file is not UTF-8 text; save it in that encoding") from None
    except OSError as error:
        raise DataError(
            f"{location}: the schema cannot be read ({error.strerror}); give the folder that holds schema.toml"
        ) from None
    return parse_schema(text, location)


def parse_schema(text: str, location: str = "schema.toml") -> Schema:
    """Read and check the text of a `schema.toml`.

    >>> parse_schema('tables.t.columns = [{ name = "a", type = "numeric" }]').tables["t"].columns[0].type
    'numeric'
    """
    try:
        raw = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DataError(f"{location}: this is not valid TOML: {error}") from None
    except RecursionError:
        raise DataError(f"{location}: its values are nested too deep; a schema nests at most three levels") from None
    reader = _Reader(location)
    reader.check("the file", "the file", raw)
    tables = {name: reader.table(name, item) for name, item in reader.mapping(raw, "tables").items()}
    return Schema(
        tables=tables,
        foreign_keys=tuple(reader.foreign_key(item, tables) for item in reader.items(raw, "foreign_keys")),
        target=reader.task(raw["target"], "[target]") if "target" in raw else None,
        tasks=tuple(
            reader.task(item, f"[[task]] {position + 1}", named=True)
            for position, item in enumerate(reader.items(raw, "task"))
        ),
        folds=tuple(reader.folds(item) for item in reader.items(raw, "folds")),
        name=str(raw.get("name", "")),
        title=str(raw.get("title", "")),
        location=location,
    ).validate()


class _Reader:
    """Turns parsed TOML into the schema's classes, with errors that name the file, the part and the field."""

    def __init__(self, location: str) -> None:
        self.location = location

    def error(self, place: str, problem: str) -> DataError:
        return DataError(f"{self.location}: {place}: {problem}")

    def check(self, part: str, place: str, item: Any) -> None:
        if not isinstance(item, dict):
            raise self.error(place, "must be a table of fields; see the format of schema.toml")
        for name in item:
            if name not in FIELDS[part] and name not in DOCUMENTARY:
                hint = did_you_mean(name, FIELDS[part]) or "; remove it or correct its name"
                raise self.error(place, f"unknown field '{name}'{hint}")

    def mapping(self, raw: Mapping[str, Any], name: str) -> dict[str, Any]:
        value = raw.get(name, {})
        if not isinstance(value, dict):
            raise self.error(name, f"must be written as [{name}.NAME]")
        return value

    def items(self, raw: Mapping[str, Any], name: str) -> list[Any]:
        value = raw.get(name, [])
        if not isinstance(value, list):
            raise self.error(name, f"must be written as [[{name}]]")
        return value

    def text(self, place: str, item: Mapping[str, Any], name: str) -> str:
        if not isinstance(item.get(name), str):
            raise self.error(place, f"the field '{name}' is missing or no text; give it as {name} = \"...\"")
        return str(item[name])

    def texts(self, place: str, item: Mapping[str, Any], name: str) -> tuple[str, ...]:
        """One value or a list of values, as text."""
        value = item.get(name, [])
        values = value if isinstance(value, list) else [value]
        if any(isinstance(element, dict | list) for element in values):
            raise self.error(place, f"the field '{name}' must be a value or a list of values")
        return tuple(value_text(element) for element in values)

    def number(self, place: str, item: Mapping[str, Any], name: str) -> int | None:
        value = item.get(name)
        if value is not None and not (isinstance(value, int) and value >= 0):
            raise self.error(place, f"the field '{name}' must be a whole number of at least 0")
        return value

    def table(self, name: str, item: Any) -> TableSchema:
        place = f"[tables.{name}]"
        self.check("table", place, item)
        columns = item.get("columns")
        if not isinstance(columns, list) or not columns:
            raise self.error(
                place, "the field 'columns' is missing or empty; list the columns as { name = ..., type = ... }"
            )
        return TableSchema(
            name=name,
            columns=tuple(
                self.column(f"{place} column {position + 1}", column) for position, column in enumerate(columns)
            ),
            primary_key=self.texts(place, item, "primary_key"),
            file=self.text(place, item, "file") if "file" in item else None,
            rows=self.number(place, item, "rows"),
            time=self.text(place, item, "time") if "time" in item else None,
            known_later=self.lists(place, item, "known_later"),
        )

    def lists(self, place: str, item: Mapping[str, Any], name: str) -> dict[str, tuple[str, ...]]:
        """A value or a list of values by name."""
        given = item.get(name, {})
        if not isinstance(given, dict):
            raise self.error(place, f"'{name}' must be written as {{ column = [columns] }}")
        return {key: self.texts(f"{place} {name}", given, key) for key in given}

    def column(self, place: str, item: Any) -> ColumnSchema:
        self.check("column", place, item)
        kind = self.text(place, item, "type")
        if kind not in COLUMN_TYPES:
            raise self.error(place, f"unknown type '{kind}'{did_you_mean(kind, COLUMN_TYPES)}")
        domain = self.text(place, item, "domain") if "domain" in item else None
        if domain is not None and kind != "key":
            raise self.error(
                place,
                f"only key columns have a domain, and this one has type '{kind}'; make it a key or remove the domain",
            )
        return ColumnSchema(self.text(place, item, "name"), kind, domain)  # type: ignore[arg-type]

    def foreign_key(self, item: Any, tables: Iterable[str]) -> ForeignKey:
        self.check("foreign key", "[[foreign_keys]]", item)
        start, end = (split_reference(self.text("[[foreign_keys]]", item, name), tables) for name in ("from", "to"))
        return ForeignKey(*start, *end)

    def task(self, item: Any, place: str, named: bool = False) -> Task:
        self.check("task", place, item)
        where = item.get("where", {})
        if not isinstance(where, dict):
            raise self.error(place, "'where' must be written as { column = value } or { column = [values] }")
        return Task(
            table=self.text(place, item, "table"),
            key=self.texts(place, item, "key"),
            label=self.text(place, item, "label") if "label" in item else None,
            positive=self.texts(place, item, "positive"),
            negative=self.texts(place, item, "negative"),
            where={column: self.texts(f"{place} where", where, column) for column in where},
            exclude_columns=self.texts(place, item, "exclude_columns"),
            exclude_tables=self.texts(place, item, "exclude_tables"),
            name=self.text(place, item, "name") if named else str(item.get("name", "")),
            examples=self.number(place, item, "examples"),
            positives=self.number(place, item, "positives"),
            negatives=self.number(place, item, "negatives"),
            predicts=self.predicts(place, item),
            time=self.text(place, item, "time") if "time" in item else None,
        )

    def predicts(self, place: str, item: Any) -> LabelKind | None:
        if "predicts" not in item:
            return None
        try:
            return as_label_kind(self.text(place, item, "predicts"))
        except DataError as error:
            raise self.error(place, str(error)) from None

    def folds(self, item: Any) -> Folds:
        self.check("folds", "[[folds]]", item)
        name = self.text("[[folds]]", item, "name")
        columns = (*self.texts(name, item, "column"), *self.texts(name, item, "columns"))
        file = self.text(f"[[folds]] {name}", item, "file") if "file" in item else None
        if bool(columns) == (file is not None):
            raise self.error(f"[[folds]] {name}", "give either 'column' (as table.column) or 'file'")
        return Folds(name, columns, self.texts(name, item, "values"), file)


def format_schema(schema: Schema) -> str:
    """A schema as the text of a `schema.toml` that reads back as the same schema."""
    lines = [f"{name} = {_toml(value)}" for name, value in (("name", schema.name), ("title", schema.title)) if value]
    if schema.target is not None:
        lines += ["", "[target]", *_task_lines(schema.target)]
    for task in schema.tasks:
        lines += ["", "[[task]]", *_task_lines(task)]
    for folds in schema.folds:
        place = {"file": folds.file, "columns": list(folds.columns) or None, "values": list(folds.values) or None}
        lines += ["", "[[folds]]", *_fields({"name": folds.name} | place)]
    for table in schema.tables.values():
        lines += ["", f"[tables.{_toml_key(table.name)}]"]
        lines += _fields({"file": table.file, "rows": table.rows, "primary_key": list(table.primary_key) or None})
        later = {dating: list(names) for dating, names in table.known_later.items()}
        lines += _fields({"time": table.time, "known_later": later or None})
        lines += ["columns = [", *(f"  {_toml(_column_fields(column))}," for column in table.columns), "]"]
    for link in schema.foreign_keys:
        start, end = f"{link.table}.{link.column}", f"{link.to_table}.{link.to_column}"
        lines += ["", "[[foreign_keys]]", *_fields({"from": start, "to": end})]
    return "\n".join(lines).strip() + "\n"


def write_schema(schema: Schema, path: str | Path) -> None:
    """Write a schema so that a reader never sees half of it."""
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_text(format_schema(schema), encoding="utf-8")
        os.replace(temporary, path)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise DataError(f"{path}: the schema cannot be written ({error.strerror}); choose another place") from None


def _column_fields(column: ColumnSchema) -> dict[str, Any]:
    return {"name": column.name, "type": column.type} | ({"domain": column.domain} if column.domain is not None else {})


def _task_lines(task: Task) -> list[str]:
    one_or_more = {
        name: values[0] if len(values) == 1 else list(values) or None
        for name, values in (("positive", task.positive), ("negative", task.negative))
    }
    where = {column: values[0] if len(values) == 1 else list(values) for column, values in task.where.items()}
    return _fields(
        {"name": task.name or None, "table": task.table, "key": list(task.key), "label": task.label}
        | one_or_more
        | {
            "where": where or None,
            "exclude_columns": list(task.exclude_columns) or None,
            "exclude_tables": list(task.exclude_tables) or None,
            "examples": task.examples,
            "positives": task.positives,
            "negatives": task.negatives,
            "predicts": task.predicts,
            "time": task.time,
        }
    )


def _fields(values: Mapping[str, Any]) -> list[str]:
    return [f"{name} = {_toml(value)}" for name, value in values.items() if value is not None]


def _toml(value: Any) -> str:
    if isinstance(value, list):
        return "[" + ", ".join(_toml(element) for element in value) + "]"
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{_toml_key(name)} = {_toml(element)}" for name, element in value.items()) + " }"
    # JSON strings are TOML basic strings, but for DEL, which TOML wants escaped.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def _toml_key(name: str) -> str:
    return name if re.fullmatch(r"[A-Za-z0-9_-]+", name) else _toml(name)
