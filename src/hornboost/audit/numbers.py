"""Columns of the examples that are the predicted number in other words."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from hornboost.audit.declarations import of_column
from hornboost.audit.examples import AuditedExamples, ReachedRows
from hornboost.audit.finding import Finding

FEWEST = 50
"""Examples below which two columns may rise and fall together by chance."""

_SAME = 0.99


def telling_columns(examples: AuditedExamples) -> Iterator[Finding]:
    """Numeric columns of the target that rise or fall with the number that is predicted, nearly without exception."""
    from scipy.stats import spearmanr

    for column in examples.target.attributes:
        if column.kind != "numeric":
            continue
        values = column.numbers[examples.rows]
        known = np.isfinite(values)
        if known.sum() < FEWEST or np.unique(values[known]).size < FEWEST // 2 or np.unique(examples.y[known]).size < 2:
            continue
        together = float(spearmanr(values[known], examples.y[known]).statistic)
        if abs(together) < _SAME:
            continue
        place = f"{examples.target.name}.{column.name}"
        text = (
            f"{place} {'rises' if together > 0 else 'falls'} with {examples.database.target.label} nearly without "
            f"exception (rank correlation {together:.3f}); if it is known only with the outcome, leave it out"
        )
        some = np.flatnonzero(known)[:5]
        witnesses = examples.witnesses(examples.target, ReachedRows(some, examples.rows[some]), column.name)
        yield Finding("condition", place, text, witnesses, of_column(examples.target.name, column.name))
