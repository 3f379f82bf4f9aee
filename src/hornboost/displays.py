"""Displays in the style of scikit-learn, drawn with matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from hornboost.errors import DataError
from hornboost.metrics import aurpc, interpolated, ranked_counts
from hornboost.model.tuning import LOSSES

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class MarginDisplay:
    """The mean margin of the training examples by round, with the rounds in which features entered.

    Examples
    --------
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
        """Draw the margins of a fitted estimator.

        Parameters
        ----------
        estimator : estimator
            A fitted `C2RIBClassifier`.
        ax : matplotlib Axes, False or None
            Where to draw; None for new axes, False to draw nothing.
        **line
            Passed to matplotlib.
        """
        history = _history(estimator, "mean_margin")
        margins = {str(value): part["mean_margin"].tolist() for value, part in history.groupby("class", sort=False)}
        display = cls(margins, _entered(history))
        return display if ax is False else display.plot(ax=None if ax is None or ax is True else ax, **line)

    def plot(self, ax: Axes | None = None, **line: Any) -> MarginDisplay:
        """Draw the curves and keep `ax_`, `figure_` and `lines_`, as the displays of scikit-learn do."""
        plt = _pyplot()

        axes = plt.subplots()[1] if ax is None else ax
        self.lines_: list[Any] = []
        for name, values in self.margins.items():
            self.lines_ += axes.plot(range(1, len(values) + 1), values, **{"label": f"class {name}", **line})
        for at, features in self.entered.items():
            axes.axvline(at, color="0.6", linestyle=":", linewidth=1)
            axes.annotate(
                ", ".join(features),
                (at, 1),
                xycoords=("data", "axes fraction"),
                rotation=90,
                va="top",
                ha="right",
                fontsize="small",
            )
        axes.set(xlabel="Round", ylabel="Mean margin")
        if len(self.margins) > 1:
            axes.legend(loc="best")
        self.ax_, self.figure_ = axes, axes.figure
        return self


