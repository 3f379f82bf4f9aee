"""The readers, as a `Database` offers them: each hands its options to a module of `data.readers`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hornboost.data.frames import arrow_columns

if TYPE_CHECKING:
    from typing import Self


class Readable:
    """What can be read from files, frames and databases."""

    if TYPE_CHECKING:

        def __init__(self, *arguments: Any, **named: Any) -> None: ...

    @classmethod
    def from_single(cls, X: Any, name: str = "examples") -> Self:
        """Read one table without keys or label: text, categories and booleans are nominal, the rest numeric.

        Examples
        --------
        >>> import numpy as np, hornboost as hb
        >>> list(hb.Database.from_single(np.zeros((2, 3))).tables["examples"].columns)
        ['x0', 'x1', 'x2']
        """
        from hornboost.data.readers.frames import single_table

        return cls(*single_table(arrow_columns(X), name))

    @classmethod
    def from_folder(
        cls, folder: str | Path, task: str | None = None, *, allow_outside: bool = False, **options: Any
    ) -> Self:
        """Read CSV, CSV.gz and Parquet files with a `schema.toml`; without one the schema is inferred.

        Parameters
        ----------
        folder : path
            The folder of the files.
        task : str or None
            The name of a task of the schema.
        allow_outside : bool
            Whether the files that a schema names may lie outside the folder, also after links are followed.
        **options
            Options of `from_frames`. `target`, `key`, `label`, `positive`, `negative` and `predicts` state the task
            where there is no schema, and otherwise replace the schema's, as `types` do; `where`, `exclude_columns` and
            `exclude_tables` add to those of the schema; `tables` reads only some tables.
        """
        from hornboost.data.readers.folder import read_folder

        return cls(**read_folder(Path(folder), task, options, allow_outside))

    @classmethod
    def from_frames(cls, frames: Mapping[str, Any], target: str, **options: Any) -> Self:
        """Read data frames (pandas, polars, Arrow).

        Parameters
        ----------
        frames : dict
            The frames by the names of their tables.
        target : str
            The table whose rows are the examples.

        Other Parameters
        ----------------
        key : str or list of str
            The columns of the target that identify an example.
        label, positive, negative : str
            The column to predict, the class that is looked for, and the other one; of the last two one is enough.
        predicts : {"classes", "numbers"}
            Whether the label is of classes or of numbers, where its values should not decide that: fractions and many
            distinct whole numbers are numbers, all else are classes.
        where : dict
            For columns of the target the value, or the list of values, that a row must have to be an example.
        exclude_columns : list of str
            Columns that rules must not use, as `"table.column"`.
        tables, exclude_tables : list of str
            The tables to read, or not to read.
        foreign_keys : list of pairs of str
            Links, as pairs of `"table.column"`; no others are inferred.
        links : list of pairs of str
            Links beside those that are inferred.
        keys : dict
            Further key columns, as `{table: {column: domain}}`.
        types : dict
            Types that replace the inferred ones, as `{"table.column": type}`.
        times : dict
            For tables the column that says from when on each row is known, as `{table: column}`; the target's is the
            cutoff of each example, which sees only rows from strictly before.
        known_later : dict
            Columns that are filled in after their row, as `{table: {column with the time of that: columns}}`.
        """
        from hornboost.data.readers.frames import read_frames

        return cls(**read_frames(frames, target, options))

    @classmethod
    def from_duckdb(cls, database: Any, target: str | None = None, *, schema: str = "main", **options: Any) -> Self:
        """Read a DuckDB database; keys and links come from its constraints, and are inferred if it has none.

        Views are read only if they are named: in `tables`, as the target, or by a column in `foreign_keys`, `keys` or
        `types`. Temporary tables are not read.

        Parameters
        ----------
        database : path or connection
            The file, or an open connection.
        target : str or None
            The table whose rows are the examples.
        schema : str
            The schema to read.
        **options
            Further options of `from_frames`: `key`, `label`, `positive`, `where`, `tables` and so on.
        """
        from hornboost.data.readers.sql import read_duckdb

        return cls(**read_duckdb(database, {"target": target, **options}, schema))

    @classmethod
    def from_sqlite(cls, path: str | Path, target: str | None = None, **options: Any) -> Self:
        """Read a SQLite file; keys and links come from its constraints, and are inferred if it has none.

        Views and virtual tables are read only if they are named, as in `from_duckdb`.

        Parameters
        ----------
        path : path
            The file.
        target : str or None
            The table whose rows are the examples.
        **options
            Further options of `from_frames`: `key`, `label`, `positive`, `where`, `tables` and so on.
        """
        from hornboost.data.readers.sql import read_sqlite

        return cls(**read_sqlite(path, {"target": target, **options}))

    @classmethod
    def from_postgres(cls, uri: str, target: str | None = None, *, schema: str = "public", **options: Any) -> Self:
        """Read a PostgreSQL database; keys and links come from its constraints, and are inferred if it has none.

        Views, materialised views, foreign tables and partitions (whose rows the partitioned table has) are read only if
        they are named, as in `from_duckdb`; temporary tables are not read.

        Parameters
        ----------
        uri : str
            The address, as in `postgresql://user@host/database`.
        target : str or None
            The table whose rows are the examples.
        schema : str
            The schema to read.
        **options
            Further options of `from_frames`: `key`, `label`, `positive`, `where`, `tables` and so on.
        """
        from hornboost.data.readers.sql import read_postgres

        return cls(**read_postgres(uri, {"target": target, **options}, schema))

    @classmethod
    def from_aleph(cls, stem: str | Path, **options: Any) -> Self:
        """Read Aleph's files `stem.b`, `stem.f` and `stem.n`: ground facts, modes and examples.

        Arguments typed `+` or `-` are keys, unless they are numbers; arguments typed `#` are attributes.

        Parameters
        ----------
        stem : path
            The path of the files without their endings.
        **options
            `positive`, `negative`, `where`, `exclude_columns`, `exclude_tables`, `times` and `known_later`, as in
            `from_frames`; the classes are called true and false.
        """
        from hornboost.data.readers.aleph import read_aleph

        return cls(**read_aleph(stem, options))

    @classmethod
    def from_popper(cls, folder: str | Path, **options: Any) -> Self:
        """Read a folder of Popper: background in `bk.pl`, examples in `exs.pl`, predicates in `bias.pl`.

        Arguments of one type, or without types those that share a constant, are keys that can be joined; an argument
        that can be joined with no other is an attribute. Facts that rules of the background derive are added where
        these are plain Datalog. Lists and terms are refused.

        Parameters
        ----------
        folder : path
            The folder.
        **options
            `positive`, `negative`, `where`, `exclude_columns`, `exclude_tables`, `times` and `known_later`, as in
            `from_frames`; the classes are called true and false.
        """
        from hornboost.data.readers.popper import read_popper

        return cls(**read_popper(folder, options))

    @classmethod
    def from_srlearn(
        cls,
        folder: str | Path,
        modes: Sequence[str] | None = None,
        part: str = "train",
        *,
        target: str | None = None,
        allow_outside: bool = False,
        **options: Any,
    ) -> Self:
        """Read a folder of srlearn or BoostSRL: `facts.txt`, `pos.txt`, `neg.txt` and modes.

        The files may also be called `train/train_facts.txt` and so on; modes are taken from the folder, or from
        `background.txt` in the folder above, where the folds of a set share it.

        Parameters
        ----------
        folder : path
            The folder.
        modes : sequence of str or None
            Modes that replace the background file.
        part : {"train", "test"}
            What to read where the folder has both.
        target : str or None
            The predicate to learn, where there are examples of several.
        allow_outside : bool
            Whether what a background file imports may lie outside the folder.
        **options
            `positive`, `negative`, `where`, `exclude_columns`, `exclude_tables`, `times` and `known_later`, as in
            `from_frames`; the classes are called true and false.
        """
        from hornboost.data.readers.srlearn import read_srlearn

        return cls(**read_srlearn(folder, modes, part, allow_outside, options, target))

    @classmethod
    def from_relbench(cls, dataset: Any, task: Any) -> Self:
        """Read a dataset of RelBench and one of its entity tasks: its tables, keys, times and splits as they are.

        The examples are those of the splits `train` and `val`, which `folds()` gives; those of `test`, whose labels
        RelBench hides, are `examples(labelled=False)`, in the order in which the task's `evaluate` expects
        predictions. RelBench lets an example see what happened at its timestamp, so its cutoff here is one microsecond
        later. The package is needed to load a dataset by name: `pip install 'hornboost[relbench]'`.

        Parameters
        ----------
        dataset : relbench.base.Dataset or str
            The dataset, or the name by which `relbench.load_dataset` knows it.
        task : relbench.base.EntityTask or str
            The task, of binary or multi-class classification or regression, or its name.
        """
        from hornboost.data.readers.relbench import read_relbench

        return cls(**read_relbench(dataset, task))

    @classmethod
    def from_arff(cls, path: str | Path, label: str | None = None, **options: Any) -> Self:
        """Read one table from an ARFF file.

        Parameters
        ----------
        path : path
            The file.
        label : str or None
            The attribute to predict; None for the last one.
        **options
            `positive`, `negative`, `where`, `types`, `exclude_columns`, `times` and `known_later`, as in `from_frames`.
        """
        from hornboost.data.readers.arff import read_arff

        return cls(**read_arff(path, {"label": label, **options}))
