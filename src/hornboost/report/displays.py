"""Displays of a fit in scikit-learn's style, drawn with matplotlib: the margins by round, and when features entered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hornboost.errors import DataError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class MarginDisplay:
    """The mean margin of the training examples by round, with the rounds in which features entered.

    >>> import hornboost as hb
    >>> db = hb.datasets.trains(100, seed=1).database()
    >>> clf = hb.C2RIBClassifier(db, rounds=5, features="margin", random_state=0).fit(*db.examples())
    >>> display = MarginDisplay.from_estimator(clf, ax=False)
    >>> len(display.margins["1"]), display.entered
    (5, {})
    """

    def __init__(self, margins: Mapping[str, Sequence[float]], entered: Mapping[int, Sequence[str]]) -> None:
        self.margins = margins
        self.entered = entered

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | bool | None = None, **line: Any) -> MarginDisplay:
        """Draw the margins of a fitted estimator (on `ax`, on new axes by default); with `ax=False` only collect them."""
        history = _history(estimator, "mean_margin")
        margins = {str(value): part["mean_margin"].tolist() for value, part in history.groupby("class", sort=False)}
        display = cls(margins, _entered(history))
        return display if ax is False else display.plot(ax=None if ax is None or ax is True else ax, **line)

    def plot(self, ax: Axes | None = None, **line: Any) -> MarginDisplay:
        """Draw the curves and keep `ax_`, `figure_` and `lines_`, as the displays of scikit-learn do."""
        import matplotlib.pyplot as plt

        axes = plt.subplots()[1] if ax is None else ax
        self.lines_ = []
        for name, values in self.margins.items():
            self.lines_ += axes.plot(range(1, len(values) + 1), values, **{"label": f"class {name}", **line})
        for at, features in self.entered.items():
            axes.axvline(at, color="0.6", linestyle=":", linewidth=1)
            axes.annotate(
                ", ".join(features), (at, 1), xycoords=("data", "axes fraction"), rotation=90, va="top", ha="right", fontsize="small"
            )
        axes.set(xlabel="Round", ylabel="Mean margin")
        if len(self.margins) > 1:
            axes.legend(loc="best")
        self.ax_, self.figure_ = axes, axes.figure
        return self


class FeatureTimelineDisplay:
    """Which features the learner could see in which rounds, in the order in which they entered.

    >>> import hornboost as hb
    >>> db = hb.datasets.trains(100, seed=1).database()
    >>> clf = hb.C2RIBClassifier(db, rounds=5, features="margin", random_state=0).fit(*db.examples())
    >>> FeatureTimelineDisplay.from_estimator(clf, ax=False).spans["car.shape"]
    [(1, 5)]
    """

    def __init__(self, spans: Mapping[str, Sequence[tuple[int, int]]], rounds: int) -> None:
        self.spans = spans
        self.rounds = rounds

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | bool | None = None, **bar: Any) -> FeatureTimelineDisplay:
        """Draw the features of a fitted two-class C²RIB^D (of its first class with more); with `ax=False` only collect them."""
        history = _history(estimator, "active_features")
        history = history[history["class"] == history["class"].iloc[0]]
        spans: dict[str, list[tuple[int, int]]] = {}
        for number, features in zip(history["round"].tolist(), history["active_features"], strict=True):
            for feature in features:
                known = spans.setdefault(feature, [])
                if known and known[-1][1] == number - 1:
                    known[-1] = (known[-1][0], number)
                else:
                    known.append((number, number))
        display = cls(spans, int(history["round"].max()))
        return display if ax is False else display.plot(ax=None if ax is None or ax is True else ax, **bar)

    def plot(self, ax: Axes | None = None, **bar: Any) -> FeatureTimelineDisplay:
        """Draw a bar for each stretch of rounds and keep `ax_`, `figure_` and `bars_`."""
        import matplotlib.pyplot as plt

        axes = plt.subplots()[1] if ax is None else ax
        self.bars_ = [
            axes.broken_barh([(start - 0.5, stop - start + 1) for start, stop in spans], (row - 0.35, 0.7), **bar)
            for row, spans in enumerate(self.spans.values())
        ]
        axes.set(xlabel="Round", xlim=(0.5, self.rounds + 0.5), yticks=range(len(self.spans)), yticklabels=list(self.spans))
        axes.invert_yaxis()
        self.ax_, self.figure_ = axes, axes.figure
        return self


def _history(estimator: Any, column: str) -> pd.DataFrame:
    name = type(estimator).__name__
    if not hasattr(estimator, "history_"):
        raise DataError(f"this {name} has no history_; fit it first (a model from a file keeps none)")
    history: pd.DataFrame = estimator.history_
    if column not in history:
        raise DataError(f"the history of {name} has no '{column}'; C2RIBClassifier records it (features with features='margin' or 'V1'…)")
    return history


def _entered(history: pd.DataFrame) -> dict[int, tuple[str, ...]]:
    """The features that entered in each round after the first."""
    if "activated" not in history:
        return {}
    entered: dict[int, tuple[str, ...]] = {}
    for number, features in zip(history["round"].tolist(), history["activated"], strict=True):
        if features:
            entered[number] = (*entered.get(number, ()), *features)
    return entered
