"""Databases whose rows lie in partitions: written, read, and worked on a partition at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from hornboost.data.bins import MAX_BINS
from hornboost.data.built import Built
from hornboost.data.partitions.writer import DEPTH, SMALL_TABLE
from hornboost.data.places import Places, SharedRows
from hornboost.data.table import Table
from hornboost.errors import DataError
from hornboost.memory import bytes_of

if TYPE_CHECKING:
    from typing import Self

    from hornboost.data.database import Database
    from hornboost.data.partitions import PartitionStore


class Partitionable:
    """What can be written in partitions, and read and learned from where it is in some."""

    if TYPE_CHECKING:
        _built: Built
        _lock: threading.Lock

        def _start_caches(self) -> None: ...
        def __getstate__(self) -> dict[str, Any]: ...
        def __setstate__(self, state: dict[str, Any]) -> None: ...

    _store: PartitionStore | None = None
    _part: int | None = None
    _parts: Any = None
    _on: tuple[Any, Any] | None = None
    _memory_limit: int | str | None = None
    _class_type: str | None = None
    _places: Callable[[Table], Places] | None = None
    _sharing: Mapping[str, SharedRows] | None = None

    @classmethod
    def stored_as(cls, store: PartitionStore, state: Mapping[str, Any], part: int | None = None) -> Self:
        """The database with what a folder of partitions says of it, or one of its parts."""
        nothing = ("_inferred", "_left_out", "_warnings", "_doubts")
        made = object.__new__(cls)
        made.__dict__.update(dict.fromkeys(("_folder", "_again", "_frame")), **dict.fromkeys(nothing, ()))
        made.__dict__.update(_allow_outside=False, _store=store, _part=part)
        made._start_caches()
        made.__dict__.update(state)
        return made

    @property
    def stored(self) -> PartitionStore | None:
        """The folder that holds the rows of all tables but the target, where they are not here."""
        return self._store if self._part is None else None

    @property
    def given_facts(self) -> PartitionStore | None:
        """What knows facts about whole tables where the rows here are only some: `is_unique` and `determines`."""
        return self._store

    def shared_rows(self, table: str, part: int) -> SharedRows:
        """Which rows of a table others of the partitions have as well, of which this is one.

        Partitions that are in no folder have all rows.
        """
        if self._sharing is not None:
            return self._sharing[table]
        return SharedRows.all(self._built.tables[table].n_rows, is_first=part == 0)

    @classmethod
    def from_partitions(cls, folder: str | Path, memory_limit: int | str | None = None) -> Database:
        """Read a folder that `partition` wrote: the examples now, the rows behind them a part at a time.

        Parameters
        ----------
        folder : path
            The folder.
        memory_limit : int, str or None
            The memory within which parts stay open, in bytes or as in "4GB"; None is 80 % of what there is. A fit that
            has its own uses that.
        """
        from hornboost.data.partitions import PartitionStore

        made = PartitionStore(Path(folder)).driver()
        made._memory_limit = memory_limit
        return made

    def partition(
        self,
        folder: str | Path,
        partitions: int,
        *,
        depth: int = DEPTH,
        small_table: int = SMALL_TABLE,
        max_bins: int = MAX_BINS,
        overwrite: bool = False,
    ) -> Database:
        """Write the database in partitions: some of the examples each, with every row that they reach.

        A model that is learned from partitions is the one that is learned from the database. `hornboost partition` does
        the same for sources that are larger than memory.

        Parameters
        ----------
        folder : path
            The folder to write, all of it or nothing.
        partitions : int
            The number of parts.
        depth : int
            How many joins away from an example the rows are that its part holds; a learner goes no further.
        small_table : int
            Tables of at most so many rows are whole in every part.
        max_bins : int
            Distinct values of a numeric column up to which each is a threshold; beyond, they are put together in bins.
        overwrite : bool
            Whether a folder of partitions that exists is replaced.

        Returns
        -------
        Database
            What `from_partitions` reads there.

        Examples
        --------
        >>> import tempfile, hornboost as hb
        >>> db = hb.datasets.bank(100, transactions=5).database()
        >>> parts = db.partition(tempfile.mkdtemp() + "/bank", 4, small_table=0)
        >>> parts.stored.n, len(parts.examples()[0]), parts.tables["trans"].n_rows
        (4, 100, 0)
        """
        from hornboost.data.partitions.loaded import partition_loaded

        asked: dict[str, Any] = {
            "partitions": partitions,
            "depth": depth,
            "small_table": small_table,
            "max_bins": max_bins,
        }
        sizes = {name: int(size) if isinstance(size, np.integer) else size for name, size in asked.items()}
        partition_loaded(cast("Database", self), Path(folder), overwrite=overwrite, **sizes)
        return type(self).from_partitions(folder)

    @property
    def parts(self) -> Any:
        """Who works on the partitions (`engine.parts.Parts`) where the rows lie in some; None where they are here."""
        if self._parts is None and self.stored is not None:
            from hornboost.engine.parts import LocalParts, StoredOpener

            openers = [StoredOpener(self.stored, part) for part in range(self.stored.n)]
            self._parts = LocalParts(openers, bytes_of(self._memory_limit))
        return self._parts

    def places(self, examples: Table) -> Places:
        """Which partition each of some encoded rows of the target lies in, and where it is there."""
        if self._places is not None:
            return self._places(examples)
        assert self.stored is not None
        return Places(*self.stored.locate(cast("Database", self), examples))

    def stored_in(self, store: PartitionStore) -> Database:
        """The same partitions as another reading of their folder has them, with the same workers at work on them."""
        made = store.driver()
        made._memory_limit = self._memory_limit
        client = getattr(self._parts, "client", None)
        return made if client is None else made.on(client)

    def in_parts(self, parts: Any, places: Callable[[Table], Places] | None = None) -> Self:
        """The same database with its rows in partitions, which `parts` work on and `places` finds examples in.

        A database that was read from partitions knows the places itself.
        """
        changed = object.__new__(type(self))
        changed.__setstate__(self.__getstate__() | {"_parts": parts, "_places": places})
        return changed

    def key_counts(self, table: str, column: str) -> tuple[int, int]:
        """How many rows have a key in a column, and the squares of how many have each, added up; of all partitions."""
        if self._store is not None:
            entry = self._store.manifest.table(table)
            found = next(known for known in entry.columns if known.name == column)
            return entry.rows - found.missing, found.squares
        codes = self._built.tables[table].columns[column].codes
        counts = np.bincount(codes[codes >= 0])
        return int(counts.sum()), int((counts * counts).sum())

    @property
    def n_rows(self) -> int:
        """The rows of all tables, also where most of them are in partitions."""
        if self._store is not None:
            return sum(entry.rows for entry in self._store.manifest.tables)
        return sum(table.n_rows for table in self._built.tables.values())

    def n_identifiers(self, domain: str) -> int:
        """How many identifiers key columns share, also where most of them are in partitions."""
        return self._built.domains[domain].size if self._store is None else self._store.n_identifiers(domain)

    def share_out(self, client: Any) -> None:
        """Divide the partitions among the workers of a client anew where there are more of them, or others, by now."""
        from hornboost.engine.dask_parts import check_open

        check_open(client)
        with self._lock:
            if self._on is not None and self._on[0] is client and not self._on[1].parts.is_even():
                self._on = None

    def on(self, client: Any) -> Self:
        """The same database, with the workers of a Dask client at work on its partitions.

        Parameters
        ----------
        client : dask.distributed.Client
            The client of any cluster whose workers can read the folder of the partitions.

        Returns
        -------
        Database
            One that all learn and predict with as before, to the same models; the workers keep its partitions open
            until it, or the client, is closed.
        """
        from hornboost.engine.dask_parts import DaskParts, checked_client

        checked_client(client)
        parts = self.parts
        if parts is None:
            raise DataError(
                "the rows of this database are not in partitions, which workers could work on; write it with "
                "db.partition(DIR, partitions=N) or 'hornboost partition', and read Database.from_partitions(DIR)"
            )
        if self._memory_limit is not None:
            raise DataError(
                "from_partitions: memory_limit is for partitions that this process opens; workers keep theirs open, so "
                "leave it out, or work without them"
            )
        with self._lock:
            if self._on is None or self._on[0] is not client:
                self._on = client, self.in_parts(DaskParts(client, parts.openers), self._places)
            return self._on[1]

    def check_here(self, table: str) -> None:
        """Refuse to look at the rows of a table where they are in partitions."""
        if self.stored is not None:
            raise DataError(
                f"{self.stored.folder.name}: the rows of table '{table}' are in {self.stored.n} partitions and not "
                "here; read the source itself for this"
            )
        if self._parts is not None:
            raise DataError(f"the rows of table '{table}' are in partitions and not here; read all of it for this")
