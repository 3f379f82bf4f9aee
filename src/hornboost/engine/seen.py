"""What an example sees of a row up to its cutoff: how old it is, and no value that became known later."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from hornboost.data.table import Table
from hornboost.engine.ages import age_interval
from hornboost.engine.facts import Facts
from hornboost.engine.intervals import satisfies
from hornboost.logic.clause import Test


def depends_on_cutoff(table: Table, test: Test) -> bool:
    """Whether a test on a row of the database says different things to different examples."""
    return test.column in table.late or is_about_age(table, test)


def is_about_age(table: Table, test: Test) -> bool:
    """Whether a test on a row of the database is about its age."""
    return table.times is not None and test.column == table.age


def seen_satisfies(
    table: Table, test: Test, facts: Facts, rows: NDArray[np.int32], cutoffs: NDArray[np.float64]
) -> NDArray[np.bool_]:
    """Which of some rows pass such a test, each in the view of an example with that cutoff."""
    if is_about_age(table, test):
        assert table.times is not None
        low, high = age_interval(test)
        ages = cutoffs - table.times.numbers[rows]
        return np.asarray((low <= ages) & (ages <= high))
    column = table.columns[str(test.column)]
    known = table.columns[table.late[column.name]].numbers[rows] < cutoffs
    passes = satisfies(column, test, facts, rows)
    return np.asarray(passes | ~known if test.op == "missing" else passes & known)
