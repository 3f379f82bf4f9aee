"""What readers without a schema share: the user's options as hints, inference, and the task; and folders that have no schema."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hornboost.data.convert import factorize, remap
from hornboost.data.infer import Hints, infer_schema
from hornboost.data.labels import column_kind
from hornboost.data.readers.csv import table_name
from hornboost.data.readers.options import TASK_OPTIONS, check_options, listed, task_from_options
from hornboost.data.readers.selection import select_tables
from hornboost.data.schema import ForeignKey, TableSchema, split_reference
from hornboost.data.source import ArrowSource, Source
from hornboost.data.values import as_integers
from hornboost.errors import DataError, did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa

SCHEMA_OPTIONS = (*TASK_OPTIONS, "tables", "foreign_keys", "keys", "types")
MISSING_TOKENS = frozenset(["?", "NA", "N/A", "NaN", "nan", "NULL", "null", "None", "#N/A"])
"""Words that stand for a missing value in a column of numbers or dates."""


def infer_task(
    sources: dict[str, Source],
    location: str,
    options: Mapping[str, Any],
    primary_keys: Mapping[str, tuple[str, ...]] | None = None,
    foreign_keys: tuple[ForeignKey, ...] = (),
) -> dict[str, Any]:
    """The arguments of `Database` from tables, the user's options, and the constraints that a catalogue states."""
    check_options(options, SCHEMA_OPTIONS)
    options = {name: value for name, value in options.items() if value is not None}
    selection = select_tables(sources, options, location)
    options, sources = dict(selection.options), {name: sources[name] for name in selection.read}
    target = str(options.get("target", next(iter(sources))))
    if target not in sources:
        raise DataError(f"{location}: there is no table '{target}'{did_you_mean(target, sources)}")
    notes = [] if "target" in options else [f"no target was named: the examples are the rows of '{target}', without a label"]
    key = listed(options["key"]) if "key" in options else None
    keys = {table: _key_domains(columns) for table, columns in dict(options.get("keys") or {}).items()}
    for column in key or ():
        keys.setdefault(target, {}).setdefault(column, None)
    hints = Hints(
        foreign_keys=(*foreign_keys, *_given_links(options, sources)),
        infer_links=frozenset() if "foreign_keys" in options else frozenset(sources) - _constrained(primary_keys or {}, foreign_keys),
        primary_keys=primary_keys or {},
        keys=keys,
        types=options.get("types") or {},
        nominal=[(target, str(options["label"]))] if "label" in options and _is_of_classes(sources[target], options) else [],
    )
    schema, found, warnings = infer_schema(sources, hints, location)
    task_options = {name: value for name, value in options.items() if name in TASK_OPTIONS} | {"target": target}
    if key is None:
        columns = {column.name for column in schema.tables[target].columns if column.type == "key"}
        task_options["key"] = [name for name in schema.tables[target].primary_key if name in columns]
    task = task_from_options(schema, None, task_options)
    schema = replace(schema, target=task).validate()
    noted = {"inferred": [*notes, *found], "warnings": warnings, "left_out": selection.left_out}
    return {"schema": schema, "task": task, "sources": sources, **noted}


def _is_of_classes(source: Source, options: Mapping[str, Any]) -> bool:
    """Whether the label is to be read as classes: a stated positive value says so, otherwise its values do."""
    label = str(options["label"])
    return "positive" in options or label not in source.columns or column_kind(source.read(label)) == "classes"


def _key_domains(columns: Any) -> dict[str, str | None]:
    return {str(name): str(domain) for name, domain in columns.items()} if isinstance(columns, Mapping) else dict.fromkeys(listed(columns))


def _constrained(primary_keys: Mapping[str, tuple[str, ...]], foreign_keys: tuple[ForeignKey, ...]) -> frozenset[str]:
    """The tables whose links need no inference: those with constraints, in a catalogue that states links at all."""
    return frozenset(primary_keys) | {link.table for link in foreign_keys} if foreign_keys else frozenset()


