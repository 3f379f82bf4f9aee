"""A partition at work: some of the examples with every row that they reach, asked by an engine over all of them.

A request says all that it is about: the examples, once for all, and the steps from the root to a clause. What a
partition keeps between requests spares it work, and may vanish at any time.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from hornboost.data.table import Table
from hornboost.engine.blocks import Block, pass_over, zeros
from hornboost.engine.cache import Cache
from hornboost.engine.coverage import Coverage
from hornboost.engine.engine import Engine
from hornboost.engine.frontier import NodeOptions, Option, Refinement, Wanted
from hornboost.engine.needs import MOST_ENTRIES, Needs
from hornboost.engine.numbers import Numbers
from hornboost.engine.parts import Opener
from hornboost.engine.plan import JoinPlan
from hornboost.engine.reach import Codes, Longs
from hornboost.engine.reaching import TooManyRowsError
from hornboost.engine.state import State
from hornboost.engine.united import Told, numbered, renumbered, told_of
from hornboost.engine.workshop import Workshop

if TYPE_CHECKING:
    from hornboost.data import Database

Step = tuple[Refinement, tuple[bool, ...]]
"""A refinement, and which nodes lose entries of covered examples by it, in any partition."""

Packed = NDArray[np.uint8]

EVERY = int(np.iinfo(np.int32).max)
"""Ages are told one by one: which of them share a bin is known when those of all partitions are."""


@dataclass(frozen=True, eq=False, slots=True)
class Setup:
    """What an engine in a partition is made of: the examples there, and the options of the engine over all of them.

    `rows` are the examples' rows in the partition's own target table, from which their keys are taken; where there are
    none, the table has them. `token` tells the engines of a run apart.
    """

    token: int
    examples: Table
    rows: NDArray[np.integer] | None
    options: dict[str, Any]
    cache_bytes: int
    n_jobs: int
    most_entries: int = MOST_ENTRIES


class Asked(NamedTuple):
    """The blocks of one group of a frontier, under a number that tells groups apart."""

    token: int
    wanted: tuple[Wanted, ...]


class Part:
    """An open partition: its part of the database, and what it keeps of earlier requests. It is sent as its opener."""

    def __init__(self, database: Database, opener: Opener) -> None:
        self.database = database
        self.opener = opener
        self.cache = Cache(1 << 30)
        self._needs = sum(Needs.of(database))

    def __reduce__(self) -> tuple[Callable[[Opener], Part], tuple[Opener]]:
        return open_part, (self.opener,)

    @property
    def nbytes(self) -> int:
        """The bytes of the rows with their indexes and codes, and of what is kept."""
        return self._needs + self.cache.nbytes

    def engine(self, setup: Setup) -> Engine:
        """The engine over the examples of a setup."""
        self.cache.limit = setup.cache_bytes
        key = ("engine", setup.token)
        known: Engine | None = self.cache.get(key)
        if known is None:
            workshop = Workshop(self.cache, setup.n_jobs, setup.most_entries)
            known = Engine(self.database, self.examples(setup), **setup.options, workshop=workshop)
            self.cache.put(key, known, sum(column.values.nbytes for column in known.examples.columns.values()))
        return known

    def examples(self, setup: Setup) -> Table:
        """The examples of a setup with the keys that the partition knows them by."""
        if setup.rows is None:
            return setup.examples
        own = self.database.tables[self.database.target.table]
        columns = {
            name: own.columns[name].holding(own.columns[name].values[setup.rows]) if column.kind == "key" else column
            for name, column in setup.examples.columns.items()
        }
        return replace(setup.examples, columns=columns)


def new_token() -> int:
    """A number that no other process takes: several may ask the same partition, which keeps what it finds under it."""
    return secrets.randbits(62)


def open_part(opener: Opener) -> Part:
    """Open a partition."""
    return opener.open()


def told(part: Part, setup: Setup, path: Sequence[Step], blocks: Sequence[Wanted]) -> tuple[Told, ...]:
    """What the partition knows of some blocks."""
    engine = part.engine(setup)
    state = followed(engine, path)
    return tuple(own_block(engine, state, wanted)[1] for wanted in blocks)


def weighed(
    part: Part,
    setup: Setup,
    path: Sequence[Step],
    groups: Sequence[Asked],
    width: int,
    values: Longs,
    classes: Codes | None,
    *together: tuple[Told, ...],
) -> Longs:
    """The sums of numbers of the partition's examples for each candidate of a frontier, of thresholds the tightest."""
    engine, numbers = part.engine(setup), Numbers(width, values, classes)
    state = followed(engine, path)
    asked = zip(groups, together, strict=True)
    found = [numbers.of_group(state, placed(engine, state, *one), engine.workshop) for one in asked]
    return np.concatenate(found) if found else zeros(0, width)


