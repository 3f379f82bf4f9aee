"""Greedy top-down search: from the empty body, refinement after refinement, while the objective grows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hornboost.engine import Engine, Look, Numbers, Refinement, State, Visible, with_negations

Objective = Callable[[NDArray[np.int64]], NDArray[np.float64]]
"""Weight by candidate and class, or other statistics → score by candidate."""


@dataclass(frozen=True, eq=False, slots=True)
class Grown:
    """The states after each refinement, how many clauses were scored to get there, and the score of the last one.

    `first` is what was seen from the empty clause.
    """

    states: tuple[State, ...]
    scored: int
    score: float
    first: Look | None = None


def grow(
    engine: Engine,
    weights: NDArray[np.int64],
    classes: NDArray[np.int32],
    n_classes: int,
    objective: Objective,
    *,
    start: float,
    goes_on: Callable[[NDArray[np.int64]], bool],
    max_literals: int,
    visible: Visible | None = None,
) -> Grown:
    """`grow_by` the weight covered by class; `goes_on` looks at it and says whether there is anything left to gain."""
    return grow_by(
        engine,
        Numbers(n_classes, weights, classes),
        engine.covered_weight(engine.root(), weights, classes, n_classes),
        objective,
        start=start,
        goes_on=goes_on,
        max_literals=max_literals,
        visible=visible,
    )


def grow_by(
    engine: Engine,
    numbers: Numbers,
    total: NDArray[np.int64],
    objective: Objective,
    *,
    start: float,
    goes_on: Callable[[NDArray[np.int64]], bool],
    max_literals: int,
    worth: float = 0.0,
    visible: Visible | None = None,
    seen: Look | None = None,
) -> Grown:
    """Refine the empty clause by the best candidate while that improves on the score before (`start` at first).

    From the second on a refinement must improve it by more than `worth`. `numbers` are summed up for all candidates,
    `total` are the sums of the empty clause. `goes_on` looks at those of the clause so far and says whether there is
    anything left to gain. `seen` is what was seen of the same numbers from the empty clause, where more was visible.
    """
    state, covered = engine.root(), total
    step: Refinement | None = None
    states: list[State] = []
    best, scored = start, 0
    first: Look | None = None if seen is None else engine.look_again(seen, visible)
    while len(states) + (step is not None) < max_literals and goes_on(covered):
        look = first if first is not None and step is None else engine.look(state, step, numbers, visible, first)
        first = look if first is None else first
        if visible is not None and visible.negations:
            look = with_negations(look, total)
        state, frontier, stats = look
        if step is not None:
            states.append(state)
            step = None
        if len(frontier) == 0:
            break
        scored += len(frontier)
        scores = objective(stats)
        candidate = int(scores.argmax())
        score = float(scores[candidate])
        if not score > best + (worth if states else 0.0):
            break
        is_best = scores == score
        if np.count_nonzero(is_best) > 1:
            candidate = frontier.first(np.flatnonzero(is_best))
        step = frontier.refinement(candidate)
        best, covered = score, stats[candidate]
    if step is not None:
        states.append(engine.refine(state, step))
    return Grown(tuple(states), scored, best, first)
