"""What engines over one database share: codes of attributes and keys, and which joins say nothing new."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from hornboost.data.bins import MAX_BINS
from hornboost.data.domain import Domain
from hornboost.data.index import KeyIndex
from hornboost.data.table import Table
from hornboost.dtypes import CODE
from hornboost.engine.attributes import Attributes
from hornboost.engine.dependencies import are_unique, determines, is_included, is_unique

if TYPE_CHECKING:
    from hornboost.data import Database
    from hornboost.data.partitions import PartitionStore
    from hornboost.engine.joins import JoinGraph

Number = TypeVar("Number", bound=np.generic)
NO_VALUE = -3
"""A code that no row has."""


class Facts:
    """The tables of a database as the engine reads them, worked out when first asked for.

    A database never changes, so every engine over it takes the same object from `Facts.of`.
    """

    def __init__(
        self, tables: Mapping[str, Table], domains: Mapping[str, Domain], given: PartitionStore | None = None
    ) -> None:
        self.tables = tables
        self.domains = domains
        self._given = given
        """What knows of whole tables what holds of their keys, where the rows here are only some."""
        self._attributes: dict[tuple[str, tuple[str, ...], int, int | None], Attributes] = {}
        self._keys: dict[tuple[str, str], NDArray[np.int32]] = {}
        self._keys_by: dict[tuple[str, str, str | None], NDArray[np.int32]] = {}
        self._constants: dict[tuple[str, str | float | None], int] = {}
        self._all_rows: dict[str, KeyIndex] = {}
        self.graphs: dict[tuple[str, tuple[tuple[str, str | None], ...]], JoinGraph] = {}
        """The joins from examples, by the name of their table and their keys."""
        self._unique: dict[tuple[str, str], bool] = {}
        self._determined: dict[tuple[str, str, str, str, str, str], bool] = {}
        self._unique_rows: dict[str, bool] = {}
        self._included: dict[tuple[str, str, tuple[str, ...]], bool] = {}

    @staticmethod
    def of(database: Database) -> Facts:
        """The facts of a database, which live as long as it does."""
        with _lock:
            if database not in _known:
                _known[database] = Facts(database.tables, database.domains, database.given_facts)
            return _known[database]

    @staticmethod
    def share(database: Database, other: Database) -> None:
        """Let another database, which has the same tables, have the same facts."""
        facts = Facts.of(database)
        with _lock:
            _known[other] = facts

    def attributes(
        self, table: str, constants: Sequence[str], max_bins: int = MAX_BINS, max_thresholds: int | None = None
    ) -> Attributes:
        """The codes of a table's attributes; keys of the domains in `constants` are among them."""
        at = (table, tuple(constants), max_bins, max_thresholds)
        if at not in self._attributes:
            named = {name: self.domains[name].values for name in constants}
            made = Attributes(self.tables[table], named, dated=True, max_bins=max_bins, max_thresholds=max_thresholds)
            self._attributes.setdefault(at, made)
        return self._attributes[at]

    def key(self, table: str, column: str) -> NDArray[np.int32]:
        """The codes of a key column, in the one kind of array that the kernels are compiled for."""
        at = (table, column)
        if at not in self._keys:
            self._keys[at] = writable(self.tables[table].columns[column].values, CODE)
        return self._keys[at]

    def key_by(self, table: str, column: str, by: str | None, index: KeyIndex) -> NDArray[np.int32]:
        """The codes of a key column in the order of the index of another one, or where there is none of all rows."""
        at = (table, column, by)
        if at not in self._keys_by:
            self._keys_by[at] = self.key(table, column)[index.rows]
        return self._keys_by[at]

    def is_dated(self, table: str) -> bool:
        """Whether what an example sees of a table depends on its cutoff: which rows, or which values of them."""
        return self.tables[table].times is not None or bool(self.tables[table].late)

    def all_rows(self, table: str) -> KeyIndex:
        """The rows of a table as those of one key, which has the code 0."""
        if table not in self._all_rows:
            rows = self.tables[table]
            times = None if rows.times is None else rows.times.numbers
            self._all_rows[table] = KeyIndex.build(np.zeros(rows.n_rows, CODE), 1, times)
        return self._all_rows[table]

    def constant(self, domain: str, value: str | float | None) -> int:
        """The code of an identifier that a test names; one that no row has when the database does not hold it."""
        at = (domain, value)
        if at not in self._constants:
            code = int(self.domains[domain].encode([value])[0])
            # beyond the size of the domain a code only says which unknown identifier it is among its own
            self._constants[at] = code if 0 <= code < self.domains[domain].size else NO_VALUE
        return self._constants[at]

    def is_unique(self, table: str, column: str) -> bool:
        """Whether no two rows have the same key."""
        at = (table, column)
        if self._given is not None:
            return self._given.is_unique(table, column)
        if at not in self._unique:
            self._unique[at] = is_unique(self.key(table, column))
        return self._unique[at]

    def determines(self, table: str, out: str, carried: str, other: str, joined: str, column: str) -> bool:
        """Whether other.joined = table.out always brings other.column = table.carried."""
        at = (table, out, carried, other, joined, column)
        if self._given is not None:
            return self._given.determines(*at)
        if at not in self._determined:
            columns = self.key(table, out), self.key(table, carried), self.key(other, joined), self.key(other, column)
            self._determined[at] = determines(*columns)
        return self._determined[at]

    def rows_are_unique(self, table: str) -> bool:
        """Whether no two rows have the same keys in all key columns."""
        if self._given is not None:
            return self._given.rows_are_unique(table)
        if table not in self._unique_rows:
            self._unique_rows[table] = are_unique([column.codes for column in self.tables[table].keys])
        return self._unique_rows[table]

    def includes(self, table: str, other: str, columns: Sequence[str]) -> bool:
        """Whether each row of the other table, unless it lacks one of these columns, has a row here whose keys,
        in their order, are these.
        """
        if self._given is not None:
            return self._given.includes(table, other, columns)
        at = (table, other, tuple(columns))
        if at not in self._included:
            there, here = self.tables[other].columns, self.tables[table].keys
            self._included[at] = is_included([there[name].codes for name in columns], [key.codes for key in here])
        return self._included[at]


def writable(array: NDArray[Any], dtype: type[Number]) -> NDArray[Number]:
    """The array as the one kind that kernels are compiled for, copied only if it is another.

    Numba tells apart what cannot be written.
    """
    flags = array.flags
    return array if array.dtype == dtype and flags.c_contiguous and flags.writeable else np.array(array, dtype)


_known: WeakKeyDictionary[Database, Facts] = WeakKeyDictionary()
_lock = threading.Lock()
