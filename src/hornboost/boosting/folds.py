"""Which examples are held out while settings are tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from hornboost.data.convert import distinct_integers
from hornboost.data.frames import arrow_columns
from hornboost.engine.sampling import arrow_bits, example_hash
from hornboost.errors import DataError, did_you_mean
from hornboost.estimators.examples import Training

FEW = 5_000
"""Examples up to which every one is held out once; of more, a fifth is."""

FOLDS = 5

MANY = 20_000
"""Examples that settings are chosen on at most; of the one chosen, the number of rounds is chosen on all."""


def n_distinct(training: Training) -> int:
    """How many examples differ: one that is repeated, or weighted, says nothing new about rows that were not seen."""
    assert training.problem is not None
    return distinct_integers(training.problem.content).size


def sample(training: Training, seed: int) -> NDArray[np.intp] | None:
    """The examples that settings are tried on, where there are more than enough: those that come first by hash."""
    assert training.problem is not None
    content, of_example = np.unique(training.problem.content, return_inverse=True)
    if len(content) <= MANY:
        return None
    taken = np.zeros(len(content), np.bool_)
    taken[np.argsort(example_hash(seed, 1, content), kind="stable")[:MANY]] = True
    return np.flatnonzero(taken[of_example])


def folds(training: Training, seed: int, groups: Sequence[str] = ()) -> Iterator[NDArray[np.bool_]]:
    """Which examples each fold holds out: as many of each class, by a hash of their content.

    Equal examples stay together. With columns of groups, a fold holds out all examples of some groups instead: those
    with one of their values in any of the columns.
    """
    assert training.problem is not None
    if groups:
        yield from _folds_of_groups(training, seed, groups)
        return
    classes = training.y if training.labels else np.zeros(len(training.y))
    by_content = np.lexsort((classes, training.problem.content))
    content, first, group = np.unique(training.problem.content[by_content], return_index=True, return_inverse=True)
    stratum = classes[by_content][first]
    order = np.lexsort((example_hash(seed, 0, content), stratum))
    place = np.empty(len(content), np.int64)
    place[order] = np.arange(len(content)) % FOLDS
    of_example = np.empty(len(classes), np.int64)
    of_example[by_content] = place[group]
    for fold in range(FOLDS if len(content) <= FEW else 1):
        held_out = of_example == fold
        if held_out.any() and not held_out.all():
            yield held_out


def never_held_out(training: Training, held_outs: Sequence[NDArray[np.bool_]]) -> NDArray[np.intp]:
    """The classes of which no fold holds out an example, such as those that have one only."""
    if not training.labels or not held_outs:
        return np.empty(0, np.intp)
    held = np.logical_or.reduce(held_outs)
    return np.setdiff1d(training.y, training.y[held])


def _folds_of_groups(training: Training, seed: int, groups: Sequence[str]) -> Iterator[NDArray[np.bool_]]:
    values, of_value = np.unique(group_values(training, groups), return_inverse=True)
    place = np.empty(len(values), np.int64)
    place[np.argsort(example_hash(seed, 0, values), kind="stable")] = np.arange(len(values)) % FOLDS
    of_example = place[of_value].reshape(len(groups), -1)
    for fold in range(FOLDS if n_distinct(training) <= FEW else 1):
        held_out = (of_example == fold).any(axis=0)
        if held_out.any() and not held_out.all():
            yield held_out


def group_values(training: Training, groups: Sequence[str]) -> NDArray[np.uint64]:
    """A hash of the value of each example in each column of groups, a row a column.

    A value is the same group in all columns; an example without one is a group of its own.
    """
    columns = arrow_columns(training.rows.given)
    for name in groups:
        if name not in columns:
            raise DataError(f"groups: X has no column '{name}'{did_you_mean(name, columns)}")
    found = np.stack([arrow_bits(columns[name]) for name in groups])
    is_missing = np.stack([columns[name].is_null(nan_is_null=True).to_numpy() for name in groups])
    found = np.where(is_missing, training.content, found)
    if np.unique(found).size == 1:
        raise DataError(
            f"groups: all examples have the same '{groups[0]}', so none can be held out; name another column"
        )
    return found
