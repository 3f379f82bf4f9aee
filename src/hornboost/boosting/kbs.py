"""KBS: boosting by knowledge-based sampling (Scholz 2005, figure 3), for any number of classes."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from hornboost import exact
from hornboost.boosting.base_learners import Hypothesis, Rows, WeakLearner
from hornboost.boosting.lift import Codes, Floats, has_empty, joint_weights, lift, log_votes, residual_wracc, sampling_factors
from hornboost.engine.sampling import example_hash, uniform
from hornboost.stopping import check, learning

_NO_LIFT = 1e-6
_NO_WRACC = 1e-9
_MAX_CYCLES = 1000


@dataclass(frozen=True, eq=False)
class Round:
    """A hypothesis with its votes, log LIFT(cell, class), and what was seen when it was sampled out.

    After a round that `settles` cells no later round votes on the examples in them.
    """

    hypothesis: Hypothesis
    votes: Floats
    joint: Floats
    settles: NDArray[np.bool_] | None = None
    is_prior_knowledge: bool = False
    seconds: float = 0.0
    validation_loss: float = float("nan")

    @property
    def has_empty_cell(self) -> bool:
        """Whether a class is absent from a cell, so that constraints (1) to (3) could not all be met."""
        return has_empty(self.joint)


class Tally:
    """Votes added up, round by round, over log Pr(y)."""

    def __init__(self, log_prior: Floats, n_examples: int) -> None:
        self.scores = np.tile(log_prior, (n_examples, 1))
        self.is_open: NDArray[np.bool_] | None = None

    def add(self, voter: Round, X: Rows) -> None:
        """Add the votes of a round on the examples that no earlier one has settled."""
        cells = voter.hypothesis.cells(X)
        if self.is_open is None:
            self.scores += voter.votes[cells]
        else:
            self.scores[self.is_open] += voter.votes[cells[self.is_open]]
        if voter.settles is not None:
            stays_open = ~voter.settles[cells]
            self.is_open = stays_open if self.is_open is None else self.is_open & stays_open


@dataclass(eq=False)
class KBSModel:
    """Rounds in the order in which they were sampled out; Pr(y|x) by equation (5), in logarithms."""

    log_prior: Floats
    rounds: list[Round] = field(default_factory=list)
    stopped: str = "all rounds done"

    def staged_scores(self, X: Rows) -> Iterator[Floats]:
        """The scores with the prior knowledge alone where there is some, then after each further round."""
        tally = Tally(self.log_prior, len(X))
        known = next((n for n, voter in enumerate(self.rounds) if not voter.is_prior_knowledge), len(self.rounds))
        for number, voter in enumerate(self.rounds, start=1):
            tally.add(voter, X)
            if number >= known:
                yield tally.scores.copy()

    def scores(self, X: Rows) -> Floats:
        """Logarithm of Pr(y) + all votes, not normalised."""
        tally = Tally(self.log_prior, len(X))
        for voter in self.rounds:
            tally.add(voter, X)
        return tally.scores


def probabilities(scores: Floats) -> Floats:
    """Scores in logarithms as probabilities that sum to 1.

    >>> probabilities(np.log([[3.0, 1.0]]))
    array([[0.75, 0.25]])
    """
    return exact.softmax(scores)


def log_loss(scores: Floats, y: Codes, weights: Floats) -> float:
    """The weighted mean of -log Pr(y|x)."""
    top = scores.max(axis=1)
    losses = top + exact.logs(exact.exps(scores - top[:, None]).sum(axis=1)) - scores[np.arange(len(y)), y]
    return float(np.average(losses, weights=weights))


@dataclass(eq=False)
class Validation:
    """Examples held out to stop the boosting after `patience` rounds without a new minimum of the log-loss."""

    X: Rows
    y: Codes
    weights: Floats
    patience: int


@dataclass(frozen=True)
class KBSOptions:
    """`n_examples` is the sample size N that the votes' pseudo-weights 1/(2N) come from."""

    n_classes: int
    n_examples: float
    rounds: int = 10
    stratify: bool = False
    bootstrap: float | None = None
    smoothing: float = 0.5
    seed: int = 0


