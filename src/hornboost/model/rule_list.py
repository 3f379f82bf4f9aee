"""Rules as a list that shows itself: lines of votes and clauses on a terminal, a table in a notebook."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import SupportsIndex, overload

from hornboost.model.ensemble import Rule
from hornboost.model.notebook import MOST_SHOWN, code, table


class Rules(list[Rule]):
    """The rules of an ensemble, with the names of its classes.

    Examples
    --------
    >>> from hornboost.logic.clause import Clause
    >>> Rules([Rule(Clause.parse('east="1" :- train(cars>=3).'), (1.5,), (), (2.0, 8.0))], ("0", "1"))
    +1.500  east="1" :- train(cars>=3).
    """

    def __init__(self, rules: Iterable[Rule], classes: Sequence[str]) -> None:
        super().__init__(rules)
        self.classes = tuple(classes)

    @overload
    def __getitem__(self, at: SupportsIndex) -> Rule: ...
    @overload
    def __getitem__(self, at: slice) -> Rules: ...
    def __getitem__(self, at: SupportsIndex | slice) -> Rule | Rules:
        return Rules(super().__getitem__(at), self.classes) if isinstance(at, slice) else super().__getitem__(at)

    def __repr__(self) -> str:
        if not self.classes:  # the heads tell what rules add to a number
            return "\n".join(str(rule.clause) for rule in self) or "no rules"
        return "\n".join(f"{rule.confidence(self.classes):+.3f}  {rule.clause}" for rule in self) or "no rules"

    def _repr_html_(self) -> str:
        titles = [f"covers {name}" for name in self.classes] or ["covers", "mean", "mean of others"]
        return table(["vote", "rule", *titles], map(self._row, self[:MOST_SHOWN]), len(self))

    def _row(self, rule: Rule) -> list[str]:
        figures = [f"{figure:,.6g}" for figure in (*rule.coverage, *rule.means)]
        return [f"{rule.confidence(self.classes):+.3f}", code(rule.clause), *figures]


def rule_text(rule: Rule) -> str:
    """One rule as it prints: its clause, and after the sign of a comment its votes and the weight that it covers.

    >>> from hornboost.logic.clause import Clause
    >>> print(Rule(Clause.parse('east="1" :- train(cars>=3).'), (1.5,), (-0.25,), (2.0, 8.0)))
    east="1" :- train(cars>=3).  % votes +1.500, or -0.250 where it does not hold; covers 2, 8
    """
    return f"{rule.clause}  % {_figures(rule)}"


def rule_html(rule: Rule) -> str:
    """The same for a notebook."""
    return f"<div>{code(rule.clause)}<br>{_figures(rule)}</div>"


def _figures(rule: Rule) -> str:
    votes, otherwise = (", ".join(f"{vote:+.3f}" for vote in cell) for cell in (rule.votes, rule.otherwise))
    beside = f", or {otherwise} where it does not hold" if any(rule.otherwise) else ""
    covered = ", ".join(f"{weight:,.6g}" for weight in rule.coverage)
    return f"votes {votes}{beside}" + (f"; covers {covered}" if covered else "")
