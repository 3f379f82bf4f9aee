"""The recall-precision curve and the exact area under it (Oliphant, Burnside and Shavlik 2009, section 4)."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hornboost.errors import DataError

__all__ = ["RecallPrecisionCurve", "area_between", "aurpc", "recall_precision_curve"]


class RecallPrecisionCurve(NamedTuple):
    """The points of a recall-precision curve.

    Attributes
    ----------
    recall : array
        Recall, rising from 0.
    precision : array
        The precision there.
    thresholds : array
        The lowest score that is counted as positive; infinite at recall 0.
    """

    recall: NDArray[np.float64]
    precision: NDArray[np.float64]
    thresholds: NDArray[np.float64]


def area_between(tp_a: ArrayLike, fp_a: ArrayLike, tp_b: ArrayLike, fp_b: ArrayLike) -> NDArray[np.float64]:
    """Integrate precision over true positives from A to B, elementwise, with false positives growing linearly.

    Divided by the weight of all positives, the integral is an area under the recall-precision curve. From (0, 0) it is
    the horizontal extension of B to recall 0.

    Parameters
    ----------
    tp_a, fp_a, tp_b, fp_b : float or array
        The weights of true and false positives in A and in B, 0 <= A <= B.

    Returns
    -------
    array
        The integrals.

    Examples
    --------
    >>> float(area_between(0, 0, 3, 1))  # 3 at precision 3/4
    2.25
    >>> area_between([2, 2], [1, 1], [2, 3], [5, 2]).round(6)  # no true positive more, no area
    array([0.      , 0.627706])
    """
    tp_a, fp_a, tp_b, fp_b = (np.asarray(values, np.float64, order="C") for values in (tp_a, fp_a, tp_b, fp_b))
    from hornboost.exact.areas import areas

    points = [tp_a, fp_a, tp_b, fp_b]
    out = np.empty(np.broadcast_shapes(*(values.shape for values in points)))
    if any(values.shape != out.shape and values.size > 1 for values in points):
        points = list(np.broadcast_arrays(*points))
    a_tp, a_fp, b_tp, b_fp = (values.ravel() for values in points)
    areas(a_tp, a_fp, b_tp, b_fp, out.ravel())
    return out


def aurpc(y: ArrayLike, score: ArrayLike, sample_weight: ArrayLike | None = None, *, pos_label: Any = None) -> float:
    """Compute the area under the recall-precision curve, by the closed form of its integral.

    Between two neighbouring scores the curve is the one that random order within ties gives in expectation (false
    positives grow linearly with true positives). It is extended horizontally to recall 0, and ends at recall 1 with
    every example called positive.

    Parameters
    ----------
    y : array
        The classes of the examples.
    score : array
        Their scores; higher ones are more likely to be positive.
    sample_weight : array or None
        Their weights; 1 without them.
    pos_label : object
        The positive class; None for 1 where the classes are among -1, 0 and 1.

    Returns
    -------
    float
        The area.

    Examples
    --------
    >>> aurpc([1, 1, 0, 0], [0.9, 0.8, 0.2, 0.1])
    1.0
    >>> aurpc([1, 0, 0, 0], [0.5, 0.5, 0.5, 0.5])  # all tied: the share of positives
    0.25
    """
    tp, fp, _ = ranked_counts(y, score, sample_weight, pos_label)
    return _area(tp, fp)


def aurpc_and_auroc(y: ArrayLike, score: ArrayLike, sample_weight: ArrayLike | None = None) -> tuple[float, float]:
    """The areas under the recall-precision and the ROC curve, by sorting once; the latter is NaN without negatives.

    Examples
    --------
    >>> np.round(aurpc_and_auroc([1, 0, 1, 0], [0.9, 0.5, 0.5, 0.1]), 6)
    array([0.887327, 0.875   ])
    """
    tp, fp, _ = ranked_counts(y, score, sample_weight, None)
    auroc = (
        float(np.sum(np.diff(fp, prepend=0.0) * (tp + np.r_[0.0, tp[:-1]])) / (2 * tp[-1] * fp[-1]))
        if fp[-1]
        else float("nan")
    )
    return _area(tp, fp), auroc


def _area(tp: NDArray[np.float64], fp: NDArray[np.float64]) -> float:
    areas = area_between(np.r_[0.0, tp[:-1]], np.r_[0.0, fp[:-1]], tp, fp)
    return float(areas.sum() / tp[-1])


def recall_precision_curve(
    y: ArrayLike, score: ArrayLike, sample_weight: ArrayLike | None = None, *, pos_label: Any = None
) -> RecallPrecisionCurve:
    """Compute the points of the recall-precision curve, one for each distinct score.

    The horizontal extension to recall 0 comes first.

    Parameters
    ----------
    y : array
        The classes of the examples.
    score : array
        Their scores; higher ones are more likely to be positive.
    sample_weight : array or None
        Their weights; 1 without them.
    pos_label : object
        The positive class; None for 1 where the classes are among -1, 0 and 1.

    Returns
    -------
    RecallPrecisionCurve
        Recall, precision and thresholds.

    Examples
    --------
    >>> curve = recall_precision_curve([1, 0, 1], [0.9, 0.5, 0.1])
    >>> curve.recall, curve.precision.round(2), curve.thresholds
    (array([0. , 0.5, 0.5, 1. ]), array([1.  , 1.  , 0.5 , 0.67]), array([inf, 0.9, 0.5, 0.1]))
    """
    tp, fp, thresholds = ranked_counts(y, score, sample_weight, pos_label)
    precision = tp / (tp + fp)
    return RecallPrecisionCurve(np.r_[0.0, tp / tp[-1]], np.r_[precision[0], precision], np.r_[np.inf, thresholds])


def ranked_counts(
    y: ArrayLike, score: ArrayLike, sample_weight: ArrayLike | None, pos_label: Any
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Weight of true and of false positives down to each distinct score, best first, and these scores."""
    labels, scores = np.asarray(y), np.asarray(score, dtype=np.float64)
    if labels.ndim != 1 or scores.shape != labels.shape:
        raise DataError(
            "'y' and 'score' must be of one dimension and equally long. "
            f"Got shapes {labels.shape} and {scores.shape} instead."
        )
    if np.isnan(scores).any():
        raise DataError("'score' holds NaN, which has no place in a ranking; drop these examples or give them a score.")
    weights = np.ones(len(labels)) if sample_weight is None else np.asarray(sample_weight, dtype=np.float64)
    if weights.shape != labels.shape or not (weights >= 0).all():
        raise DataError("'sample_weight' must hold one number of at least 0 for each example.")
    counted = weights > 0
    labels, scores, weights = labels[counted], scores[counted], weights[counted]
    is_positive = labels == _positive_label(labels, pos_label)
    if not is_positive.any():
        raise DataError("there is no positive example in 'y', so recall is not defined.")
    order = np.argsort(-scores, kind="stable")
    ends = np.flatnonzero(np.r_[scores[order][1:] != scores[order][:-1], True])
    tp = np.cumsum(np.where(is_positive, weights, 0.0)[order])[ends]
    fp = np.cumsum(np.where(is_positive, 0.0, weights)[order])[ends]
    return tp, fp, scores[order][ends]


