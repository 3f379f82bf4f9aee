"""The Bernoulli Bayes classifier of mLynx (Di Mauro et al., section 2),
and how well it fits the examples on a subset of the columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hornboost import exact
from hornboost.mining import selection_kernels as kernels


@dataclass(frozen=True, eq=False)
class BernoulliBayes:
    """Class priors and p_ij = Prob(column i is true | class j); `p` has a row a class.

    >>> model = BernoulliBayes.fit([[1, 0], [1, 1], [0, 1], [0, 1]], [0, 0, 1, 1], n_classes=2)
    >>> model.p
    array([[0.75, 0.5 ],
           [0.25, 0.75]])
    """

    log_prior: NDArray[np.float64]
    p: NDArray[np.float64]

    @classmethod
    def fit(
        cls, X: Any, classes: ArrayLike, n_classes: int, weights: ArrayLike | None = None, laplace: float = 1.0
    ) -> BernoulliBayes:
        """Count on a boolean matrix, dense or sparse, with class codes 0 … n_classes - 1.

        `laplace` is added to either outcome.
        """
        labels = np.asarray(classes)
        mass = np.ones(len(labels)) if weights is None else np.asarray(weights, dtype=np.float64)
        by_class = np.bincount(labels, mass, minlength=n_classes).astype(np.float64)
        true_by_class = weight_by_class(X, labels, n_classes, mass).T
        log_prior = exact.logs(by_class / by_class.sum())
        return cls(log_prior, (true_by_class + laplace) / (by_class[:, None] + 2.0 * laplace))


def weight_by_class(X: Any, classes: NDArray[Any], n_classes: int, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each column of a boolean matrix, dense or sparse,
    the weight by class of the rows where it is true, added in row order.

    >>> weight_by_class(np.array([[1, 0], [1, 1]]), np.array([0, 1]), 2, np.array([0.5, 1.0]))
    array([[0.5, 1. ],
           [0. , 1. ]])
    """
    if hasattr(X, "tocsc"):
        rows, column = X.nonzero()
        order = np.lexsort((rows, column))
        rows, column = rows[order], column[order]
    else:
        X = np.asarray(X)
        column, rows = np.nonzero(X.T)
    table = np.bincount(column * n_classes + classes[rows], weights[rows], minlength=X.shape[1] * n_classes)
    return np.asarray(table.reshape(-1, n_classes), dtype=np.float64)


def best_prefix(
    codes: NDArray[Any],
    n_values: NDArray[np.int64],
    classes: NDArray[np.int64],
    n_classes: int,
    weights: NDArray[np.float64],
) -> tuple[int, float, float]:
    """How many of the columns, in their order, Bayes does best with on these examples,
    the weight that it gets wrong, and its log-loss.

    The weight that it gets wrong is err_D(S) of Di Mauro et al., section 3. `codes` holds a column a row; the first is
    not judged alone unless it is the only one. A column of two values is Bernoulli; one of v values has Laplace 1 on
    each of the v.

    >>> codes = np.array([[1, 1, 0, 0], [0, 0, 1, 0], [1, 0, 0, 0]], dtype=np.uint16)
    >>> best_prefix(codes, np.array([2, 2, 2]), np.array([0, 0, 1, 0]), 2, np.ones(4))
    (3, 0.0, 0.76...)
    """
    by_class = np.bincount(classes, weights, minlength=n_classes).astype(np.float64)
    size, error, loss = kernels.best_prefix(codes, np.maximum(n_values, 2), classes, weights, by_class)
    return int(size), float(error), float(loss)
