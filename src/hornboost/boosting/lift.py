"""LIFT tables: what a partition of the examples into cells says about their classes,
and how it is sampled out (Scholz 2005, section 3).

A table holds a row for each cell and a column for each class.
"""

from __future__ import annotations

import numpy as np

from hornboost import exact
from hornboost.learners.hypotheses import Codes, Floats


def joint_weights(cells: Codes, y: Codes, weights: Floats, n_cells: int, n_classes: int) -> Floats:
    """The weight of each class in each cell.

    Examples
    --------
    >>> joint_weights(np.array([0, 0, 1]), np.array([0, 1, 1]), np.array([0.5, 0.25, 0.25]), 2, 2)
    array([[0.5 , 0.25],
           [0.  , 0.25]])
    """
    table = np.bincount(cells * n_classes + y, weights=weights, minlength=n_cells * n_classes)
    return np.asarray(table.reshape(n_cells, n_classes), dtype=np.float64)


def lift(joint: Floats) -> Floats:
    """LIFT(cell, class) of definition 1, free of the table's scale; 1 in a cell or for a class without any weight.

    Examples
    --------
    >>> lift(np.array([[0.4, 0.1], [0.1, 0.4]]))
    array([[1.6, 0.4],
           [0.4, 1.6]])
    """
    expected = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    return np.asarray(np.divide(joint * joint.sum(), expected, out=np.ones_like(joint), where=expected > 0))


def has_empty(joint: Floats) -> bool:
    """Whether a class that occurs is absent from a cell that occurs; then constraints (1) to (3) cannot all hold."""
    return bool((lift(joint) == 0).any())


def sampling_factors(joint: Floats, lifts: Floats, prior: Floats) -> Floats:
    """What to multiply the weight of an example by, for its cell and class.

    1/LIFT (theorem 1), then each class rescaled to its prior.

    `joint` is the table of the examples that are reweighted; the LIFTs may come from others. An empty cell has factor
    1.
    """
    factors = np.divide(1.0, lifts, out=np.ones_like(lifts), where=lifts > 0)
    totals = (joint * factors).sum(axis=0)
    return np.asarray(factors * np.divide(prior, totals, out=np.ones_like(prior), where=totals > 0))


def log_votes(joint: Floats, pseudo_weight: float) -> Floats:
    """The logarithm of each LIFT, estimated with `pseudo_weight` (relative to the table's sum)
    more in every place of the table.

    A cell that was never seen votes 0, and so do all cells for a class that was never seen. With `pseudo_weight=0` a
    class that is absent from a cell has no say there either (0), so that votes are always finite.

    Examples
    --------
    >>> log_votes(np.array([[0.4, 0.1], [0.1, 0.4], [0.0, 0.0]]), 0.0).round(2)
    array([[ 0.47, -0.92],
           [-0.92,  0.47],
           [ 0.  ,  0.  ]])
    """
    seen = np.ix_(joint.sum(axis=1) > 0, joint.sum(axis=0) > 0)
    votes = np.zeros_like(joint)
    if joint[seen].size:
        lifts = lift(joint[seen] / joint.sum() + pseudo_weight)
        votes[seen] = exact.logs(np.where(lifts > 0, lifts, 1.0))
    return votes


def residual_wracc(joint: Floats) -> float:
    """The largest |WRAcc| of any cell for any class: how far the table is from independence.

    Examples
    --------
    >>> residual_wracc(np.array([[0.25, 0.25], [0.25, 0.25]]))
    0.0
    """
    share = joint / joint.sum()
    return float(np.abs(share - np.outer(share.sum(axis=1), share.sum(axis=0))).max())
