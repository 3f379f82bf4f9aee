"""What every estimator with a rule ensemble offers: rules, explanations, SQL, Prolog, a model file."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from hornboost.data import Database
from hornboost.errors import ModelError
from hornboost.estimators.examples import RelationalExamples
from hornboost.model.ensemble import Ensemble, Rule
from hornboost.model.file import NOT_OF_THE_MODEL
from hornboost.model.influence import column_importances, importances, influences
from hornboost.model.rule_list import Rules
from hornboost.model.scale import Scale
from hornboost.stopping import working

if TYPE_CHECKING:
    import pandas as pd

    from hornboost.model.explanation import Explanations
    from hornboost.model.file import SavedModel

Floats = NDArray[np.float64]

ROUND_COLUMNS = (
    *("class", "round", "confidence", "mean_margin", "training_error", "activated", "error", "largest_vote"),
    *("clauses_evaluated", "aurpc", "aurpc_held_out", "training_loss"),
)
"""What a model file keeps of each round, for a report: nothing that depends on the machine."""


class RelationalModel(RelationalExamples):
    """An estimator whose model is an `Ensemble`; a subclass has `database` and sets `ensemble_` in `fit`."""

    ensemble_: Ensemble
    _database: Database

    @property
    def _scale(self) -> Scale:
        """What scores mean."""
        return self.ensemble_

    def _check_rules(self) -> None:
        """Refuse where there is no set of rules."""
        check_is_fitted(self)

    def _scores(self, X: Any) -> Floats:
        check_is_fitted(self, "ensemble_")
        with working():
            return self.ensemble_.scores(self._database, self._encoded(X))

    @property
    def rules_(self) -> list[Rule]:
        """The learned rules, equal clauses merged, in the order in which they were first found."""
        self._check_rules()
        return Rules(self.ensemble_.rules, self.ensemble_.classes)

    def _repr_html_inner(self) -> str:
        return str(super()._repr_html_inner()) + self._rules_html()

    def _repr_mimebundle_(self, **kwargs: Any) -> dict[str, str]:
        """What a notebook shows: scikit-learn's box, and the rules below it once there are some."""
        shown: dict[str, str] = super()._repr_mimebundle_(**kwargs)
        if "text/html" in shown:
            shown["text/html"] += self._rules_html()
        return shown

    def _rules_html(self) -> str:
        if "ensemble_" not in self.__dict__:
            return ""
        from hornboost.model.notebook import escaped

        text = self._what_counts()
        shown = Rules(self.ensemble_.rules, self.ensemble_.classes)._repr_html_()
        return shown + (f"<p>{escaped(text)}</p>" if text else "")

    def _what_counts(self) -> str:
        """Which rows and values count for an example, in a sentence; empty where all do."""
        from hornboost.model.times import what_counts

        return what_counts(self._saved()) if hasattr(self, "ensemble_") else ""

    def _with_times(self, frame: pd.DataFrame) -> pd.DataFrame:
        """A table of rules that says which rows count."""
        if text := self._what_counts():
            frame.attrs["what counts"] = text
        return frame

    @property
    def _weight(self) -> float | None:
        """The weight of all training examples; None where a file does not tell."""
        return self.__dict__.get("_training_weight")

    def _influences(self) -> Floats:
        return influences(self.rules_, self._weight)

    @property
    def importances_(self) -> pd.DataFrame:
        """How much the columns of all tables matter to the rules: `table`, `column` and `importance`, largest first.

        The influence of each rule (see `rules_frame`) is shared evenly by the columns that its conditions look at, and
        importances add up to one. A missing column stands for the rows of a table of which nothing else is asked.

        Examples
        --------
        >>> import hornboost as hb
        >>> db = hb.datasets.trains(100, seed=1).database()
        >>> clf = hb.C2RIBClassifier(db, rounds=5, random_state=0).fit(*db.examples())
        >>> clf.importances_.loc[0, ["table", "column"]].tolist()
        ['train', 'speed']
        """
        self._check_rules()
        return importances(self.rules_, self._weight)

    @property
    def feature_importances_(self) -> Floats:
        """The same for the columns of X, in their order, as scikit-learn has it.

        What rules ask of other tables counts for the key of X by which it is reached; `importances_` tells those apart.
        """
        if "ensemble_" not in self.__dict__:
            raise AttributeError("feature_importances_ is there once rules were learned; fit the estimator first")
        return column_importances(self.ensemble_.rules, self._weight, self._own_names(), self._saved().routes)

    def _own_names(self) -> list[str]:
        """The columns of X, as rules call them."""
        known = getattr(self, "feature_names_in_", None)
        return [f"x{k}" for k in range(self.n_features_in_)] if known is None else [str(name) for name in known]

    def explain(self, X: Any, missed: int = 3) -> Explanations:
        """Explain predictions by the rules that fired, their votes and one witness row per literal.

        Print the result, or take `frame()` and `witnesses()` of it. Score, probability and votes are of the class
        `about`: the positive one of two classes, otherwise the predicted one. Of a number the votes are added to a base
        value.

        Parameters
        ----------
        X : data frame or array
            The examples.
        missed : int
            How many rules that did not fire to show, the nearest first.

        Examples
        --------
        >>> import hornboost as hb
        >>> db = hb.datasets.trains(100, seed=1).database()
        >>> X, y = db.examples()
        >>> clf = hb.C2RIBClassifier(db, rounds=5, random_state=0).fit(X, y)
        >>> list(clf.explain(X[:2]).frame().columns)
        ['example', 'train', 'prediction', 'about', 'probability', 'rule', 'fired', 'vote', 'failed', 'witness']
        """
        from hornboost.data.frames import eager
        from hornboost.model.explain import explain, key_columns, with_cutoffs

        self._check_rules()
        examples = self._encoded(X)
        names = list(key_columns(self._database))
        keys = with_cutoffs(eager(X).select(names).rows(named=True), examples) if names else None
        target = self._saved().target
        label = target.label or self._unnamed
        return explain(self.ensemble_, self._database, examples, missed, keys, target.positive, label)

    def diagnose(self, X: Any, y: Any) -> list[str]:
        """Say in sentences why no rule could be learned from these examples, the plainest reason first.

        Examples
        --------
        >>> import numpy as np, hornboost as hb
        >>> X, y = np.zeros((20, 2)), [0, 1] * 10
        >>> hb.C2RIBClassifier(rounds=3).fit(X, y).diagnose(X, y)
        ["no attribute varies: every visible column has one value (or none) on all examples' rows"]
        """
        from hornboost.model.diagnosis import diagnose

        fresh: Any = clone(self)
        limits = {
            name: value
            for name, value in fresh.get_params(deep=False).items()
            if name in ("max_entries", "max_bins", "max_depth", "memory_limit") and value != "auto"
        }
        problem = fresh._problem(X, y, None, **limits)
        problem.engine.frontier(problem.engine.root())
        return diagnose(problem)

    def to_sql(
        self,
        dialect: str = "duckdb",
        *,
        table: str | None = None,
        key: str | Sequence[str] | None = None,
        schema: str | None = None,
        probability: bool = True,
        as_of: Any = None,
    ) -> str:
        """Write the model as one SELECT of keys, score, probability and prediction of every row of the target table.

        With two classes the score and the probability are those of the positive class, which their columns name
        (`score_of_bad`, `probability_of_bad`); with more, each class has a column of both.

        The statement compares as Python does, by the types that the columns had where the model learned; a column that
        a database cannot compare so is refused. An older model file does not tell the types: its rules are taken to
        look at text, at numbers, and at times without a zone.

        Parameters
        ----------
        dialect : {"duckdb", "sqlite", "postgres", "spark", "bigquery"}
            The database that the statement is for.
        table : str or None
            The name of the target table where the statement will run, if it is another than the model's.
        key : str, list of str or None
            The columns that identify its rows, if they are others than the model's.
        schema : str or None
            The schema that holds the tables, if it is another than the model's.
        probability : bool
            Whether to compute probabilities. SQLite can only do so where its mathematical functions are compiled in.
        as_of : date, str, number or None
            Of a model with times: the moment up to which all rows of the target table may look. None takes the cutoff
            of each from its own column, which then stands beside the key. A name such as ":cutoff" makes it a parameter
            of the statement: `$cutoff` in DuckDB, `$1` in PostgreSQL, `@cutoff` in BigQuery, `:cutoff` elsewhere.
        """
        from hornboost.model.sql import model_to_sql

        try:
            return model_to_sql(
                self._saved(), dialect, table=table, key=key, schema=schema, probability=probability, as_of=as_of
            )
        except RecursionError:
            raise ModelError("a rule of the model nests too deep for SQL; learn shorter rules") from None

    def to_prolog(self) -> str:
        """Write the rules as Prolog clauses, each after a comment with its vote.

        The first comments name the arguments of the facts. Of a number, the last argument of the head is what a rule
        adds to it, or multiplies it by, in a few digits. Facts do not tell which rows count for which example, so that
        a model with times is refused.
        """
        model = self._saved()
        dated = [table for table in (*model.times, *model.late) if table != model.target.table or table in model.late]
        if dated:
            raise ModelError(
                f"the rules count only what was known of table '{dated[0]}' before the cutoff of each example, which "
                "has no form in Prolog; export SQL, or print the rules"
            )
        columns = {table: [column.name for column in found] for table, found in model.schema.items()}
        lines: list[str] = []
        for rule in model.ensemble.rules:
            *comments, clause = rule.clause.to_prolog(columns).splitlines()
            lines += [comment for comment in comments if comment not in lines]
            lines += [f"% {rule.confidence(model.ensemble.classes):+.6g}", clause]
        head = [line for line in lines if line.startswith("% ") and line.endswith(")")]
        if model.ensemble.is_of_numbers:
            base = float(model.ensemble.numbers(np.array([model.ensemble.intercept]))[0])
            head.append(f"% {model.target.label or self._unnamed} is {base:.6g} where no rule holds")
        return "\n".join([*head, *(line for line in lines if line not in head)]) + "\n"

    def save(self, path: str | Path) -> None:
        """Write the model as a JSON file, whole or not at all; `hornboost.load` reads it."""
        from hornboost.model.file import save

        save(self._saved(), path)

    def _saved(self) -> SavedModel:
        """The model as a file holds it."""
        from hornboost import __version__
        from hornboost.model import tuning
        from hornboost.model.file import SavedModel, saved_schema
        from hornboost.model.routes import routes_in
        from hornboost.model.times import saved_late, saved_times

        self._check_rules()
        target = self._database.target
        routes = routes_in(self._database, self.ensemble_.rules)
        schema = saved_schema(self.ensemble_, self._database, _given(self.ensemble_, self._database), routes)
        training = {
            "hornboost": __version__,
            "estimator": type(self).__name__,
            "parameters": _parameters(self),
            "weight": self._weight,
            "history": _rounds(self),
            **tuning.told(self),
        }
        return SavedModel(
            self.ensemble_,
            np.asarray(getattr(self, "classes_", ())),
            target,
            schema,
            self.database is not None and not self.database.is_single_table,
            training,
            self._database.schema.home,
            {table: (one, other) for table, (one, other) in (getattr(self, "symmetric", None) or {}).items()},
            () if target.key else self._database.hidden_columns,
            routes,
            saved_times(self._database, schema),
            saved_late(self._database, schema),
        )


