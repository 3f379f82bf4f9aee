"""`load`: a model file as a fitted classifier or regressor."""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import narwhals.dependencies as frames
import numpy as np

from hornboost.data import Database
from hornboost.data.date_forms import are_counted, order_of
from hornboost.data.frames import decode_table
from hornboost.data.mirror import mirrored
from hornboost.data.table import Table
from hornboost.errors import DataError, ModelError
from hornboost.estimators.classifier import RelationalClassifier
from hornboost.estimators.regressor import RelationalRegressor
from hornboost.estimators.relational import RelationalModel
from hornboost.model import file, tuning
from hornboost.model.routes import linked_by
from hornboost.model.times import dated_by

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


def load(path: str | Path, database: Database | None = None) -> FittedModel | FittedRegressor:
    """Read a classifier or a regressor from a model file.

    Parameters
    ----------
    path : path
        The file that `save` or `hornboost fit` wrote.
    database : Database or None
        The tables that the rules look at. A model of a single table needs none.

    Returns
    -------
    FittedModel or FittedRegressor
        A classifier or a regressor that predicts, explains and exports.

    Examples
    --------
    >>> import tempfile, pathlib, hornboost as hb
    >>> db = hb.datasets.trains(100, seed=1).database()
    >>> X, y = db.examples()
    >>> clf = hb.C2RIBClassifier(db, rounds=5, random_state=0).fit(X, y)
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "model.json"
    >>> clf.save(path)
    >>> bool((load(path, database=db).decision_function(X) == clf.decision_function(X)).all())
    True
    """
    return fitted(file.load(path), database)


def fitted(model: file.SavedModel, database: Database | None = None) -> FittedModel | FittedRegressor:
    """The content of a model file as a classifier or a regressor."""
    return FittedRegressor(model, database) if model.ensemble.is_of_numbers else FittedModel(model, database)


class _Fitted(RelationalModel):
    """What is read from a file: it predicts, explains and exports, and is not fitted again."""

    def __init__(self, model: file.SavedModel, database: Database | None = None) -> None:
        self.model = model
        self.database = database
        self.ensemble_ = model.ensemble
        self.training_ = dict(model.training)
        self.n_features_in_ = len(model.schema[model.target.table]) + (model.target.table in model.times)
        if database is not None and not model.is_relational and not database.is_single_table:
            raise ModelError(
                "the model was fitted on a single table; load it without a database and pass that table's rows"
            )
        if database is None and not model.is_relational:
            self._database = _of_constants(model)
        elif database is not None:
            self.database = linked_by(model, dated_by(model, database.read_as(model.columns())))
            model.check_schema(self.database)
            self._database = mirrored(
                self.database, {name: pair for name, pair in model.symmetric.items() if name in model.schema}
            )
            self._prepare()

    def _prepare(self) -> None:
        """Score one row, so that indexes and dictionaries are there before the first example that someone waits for."""
        table = self._database.tables[self.model.target.table]
        rows = np.arange(table.n_rows) if table.times is None else np.flatnonzero(~table.times.missing)
        if rows.size and not any(column.given for column in self.model.schema[table.name]):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # whatever there is to say about that row, nobody asked for it
                self._scores(decode_table(table, self._database.domains, rows[:1]))

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> NoReturn:
        """A model from a file is not fitted again."""
        raise ModelError(
            f"the model was loaded from a file; fit a new {self.training_.get('estimator', 'estimator')} instead"
        )

    @property
    def tuning_(self) -> pd.DataFrame:
        """What was tried before the fit, where the estimator tunes itself; losses are rounded to six digits."""
        self._check_path("tuning_")
        return tuning.tuning_frame(self.training_)

    @property
    def path_(self) -> pd.DataFrame:
        """How good the model was with how many rules, where the estimator tells; losses are rounded to six digits."""
        self._check_path("path_")
        return tuning.path_frame(self.training_)

    def _check_path(self, name: str) -> None:
        if self.training_.get("path") is None:
            raise AttributeError(f"the model file keeps no {name}; HornBoostClassifier and HornBoostRegressor have it")

    def _saved(self) -> file.SavedModel:
        return self.model

    @property
    def _weight(self) -> float | None:
        return self.training_.get("weight")

    def _own_names(self) -> list[str]:
        table = self.model.target.table
        cutoff = [self.model.times[table].column] if table in self.model.times else []
        return [*(column.name for column in self.model.schema[table]), *cutoff]

    def _encoded(self, X: Any) -> Table:
        if not hasattr(self, "_database"):
            tables = ", ".join(f"'{name}'" for name in self.model.used())
            raise ModelError(f"the model looks at the tables {tables}; load it with database= to predict")
        return self._database.encode(self._checked(X, reset=False))

    def _checked(self, X: Any, *, reset: bool) -> Any:
        if frames.is_into_dataframe(X):
            return X
        if self.database is not None:
            table = self.model.target.table
            raise DataError(
                f"with a database X must be a data frame with the columns of table '{table}'; got {type(X).__name__}"
            )
        return np.asarray(X)

    def _scores(self, X: Any) -> Any:
        examples = self._encoded(X)
        return self.ensemble_.scores(self._database, examples)


