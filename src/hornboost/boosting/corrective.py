"""Corrective boosting: with each new clause the votes of all are fitted again, so that few rules say much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hornboost.boosting.descent import Change, Descent
from hornboost.engine import State
from hornboost.engine.tree import Spec
from hornboost.learners.hypotheses import Floats
from hornboost.learners.newton import Derivatives
from hornboost.learners.newton_kernels import move
from hornboost.model.votes import in_steps

SWEEPS = 3
"""How often the votes of all clauses are stepped in turn after a clause is found."""

RIDGE = 4.0
"""Votes that are fitted together are held back more than those that take one step: λ times this."""

MOST_RULES = 50
"""Fitting the votes again takes time in proportion to their number, and with many rules it helps no more."""


@dataclass(eq=False, slots=True)
class Fitted:
    """A clause and its votes so far, a row a cell."""

    state: State
    table: Floats


class Corrective(Descent):
    """Descent in which all clauses found so far take further steps, in turn, after each new one."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.max_rules = min(self.max_rules, MOST_RULES)
        self.fitted: dict[tuple[Spec, ...], Fitted] = {}

    def _move(self, state: State, derivatives: Derivatives, weights: Floats, l2: float) -> list[Change]:
        if state.specs not in self.fitted:
            self.fitted[state.specs] = Fitted(state, np.zeros((2, self.scores.shape[1])))
        rules = list(self.fitted.values())[::-1]
        before = [np.array(rule.table) for rule in rules]
        l2 *= RIDGE
        for _ in range(SWEEPS):
            for rule in rules:
                gradient, hessian = self._derivatives(weights).cells(rule.state.covered)
                change = in_steps(self.loss.steps(gradient + l2 * rule.table, hessian, l2))
                move(self.scores, change, rule.state.covered)
                rule.table += change
        return [(rule.state, rule.table - old) for rule, old in zip(rules, before, strict=True)]
