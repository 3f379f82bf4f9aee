"""Rules in words and numbers: what each asks for, how it votes, and whom it covers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from markupsafe import Markup
from numpy.typing import NDArray

from hornboost.logic.aggregate import Operand
from hornboost.logic.clause import Clause, Literal, Test
from hornboost.logic.duration import is_duration, microseconds_of
from hornboost.model.ensemble import Ensemble, Rule
from hornboost.report.charts import bar_of_shares
from hornboost.report.text import CELL, RULE, name, number, shown

MOST_CONDITIONS = 40


@dataclass(frozen=True)
class Line:
    """One literal of a rule in words.

    `depth` joins away from the example, `conditions` as (column, comparison, value).
    """

    depth: int
    table: str
    via: str
    conditions: Sequence[tuple[str, str, str]]
    n_more: int = 0


@dataclass(frozen=True)
class Card:
    """A rule as the page shows it."""

    number: int
    text: str
    lines: Sequence[Line]
    unequal: Sequence[tuple[str, str]]
    predicts: str
    css: str
    vote: float
    otherwise: float
    covered: float
    share: float
    precision: float
    lift: float
    length: int
    origin: str
    bar: Markup
    coverage: Sequence[tuple[str, str]]
    tables: Sequence[str]
    means: tuple[str, str] | None = None
    """Where numbers are predicted: the means of the labels covered and not covered."""


def rule_cards(
    ensemble: Ensemble, about: int, coverage: NDArray[np.float64], totals: NDArray[np.float64]
) -> list[Card]:
    """The rules of an ensemble.

    `coverage` counts the covered examples of each class (a row a rule), `totals` all of them.

    `about` is the place of the one of two classes that is looked for.
    """
    css = [class_css(k, len(ensemble.classes), about) for k in range(len(ensemble.classes))]
    pairs = zip(ensemble.rules, coverage.tolist(), strict=True)
    return [
        _card(number, rule, ensemble.classes, css, covered, totals.tolist())
        for number, (rule, covered) in enumerate(pairs, start=1)
    ]


def rule_lines(clause: Clause) -> list[Line]:
    """The body in words, each literal below the one that it is joined with.

    >>> for line in rule_lines(Clause.parse('y="1" :- a(id=K, x>=1), b(a=K, c=C), c(c=C, kind="u").')):
    ...     print(line.depth, line.table, line.via, line.conditions)
    0 a  [('x', '≥', '1')]
    1 b same id []
    2 c same c [('kind', '=', 'u')]
    """
    first: dict[str, tuple[int, str]] = {}
    depths: list[int] = []
    lines = []
    for position, literal in enumerate(clause.body):
        parents = [first[variable] for _, variable in literal.bindings if variable in first]
        depth = 0 if position == 0 else 1 + max((depths[at] for at, _ in parents), default=0)
        depths.append(depth)
        lines.append(_line(literal, depth, [column for _, column in parents]))
        for column, variable in literal.bindings:
            first.setdefault(variable, (position, column))
    return lines


def class_css(place: int, n: int, about: int = 1) -> str:
    """The colour of a class; of two, `about` is the one that is looked for."""
    return ("neg", "pos")[place == about] if n == 2 else f"c{place % 6}"


def _line(literal: Literal, depth: int, joined: Sequence[str]) -> Line:
    via = (
        "same " + " and ".join(name(column) for column in dict.fromkeys(joined))
        if joined
        else "anywhere"
        if depth
        else ""
    )
    conditions = _conditions(literal.tests)
    return Line(depth, name(literal.table), via, conditions[:MOST_CONDITIONS], len(conditions) - MOST_CONDITIONS)


def _conditions(tests: Sequence[Test]) -> list[tuple[str, str, str]]:
    """The tests on one row in words; bounds on the same column are one interval, the tightest of them.

    >>> _conditions([Test("x", ">=", 1.0), Test("x", "<=", 9.0), Test("x", ">=", 2.0), Test("y", "=", "u")])
    [('x', 'from', '2 to 9'), ('y', '=', 'u')]
    """
    found: dict[tuple[Operand, str], tuple[str, str, str]] = {}
    for test in tests:
        shown_name = name(str(test.column))
        bounds = {
            op: [t.value for t in tests if t.column == test.column and t.op == op and t.value is not None]
            for op in (">=", "<=")
        }
        low, high = max(bounds[">="], default=None, key=_order), min(bounds["<="], default=None, key=_order)
        if test.op == "missing":
            found[test.column, "missing"] = (shown_name, "is", "missing")
        elif test.op == "=":
            found[test.column, f"={test.value}"] = (shown_name, "=", shown(test.value, CELL))
        elif test.op == "!=":
            found[test.column, f"!={test.value}"] = (shown_name, "is not", shown(test.value, CELL))
        elif low is not None and high is not None:
            interval = (
                (shown_name, "=", shown(low)) if low == high else (shown_name, "from", f"{shown(low)} to {shown(high)}")
            )
            found[test.column, "interval"] = interval
        else:
            found[test.column, "interval"] = (
                shown_name,
                "≥" if high is None else "≤",
                shown(low if high is None else high),
            )
    return list(found.values())


def _order(value: str | float) -> tuple[str, float]:
    """Dates are compared as ISO text, numbers as numbers, ages as lengths of time; a column has one kind of them."""
    if isinstance(value, str) and is_duration(value):
        return "", microseconds_of(value)
    return (value, 0.0) if isinstance(value, str) else ("", value)


def _card(
    place: int,
    rule: Rule,
    classes: Sequence[str],
    css: Sequence[str],
    coverage: Sequence[float],
    totals: Sequence[float],
) -> Card:
    k = list(classes).index(rule.clause.head.value)
    everything, covered = sum(totals), sum(coverage)
    precision = coverage[k] / covered if covered else 0.0
    prior = totals[k] / everything if everything else 0.0
    order = [k, *(j for j in range(len(classes)) if j != k)]
    shares = [(coverage[j] / max(everything, 1), css[j], f"{name(classes[j])}: {number(coverage[j])}") for j in order]
    label = (
        f"covers {covered / everything:.1%} of the examples, {precision:.1%} of them of class {name(classes[k])}"
        if everything
        else ""
    )
    otherwise = Rule(rule.clause, rule.otherwise).confidence(classes) if rule.otherwise else 0.0
    return Card(
        number=place,
        text=shown(str(rule.clause), RULE),
        lines=rule_lines(rule.clause),
        unequal=[(name(a), name(b)) for a, b in rule.clause.unequal],
        predicts=name(rule.clause.head.value),
        css=css[k],
        vote=rule.confidence(classes),
        otherwise=otherwise,
        covered=covered,
        share=covered / everything if everything else 0.0,
        precision=precision,
        lift=precision / prior if prior else 0.0,
        length=rule.clause.length,
        origin=rule.origin,
        bar=bar_of_shares(shares, label),
        coverage=[(name(classes[j]), number(weight)) for j, weight in enumerate(coverage)],
        tables=sorted(
            {name(literal.table) for literal in rule.clause.body}
            | {name(step.table) for aggregate in rule.clause.aggregates for step in aggregate.path}
        ),
    )
