"""The scikit-learn classifier for knowledge-based sampling."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self
from typing import Literal as Choice

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval, StrOptions

from hornboost.boosting.base_learners import ClassifierLearner, Hypothesis, KnownCells, Rows, WeakLearner
from hornboost.boosting.clauses import ClauseCells, ClauseLearner
from hornboost.boosting.kbs import KBS, KBSModel, KBSOptions, Validation
from hornboost.boosting.lift import Codes, Floats, joint_weights
from hornboost.data import Database
from hornboost.engine import Engine
from hornboost.engine.sampling import example_hash
from hornboost.errors import DataError, did_you_mean
from hornboost.estimators.clause_ensemble import Voter, rule_ensemble
from hornboost.estimators.ensemble import EnsembleClassifier, Training, classifier_by_name, sample_size, take
from hornboost.estimators.interrupts import ends_early, keep
from hornboost.estimators.relational import RelationalClassifier, class_text
from hornboost.logic.clause import Clause
from hornboost.search.problem import Problem

if TYPE_CHECKING:
    import pandas as pd


class KBSClassifier(EnsembleClassifier):
    """Boosting by knowledge-based sampling (Scholz 2005): what a hypothesis says about the classes is sampled out before the next round.

    Any number of classes; probabilities are Pr(y) times the product of all LIFTs. Frames may hold nominal columns: scikit-learn's base
    learners then see a 0/1 column for each value. With `base="clause"` the model is a set of rules, each voting log LIFT for every
    class, where it covers an example and where it does not; it can be explained, saved and written as SQL.

    An integer sample weight is the same as a repetition for clauses and stumps. It is not for a base learner that counts rows: the pruned
    "tree" does (two rows in each leaf), and so do rejection samples and `bootstrap`, which choose rows one by one.

    Parameters
    ----------
    base : "stump" is a decision stump, "tree" a decision tree pruned as C4.5 does, "clause" a first-order clause; or any scikit-learn
        classifier. One whose `fit` takes no `sample_weight` is trained on rejection samples. None is "clause" when there is a database,
        otherwise "stump".
    rounds : at most so many hypotheses. The paper takes 10 with trees; stumps and clauses say less and need about 30.
    cells : "leaf" partitions the examples by the leaves of a tree, "class" by the predicted class (other base learners always do).
    stratify : give all classes equal weight while learning, so that base learners optimise WRAcc; priors are put back when predicting.
    bootstrap : train each round on this share of the examples and estimate the LIFTs on the others.
    prior_knowledge : clauses (as text or objects), fitted classifiers, or functions of X that give a value for each row; sampled out
        before round 1, and they vote.
    smoothing : votes are estimated with so many examples more in each cell for each class.
    patience : stop when the log-loss on held-out examples has not fallen for so many rounds, and keep the rounds up to its minimum.
        None learns all rounds; `staged_predict_proba` then shows what fewer would have given.
    validation_fraction : the share of the examples that is held out when `patience` is given.
    database : the tables behind the examples, or None when the rows of X are all there is.
    max_literals, max_depth : refinements of a clause at most, and joins between the example and a row that it may look at.
    max_entries : largest number of rows that a join may reach; joins over it are left out.
    n_jobs : threads for the search of clauses; the model does not depend on it.
    random_state : seed of the base learners and of all choices of examples.

    Attributes
    ----------
    classes_, n_features_in_, feature_names_in_ : as in scikit-learn.
    n_rounds_ : rounds kept, prior knowledge not counted.
    history_ : a frame with a row for each hypothesis; `empty_cell` flags rounds in which a class is absent from a cell.
    stopped_ : why the boosting ended.
    rules_, ensemble_ : the rules, with `base="clause"`; `rules_frame()` tells prior knowledge apart by its `origin`.

    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> KBSClassifier(random_state=0).fit(X, y).score(X, y) > 0.95
    True
    >>> known = ['class="2" :- examples(x3>=1.8).']
    >>> rules = KBSClassifier("clause", rounds=2, max_literals=1, prior_knowledge=known).fit(X, y).rules_frame()
    >>> rules["origin"].tolist()
    ['prior', 'learned', 'learned']
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **EnsembleClassifier._parameter_constraints,
        "cells": [StrOptions({"leaf", "class"})],
        "stratify": ["boolean"],
        "bootstrap": [Interval(Real, 0, 1, closed="neither"), None],
        "prior_knowledge": ["array-like"],
        "smoothing": [Interval(Real, 0, None, closed="left")],
        "patience": [Interval(Integral, 1, None, closed="left"), None],
        "validation_fraction": [Interval(Real, 0, 1, closed="neither")],
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
        database: Database | None = None,
        max_literals: int = 4,
        max_depth: int = 2,
        max_entries: int = 50_000_000,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        super().__init__(
            base,
            rounds,
            database=database,
            max_literals=max_literals,
            max_depth=max_depth,
            max_entries=max_entries,
            n_jobs=n_jobs,
            random_state=random_state,
        )
        self.cells = cells
        self.stratify = stratify
        self.bootstrap = bootstrap
        self.prior_knowledge = prior_knowledge
        self.smoothing = smoothing
        self.patience = patience
        self.validation_fraction = validation_fraction

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    @ends_early
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from examples; a weight of 0 leaves an example out."""
        training = self._training(X, y, sample_weight)
        self.__dict__.pop("_beside_knowledge", None)
        seed = self._seed()
        validation = None
        if self.patience is not None:
            training, validation = self._split(training, self.patience, seed)
        rows, codes, weights, content, problem = training
        options = KBSOptions(
            n_classes=len(self.classes_),
            n_examples=sample_size(weights),
            rounds=self.rounds,
            stratify=self.stratify,
            bootstrap=self.bootstrap,
            smoothing=self.smoothing,
            seed=seed,
        )
        learner: WeakLearner
        if problem is not None:
            learner = ClauseLearner(problem, self.max_literals)
        else:
            learner = ClassifierLearner(
                self._base_learner(),
                len(self.classes_),
                leaves=self.cells == "leaf",
                pruned=isinstance(self.base, str) and self.base == "tree",
                seed=seed,
                multiplicity=weights,
                content=content,
            )
        known = [self._known(item, rows) for item in self.prior_knowledge]
        self._model: KBSModel = KBS(rows, codes, weights, content, options).boost(learner, known, validation)
        self.n_rounds_ = sum(not voter.is_prior_knowledge for voter in self._model.rounds)
        self.stopped_ = keep(self._model.stopped, self.n_rounds_)
        if problem is not None:
            self._set_rules(problem, rows)
            self.refused_ = dict(problem.engine.refused)
        return self

    def _set_rules(self, problem: Problem, rows: Rows) -> None:
        """The model as rules. Knowledge that is no clause keeps it from being an `ensemble_`, but is shown by `rules_frame()`."""
        voters = [Voter(voter.hypothesis, voter.votes, "prior" if voter.is_prior_knowledge else "learned") for voter in self._model.rounds]
        clauses = [voter for voter in voters if not isinstance(voter.hypothesis, KnownCells)]
        ensemble = rule_ensemble(problem, clauses, self._model.log_prior.tolist())
        if len(clauses) == len(voters):
            self.ensemble_ = ensemble
            return
        codes = problem.classes.astype(np.intp)
        knowledge: list[tuple[str, Floats, Floats]] = []
        for known, votes, _ in voters:
            if isinstance(known, KnownCells):
                counts = joint_weights(known.cells(rows), codes, problem.weights, *votes.shape)
                knowledge += [(f"{known.name} gives {value}", votes[cell], counts[cell]) for cell, value in enumerate(known.seen.tolist())]
        self._beside_knowledge = ensemble, knowledge

    def rules_frame(self) -> pd.DataFrame:
        """The rules as a table: text, confidence, coverage by class, precision, number of literals, origin.

        Prior knowledge has the origin "prior". Where it is a classifier or a function, there is a row for each value that it gave.
        """
        if "_beside_knowledge" not in self.__dict__:
            self._check_rules()
            return super().rules_frame()
        import pandas as pd

        ensemble, knowledge = self._beside_knowledge
        alone = copy(self)
        alone.ensemble_ = ensemble
        rules = RelationalClassifier.rules_frame(alone)
        rows = [
            {
                "rule": text,
                "confidence": float(votes.max()),
                **{f"covered {name}": float(weight) for name, weight in zip(ensemble.classes, count, strict=True)},
                "precision": float(count[votes.argmax()] / count.sum()),
                "literals": 1,
                "origin": "prior",
            }
            for text, votes, count in knowledge
        ]
        return pd.concat([pd.DataFrame(rows, columns=rules.columns), rules], ignore_index=True)

    @property
    def history_(self) -> pd.DataFrame:
        """A row for each hypothesis, prior knowledge first; `rule` is the text of a clause."""
        import pandas as pd

        rounds = self._model.rounds
        frame = pd.DataFrame(
            {
                "round": np.cumsum([not voter.is_prior_knowledge for voter in rounds], dtype=np.intp),
                "prior_knowledge": [voter.is_prior_knowledge for voter in rounds],
                "rule": [str(voter.hypothesis.clause) if isinstance(voter.hypothesis, ClauseCells) else None for voter in rounds],
                "cells": [voter.hypothesis.n_cells for voter in rounds],
                "largest_vote": [float(np.abs(voter.votes).max()) for voter in rounds],
                "empty_cell": [voter.has_empty_cell for voter in rounds],
                "validation_log_loss": [voter.validation_loss for voter in rounds],
                "seconds": [voter.seconds for voter in rounds],
            }
        )
        return frame if self._learns_clauses else frame.drop(columns="rule")

    def _base_learner(self) -> Any:
        return classifier_by_name(self.base)

    def _split(self, training: Training, patience: int, seed: int) -> tuple[Training, Validation]:
        """The examples that are learned from, and those that are held out for early stopping."""
        rows, codes, weights, content, problem = training
        held_out = _held_out(codes, weights, self.validation_fraction, seed, content)
        validation = Validation(take(rows, np.flatnonzero(held_out)), codes[held_out], weights[held_out], patience)
        kept = np.flatnonzero(~held_out)
        rows = take(rows, kept)
        if problem is not None:
            assert rows.encoded is not None
            problem = replace(
                problem,
                examples=rows.encoded,
                classes=problem.classes[kept],
                weights=problem.weights[kept],
                content=problem.content[kept],
                engine=Engine(problem.database, rows.encoded, **self._engine_options()),
            )
        return Training(rows, codes[kept], weights[kept], content[kept], problem), validation

    def _known(self, item: Any, rows: Rows) -> Hypothesis:
        """One piece of prior knowledge as a hypothesis."""
        if isinstance(item, str | Clause):
            assert rows.database is not None
            return ClauseCells(_known_clause(item, rows.database, [class_text(value) for value in self.classes_]))
        if hasattr(item, "predict"):
            return KnownCells(item.predict, rows, type(item).__name__)
        if callable(item):
            return KnownCells(item, rows, getattr(item, "__name__", type(item).__name__))
        raise DataError(f"prior knowledge must be a clause, a fitted classifier or a function of X. Got {type(item).__name__} instead.")


def _known_clause(item: str | Clause, database: Database, labels: Sequence[str]) -> Clause:
    clause = (Clause.parse(item) if isinstance(item, str) else item).rooted(database.target.table)
    if clause.head.value not in labels:
        raise DataError(f"the clause '{clause}' predicts a class that 'y' does not hold{did_you_mean(clause.head.value, labels)}")
    return clause.with_head(database.target.label or "class", clause.head.value)


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
