"""Estimators that let the workers of a Dask cluster work on the partitions of their database."""

from __future__ import annotations

from copy import copy
from typing import Any, Self

from sklearn.base import _clone_parametrized

from hornboost.data import Database
from hornboost.estimators.examples import RelationalExamples


class WithWorkers(RelationalExamples):
    """An estimator with the parameter `client`, a connection that is no part of what is learned."""

    client: Any

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "client": None}  # a connection stays where it is

    def __sklearn_clone__(self) -> Self:
        alone = copy(self)
        alone.client = None
        cloned: Self = _clone_parametrized(alone)
        cloned.client = self.client
        return cloned

    @property
    def _database(self) -> Database:
        """The tables behind the examples, with the client's workers at work on their partitions if there is one."""
        return self._tables if self.client is None else self._tables.on(self.client)

    @_database.setter
    def _database(self, database: Database) -> None:
        self._tables = database
        if self.client is not None:
            database.share_out(self.client)
