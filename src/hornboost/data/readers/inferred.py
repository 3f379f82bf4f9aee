"""What readers without a schema share: the user's options as hints, inference, and the task.

Folders that have no schema are read here, too.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hornboost.data.date_forms import ORDERS, order_of
from hornboost.data.doubts import about_text
from hornboost.data.infer import Hints, infer_schema
from hornboost.data.labels import as_label_kind, column_kind
from hornboost.data.model_columns import ModelColumn
from hornboost.data.partitions.spool import batches_of
from hornboost.data.readers.csv import table_name
from hornboost.data.readers.options import (
    TASK_OPTIONS,
    check_options,
    known_later_option,
    listed,
    task_from_options,
    times_option,
    with_times,
)
from hornboost.data.readers.selection import select_tables
from hornboost.data.readers.typed import Declared, dated_source, typed_source, with_numbers
from hornboost.data.schema import ForeignKey, Schema, TableSchema, split_reference
from hornboost.data.source import ArrowSource, Source
from hornboost.data.text_numbers import about_whole_keys, uses_commas, with_points
from hornboost.data.values import stored_type
from hornboost.errors import DataError, did_you_mean

if TYPE_CHECKING:
    import pyarrow as pa

    from hornboost.data.partitions.spool import Spool

SCHEMA_OPTIONS = (*TASK_OPTIONS, "tables", "foreign_keys", "links", "keys", "types", "model")


def infer_task(
    sources: dict[str, Source],
    location: str,
    options: Mapping[str, Any],
    primary_keys: Mapping[str, tuple[str, ...]] | None = None,
    foreign_keys: tuple[ForeignKey, ...] = (),
    *,
    is_for_model: bool = False,
) -> dict[str, Any]:
    """The arguments of `Database` from tables, the user's options, and the constraints that a catalogue states.

    A model has said what it looks at, so that there is nothing to say about the types of other columns.
    """
    check_options(options, SCHEMA_OPTIONS)
    options = {name: value for name, value in options.items() if value is not None}
    selection = select_tables(sources, options, location)
    sources = {name: sources[name] for name in selection.read}
    options = with_model(selection.options, {name: source.columns for name, source in sources.items()})
    target = str(options.get("target", next(iter(sources))))
    if target not in sources:
        raise DataError(f"{location}: there is no table '{target}'{did_you_mean(target, sources)}")
    notes = [] if "target" in options else [_about_target(target, sources, options, location)]
    key = listed(options["key"]) if "key" in options else None
    keys = {table: _key_domains(columns) for table, columns in dict(options.get("keys") or {}).items()}
    for column in key or ():
        keys.setdefault(target, {}).setdefault(column, None)
    types = {split_reference(reference, sources): str(kind) for reference, kind in (options.get("types") or {}).items()}
    spoilt: list[str] = []
    for (table, column), kind in types.items():
        if kind == "numeric" and table in sources and column in sources[table].columns:
            sources[table] = with_numbers(sources[table], column, spoilt)
    hints = Hints(
        foreign_keys=(*foreign_keys, *_given_links(options, sources)),
        infer_links=frozenset()
        if "foreign_keys" in options
        else frozenset(sources) - _constrained(primary_keys or {}, foreign_keys),
        primary_keys=primary_keys or {},
        keys=keys,
        types=options.get("types") or {},
        nominal=[(target, str(options["label"]))]
        if "label" in options and _is_of_classes(sources[target], options)
        else [],
        label=(target, str(options["label"])) if "label" in options else None,
        times=time_columns(options),
    )
    schema, found, warnings, doubts = infer_schema(sources, hints, location)
    if not is_for_model:
        label = {(target, str(options["label"]))} if "label" in options and _says_classes(options) else set()
        doubts += _about_text(schema, sources, types.keys() | label)
    schema = with_times(schema, options)
    task_options = {name: value for name, value in options.items() if name in TASK_OPTIONS} | {"target": target}
    if key is None:
        columns = {column.name for column in schema.tables[target].columns if column.type == "key"}
        task_options["key"] = [name for name in schema.tables[target].primary_key if name in columns]
    task = task_from_options(schema, None, task_options)
    schema = replace(schema, target=task).validate()
    noted = {
        "inferred": [*notes, *found],
        "warnings": warnings,
        "doubts": [*spoilt, *doubts],
        "left_out": selection.left_out,
    }
    return {"schema": schema, "task": task, "sources": sources, **noted}


def _about_target(target: str, sources: Mapping[str, Source], options: Mapping[str, Any], location: str) -> str:
    """What there is to say if nobody named a target; refused if another table must be meant, which has the label."""
    label = options.get("label")
    if label is None:
        return f"no target was named: the examples are the rows of '{target}', without a label"
    holders = [name for name, source in sources.items() if label in source.columns]
    if holders and target not in holders:
        tables = " or ".join(f"'{name}'" for name in holders)
        raise DataError(f"{location}: no target was named; name the table whose '{label}' is to be predicted: {tables}")
    return f"no target was named: the examples are the rows of '{target}'"


def _about_text(schema: Schema, sources: Mapping[str, Source], stated: Collection[tuple[str, str]]) -> Iterator[str]:
    """What there is to say of columns that were taken for text, where nobody said that they are."""
    for table in schema.tables.values():
        for column in table.columns:
            if column.type == "nominal" and (table.name, column.name) not in stated:
                said = about_text(partial(_texts, sources[table.name], column.name), f"{table.name}.{column.name}")
                if said is not None:
                    yield said


def _texts(source: Source, column: str) -> Iterator[pa.ChunkedArray]:
    """The rows of a column of text, with points for the commas of decimal numbers."""
    batches = batches_of(source, column)
    has_commas = getattr(source, "decimal_commas", False) and uses_commas(source.read(column), "numeric")
    return map(with_points, batches) if has_commas else batches


def _about_whole_keys(tables: Iterable[TableSchema], sources: Mapping[str, Source]) -> Iterator[str]:
    """What there is to say of columns of text that were taken for keys, though they are spelled as floats."""
    for table in tables:
        for column in table.columns:
            values = sources[table.name].read(column.name) if column.type == "key" else None
            if values is not None and stored_type(values.type) == "double":
                known = values.drop_null()
                yield about_whole_keys(f"{table.name}.{column.name}", int(known[0].as_py()))


def time_columns(options: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The columns that the options take for times."""
    dated = [(table, name) for table, columns in known_later_option(options).items() for name in columns]
    return [*times_option(options).items(), *dated]


