"""Keys whose values rules may name: those asked for, and those that name things which recur in many examples."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from hornboost.engine.behind import sharers
from hornboost.engine.engine import Engine
from hornboost.engine.joins import Chain
from hornboost.errors import DataError, LimitError, did_you_mean

if TYPE_CHECKING:
    from hornboost.data import Database

LEAST = 5.0
"""The examples that must share the value of a key on average, seen from a row that an example reaches."""


def checked_domains(database: Database, names: Iterable[str], max_bins: int) -> tuple[str, ...]:
    """The kinds of keys that a user names, all of which the database must have, and each at most so many of."""
    listed = tuple(names)
    for name in listed:
        if name not in database.domains:
            raise DataError(f"constants: there are no keys of '{name}'{did_you_mean(str(name), database.domains)}")
        if database.n_identifiers(name) > max_bins:
            raise DataError(f"constants: {_too_many(database, name, max_bins)}; raise max_bins, or leave '{name}' out")
    return listed


def nameable(database: Database, names: Iterable[str], max_bins: int) -> tuple[tuple[str, ...], dict[str, str]]:
    """Those of some kinds of keys that are few enough to be named in rules, and of the others why they are not."""
    listed = tuple(names)
    left_out = {
        name: f"{_too_many(database, name, max_bins)}, so rules name none"
        for name in listed
        if database.n_identifiers(name) > max_bins
    }
    return tuple(name for name in listed if name not in left_out), left_out


def _too_many(database: Database, name: str, max_bins: int) -> str:
    return f"there are {database.n_identifiers(name):,} keys of '{name}', more than max_bins={max_bins:,}"


def recurring(engine: Engine, max_depth: int) -> frozenset[tuple[str, str]]:
    """The key columns, of the domains in `engine.constants`, whose values recur in many examples.

    A column is looked at in all rows that examples reach: a product that many customers bought recurs, the number of a
    customer's own account does not, however many rows bear it.
    """
    root = engine.root()
    chains = engine.graph.chains(root, 0, None, max_depth, engine.look_ahead)
    return frozenset(
        (chain.table if chain.joins else engine.examples.name, column)
        for chain in (Chain(0, ()), *chains)
        for column in _recurring_of(engine, chain)
    )


def _recurring_of(engine: Engine, chain: Chain) -> list[str]:
    """The columns at the end of a chain of joins whose values recur."""
    table = engine.database.tables[chain.table] if chain.joins else engine.examples
    named = [column for column in table.keys if column.domain in engine.constants]
    if not named:
        return []
    refused = dict(engine.refused)
    try:
        counts = sharers(engine, chain, [column.name for column in named])
    except LimitError:
        engine.refused.clear()  # rules may follow the joins all the same, where not all rows are held at once
        engine.refused.update(refused)
        return []
    pairs = zip(named, counts, strict=True)
    return [column.name for column, by_key in pairs if int((by_key * by_key).sum()) >= LEAST * int(by_key.sum()) > 0]