def _given_links(options: Mapping[str, Any], sources: Mapping[str, Source]) -> list[ForeignKey]:
    links = []
    for pair in options.get("foreign_keys", ()):
        if len(pair) != 2:
            raise DataError(f"foreign_keys: {pair!r} is no pair; write ('table.column', 'table.column')")
        links.append(ForeignKey(*split_reference(pair[0], sources), *split_reference(pair[1], sources)))
    return links


def infer_folder(folder: Path, task: str | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of `Database` for a folder without a schema."""
    from hornboost.data.readers.folder import open_file, table_files

    if task is not None:
        raise DataError(f"{folder.name}: the folder has no schema.toml with a task '{task}'; name the target and label instead")
    files = table_files(folder)
    if not files:
        raise DataError(f"{folder.name}: the folder has no .csv, .csv.gz or .parquet file; give the folder that holds the tables")
    paths: dict[str, Path] = {}
    for path in files:
        if paths.setdefault(table_name(path), path) != path:
            raise DataError(f"{folder.name}: two files hold the table '{table_name(path)}'; remove or rename one of them")
    selection = select_tables(paths, options, folder.name)
    sources: dict[str, Source] = {}
    notes: list[str] = []
    for name in selection.read:
        source = open_file(paths[name], name, None)
        sources[name] = typed_source(source, notes) if isinstance(source, ArrowSource) else source
    arguments = infer_task(sources, folder.name, selection.options)
    schema = arguments["schema"]
    tables = {name: _with_file(table, paths[name]) for name, table in schema.tables.items()}
    arguments |= {"inferred": [*notes, *arguments["inferred"]], "left_out": selection.left_out}
    return arguments | {"schema": replace(schema, name=folder.name, tables=tables), "folder": folder}


def _with_file(table: TableSchema, path: Path) -> TableSchema:
    return replace(table, file=path.name)


def typed_source(source: ArrowSource, notes: list[str]) -> ArrowSource:
    """A table of text with the columns that are all numbers or all dates converted."""
    import pyarrow as pa

    columns = {}
    for name in source.columns:
        columns[name] = convert_text(source.read(name), f"{source.name}.{name}", notes)
        source.drop(name)
    return ArrowSource(source.name, pa.table(columns), source.location)


def convert_text(values: pa.ChunkedArray, place: str, notes: list[str]) -> pa.ChunkedArray:
    """Text as whole numbers, numbers or dates if all of its distinct values are; missing-value words are noted."""
    import numpy as np
    import pyarrow as pa

    codes, distinct = factorize(values)
    words = distinct.to_pylist()
    tokens = sorted({word for word in words if word in MISSING_TOKENS})
    rest = pa.array([None if word in MISSING_TOKENS else word for word in words], type=pa.string())
    converted = _convert_distinct(rest)
    if converted is None:
        return values
    if tokens:
        notes.append(f"{place}: {', '.join(repr(token) for token in tokens)} stands for a missing value")
    keep = remap(codes, np.where([word in MISSING_TOKENS for word in words], -1, np.arange(len(words))).astype(np.int32))
    return pa.chunked_array([converted.take(pa.array(np.maximum(keep, 0), mask=keep < 0))])


def _convert_distinct(distinct: pa.Array) -> pa.Array | None:
    import pyarrow as pa

    if len(distinct) == distinct.null_count:
        return None
    integers = as_integers(distinct.drop_null())
    if integers is not None:
        return distinct.cast(pa.int64())
    zeros = any(re.fullmatch(r"0[0-9]+", word) for word in distinct.to_pylist() if word is not None)
    for kind in (pa.float64(), pa.date32(), pa.timestamp("us")):
        if kind != pa.float64() or not zeros:
            try:
                return distinct.cast(kind)
            except pa.ArrowInvalid:
                continue
    return None
