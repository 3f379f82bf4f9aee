"""KBS: boosting by knowledge-based sampling (Scholz 2005, figure 3), for any number of classes."""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple
from typing import Literal as Choice

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from hornboost import exact
from hornboost.boosting.knowledge import known_hypothesis, knows_clauses
from hornboost.boosting.lift import has_empty, joint_weights, lift, log_votes, residual_wracc, sampling_factors
from hornboost.data import Database
from hornboost.engine.sampling import example_hash, uniform
from hornboost.estimators.base_learner import BaseLearnerBooster
from hornboost.estimators.classifier import RelationalClassifier
from hornboost.estimators.examples import Training
from hornboost.estimators.run import Loop, Run
from hornboost.learners.hypotheses import ClauseCells, Codes, Floats, Hypothesis, KnownCells, WeakLearner
from hornboost.model.influence import in_order
from hornboost.model.votes import Origin, Round, Vote, Votes

if TYPE_CHECKING:
    import pandas as pd

_NO_LIFT = 1e-6
_NO_WRACC = 1e-9
_MAX_CYCLES = 1000


@dataclass(eq=False, repr=False, kw_only=True)
class KBSClassifier(BaseLearnerBooster):
    """Boosting by knowledge-based sampling (Scholz 2005): what a hypothesis says is sampled out before the next round.

    Any number of classes; probabilities are Pr(y) times the product of all LIFTs. Frames may hold nominal columns: base
    learners of scikit-learn then see a 0/1 column for each value. With `base="clause"` the model is a set of rules,
    each voting log LIFT for every class, where it covers an example and where it does not; it can be explained, saved
    and written as SQL.

    An integer sample weight is the same as a repetition for clauses and stumps. It is not for a base learner that
    counts rows: the pruned "tree" does (two rows in each leaf), and so do rejection samples and `bootstrap`, which
    choose rows one by one.

    Parameters
    ----------
    base : {"clause", "stump", "tree"}, classifier or None
        What is boosted: "stump" is a decision stump, "tree" a decision tree pruned as C4.5 does, "clause" a first-order
        clause; or any classifier of scikit-learn. One whose `fit` takes no `sample_weight` is trained on rejection
        samples. None is "clause" when there is a database, otherwise "stump".
    rounds : int
        At most so many hypotheses. The paper takes 10 with trees; stumps and clauses say less and need about 30.
    cells : {"leaf", "class"}
        "leaf" partitions the examples by the leaves of a tree, "class" by the predicted class (other base learners
        always do).
    stratify : bool
        Give all classes equal weight while learning, so that base learners optimise WRAcc; priors are put back when
        predicting.
    bootstrap : float or None
        Train each round on this share of the examples and estimate the LIFTs on the others.
    prior_knowledge : sequence
        Clauses (as text or objects), fitted classifiers, or functions of X that give a value for each row. They are
        sampled out before round 1, and they vote.
    smoothing : float
        Votes are estimated with so many examples more in each cell for each class.
    database, max_literals, max_depth, early_stopping, class_weight, time_limit, checkpoint, …
        As in every `Booster`.

    Attributes
    ----------
    history_ : DataFrame
        A row a round; `empty_cell` flags rounds in which a class is absent from a cell.
    rules_ : list of Rule
        With `base="clause"`; `rules_frame()` tells prior knowledge apart by its `origin`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> KBSClassifier(random_state=0).fit(X, y).score(X, y) > 0.95
    True
    >>> known = ['class="2" :- examples(x3>=1.8).']
    >>> clf = KBSClassifier(base="clause", rounds=2, max_literals=1, prior_knowledge=known)
    >>> clf.fit(X, y).rules_frame()["origin"].tolist()
    ['prior', 'learned', 'learned']
    """

    cells: Choice["leaf", "class"] = "leaf"
    stratify: bool = False
    bootstrap: float | None = None
    prior_knowledge: Sequence[Any] = ()
    smoothing: float = 0.5
    validation_fraction: float = 0.2

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BaseLearnerBooster._parameter_constraints,
        "cells": [StrOptions({"leaf", "class"})],
        "stratify": ["boolean"],
        "bootstrap": [Interval(Real, 0, 1, closed="neither"), None],
        "prior_knowledge": ["array-like"],
        "smoothing": [Interval(Real, 0, None, closed="left")],
    }
    history_columns = ("prior_knowledge", "cells", "largest_vote", "empty_cell")

    def _boost(self, training: Training, run: Run) -> Loop:
        learner = self._learner(training, run, leaves=self.cells == "leaf")
        known = [known_hypothesis(item, training) for item in self.prior_knowledge]
        options = SamplingOptions(self.stratify, self.bootstrap, self.smoothing, run.seed, learner.is_additive)
        run.state = Sampling(training, options)
        for vote in run.state.sample_out(known):
            yield Round((vote,), self._told(vote))
        rounds = run.state.rounds(learner, self.rounds)
        while True:
            try:
                vote, has_empty_cell = next(rounds)
            except StopIteration as end:
                return str(end.value)
            yield Round((vote,), {**self._told(vote), "empty_cell": has_empty_cell})

    def _told(self, vote: Vote) -> dict[str, Any]:
        row: dict[str, Any] = {"prior_knowledge": vote.origin == "prior"}
        if self._learns_clauses:
            known = vote.hypothesis
            row["rule"] = str(known.clause) if isinstance(known, ClauseCells) else None
        return row | {"cells": vote.hypothesis.n_cells, "largest_vote": float(np.abs(vote.table).max())}

    def _start(self, training: Training) -> Floats:
        class_weight = np.bincount(training.y, weights=training.weights, minlength=len(training.labels))
        return exact.logs(class_weight / class_weight.sum())

    def _closing(self, training: Training, run: Run) -> list[Round]:
        votes = [vote for found in run.rounds for vote in found.votes]
        return [Round((vote,)) for vote in run.state.confirmed(votes)] if run.state is not None else []

    def _tables_behind(self, given: Any) -> Database | None:
        alone = self.database is None and knows_clauses(self.prior_knowledge)
        return Database.from_single(given) if alone else self.database

    def _set_rules(self, training: Training, votes: Votes) -> None:
        """The model as rules.

        Knowledge that is no clause keeps it from being an `ensemble_`, but is shown by `rules_frame()`.
        """
        super()._set_rules(training, votes)
        self.__dict__.pop("_beside_knowledge", None)
        if votes.is_of_clauses:
            return
        assert training.problem is not None
        ensemble = votes.ensemble(training.problem.label, training.rows, training.y, training.weights)
        knowledge: list[tuple[str, Floats, Floats]] = []
        for vote in (vote for found in votes.rounds for vote in found.votes):
            known = vote.hypothesis
            if isinstance(known, KnownCells):
                counts = joint_weights(known.cells(training.rows), training.y, training.weights, *vote.table.shape)
                seen = enumerate(known.seen.tolist())
                knowledge += [(f"{known.name} gives {value}", vote.table[cell], counts[cell]) for cell, value in seen]
        self._beside_knowledge = ensemble, knowledge

    def rules_frame(self, sort: str | None = None) -> pd.DataFrame:
        """The rules as a table: text, confidence, coverage by class, precision, literals, influence, origin.

        Prior knowledge has the origin "prior". Where it is a classifier or a function, there is a row for each value
        that it gave. `sort` is as in `HornBoostClassifier.rules_frame`.
        """
        if "_beside_knowledge" not in self.__dict__:
            return super().rules_frame(sort)
        import pandas as pd

        ensemble, knowledge = self._beside_knowledge
        alone = copy(self)
        alone.ensemble_ = ensemble
        rules = RelationalClassifier.rules_frame(alone)
        rows = [
            {
                "rule": text,
                "confidence": float(votes.max()),
                "otherwise": 0.0,
                **{f"covered {name}": float(weight) for name, weight in zip(ensemble.classes, count, strict=True)},
                "precision": float(count[votes.argmax()] / count.sum()),
                "literals": 1,
                "influence": float(np.ptp(votes) * np.sqrt(share * (1.0 - share))),
                "origin": "prior",
            }
            for text, votes, count in knowledge
            for share in [float(count.sum()) / self._training_weight]
        ]
        return in_order(pd.concat([pd.DataFrame(rows, columns=rules.columns), rules], ignore_index=True), sort)


