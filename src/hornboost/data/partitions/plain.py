"""Schemas and tasks in the plain values of JSON, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from hornboost.data.schema import ColumnSchema, Folds, ForeignKey, Home, Schema, TableSchema, Task


def plain_schema(schema: Schema) -> dict[str, Any]:
    """A schema as JSON holds it; tables are a list, since the keys of an object are sorted."""
    return {**asdict(schema), "tables": [asdict(table) for table in schema.tables.values()]}


def schema_of(plain: Mapping[str, Any]) -> Schema:
    """The schema of which these are the plain values."""
    tables = [_table(table) for table in plain["tables"]]
    return Schema(
        {table.name: table for table in tables},
        tuple(ForeignKey(**link) for link in plain["foreign_keys"]),
        None if plain["target"] is None else task_of(plain["target"]),
        tuple(task_of(task) for task in plain["tasks"]),
        tuple(Folds(**_tuples(folds)) for folds in plain["folds"]),
        plain["name"],
        plain["title"],
        plain["location"],
        None if plain["home"] is None else Home(*plain["home"]),
    )


def _table(plain: Mapping[str, Any]) -> TableSchema:
    columns = tuple(ColumnSchema(**column) for column in plain["columns"])
    return TableSchema(**_tuples({**plain, "columns": columns, "known_later": _tuples(plain["known_later"])}))


def task_of(plain: Mapping[str, Any]) -> Task:
    """The task of which these are the plain values."""
    return Task(**_tuples({**plain, "where": _tuples(plain["where"])}))


def _tuples(plain: Mapping[str, Any]) -> dict[str, Any]:
    """JSON knows lists only."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in plain.items()}
