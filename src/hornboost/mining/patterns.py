"""From examples to boolean columns: frequent queries as clauses, columns that are equal on the training examples merged."""

from __future__ import annotations

import math
import time
import warnings as messages
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING
from typing import Literal as Choice

import numpy as np
from numpy.typing import NDArray

from hornboost.data.table import Table
from hornboost.logic.clause import Clause, Head
from hornboost.mining.language import Language
from hornboost.mining.queries import Limits, Miner, thresholds

if TYPE_CHECKING:
    from hornboost.data import Database

Support = Choice["overall", "any_class", "positive"]


class LeftOutWarning(UserWarning):
    """Mining ended at a limit, or left something out; the message says what."""


@dataclass(frozen=True)
class Settings:
    """What is mined, and within which limits (see `RelationalPatterns`)."""

    min_support: float = 0.1
    max_length: int = 4
    oi: bool = True
    connected: bool = True
    symmetric: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    bins: int = 4
    support: Support = "overall"
    max_patterns: int | None = 50_000
    max_bindings: int = 20_000_000
    cache_bytes: int = 1 << 29
    time_limit: float | None = None


@dataclass(frozen=True, eq=False)
class Patterns:
    """The clauses of the distinct queries, their support by class, and their coverage of the training examples, a row each as packed bits.

    `merged` counts the queries that cover the same training examples as an earlier, no longer one.
    """

    clauses: tuple[Clause, ...]
    support: NDArray[np.float64]
    packed: NDArray[np.uint8]
    n_examples: int
    merged: int
    candidates: int
    left_out: tuple[str, ...]

    def matrix(self) -> NDArray[np.bool_]:
        """The training examples by queries."""
        bits = np.unpackbits(self.packed, axis=1, count=self.n_examples)
        return np.ascontiguousarray(bits.T).astype(np.bool_)


def find_patterns(
    database: Database,
    examples: Table,
    classes: NDArray[np.int32],
    labels: tuple[str, ...],
    weights: NDArray[np.float64],
    positive: int,
    settings: Settings,
) -> Patterns:
    """Mine encoded examples; `classes` are positions in `labels`, all 0 where there is no label."""
    deadline = math.inf if settings.time_limit is None else time.monotonic() + settings.time_limit
    language = Language.of(
        database, examples, weights, bins=settings.bins, oi=settings.oi, symmetric=settings.symmetric, steps=settings.max_length
    )
    by_class = np.bincount(classes, weights, minlength=len(labels))
    miner = Miner(
        language,
        classes,
        weights,
        thresholds(settings.min_support, settings.support, by_class, positive),
        connected=settings.connected,
        limits=Limits(settings.max_patterns, deadline, settings.max_bindings, settings.cache_bytes),
    )
    mined = miner.mine(settings.max_length)
    for sentence in mined.left_out:
        messages.warn(sentence, LeftOutWarning, stacklevel=4)
    first = {query.covered: query for query in reversed(mined.queries)}
    kept = [query for query in mined.queries if first[query.covered] is query]
    label = database.target.label or "class"
    clauses = []
    for query in kept:
        lift = np.asarray(query.support) / np.maximum(by_class, 1e-300)
        clauses.append(language.clause(query.body, Head(label, labels[int(np.argmax(lift))])))
    return Patterns(
        tuple(clauses),
        np.array([query.support for query in kept]).reshape(len(kept), len(labels)),
        np.frombuffer(b"".join(query.covered for query in kept), np.uint8).reshape(len(kept), -1),
        len(classes),
        len(mined.queries) - len(kept),
        mined.candidates,
        tuple(mined.left_out),
    )
