"""How good the model is on what came later: splits in time, beside the cross-validation at random."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from hornboost.errors import DataError
from hornboost.report.evaluation import attempt, bounded_folds, cross_validate, learner_of, summary
from hornboost.report.number_evaluation import cross_validate_numbers
from hornboost.report.text import number, shown


@dataclass(frozen=True)
class InTime:
    """The figures of each split, as text: the moment, what was learned from and predicted, and the metrics; their means
    follow. `missing` says why there are none.
    """

    metrics: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    means: Mapping[str, str] | None = None
    missing: str = ""


@dataclass(frozen=True)
class AskedInTime:
    """The splits in time that a user asks for, as in `Database.folds`."""

    time: Any = None
    rolling: int | None = None
    horizon: Any = None

    def evaluated(
        self, model: Any, saved: Any, X: Any, y: NDArray[Any] | None, most: int, step: Callable[[str], None]
    ) -> InTime | None:
        """What comes out of them; None where none are asked for."""
        if self == AskedInTime():
            return None
        if y is None:
            return InTime(missing="The data has no labels, so there are no splits in time.")
        found, missing = attempt(lambda: self._figures(model, saved, X, y, most, step))
        return found or InTime(missing=shown(missing.replace("cross-validation", "evaluation in time"), 500))

    def _figures(
        self, model: Any, saved: Any, X: Any, y: NDArray[Any], most: int, step: Callable[[str], None]
    ) -> InTime:
        from hornboost.data.splits import splits_in_time

        database = model._database
        if len(X) != len(database.example_rows):
            raise DataError("splits in time are of the database's own examples; pass those of examples()")
        splits = splits_in_time(database, self.time, self.rolling, self.horizon)
        parts = bounded_folds([(split.train, split.test) for split in splits], most)

        def on_fold(k: int, n: int) -> None:
            step(f"split in time {k + 1} of {n}")

        estimator, what = learner_of(model, saved), "splits in time"
        if saved.ensemble.is_of_numbers:
            metrics = cross_validate_numbers(estimator, X, y, parts, what=what, on_fold=on_fold).metrics()
        else:
            positive = saved.target.positive
            evaluation = cross_validate(estimator, X, y, parts, positive=positive, what=what, on_fold=on_fold)
            metrics = evaluation.metrics()
        rows = [
            (split.moment, number(len(train)), number(len(test)), *(f"{values[k]:.4f}" for values in metrics.values()))
            for k, (split, (train, test)) in enumerate(zip(splits, parts, strict=True))
        ]
        return InTime(tuple(metrics), tuple(rows), _means(metrics))


def _means(metrics: Mapping[str, Sequence[float]]) -> dict[str, str]:
    return {metric: f"{summary(values)[0]:.4f}" for metric, values in metrics.items()}