def _positive_label(labels: NDArray[Any], pos_label: Any) -> Any:
    values = np.unique(labels)
    if len(values) > 2:
        raise DataError(f"'y' must hold two classes. Got {len(values)} instead; score one class against the rest.")
    if pos_label is not None:
        return pos_label
    if labels.dtype.kind in "biuf" and set(values.tolist()) <= {-1, 0, 1}:
        return 1
    raise DataError(f"'y' holds the classes {values.tolist()}; say by 'pos_label' which of them is the positive one.")


def interpolated(
    tp: NDArray[np.float64], fp: NDArray[np.float64], step: float = 0.005
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Recall and precision along the curve, with further points between
    vertices that are more than `step` apart in recall.
    """
    tp, fp = np.r_[0.0, tp], np.r_[0.0, fp]
    pieces = np.maximum(1, np.ceil(np.diff(tp) / (step * tp[-1]))).astype(np.int64)
    segment = np.repeat(np.arange(len(pieces)), pieces)
    first = np.cumsum(pieces) - pieces
    share = (np.arange(len(segment)) - first[segment] + 1) / pieces[segment]
    true = tp[segment] + share * np.diff(tp)[segment]
    false = fp[segment] + share * np.diff(fp)[segment]
    precision = true / (true + false)
    return np.r_[0.0, true / tp[-1]], np.r_[precision[0], precision]
