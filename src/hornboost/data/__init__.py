"""Tables, schema, readers, encoding."""

from __future__ import annotations

from hornboost.data.built import Target
from hornboost.data.database import Database
from hornboost.data.describe import Link
from hornboost.data.domain import Domain
from hornboost.data.index import KeyIndex
from hornboost.data.schema import ColumnSchema, Folds, ForeignKey, Schema, TableSchema, Task
from hornboost.data.schema_file import parse_schema, read_schema, write_schema
from hornboost.data.source import ArrowSource, Source
from hornboost.data.table import Column, Table

__all__ = [
    "ArrowSource",
    "Column",
    "ColumnSchema",
    "Database",
    "Domain",
    "Folds",
    "ForeignKey",
    "KeyIndex",
    "Link",
    "Schema",
    "Source",
    "Table",
    "TableSchema",
    "Target",
    "Task",
    "parse_schema",
    "read_schema",
    "write_schema",
]
