"""The parts of the examples that a `Database` offers to learn from and to predict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
from numpy.typing import NDArray

from hornboost.data.groups import folds_by_group
from hornboost.data.known_folds import known_folds
from hornboost.data.splits import splits_in_time
from hornboost.errors import DataError

if TYPE_CHECKING:
    from hornboost.data.built import Built
    from hornboost.data.database import Database
    from hornboost.data.schema import Schema


class Splittable:
    """What can be split into examples to learn from and others to predict."""

    if TYPE_CHECKING:
        _schema: Schema
        _built: Built

    def folds(
        self,
        name: str | None = None,
        *,
        time: Any = None,
        rolling: int | None = None,
        horizon: Any = None,
        groups: str | None = None,
        n_splits: int | None = None,
    ) -> list[tuple[NDArray[np.intp], NDArray[np.intp]]]:
        """Return known folds, splits in time or folds by group, as (train, test) positions in `examples()`.

        Known folds with the values "train" and "test" (or "val") are one split; an example without a fold is in no
        part. A split in time learns from the examples whose time is before a moment and predicts those from it on; with
        several moments each split predicts those up to the next. Folds by group keep the examples with one value of a
        column together, so that none is predicted by what was learned from its own group. A part without examples is
        an error.

        Parameters
        ----------
        name : str or None
            The folds, by their name in the schema; None for the first that belong to the rows of the target.
        time : date, number or list of them
            The moment to split at, such as "2024-01-01", or several in order.
        rolling : int
            The number of moments to split at, which divide the examples into as many parts and one more, of nearly
            equal size.
        horizon : str, timedelta or number
            How long after its time the label of an example is known, such as "90d": examples whose label was not
            known at the moment of the split are in neither part.
        groups : str
            The column whose values are the groups: of the target (also one that rules must not use), or as
            "table.column" of a table whose primary key the target holds. An example without a value is its own group.
        n_splits : int
            The number of folds by group, with the shares of the classes kept as far as groups allow; None for ten, or
            as many as there are groups.

        Returns
        -------
        list of pairs of arrays
            The positions to learn from and those to predict.

        Examples
        --------
        >>> import pandas as pd, hornboost as hb
        >>> loan = pd.DataFrame({"loan": [1, 2, 3, 4], "granted": [10, 20, 30, 40], "paid": ["yes", "no", "no", "yes"]})
        >>> db = hb.Database.from_frames(
        ...     {"loan": loan}, target="loan", key="loan", label="paid", times={"loan": "granted"}
        ... )
        >>> [(train.tolist(), test.tolist()) for train, test in db.folds(time=35)]
        [([0, 1, 2], [3])]
        >>> [(train.tolist(), test.tolist()) for train, test in db.folds(time=[30, 40], horizon=5)]
        [([0, 1], [2]), ([0, 1, 2], [3])]
        """
        database = cast("Database", self)
        in_time = any(value is not None for value in (time, rolling, horizon))
        if groups is not None:
            if name is not None or in_time:
                raise DataError(
                    f"{self._schema.location}: folds are known, in time or by group; ask for one kind at a time"
                )
            return folds_by_group(database, groups, n_splits)
        if n_splits is not None:
            raise DataError(
                f"{self._schema.location}: n_splits is the number of folds by group; name a column as groups"
            )
        if not in_time:
            return known_folds(self._schema, self._built, name)
        if name is not None:
            raise DataError(f"the folds '{name}' are known, not made in time; leave out time, rolling and horizon")
        return [(split.train, split.test) for split in splits_in_time(database, time, rolling, horizon)]
