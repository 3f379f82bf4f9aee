"""From examples to boolean columns.

Frequent queries as clauses, columns that are equal on the training examples merged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from typing import Literal as Choice

import numpy as np
from numpy.typing import NDArray

from hornboost.data.table import Table
from hornboost.errors import warn_caller
from hornboost.logic.clause import Clause, Head
from hornboost.mining.bayes import weight_by_class
from hornboost.mining.informative import within_columns
from hornboost.mining.language import Language
from hornboost.mining.limits import Limits
from hornboost.mining.miner import Miner, thresholds

if TYPE_CHECKING:
    from hornboost.data import Database

Support = Choice["overall", "any_class", "positive"]


class LeftOutWarning(UserWarning):
    """Mining ended at a limit, or left something out; the message says what."""


def warn_of(left_out: Sequence[str]) -> None:
    """One warning for all that a fit left out."""
    if left_out:
        warn_caller("; ".join(left_out), LeftOutWarning)


@dataclass(frozen=True)
class MiningSettings:
    """What is mined, and within which limits (see `RelationalPatterns`)."""

    min_support: float = 0.1
    max_length: int = 4
    max_depth: int | None = None
    oi: bool = True
    connected: bool = True
    symmetric: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    bins: int = 4
    support: Support = "overall"
    max_columns: int | None = 64
    max_patterns: int | None = 50_000
    max_rows: int | None = 2_000_000_000
    max_bindings: int = 5_000_000
    cache_bytes: int = 1 << 29


@dataclass(frozen=True, eq=False)
class Patterns:
    """The distinct queries, their support by class, and their coverage of the training examples,
    a row each as packed bits.

    `clause` gives one as a clause; `merged` counts the queries that cover the same training examples as an earlier, no
    longer one, and `stopped` says why mining ended where a limit of time or Ctrl-C ended it.
    """

    clause: Callable[[int], Clause]
    support: NDArray[np.float64]
    packed: NDArray[np.uint8]
    n_examples: int
    merged: int
    candidates: int
    left_out: tuple[str, ...]
    stopped: str | None

    def __len__(self) -> int:
        return len(self.packed)

    def covered(self, queries: Sequence[int] | slice) -> NDArray[np.bool_]:
        """Some queries by the training examples."""
        return np.unpackbits(self.packed[queries], axis=1, count=self.n_examples).view(np.bool_)

    def blocks(self, size: int = 1024) -> Iterator[NDArray[np.bool_]]:
        """All queries by the training examples, some at a time."""
        return (self.covered(slice(start, start + size)) for start in range(0, len(self), size))


def allowed_depth(database: Database, settings: MiningSettings) -> int | None:
    """How many joins away from the example literals may be: as asked for, and within what partitions hold."""
    store = database.given_facts
    if store is None or (settings.max_depth is None and settings.max_length <= store.depth):
        return settings.max_depth
    if settings.max_depth is None:
        return store.depth
    store.check(settings.max_depth, store.max_bins)
    return settings.max_depth


def summable(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """The weights as multiples of a power of two so large that sums of any of them are exact, in whatever order.

    >>> summable(np.array([1.0, 2.0])).tolist(), float(summable(np.array([0.1, 4.0])).sum())
    ([1.0, 2.0], 4.1)
    """
    unit = 2.0 ** (np.frexp(weights.sum())[1] - 52)
    return np.asarray(np.round(weights / unit) * unit)


Cover = Callable[[Sequence[Clause]], NDArray[np.bool_]]
"""The coverage of clauses over the training examples: a row for each example, a column for each clause."""


def find_patterns(
    database: Database,
    examples: Table,
    classes: NDArray[np.int32],
    labels: tuple[str, ...],
    weights: NDArray[np.float64],
    positive: int,
    settings: MiningSettings,
    cover: Cover,
) -> Patterns:
    """Mine encoded examples; `classes` are positions in `labels`, all 0 where there is no label.

    Where only the positive examples decide what is frequent, only they are mined, and `cover` tells what the queries
    hold for besides.
    """
    weights, depth = summable(weights), allowed_depth(database, settings)
    language = Language.of(
        database,
        examples,
        weights,
        bins=settings.bins,
        oi=settings.oi,
        symmetric=settings.symmetric,
        steps=settings.max_length,
        max_depth=depth,
    )
    if depth != settings.max_depth:
        language.left_out.append(
            f"literals more than {depth} join{'s' * (depth != 1)} away from the example, whose rows the partitions do "
            f"not hold, were left out (max_depth={depth})"
        )
    language = within_columns(
        language, settings.max_columns, classes, weights, settings.max_length, settings.max_bindings
    )
    by_class = np.bincount(classes, weights, minlength=len(labels)).astype(np.float64)
    counted = np.flatnonzero(classes == positive) if settings.support == "positive" else np.arange(len(classes))
    partial = len(counted) < len(classes)
    miner = Miner(
        language.among(counted) if partial else language,
        classes[counted],
        weights[counted],
        thresholds(settings.min_support, settings.support, by_class, positive),
        connected=settings.connected,
        limits=Limits(settings.max_patterns, settings.max_rows, settings.max_bindings, settings.cache_bytes),
    )
    mined = miner.mine(settings.max_length)
    left_out = tuple(mined.left_out.sentences())
    if partial:
        clauses = [language.clause(query.body, Head("", "")) for query in mined.queries]
        matrix = cover(clauses)
        columns = [column.tobytes() for column in np.packbits(matrix, axis=0).T.copy()]
        support = weight_by_class(matrix, classes, len(labels), weights)
    else:
        columns = [query.covered for query in mined.queries]
        support = np.array([query.support for query in mined.queries]).reshape(len(columns), len(labels))
    kept = sorted({column: k for k, column in reversed(list(enumerate(columns)))}.values())
    likeliest = np.argmax(support / np.maximum(by_class, 1e-300), axis=1) if len(columns) else []
    label = database.target.label or "class"
    return Patterns(
        lambda k: language.clause(mined.queries[kept[k]].body, Head(label, labels[likeliest[kept[k]]])),
        support[kept],
        np.frombuffer(b"".join(columns[k] for k in kept), np.uint8).reshape(len(kept), -(-len(classes) // 8)),
        len(classes),
        len(columns) - len(kept),
        mined.candidates,
        left_out,
        mined.stopped,
    )