def _given(ensemble: Ensemble, database: Database) -> dict[str, str]:
    """The columns of the examples that rules test and the database does not have,
    with the type that the tests imply.
    """
    known = database.tables[database.target.table].columns
    given: dict[str, str] = {}
    for rule in ensemble.rules:
        for test in rule.clause.root.tests:
            if isinstance(test.column, str) and test.column not in known:
                ordered = test.op in (">=", "<=")
                kind = "date" if ordered and isinstance(test.value, str) else "numeric" if ordered else "nominal"
                if given.get(test.column) in (None, "nominal"):
                    given[test.column] = kind
    return given


def _parameters(estimator: Any) -> dict[str, Any]:
    """The parameters of an estimator that JSON can hold."""
    kept = {}
    for name, value in estimator.get_params(deep=False).items():
        if name in NOT_OF_THE_MODEL:
            continue
        plain = value.item() if isinstance(value, np.generic) else value
        try:
            kept[name] = json.loads(json.dumps(plain, allow_nan=False))
        except (TypeError, ValueError):
            kept[name] = type(value).__name__
    return kept


def _rounds(estimator: Any) -> list[dict[str, Any]]:
    """The history of a fit as JSON holds it; what is not finite is left out."""
    history = getattr(estimator, "history_", None)
    if history is None:
        return []
    rows = history[[name for name in ROUND_COLUMNS if name in history.columns]].to_dict("records")
    return [
        {name: list(value) if isinstance(value, tuple) else value for name, value in row.items() if _is_told(value)}
        for row in rows
    ]


def _is_told(value: Any) -> bool:
    return not isinstance(value, float) or math.isfinite(value)
