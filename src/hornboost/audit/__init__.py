"""What a prediction could not have known: an audit of a database before anything is learned from it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from hornboost.audit.conditions import perfect_conditions
from hornboost.audit.examples import AuditedExamples
from hornboost.audit.finding import Audit, Finding
from hornboost.audit.folds import FEWEST, folds_at_random
from hornboost.audit.identifiers import telling_identifiers
from hornboost.audit.later import later_values
from hornboost.audit.numbers import telling_columns
from hornboost.audit.rows import later_rows, unused_rows
from hornboost.data.doubts import looks_like_dates

if TYPE_CHECKING:
    from hornboost.data import Database

__all__ = ["Audit", "Finding", "audit"]


def audit(database: Database, *, folds: bool = True) -> Audit:
    """Look for what was not known when predictions were due; see `Database.audit`."""
    examples = AuditedExamples(database)
    findings: list[Finding] = [*later_rows(examples), *later_values(examples)]
    notes = list(unused_rows(examples))
    checked = [_about_times(examples)]
    if _has_classes(examples):
        findings += perfect_conditions(examples, findings)
        for is_leak, found in telling_identifiers(examples):
            (findings if is_leak else notes).append(found)
    elif examples.is_of_numbers and examples.is_labelled:
        findings += telling_columns(examples)
    elif not examples.is_labelled:
        checked.append("there is no label, so nothing was asked about what tells it")
    if folds and examples.is_labelled and examples.target.times is not None:
        if examples.rows.size >= FEWEST:
            findings += folds_at_random(examples)
        else:
            checked.append(f"there are fewer than {FEWEST} examples, too few to compare folds")
    unread = tuple(_unread_dates(database))
    if unread:
        checked.append(
            f"{', '.join(unread)} {'looks' if len(unread) == 1 else 'look'} like dates and could not be read as such, "
            "so that nothing was compared with them; 'hornboost inspect' says why"
        )
    return Audit(tuple(findings), tuple(notes), tuple(sentence for sentence in checked if sentence), unread)


def _unread_dates(database: Database) -> Iterator[str]:
    for table in database.tables.values():
        for column in table.attributes:
            if column.kind == "nominal" and column.categories is not None and looks_like_dates(column.categories):
                yield f"{table.name}.{column.name}"


def _has_classes(examples: AuditedExamples) -> bool:
    return examples.is_labelled and not examples.is_of_numbers and np.unique(examples.y).size > 1


def _about_times(examples: AuditedExamples) -> str:
    if examples.due is not None or not any(
        column.is_date for table in examples.database.tables.values() for column in table.columns.values()
    ):
        return ""
    target = examples.target.name
    return (
        f"the target '{target}' has no column with the time of each prediction, so that the times of other tables were "
        f"compared with nothing; add one and declare it with --time {target}.column"
    )
