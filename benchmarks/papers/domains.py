"""The data sets of the papers' tables, with the splits that the tables are made on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hornboost.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

    from hornboost.data import Database

Split = tuple[NDArray[np.intp], NDArray[np.intp]]


@dataclass(frozen=True, slots=True)
class Domain:
    """A row's data: a folder, the tasks that its accuracy is averaged over, and how examples are split.

    `splits` is "stratified", "compounds" (a pair is a test pair if one of its two compounds is held out), "draws" (55
    training and 6 test examples drawn afresh) or the name of folds in the schema. `hidden` columns are left out beside
    those that the task leaves out.
    """

    folder: str
    tasks: tuple[str | None, ...] = (None,)
    splits: str = "stratified"
    n_splits: int = 10
    hidden: tuple[str, ...] = ()


FUNCTIONS = (
    "function_cell_growth_cell_division_and_dna_synthesis",
    "function_cell_rescue_defense_cell_death_and_ageing",
    "function_cellular_biogenesis",
    "function_cellular_communication_signal_transduction",
    "function_cellular_organization",
    "function_cellular_transport_and_transportmechanisms",
    "function_energy",
    "function_ionic_homeostasis",
    "function_metabolism",
    "function_protein_destination",
    "function_protein_synthesis",
    "function_transcription",
    "function_transport_facilitation",
)

DOMAINS = {
    "breast-wisc": Domain("breast-wisc"),
    "horse-colic": Domain("horse-colic"),
    "hypothyroid": Domain("hypothyroid"),
    "mushroom": Domain("mushroom"),
    "splice-junction": Domain("splice-junction", ("boundary_vs_none",)),
    "PKDD loans, AC": Domain("financial", ("loan_good_vs_bad",)),
    "PKDD loans, A": Domain("financial", ("finished_good_vs_bad",)),
    # the localization of a test gene was not known in the competition
    "KDD Cup 2001, task 2": Domain("kddcup2001", FUNCTIONS, hidden=("gene.localization", "gene.nucleus")),
    "Mutagenicity": Domain("mutagenesis", splits="oxford_10fold"),
    "QSARs": Domain("pyrimidines", splits="compounds", n_splits=5),
    "QSARs, split by pair": Domain("pyrimidines", splits="stratified", n_splits=5),
    **{name: Domain(name) for name in ("cmc", "german-credit", "satimage", "adult", "pima", "ionosphere")},
    "Eastbound Trains": Domain("trains1000", ("trains1",), splits="draws", n_splits=8),
}


@dataclass(frozen=True, eq=False, slots=True)
class Examples:
    """A task's database, its examples and labels."""

    database: Database
    X: pd.DataFrame
    y: NDArray[Any]
    positive: str


@lru_cache(maxsize=16)
def examples(data: Path, name: str, task: str | None) -> Examples:
    """Read a task; a process reads it once."""
    from hornboost.data import Database

    domain = DOMAINS[name]
    folder = data / domain.folder
    if not folder.is_dir():
        raise DataError(
            f"the data folder '{data}' has no folder '{domain.folder}'; give the folder of all data sets with --data"
        )
    database = Database.from_folder(folder, task=task)
    if domain.hidden:
        left_out = [*database.schema.task(task).exclude_columns, *domain.hidden]
        database = Database.from_folder(folder, task=task, exclude_columns=left_out)
    X, y = database.examples()
    target = database.target
    return Examples(database, X, np.asarray(y), str(target.positive))


def splits(name: str, data: Examples, seed: int) -> list[Split]:
    """The (train, test) positions of one repetition."""
    from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit

    domain = DOMAINS[name]
    if domain.splits == "stratified":
        folds = StratifiedKFold(domain.n_splits, shuffle=True, random_state=seed)
        return list(folds.split(data.X, data.y))
    if domain.splits == "draws":
        draws = StratifiedShuffleSplit(domain.n_splits, train_size=55, test_size=6, random_state=seed)
        return list(draws.split(data.X, data.y))
    if domain.splits == "compounds":
        return by_compound(data, data.X, domain.n_splits, seed)
    return data.database.folds(domain.splits)


def by_compound(data: Examples, X: pd.DataFrame, n_splits: int, seed: int) -> list[Split]:
    """Folds of the compounds as positions in X: a pair with a held-out compound is a test pair."""
    from sklearn.model_selection import KFold

    first, second = (X[column].to_numpy() for column in data.database.target.key)
    compounds = np.unique(np.concatenate([first, second]))
    held_out = [compounds[test] for _, test in KFold(n_splits, shuffle=True, random_state=seed).split(compounds)]
    is_test = [np.isin(first, names) | np.isin(second, names) for names in held_out]
    return [(np.flatnonzero(~test), np.flatnonzero(test)) for test in is_test]