class FeatureTimelineDisplay:
    """The features that the learner could see in each round, in the order in which they entered.

    Examples
    --------
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
        """Draw the features of a fitted C²RIB^D; of several classes, those of the first.

        Parameters
        ----------
        estimator : estimator
            A `C2RIBClassifier` that was fitted with `features="margin"` or one of the strategies.
        ax : matplotlib Axes, False or None
            Where to draw; None for new axes, False to draw nothing.
        **bar
            Passed to matplotlib.
        """
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
        plt = _pyplot()

        axes = plt.subplots()[1] if ax is None else ax
        self.bars_ = [
            axes.broken_barh([(start - 0.5, stop - start + 1) for start, stop in spans], (row - 0.35, 0.7), **bar)
            for row, spans in enumerate(self.spans.values())
        ]
        axes.set(
            xlabel="Round", xlim=(0.5, self.rounds + 0.5), yticks=range(len(self.spans)), yticklabels=list(self.spans)
        )
        axes.invert_yaxis()
        self.ax_, self.figure_ = axes, axes.figure
        return self


def _history(estimator: Any, column: str) -> pd.DataFrame:
    name = type(estimator).__name__
    if not hasattr(estimator, "history_"):
        raise DataError(f"this {name} has no history_; fit it first (a model from a file keeps none)")
    history: pd.DataFrame = estimator.history_
    if column not in history:
        raise DataError(
            f"the history of {name} has no '{column}'; C2RIBClassifier records it (features with "
            "features='margin' or 'V1'…)"
        )
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


class RecallPrecisionDisplay:
    """A recall-precision curve, curved between its points as `aurpc` integrates it.

    Examples
    --------
    >>> display = RecallPrecisionDisplay.from_predictions([1, 0, 1], [0.9, 0.5, 0.1], ax=False)
    >>> round(display.aurpc, 4)
    0.7973
    """

    def __init__(
        self, recall: ArrayLike, precision: ArrayLike, *, aurpc: float, name: str | None = None, prevalence: float
    ) -> None:
        self.recall = np.asarray(recall, dtype=np.float64)
        self.precision = np.asarray(precision, dtype=np.float64)
        self.aurpc = aurpc
        self.name = name
        self.prevalence = prevalence

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = None,
        name: str | None = None,
        ax: Axes | bool | None = None,
        **line: Any,
    ) -> RecallPrecisionDisplay:
        """Draw the curve of a fitted two-class classifier.

        Examples are ranked by its `decision_function`, or else by its probability of the positive class.

        Parameters
        ----------
        estimator : estimator
            The classifier.
        X : data frame or array
            The examples.
        y : array
            Their classes.
        sample_weight : array or None
            Their weights.
        pos_label : object
            The positive class; None for the one that a classifier of HornBoost states, or else the second.
        name : str or None
            The name in the legend; None for that of the estimator's class.
        ax : matplotlib Axes, False or None
            Where to draw; None for new axes, False to draw nothing.
        **line
            Passed to matplotlib.
        """
        classes = list(estimator.classes_)
        if len(classes) != 2:
            raise DataError(
                "a recall-precision curve needs a two-class model. "
                f"{type(estimator).__name__} has {len(classes)} classes."
            )
        positive = getattr(estimator, "positive_", classes[1]) if pos_label is None else pos_label
        column = classes.index(positive)
        if hasattr(estimator, "decision_function"):
            score = estimator.decision_function(X) * (1.0 if column == 1 else -1.0)
        else:
            score = estimator.predict_proba(X)[:, column]
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(y, score, sample_weight=sample_weight, pos_label=positive, name=name, ax=ax, **line)

    @classmethod
    def from_predictions(
        cls,
        y: ArrayLike,
        score: ArrayLike,
        *,
        sample_weight: ArrayLike | None = None,
        pos_label: Any = None,
        name: str | None = None,
        ax: Axes | bool | None = None,
        **line: Any,
    ) -> RecallPrecisionDisplay:
        """Draw the curve of scores.

        Parameters
        ----------
        y : array
            The classes of the examples.
        score : array
            Their scores; higher ones are more likely to be positive.
        sample_weight : array or None
            Their weights.
        pos_label : object
            The positive class; None for 1 where the classes are among -1, 0 and 1.
        name : str or None
            The name in the legend.
        ax : matplotlib Axes, False or None
            Where to draw; None for new axes, False to draw nothing.
        **line
            Passed to matplotlib.
        """
        tp, fp, _ = ranked_counts(y, score, sample_weight, pos_label)
        recall, precision = interpolated(tp, fp)
        area = aurpc(y, score, sample_weight, pos_label=pos_label)
        display = cls(recall, precision, aurpc=area, name=name, prevalence=float(tp[-1] / (tp[-1] + fp[-1])))
        return display if ax is False else display.plot(ax=None if ax is None or ax is True else ax, **line)

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, plot_chance_level: bool = False, **line: Any
    ) -> RecallPrecisionDisplay:
        """Draw the curve and keep `ax_`, `figure_` and `line_`, as the displays of scikit-learn do."""
        plt = _pyplot()

        axes = plt.subplots()[1] if ax is None else ax
        name = self.name if name is None else name
        label = f"AURPC = {self.aurpc:.3f}" if name is None else f"{name} (AURPC = {self.aurpc:.3f})"
        self.line_ = axes.plot(self.recall, self.precision, **{"label": label, **line})[0]
        if plot_chance_level:
            axes.axhline(
                self.prevalence, color="k", linestyle="--", label=f"Chance level (AURPC = {self.prevalence:.3f})"
            )
        axes.set(xlabel="Recall", ylabel="Precision", xlim=(-0.01, 1.01), ylim=(-0.01, 1.01), aspect="equal")
        axes.legend(loc="best")
        self.ax_, self.figure_ = axes, axes.figure
        return self


class LearningCurveDisplay:
    """Learning curves of ranking boosters: the recall-precision area by clauses evaluated.

    Attributes
    ----------
    curves : DataFrame
        A row per round: model, round, clauses_evaluated, aurpc.

    Examples
    --------
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
    def from_estimators(
        cls, estimators: Mapping[str, Any], *, ax: Axes | bool | None = None, **line: Any
    ) -> LearningCurveDisplay:
        """Draw the curves of fitted or loaded ranking boosters.

        An estimator that was given an `eval_set` has the curve of those examples, others that of the training examples.

        Parameters
        ----------
        estimators : dict
            The boosters by their names in the legend.
        ax : matplotlib Axes, False or None
            Where to draw; None for new axes, False to draw nothing.
        **line
            Passed to matplotlib.
        """
        import pandas as pd

        parts = []
        for name, estimator in estimators.items():
            history = estimator.history_ if hasattr(estimator, "history_") else _kept(estimator)
            if not {"aurpc", "clauses_evaluated"} <= set(history.columns):
                raise DataError(
                    f"the history of '{name}' ({type(estimator).__name__}) has no AURPC; "
                    "only ranking boosters record it."
                )
            held_out = "aurpc_held_out" if "aurpc_held_out" in history else "aurpc"
            part = history[["round", "clauses_evaluated", held_out]].rename(columns={held_out: "aurpc"})
            parts.append(part.assign(model=name)[["model", "round", "clauses_evaluated", "aurpc"]])
        display = cls(pd.concat(parts, ignore_index=True))
        return display if ax is False else display.plot(ax=None if ax is None or ax is True else ax, **line)

    def plot(self, ax: Axes | None = None, **line: Any) -> LearningCurveDisplay:
        """Draw the curves and keep `ax_`, `figure_` and `lines_`, as the displays of scikit-learn do."""
        plt = _pyplot()

        axes = plt.subplots()[1] if ax is None else ax
        self.lines_: list[Any] = []
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


