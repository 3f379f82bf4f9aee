"""RelBench: the tables of a dataset with their keys and times, and the examples of an entity task with their splits.

Its objects are looked at by their attributes, as RelBench names them, so that the package is only needed to load a
dataset by its name.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from hornboost.data.readers.frames import read_frames
from hornboost.data.schema import Folds
from hornboost.errors import DataError

_KINDS = {
    "binary_classification": "classes",
    "multiclass_classification": "classes",
    "regression": "numbers",
}
"""The tasks that are predicted, by the value of RelBench's `TaskType`."""

_SPLITS = ("train", "val", "test")


def read_relbench(dataset: Any, task: Any) -> dict[str, Any]:
    """The arguments of `Database` for a dataset and one of its entity tasks; see `Database.from_relbench`."""
    dataset, task = _loaded(dataset, task)
    kind = _kind(task)
    # a task that completes a column asks about rows from after the moment of the test
    completes = any(base.__name__ == "AutoCompleteTask" for base in type(task).__mro__)
    tables = getattr(task, "get_db", dataset.get_db)(upto_test_timestamp=not completes).table_dict
    target = next(name for name in ("examples", "task_examples", "relbench_examples") if name not in tables)
    examples, references, split = _examples(task, kind)
    every = {name: (table.df, table.fkey_col_to_pkey_table, table.time_col) for name, table in tables.items()}
    every |= {target: (examples, references, task.time_col)}
    found = read_frames(
        {name: frame for name, (frame, _, _) in every.items()},
        target,
        {
            "key": task.entity_col,
            "label": task.target_col,
            "predicts": kind,
            "keys": {name: [table.pkey_col] for name, table in tables.items() if table.pkey_col is not None},
            "foreign_keys": [
                (f"{name}.{column}", f"{to}.{tables[to].pkey_col}")
                for name, (_, links, _) in every.items()
                for column, to in links.items()
            ],
            "times": {name: time for name, (_, _, time) in every.items() if time is not None},
            "exclude_columns": [f"{target}.{split}"],
        },
    )
    folds = Folds("split", (f"{target}.{split}",), _SPLITS[:2])
    return found | {"schema": replace(found["schema"], folds=(folds,))}


def _loaded(dataset: Any, task: Any) -> tuple[Any, Any]:
    """The objects themselves, where names were given."""
    if isinstance(dataset, str):
        try:
            from relbench import load_dataset
        except ImportError:
            raise DataError(
                f"the dataset '{dataset}' is loaded by the package relbench (3.0 or later); install it with: "
                "pip install 'hornboost[relbench]'"
            ) from None
        dataset = load_dataset(dataset)
    if isinstance(task, str):
        if not hasattr(dataset, "load_task"):
            raise DataError(
                f"a RelBench dataset of type '{type(dataset).__name__}' loads no task by the name '{task}'; "
                "pass the task itself"
            )
        task = dataset.load_task(task)
    if not hasattr(dataset, "get_db"):
        raise DataError(
            f"a '{type(dataset).__name__}' is no RelBench dataset; pass a relbench.base.Dataset or its name"
        )
    return dataset, task


def _kind(task: Any) -> str:
    """Whether the task is of classes or of numbers."""
    named = str(getattr(getattr(task, "task_type", None), "value", None))
    if named not in _KINDS or not hasattr(task, "entity_col"):
        raise DataError(
            f"a RelBench task of type '{type(task).__name__}' ({named}) is not of one class or one number an entity; "
            f"pass an entity task of {', '.join(_KINDS)}"
        )
    return _KINDS[named]


def _examples(task: Any, kind: str) -> tuple[Any, dict[str, str], str]:
    """The examples of all splits, the tables that their keys refer to, and the column that names the split.

    RelBench lets an example see what happened up to and including its timestamp, and we what was strictly before: its
    cutoff here is the next microsecond. The labels of the test are hidden, as they are by RelBench.
    """
    import pandas as pd

    time, label = task.time_col, task.target_col
    split = "split" if "split" not in (time, label, task.entity_col) else "split_of_task"
    parts: list[Any] = []
    references: dict[str, str] = {}
    for name in _SPLITS:
        table = task.get_table(name)
        references |= table.fkey_col_to_pkey_table
        frame = table.df if name == "test" else table.df[table.df[label].notna()]
        columns = dict.fromkeys([time, *table.fkey_col_to_pkey_table, *([] if name == "test" else [label])])
        parts.append(frame[list(columns)].assign(**{split: name}))
    known = pd.concat(parts[:2], ignore_index=True)
    known[label] = known[label].astype("float64") if kind == "numbers" else known[label].convert_dtypes()
    examples = pd.concat([known, parts[2]], ignore_index=True)
    examples[time] = pd.to_datetime(examples[time]).astype("datetime64[us]") + pd.Timedelta(microseconds=1)
    return examples, references, split
