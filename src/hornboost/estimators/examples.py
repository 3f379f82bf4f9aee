"""Examples in: frames and arrays with a database behind them, checked, labelled,
weighted and encoded, for every estimator.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import narwhals.dependencies as frames
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils import _safe_indexing, check_random_state
from sklearn.utils.validation import column_or_1d, validate_data

from hornboost.aggregates.choice import AggregateChoice
from hornboost.data import Database
from hornboost.data.frames import arrow_columns, moments_of_numbers
from hornboost.data.table import Table
from hornboost.engine import make_engine
from hornboost.engine.make import rows_reached
from hornboost.engine.sampling import (
    arrow_bits,
    category_bits,
    column_bits,
    content_hash,
    example_hash,
    mixed_bits,
    splitmix64,
    tell_apart,
)
from hornboost.errors import DataError, ReadingWarning, warn_caller
from hornboost.estimators.classes import check_plain, checked_classes, class_codes, plain_labels
from hornboost.estimators.weights import checked_weights, class_weighted
from hornboost.learners.hypotheses import Codes, Floats, Rows
from hornboost.learners.problem import Problem

Targets = NDArray[Any]
"""What is predicted of each example: the position of its class, or a number."""


@dataclass(frozen=True, eq=False)
class Training:
    """The training examples of positive weight, in the forms that learners ask for.

    `y` are positions in `labels`, the class values as text, or numbers where there are no classes; `content` is a hash
    of each example with its class, from which every random choice about it comes; `problem` is there where clauses are
    learned.
    """

    rows: Rows
    y: Targets
    labels: tuple[str, ...]
    weights: Floats
    content: NDArray[np.uint64]
    problem: Problem | None = None
    pseudo_weight: float = 0.0
    """Where classes are weighted, the share of the weight that half an example stands for. A cell may then hold next to
    no weight, and what it says is drawn to what all cells say by so much."""

    @property
    def size(self) -> float:
        """The number of examples that the weights stand for: an integer weight is a repetition.

        Scaling all down loses nothing.
        """
        return float(max(len(self.weights), self.weights.sum()))

    def with_aggregates(self, choice: AggregateChoice, **engine: Any) -> Training:
        """The same examples with aggregates of the rows that they reach."""
        assert self.problem is not None
        examples = choice.attached(rows_reached(self.problem.database, self.problem.examples))
        made = make_engine(self.problem.database, examples, **engine)
        problem = replace(self.problem, examples=examples, engine=made)
        return replace(self, rows=replace(self.rows, encoded=examples), problem=problem)

    def split(self, share: float, seed: int, **engine: Any) -> tuple[Training, Training]:
        """The examples that are learned from, and those held out.

        In each class the first by hash, up to this share of its weight; of numbers, among all.
        """
        classes = self.y if self.labels else np.zeros(len(self.y), np.intp)
        held_out = _held_out(classes, self.weights, share, seed, self.content)
        return self.part(np.flatnonzero(~held_out), **engine), self._take(np.flatnonzero(held_out))

    def part(self, chosen: NDArray[np.intp], **engine: Any) -> Training:
        """Some of the examples, to learn from them alone."""
        kept = self._take(chosen)
        if kept.problem is None:
            return kept
        own = make_engine(kept.problem.database, kept.problem.examples, **engine)
        return replace(kept, problem=replace(kept.problem, engine=own))

    def _take(self, chosen: NDArray[np.intp]) -> Training:
        rows, problem = self.rows.take(chosen), self.problem
        if problem is not None:
            assert rows.encoded is not None
            problem = replace(
                problem,
                examples=rows.encoded,
                classes=problem.classes[chosen],
                weights=problem.weights[chosen],
                content=problem.content[chosen],
            )
        return replace(
            self,
            rows=rows,
            y=self.y[chosen],
            weights=self.weights[chosen],
            content=self.content[chosen],
            problem=problem,
        )


class RelationalExamples(BaseEstimator):  # type: ignore[misc]
    """An estimator that takes examples with a database behind them; a subclass has the parameter `database`.

    With `database=None` the rows of X are the only table, and every scikit-learn convention for arrays and frames
    holds.
    """

    database: Database | None

    def _problem(self, X: Any, y: Any, sample_weight: Any, **engine: Any) -> Problem:
        """Check and encode the training examples; those of weight 0 are left out as if they had not been given."""
        return self._clause_training(X, y, sample_weight, **engine)[1]

    def _clause_training(self, X: Any, y: Any, sample_weight: Any, **engine: Any) -> tuple[Training, Problem]:
        """The training examples for learners of clauses."""
        X = self._checked(X, reset=True)
        counted, targets, weights = self._labelled(len(X), y, sample_weight)
        classes = self._codes(targets)
        X = X if len(counted) == len(X) else _safe_indexing(X, counted)
        columns = None if isinstance(X, np.ndarray) else arrow_columns(X)  # once, for all that look at them
        self._database = Database.from_single(X) if self.database is None else self.database
        for sentence in self._database.reading_warnings:
            warn_caller(sentence, ReadingWarning)
        examples = self._database.encode(X, columns)
        problem = Problem(
            self._database,
            examples,
            classes.astype(np.int32),
            tuple(class_text(value) for value in getattr(self, "classes_", ())),
            weights,
            content_hash(X) if columns is None else row_content(columns, examples),
            self._database.target.label or self._unnamed,
            make_engine(self._database, examples, **engine),
        )
        rows = Rows(X, np.empty((problem.n, 0)), self._database, examples)
        content = tell_apart(splitmix64(problem.content ^ problem.classes.astype(np.uint64)))
        return Training(
            rows, targets, problem.labels, weights, content, problem, self._pseudo_weight(len(targets))
        ), problem

    def _pseudo_weight(self, n: int) -> float:
        return 0.0 if getattr(self, "class_weight", None) is None else 0.5 / n

    _unnamed = "class"
    """What rules call a label without a name."""

    def _codes(self, targets: Targets) -> NDArray[np.intp]:
        """What tells examples of different labels apart: the positions of their classes."""
        return targets

    def _labelled(self, n: int, y: Any, sample_weight: Any) -> tuple[NDArray[np.intp], Targets, Floats]:
        """Check labels and weights of n examples, and set `classes_`:
        which have a weight, their class codes, their weights.
        """
        labels = checked_classes(self._given_labels(n, y, "classes"), self)
        weights = checked_weights(sample_weight, n)
        counted = np.flatnonzero(weights > 0)
        labels = labels[counted]
        weights = class_weighted(weights[counted], getattr(self, "class_weight", None), labels)
        weighty = weights > 0
        self.classes_, classes = class_codes(labels[weighty])
        return counted[weighty], classes, weights[weighty]

    def _given_labels(self, n: int, y: Any, what: str) -> NDArray[Any]:
        """The labels of n examples as an array."""
        if y is None:
            name = type(self).__name__
            raise ValueError(
                f"requires y to be passed, but the target y is None; give {name}.fit the {what} of the examples."
            )
        check_plain(y)
        labels: NDArray[Any] = column_or_1d(plain_labels(y), warn=True)
        if len(labels) != n:
            raise DataError(f"X has {n} rows and y has {len(labels)}; they must have the same number.")
        return labels

    def _validate_params(self) -> None:
        super()._validate_params()
        check_database(self.database, optional=True)

    def _checked(self, X: Any, *, reset: bool) -> Any:
        """X as a frame, or as an array of numbers, with its columns checked against those of `fit`."""
        if frames.is_into_dataframe(X):
            if len(X.columns) == 0:
                raise DataError("the examples have no column to learn from; give at least one beside the label")
            validate_data(self, X, reset=reset, skip_check_array=True)
            return X
        if self.database is not None:
            raise DataError(
                "with a database X must be a data frame with the columns of table "
                f"'{self.database.target.table}'; got {type(X).__name__}"
            )
        return validate_data(self, X, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan")

    def _encoded(self, X: Any) -> Table:
        """The rows of X as the root of the model's clauses."""
        return self._database.encode(self._checked(X, reset=False))

    def _seed(self) -> int:
        return int(check_random_state(self.random_state).randint(2**31 - 1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def check_database(database: Any, *, optional: bool) -> None:
    """Refuse, as a parameter, what is no `Database`."""
    if not isinstance(database, Database) and not (optional and database is None):
        wanted = "pass a hornboost.Database" + (" or None" if optional else "")
        raise DataError(f"the parameter 'database' is of type '{type(database).__name__}'; {wanted}")


def row_content(columns: Mapping[str, Any], examples: Table) -> NDArray[np.uint64]:
    """A hash of each row of a frame, whatever its position; `examples` are the same rows encoded.

    A nominal column is hashed by its few categories, so that the cost does not grow with the length of the texts.
    """
    bits = []
    for name, values in columns.items():
        is_cutoff = examples.times is not None and name == examples.times.name
        column = examples.times if is_cutoff else examples.columns.get(name)
        if column is None or column.kind == "key":
            bits.append(arrow_bits(values))
        elif column.is_date and name not in examples.late:  # whether it came as dates, as times or as text
            bits.append(column_bits(moments_of_numbers(column.numbers)))
        elif column.kind == "numeric":
            bits.append(column_bits(column.numbers))
        else:
            assert column.categories is not None
            bits.append(category_bits(column.categories).take(column.codes))
    return mixed_bits(examples.n_rows, bits)


def class_text(value: Any) -> str:
    """A class value as the text that rules and models show."""
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    if isinstance(value, float | np.floating) and float(value).is_integer():
        return str(int(value))
    return str(value)


def _held_out(y: Codes, weights: Floats, share: float, seed: int, content: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """In each class the examples that come first by hash, up to this share of the weight.

    One of each class at least stays in.
    """
    order = np.lexsort((example_hash(seed, 0, content), y))
    before = np.cumsum(weights[order]) - weights[order]
    starts = np.searchsorted(y[order], np.arange(y.max() + 1))
    class_weight = np.bincount(y, weights=weights)
    within = before - before[starts][y[order]]
    held_out = np.zeros(len(y), dtype=np.bool_)
    held_out[order] = within + weights[order] <= share * class_weight[y[order]]
    if not held_out.any():
        raise DataError(
            f"there are too few examples to hold some out, n_samples={len(y)}; "
            "set early_stopping=None or a larger validation_fraction."
        )
    return held_out
