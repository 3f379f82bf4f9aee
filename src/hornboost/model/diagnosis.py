"""Why nothing could be learned, in sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from hornboost.data.distances import about_unreached
from hornboost.data.table import Column
from hornboost.engine import Engine
from hornboost.engine.needs import EVERY_WAY
from hornboost.engine.paths import left_out
from hornboost.errors import counted, warn_caller
from hornboost.learners.problem import Problem
from hornboost.model.ensemble import Ensemble

FEW = 5
"""Examples of a class below which there is too little to learn from and to prune on."""


class UnreachedWarning(UserWarning):
    """There are tables that no rule could look at."""


class JoinsLeftOutWarning(UserWarning):
    """A model was learned without joins that do not fit into the memory."""


class WideJoinsWarning(UserWarning):
    """A fit takes long because of joins that are followed only since a depth was asked for."""


class Ends(NamedTuple):
    """The smallest and the largest value of a column, NaN where there is none, and whether some are missing."""

    low: float
    high: float
    missing: bool


class NothingLearnedWarning(UserWarning):
    """A fit ended without a rule; the message says why."""


def warn_if_empty(ensemble: Ensemble, problem: Problem, limit: str | None = None, why: str | None = None) -> None:
    """Say why nothing was learned where there is no rule.

    `limit` is the parameter that ended the search, if one did; `why` the reason, if it is known.
    """
    if not ensemble.rules:
        known = [] if why is None else [why, *_about_limits(problem)]
        found = [f"the search reached its {limit}; allow more"] if limit is not None else known or diagnose(problem)
        reason = "; ".join(found)
        warn_caller(f"no rule was learned: {reason}", NothingLearnedWarning)


def diagnose(problem: Problem) -> list[str]:
    """What stands in the way of learning a rule, the plainest reason first; a fit without rules always has one.

    >>> import hornboost as hb, numpy as np
    >>> from hornboost.boosting.c2rib import C2RIBClassifier
    >>> problem = C2RIBClassifier()._problem(np.zeros((10, 2)), [0, 1] * 5, None)
    >>> diagnose(problem)
    ["no attribute varies: every visible column has one value (or none) on all examples' rows"]
    """
    about_labels = _about_classes if problem.labels else _about_numbers
    if problem.classes.max(initial=0) == 0:
        return about_labels(problem)
    reasons = [*about_labels(problem), *_about_tables(problem), *_about_limits(problem)]
    if not reasons:
        reasons.append(
            f"no condition that rules may state separates the {'classes' if problem.labels else 'numbers'} better "
            "than guessing; try other columns or more depth"
        )
    return reasons


def _about_classes(problem: Problem) -> list[str]:
    counts = np.bincount(problem.classes, minlength=len(problem.labels))
    if len(problem.labels) == 1:
        return [f'all {problem.n} examples are of class "{problem.labels[0]}"; there is nothing to tell apart']
    few = [(name, int(count)) for name, count in zip(problem.labels, counts, strict=True) if count < FEW]
    return [
        f'there are too few examples of class "{name}" ({count}) to learn and prune rules on' for name, count in few
    ]


def _about_numbers(problem: Problem) -> list[str]:
    if problem.classes.max(initial=0) > 0:
        return []
    return [f"the labels of all {problem.n} examples are equal; there is nothing to tell apart"]


def _about_tables(problem: Problem) -> list[str]:
    database, examples = problem.database, problem.examples
    joined = [name for name in _joined_tables(problem) if name != examples.name]
    others = [table for name, table in database.tables.items() if name != examples.name]
    attributes = [_ends(column) for column in examples.attributes] + _ends_behind(problem, joined)
    reasons = []
    if others and not examples.keys:
        reasons.append(
            f"the target table '{examples.name}' has no key column, so no other table can be joined; declare its keys"
        )
    elif others and not joined:
        names = ", ".join(f"'{table.name}'" for table in others[:5])
        reasons.append(f"no link leads from table '{examples.name}' to {names}; declare foreign keys between them")
    elif others and not any(problem.engine.ask(_reaches_some, joined)):
        reasons.append(
            "the keys of the examples occur in no row of another table; "
            f"check how the keys of '{examples.name}' are spelled"
        )
    if not attributes and not joined:
        reasons.append("no table that the examples reach has an attribute; add columns that are not keys")
    elif not attributes:
        reasons.append(
            "the tables hold keys only, and no join that rules may follow tells the examples apart; raise max_depth, "
            "or add columns that are not keys"
        )
    elif not any(low < high or (low == high and missing) for low, high, missing in attributes):
        reasons.append("no attribute varies: every visible column has one value (or none) on all examples' rows")
    return reasons


def _about_limits(problem: Problem) -> list[str]:
    engine = problem.engine
    wide = left_out(engine, engine.max_depth) if engine.ways != EVERY_WAY else {}
    return [*([about_refused(engine)] if engine.refused else []), *(f"{name}: {why}" for name, why in wide.items())]


def about_refused(engine: Engine) -> str:
    """That joins were left out, and the one that reaches most rows."""
    joins, count = max(engine.refused.items(), key=lambda item: item[1])
    path = " -> ".join(f"{join.table}.{join.column}" for join in joins)
    divide = "divide the database" if engine.database.given_facts is None else "make more partitions"
    were = "1 join was" if len(engine.refused) == 1 else f"{len(engine.refused)} joins were"
    return (
        f"{were} left out because there is memory for {engine.most_entries:,} of the rows that a join reaches ({path} "
        f"reaches {count:,}); raise memory_limit, or {divide} with 'hornboost partition'"
    )


def warn_if_refused(engine: Engine) -> None:
    """Say once in a fit that the model was learned without some joins."""
    if engine.refused:
        warn_caller(f"{about_refused(engine)} (see refused_)", JoinsLeftOutWarning)


def warn_if_wide(found: Mapping[str, int], max_depth: int) -> None:
    """Say once in a fit why it takes long."""
    if found:
        where, count = max(found.items(), key=lambda item: item[1])
        others = f" (and {counted(len(found) - 1, 'other join')})" if len(found) > 1 else ""
        warn_caller(
            f"max_depth={max_depth} has every round look at {count:,} rows of {where}{others}, which takes long; leave "
            "it out, and such joins are not followed, or declare the column nominal",
            WideJoinsWarning,
        )


def warn_if_unreached(missed: Mapping[str, str], target: str, max_depth: int) -> None:
    """Say once in a fit which tables no rule could look at; that it should look at none is said by whoever says 0."""
    if missed and max_depth > 0:
        warn_caller("; ".join(about_unreached(missed, target, max_depth)), UnreachedWarning)


def _joined_tables(problem: Problem) -> list[str]:
    """The tables that joins lead to from the examples, in any number of steps."""
    tables = problem.database.tables
    domains = {column.domain for column in problem.examples.keys}
    found: list[str] = []
    while True:
        new = [
            name
            for name, table in tables.items()
            if name not in found and domains & {column.domain for column in table.keys}
        ]
        if not new:
            return found
        found += new
        domains |= {column.domain for name in new for column in tables[name].keys}


def _reaches_some(engine: Engine, joined: Sequence[str]) -> bool:
    """Whether a key of the examples occurs in some row of other tables."""
    return any(
        own.domain == other.domain and np.isin(own.codes[own.codes >= 0], other.codes).any()
        for own in engine.examples.keys
        for name in joined
        for other in engine.database.tables[name].keys
    )


def _ends_behind(problem: Problem, joined: Sequence[str]) -> list[Ends]:
    """The ends of all attributes of other tables, in all partitions where there are some."""
    answers = problem.engine.ask(_ends_of, joined)
    return [
        Ends(float(np.nanmin([np.inf, *low])), float(np.nanmax([-np.inf, *high])), any(missing))
        for low, high, missing in (zip(*each, strict=True) for each in zip(*answers, strict=True))
    ]


def _ends_of(engine: Engine, joined: Sequence[str]) -> list[Ends]:
    return [_ends(column) for name in joined for column in engine.database.tables[name].attributes]


def _ends(column: Column) -> Ends:
    """Whether a column tells some rows from others is seen from these: two values, or one and a missing value."""
    values = column.values[~column.missing]
    if values.size == 0:
        return Ends(np.nan, np.nan, bool(column.values.size))
    return Ends(float(values.min()), float(values.max()), values.size < column.values.size)