def _is_of_classes(source: Source, options: Mapping[str, Any]) -> bool:
    """Whether the label is to be read as classes: `predicts` or a positive value says so, otherwise its values do."""
    label = str(options["label"])
    if options.get("predicts") is not None:
        return _says_classes(options)
    return _says_classes(options) or label not in source.columns or column_kind(source.read(label)) == "classes"


def _says_classes(options: Mapping[str, Any]) -> bool:
    """Whether the options themselves say that the label is of classes."""
    if options.get("predicts") is not None:
        return as_label_kind(options["predicts"]) == "classes"
    return any(options.get(name) is not None for name in ("positive", "negative"))


def _key_domains(columns: Any) -> dict[str, str | None]:
    return (
        {str(name): str(domain) for name, domain in columns.items()}
        if isinstance(columns, Mapping)
        else dict.fromkeys(listed(columns))
    )


def _constrained(primary_keys: Mapping[str, tuple[str, ...]], foreign_keys: tuple[ForeignKey, ...]) -> frozenset[str]:
    """The tables whose links need no inference: those with constraints, in a catalogue that states links at all."""
    return frozenset(primary_keys) | {link.table for link in foreign_keys} if foreign_keys else frozenset()


def _given_links(options: Mapping[str, Any], sources: Mapping[str, Any]) -> list[ForeignKey]:
    links = []
    for name in ("foreign_keys", "links"):
        for pair in options.get(name) or ():
            if len(pair) != 2:
                raise DataError(f"{name}: {pair!r} is no pair; write ('table.column', 'table.column')")
            links.append(ForeignKey(*split_reference(pair[0], sources), *split_reference(pair[1], sources)))
    return links


def with_dates(
    sources: Mapping[str, Source],
    options: Mapping[str, Any],
    notes: list[str],
    keys: Collection[tuple[str, str]] = (),
    is_stored: bool = True,
) -> dict[str, Source]:
    """Tables with types of their own; text in them that is nothing but dates is read as dates.

    `keys` are columns that a catalogue makes keys. A label stays text where the options say that it is of classes.
    `is_stored` is as in `dated_source`.
    """
    declared = declared_types(options, sources, {})
    target = str(options.get("target") or next(iter(sources)))
    kept = {*keys, (target, str(options.get("label")))} if _says_classes(options) else {*keys}
    typed = {name: {*declared.get(name, ()), *(column for table, column in kept if table == name)} for name in sources}
    orders = orders_of(options, sources)
    return {
        name: dated_source(source, notes, typed[name], is_stored, orders.get(name)) for name, source in sources.items()
    }


def orders_of(options: Mapping[str, Any], tables: Mapping[str, Any]) -> dict[str, dict[str, str]]:
    """The columns of text in which the day, or the month, is declared to come first, by table."""
    found: dict[str, dict[str, str]] = {}
    for reference, kind in (options.get("types") or {}).items():
        if kind in ORDERS:
            table, column = split_reference(reference, tables)
            found.setdefault(table, {})[column] = kind
    return found