class FittedModel(_Fitted, RelationalClassifier):
    """A classifier read from a file: it predicts, explains and exports, and is not fitted again.

    Parameters
    ----------
    model : SavedModel
        The content of the file, which `load` reads.
    database : Database or None
        The tables behind the examples. Text files are read again where other types were inferred than the model knows.

    Attributes
    ----------
    training_ : dict
        How the model was fitted.
    tuning_, path_ : DataFrame
        As of the estimator that was saved, if that has them, with losses rounded to six digits.
    """

    def __init__(self, model: file.SavedModel, database: Database | None = None) -> None:
        super().__init__(model, database)
        self.classes_ = model.classes

    @property
    def positive_(self) -> Any:
        """The class of `classes_` that scores of ours speak of; None with more than two."""
        ensemble = self.ensemble_
        return self.classes_[ensemble.about(self.model.target.positive)] if len(ensemble.classes) <= 2 else None


class FittedRegressor(_Fitted, RelationalRegressor):
    """A regressor read from a file: it predicts, explains and exports, and is not fitted again.

    Parameters
    ----------
    model : SavedModel
        The content of the file, which `load` reads.
    database : Database or None
        The tables behind the examples.

    Attributes
    ----------
    training_ : dict
        How the model was fitted.
    tuning_, path_ : DataFrame
        As of the estimator that was saved, if that has them, with losses rounded to six digits.
    """

    def __init__(self, model: file.SavedModel, database: Database | None = None) -> None:
        super().__init__(model, database)


def _of_constants(model: file.SavedModel) -> Database:
    """A table with the columns of the training data that holds the constants of the rules.

    Enough to encode rows as training did.
    """
    import pyarrow as pa

    from hornboost.data.readers.frames import single_table

    table = model.target.table
    constants: dict[str, dict[str, None]] = {column.name: {} for column in model.schema[table]}
    for rule in model.ensemble.rules:
        for test in rule.clause.root.tests:
            if test.op in ("=", "!=") and isinstance(test.column, str):
                constants[test.column][str(test.value)] = None
    height = max([1, *map(len, constants.values())])
    columns = {
        column.name: pa.chunked_array([_typed(column.type, constants[column.name], height)])
        for column in model.schema[table]
    }
    stored = {
        column.name: str(column.stored)
        for column in model.schema[table]
        if order_of(column.stored) is not None or (column.type == "date" and are_counted(column.stored))
    }
    return dated_by(model, Database(*single_table(columns, table, stored)))


def _typed(kind: str, constants: Iterable[str], height: int) -> pa.Array:
    import pyarrow as pa

    if kind == "nominal":
        values = list(constants)
        texts = pa.array([*values, *[None] * (height - len(values))], pa.string())
        return texts.dictionary_encode()  # categories, whatever they spell
    return pa.nulls(height, pa.date32() if kind == "date" else pa.float64())
