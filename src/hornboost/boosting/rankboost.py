"""RankBoost.B and PRankBoost (seed 003, Table 1): boosting that ranks positives before negatives."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, NamedTuple
from typing import Literal as Choice

import numpy as np
from numpy.typing import NDArray

from hornboost import exact
from hornboost.boosting.ranks import PairWeights, ScoreCells
from hornboost.engine.sampling import example_hash, uniform
from hornboost.engine.seeded import Position, SeededEngine
from hornboost.logic.clause import Clause
from hornboost.search.problem import Problem
from hornboost.search.ranking import Objective, auroc_gain, clause_area, levels, path_area
from hornboost.search.seeded import Budget, Climb, SeededSearch
from hornboost.stopping import check, learning

Callback = Callable[[dict[str, Any]], object]
WeakLearner = Choice["rank", "clause", "path", "mix1", "mix2", "mix3"]

HISTORY = ("round", "rule", "clauses", "r", "alpha", "tp", "fp", "clauses_evaluated", "aurpc", "seconds")
"""What is recorded of each round; with held-out examples also `aurpc_held_out` and `auroc_held_out`."""

HeldOut = Callable[["Voter"], dict[str, float]]
"""Told each weak hypothesis in turn, it gives what is recorded of the ranking of other examples by all so far."""

AT_ONCE = 32
"""Rounds whose seeds are looked up together."""

REDRAWS = 20
"""Further seeds to try in a round when none gave a clause that moves weight."""


class Scheme(NamedTuple):
    """A weak learner: what its search maximises, and whether it keeps the whole path or the best clause alone."""

    objective: Objective
    keeps_path: bool


_CLAUSE, _PATH = Scheme(clause_area, False), Scheme(path_area, True)

SCHEMES: dict[WeakLearner, tuple[Scheme, ...]] = {
    "rank": (Scheme(auroc_gain, False),),
    "clause": (_CLAUSE,),
    "path": (_PATH,),
    "mix1": (Scheme(path_area, False),),
    "mix2": (Scheme(clause_area, True),),
    "mix3": (_CLAUSE, _PATH),
}
"""The schemes that each weak learner takes in turn (seed 003, sections 3 and 6; Mix1 and Mix2 as in the caption of Figure 4)."""


@dataclass(frozen=True, slots=True)
class Settings:
    """The choices of a run; see `PRankBoostClassifier` for what they mean."""

    weak_learner: WeakLearner
    rounds: int
    seed: int
    max_literals: int = 8
    n_seeds: int = 1
    chance_corrected: bool = False
    excess: bool = False
    callbacks: Sequence[Callback] = ()


@dataclass(frozen=True, slots=True)
class Voter:
    """A weak hypothesis: nested clauses from general to special, the sample weight that each covers by class, its gain in h, and alpha."""

    clauses: tuple[Clause, ...]
    coverage: tuple[tuple[float, ...], ...]
    gains: tuple[float, ...]
    alpha: float

    @property
    def votes(self) -> Iterator[tuple[Clause, tuple[float, ...], float]]:
        """Each clause with its coverage and its share of alpha·h."""
        parts = zip(self.clauses, self.coverage, self.gains, strict=True)
        return ((clause, coverage, self.alpha * gain) for clause, coverage, gain in parts if gain > 0)


@dataclass(eq=False)
class Ranked:
    """What a run learned: weak hypotheses, history, and the training scores as cells of equal score."""

    cells: ScoreCells
    voters: list[Voter] = field(default_factory=list)
    history: list[dict[str, Any]] = field(default_factory=list)
    reason: str | None = None
    """Why the search ended early, if it did."""


def rank_boost(
    problem: Problem,
    engine: SeededEngine,
    positive: int,
    settings: Settings,
    budget: Budget,
    held_out: HeldOut | None = None,
) -> Ranked:
    """Table 1 of seed 003 for one class against the others. Ctrl-C, the time limit and the clause budget keep what was learned."""
    run = _Run(problem, engine, positive, settings, budget)
    with learning() as ending:
        for t in range(1, settings.rounds + 1):
            check()
            if not run.round(t, held_out):
                check()  # a climb that ran out of time was the last one
                break
    run.result.reason = ending.reason
    return run.result


class _Run:
    """The state of a run: the weights of the two classes, and the scores so far."""

    def __init__(self, problem: Problem, engine: SeededEngine, positive: int, settings: Settings, budget: Budget) -> None:
        self.problem, self.engine, self.positive, self.settings, self.budget = problem, engine, positive, settings, budget
        self.y = (problem.classes == positive).astype(np.int32)
        self.weights = PairWeights(self.y, problem.weights)
        self.seeds = _Seeds(problem, self.y, settings.seed)
        self.result = Ranked(ScoreCells(self.y, problem.weights))

    def round(self, t: int, held_out: HeldOut | None) -> bool:
        """One pass of the loop; says whether there is a next one."""
        started = time.perf_counter()
        schemes = SCHEMES[self.settings.weak_learner]
        scheme = schemes[(t - 1) % len(schemes)]
        climb = self._weak_learner(t, scheme)
        if climb is None:
            return False
        r = min(self._r(climb), 1.0 - 0.5 / self.seeds.count)
        alpha = 0.5 * exact.log((1.0 + r) / (1.0 - r))
        clauses, gains = _hypothesis(climb, scheme.keeps_path, self.settings.excess)
        depth = self.weights.update([clause.covered for clause in clauses], gains, alpha)
        self.result.cells.add(depth, gains, alpha)
        voter = self._voter(clauses, gains, alpha)
        self.result.voters.append(voter)
        row: dict[str, Any] = {"round": t, "rule": str(voter.clauses[-1]), "clauses": len(voter.clauses), "r": r, "alpha": alpha}
        row |= {"tp": climb.points[-1].tp, "fp": climb.points[-1].fp}
        row |= {"clauses_evaluated": self.budget.evaluated, "aurpc": self.result.cells.aurpc()}
        try:
            if held_out is not None:
                row |= held_out(voter)
        finally:
            row["seconds"] = time.perf_counter() - started
            self.result.history.append(row)
        stops = [callback(row) is True for callback in self.settings.callbacks]
        return not (any(stops) or _is_perfect(climb) or self.budget.is_spent)

    def _weak_learner(self, t: int, scheme: Scheme) -> Climb | None:
        """The best climb of `n_seeds` seeds; as long as none moves weight another seed is drawn, at most 20 times."""
        n_seeds, weights = self.settings.n_seeds, self.weights
        if (t - 1) % AT_ONCE == 0:
            coming = range(t, min(t + AT_ONCE, self.settings.rounds + 1))
            self.engine.expect([seed for k in coming for seed in islice(self.seeds.in_order(k), n_seeds)])
        search = SeededSearch(self.engine, weights.units, self.y, weights.points, scheme.objective, self.settings.max_literals, self.budget)
        best: Climb | None = None
        for drawn, seed in enumerate(self.seeds.in_order(t), 1):
            climb = search.climb(seed)
            if not climb.clauses[-1].covered.all() and (best is None or climb.score > best.score):
                best = climb
            if (drawn >= n_seeds and best is not None) or drawn >= n_seeds + REDRAWS or self.budget.is_spent:
                break
        return best

    def _r(self, climb: Climb) -> float:
        """The score of the weak hypothesis, or with `chance_corrected` the part of it above that of the empty clause."""
        if not self.settings.chance_corrected:
            return climb.score
        chance = 1.0 / (1.0 + self.weights.skew)
        return max(climb.score - chance, 0.0) / (1.0 - chance)

    def _voter(self, clauses: Sequence[Position], gains: Sequence[float], alpha: float) -> Voter:
        outlines = [clause.outline for clause in clauses]
        ordered = tuple(_ordered(self.problem.clause(outline, self.positive)) for outline in outlines)
        return Voter(ordered, tuple(map(self.problem.coverage, outlines)), tuple(gains), alpha)


def _hypothesis(climb: Climb, keeps_path: bool, excess: bool) -> tuple[list[Position], list[float]]:
    """The clauses that the weak hypothesis keeps, and how much each raises h."""
    if not keeps_path:
        return climb.clauses[-1:], [1.0]
    return climb.clauses[1:], np.diff(levels(climb.points, excess)).tolist()


def _ordered(clause: Clause) -> Clause:
    """The clause with the tests of each literal in order, so that clauses found by other ways are equal."""
    body = (replace(literal, tests=tuple(sorted(literal.tests, key=str))) for literal in clause.body)
    return replace(clause, body=tuple(body))


def _is_perfect(climb: Climb) -> bool:
    """Whether the best clause covers all of the positive weight and none of the negative: nothing is left to rank."""
    return climb.points[-1].fp == 0.0 and climb.points[-1].tp == climb.points[0].tp


class _Seeds:
    """The positive examples in random order, one of each content, an example of weight 2 being drawn as two would be."""

    def __init__(self, problem: Problem, y: NDArray[np.int32], seed: int) -> None:
        at = np.flatnonzero(y == 1)
        self.content, first, inverse = np.unique(problem.content[at], return_index=True, return_inverse=True)
        self.example = at[first]
        self.mass = np.bincount(inverse, weights=problem.weights[at])
        self.seed = seed
        self.count = max(float(at.size), math.fsum(problem.weights[at]))

    def in_order(self, t: int) -> Iterator[int]:
        """Seeds of round t: the smallest of independent exponential times with the masses as rates, then the next, …"""
        times = -exact.log1ps(-uniform(example_hash(self.seed, t, self.content))) / self.mass
        return (int(self.example[k]) for k in np.argsort(times, kind="stable"))