def infer_folder(
    folder: Path, task: str | None, options: Mapping[str, Any], spool: Spool | None = None
) -> dict[str, Any]:
    """The arguments of `Database` for a folder without a schema."""
    from hornboost.data.readers.folder import about_unread, table_files

    if task is not None:
        raise DataError(
            f"{folder.name}: the folder has no schema.toml with a task '{task}'; name the target and label instead"
        )
    files = table_files(folder)
    if not files:
        raise DataError(
            f"{folder.name}: the folder has no .csv, .csv.gz or .parquet file; give the folder that holds the tables"
        )
    arguments = infer_files(files, folder.name, options, spool=spool)
    return arguments | {
        "schema": replace(arguments["schema"], name=folder.name),
        "folder": folder,
        "warnings": [*arguments.get("warnings", ()), *about_unread(folder)],
    }


def infer_files(
    files: Sequence[Path],
    location: str,
    options: Mapping[str, Any],
    model: Mapping[tuple[str, str], ModelColumn] | None = None,
    spool: Spool | None = None,
) -> dict[str, Any]:
    """The arguments of `Database` for files with a table each.

    `model` gives the types of the columns that a model looks at. With a `spool` tables other than the target stay on
    disk.
    """
    from hornboost.data.readers.folder import is_parquet, open_file

    paths: dict[str, Path] = {}
    for path in files:
        if paths.setdefault(table_name(path), path) != path:
            raise DataError(f"{location}: two files hold the table '{table_name(path)}'; remove or rename one of them")
    options = options if model is None else {**options, "model": model}
    selection = select_tables(paths, options, location)
    target = str(options.get("target") or selection.read[0])
    sources: dict[str, Source] = {
        name: open_file(paths[name], name, None, None if name == target else spool) for name in selection.read
    }
    chosen = with_model(selection.options, {name: source.columns for name, source in sources.items()})
    declared = declared_types(chosen, sources, options.get("model") or {})
    notes: list[str] = []
    for name, source in sources.items():
        kinds = declared.get(name, {})
        if isinstance(source, ArrowSource):
            sources[name] = typed_source(source, notes, kinds)
        elif spool is not None and getattr(source, "is_text", False):
            sources[name] = spool.typed(source, notes, kinds)
        else:
            sources[name] = dated_source(source, notes, kinds, orders=orders_of(chosen, sources).get(name))
    arguments = infer_task(sources, location, chosen, is_for_model=bool(options.get("model")))
    schema = arguments["schema"]
    files_of_text = [table for name, table in schema.tables.items() if not is_parquet(paths[name])]
    notes += _about_whole_keys(files_of_text, arguments["sources"])
    tables = {name: replace(table, file=paths[name].name) for name, table in schema.tables.items()}
    arguments |= {"inferred": [*notes, *arguments["inferred"]], "left_out": selection.left_out}
    return arguments | {
        "schema": replace(schema, tables=tables),
        "again": partial(infer_files, files, location, options),
    }


def with_model(options: Mapping[str, Any], columns: Mapping[str, Collection[str]]) -> dict[str, Any]:
    """The options with the types of a model's columns that are there, where the user has given none.

    The option `model` gives them, by table and column; what is not there is for the model to miss.
    """
    model: Mapping[tuple[str, str], ModelColumn] = options.get("model") or {}
    options = {name: value for name, value in options.items() if name != "model"}
    present = {place: column for place, column in model.items() if place[1] in columns.get(place[0], ())}
    keys: dict[str, dict[str, str | None]] = {}
    types: dict[str, str] = {}
    for (table, column), found in present.items():
        if found.type == "key":
            keys.setdefault(table, {})[column] = found.domain
        else:
            order = order_of(found.stored) if found.type == "date" else None
            types[f"{table}.{column}"] = order if order in ORDERS else found.type
    for table, columns in dict(options.get("keys") or {}).items():
        keys[table] = {**keys.get(table, {}), **_key_domains(columns)}
    return {**options, "keys": keys, "types": {**types, **(options.get("types") or {})}} if model else dict(options)


def declared_types(
    options: Mapping[str, Any], sources: Mapping[str, Any], model: Mapping[tuple[str, str], ModelColumn]
) -> dict[str, dict[str, Declared]]:
    """The columns whose types are known before they are looked at, by table."""
    target = str(options.get("target") or next(iter(sources)))
    places = {
        split_reference(reference, sources): str(kind) for reference, kind in (options.get("types") or {}).items()
    }
    keys = [
        (table, column)
        for table, columns in dict(options.get("keys") or {}).items()
        for column in _key_domains(columns)
    ]
    keys += [(target, column) for column in listed(options.get("key") or [])]
    keys += [
        end
        for link in _given_links(options, sources)
        for end in ((link.table, link.column), (link.to_table, link.to_column))
    ]
    declared: dict[str, dict[str, Declared]] = {}
    times = dict.fromkeys(time_columns(options), "time")
    for (table, column), kind in {**places, **times, **dict.fromkeys(keys, "key")}.items():
        stored = model[table, column].stored if (table, column) in model else None
        declared.setdefault(table, {})[column] = ("date", f"date {kind}") if kind in ORDERS else (kind, stored)
    return declared
