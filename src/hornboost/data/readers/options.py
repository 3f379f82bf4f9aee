"""The options by which every reader states a task, in one place."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from hornboost.data.labels import as_label_kind
from hornboost.data.schema import Schema, Task, stated_types
from hornboost.data.values import value_text
from hornboost.errors import DataError, did_you_mean

TASK_OPTIONS = (
    *("target", "key", "label", "positive", "negative", "predicts", "where", "exclude_columns", "exclude_tables"),
    *("times", "known_later"),
)
STATED_OPTIONS = ("positive", "negative", "where", "exclude_columns", "exclude_tables", "times", "known_later")
"""Those that remain where files state the task themselves."""


def check_options(options: Mapping[str, Any], known: Sequence[str]) -> None:
    """Refuse an option that no reader knows."""
    for name in options:
        if name not in known:
            raise DataError(f"there is no option '{name}'{did_you_mean(name, known)}")


def task_from_options(schema: Schema, task: Task | None, options: Mapping[str, Any]) -> Task:
    """The schema's task with the options put over it, checked against the schema."""
    check_options(options, TASK_OPTIONS)
    given = {name: value for name, value in options.items() if value is not None}
    if task is None:
        task = Task(table=str(given["target"]))
    changes: dict[str, Any] = {}
    if "target" in given:
        changes["table"] = str(given["target"])
    if "label" in given:
        changes["label"] = str(given["label"])
    for name in ("key", "positive", "negative"):
        if name in given:
            changes[name] = listed(given[name])
    if "predicts" in given:
        changes["predicts"] = as_label_kind(given["predicts"])
    for name in ("exclude_columns", "exclude_tables"):
        if name in given:
            changes[name] = tuple(dict.fromkeys((*getattr(task, name), *listed(given[name]))))
    if "where" in given:
        changes["where"] = {**task.where, **conditions(given["where"])}
    if changes.get("label", task.label) != task.label:
        # those of the schema are about another column
        changes = {"positive": (), "negative": (), "predicts": None} | changes
    elif "positive" in changes and "negative" not in changes and task.negative:
        # the schema's two sides are still all that there is; the user says which of them is looked for
        sides = (*task.positive, *task.negative)
        changes["negative"] = tuple(value for value in sides if value not in changes["positive"])
    elif "negative" in changes and "positive" not in changes and set(changes["negative"]) & set(task.positive):
        sides = (*task.positive, *task.negative)
        changes["positive"] = tuple(value for value in sides if value not in changes["negative"])
    if changes.get("table", task.table) != task.table or changes.get("table", task.table) in times_option(given):
        changes["time"] = None  # the table says it
    changed = replace(task, **changes)
    replace(schema, target=changed, tasks=(), location=schema.location).validate()
    return changed


def over_stated(schema: Schema, task: Task, options: Mapping[str, Any]) -> tuple[Schema, Task]:
    """Schema and task that files state themselves, with what the user says beside that."""
    schema = with_times(schema, options)
    task = task_from_options(schema, task, options)
    return replace(schema, target=task).validate(), task


def with_types(schema: Schema, options: Mapping[str, Any]) -> Schema:
    """The schema with the types of the option `types` instead of its own."""
    tables = dict(schema.tables)
    names = {name: [column.name for column in table.columns] for name, table in tables.items()}
    types = stated_types(options.get("types") or {}, names, schema.location)
    for (name, column), kind in types.items():
        columns = [replace(known, type=kind) if known.name == column else known for known in tables[name].columns]
        tables[name] = replace(tables[name], columns=tuple(columns))
    return replace(schema, tables=tables).validate() if types else schema


def times_option(options: Mapping[str, Any]) -> dict[str, str]:
    """The option `times`: for tables the column with the time of each row."""
    times = options.get("times") or {}
    if not isinstance(times, Mapping) or not all(isinstance(column, str) for column in times.values()):
        raise DataError(f"times: {_shown(times)} is not understood; write {{'table': 'column'}}")
    return {str(table): column for table, column in times.items()}


def known_later_option(options: Mapping[str, Any]) -> dict[str, dict[str, tuple[str, ...]]]:
    """The option `known_later`: for tables the columns with a time, each with the columns that are filled in then."""
    given = options.get("known_later") or {}
    if not isinstance(given, Mapping) or not all(isinstance(dated, Mapping) for dated in given.values()):
        way_out = "write {'table': {'column with the time': ['columns']}}"
        raise DataError(f"known_later: {_shown(given)} is not understood; {way_out}")
    return {
        str(table): {str(column): listed(names) for column, names in dated.items()} for table, dated in given.items()
    }


def with_times(schema: Schema, options: Mapping[str, Any]) -> Schema:
    """The schema with what the options say about times, instead of what it says about the same tables itself."""
    times, later, tables = times_option(options), known_later_option(options), dict(schema.tables)
    for option, names in (("times", times), ("known_later", later)):
        for name in names:
            if name not in tables:
                raise DataError(f"{schema.location}: {option}: there is no table '{name}'{did_you_mean(name, tables)}")
    for name, table in schema.tables.items():
        tables[name] = replace(table, time=times.get(name, table.time), known_later=later.get(name, table.known_later))
    return replace(schema, tables=tables)


def conditions(where: Any) -> dict[str, tuple[str, ...]]:
    """The option `where`: for each column the value, or one of the values, that a row must have to be an example.

    >>> conditions({"year": [2020, 2021], "region": "north"})
    {'year': ('2020', '2021'), 'region': ('north',)}
    """
    way_out = (
        "write {'column': value} or {'column': [values]}; a row is an example if each column has one of its values"
    )
    if not isinstance(where, Mapping):
        raise DataError(f"where: {_shown(where)} is not understood; {way_out}")
    found = {}
    for column, values in where.items():
        try:
            found[str(column)] = listed(values)
        except (TypeError, ValueError, NotImplementedError):  # of Arrow, and our own for missing values
            raise DataError(f"where: {_shown(values)} of column '{column}' is not understood; {way_out}") from None
        if not found[str(column)]:
            raise DataError(f"where: there are no values of column '{column}', so that no row is an example; {way_out}")
    return found


def _shown(value: Any) -> str:
    text = " ".join(repr(value).split())
    return text if len(text) <= 80 else text[:80] + "…"


def listed(value: Any) -> tuple[str, ...]:
    """One value or several, as text.

    >>> listed("a"), listed([0, 1]), listed(True)
    (('a',), ('0', '1'), ('true',))
    """
    values = value if isinstance(value, list | tuple | set | frozenset) else [value]
    return tuple(value_text(element) for element in values)
