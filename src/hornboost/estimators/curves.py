"""Learning curves of boosters: the area under the recall-precision curve against the clauses evaluated (seed 003, Figures 2 and 4)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hornboost.errors import DataError

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class LearningCurveDisplay:
    """Learning curves to be drawn with matplotlib; `curves` has a row a round: model, round, clauses_evaluated, aurpc.

    >>> import hornboost as hb
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], [0, 1, 0, 1, 0, 1]
    >>> clf = hb.PRankBoostClassifier(rounds=3, random_state=0).fit(X, y, eval_set=(X, y))
    >>> display = LearningCurveDisplay.from_estimators({"clause": clf}, ax=False)
    >>> list(display.curves.columns), display.curves["round"].tolist()
    (['model', 'round', 'clauses_evaluated', 'aurpc'], [1, 2, 3])
    """

    def __init__(self, curves: pd.DataFrame) -> None:
        self.curves = curves

    @classmethod
    def from_estimators(cls, estimators: Mapping[str, Any], *, ax: Axes | bool | None = None, **line: Any) -> LearningCurveDisplay:
        """Draw the curves of fitted or loaded ranking boosters; with `ax=False` only collect them.

        Where an estimator was given an `eval_set` it is the held-out curve, otherwise that of the training examples.
        """
        import pandas as pd

        parts = []
        for name, estimator in estimators.items():
            history = estimator.history_ if hasattr(estimator, "history_") else _kept(estimator)
            if not {"aurpc", "clauses_evaluated"} <= set(history.columns):
                raise DataError(f"the history of '{name}' ({type(estimator).__name__}) has no AURPC; only ranking boosters record it.")
            held_out = "aurpc_held_out" if "aurpc_held_out" in history else "aurpc"
            part = history[["round", "clauses_evaluated", held_out]].rename(columns={held_out: "aurpc"})
            parts.append(part.assign(model=name)[["model", "round", "clauses_evaluated", "aurpc"]])
        display = cls(pd.concat(parts, ignore_index=True))
        return display if ax is False else display.plot(ax=None if ax is None or ax is True else ax, **line)

    def plot(self, ax: Axes | None = None, **line: Any) -> LearningCurveDisplay:
        """Draw the curves and keep `ax_`, `figure_` and `lines_`, as the displays of scikit-learn do."""
        import matplotlib.pyplot as plt

        axes = plt.subplots()[1] if ax is None else ax
        self.lines_ = []
        for name, curve in self.curves.groupby("model", sort=False):
            self.lines_ += axes.plot(curve["clauses_evaluated"], curve["aurpc"], **{"label": name, **line})
        axes.set(xlabel="Clauses evaluated", ylabel="AURPC", ylim=(0.0, 1.02))
        axes.legend(loc="best")
        self.ax_, self.figure_ = axes, axes.figure
        return self


def _kept(model: Any) -> pd.DataFrame:
    """The rounds that a model file keeps."""
    import pandas as pd

    return pd.DataFrame(getattr(model, "training_", {}).get("history", []))
