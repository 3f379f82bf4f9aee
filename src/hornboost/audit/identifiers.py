"""Identifiers that encode the class: by their order, by how they begin or by how they end."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hornboost.audit.declarations import of_column
from hornboost.audit.evidence import NEARLY_PERFECT, halves, sure_mean_recall
from hornboost.audit.examples import AuditedExamples, ReachedRows
from hornboost.audit.finding import Finding
from hornboost.data.table import Column

_PARTS = 20
"""Ranges of equal size into which identifiers are divided by their order."""

Texts = NDArray[np.str_]


def telling_identifiers(examples: AuditedExamples) -> Iterator[tuple[bool, Finding]]:
    """The identifiers of examples that tell their class, and whether rules could see them: keys they only join by."""
    codes, names = examples.classes
    chosen_on, judged_on = halves(codes)
    for column in examples.target.columns.values():
        texts = _texts(examples, column)
        if texts is None:
            continue
        for how, values in _codings(texts):
            predicted = _most_frequent(values[chosen_on], codes[chosen_on], values[judged_on], len(names))
            sure = sure_mean_recall(predicted, codes[judged_on])
            if sure >= NEARLY_PERFECT:
                right = float(np.mean(predicted == codes[judged_on]))
                yield column.kind != "key", _finding(examples, column, how, right)
                break


def _finding(examples: AuditedExamples, column: Column, how: str, right: float) -> Finding:
    place = f"{examples.target.name}.{column.name}"
    text = f"{how} of {place} tells the class of {right:.0%} of the examples that it was not learned from; "
    if column.kind == "key":
        text += "rules join by this key and do not read it, but ask how the examples were put together"
    else:
        text += "an identifier says nothing about new examples"
    some = np.linspace(0, examples.rows.size - 1, min(6, examples.rows.size)).astype(np.int64)
    witnesses = examples.witnesses(examples.target, ReachedRows(some, examples.rows[some]), column.name)
    options = {} if column.kind == "key" else of_column(examples.target.name, column.name)
    return Finding("identifier", place, text, witnesses, options)


def _texts(examples: AuditedExamples, column: Column) -> Texts | None:
    """The identifiers of the examples; None for a column that has no identifiers."""
    if column.kind == "numeric":
        return None
    codes = column.codes[examples.rows]
    if (codes < 0).any() or np.unique(codes).size < 0.9 * codes.size:
        return None
    if column.kind == "key":
        values = np.array([str(value) for value in examples.database.domains[str(column.domain)].values.to_pylist()])
    else:
        assert column.categories is not None
        values = column.categories.astype(str)
    return np.asarray(values[codes], np.str_)


def _codings(texts: Texts) -> Iterator[tuple[str, NDArray[np.int64]]]:
    """What an identifier may encode a class by, as a number for each value."""
    numbers = [re.sub(r"\D", "", text) for text in texts]
    if all(number and len(number) < 18 for number in numbers):
        ranks = np.argsort(np.argsort([int(number) for number in numbers], kind="stable"), kind="stable")
        yield "the order", ranks * _PARTS // len(ranks)
    starts = np.array([re.sub(r"\d.*", "", text)[:8] for text in texts])
    yield "the beginning", np.unique(starts, return_inverse=True)[1]
    yield "the end", np.unique([text[-1:] for text in texts], return_inverse=True)[1]


def _most_frequent(
    values: NDArray[np.int64], codes: NDArray[np.int32], asked: NDArray[np.int64], n_classes: int
) -> NDArray[np.intp]:
    """The class that is most frequent, for its size, with each value among those asked for."""
    n = int(max(values.max(initial=0), asked.max(initial=0))) + 1
    table = np.zeros((n, n_classes))
    np.add.at(table, (values, codes), 1.0)
    return np.asarray(np.argmax(table / np.maximum(table.sum(axis=0), 1.0), axis=1)[asked])
