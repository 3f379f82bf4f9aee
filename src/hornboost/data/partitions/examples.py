"""The target table on disk: its rows with their labels and folds, the part of each and its row there; and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hornboost.data.built import Built, FoldValues, Labelled, Target
from hornboost.data.domain import Domain
from hornboost.data.table import Table

if TYPE_CHECKING:
    import pyarrow as pa

LABELLED, UNLABELLED = 1, 2
"""What a row is to the task; rows that are neither are no examples."""


def plain_target(built: Built) -> dict[str, Any]:
    """What is predicted, as the manifest states it."""
    return {
        **_plain(built.labelled),
        "folds": [
            {"name": name, "values": list(folds.values), "problem": folds.problem}
            for name, folds in built.folds.items()
        ],
        "undated": None if built.whatever_time is None else _plain(built.whatever_time[0]),
    }


def _plain(labelled: Labelled) -> dict[str, Any]:
    return {"target": asdict(labelled.target), "kind": labelled.kind, "relabelled": labelled.relabelled}


def example_columns(built: Built, n_rows: int) -> dict[str, pa.Array]:
    """What the file of the target holds beside its columns: what each row is to the task, its label and folds."""
    columns = _states("", built.labelled, built.unlabelled, n_rows)
    if built.whatever_time is not None:
        columns |= _states("undated_", *built.whatever_time, n_rows)
    for number, folds in enumerate(built.folds.values()):
        columns[f"fold{number}"] = _spread(folds.of_example, built.labelled.rows, n_rows)
    return columns


def _states(prefix: str, labelled: Labelled, unlabelled: NDArray[np.int64], n_rows: int) -> dict[str, pa.Array]:
    import pyarrow as pa

    state = np.zeros(n_rows, np.int8)
    state[labelled.rows], state[unlabelled] = LABELLED, UNLABELLED
    columns = {f"{prefix}state": pa.array(state)}
    if labelled.labels is not None:
        is_text = labelled.labels.dtype == object
        labels = np.full(n_rows, None if is_text else np.nan, labelled.labels.dtype)
        labels[labelled.rows] = labelled.labels
        columns[f"{prefix}label"] = pa.array(labels, pa.string() if is_text else pa.float64())
    return columns


def _spread(of_example: NDArray[np.int32], rows: NDArray[np.int64], n_rows: int) -> pa.Array:
    import pyarrow as pa

    folds = np.full(n_rows, -1, np.int32)
    if of_example.size:
        folds[rows] = of_example
    return pa.array(folds)


def built_of(
    plain: Mapping[str, Any],
    held: pa.Table,
    tables: dict[str, Table],
    domains: dict[str, Domain],
    warnings: tuple[str, ...],
) -> Built:
    """What a `Database` keeps, from the file of the target."""
    labelled, unlabelled = _labelled(plain, "", held)
    whatever_time = None if plain["undated"] is None else _labelled(plain["undated"], "undated_", held)
    folds = {}
    for number, known in enumerate(plain["folds"]):
        found = FoldValues(tuple(known["values"]), problem=known["problem"])
        if known["problem"] is None:
            found = replace(found, of_example=held.column(f"fold{number}").to_numpy()[labelled.rows])
        folds[known["name"]] = found
    return Built(tables, domains, labelled, unlabelled, folds, warnings, whatever_time)


def _labelled(plain: Mapping[str, Any], prefix: str, held: pa.Table) -> tuple[Labelled, NDArray[np.int64]]:
    state = held.column(f"{prefix}state").to_numpy()
    rows = np.flatnonzero(state == LABELLED)
    labels = None
    if f"{prefix}label" in held.column_names:
        labels = held.column(f"{prefix}label").to_numpy()[rows]
    stated = plain["target"]
    target = Target(**{**stated, "key": tuple(stated["key"]), "classes": tuple(stated["classes"])})
    return Labelled(target, rows, labels, plain["relabelled"], plain["kind"]), np.flatnonzero(state == UNLABELLED)