class PathDisplay:
    """How good a model is with how many rules: the loss on training and on held-out examples by number of rules.

    A number of rules is drawn with the loss after the last round in which there were so many.

    Attributes
    ----------
    path : DataFrame
        A row a number of rules: round, rules, conditions, training_loss, held_out_loss.

    Examples
    --------
    >>> import hornboost as hb
    >>> db = hb.datasets.trains(100, seed=1).database()
    >>> clf = hb.HornBoostClassifier(db, max_rules=4, random_state=0).fit(*db.examples())
    >>> display = PathDisplay.from_estimator(clf, ax=False)
    >>> display.loss, int(display.path["rules"].iloc[-1]) == len(clf.rules_)
    ('log-loss', True)
    """

    def __init__(self, path: pd.DataFrame, *, loss: str = "loss") -> None:
        self.path = path
        self.loss = loss

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | bool | None = None, **line: Any) -> PathDisplay:
        """Draw the path of a fitted or loaded model.

        Parameters
        ----------
        estimator : estimator
            A fitted `HornBoostClassifier` or `HornBoostRegressor`, or such a model from a file.
        ax : matplotlib Axes, False or None
            Where to draw; None for new axes, False to draw nothing.
        **line
            Passed to matplotlib.
        """
        path = getattr(estimator, "path_", None)
        if path is None:
            raise DataError(
                f"this {type(estimator).__name__} has no path_; fit a HornBoostClassifier or a HornBoostRegressor first"
            )
        last = path.drop_duplicates("rules", keep="last").reset_index(drop=True)
        display = cls(last, loss=LOSSES.get(path.attrs.get("loss", ""), "loss"))
        return display if ax is False else display.plot(ax=None if ax is None or ax is True else ax, **line)

    def plot(self, ax: Axes | None = None, **line: Any) -> PathDisplay:
        """Draw the curves and keep `ax_`, `figure_` and `lines_`, as the displays of scikit-learn do."""
        plt = _pyplot()

        axes = plt.subplots()[1] if ax is None else ax
        self.lines_: list[Any] = []
        kinds = [("training_loss", "training examples", "--"), ("held_out_loss", "held-out examples", "-")]
        for column, label, style in kinds:
            if self.path[column].notna().any():
                shown = {"label": label, "linestyle": style, "marker": ".", **line}
                self.lines_ += axes.plot(self.path["rules"], self.path[column], **shown)
        axes.set(xlabel="Rules", ylabel=self.loss[0].upper() + self.loss[1:])
        axes.legend(loc="best")
        self.ax_, self.figure_ = axes, axes.figure
        return self


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ModuleNotFoundError:
        raise DataError("plots need the package matplotlib; install it with: pip install 'hornboost[plots]'") from None
    return plt
