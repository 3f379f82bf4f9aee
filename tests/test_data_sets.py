"""Real data sets: every task of every folder of HORNBOOST_DATA loads and has the counts that its schema promises."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest

from hornboost.data import Database, read_schema

FOLDER = os.environ.get("HORNBOOST_DATA")
SETS = sorted(path.parent.name for path in Path(FOLDER).glob("*/schema.toml")) if FOLDER else ["none"]


@pytest.mark.parametrize("name", SETS)
def test_every_task_of_a_data_set_loads_with_the_counts_of_its_schema(data_folder, name):
    schema = read_schema(data_folder / name / "schema.toml")
    for task in [None, *(task.name for task in schema.tasks)]:
        db = Database.from_folder(data_folder / name, task=task)
        X, y = db.examples()
        promised = schema.task(task)
        assert len(X) == len(y) == promised.examples
        if promised.positives is not None:
            assert int((y == db.target.positive).sum()) == promised.positives
            assert int((y == db.target.negative).sum()) == promised.negatives
        assert db.warnings == ()
        assert not set(X.columns) & {promised.label, *promised.exclude_columns} - {
            column.name for column in db.tables[promised.table].keys
        }


@pytest.mark.parametrize("name", SETS)
def test_folds_of_a_data_set_are_disjoint_and_cover_what_has_a_fold(data_folder, name):
    db = Database.from_folder(data_folder / name)
    for folds in db.schema.folds:
        if folds.file is not None:
            assert len(db.examples(held_out=folds.name)[0]) > 0
            continue
        pairs = db.folds(folds.name)
        tests = np.concatenate([test for _, test in pairs])
        assert len(set(tests.tolist())) == tests.size > 0
        assert all(np.intersect1d(train, test).size == 0 for train, test in pairs)
