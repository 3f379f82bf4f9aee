"""How the set of active features evolves: V1–V16 (Hoche and Wrobel 2003, Table 1) and the baseline, as five switches.

The printed table gives group I as V1–V2, II as V3–V6, III as V7–V8, IV as V9–V12 and V as V13–V16; section 4 of the
paper says the same. Features are numbers; lists of them stand in their initial order by mutual information, which
breaks every tie.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any
from typing import Literal as Choice

import numpy as np
from numpy.typing import ArrayLike, NDArray

__all__ = ["STRATEGIES", "Change", "FeatureSet", "Strategy", "considered_masses", "evolve", "ranked"]

Features = NDArray[np.int64]
InformationOf = Callable[[Features], ArrayLike]
"""Candidates → the mutual information of each with the class, under the considered masses."""
Conditional = Callable[[int, Features], ArrayLike]
"""(F_k, candidates) → CMI(C, F_j|F_k) of each candidate F_j."""

_DIGITS = 12
"""Information is compared to this many decimals, so that equal features tie whatever the order of summation."""


@dataclass(frozen=True, slots=True)
class Strategy:
    """One row of Table 1. The criterion `initial` is the order found once, before the first round (C²RIB^D)."""

    features: Choice["remaining", "all"]
    examples: Choice["all", "misclassified"]
    criterion: Choice["initial", "MI", "CMI"]
    evolution: Choice["add 1", "substitute n, add 1", "substitute 1", "substitute 2"]
    repartition: bool


STRATEGIES: dict[str, Strategy] = {
    "margin": Strategy("remaining", "all", "initial", "add 1", False),
    "V1": Strategy("remaining", "all", "MI", "add 1", False),
    "V2": Strategy("remaining", "misclassified", "MI", "add 1", False),
    "V3": Strategy("remaining", "all", "MI", "add 1", True),
    "V4": Strategy("remaining", "misclassified", "MI", "add 1", True),
    "V5": Strategy("all", "all", "MI", "substitute n, add 1", True),
    "V6": Strategy("all", "misclassified", "MI", "substitute n, add 1", True),
    "V7": Strategy("all", "all", "MI", "substitute 1", True),
    "V8": Strategy("all", "misclassified", "MI", "substitute 1", True),
    "V9": Strategy("remaining", "all", "CMI", "add 1", True),
    "V10": Strategy("remaining", "misclassified", "CMI", "add 1", True),
    "V11": Strategy("all", "all", "CMI", "add 1", True),
    "V12": Strategy("all", "misclassified", "CMI", "add 1", True),
    "V13": Strategy("remaining", "all", "CMI", "substitute 2", True),
    "V14": Strategy("remaining", "misclassified", "CMI", "substitute 2", True),
    "V15": Strategy("all", "all", "CMI", "substitute 2", True),
    "V16": Strategy("all", "misclassified", "CMI", "substitute 2", True),
}


@dataclass(frozen=True, slots=True)
class FeatureSet:
    """The active features.

    The last activated stands at the end. All that were ever active are kept, too, and how many were requested, counting
    repeats.
    """

    active: tuple[int, ...]
    seen: frozenset[int]
    requested: int

    @classmethod
    def start(cls, order: Sequence[int]) -> FeatureSet:
        """The top two features of the initial order.

        >>> FeatureSet.start([4, 2, 7])
        FeatureSet(active=(4, 2), seen=frozenset({2, 4}), requested=2)
        """
        top = tuple(int(feature) for feature in order[:2])
        return cls(top, frozenset(top), len(top))


@dataclass(frozen=True, slots=True)
class Change:
    """The log of one request: the features chosen, and which of them came and which features went."""

    chosen: tuple[int, ...]
    added: tuple[int, ...]
    removed: tuple[int, ...]


def evolve(
    strategy: Strategy, current: FeatureSet, order: Sequence[int], information: InformationOf, conditional: Conditional
) -> tuple[FeatureSet, Change]:
    """Answer one request for a feature.

    Nothing is chosen when nothing remains; a choice that is active already changes nothing.

    >>> mi = np.array([0.5, 0.4, 0.1, 0.3])
    >>> features, change = evolve(
    ...     STRATEGIES["V1"], FeatureSet.start([0, 1, 2, 3]), [0, 1, 2, 3], lambda c: mi[c], lambda k, c: mi[c]
    ... )
    >>> features.active, change.added
    ((0, 1, 3), (3,))
    """
    candidates = _candidates(strategy, current, order)
    if len(candidates) == 0:
        return current, Change((), (), ())
    chosen, active = _choose(strategy, current, candidates, order, information, conditional)
    added = tuple(feature for feature in active if feature not in current.active)
    removed = tuple(feature for feature in current.active if feature not in active)
    if not added and not removed:
        return current, Change(chosen, (), ())
    return FeatureSet(active, current.seen.union(active), current.requested + len(added)), Change(
        chosen, added, removed
    )


def ranked(candidates: Features, scores: ArrayLike) -> list[int]:
    """The candidates from the best score to the worst; equal ones (and those without a score, last) as they stood.

    >>> ranked(np.array([3, 1, 2]), [0.1, 0.5, 0.1])
    [1, 3, 2]
    """
    score = np.nan_to_num(np.round(np.asarray(scores, dtype=np.float64), _DIGITS), nan=-np.inf)
    return [int(feature) for feature in candidates[np.argsort(-score, kind="stable")]]


def considered_masses(strategy: Strategy, weights: NDArray[Any], y: ArrayLike, votes: ArrayLike) -> NDArray[Any]:
    """The weights of the examples that the strategy considers, 0 for the others.

    `y` is ±1, `votes` the ensemble's sums.

    An ensemble predicts the positive class where the sum is positive. When fewer than two classes are misclassified,
    all examples count.

    >>> considered_masses(STRATEGIES["V2"], np.array([0.1, 0.2, 0.3, 0.4]), [1, 1, -1, -1], [0.5, -0.5, 0.5, -0.5])
    array([0. , 0.2, 0.3, 0. ])
    """
    if strategy.examples == "all":
        return weights
    positive = np.asarray(y) > 0
    wrong = positive != (np.asarray(votes) > 0.0)
    weighed = wrong & (weights > 0)
    if not (weighed & positive).any() or not (weighed & ~positive).any():
        return weights
    return np.where(wrong, weights, weights.dtype.type(0))


def _candidates(strategy: Strategy, current: FeatureSet, order: Sequence[int]) -> Features:
    everything = [int(feature) for feature in order]
    if strategy.features == "all":
        return np.array(everything, dtype=np.int64)
    remaining = [feature for feature in everything if feature not in current.seen]
    if strategy.evolution == "substitute 2" and len(remaining) < 2:
        remaining = [feature for feature in everything if feature not in current.active]
    return np.array(remaining, dtype=np.int64)


def _choose(
    strategy: Strategy,
    current: FeatureSet,
    candidates: Features,
    order: Sequence[int],
    information: InformationOf,
    conditional: Conditional,
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The features chosen, and the active set that follows."""
    active = current.active
    if strategy.criterion == "initial":
        ranking = [int(feature) for feature in candidates]
    elif strategy.criterion == "CMI" and strategy.evolution == "add 1":
        ranking = ranked(candidates, conditional(active[-1], candidates))
    else:
        ranking = ranked(candidates, information(candidates))
    if strategy.evolution == "add 1":
        best = ranking[0]
        return (best,), active if best in active else (*active, best)
    if strategy.evolution == "substitute n, add 1":
        top = tuple(ranking[: len(active) + 1])
        return top, top
    if strategy.evolution == "substitute 1":
        inactive = [feature for feature in ranking if feature not in active][:1]
        if not inactive:
            return (), active
        worst = [feature for feature in ranking if feature in active][-1]
        return tuple(inactive), (*(feature for feature in active if feature != worst), *inactive)
    best = ranking[0]
    pool = candidates if len(candidates) > 1 else np.array(order, dtype=np.int64)
    others = pool[pool != best]
    pair = (best, *ranked(others, conditional(best, others))[:1])
    return pair, pair
