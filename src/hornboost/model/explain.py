"""Why an example is predicted as it is.

The rules that fired with rows that made them fire, and what the nearest others lacked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hornboost.aggregates.attach import with_aggregates
from hornboost.data.frames import decode_table
from hornboost.data.table import Table
from hornboost.data.times import time_text
from hornboost.engine.coverage import Trace
from hornboost.model.ensemble import Ensemble, vote_for
from hornboost.model.explanation import Explanation, Explanations, Fired, NumberExplanation
from hornboost.model.missed import Steps
from hornboost.model.routes import aggregates_of
from hornboost.model.witnesses import cells, only, rows_behind, witnesses_of
from hornboost.stopping import working

if TYPE_CHECKING:
    from hornboost.data import Database


@working()
def explain(
    ensemble: Ensemble,
    database: Database,
    examples: Table,
    missed: int = 3,
    keys: Sequence[Mapping[str, Any]] | None = None,
    positive: str | None = None,
    label: str = "y",
) -> Explanations:
    """Explain the prediction of each encoded example.

    `missed` is the number of rules that did not fire to show for each.

    `keys` say what each example is called; without them it is its keys, as far as the database knows them. Of two
    classes scores, probabilities and votes are those of `positive`, or of the second. A number is called `label`.
    """
    if database.stored is not None:
        names = keys if keys is not None else _key_values(database, examples)
        return _explained_in_parts(ensemble, database, examples, missed, names, positive, label)
    steps = Steps.kept(ensemble, database, missed > 0)
    examples = with_aggregates(database, examples, map(rows_behind, aggregates_of(ensemble.rules)))
    names = keys if keys is not None else _key_values(database, examples)
    found: list[Explanation | NumberExplanation] = []
    for start, trace in steps.coverage.traced(examples):
        if ensemble.is_of_numbers:
            found += _explained_numbers(ensemble, steps, trace, names[start:], missed, label)
        else:
            found += _explained(ensemble, steps, trace, names[start:], missed, positive)
    return Explanations(found)


def _explained_in_parts(
    ensemble: Ensemble,
    database: Database,
    examples: Table,
    missed: int,
    names: Sequence[Mapping[str, Any]],
    positive: str | None,
    label: str,
) -> Explanations:
    """The explanations of examples that lie in partitions, each of which has all that its examples reach."""
    assert database.stored is not None
    part, row = database.stored.locate(database, examples)
    found: dict[int, Explanation | NumberExplanation] = {}
    for k in np.unique(part).tolist():
        own = np.flatnonzero(part == k)
        opened = database.stored.open(k)
        known = _with_keys(examples.take(own), opened.tables[examples.name].take(row[own]))
        called = [names[e] for e in own.tolist()]
        found |= dict(zip(own.tolist(), explain(ensemble, opened, known, missed, called, positive, label), strict=True))
    return Explanations(found[e] for e in range(examples.n_rows))


def _with_keys(examples: Table, stored: Table) -> Table:
    """Examples with their keys in the codes of the rows that a partition has of them."""
    keys = {column.name: column for column in stored.keys}
    columns = {name: keys.get(name, column) for name, column in examples.columns.items()}
    return replace(examples, columns=columns)


def _explained(
    ensemble: Ensemble,
    steps: Steps,
    trace: Trace,
    names: Sequence[Mapping[str, Any]],
    missed: int,
    positive: str | None,
) -> Iterator[Explanation]:
    """The explanations of a block of examples."""
    of_rule = steps.coverage.of_clause[: len(ensemble.rules)]
    covered = trace.covered[:, list(of_rule)]
    scores = ensemble.scores_of(trace.covered, of_rule)
    witnesses = witnesses_of(ensemble, trace, covered)
    choices, probabilities = ensemble.choices(scores), ensemble.probabilities(scores)
    decision = ensemble.decision(scores)
    for e in range(len(covered)):
        about = int(choices[e]) if decision.ndim == 2 else ensemble.about(positive)
        votes = [vote_for(rule.votes, about) for rule in ensemble.rules]
        otherwise = [vote_for(rule.otherwise, about) if rule.otherwise else 0.0 for rule in ensemble.rules]
        score = (
            decision[e, about]
            if decision.ndim == 2
            else decision[e]
            if about or len(ensemble.classes) == 1
            else -decision[e]
        )
        fired = [Fired(ensemble.rules[r], votes[r], witnesses[r, e]) for r in np.flatnonzero(covered[e]).tolist()]
        near = steps.nearest(trace, e, covered[e], votes, otherwise, missed) if missed else []
        yield Explanation(
            names[e],
            ensemble.classes[choices[e]],
            ensemble.classes[about],
            float(probabilities[e, about]),
            float(score),
            vote_for(ensemble.intercept, about) + sum(o for r, o in enumerate(otherwise) if not covered[e, r]),
            tuple(sorted(fired, key=lambda one: -abs(one.vote))),
            tuple(near),
            int((~covered[e]).sum()),
        )


def _explained_numbers(
    ensemble: Ensemble, steps: Steps, trace: Trace, names: Sequence[Mapping[str, Any]], missed: int, label: str
) -> Iterator[NumberExplanation]:
    """The explanations of a block of examples whose numbers are predicted."""
    of_rule = steps.coverage.of_clause[: len(ensemble.rules)]
    covered = trace.covered[:, list(of_rule)]
    scores = ensemble.scores_of(trace.covered, of_rule)
    witnesses = witnesses_of(ensemble, trace, covered)
    predictions, (start,) = ensemble.numbers(scores), ensemble.intercept
    base = float(ensemble.numbers(np.array([[start]]))[0])
    votes, nothing = [rule.votes[0] for rule in ensemble.rules], [0.0] * len(ensemble.rules)
    for e in range(len(covered)):
        fired = [Fired(ensemble.rules[r], votes[r], witnesses[r, e]) for r in np.flatnonzero(covered[e]).tolist()]
        near = steps.nearest(trace, e, covered[e], votes, nothing, missed) if missed else []
        yield NumberExplanation(
            names[e],
            label,
            float(predictions[e]),
            base,
            float(scores[e, 0]),
            start,
            ensemble.link,
            tuple(sorted(fired, key=lambda one: -abs(one.vote))),
            tuple(near),
            int((~covered[e]).sum()),
        )


def _key_values(database: Database, examples: Table) -> list[dict[str, Any]]:
    frame = decode_table(only(examples, key_columns(database)), database.domains, np.arange(examples.n_rows))
    records = frame.to_dict("records") if len(frame.columns) else [{} for _ in range(examples.n_rows)]
    return with_cutoffs([cells(record) for record in records], examples)


def with_cutoffs(keys: Iterable[Mapping[str, Any]], examples: Table) -> list[dict[str, Any]]:
    """The keys of examples, each with its cutoff where it has one: a thing may be looked at many times."""
    times = examples.times
    if times is None:
        return [dict(key) for key in keys]
    told = [time_text(float(moment), times.is_date) for moment in times.numbers]
    return [{**key, times.name: moment} for key, moment in zip(keys, told, strict=True)]


def key_columns(database: Database) -> tuple[str, ...]:
    """The columns by which examples are called."""
    return database.target.key or tuple(column.name for column in database.tables[database.target.table].keys)
