"""How much rules, and the columns that they look at, move the scores of the training examples."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hornboost.errors import ModelError, did_you_mean
from hornboost.logic.aggregate import Aggregate, Route
from hornboost.logic.clause import Clause
from hornboost.logic.text import print_path
from hornboost.model.ensemble import Rule

if TYPE_CHECKING:
    import pandas as pd

Floats = NDArray[np.float64]


def influences(rules: Iterable[Rule], weight: float | None) -> Floats:
    """The standard deviation of what each rule adds to the score of a training example.

    With p the share of the examples that it covers, that is the difference that it makes times √(p(1 − p)). Where there
    are several scores, the difference is that between the two that part most. Files of older versions do not tell the
    `weight` of all training examples: what is left out then, √(1 − p), hardly matters for rules that cover few.

    >>> clause = Clause.parse('y="1" :- t(x>=1).')
    >>> influences([Rule(clause, (2.0,), (), (5.0, 45.0)), Rule(clause, (8.0,), (), (0.0, 1.0))], 100.0).round(2)
    array([1. , 0.8])
    """
    return np.array([_difference(rule) * _spread(sum(rule.coverage), weight) for rule in rules], np.float64)


def _difference(rule: Rule) -> float:
    gain = np.asarray(rule.votes) - np.asarray(rule.otherwise or (0.0,) * len(rule.votes))
    return float(abs(gain[0]) if gain.size == 1 else gain.max() - gain.min())


def _spread(covered: float, weight: float | None) -> float:
    if weight is None or not weight > 0:
        return float(np.sqrt(covered))
    share = min(covered / weight, 1.0)
    return float(np.sqrt(share * (1.0 - share)))


def in_order(frame: pd.DataFrame, sort: str | None) -> pd.DataFrame:
    """A table of rules by a column of numbers, the largest in absolute value first; None leaves it as it is."""
    if sort is None or frame.empty:  # where there is no rule, no column has a type
        return frame
    known = [name for name in frame.columns if frame[name].dtype.kind in "if"]
    if sort not in known:
        raise ModelError(f"sort: the rules have no column of numbers '{sort}'{did_you_mean(sort, known)}")
    return frame.iloc[(-frame[sort].abs()).argsort(kind="stable")].reset_index(drop=True)


def importances(rules: Sequence[Rule], weight: float | None) -> pd.DataFrame:
    """The influence of the rules, shared evenly by the columns that each looks at, as parts of one; largest first.

    A rule that asks for nothing but rows of a table shares its influence with that table, whose column is missing.
    """
    import pandas as pd

    found: dict[tuple[str, str | None], float] = {}
    for rule, influence in zip(rules, influences(rules, weight), strict=True):
        places = list(dict.fromkeys(_places(rule.clause)))
        for place in places:
            found[place] = found.get(place, 0.0) + float(influence) / len(places)
    total = sum(found.values()) or 1.0
    rows = [(table, column, value / total) for (table, column), value in found.items()]
    rows.sort(key=lambda row: (-row[2], row[0], row[1] or ""))
    return pd.DataFrame(rows, columns=["table", "column", "importance"])


def column_importances(
    rules: Sequence[Rule], weight: float | None, columns: Sequence[str], routes: Mapping[str, Route]
) -> Floats:
    """The same for the columns of the examples alone: what is asked of other tables counts for the keys on the way.

    `routes` say what the paths of aggregates mean.
    """
    place, found = {name: k for k, name in enumerate(columns)}, np.zeros(len(columns))
    for rule, influence in zip(rules, influences(rules, weight), strict=True):
        asked = dict.fromkeys(_own_columns(rule.clause, routes))
        known = [place[name] for name in asked if name in place]
        found[known] += float(influence) / max(len(known), 1)
    total = found.sum()
    return found / total if total else found


def _places(clause: Clause) -> Iterable[tuple[str, str | None]]:
    """The table and column of each condition; tables of which nothing but a row is asked for."""
    for literal in clause.body:
        for test in literal.tests:
            if isinstance(test.column, Aggregate):
                yield from _aggregated(test.column)
            else:
                yield literal.table, test.column
        if not literal.tests and literal is not clause.body[0]:
            yield literal.table, None


def _aggregated(aggregate: Aggregate) -> Iterable[tuple[str, str | None]]:
    asked = [aggregate.column, *(named[0] for named in (aggregate.where, aggregate.within) if named is not None)]
    columns: list[str | None] = [name for name in asked if name is not None]
    yield from ((aggregate.table, name) for name in columns or [None])


def _own_columns(clause: Clause, routes: Mapping[str, Route]) -> Iterable[str]:
    """The columns of the target's literal that conditions look at, or through which they are reached."""
    root, *others = clause.body
    keys: dict[str, list[str]] = {}
    for column, variable in root.bindings:
        keys.setdefault(variable, []).append(column)
    for test in root.tests:
        if isinstance(test.column, Aggregate):
            yield routes[print_path(test.column.path)][0].before
        else:
            yield test.column
    for literal in others:
        for variable in _reached(literal.variables, [other.variables for other in others], keys):
            yield from keys[variable]


def _reached(start: Sequence[str], links: Sequence[Sequence[str]], ends: Mapping[str, object]) -> list[str]:
    """The variables of the target from which others are reached, without going through the target's own."""
    seen, ahead = set(start), [variable for variable in start if variable not in ends]
    while ahead:
        variable = ahead.pop()
        for linked in links:
            if variable in linked:
                new = set(linked) - seen
                seen |= new
                ahead += [other for other in new if other not in ends]
    return [variable for variable in ends if variable in seen]
