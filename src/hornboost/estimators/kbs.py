"""The scikit-learn classifier for knowledge-based sampling."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self
from typing import Literal as Choice

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions

from hornboost.boosting.base_learners import ClassifierLearner, KnownCells, Rows
from hornboost.boosting.kbs import KBS, KBSModel, KBSOptions, Validation, probabilities
from hornboost.boosting.lift import Codes, Floats
from hornboost.engine.sampling import example_hash
from hornboost.errors import DataError
from hornboost.estimators.ensemble import EnsembleClassifier, classifier_by_name, example_content, first_best, sample_size, take

if TYPE_CHECKING:
    import pandas as pd


class KBSClassifier(EnsembleClassifier):
    """Boosting by knowledge-based sampling (Scholz 2005): what a hypothesis says about the classes is sampled out before the next round.

    Any number of classes; probabilities are Pr(y) times the product of all LIFTs. Frames may hold nominal columns: base learners then see a
    0/1 column for each value.

    Parameters
    ----------
    base : None or "stump" is a decision stump, "tree" a decision tree pruned as C4.5 does; or any scikit-learn classifier. One whose
        `fit` takes no `sample_weight` is trained on rejection samples.
    rounds : at most so many hypotheses.
    cells : "leaf" partitions the examples by the leaves of a tree, "class" by the predicted class (other base learners always do).
    stratify : give all classes equal weight while learning, so that base learners optimise WRAcc; priors are put back when predicting.
    bootstrap : train each round on this share of the examples and estimate the LIFTs on the others.
    prior_knowledge : fitted classifiers, or functions of X that give a value for each row; sampled out before round 1, and they vote.
    smoothing : votes are estimated with so many examples more in each cell for each class.
    patience : stop when the log-loss on held-out examples has not fallen for so many rounds, and keep the rounds up to its minimum.
    validation_fraction : the share of the examples that is held out when `patience` is given.
    random_state : seed of the base learners and of all choices of examples.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn.
    n_rounds_ : rounds kept, prior knowledge not counted.
    history_ : a frame with a row for each hypothesis; `empty_cell` flags rounds in which a class is absent from a cell.
    stopped_ : why the boosting ended.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> KBSClassifier(random_state=0).fit(X, y).score(X, y) > 0.95
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "base": [StrOptions({"stump", "tree"}), HasMethods(["fit", "predict"]), None],
        "rounds": [Interval(Integral, 1, None, closed="left")],
        "cells": [StrOptions({"leaf", "class"})],
        "stratify": ["boolean"],
        "bootstrap": [Interval(Real, 0, 1, closed="neither"), None],
        "prior_knowledge": ["array-like"],
        "smoothing": [Interval(Real, 0, None, closed="left")],
        "patience": [Interval(Integral, 1, None, closed="left"), None],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
        "random_state": ["random_state"],
    }

    def __init__(
        self,
        base: Any = None,
        rounds: int = 30,
        *,
        cells: Choice["leaf", "class"] = "leaf",
        stratify: bool = False,
        bootstrap: float | None = None,
        prior_knowledge: Sequence[Any] = (),
        smoothing: float = 0.5,
        patience: int | None = None,
        validation_fraction: float = 0.2,
        random_state: Any = None,
    ) -> None:
        self.base = base
        self.rounds = rounds
        self.cells = cells
        self.stratify = stratify
        self.bootstrap = bootstrap
        self.prior_knowledge = prior_knowledge
        self.smoothing = smoothing
        self.patience = patience
        self.validation_fraction = validation_fraction
        self.random_state = random_state

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from examples; a weight of 0 leaves an example out."""
        rows, codes, weights = self._training_rows(X, y, sample_weight)
        seed = self._seed()
        content = example_content(rows, codes)
        validation = None
        if self.patience is not None:
            held_out = _held_out(codes, weights, self.validation_fraction, seed, content)
            validation = Validation(take(rows, np.flatnonzero(held_out)), codes[held_out], weights[held_out], self.patience)
            kept = np.flatnonzero(~held_out)
            rows, codes, weights, content = take(rows, kept), codes[kept], weights[kept], content[kept]
        options = KBSOptions(
            n_classes=len(self.classes_),
            n_examples=sample_size(weights),
            rounds=self.rounds,
            stratify=self.stratify,
            bootstrap=self.bootstrap,
            smoothing=self.smoothing,
            seed=seed,
        )
        base = self._base_learner()
        learner = ClassifierLearner(
            base,
            len(self.classes_),
            leaves=self.cells == "leaf",
            pruned=isinstance(self.base, str) and self.base == "tree",
            seed=seed,
            multiplicity=weights,
            content=content,
        )
        known = [_known_cells(item, rows) for item in self.prior_knowledge]
        self._model: KBSModel = KBS(rows, codes, weights, content, options).boost(learner, known, validation)
        self.n_rounds_ = len(self._model.rounds) - len(known)
        self.stopped_ = self._model.stopped
        return self

    def predict_proba(self, X: Any) -> Floats:
        """Pr(y|x) by equation (5), a column for each class of `classes_`."""
        return probabilities(self._model_scores(X))

    def decision_function(self, X: Any) -> Floats:
        """The log-odds of the second class for two classes, otherwise the logarithm of each class's share, up to a constant."""
        scores = self._model_scores(X)
        return scores[:, 1] - scores[:, 0] if scores.shape[1] == 2 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable class."""
        codes = first_best(self._model_scores(X))
        return np.asarray(self.classes_[codes])

    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """`predict_proba` after each round (with prior knowledge: first after that alone)."""
        rows = self._rows(X)
        for scores in self._model.staged_scores(rows):
            yield probabilities(scores)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """`predict` after each round."""
        for probability in self.staged_predict_proba(X):
            yield self.classes_[first_best(probability)]

    @property
    def history_(self) -> pd.DataFrame:
        """A row for each hypothesis, prior knowledge first."""
        import pandas as pd

        return pd.DataFrame(
            {
                "round": np.arange(len(self._model.rounds)) - (len(self._model.rounds) - self.n_rounds_) + 1,
                "prior_knowledge": [voter.is_prior_knowledge for voter in self._model.rounds],
                "cells": [voter.hypothesis.n_cells for voter in self._model.rounds],
                "largest_vote": [float(np.abs(voter.votes).max()) for voter in self._model.rounds],
                "empty_cell": [voter.has_empty_cell for voter in self._model.rounds],
                "validation_log_loss": [voter.validation_loss for voter in self._model.rounds],
                "seconds": [voter.seconds for voter in self._model.rounds],
            }
        )

    def _base_learner(self) -> Any:
        return classifier_by_name(self.base)

    def _model_scores(self, X: Any) -> Floats:
        rows = self._rows(X)
        return self._model.scores(rows)


def _known_cells(item: Any, rows: Rows) -> KnownCells:
    if hasattr(item, "predict"):
        return KnownCells(item.predict, rows)
    if callable(item):
        return KnownCells(item, rows)
    raise DataError(f"prior knowledge must be a fitted classifier or a function of X. Got {type(item).__name__} instead.")


def _held_out(y: Codes, weights: Floats, share: float, seed: int, content: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """In each class the examples that come first by hash, up to this share of the weight; one of each class at least stays in."""
    order = np.lexsort((example_hash(seed, 0, content), y))
    before = np.cumsum(weights[order]) - weights[order]
    starts = np.searchsorted(y[order], np.arange(y.max() + 1))
    class_weight = np.bincount(y, weights=weights)
    within = before - before[starts][y[order]]
    held_out = np.zeros(len(y), dtype=np.bool_)
    held_out[order] = within + weights[order] <= share * class_weight[y[order]]
    if not held_out.any():
        raise DataError(
            f"there are too few examples to hold some out, n_samples={len(y)}; set patience=None or a larger validation_fraction."
        )
    return held_out