class KBS:
    """The boosting loop, with the distribution D over the examples as its state."""

    def __init__(self, X: Rows, y: Codes, weights: Floats, content: NDArray[np.uint64], options: KBSOptions) -> None:
        self.X, self.y, self.content, self.options = X, y, content, options
        class_weight = np.bincount(y, weights=weights, minlength=options.n_classes)
        occurring = class_weight > 0
        self.log_prior = exact.logs(class_weight / class_weight.sum())
        self.prior = np.where(occurring, 1.0 / occurring.sum(), 0.0) if options.stratify else class_weight / class_weight.sum()
        self.settled: list[tuple[int, NDArray[np.bool_]]] = []
        self.distribution = weights * np.divide(self.prior, class_weight, out=np.zeros_like(class_weight), where=occurring)[y]

    def boost(self, learner: WeakLearner, prior_knowledge: Sequence[Hypothesis] = (), validation: Validation | None = None) -> KBSModel:
        """Figure 3, after the prior knowledge was sampled out."""
        model = KBSModel(self.log_prior, rounds=self.sample_out(prior_knowledge))
        if learner.is_additive:
            self.settled += [(number, known.settles) for number, known in enumerate(model.rounds) if known.settles is not None]
            model.rounds = [replace(known, settles=None) for known in model.rounds]
        held_out = _HeldOut(model, validation) if validation is not None else None
        with learning() as ending:
            model.stopped = self._boost(learner, model, held_out)
        model.stopped = ending.reason or model.stopped
        if held_out is not None:
            del model.rounds[held_out.best_length :]
        model.rounds += self._confirmed(model)
        return model

    def _boost(self, learner: WeakLearner, model: KBSModel, held_out: _HeldOut | None) -> str:
        """The rounds of figure 3; returns why there are no more."""
        for number in range(1, self.options.rounds + 1):
            check()
            start = time.perf_counter()
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
            votes = log_votes(joint, self._pseudo_weight)
            settles = self._reweight(cells, joint, estimating)
            if settles is not None and learner.is_additive:
                self.settled.append((len(model.rounds), settles))
                settles = None
            voter = Round(hypothesis, votes, joint, settles)
            loss = held_out.loss_with(voter) if held_out is not None else float("nan")
            model.rounds.append(replace(voter, seconds=time.perf_counter() - start, validation_loss=loss))
            if (np.count_nonzero(joint, axis=1) <= 1).all():
                return "a hypothesis without error on the training examples"
            if held_out is not None and held_out.is_exhausted:
                return f"the held-out log-loss did not fall for {held_out.validation.patience} rounds"
        return "all rounds done"

    def _confirmed(self, model: KBSModel) -> list[Round]:
        """Rounds in which an additive hypothesis that settled cells votes again, as much as later ones speak against it there.

        So the training examples of a settled cell keep at least the odds that they had when it was settled.
        """
        confirmed: list[Round] = []
        for number, cells in reversed(self.settled):
            if number >= len(model.rounds):
                continue
            settling = model.rounds[number]
            of_example = settling.hypothesis.cells(self.X)
            later = np.zeros((len(self.y), self.options.n_classes))
            for voter in (*model.rounds[number + 1 :], *confirmed):
                later += voter.votes[voter.hypothesis.cells(self.X)]
            against = later.max(axis=1) - later[np.arange(len(self.y)), self.y]
            votes = np.zeros_like(settling.votes)
            for cell in np.flatnonzero(cells):
                inside = of_example == cell
                votes[cell, self.y[inside][0]] = against[inside].max()
            if votes.any():
                confirmed.append(replace(settling, votes=votes, seconds=0.0, validation_loss=float("nan")))
        return confirmed

    def sample_out(self, hypotheses: Sequence[Hypothesis]) -> list[Round]:
        """Reweight by hypotheses that are known before, in cycles until none of them has any WRAcc left; their votes add up.

        Where a class is absent from a cell (constraint 1 cannot hold there) the cycles end when the residuals no longer fall.
        """
        cells = [hypothesis.cells(self.X) for hypothesis in hypotheses]
        rounds: list[Round] = []
        for hypothesis, cell in zip(hypotheses, cells, strict=True):
            joint = self._joint(cell, hypothesis.n_cells)
            settles = self._reweight(cell, joint)
            rounds.append(Round(hypothesis, log_votes(joint, self._pseudo_weight), joint, settles, is_prior_knowledge=True))
        last = np.inf
        for _ in range(_MAX_CYCLES if len(hypotheses) > 1 else 0):
            residual = max(
                residual_wracc(self._joint(cell, hypothesis.n_cells)) for hypothesis, cell in zip(hypotheses, cells, strict=True)
            )
            if residual < _NO_WRACC or residual > last * (1.0 - 1e-6):
                break
            last = residual
            for voter, cell in zip(rounds, cells, strict=True):
                joint = self._joint(cell, voter.hypothesis.n_cells)
                voter.votes[...] += log_votes(joint, 0.0)
                self._reweight(cell, joint)
        return rounds

    @property
    def _pseudo_weight(self) -> float:
        return self.options.smoothing / self.options.n_examples

    def _estimating_examples(self, number: int) -> NDArray[np.bool_] | None:
        """With `bootstrap`, the examples that the round is not trained on."""
        if self.options.bootstrap is None:
            return None
        return uniform(example_hash(self.options.seed, -number, self.content)) >= self.options.bootstrap

    def _joint(self, cells: Codes, n_cells: int, estimating: NDArray[np.bool_] | None = None) -> Floats:
        weights = self.distribution if estimating is None else np.where(estimating, self.distribution, 0.0)
        return joint_weights(cells, self.y, weights, n_cells, self.options.n_classes)

    def _reweight(self, cells: Codes, joint: Floats, estimating: NDArray[np.bool_] | None = None) -> NDArray[np.bool_] | None:
        """Step (c); gives the cells that it settles.

        LIFTs estimated on some of the examples are smoothed, as others may lie where none of those do.

        Where the cells of one class hold whole classes, reweighting changes nothing and the next round would find the same again:
        no weights make these cells independent of the class. They are settled: their examples leave the distribution for good.
        """
        if estimating is not None:
            lifts = exact.exps(log_votes(joint, self._pseudo_weight))
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


class _HeldOut:
    def __init__(self, model: KBSModel, validation: Validation) -> None:
        self.validation = validation
        self.tally = Tally(model.log_prior, len(validation.y))
        for voter in model.rounds:
            self.tally.add(voter, validation.X)
        self.best_loss = log_loss(self.tally.scores, validation.y, validation.weights)
        self.best_length = self.length = len(model.rounds)

    def loss_with(self, voter: Round) -> float:
        self.tally.add(voter, self.validation.X)
        self.length += 1
        loss = log_loss(self.tally.scores, self.validation.y, self.validation.weights)
        if loss < self.best_loss:
            self.best_loss, self.best_length = loss, self.length
        return loss

    @property
    def is_exhausted(self) -> bool:
        return self.length - self.best_length >= self.validation.patience


def _largest_vote(joint: Floats) -> float:
    """The largest |log LIFT|, infinite where a class is absent from a cell."""
    if has_empty(joint):
        return float("inf")
    return float(np.abs(log_votes(joint, 0.0)).max())
