"""What a statement asks of a model: the classes of `hornboost.model` have these attributes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from hornboost.logic.clause import Clause, Test


class RuleShape(Protocol):
    """A clause and what it adds to each score where it covers, and where it does not (nothing, if that is empty)."""

    @property
    def clause(self) -> Clause: ...
    @property
    def votes(self) -> Sequence[float]: ...
    @property
    def otherwise(self) -> Sequence[float]: ...


class EnsembleShape(Protocol):
    """Rules, and how their votes become classes and probabilities."""

    @property
    def classes(self) -> Sequence[str]: ...
    @property
    def rules(self) -> Sequence[RuleShape]: ...
    @property
    def intercept(self) -> Sequence[float]: ...
    @property
    def link(self) -> str: ...
    @property
    def calibration(self) -> Sequence[tuple[float, float]]: ...


class FeatureShape(Protocol):
    """What one row must satisfy: tests, pairs of keys that are equal or differ, and features of groups below it."""

    @property
    def tests(self) -> tuple[Test, ...]: ...
    @property
    def same(self) -> Sequence[tuple[str, str]]: ...
    @property
    def differ(self) -> Sequence[tuple[str, str]]: ...
    @property
    def needs(self) -> Sequence[tuple[int, int]]: ...


class GroupShape(Protocol):
    """The rows of a table that belong to a row above, and all that is asked about them.

    `links` are pairs of a column of the table and the column of the row above that it equals.
    """

    @property
    def table(self) -> str: ...
    @property
    def links(self) -> Sequence[tuple[str, str]]: ...
    @property
    def features(self) -> Sequence[FeatureShape]: ...
    @property
    def groups(self) -> Sequence[GroupShape]: ...


class OutputShape(Protocol):
    """What the columns of a prediction are called.

    One score and one probability if there are two classes, or a pair for each class.
    """

    @property
    def scores(self) -> tuple[str, ...]: ...
    @property
    def probabilities(self) -> tuple[str, ...]: ...
    @property
    def prediction(self) -> str: ...
