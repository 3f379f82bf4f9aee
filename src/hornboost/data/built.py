"""What a database is made of, once it is read: encoded tables, examples with their labels, and folds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hornboost.data.domain import Domain
from hornboost.data.labels import LabelKind
from hornboost.data.table import Table
from hornboost.errors import DataError


@dataclass(frozen=True)
class Target:
    """What is predicted: the label of a table's rows.

    `positive` and `negative` are values of `y` as text (None with more than two classes, or without a label), `classes`
    all of them.
    """

    table: str
    key: tuple[str, ...] = ()
    label: str | None = None
    positive: str | None = None
    negative: str | None = None
    classes: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class FoldValues:
    """The fold of each example: a position in `values`, -1 for none; `problem` says why there are none."""

    values: tuple[str, ...] = ()
    of_example: NDArray[np.int32] = field(default_factory=lambda: np.empty(0, dtype=np.int32))
    problem: str | None = None


@dataclass(frozen=True, eq=False)
class Labelled:
    """The target's rows that are examples, with their labels: classes as text, or numbers.

    All rows and None when there is no label.

    `relabelled` says whether `labels` are other than the column: classes were put together under a new name, or values
    that no classifier takes are classes by their text. `doubts` are sentences about their spelling.
    """

    target: Target
    rows: NDArray[np.int64]
    labels: NDArray[Any] | None = None
    relabelled: bool = False
    kind: LabelKind | None = None
    doubts: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Built:
    """What `Database` keeps.

    `unlabelled` are the target's rows that would be examples if they had a label; `whatever_time` has both kinds with
    those that have no cutoff, if there are any.
    """

    tables: dict[str, Table]
    domains: dict[str, Domain]
    labelled: Labelled
    unlabelled: NDArray[np.int64]
    folds: dict[str, FoldValues]
    warnings: tuple[str, ...]
    whatever_time: tuple[Labelled, NDArray[np.int64]] | None = None
    hidden: Mapping[str, NDArray[np.int32]] = field(default_factory=dict)
    """The target's columns that the task excludes, as codes: folds may go by what no rule may see."""

    def chosen(
        self, labelled: bool | None, location: str, whatever_time: bool = False
    ) -> tuple[NDArray[np.int64], NDArray[Any] | None]:
        """The rows of the target that are asked for, and their labels; also those without a cutoff, if that is said."""
        among, unlabelled = self.labelled, self.unlabelled
        if whatever_time and self.whatever_time is not None:
            among, unlabelled = self.whatever_time
        rows, labels, target = among.rows, among.labels, among.target
        if labels is None or (labelled and rows.size):
            return rows, labels
        if labelled:
            raise DataError(
                f"{location}: table '{target.table}': none of {unlabelled.size} rows has a value of '{target.label}', "
                "so nothing can be learned"
            )
        if labelled is False:
            return unlabelled, None
        order = np.argsort(np.concatenate([rows, unlabelled]), kind="stable")
        missing = np.full(unlabelled.size, None if labels.dtype == object else np.nan, labels.dtype)
        return np.concatenate([rows, unlabelled])[order], np.concatenate([labels, missing])[order]