class SamplingOptions(NamedTuple):
    """The choices of `KBSClassifier`, and whether votes of later rounds count on all examples (`is_additive`)."""

    stratify: bool = False
    bootstrap: float | None = None
    smoothing: float = 0.5
    seed: int = 0
    is_additive: bool = False


class Sampling:
    """The loop of figure 3, with the distribution D over the examples as its state."""

    def __init__(self, training: Training, options: SamplingOptions) -> None:
        self.X, self.y, self.content = training.rows, training.y, training.content
        self.options = options
        self.n_classes = len(training.labels)
        class_weight = np.bincount(self.y, weights=training.weights, minlength=self.n_classes)
        occurring = class_weight > 0
        self.prior = class_weight / class_weight.sum()
        if options.stratify:
            self.prior = np.where(occurring, 1.0 / occurring.sum(), 0.0)
        self.pseudo_weight = options.smoothing / training.size
        self.n_votes = 0
        self.settled: list[tuple[int, NDArray[np.bool_]]] = []
        scale = np.divide(self.prior, class_weight, out=np.zeros_like(class_weight), where=occurring)
        self.distribution = training.weights * scale[self.y]

    def rounds(self, learner: WeakLearner, most: int) -> Generator[tuple[Vote, bool], None, str]:
        """Figure 3, steps (a) to (d).

        Votes, each with whether a class is absent from a cell, so that constraints (1) to (3) could not all be met.
        """
        for number in range(1, most + 1):
            estimating = self._estimating_examples(number)
            weights = self.distribution if estimating is None else np.where(estimating, 0.0, self.distribution)
            hypothesis = learner.fit(self.X, self.y, weights, number)
            cells = hypothesis.cells(self.X)
            joint = self._joint(cells, hypothesis.n_cells, estimating)
            if np.count_nonzero(joint.sum(axis=1)) < 2:
                if estimating is not None:
                    continue
                return "the base learner found one cell only"
            if _largest_vote(joint) < _NO_LIFT:
                return "the base learner found nothing new: all LIFTs are 1"
            vote = self._vote(hypothesis, joint, self._reweight(cells, joint, estimating))
            yield vote, has_empty(joint)
            if (np.count_nonzero(joint, axis=1) <= 1).all():
                return "a hypothesis without error on the training examples"
        return "all rounds done"

    def sample_out(self, hypotheses: Sequence[Hypothesis]) -> list[Vote]:
        """Reweight by hypotheses that are known before,
        in cycles until none of them has any WRAcc left; their votes add up.

        Where a class is absent from a cell (constraint 1 cannot hold there) the cycles end when the residuals no longer
        fall.
        """
        cells = [hypothesis.cells(self.X) for hypothesis in hypotheses]
        votes: list[Vote] = []
        for hypothesis, cell in zip(hypotheses, cells, strict=True):
            joint = self._joint(cell, hypothesis.n_cells)
            votes.append(self._vote(hypothesis, joint, self._reweight(cell, joint), "prior"))
        last = np.inf
        for _ in range(_MAX_CYCLES if len(hypotheses) > 1 else 0):
            joints = [self._joint(cell, vote.hypothesis.n_cells) for vote, cell in zip(votes, cells, strict=True)]
            residual = max(map(residual_wracc, joints))
            if residual < _NO_WRACC or residual > last * (1.0 - 1e-6):
                break
            last = residual
            for number, cell in enumerate(cells):
                joint = self._joint(cell, votes[number].hypothesis.n_cells)
                votes[number] = replace(votes[number], table=votes[number].table + log_votes(joint, 0.0))
                self._reweight(cell, joint)
        return votes

    def confirmed(self, votes: Sequence[Vote]) -> Iterator[Vote]:
        """Hypotheses that settled cells vote again, as much as later ones speak against them there.

        So the training examples of a settled cell keep at least the odds that they had when it was settled.
        """
        added: list[Vote] = []
        for number, cells in reversed(self.settled):
            if number >= len(votes):
                continue
            settling = votes[number]
            of_example = settling.hypothesis.cells(self.X)
            later = np.zeros((len(self.y), self.n_classes))
            for vote in (*votes[number + 1 :], *added):
                later += vote.of(self.X)[0]
            against = later.max(axis=1) - later[np.arange(len(self.y)), self.y]
            table = np.zeros_like(settling.table)
            for cell in np.flatnonzero(cells):
                inside = of_example == cell
                table[cell, self.y[inside][0]] = against[inside].max()
            if table.any():
                added.append(replace(settling, table=table))
        yield from added

    def _vote(
        self, hypothesis: Hypothesis, joint: Floats, settles: NDArray[np.bool_] | None, origin: Origin = "learned"
    ) -> Vote:
        if settles is not None and self.options.is_additive:
            self.settled.append((self.n_votes, settles))
            settles = None
        self.n_votes += 1
        return Vote(hypothesis, log_votes(joint, self.pseudo_weight), origin, settles)

    def _estimating_examples(self, number: int) -> NDArray[np.bool_] | None:
        """With `bootstrap`, the examples that the round is not trained on."""
        if self.options.bootstrap is None:
            return None
        return uniform(example_hash(self.options.seed, -number, self.content)) >= self.options.bootstrap

    def _joint(self, cells: Codes, n_cells: int, estimating: NDArray[np.bool_] | None = None) -> Floats:
        weights = self.distribution if estimating is None else np.where(estimating, self.distribution, 0.0)
        return joint_weights(cells, self.y, weights, n_cells, self.n_classes)

    def _reweight(
        self, cells: Codes, joint: Floats, estimating: NDArray[np.bool_] | None = None
    ) -> NDArray[np.bool_] | None:
        """Step (c); gives the cells that it settles.

        LIFTs estimated on some of the examples are smoothed, as others may lie where none of those do.

        Where the cells of one class hold whole classes, reweighting changes nothing and the next round would find the
        same again: no weights make these cells independent of the class. They are settled: their examples leave the
        distribution for good.
        """
        if estimating is not None:
            lifts = exact.exps(log_votes(joint, self.pseudo_weight))
            joint = self._joint(cells, len(joint))
        else:
            lifts = lift(joint)
        factors = sampling_factors(joint, lifts, joint.sum(axis=0))
        settled = np.asarray(np.count_nonzero(joint, axis=1) == 1)
        if settled.any() and np.abs(factors[joint > 0] - 1.0).max() < _NO_LIFT:
            self.distribution = np.where(settled[cells], 0.0, self.distribution)
            return settled
        self.distribution = self.distribution * factors[cells, self.y]
        return None


def _largest_vote(joint: Floats) -> float:
    """The largest |log LIFT|, infinite where a class is absent from a cell."""
    if has_empty(joint):
        return float("inf")
    return float(np.abs(log_votes(joint, 0.0)).max())
