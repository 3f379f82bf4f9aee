"""`Database`: typed, encoded tables, the examples of a task, and the indexes that joins follow."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hornboost.data.build import build, hidden_columns
from hornboost.data.built import Target
from hornboost.data.describe import Link, about_dangling, count_dangling, describe_frame, summary_html, summary_text
from hornboost.data.distances import FARTHEST, about_unreached, unreached
from hornboost.data.domain import Domain
from hornboost.data.doubts import likely_identifiers
from hornboost.data.frames import encode_rows, examples_frame, with_cutoff
from hornboost.data.index import KeyIndex
from hornboost.data.labels import LabelKind, number_type, of_number_type
from hornboost.data.model_columns import ModelColumn, is_read_as, with_booleans
from hornboost.data.partitionable import Partitionable
from hornboost.data.readable import Readable
from hornboost.data.schema import Schema, Task
from hornboost.data.schema_file import format_schema, write_schema
from hornboost.data.source import Source
from hornboost.data.splittable import Splittable
from hornboost.data.table import Table
from hornboost.data.times import about_times, first_time, warn_of_blindness
from hornboost.errors import DataError, did_you_mean
from hornboost.stopping import working

if TYPE_CHECKING:
    import pyarrow as pa

    from hornboost.audit import Audit
    from hornboost.logic import Clause


class Database(Partitionable, Readable, Splittable):
    """The tables that rules are learned from, with the rows to predict. It never changes, so copies of it are itself.

    Make one by `from_folder`, `from_frames`, `from_duckdb`, `from_sqlite`, `from_postgres`, `from_aleph`,
    `from_popper`, `from_srlearn`, `from_relbench` or `from_arff`.

    Examples
    --------
    >>> import pandas as pd
    >>> train = pd.DataFrame({"train": [1, 2], "east": ["yes", "no"]})
    >>> car = pd.DataFrame({"train": [1, 1, 2], "load": ["box", None, "disc"]})
    >>> db = Database.from_frames(
    ...     {"train": train, "car": car}, target="train", key="train", label="east", positive="yes"
    ... )
    >>> X, y = db.examples()
    >>> list(X.columns), list(y)
    (['train'], ['yes', 'no'])
    """

    def __init__(
        self,
        schema: Schema,
        task: Task,
        sources: Mapping[str, Source],
        *,
        frame: Any = None,
        folder: Path | None = None,
        allow_outside: bool = False,
        inferred: Sequence[str] = (),
        warnings: Sequence[str] = (),
        doubts: Sequence[str] = (),
        left_out: Sequence[str] = (),
        again: Callable[..., dict[str, Any]] | None = None,
    ) -> None:
        """Encode the tables of a reader; `frame` is the target as it came in, where it came in as a frame.

        `doubts` are warnings about how its rows were read. `again` reads the same tables with the types of a model's
        columns, where types are a matter of inference.
        """
        built = build(schema, task, sources)
        self._schema = schema
        self._task = task
        self._built = built
        self._hidden = frozenset(column for table, column in hidden_columns(schema, task) if table == task.table)
        self._target_columns = tuple(sources[task.table].columns)
        self._folder = folder
        self._allow_outside = allow_outside
        self._again = again
        self._inferred = tuple(inferred)
        self._left_out = tuple(left_out)
        self._warnings = (*warnings, *built.warnings)
        self._doubts = tuple(doubts)
        self._frame = frame
        self._start_caches()

    def _start_caches(self) -> None:
        self._lock = threading.Lock()
        self._indexes: dict[tuple[str, str], KeyIndex] = {}
        self._links: tuple[Link, ...] | None = None
        self._time_warnings: tuple[str, ...] | None = None
        self._first_time: float | None = None
        self._examples: dict[bool | None, tuple[Any, Any]] = {}
        self._on = None

    def __getstate__(self) -> dict[str, Any]:
        left_out = {"_lock", "_indexes", "_examples", "_on"}
        if self._store is None:
            left_out |= {"_links", "_time_warnings", "_first_time"}
        return {name: value for name, value in self.__dict__.items() if name not in left_out}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self._start_caches()
        self.__dict__.update(state)

    def __copy__(self) -> Database:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Database:
        return self

    def read_as(self, columns: Mapping[tuple[str, str], ModelColumn]) -> Database:
        """Give this database with a model's columns in the types that the model knows, keys joined as there, where
        those here were inferred.
        """
        if self.stored is not None:
            store = self.stored.with_booleans(columns)
            return self if store is None else self.stored_in(store)
        found = self
        if self._again is not None and not is_read_as(self._built.tables, columns):
            found = type(self)(**self._again(model=columns))
        tables = with_booleans(found.tables, columns)
        if tables is None:
            return found
        spelled = object.__new__(type(self))
        spelled.__setstate__({**found.__getstate__(), "_built": replace(found._built, tables=tables)})
        return spelled

    @property
    def tables(self) -> Mapping[str, Table]:
        """The facts, encoded, without the label and what the task excludes."""
        return MappingProxyType(self._built.tables)

    @property
    def domains(self) -> Mapping[str, Domain]:
        """The dictionaries of the key columns."""
        return MappingProxyType(self._built.domains)

    @property
    def target(self) -> Target:
        """What is predicted."""
        return self._built.labelled.target

    @property
    def label_kind(self) -> LabelKind | None:
        """Whether the label is of classes or of numbers; None without a label."""
        return self._built.labelled.kind

    @property
    def times(self) -> Mapping[str, str]:
        """The time column of each table whose rows have one, that of the target being the cutoff of the examples."""
        return {name: table.times.name for name, table in self._built.tables.items() if table.times is not None}

    @property
    def known_later(self) -> Mapping[str, Mapping[str, tuple[str, ...]]]:
        """By table and by column with a time the columns that are filled in at that time."""
        return {
            name: {
                dating: tuple(column for column, by in table.late.items() if by == dating != column)
                for dating in dict.fromkeys(table.late.values())
            }
            for name, table in self._built.tables.items()
            if table.late
        }

    @property
    def where(self) -> Mapping[str, tuple[str, ...]]:
        """The values of each column by which rows of the target are examples; empty when all are."""
        return MappingProxyType(dict(self._task.where))

    @property
    def schema(self) -> Schema:
        """The schema as read or inferred, with the columns and tables that the task hides."""
        return self._schema

    @property
    def inferred(self) -> tuple[str, ...]:
        """What was not given but inferred, a sentence each."""
        return self._inferred

    @property
    def left_out(self) -> tuple[str, ...]:
        """The tables of the source that were not read, each with the reason.

        Excluded, not named, or a view and the like.
        """
        return self._left_out

    @property
    def links(self) -> tuple[Link, ...]:
        """The foreign keys between visible columns, with the number of values that lead nowhere."""
        if self._links is None:
            self._links = count_dangling(self._schema, self._built.tables, self._built.domains)
        return self._links

    @property
    def warnings(self) -> tuple[str, ...]:
        """What a user should know about the data, a sentence each; `hornboost inspect` lists the same."""
        dangling = about_dangling(self)
        target = self.target.table
        hidden = about_unreached(unreached(self._built.tables, target, FARTHEST), target, FARTHEST)
        identifiers = likely_identifiers(self._built.tables.values())
        return (*self.reading_warnings, *self._about_label(), *self.time_warnings, *dangling, *hidden, *identifiers)

    def _about_label(self) -> Iterator[str]:
        target = self.target
        if len(target.classes) == 1 and self.example_rows.size > 1:  # of one row nobody expects more
            yield (
                f"all labels in {target.table}.{target.label} are '{target.classes[0]}', so there is nothing to tell "
                "apart; add rows of another class, or choose another label"
            )

    @property
    def reading_warnings(self) -> tuple[str, ...]:
        """Those of them that are about what was read, and how."""
        return (*self._warnings, *self._doubts)

    @property
    def time_warnings(self) -> tuple[str, ...]:
        """Those of them that are about times: which rows count for no example."""
        if self._time_warnings is None:
            self._time_warnings = tuple(about_times(self._built.tables, self.target.table))
        return self._time_warnings

    def examples(
        self, held_out: str | None = None, *, labelled: bool | None = True, as_of: Any = None
    ) -> tuple[Any, Any]:
        """Return the examples, as a frame of keys and attributes, and their labels.

        Rows whose label is missing are no examples to learn from, but may be the ones to predict.

        Parameters
        ----------
        held_out : str or None
            The name of folds that are a file of their own (a test set): return the examples of that file.
        labelled : bool or None
            True for the rows with a label, False for those without one (with None for the labels), None for all rows in
            the order of the table, with missing labels. Where the target has no label, all rows are returned.
        as_of : date, text or number
            The cutoff of all of them, instead of their own; rows that have none of their own are examples then, too.

        Returns
        -------
        X : data frame
            The examples.
        y : Series or None
            Their labels; None if the target has no label.

        Examples
        --------
        >>> import pandas as pd
        >>> train = pd.DataFrame({"train": [1, 2, 3], "east": ["yes", None, "no"]})
        >>> db = Database.from_frames({"train": train}, target="train", key="train", label="east")
        >>> [list(db.examples(labelled=which)[0]["train"]) for which in (True, False, None)]
        [[1, 3], [2], [1, 2, 3]]
        """
        if held_out is not None:
            return self._held_out(held_out).examples(labelled=labelled, as_of=as_of)
        if labelled in self._examples and as_of is None:
            return self._examples[labelled]
        chosen = self._built.chosen(labelled, self._schema.location, whatever_time=as_of is not None)
        rows, labels = chosen
        if labels is not None and self._class_type is not None:
            labels = of_number_type(labels, self._class_type)
        found = examples_frame(self._built, self._hidden, self._frame, rows, labels)
        if as_of is not None:
            return with_cutoff(found[0], self._built.tables[self.target.table], as_of), found[1]
        if self._frame is not None:
            self._examples[labelled] = found
        return found

    @property
    def class_type(self) -> str | None:
        """The NumPy type of classes that `examples` gives as numbers or booleans; None where it gives text."""
        labelled = self._built.labelled
        if self._frame is None or self.label_kind != "classes" or labelled.relabelled or not labelled.rows.size:
            return self._class_type
        return number_type(np.asarray(self.examples()[1]))

    def _held_out(self, name: str) -> Database:
        from hornboost.data.readers.folder import read_held_out

        files = [folds for folds in self._schema.folds if folds.file is not None]
        for folds in files:
            if folds.name == name and self._folder is not None:
                return Database(*read_held_out(self._folder, self._schema, self._task, folds, self._allow_outside))
        raise DataError(f"there is no held-out file '{name}'{did_you_mean(name, [folds.name for folds in files])}")

    @property
    def example_rows(self) -> NDArray[np.int64]:
        """The rows of the target table that are examples, in the order of `examples()`."""
        return self._built.labelled.rows

    def labels(self) -> tuple[NDArray[np.int64], NDArray[Any]]:
        """The rows of the target table with a label, also those that are no examples for want of a cutoff, and it."""
        among = self._built.labelled if self._built.whatever_time is None else self._built.whatever_time[0]
        return among.rows, np.empty(among.rows.size, object) if among.labels is None else among.labels

    @property
    def n_asked(self) -> int:
        """The number of the target's rows that could be examples, if each had a label and a cutoff."""
        among, unlabelled = self._built.whatever_time or (self._built.labelled, self._built.unlabelled)
        return len(among.rows) + len(unlabelled)

    @property
    def hidden_columns(self) -> tuple[str, ...]:
        """The columns of the target table, beside the label, that no learner is shown."""
        table = self._built.tables[self.target.table]
        seen = {*table.columns, self.target.label, None if table.times is None else table.times.name}
        return tuple(name for name in self._target_columns if name not in seen)

    @property
    def unlabelled_rows(self) -> NDArray[np.int64]:
        """The rows of the target table that `examples()` leaves out because their label is missing."""
        return self._built.unlabelled

    @property
    def hidden_codes(self) -> Mapping[str, NDArray[np.int32]]:
        """The target's excluded columns as codes, -1 for missing, so that folds may keep their values together."""
        return self._built.hidden

    @property
    def is_single_table(self) -> bool:
        """Whether the examples are all there is to see: one table, without keys to join it by."""
        return len(self._built.tables) == 1 and not self._built.tables[self.target.table].keys

    def without_keys(self) -> Database:
        """The target's rows as a single table that joins nothing, so that a model learned from it needs no database."""
        table, target = self._built.tables[self.target.table], replace(self.target, key=())
        columns = {column.name: column for column in table.attributes}
        alone = Table(table.name, columns, table.n_rows, times=table.times, late=table.late)
        labelled = replace(self._built.labelled, target=target)
        changed: Database = object.__new__(Database)
        changed.__setstate__(
            self.__getstate__()
            | {
                "_built": replace(self._built, tables={table.name: alone}, domains={}, labelled=labelled),
                "_hidden": self._hidden | {column.name for column in table.keys},
            }
        )
        return changed

    @working()
    def encode(self, X: Any, columns: Mapping[str, pa.ChunkedArray] | None = None) -> Table:
        """Encode the rows of a frame as the root of a join tree, in the codes of this database.

        Columns that the target table does not have become further attributes. Keys that the database does not know get
        codes from the size of their domain upwards. A nominal value that the target table does not hold joins the
        categories of its column (so that a rule about it holds as it would in SQL); missing values are -1. `columns`
        are those of X in Arrow, where they were converted before.
        """
        table = self._built.tables[self.target.table]
        encoded = encode_rows(X, table, self._built.domains, self._hidden, columns)
        if encoded.times is not None and encoded.n_rows:
            warn_of_blindness(encoded.times, self.first_time)
        return encoded

    @property
    def first_time(self) -> float:
        """The earliest time of a row that is no example, infinity if there is none."""
        if self._first_time is None:
            self._first_time = first_time(self._built.tables, self.target.table)
        return self._first_time

    def encoded_examples(self) -> Table:
        """What `encode` would make of `examples()`, whose rows are encoded already."""
        table, (rows, _) = self._built.tables[self.target.table], self._built.chosen(True, self._schema.location)
        return table if rows.size == table.n_rows else table.take(rows)

    def index(self, table: str, column: str) -> KeyIndex:
        """Return the rows of each key of a column; the index is built when it is first asked for."""
        place = (table, column)
        found = self._indexes.get(place)
        if found is None:
            if table not in self._built.tables:
                raise DataError.unknown_table(table, self._built.tables)
            self.check_here(table)
            columns, times = self._built.tables[table].columns, self._built.tables[table].times
            if column not in columns:
                raise DataError.unknown_column(table, column, columns)
            domain = columns[column].domain
            if domain is None:
                raise DataError(f"table '{table}': the column '{column}' is no key; only keys can be joined")
            when = None if times is None else times.numbers
            built = KeyIndex.build(columns[column].codes, self._built.domains[domain].size, when)
            with self._lock:
                found = self._indexes.setdefault(place, built)
        return found

    @working()
    def covers(self, clause: Clause) -> NDArray[np.bool_]:
        """Tell which of the examples a clause covers."""
        from hornboost.engine import covers

        result: NDArray[np.bool_] = covers(self, clause)
        return result

    @working()
    def audit(self, *, folds: bool = True) -> Audit:
        """Look for what was not known when a prediction was due.

        Rows and values that are later than the examples they are reached from, single conditions and identifiers that
        tell the class nearly perfectly, and folds at random that promise more than folds in time. Each finding comes
        with rows to look at and with what to declare.

        Parameters
        ----------
        folds : bool
            Whether to learn small models to compare folds at random with folds in time, where the target has a time.

        Returns
        -------
        Audit
            The findings, as text, as a frame (`to_frame`) and in a notebook.

        Examples
        --------
        >>> import hornboost as hb
        >>> db = hb.datasets.bank(300, transactions=10, dated=True).database(times=False)
        >>> [finding.place for finding in db.audit().findings if finding.kind == "later values"]
        ['card.closed']
        """
        from hornboost.audit import audit

        return audit(self, folds=folds)

    def describe(self) -> Any:
        """Return a DataFrame with a row per column: table, rows, type, domain, distinct and missing values, links."""
        return describe_frame(self)

    def to_schema_toml(self) -> str:
        """Return the schema, as read or inferred, in the format of `schema.toml`."""
        return format_schema(self._schema)

    def write_schema(self, path: str | Path) -> None:
        """Write the schema as a `schema.toml`, all or nothing."""
        write_schema(self._schema, path)

    def __repr__(self) -> str:
        return summary_text(self)

    def _repr_html_(self) -> str:
        return summary_html(self)
