"""Readers: one module for each kind of source, each ending in a schema, a task and tables in Arrow."""

from __future__ import annotations
