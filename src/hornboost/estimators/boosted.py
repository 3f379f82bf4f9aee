"""What all boosters of classes share: their votes are for classes, one class against the others or all at once."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import StrOptions

from hornboost.errors import DataError
from hornboost.estimators.booster import Booster
from hornboost.estimators.classifier import RelationalClassifier
from hornboost.estimators.examples import Targets, Training
from hornboost.estimators.run import Run
from hornboost.learners.hypotheses import Floats
from hornboost.model.ensemble import Ensemble
from hornboost.model.scale import log_loss
from hornboost.model.votes import Round, Vote, Votes, in_steps


class Scaling(NamedTuple):
    """How the votes of one class against the others enter its score, and the slope of that score's sigmoid."""

    factor: float = 1.0
    shift: float = 0.0
    slope: float = 1.0


@dataclass(eq=False, repr=False, kw_only=True)
class BoostedClassifier(Booster, RelationalClassifier):
    """A booster of classes. One that tells one class from the others says so by `against_the_rest`: its votes have one
    column, and it is run once for each class.

    Parameters
    ----------
    class_weight : dict, "balanced" or None
        Weights by class.
    database, rounds, max_literals, max_depth, early_stopping, time_limit, checkpoint, …
        As in every `Booster`.

    Attributes
    ----------
    classes_ : array
        The classes.
    """

    class_weight: dict[Any, float] | str | None = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Booster._parameter_constraints,
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }
    against_the_rest: ClassVar[bool] = False

    def _start(self, training: Training) -> Floats:
        return np.zeros(1 if self.against_the_rest else len(training.labels))

    def _measure(self, scores: Floats, y: Targets, weights: Floats) -> dict[str, float]:
        return {"log_loss": log_loss(scores, y, weights)}

    def _scalings(self, training: Training, runs: dict[int, Run]) -> dict[int, Scaling]:
        """Of boosters against the rest, what the votes for each class are worth as odds."""
        return dict.fromkeys(runs, Scaling())

    def _targets(self, training: Training) -> Sequence[int | None]:
        if not self.against_the_rest:
            return [None]
        assert training.problem is not None
        n_classes = len(training.labels)
        return range(n_classes) if n_classes > 2 else [training.problem.positive][: n_classes - 1]

    def _known(self, labels: NDArray[Any]) -> Targets:
        places = np.searchsorted(self.classes_, labels).clip(0, len(self.classes_) - 1)
        if (self.classes_[places] != labels).any():
            unknown = labels[self.classes_[places] != labels][0]
            raise DataError(f"eval_set: the class {unknown!r} does not occur in y; leave such examples out.")
        return places

    def _models(self, training: Training, runs: list[Run]) -> tuple[Votes, Votes]:
        labels = training.labels
        if not self.against_the_rest:
            (run,) = runs
            rounds = (*run.rounds, *self._closing(training, run))
            votes = Votes(labels, rounds, tuple(in_steps(self._start(training)).tolist()), "softmax")
            return votes, votes
        by_class = {run.positive: run for run in runs if run.positive is not None}
        scalings = self._scalings(training, by_class)
        n_scores = 1 if len(labels) <= 2 else len(labels)
        intercept, calibration = [0.0] * n_scores, [(1.0, 0.0)] * n_scores
        placed: list[list[Round]] = []
        for positive, run in by_class.items():
            column, sign = (positive, 1.0) if n_scores > 1 else (0, 1.0 if positive == 1 else -1.0)
            scaling = scalings[positive]
            place = np.zeros((1, n_scores))
            place[0, column] = sign * scaling.factor
            placed.append([_placed(found, place) for found in run.rounds])
            intercept[column] = float(in_steps(np.array(sign * scaling.shift)))
            calibration[column] = (scaling.slope, 0.0)
        one_by_one = tuple(found for rounds in placed for found in rounds)
        in_turn = tuple(_together(rounds) for rounds in zip_longest(*placed))
        model = Votes(labels, one_by_one, tuple(intercept), "sigmoid", tuple(calibration))
        return model, replace(model, rounds=in_turn)

    def _rules_of(self, training: Training, votes: Votes) -> Ensemble:
        assert training.problem is not None
        return votes.ensemble(
            training.problem.label, training.rows, training.y, training.weights, keep_heads=self.against_the_rest
        )

    def staged_decision_function(self, X: Any) -> Iterator[Floats]:
        """`decision_function` after each round."""
        for scores in self._staged_scores(X):
            yield self._votes.decision(scores)

    def staged_predict_proba(self, X: Any) -> Iterator[Floats]:
        """`predict_proba` after each round (with prior knowledge: first after that alone).

        The last is that of the model.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> import hornboost as hb
        >>> X, y = load_iris(return_X_y=True)
        >>> clf = hb.KBSClassifier(rounds=3).fit(X, y)
        >>> [stage.shape for stage in clf.staged_predict_proba(X)]
        [(150, 3), (150, 3), (150, 3)]
        """
        for scores in self._staged_scores(X):
            yield self._votes.probabilities(scores)

    def staged_predict(self, X: Any) -> Iterator[NDArray[Any]]:
        """`predict` after each round."""
        for scores in self._staged_scores(X):
            yield self.classes_[self._votes.choices(scores)]


def _placed(found: Round, place: Floats) -> Round:
    """A round whose votes, of one column, stand in their class's score."""
    if place.size == 1 and place[0, 0] == 1.0:
        return found
    votes = tuple(Vote(vote.hypothesis, vote.table * place, vote.origin, vote.settles) for vote in found.votes)
    return Round(votes, found.row)


def _together(rounds: Sequence[Round | None]) -> Round:
    """What several classes learned in the same round."""
    return Round(tuple(vote for found in rounds if found is not None for vote in found.votes))