def refined(part: Part, setup: Setup, path: Sequence[Step], refinement: Refinement) -> tuple[Packed, tuple[bool, ...]]:
    """Which examples of the partition a refined clause covers, packed, and which nodes lose entries of those."""
    engine = part.engine(setup)
    state = engine.refine(followed(engine, path), refinement)
    return np.packbits(state.covered), state.changed


def answered(part: Part, setup: Setup, question: Callable[..., Any], *arguments: Any) -> Any:
    """What the engine over the partition's examples answers to a question."""
    return question(part.engine(setup), *arguments)


def covered(part: Part, setup: Setup, token: int, plan: JoinPlan) -> Packed:
    """Which clauses cover which examples of the partition, packed, a row for each example."""
    key = ("coverage", token)
    known: Coverage | None = part.cache.get(key)
    if known is None:
        known = Coverage(part.database, plan)
    examples = part.examples(setup)
    found = [np.packbits(flags, axis=1) for _, flags in known.blocks(examples)]
    part.cache.put(key, known, known.nbytes)
    return np.concatenate(found) if found else np.empty((0, -(-len(plan.root.features) // 8)), np.uint8)


def followed(engine: Engine, path: Sequence[Step]) -> State:
    """The state after some steps from the root."""
    state = engine.root()
    for refinement, changed in path:
        own = engine.refine(state, refinement)
        state = own if own.changed == changed else engine.refine(state, refinement, changed)
    return state


def placed(engine: Engine, state: State, asked: Asked, together: tuple[Told, ...]) -> NodeOptions:
    """The pairs of a group in the numbers of all partitions; kept for every later weighting."""
    key = ("placed", engine.root().number, asked.token)
    known: NodeOptions | None = engine.cache.get(key)
    if known is None:
        options = []
        for wanted, union in zip(asked.wanted, together, strict=True):
            if not union.is_left_out(wanted, engine.limits):
                attributes = engine.shown(state, wanted)
                own, told = own_block(engine, state, wanted)
                assert own is not None
                whole = numbered(attributes, wanted.selected, union)
                options.append(Option(wanted.chain, renumbered(own, told, whole), attributes))
        known = NodeOptions.of(options)
        engine.cache.put(key, known, known.nbytes)
    return known


def own_block(engine: Engine, state: State, wanted: Wanted) -> tuple[Block | None, Told]:
    """A block of the partition's own examples, and what is told of it; no block where it reaches too many rows."""
    key = ("own", state.entries[wanted.chain.node].number, wanted)
    known: tuple[Block | None, Told] | None = engine.cache.get(key)
    if known is None:
        known = _built(engine, state, wanted)
        engine.cache.put(key, known, 0 if known[0] is None else known[0].nbytes)
    return known


def _built(engine: Engine, state: State, wanted: Wanted) -> tuple[Block | None, Told]:
    node, joins = wanted.chain.node, wanted.chain.joins
    counts = [len(state.entries[node]) if node > 0 else 0] if joins else []
    try:
        closed = engine.closed(state, node, joins)
        if closed is not None:
            counts.append(closed.n_held)
            engine.check_count(closed.n_reached, joins)
            counts.append(closed.n_reached)
            reach, inputs = closed.reach, engine.inputs_of(state, wanted)
        else:
            for k in range(1, len(joins)):
                counts.append(len(engine.held_entries(state, node, joins[:k])))
            reach, inputs = engine.pass_of(state, wanted)
            if joins:
                counts.append(reach.count_rows())
    except TooManyRowsError as error:
        return None, Told((*counts, error.count))
    workshop, inputs = engine.workshop, inputs._replace(max_bins=EVERY)
    block, dropped = pass_over(reach, inputs, wanted.bare and bool(joins), workshop.pool, workshop.n_jobs)
    dropped |= closed is not None and closed.dropped
    return block, told_of(block, dropped, tuple(counts))
