"""What lies behind joins from the examples, asked of all of them: how many rows, which keys, and which values."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hornboost.data.bins import ranks
from hornboost.dtypes import CODE
from hornboost.engine.engine import Engine
from hornboost.engine.joins import Chain
from hornboost.engine.key_kernels import Codes, Floats, Longs
from hornboost.engine.reach import gathered
from hornboost.engine.reaching import TooManyRowsError
from hornboost.engine.tree import Join, path_text
from hornboost.errors import LimitError
from hornboost.jit import jit
from hornboost.stopping import check

Values = NDArray[np.float64] | NDArray[np.object_]
"""The distinct values of an attribute, in order."""


def check_reach(engine: Engine, joins: tuple[Join, ...]) -> None:
    """Refuse joins from the examples that reach too many rows to hold all of them."""
    key = ("counts", engine.root().number, joins)
    counts: Longs | None = engine.cache.get(key)
    if counts is None:
        counts = engine.total(_counts, joins)
        engine.cache.put(key, counts, counts.nbytes)
    for k, count in enumerate(counts.tolist(), start=1):
        engine.check_count(count, joins[:k], on_the_way=k < len(joins))
    if counts[-1] > engine.ways.held:
        raise LimitError(f"the join {path_text(joins)} reaches {counts[-1]:,} rows, too many to hold all of them")


def sharers(engine: Engine, chain: Chain, columns: Sequence[str]) -> list[Longs]:
    """How many examples reach each key of some columns behind a chain from the root."""
    if chain.joins:
        check_reach(engine, chain.joins)
    sizes = [_size(engine, chain, name) for name in columns]
    return np.split(engine.total(_sharers, chain, tuple(columns)), np.cumsum(sizes)[:-1])


def values_behind(engine: Engine, joins: tuple[Join, ...], table: str, number: int) -> tuple[Longs, Values, Codes]:
    """Where the rows of each example begin among all that joins reach, an attribute's values, and which each has."""
    if joins:
        check_reach(engine, joins)
    answers = engine.ask(_values, joins, table, number)
    counts = engine.together([counts for counts, _ in answers])
    offsets = np.zeros(counts.size + 1, np.int64)
    np.cumsum(counts, out=offsets[1:])
    found = engine.together([values for _, values in answers], offsets)
    attributes = engine.attributes(table, not joins)
    if number == attributes.age and joins:
        return offsets, *ranks(found)
    attributes.codes([number])
    values = attributes.values[number]
    assert values is not None
    return offsets, values, found


def _size(engine: Engine, chain: Chain, column: str) -> int:
    table = engine.database.tables[chain.table] if chain.joins else engine.examples
    return engine.database.domains[table.columns[column].domain or ""].size


def _counts(engine: Engine, joins: tuple[Join, ...]) -> Longs:
    """How many rows joins reach, one after the other, up to the first that reaches too many."""
    counts = np.zeros(len(joins), np.int64)
    try:
        for k in range(len(joins)):
            counts[k] = engine.checked_reach(engine.root(), 0, joins[: k + 1]).count_rows()
    except TooManyRowsError as error:
        counts[k] = error.count
    return counts


def _sharers(engine: Engine, chain: Chain, columns: Sequence[str]) -> Longs:
    root = engine.root()
    table = chain.table if chain.joins else engine.examples.name
    entries = engine.entries(root, 0, chain.joins) if chain.joins else root.entries[0]
    found = []
    for name in columns:
        check()
        codes = engine.key(table, name, not chain.joins)
        found.append(sharing(entries.example, entries.rows, codes, _size(engine, chain, name)))
    return np.concatenate(found)


def _values(engine: Engine, joins: tuple[Join, ...], table: str, number: int) -> tuple[Longs, Codes | Floats]:
    """How many rows each example reaches, and the code of an attribute in each, or its age."""
    n, root, attributes = engine.examples.n_rows, engine.root(), engine.attributes(table, not joins)
    if not joins:
        return np.ones(n, np.int64), attributes.codes([number])[number]
    entries = engine.entries(root, 0, joins)
    key = ("by example", root.number, joins)
    counts: Longs | None = engine.cache.get(key)
    if counts is None:  # entries are sorted by example
        counts = np.diff(np.searchsorted(entries.example, np.arange(n + 1, dtype=CODE)))
        engine.cache.put(key, counts, counts.nbytes)
    if number == attributes.age:
        return counts, engine.ages(root, table, entries.example, entries.rows)
    if attributes.has_late:
        return counts, attributes.seen([number], entries.rows, engine.cutoffs(root, entries.example))[number]
    return counts, gathered(attributes.codes([number])[number], entries.rows)


@jit
def sharing(example: Codes, rows: Codes, codes: Codes, size: int) -> Longs:
    """How many examples reach each value of a key; entries are sorted by example."""
    counts = np.zeros(size, np.int64)
    last = np.full(size, -1, np.int32)
    for entry in range(example.size):
        code = codes[rows[entry]]
        if 0 <= code < size and last[code] != example[entry]:
            last[code] = example[entry]
            counts[code] += 1
    return counts
