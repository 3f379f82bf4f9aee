"""A scikit-learn transformer that adds aggregates of related rows to the examples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from numbers import Integral
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, _fit_context
from sklearn.utils._param_validation import Interval
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from hornboost.aggregates.compute import Aggregator
from hornboost.aggregates.paths import TablePath, find_paths
from hornboost.aggregates.plan import FUNCTIONS, plan
from hornboost.aggregates.reach import rows_reached
from hornboost.aggregates.reached import RowsReached
from hornboost.aggregates.windows import windows
from hornboost.data.dated import dated
from hornboost.data.frames import eager, known_frame
from hornboost.data.table import Table
from hornboost.errors import DataError, did_you_mean, warn_caller
from hornboost.estimators.examples import check_database
from hornboost.logic.duration import microseconds_of
from hornboost.logic.text import print_number

if TYPE_CHECKING:
    from hornboost.data import Database


class RelationalAggregates(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Add columns to the examples: aggregates of the rows of other tables that each example reaches over foreign keys.

    A table of which an example reaches at most one row gives its columns as they are. A row that is reached in two ways
    counts twice. Where nothing is reached, a count is 0 and every other aggregate is missing.

    Where the database has times, an example reaches rows from strictly before its cutoff and sees values that are known
    by then; rows with a time have an age, in days, and other dates become days before the cutoff.

    Parameters
    ----------
    database : Database
        The other tables.
    max_depth : int
        The longest path, in foreign keys followed in either direction; no path visits a table twice.
    functions : sequence of str
        Some of "count", "share", "mean", "sum", "min", "max", "std", "last", "distinct", "mode", "mode_share"; "last"
        is the value in the latest row of a table with times that has one, of several the largest.
    where : int
        For each nominal column, also aggregate the rows with each of this many of its values: those that most training
        examples reach.
    windows : int
        For each table with times, also aggregate the rows of at most some age, for this many lengths: round ones that
        tell the rows of the training examples apart.
    as_of : dict or None
        The times of a database that has none, as its `times=` would declare them: columns by table, among them the
        target's.
    max_entries : int
        The largest number of rows that the training examples may reach over a path; paths that reach more are left out
        and listed in `refused_`.

    Attributes
    ----------
    aggregates_ : list of AggregateColumn
        What each further column is: name, function, path, column, where.
    refused_ : dict
        The paths left out, each with the number of rows that it reaches.

    Examples
    --------
    >>> import pandas as pd
    >>> from hornboost.data import Database
    >>> loan = pd.DataFrame({"loan": [1, 2], "paid": ["yes", "no"]})
    >>> item = pd.DataFrame({"item": [7, 8, 9], "loan": [1, 1, 3], "price": [2.0, 4.0, 8.0]})
    >>> links = [("item.loan", "loan.loan")]
    >>> db = Database.from_frames(
    ...     {"loan": loan, "item": item}, target="loan", key="loan", label="paid", foreign_keys=links
    ... )
    >>> X, y = db.examples()
    >>> RelationalAggregates(db, functions=("count", "mean")).fit_transform(X)
       loan  count(item)  mean(item.price)
    0     1            2               3.0
    1     2            0               NaN
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "database": "no_validation",
        "max_depth": [Interval(Integral, 1, None, closed="left")],
        "functions": ["array-like", tuple],
        "where": [Interval(Integral, 0, None, closed="left")],
        "windows": [Interval(Integral, 0, None, closed="left")],
        "as_of": [dict, None],
        "max_entries": [Interval(Integral, 1, None, closed="left")],
    }

    def __init__(
        self,
        database: Database,
        *,
        max_depth: int = 2,
        functions: Sequence[str] = FUNCTIONS,
        where: int = 0,
        windows: int = 0,
        as_of: Mapping[str, str] | None = None,
        max_entries: int = 50_000_000,
    ) -> None:
        self.database = database
        self.max_depth = max_depth
        self.functions = functions
        self.where = where
        self.windows = windows
        self.as_of = as_of
        self.max_entries = max_entries

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> RelationalAggregates:
        """Choose the columns; only `where` and `windows` look at examples, and only at those passed in here."""
        check_database(self.database, optional=False)
        for function in self.functions:
            if function not in FUNCTIONS:
                raise DataError(f"there is no aggregate function '{function}'{did_you_mean(function, FUNCTIONS)}")
        database = self._dated()
        tables, target = database.tables, database.target.table
        examples = database.encode(X)
        paths = self._affordable(database, find_paths(tables, database.links, target, self.max_depth), examples)
        where = Aggregator(database).frequent_values(examples, paths, self.where) if self.where else {}
        self.feature_names_in_ = np.array(eager(X).columns, dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)
        cutoff = tables[target].times
        self.aggregates_ = plan(
            paths,
            tables,
            self.functions,
            None if cutoff is None else f"{target}.{cutoff.name}",
            where,
            self._windows(database, examples, paths),
            {name: [column.name for column in table.columns] for name, table in database.schema.tables.items()},
        )
        clash = set(self.feature_names_in_) & {aggregate.name for aggregate in self.aggregates_}
        if clash:
            raise DataError(f"table '{target}' already has a column '{min(clash)}'; rename it before aggregating")
        return self

    def transform(self, X: Any) -> Any:
        """The columns of X, without values that are known only later, and the aggregates.

        They come in the kind of frame that came in unless `set_output` asked for another.
        """
        import narwhals as nw

        check_is_fitted(self)
        frame = eager(X)
        if list(frame.columns) != list(self.feature_names_in_):
            raise DataError(
                f"the rows passed in have the columns {frame.columns} where {list(self.feature_names_in_)} were fitted"
            )
        database = self._dated()
        examples = database.encode(X)
        values = Aggregator(database).compute(examples, self.aggregates_)
        frame, backend = eager(known_frame(X, examples)), frame.implementation
        added = [
            nw.new_series(name, column.tolist(), nw.String, backend=backend)
            if column.dtype == object
            else nw.new_series(name, column, backend=backend)
            for name, column in values.items()
        ]
        out = frame.with_columns(*added)
        # scikit-learn cannot turn a frame of mixed types into one of another kind by itself
        wanted = _get_output_config("transform", self)["dense"]
        return out.to_pandas() if wanted == "pandas" else out.to_polars() if wanted == "polars" else out.to_native()

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[np.object_]:
        """The columns of X, then the names of the aggregates."""
        check_is_fitted(self)
        return np.array([*self.feature_names_in_, *(aggregate.name for aggregate in self.aggregates_)], dtype=object)

    def _affordable(self, database: Database, paths: Sequence[TablePath], examples: Table) -> list[TablePath]:
        """The paths within the limit, counted before anything is joined; the others are told of."""
        reached = {path: rows_reached(database, examples, path.steps) for path in paths}
        self.refused_ = {path: count for path, count in reached.items() if count > self.max_entries}
        if self.refused_:
            named = [f"'{path.label}' ({count:,} rows)" for path, count in self.refused_.items()]
            warn_caller(
                f"{len(named)} paths reach more than max_entries={self.max_entries:,} rows and are left out "
                "(see refused_): " + ", ".join(named[:5]) + (", …" if len(named) > 5 else ""),
                UserWarning,
            )
        return [path for path in paths if path not in self.refused_]

    def _windows(
        self, database: Database, examples: Table, paths: Sequence[TablePath]
    ) -> dict[TablePath, list[tuple[str, float]]]:
        """How old rows are at most, by path, as text and as a number."""
        if self.windows == 0:
            return {}
        reached = RowsReached(database, examples)
        found: dict[TablePath, list[tuple[str, float]]] = {}
        for path in paths:
            lengths = [] if path.single else [length for _, length in windows(reached, path, self.windows)]
            found[path] = [
                (length, microseconds_of(length)) if isinstance(length, str) else (print_number(length), length)
                for length in lengths
            ]
        return found

    def _dated(self) -> Database:
        """The database with its times, or with those of `as_of`."""
        if not self.as_of:
            return self.database
        tables, target = self.database.tables, self.database.target.table
        if self.database.times:
            raise DataError("the database has times of its own; leave 'as_of' out")
        for table, column in self.as_of.items():
            if table not in tables:
                raise DataError.unknown_table(table, tables)
            if column not in tables[table].columns:
                raise DataError.unknown_column(table, column, tables[table].columns)
            if tables[table].columns[column].kind != "numeric":
                raise DataError(
                    f"table '{table}': the column '{column}' is neither date nor number; 'as_of' compares dates"
                )
        if target not in self.as_of:
            raise DataError(
                f"'as_of' names no date of the target table '{target}'; "
                "add one, as the dates of other rows are compared with it"
            )
        return dated(self.database, self.as_of, {})
