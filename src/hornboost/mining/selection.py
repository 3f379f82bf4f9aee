"""Feature selection by mutual information: mRMR and mLynx's stochastic search (Di Mauro et al.,
section 3 and Algorithm 1).

A step costs one pass over the candidates: the pairwise information of the column just chosen is added to a running sum,
and kept for later restarts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hornboost import exact
from hornboost.learners.objectives import RESOLUTION, comparable
from hornboost.mining import selection_kernels as kernels
from hornboost.mining.bayes import best_prefix
from hornboost.stopping import check, is_due, learning

MEMORY = 256 * 2**20
"""Bytes of pairwise information that a search keeps; beyond them a row is computed again when it is asked for."""

_BLOCK = 1024

_GROUPS = 16
"""So many distinct weights are counted apart, by whole words of bits; of more, each example's is added."""


_TABLED = 1 << 20
"""Up to this total, the logarithms of whole weights are looked up."""


class Columns(Protocol):
    """Discrete columns that can tell their information about each other."""

    n_features: int
    n_values: NDArray[np.int64]

    def about(self, classes: NDArray[np.int64], n_classes: int) -> NDArray[np.float64]:
        """I(f_k; c) of every column k, in nats."""

    def pairwise(self, column: int) -> NDArray[np.float64]:
        """I(f_k; f_column) of every column k, in nats."""

    def codes(self, subset: list[int]) -> NDArray[Any]:
        """The values of some columns, a column a row."""

    def among(self, subset: NDArray[np.intp]) -> Columns:
        """Some of the columns, numbered anew."""


