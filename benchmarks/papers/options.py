"""Our options beyond plain C²RIB: aggregates, labels of linked examples, bagging, other boosters.

Chosen inside the training examples.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.papers.domains import DOMAINS, Examples, by_compound, examples, splits
from benchmarks.papers.loans import KNOWN, loans
from benchmarks.papers.protocol import Result

if TYPE_CHECKING:
    import pandas as pd

    from hornboost.data import Database

Positions = NDArray[np.intp]
Settings = Mapping[str, Any]
"""Parameters of the `learner` ("C²RIB" unless named), `bagged` on so many bootstrap samples or `averaged` over so many
seeds; and what the examples are shown with: `aggregates` (parameters of `RelationalAggregates`; `known` leaves only
what was known at the loan's date), `linked_labels` of this task (True) or of all tasks of the domain ("all"). Or a
`committee`: a list of settings whose mean is taken."""

OURS = ("learner", "bagged", "averaged", "aggregates", "known", "linked_labels")

Classifier = Callable[["pd.DataFrame"], NDArray[np.float64]]
"""Examples → probability of the second class."""


def choose_fit_and_test(
    data: Path, *, domain: str, task: str | None, seed: int, fold: int, grid: Mapping[str, Settings], inner: int
) -> Result:
    """Accuracy and AUC with the settings of the grid that do best in `inner`
    folds of the training examples, and what it took.

    Best is the smallest squared error of the predicted probabilities, which wavers less than the accuracy of a few
    examples.
    """
    from sklearn.metrics import roc_auc_score

    loaded = examples(data, domain, task)
    train, test = splits(domain, loaded, seed)[fold]
    is_second = loaded.y == np.unique(loaded.y)[1]
    started = time.process_time()
    members = {name: settings.get("committee", [settings]) for name, settings in grid.items()}
    frames = {
        name: [_with_aggregates(data, task, loaded, train, each) for each in listed] for name, listed in members.items()
    }

    def probability_of(X: pd.DataFrame, settings: Settings, first: Positions, second: Positions) -> NDArray[np.float64]:
        if settings.get("linked_labels"):
            X = with_linked_labels(
                loaded.database, X, _labels(data, domain, task, settings["linked_labels"] == "all"), first
            )
        return fitted(loaded, X, first, seed, settings)(X.iloc[second])

    def voted(name: str, first: Positions, second: Positions) -> NDArray[np.float64]:
        votes = [
            probability_of(X, settings, first, second) for X, settings in zip(frames[name], members[name], strict=True)
        ]
        return np.asarray(np.mean(votes, axis=0))

    parts = _inner_folds(loaded, domain, train, seed, inner)
    errors = {name: fmean(float(np.mean((voted(name, a, b) - is_second[b]) ** 2)) for a, b in parts) for name in grid}
    chosen = min(errors, key=lambda name: errors[name])
    choosing = time.process_time() - started
    started = time.process_time()
    probability = voted(chosen, train, test)
    return {
        "accuracy": 100.0 * float(np.mean((probability > 0.5) == is_second[test])),
        "auc": float(roc_auc_score(is_second[test], probability)) if 0 < is_second[test].sum() < len(test) else None,
        "features": None,
        "seconds": time.process_time() - started,
        "choosing": choosing,
        "chosen": chosen,
        "n_test": len(test),
    }


def fitted(loaded: Examples, X: pd.DataFrame, train: Positions, seed: int, settings: Settings) -> Classifier:
    """One model, or the mean of several.

    On bootstrap samples, or of learners that choose columns at random on all examples.
    """
    draws = [train] * settings.get("averaged", 1)
    if "bagged" in settings:
        draws = [np.random.default_rng([seed, k]).choice(train, len(train)) for k in range(settings["bagged"])]
    if len(draws) == 1:
        return _single(loaded, X, train, seed, settings)
    models = [_single(loaded, X, rows, 1000 * seed + k, settings) for k, rows in enumerate(draws)]
    return lambda rows: np.mean([model(rows) for model in models], axis=0)


def _single(loaded: Examples, X: pd.DataFrame, train: Positions, seed: int, settings: Settings) -> Classifier:
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    from hornboost.boosting.c2rib import C2RIBClassifier
    from hornboost.boosting.kbs import KBSClassifier
    from hornboost.boosting.logitboost import LogitBoostClassifier

    parameters = {name: value for name, value in settings.items() if name not in OURS}
    learner = settings.get("learner", "C²RIB")
    columns = list(X.columns)
    # a split looks at a tenth of the columns: hundreds of aggregates say nearly the same
    if learner == "C²RIB":
        model: Any = C2RIBClassifier(loaded.database, random_state=seed, **parameters)
    elif learner == "LogitBoost":
        model = LogitBoostClassifier(
            base=DecisionTreeRegressor(max_depth=3, max_features=0.1), random_state=seed, **parameters
        )
    else:
        tree = DecisionTreeClassifier(max_depth=4, min_samples_leaf=3, max_features=0.1)
        model = KBSClassifier(base=tree, random_state=seed, **parameters)
    if learner != "C²RIB":
        keys = {column.name for column in loaded.database.tables[loaded.database.target.table].keys}
        columns = [name for name in X.select_dtypes("number").columns if name not in keys]
    model.fit(X.iloc[train][columns], loaded.y[train])
    return lambda rows: np.asarray(model.predict_proba(rows[columns])[:, 1])


def _with_aggregates(
    data: Path, task: str | None, loaded: Examples, train: Positions, settings: Settings
) -> pd.DataFrame:
    """The examples with the aggregates that the settings name.

    What those depend on is taken from the training examples.
    """
    from hornboost.estimators.aggregates import RelationalAggregates

    if "aggregates" not in settings:
        return loaded.X
    database, dates = loaded.database, None
    if settings.get("known"):
        database, dates = loans(data, str(task)), KNOWN
    return (
        RelationalAggregates(database, as_of=dates, **settings["aggregates"])
        .fit(loaded.X.iloc[train])
        .transform(loaded.X)
    )


def _labels(data: Path, domain: str, task: str | None, is_for_all: bool) -> dict[str, NDArray[np.bool_]]:
    """Which examples are positive in the task, or in all tasks of the domain, whose examples are the same."""
    tasks = DOMAINS[domain].tasks if is_for_all else (task,)
    loaded = {str(name): examples(data, domain, name) for name in tasks}
    return {name: each.y == each.positive for name, each in loaded.items()}


def with_linked_labels(
    database: Database, X: pd.DataFrame, is_positive: Mapping[str, NDArray[np.bool_]], train: Positions
) -> pd.DataFrame:
    """The examples with, for each table that links them,
    how many other training examples are linked and how many of those are positive.

    The row of an example never shows its own labels, so training and test rows are made alike.
    """
    import pandas as pd

    codes = database.encode(X).columns[database.target.key[0]].codes
    links = _links(database)
    size = 1 + max(int(codes.max()), *(int(ends.max(initial=0)) for pairs in links.values() for ends in pairs))
    is_training = np.zeros(size, dtype=bool)
    is_training[codes[train]] = True
    columns: dict[str, NDArray[np.float64]] = {}
    for name, (first, second) in links.items():
        is_shown = (first != second) & is_training[second]
        of, to = first[is_shown], second[is_shown]
        linked = np.bincount(of, minlength=size)[codes].astype(np.float64)
        columns[f"linked by {name}"] = linked
        for task, labels in is_positive.items():
            label = np.zeros(size)
            label[codes[train]] = labels[train]
            positive = np.bincount(of, weights=label[to], minlength=size)[codes].astype(np.float64)
            share = np.divide(positive, linked, out=np.full(len(codes), np.nan), where=linked > 0)
            columns |= {f"{task} by {name}": positive, f"share of {task} by {name}": share}
    return pd.concat([X, pd.DataFrame(columns, index=X.index)], axis=1)


@lru_cache(maxsize=16)
def _links(database: Database) -> dict[str, tuple[NDArray[np.int32], NDArray[np.int32]]]:
    """Pairs of examples by table: those that a row joins, or that share a value where an example may have several."""
    import pandas as pd

    target = database.tables[database.target.table].columns[database.target.key[0]]
    found = {}
    for name, table in database.tables.items():
        keys = [column for column in table.keys if column.domain == target.domain]
        if len(keys) == 2:
            ends = [key.codes for key in keys]
            found[name] = (np.concatenate(ends), np.concatenate(ends[::-1]))
        elif len(keys) == 1 and len(np.unique(keys[0].codes)) < table.n_rows:
            values = next(
                column for column in table.columns.values() if column is not keys[0] and column.kind != "numeric"
            )
            rows = pd.DataFrame({"example": keys[0].codes, "value": values.codes})[~values.missing]
            pairs = rows.merge(rows, on="value").drop_duplicates()
            found[name] = (pairs["example_x"].to_numpy(), pairs["example_y"].to_numpy())
    return found


def _inner_folds(
    loaded: Examples, domain: str, train: Positions, seed: int, inner: int
) -> list[tuple[Positions, Positions]]:
    """Folds of the training examples, made as the outer ones are: by compound where those are."""
    from sklearn.model_selection import StratifiedKFold

    if DOMAINS[domain].splits == "compounds":
        return [
            (train[first], train[second]) for first, second in by_compound(loaded, loaded.X.iloc[train], inner, seed)
        ]
    folds = StratifiedKFold(inner, shuffle=True, random_state=seed).split(train, loaded.y[train])
    return [(train[first], train[second]) for first, second in folds]
