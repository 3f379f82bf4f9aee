"""Aggregates of the rows that an example reaches over foreign keys."""