class BooleanColumns:
    """Columns of two values, a bit an example; examples of one weight stand together where there are few weights."""

    def __init__(self, blocks: Iterator[NDArray[np.bool_]], weights: NDArray[np.float64]) -> None:
        self._weights = weights
        self._values, group, counts = np.unique(weights, return_inverse=True, return_counts=True)
        self._is_grouped = len(self._values) <= _GROUPS
        if not self._is_grouped:
            group, counts = np.zeros(len(weights), dtype=np.int64), np.array([len(weights)])
        self._ends = np.cumsum(-(-counts // 64))
        gaps = 64 * np.concatenate([[0], self._ends[:-1]]) - np.concatenate([[0], np.cumsum(counts)[:-1]])
        self._places = np.empty(len(weights), dtype=np.int64)
        self._places[np.argsort(group, kind="stable")] = np.arange(len(weights)) + np.repeat(gaps, counts)
        self._packed = np.concatenate([self._pack(block) for block in blocks])
        self.n_features = len(self._packed)
        self.n_values = np.full(self.n_features, 2)
        self._total = float(weights.sum())
        self._of_count: NDArray[np.float64] | None = None
        if self._total <= _TABLED and np.all(weights == np.rint(weights)):
            self._of_count = exact.x_log_x(np.arange(int(self._total) + 1))
        everything = self._pack(np.ones((1, len(weights)), dtype=bool))
        self._true = self._shared(np.concatenate([everything, self._packed]), 0)[1:]

    def about(self, classes: NDArray[np.int64], n_classes: int) -> NDArray[np.float64]:
        by_class = np.bincount(classes, self._weights, minlength=n_classes)
        members = np.stack([classes == j for j in range(n_classes)])
        stacked = np.concatenate([self._pack(members), self._packed])
        joint = np.stack([self._shared(stacked, j)[n_classes:] for j in range(n_classes)])
        cells = self._x_log_x(joint).sum(axis=0) + self._x_log_x(by_class[:, None] - joint).sum(axis=0)
        return self._information(cells, self._x_log_x(by_class).sum())

    def pairwise(self, column: int) -> NDArray[np.float64]:
        both = self._shared(self._packed, column)
        only, other = self._true[column] - both, self._true - both
        cells = (
            self._x_log_x(both)
            + self._x_log_x(only)
            + self._x_log_x(other)
            + self._x_log_x(self._total - only - other - both)
        )
        own = self._true[column]
        return self._information(cells, self._x_log_x(own) + self._x_log_x(self._total - own))

    def among(self, subset: NDArray[np.intp]) -> BooleanColumns:
        fewer = copy(self)
        fewer._packed, fewer._true, fewer.n_values = self._packed[subset], self._true[subset], self.n_values[subset]
        fewer.n_features = len(subset)
        return fewer

    def codes(self, subset: list[int]) -> NDArray[Any]:
        return np.unpackbits(self._packed[subset].view(np.uint8), axis=1, bitorder="little")[:, self._places]

    def _pack(self, block: NDArray[np.bool_]) -> NDArray[np.uint64]:
        """64 examples a word, the first one lowest; what is left of a word is filled up with zeros."""
        padded = np.zeros((len(block), 64 * self._ends[-1]), dtype=bool)
        padded[:, self._places] = block
        return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)

    def _information(self, cells: NDArray[np.float64], other: NDArray[np.float64]) -> NDArray[np.float64]:
        own = self._x_log_x(self._true) + self._x_log_x(self._total - self._true)
        information: NDArray[np.float64] = np.maximum(
            (cells - own - other + self._x_log_x(self._total)) / self._total, 0.0
        )
        return information

    def _x_log_x(self, x: Any) -> NDArray[np.float64]:
        """x ln x, looked up where all weights are whole."""
        if self._of_count is None:
            return exact.x_log_x(x)
        return np.asarray(self._of_count[np.asarray(x, dtype=np.intp)])

    def _shared(self, packed: NDArray[np.uint64], column: int) -> NDArray[np.float64]:
        """The weight on which both `column` and each of `packed` are true."""
        out = np.empty(len(packed))
        if self._is_grouped:
            kernels.shared_counts(packed, column, self._ends, self._values, out)
        else:
            rows = np.flatnonzero(np.unpackbits(packed[column].view(np.uint8), bitorder="little"))
            kernels.shared_weights(packed, rows, self._weights, out)
        return out


class DiscreteColumns:
    """Columns of any few values: `codes` holds a column a row, column k has the codes 0 … n_values[k] - 1."""

    def __init__(self, codes: NDArray[np.uint16], n_values: NDArray[np.int64], weights: NDArray[np.float64]) -> None:
        self.n_features = len(codes)
        self._codes = codes
        self.n_values = n_values
        self._weights = weights

    def about(self, classes: NDArray[np.int64], n_classes: int) -> NDArray[np.float64]:
        out = np.empty(self.n_features)
        kernels.information_with(self._codes, self.n_values, classes.astype(np.uint16), n_classes, self._weights, out)
        return out

    def pairwise(self, column: int) -> NDArray[np.float64]:
        out = np.empty(self.n_features)
        kernels.information_with(
            self._codes, self.n_values, self._codes[column], int(self.n_values[column]), self._weights, out
        )
        return out

    def among(self, subset: NDArray[np.intp]) -> DiscreteColumns:
        return DiscreteColumns(self._codes[subset], self.n_values[subset], self._weights)

    def codes(self, subset: list[int]) -> NDArray[Any]:
        return self._codes[subset]


@dataclass
class Information:
    """What a search asks: relevance I(f; c), pairwise rows kept between restarts, and the judge of a set.

    >>> blocks = iter([np.array([[0, 0, 1, 1], [0, 1, 0, 1]], dtype=bool)])
    >>> information = Information.of(BooleanColumns(blocks, np.ones(4)), np.array([0, 0, 1, 1]), 2, np.ones(4))
    >>> information.relevance.round(4)
    array([0.6931, 0.    ])
    >>> information.judged([0]).error, information.judged([1]).error
    (0.0, 2.0)
    """

    columns: Columns
    classes: NDArray[np.int64]
    n_classes: int
    weights: NDArray[np.float64]
    relevance: NDArray[np.float64]
    _rows: dict[int, NDArray[np.float64]] = field(default_factory=dict)

    @classmethod
    def of(
        cls, columns: Columns, classes: NDArray[np.int64], n_classes: int, weights: NDArray[np.float64]
    ) -> Information:
        """Measure the relevance of all columns."""
        return cls(columns, classes, n_classes, weights, columns.about(classes, n_classes))

    def among(self, subset: NDArray[np.intp]) -> Information:
        """The same about some of the columns, numbered anew."""
        return Information(
            self.columns.among(subset), self.classes, self.n_classes, self.weights, self.relevance[subset]
        )

    def pairwise(self, column: int) -> NDArray[np.float64]:
        """I(f_k; f_column) for every k."""
        row = self._rows.get(column)
        if row is None:
            row = self.columns.pairwise(column)
            if (len(self._rows) + 1) * row.nbytes <= MEMORY:
                self._rows[column] = row
        return row

    def judged(self, columns: list[int]) -> Restart:
        """The set with which Bayes gets least of the training weight wrong, err_D(S),
        among those that grow to these columns.
        """
        codes, n_values = self.columns.codes(columns), self.columns.n_values[columns]
        size, error, loss = best_prefix(codes, n_values, self.classes, self.n_classes, self.weights)
        return Restart(tuple(columns[:size]), error, loss, len(columns))


def most_relevant(relevance: NDArray[np.float64], n: int) -> NDArray[np.intp]:
    """The n columns of the largest relevance in their order, the first ones where several are equal.

    >>> most_relevant(np.array([0.1, 0.3, 0.1, 0.2]), 3)
    array([0, 1, 3])
    """
    return np.sort(np.argsort(-comparable(relevance), kind="stable")[:n])


class _Construction:
    """The set S while it grows: its members in order, and the summed redundancy of every candidate."""

    def __init__(self, information: Information) -> None:
        self._information = information
        self._redundancy = np.zeros(len(information.relevance))
        self._free = np.ones(len(information.relevance), dtype=bool)
        self.chosen: list[int] = []

    def add(self, column: int) -> None:
        self.chosen.append(column)
        self._free[column] = False
        self._redundancy += self._information.pairwise(column)

    def best(self) -> tuple[int, float]:
        """The candidate of the largest mRMR, equation (5),
        the first one where several are equal to 2**-40, and its mRMR.
        """
        score = comparable(self._information.relevance - self._redundancy / max(len(self.chosen), 1))
        score[~self._free] = -np.inf
        column = int(np.argmax(score))
        return column, float(score[column]) / RESOLUTION

    def candidate(self, u: float) -> int:
        """The candidate at the fraction u of those left, in column order."""
        free = np.flatnonzero(self._free)
        return int(free[int(u * len(free))])


def greedy(information: Information, max_features: int, alpha: float = -np.inf) -> list[int]:
    """Steps of mRMR from the most relevant column on, while its mRMR is above `alpha`.

    The columns in the order of their choice.
    """
    construction = _Construction(information)
    while len(construction.chosen) < max_features:
        column, score = construction.best()
        if score <= alpha:
            break
        construction.add(column)
    return construction.chosen


@dataclass(frozen=True)
class Restart:
    """The best set of one construction of Algorithm 1: its columns in the order of their choice, and what judged them.

    The construction went on to `grown` columns.
    """

    columns: tuple[int, ...]
    error: float
    log_loss: float
    grown: int


def stochastic(
    information: Information, uniform: Callable[[], float], **parameters: Any
) -> tuple[Restart, list[Restart]]:
    """Algorithm 1: the best set, and that of each construction; the parameters are those of `constructions`."""
    history: list[Restart] = []
    with learning():
        for restart in constructions(information, uniform, **parameters):
            history.append(restart)
    return best_of(history), history


def best_of(history: Sequence[Restart]) -> Restart:
    """The set of the smallest error and then of the smallest log-loss, the first of several.

    Where one class is rare, hardly any set changes the error.
    """
    if not history:
        raise ValueError("Algorithm 1 needs at least one restart")
    return min(history, key=lambda restart: (restart.error, restart.log_loss))


def constructions(
    information: Information,
    uniform: Callable[[], float],
    *,
    restarts: int = 100,
    walk_probability: float = 0.05,
    alpha: float = 1e-2,
    max_features: int | None = None,
) -> Iterator[Restart]:
    """The constructions of Algorithm 1.

    Work may end within each of them, but the first is given: an unfinished set is better than none.

    `uniform` gives numbers in [0, 1), one for each `rand(0,1)` and one for each random choice of a column, in the order
    of the lines. A walk step leaves `improve` true. The training error judges after each addition, as in the listing.
    """
    size = information.columns.n_features if max_features is None else min(max_features, information.columns.n_features)
    for number in range(restarts):
        construction = _Construction(information)
        construction.add(construction.candidate(uniform()))
        improve = True
        while improve and len(construction.chosen) < size:
            if number:
                check()
            elif is_due():
                break
            if walk_probability < uniform():
                column, score = construction.best()
                improve = score > alpha
            else:
                column = construction.candidate(uniform())
            if improve:
                construction.add(column)
        yield information.judged(construction.chosen)


def shares(history: Sequence[Restart]) -> dict[int, float]:
    """The share of constructions that hold each column, the largest first; those that none holds are left out.

    >>> shares([Restart((2, 0), 0.0, 1.0, 2), Restart((1, 2), 0.0, 1.0, 3)])
    {2: 1.0, 0: 0.5, 1: 0.5}
    """
    counts = Counter(column for restart in history for column in restart.columns)
    return {
        column: count / len(history)
        for column, count in sorted(counts.items(), key=lambda found: (-found[1], found[0]))
    }


def encode(X: Any, weights: NDArray[np.float64]) -> Columns:
    """Columns of a dense or sparse matrix.

    Bits where every column has at most two values, otherwise codes by sorted value.
    """
    if hasattr(X, "tocsc"):
        X = X.tocsc()
        if np.all(X.data == 1):
            return BooleanColumns(
                (X[:, a : a + _BLOCK].toarray().astype(bool).T for a in range(0, X.shape[1], _BLOCK)), weights
            )
        X = X.toarray()
    X = np.asarray(X)
    if X.dtype == bool or (X.dtype.kind in "iuf" and np.all((X == 0) | (X == 1))):
        return BooleanColumns((X[:, a : a + _BLOCK].astype(bool).T for a in range(0, X.shape[1], _BLOCK)), weights)
    encoded = [np.unique(column.astype(str) if X.dtype == object else column, return_inverse=True) for column in X.T]
    n_values = np.array([len(values) for values, _ in encoded])
    if n_values.max() <= 2:
        return BooleanColumns(iter([np.stack([codes for _, codes in encoded]).astype(bool)]), weights)
    return DiscreteColumns(np.stack([codes for _, codes in encoded]).astype(np.uint16), n_values, weights)
