"""How many rows joins reach from the examples, counted without following them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hornboost.engine.engine import Engine
from hornboost.engine.joins import Chain
from hornboost.engine.key_kernels import Longs
from hornboost.engine.needs import affordable
from hornboost.engine.tree import Join, Ref, path_text
from hornboost.stopping import check

BEYOND = float(1 << 50)
"""Ways beyond all limits, which need not be told apart; those of some thousand partitions can still be added."""

OF_COUNT = 200
"""Bytes of a count that is kept."""


def narrow(engine: Engine, depth: int) -> None:
    """Follow fewer rows where the joins from the examples, up to so many after each other, are many wide ones."""
    engine.follow(engine.ways.narrowed(np.array(list(_counts(engine, depth).values()), np.int64)))


def wide(engine: Engine, depth: int) -> dict[str, int]:
    """The joins from the examples that lead to more rows than are looked at where nothing is said, and how many."""
    most = affordable(engine.database).reached
    return {_where(engine, joins): count for joins, count in _counts(engine, depth).items() if count > most}


def left_out(engine: Engine, depth: int) -> dict[str, str]:
    """The joins from the examples, up to so many after each other, that lead to too many rows, and how many."""
    found: dict[str, str] = {}
    counts, alone = _counts(engine, depth), affordable(engine.database).reached
    for joins, count in counts.items():
        before = max((counts[joins[:k]] for k in range(1, len(joins))), default=0)
        if before <= engine.ways.held and count > engine.ways.held:
            where = _where(engine, joins)
            if count > alone:
                found[where] = f"{count:,} rows are too many to look at for each rule"
            elif count > engine.ways.reached:
                found[where] = f"{count:,} rows, beside those of the other joins, are too many to look at for each rule"
            elif len(joins) < depth:
                found[where] = f"{count:,} rows are too many to go on from for each rule"
    return {where: f"{why}; set max_depth to do so all the same" for where, why in found.items()}


def _where(engine: Engine, joins: tuple[Join, ...]) -> str:
    assert joins[0].source is not None
    return f"{engine.examples.name}.{joins[0].source.column} -> {path_text(joins)}"


def _counts(engine: Engine, depth: int) -> dict[tuple[Join, ...], int]:
    """How many rows the joins from the examples reach, up to so many after each other."""
    key = ("paths", engine.root().number, depth)
    known: dict[tuple[Join, ...], int] | None = engine.cache.get(key)
    if known is None:
        chains = engine.graph.chains(engine.root(), 0, None, depth, depth)
        single = dict.fromkeys(chain.joins[:k] for chain in chains for k in range(1, len(chain.joins) + 1))
        plain = [Chain(0, joins) for joins in single if not any(join.equal for join in joins)]
        known = {chain.joins: count for chain, count in zip(plain, paths(engine, plain).tolist(), strict=True)}
        engine.cache.put(key, known, OF_COUNT * len(known))
    return known


def paths(engine: Engine, chains: Sequence[Chain]) -> Longs:
    """How many rows each chain from the root reaches, a row as often as there are ways from an example to it.

    Further equalities and times are not looked at, so that there may be fewer.
    """
    return engine.total(_paths, tuple(chains))


def _paths(engine: Engine, chains: Sequence[Chain]) -> Longs:
    known: dict[tuple[Join, ...], NDArray[np.float64]] = {}
    keys: dict[tuple[str, str], NDArray[np.float64]] = {}
    counts = np.zeros(len(chains), np.int64)
    for k, chain in enumerate(chains):
        *before, last = chain.joins
        at = last.table, last.column
        if at not in keys:
            keys[at] = _by_key(engine, *at, None)
        ways = float(_leaving(engine, tuple(before), last.source, known) @ keys[at])
        counts[k] = int(min(ways, BEYOND))
    return counts


def _leaving(
    engine: Engine, joins: tuple[Join, ...], source: Ref | None, known: dict[tuple[Join, ...], NDArray[np.float64]]
) -> NDArray[np.float64]:
    """In how many ways each key of a variable is reached by joins from the examples."""
    assert source is not None
    if source.node == 0:  # the example
        return _by_key(engine, None, source.column, None)
    if joins not in known:
        check()
        *before, last = joins
        arriving = _leaving(engine, tuple(before), last.source, known)
        codes = engine.key(last.table, last.column, False)
        known[joins] = np.append(arriving, 0.0)[codes]  # the last one is for null
    return _by_key(engine, joins[-1].table, source.column, known[joins])


def _by_key(engine: Engine, table: str | None, column: str, ways: NDArray[np.float64] | None) -> NDArray[np.float64]:
    """How many rows of a table, or of the examples, each key has; each counted as often as there are ways to it."""
    domain = (engine.examples if table is None else engine.database.tables[table]).columns[column].domain
    codes = engine.key(table or "", column, table is None)
    size = engine.database.domains[domain or ""].size
    named = (codes >= 0) & (codes < size)  # examples may have keys that the database does not know
    return np.bincount(codes[named], None if ways is None else ways[named], size).astype(np.float64)
