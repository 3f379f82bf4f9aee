"""Single conditions that tell the class nearly perfectly: the answer in other words, more often than a discovery."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hornboost.audit.declarations import Options, of_column, of_table
from hornboost.audit.evidence import NEARLY_PERFECT, halves, lower_bound
from hornboost.audit.examples import AuditedExamples, ReachedRows
from hornboost.audit.finding import Finding
from hornboost.engine import Engine, State, to_clause
from hornboost.engine.frontier import Frontier, Refinement
from hornboost.logic.clause import Clause, Head

MOST = 5
"""Conditions that are told at most, one for each column."""

_WORTH_A_LOOK = 0.9

Sums = NDArray[np.int64]


@dataclass(frozen=True)
class _Told:
    """How a condition does on examples that it was not chosen on.

    How many of the class and of the others it covers, and the mean of the shares of both that it tells right, of which
    one can be sure; 0 if those that it takes for one class are often of the other.
    """

    covered: tuple[int, int]
    totals: tuple[int, int]
    sure: float


def perfect_conditions(examples: AuditedExamples, found_before: Sequence[Finding] = ()) -> Iterator[Finding]:
    """The conditions, bare joins among them, that tell one class from the others nearly perfectly.

    All refinements of the empty clause are scored in one pass over one half of the examples; the best of each column
    is judged on the other half. What was found before may ask for the declaration that hides a condition.
    """
    codes, names = examples.classes
    table = examples.database.encode(examples.database.examples()[0])
    chosen_on, judged_on = halves(codes)
    engine = Engine(examples.database, table.take(chosen_on))
    frontier = engine.frontier(engine.root())
    sums = engine.score(frontier, np.ones(chosen_on.size, np.int64), codes[chosen_on], len(names))
    judge = engine.over(table.take(judged_on))
    totals = np.bincount(codes[chosen_on], minlength=len(names))
    found = []
    for label in range(len(names)) if len(names) > 2 else [_label(examples, names)]:
        for candidate in _best_of_columns(frontier, sums, label, totals):
            refinement = frontier.refinement(candidate)
            state = judge.refine(judge.root(), refinement)
            told = _judged(state.covered, codes[judged_on] == label)
            if told.sure >= NEARLY_PERFECT:
                found.append((told, label, refinement, state))
    found.sort(key=lambda entry: (-entry[0].sure, entry[2].test is not None))
    # a row that tells the class by being there needs no condition
    bare = {_place(refinement)[0] for _, _, refinement, _ in found if refinement.test is None}
    alone = [entry for entry in found if entry[2].test is None or _place(entry[2])[0] not in bare]
    for told, label, refinement, state in alone[:MOST]:
        head = Head(examples.database.target.label or "class", names[label])
        clause = to_clause(state.specs, head, [column.name for column in examples.target.keys])
        yield _finding(examples, told, clause, refinement, state, judged_on, found_before)


def _label(examples: AuditedExamples, names: tuple[str, ...]) -> int:
    positive = examples.database.target.positive
    return names.index(positive) if positive in names else 1


def _best_of_columns(frontier: Frontier, sums: Sums, label: int, totals: NDArray[np.int64]) -> list[int]:
    """The best condition on each column behind each table, if it tells the class well on the examples at hand."""
    others = np.delete(np.arange(totals.size), label)
    right = sums[:, label] / max(totals[label], 1)
    wrong = sums[:, others].sum(axis=1) / max(totals[others].sum(), 1)
    score = (1 + np.abs(right - wrong)) / 2
    best: dict[tuple[str, object], int] = {}
    for candidate in np.flatnonzero(score >= _WORTH_A_LOOK)[np.argsort(-score[score >= _WORTH_A_LOOK], kind="stable")]:
        refinement = frontier.refinement(int(candidate))
        best.setdefault(_place(refinement), int(candidate))
        if len(best) == 4 * MOST:
            break
    return list(best.values())


def _place(refinement: Refinement) -> tuple[str, object]:
    return refinement.joins[-1].table if refinement.joins else "", refinement.test and refinement.test.column


def _judged(covered: NDArray[np.bool_], is_of_class: NDArray[np.bool_]) -> _Told:
    n, rest = int(is_of_class.sum()), int((~is_of_class).sum())
    here, there = int(covered[is_of_class].sum()), int(covered[~is_of_class].sum())
    if n == 0 or rest == 0:
        return _Told((here, there), (n, rest), 0.0)
    ours, theirs = (here, rest - there) if here / n >= there / rest else (n - here, there)
    sure = (lower_bound(ours, n) + lower_bound(theirs, rest)) / 2
    # where one class is rare, a condition may find all of it among as many others
    pure = min(ours / max(ours + rest - theirs, 1), theirs / max(theirs + n - ours, 1))
    return _Told((here, there), (n, rest), sure if pure >= _WORTH_A_LOOK else 0.0)


def _finding(
    examples: AuditedExamples,
    told: _Told,
    clause: Clause,
    refinement: Refinement,
    state: State,
    judged_on: NDArray[np.intp],
    found: Sequence[Finding],
) -> Finding:
    (here, there), (n, rest) = told.covered, told.totals
    head, _, body = str(clause).partition(" :- ")
    text = (
        f"one condition tells {head} nearly perfectly: {body.removesuffix('.')} holds for {here:,} of {n:,} such "
        f"examples and for {there:,} of {rest:,} others that it was not chosen on"
    )
    table = examples.database.tables[state.specs[-1].table]
    column = None if refinement.test is None else str(refinement.test.column)
    options = _told_before(table.name, column, found)
    if not options:
        text += "; if it is known only with the outcome, leave it out"
        options = of_table(table.name) if column is None else of_column(table.name, column)
    if len(state.specs) > 1:
        last = state.entries[-1]
        shown = ReachedRows(judged_on[last.example].astype(np.int64), last.rows.astype(np.int64))
    else:
        who = judged_on[np.flatnonzero(state.covered)].astype(np.int64)
        shown = ReachedRows(who, examples.rows[who])
    times = [] if table.times is None else [table.times.name]
    witnesses = examples.witnesses(table, shown, *([] if column is None else [column]), *times)
    place = table.name if column is None else f"{table.name}.{column}"
    return Finding("condition", place, text, witnesses, options)


def _told_before(table: str, column: str | None, found: Sequence[Finding]) -> Options:
    """What was declared already, if that hides what a condition looks at."""
    for finding in found:
        later = finding.options.get("known_later", {}).get(table, {})
        if finding.place == table or any(column in (dating, *names) for dating, names in later.items()):
            return finding.options
    return {}
