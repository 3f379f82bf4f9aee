"""RankBoost.B and PRankBoost (Oliphant, Burnside and Shavlik 2009, Table 1).

Boosting that ranks positives before negatives.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import count, islice
from numbers import Integral
from typing import Any, ClassVar, NamedTuple
from typing import Literal as Choice

import numpy as np
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from hornboost import exact
from hornboost.boosting.ranks import PairWeights, ScoreCells
from hornboost.data import Database
from hornboost.engine.constants import checked_domains, nameable
from hornboost.engine.make import seeded
from hornboost.engine.sampling import example_hash, uniform
from hornboost.engine.seeded import Position, SeededEngine
from hornboost.errors import DataError
from hornboost.estimators.boosted import BoostedClassifier, Scaling
from hornboost.estimators.calibration import sigmoid_calibration
from hornboost.estimators.examples import Training
from hornboost.estimators.run import Loop, Run
from hornboost.learners.hypotheses import ClauseCells, Codes, Floats
from hornboost.learners.memory import Outcome
from hornboost.learners.objectives import CurvePoint, RankObjective, auroc_gain, clause_area, levels, path_area
from hornboost.learners.problem import Problem
from hornboost.learners.seeded import Budget, Climb, SeededSearch
from hornboost.logic.clause import Clause
from hornboost.metrics import aurpc_and_auroc
from hornboost.model.votes import Round, Vote

MOST_CONSTANTS = 1_000
"""Larger domains of keys are never taken for names."""

LEAST_SHARING = 5.0
"""In how many rows the name of a random row must occur on average."""

AT_ONCE = 32
"""Rounds whose seeds are looked up together."""

BUDGET_SPENT = "the clause_budget was reached"

REDRAWS = 20
"""Further seeds to try in a round when none gave a clause that moves weight."""


class Scheme(NamedTuple):
    """A weak learner: what its search maximises, and whether it keeps the whole path or the best clause alone."""

    objective: RankObjective
    keeps_path: bool


_CLAUSE, _PATH = Scheme(clause_area, False), Scheme(path_area, True)

SCHEMES: dict[str, tuple[Scheme, ...]] = {
    "rank": (Scheme(auroc_gain, False),),
    "clause": (_CLAUSE,),
    "path": (_PATH,),
    "mix1": (Scheme(path_area, False),),
    "mix2": (Scheme(clause_area, True),),
    "mix3": (_CLAUSE, _PATH),
}
"""The schemes that each weak learner takes in turn (Oliphant et al. 2009, sections 3 and 6;
Mix1 and Mix2 as in the caption of Figure 4)."""


@dataclass(eq=False, repr=False, kw_only=True)
class RankBoostClassifier(BoostedClassifier):
    """RankBoost.B over first-order clauses: maximises the area under the ROC curve (Freund et al. 1998).

    It is the baseline of `PRankBoostClassifier`: each weak hypothesis is the clause with the largest
    r = w(positives covered) − w(negatives covered), the weights of each class summing to 1.

    Parameters
    ----------
    constants : "auto", sequence of str or None
        Domains of keys whose values rules may name; "auto" takes names that occur in one column and are shared by many
        rows.
    n_seeds : int
        Positive examples to search from in each round; the best clause is taken.
    clause_budget : int or None
        Clauses to evaluate at most.
    database, rounds, max_literals, max_depth, early_stopping, class_weight, time_limit, checkpoint, …
        As in every `Booster`.

    Attributes
    ----------
    history_ : DataFrame
        A row a round: rule, r, alpha, clauses evaluated so far, training AURPC; with an `eval_set` also its AURPC and
        AUROC.
    clauses_evaluated_ : int
        Clauses whose coverage was asked for.

    Examples
    --------
    >>> import hornboost as hb
    >>> db = hb.datasets.skewed_pairs(3020, skew=150).database()
    >>> X, y = db.examples()
    >>> clf = hb.RankBoostClassifier(db, rounds=5, random_state=0).fit(X, y)
    >>> bool(hb.metrics.aurpc(np.asarray(y) == "1", clf.decision_function(X)) > 0.1)
    True
    """

    constants: str | Sequence[str] | None = "auto"
    n_seeds: int = 1
    clause_budget: int | None = None

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **BoostedClassifier._parameter_constraints,
        "constants": [StrOptions({"auto"}), "array-like", None],
        "n_seeds": [Interval(Integral, 1, None, closed="left")],
        "clause_budget": [Interval(Integral, 1, None, closed="left"), None],
    }
    against_the_rest = True
    history_columns = ("rule", "clauses", "r", "alpha", "tp", "fp", "clauses_evaluated", "aurpc")

    def _choices(self) -> RankChoices:
        return RankChoices(SCHEMES["rank"], self.max_literals, self.n_seeds)

    def _training(self, X: Any, y: Any, sample_weight: Any) -> Training:
        training = super()._training(X, y, sample_weight)
        if len(training.labels) == 1:
            raise DataError(
                f"all examples are of the class {training.labels[0]!r}, so there is no negative or no "
                "positive example to rank; "
                f"{type(self).__name__} needs more than one class."
            )
        assert training.problem is not None
        self._seeded = seeded(training.problem.engine)
        self._budget = Budget(math.inf if self.clause_budget is None else self.clause_budget)
        return training

    def _engine_options(self) -> dict[str, Any]:
        named: tuple[str, ...] = ()
        if self.constants is not None and self.database is not None:
            automatic = isinstance(self.constants, str)
            if automatic:
                named, _ = nameable(self.database, constant_domains(self.database), self.max_bins)
            else:
                named = checked_domains(self.database, self.constants, self.max_bins)
        return {**super()._engine_options(), "constants": named}

    def _boost(self, training: Training, run: Run) -> Loop:
        """Table 1 of Oliphant et al. (2009)."""
        assert training.problem is not None
        if self._seeded.engine is not training.problem.engine:  # some examples are held out
            self._seeded = seeded(training.problem.engine)
        state = Ranking(training.problem, self._seeded, run, self._choices(), self._budget, self.rounds)
        run.snapshot = state.cells.masses
        for t in count(1):
            climb = state.weak_hypothesis(t)
            if climb is None:
                return BUDGET_SPENT if self._budget.is_spent else "no seed gave a clause that moves weight"
            yield state.round(t, climb)
            if is_perfect(climb):
                return "a clause ranks the training examples perfectly"
            if self._budget.is_spent:
                return BUDGET_SPENT
        raise AssertionError("unreachable")

    def _measure(self, scores: Floats, y: Codes, weights: Floats) -> dict[str, float]:
        if not 0.0 < float(weights @ y) < float(weights.sum()):
            raise DataError(
                "early_stopping: a class has no example, or no other class has one, among the examples that are held "
                "out or in eval_set, so that these cannot be ranked; set early_stopping=None or a larger "
                "validation_fraction"
            )
        area, auroc = aurpc_and_auroc(y, scores[:, 0], weights)
        return {"loss": 1.0 - area, "aurpc": area, "auroc": auroc}

    def _scalings(self, training: Training, runs: dict[int, Run]) -> dict[int, Scaling]:
        """With two classes the score is H, shifted to where odds are even.

        Otherwise each class has the log-odds that its own ranking gives it, so that rankings of different scale can be
        compared.
        """
        scalings = {}
        for positive, run in runs.items():
            a, b = odds(*run.kept or ScoreCells((training.y == positive).astype(np.int32), training.weights).masses())
            scalings[positive] = Scaling(1.0, b / a, a) if len(training.labels) == 2 else Scaling(a, b, 1.0)
        return scalings

    def _limit(self, reason: str | None) -> str | None:
        return "clause_budget" if self._budget.is_spent else super()._limit(reason)

    def _finish(self, training: Training, runs: list[Run], reason: str | None) -> None:
        super()._finish(training, runs, reason)
        self.clauses_evaluated_ = self._budget.evaluated
        del self._seeded, self._budget


@dataclass(eq=False, repr=False, kw_only=True)
class PRankBoostClassifier(RankBoostClassifier):
    """PRankBoost: boosting of first-order clauses that maximises the area under the recall-precision curve (AURPC).

    Each weak hypothesis grows from a random positive example, whose bottom clause is the only source of literals. The
    decision function is the ranking H(x), shifted so that 0 is where a sigmoid fitted to the training scores gives even
    odds.

    Parameters
    ----------
    weak_learner : {"clause", "path", "mix1", "mix2", "mix3"}
        "clause" keeps the best clause of a search; "path" all clauses on the way to it; "mix1" keeps the clause and
        scores the path; "mix2" keeps the path and scores the clause; "mix3" takes "clause" and "path" in turn.
    chance_corrected : bool
        Whether a weak hypothesis votes by its AURPC above that of a random ranking instead of its AURPC.
    path_area : {"excess", "total"}
        The area by which a path grades its clauses: "total", as in the paper, or "excess", what lies above a random
        ranking's.
    constants, n_seeds, clause_budget
        As in `RankBoostClassifier`.
    database, rounds, max_literals, max_depth, early_stopping, class_weight, time_limit, checkpoint, …
        As in every `Booster`.

    Examples
    --------
    >>> import hornboost as hb
    >>> db = hb.datasets.skewed_pairs(3020, skew=150).database()
    >>> X, y = db.examples()
    >>> clf = hb.PRankBoostClassifier(db, rounds=5, random_state=0).fit(X, y)
    >>> bool(hb.metrics.aurpc(np.asarray(y) == "1", clf.decision_function(X)) > 0.3)
    True
    """

    weak_learner: Choice["clause", "path", "mix1", "mix2", "mix3"] = "clause"
    chance_corrected: bool = False
    path_area: Choice["excess", "total"] = "excess"

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **RankBoostClassifier._parameter_constraints,
        "weak_learner": [StrOptions({"clause", "path", "mix1", "mix2", "mix3"})],
        "chance_corrected": ["boolean"],
        "path_area": [StrOptions({"total", "excess"})],
    }

    def _choices(self) -> RankChoices:
        excess = self.path_area == "excess"
        return RankChoices(SCHEMES[self.weak_learner], self.max_literals, self.n_seeds, self.chance_corrected, excess)


class RankChoices(NamedTuple):
    """What the two boosters choose.

    The weak learners to take in turn, and how their hypotheses are found and weighed.
    """

    schemes: tuple[Scheme, ...]
    max_literals: int
    n_seeds: int
    chance_corrected: bool = False
    excess: bool = False


class Ranking:
    """The state of a run: the weights of the two classes, and the scores so far."""

    def __init__(
        self, problem: Problem, engine: SeededEngine, run: Run, choices: RankChoices, budget: Budget, rounds: int
    ) -> None:
        assert run.positive is not None
        self.problem, self.engine, self.run, self.choices, self.budget = problem, engine, run, choices, budget
        self.positive, self.rounds = run.positive, rounds
        self.y = (problem.classes == run.positive).astype(np.int32)
        self.weights = PairWeights(self.y, problem.weights)
        self.seeds = _Seeds(problem, self.y, run.seed)
        self.cells = ScoreCells(self.y, problem.weights)
        self.expected = 0

    def round(self, t: int, climb: Climb) -> Round:
        """Weigh a weak hypothesis, and reweight the examples by it."""
        r = min(self._r(climb), 1.0 - 0.5 / self.seeds.count)
        alpha = 0.5 * exact.log((1.0 + r) / (1.0 - r))
        clauses, gains = _hypothesis(climb, self._scheme(t).keeps_path, self.choices.excess)
        depth = self.weights.update([clause.covered for clause in clauses], gains, alpha)
        self.cells.add(depth, gains, alpha)
        cells = [self._cells(clause) for clause in clauses]
        tables = [np.array([[0.0], [alpha * gain]]) for gain in gains]
        votes = [Vote(one, table) for one, table, gain in zip(cells, tables, gains, strict=True) if gain > 0]
        row: dict[str, Any] = {"rule": str(cells[-1].clause), "clauses": len(clauses), "r": r, "alpha": alpha}
        row |= {"tp": climb.points[-1].tp, "fp": climb.points[-1].fp}
        row |= {"clauses_evaluated": self.budget.evaluated, "aurpc": self.cells.aurpc()}
        return Round(tuple(votes), row)

    def weak_hypothesis(self, t: int) -> Climb | None:
        """The best climb of `n_seeds` seeds, if one moves weight."""
        return self.run.memory.recall(lambda: self._climb(t), self._written, self._read)

    def _scheme(self, t: int) -> Scheme:
        return self.choices.schemes[(t - 1) % len(self.choices.schemes)]

    def _climb(self, t: int) -> Climb | None:
        """As long as no seed gives a clause that moves weight another is drawn, at most 20 times."""
        n_seeds, weights = self.choices.n_seeds, self.weights
        if t > self.expected:
            self.expected = min(t + AT_ONCE - 1, self.rounds)
            coming = range(t, self.expected + 1)
            seeds = [seed for k in coming for seed in islice(self.seeds.in_order(k), n_seeds)]
            self.engine.expect(seeds, self.positive)
        objective, most = self._scheme(t).objective, self.choices.max_literals
        search = SeededSearch(self.engine, weights.units, self.y, weights.points, objective, most, self.budget)
        best: Climb | None = None
        for drawn, seed in enumerate(self.seeds.in_order(t), 1):
            climb = search.climb(seed)
            if not climb.clauses[-1].covered.all() and (best is None or climb.score > best.score):
                best = climb
            if (drawn >= n_seeds and best is not None) or drawn >= n_seeds + REDRAWS or self.budget.is_spent:
                break
        return best

    def _written(self, climb: Climb | None) -> Outcome:
        evaluated = float(self.budget.evaluated)
        if climb is None:
            return Outcome((), (evaluated,))
        points = [value for point in climb.points for value in point]
        return Outcome(tuple(clause.specs for clause in climb.clauses), (evaluated, climb.score, *points))

    def _read(self, outcome: Outcome) -> Climb | None:
        evaluated, *figures = outcome.figures
        self.budget.evaluated = int(evaluated)
        if not outcome.clauses:
            return None
        states = [self.problem.state(specs) for specs in outcome.clauses]
        clauses = [Position(state.specs, state.covered) for state in states]
        points = [CurvePoint(*figures[k : k + 2]) for k in range(1, len(figures), 2)]
        return Climb(clauses, points, figures[0])

    def _r(self, climb: Climb) -> float:
        """The score of the weak hypothesis, or with `chance_corrected` the
        part of it above that of the empty clause.
        """
        if not self.choices.chance_corrected:
            return climb.score
        chance = 1.0 / (1.0 + self.weights.skew)
        return max(climb.score - chance, 0.0) / (1.0 - chance)

    def _cells(self, clause: Position) -> ClauseCells:
        ordered = _ordered(self.problem.clause(clause.outline, self.positive))
        return ClauseCells(ordered, self.problem.examples, clause.covered)


def odds(score: Floats, weight: Floats) -> tuple[float, float]:
    """(a, b) of the log-odds a·H + b, from the training scores; the prior log-odds when every score is the same."""
    n_minus, n_plus = weight.sum(axis=1)
    if score.size == 1:
        return 1.0, exact.log(n_plus / n_minus)
    masses = np.maximum(weight.ravel(), 0.0)
    return sigmoid_calibration(np.tile(score, 2), np.repeat([False, True], score.size), masses)


def _hypothesis(climb: Climb, keeps_path: bool, excess: bool) -> tuple[list[Position], list[float]]:
    """The clauses that the weak hypothesis keeps, and how much each raises h."""
    if not keeps_path:
        return climb.clauses[-1:], [1.0]
    return climb.clauses[1:], np.diff(levels(climb.points, excess)).tolist()


def _ordered(clause: Clause) -> Clause:
    """The clause with the tests of each literal in order, so that clauses found by other ways are equal."""
    if all(len(literal.tests) < 2 for literal in clause.body):
        return clause
    body = (replace(literal, tests=tuple(sorted(literal.tests, key=str))) for literal in clause.body)
    return replace(clause, body=tuple(body))


def is_perfect(climb: Climb) -> bool:
    """Whether the best clause covers all of the positive weight and none of the negative: nothing is left to rank."""
    return climb.points[-1].fp == 0.0 and climb.points[-1].tp == climb.points[0].tp


class _Seeds:
    """The positive examples in random order, one of each content,
    an example of weight 2 being drawn as two would be.
    """

    def __init__(self, problem: Problem, y: NDArray[np.int32], seed: int) -> None:
        at = np.flatnonzero(y == 1)
        self.content, first, inverse = np.unique(problem.content[at], return_index=True, return_inverse=True)
        self.example = at[first]
        self.mass = np.bincount(inverse, weights=problem.weights[at])
        self.seed = seed
        self.count = max(float(at.size), math.fsum(problem.weights[at]))
        self.orders: dict[int, NDArray[np.intp]] = {}

    def in_order(self, t: int) -> Iterator[int]:
        """Seeds of round t: the smallest of independent exponential times with the masses as rates, then the next, …"""
        self.orders = {k: order for k, order in self.orders.items() if k >= t}
        if t not in self.orders:
            times = -exact.log1ps(-uniform(example_hash(self.seed, t, self.content))) / self.mass
            self.orders[t] = np.argsort(times, kind="stable")
        return (int(self.example[k]) for k in self.orders[t])


def constant_domains(database: Database) -> tuple[str, ...]:
    """The key domains whose values are names rather than things.

    In one column only, at most 1,000 of them, and shared by many rows.

    A domain in several columns links tables; one that is unique in a table is described there; a name is worth testing
    when a row shares it with four others on average (topics of papers do, their titles do not).

    Examples
    --------
    >>> import pandas as pd, hornboost as hb
    >>> paper = pd.DataFrame({"paper": range(7), "good": list("yynnnnn")})
    >>> about = pd.DataFrame({"paper": range(7), "topic": list("aaaaaab")})
    >>> keys = {"paper": {"paper": "paper"}, "about": {"paper": "paper", "topic": "topic"}}
    >>> db = hb.Database.from_frames(
    ...     {"paper": paper, "about": about}, target="paper", key="paper", label="good", positive="y", keys=keys
    ... )
    >>> constant_domains(db)
    ('topic',)
    """
    columns: dict[str | None, list[tuple[str, str]]] = {}
    for table in database.tables.values():
        for column in table.keys:
            columns.setdefault(column.domain, []).append((table.name, column.name))

    def holds_names(domain: str) -> bool:
        places = columns.get(domain, [])
        if len(places) != 1 or database.n_identifiers(domain) > MOST_CONSTANTS:
            return False
        rows, squares = database.key_counts(*places[0])
        return rows > 0 and squares >= LEAST_SHARING * rows

    return tuple(domain for domain in database.domains if holds_names(domain))
