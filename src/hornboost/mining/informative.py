"""The columns that tell most about the class, where there are too many for conditions on all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hornboost.activation.information import entropy, mutual_information
from hornboost.learners.objectives import comparable
from hornboost.mining import query_kernels as kernels
from hornboost.mining.additions import Addition, additions_to
from hornboost.mining.bindings import Bindings, Words
from hornboost.mining.language import Language
from hornboost.mining.relation import Relation
from hornboost.mining.structure import Skeleton


def within_columns(
    language: Language,
    max_columns: int | None,
    classes: NDArray[np.int32],
    weights: NDArray[np.float64],
    steps: int,
    max_bindings: int,
) -> Language:
    """The language with conditions on so many columns at most: those whose best condition tells most about the class.

    A column is judged on the shortest ways from the examples to its table. Columns that tell the same keep the order of
    the tables.
    """
    columns = [
        (number, int(a))
        for number, relation in enumerate(language.relations)
        for a in np.unique(relation.attribute[1:])
    ]
    if max_columns is None or len(columns) <= max_columns:
        return language
    information = dict.fromkeys(columns, 0.0)
    for number, reached in _reached(language, len(classes), steps, max_bindings):
        for attribute, found in _by_attribute(language.relations[number], reached, classes, weights):
            information[number, attribute] = max(information[number, attribute], found)
    order = np.argsort(-comparable(np.array([information[column] for column in columns])), kind="stable")
    best = [columns[k] for k in order[:max_columns]]
    kept = [sorted(a for number, a in best if number == n) for n in range(len(language.relations))]
    left_out = (
        f"conditions on {len(columns) - max_columns:,} of {len(columns):,} columns, those that tell least "
        "about the class, were left out "
        f"(max_columns={max_columns:,})"
    )
    relations = [
        relation.with_attributes(attributes) for relation, attributes in zip(language.relations, kept, strict=True)
    ]
    return replace(language, relations=relations, left_out=[*language.left_out, left_out])


def _by_attribute(
    relation: Relation, reached: Words, classes: NDArray[np.int32], weights: NDArray[np.float64]
) -> Iterator[tuple[int, float]]:
    """The attribute of each condition that some example reaches, and what the condition tells about the class.

    Of one class it tells nothing; there the conditions are best that hold for one half of the examples.
    """
    by_class = np.bincount(classes, weights)
    anything = np.append(np.full(len(by_class), np.inf), 0.0)
    _, conditions, support, _ = kernels.tally(reached, relation.n_conditions, classes, weights, anything)
    for condition, covered in zip(conditions, support, strict=True):
        if condition:
            table = np.stack([covered, by_class - covered])
            found = mutual_information(table) if np.count_nonzero(by_class) > 1 else entropy(table)
            yield int(relation.attribute[condition]), found


def _reached(language: Language, n: int, steps: int, max_bindings: int) -> Iterator[tuple[int, Words]]:
    """The conditions of each relation that each example reaches, as bits,
    on each of the shortest ways there that are not too wide.
    """
    root = language.relations[0]
    everyone, nothing = np.arange(n, dtype=np.int32), np.full(root.n_conditions, -1, np.int32)
    yield 0, kernels.reach_tests(everyone, everyone, kernels.Slots(root.rows, nothing, 0, 1), n, root.n_words)
    themselves = Bindings.of_examples(root.keys, language.cutoffs)
    ways: list[tuple[Skeleton, Bindings]] = [(((0, tuple(range(language.n_root))),), themselves)]
    known = {0}
    for _ in range(steps):
        found: list[tuple[Addition, Bindings]] = []
        for skeleton, bindings in ways:
            for added in additions_to(language, skeleton, True):
                if added.shape[0] not in known and bindings.count_reached(added.prepared) <= max_bindings:
                    yield added.shape[0], _reach(language, skeleton, bindings, added)
                    found.append((added, bindings))
        known.update(added.shape[0] for added, _ in found)
        if len(known) == len(language.relations):
            break
        ways = [(added.skeleton, _extended(language, added, bindings, max_bindings)) for added, bindings in found]


def _reach(language: Language, skeleton: Skeleton, bindings: Bindings, added: Addition) -> Words:
    last, relation = language.relations[skeleton[-1][0]], language.relations[added.shape[0]]
    slots = kernels.Slots(last.rows, np.full(last.n_conditions, -1, np.int32), 0, 1)
    unknown = np.full((len(language.relations[0].keys), relation.n_words), np.iinfo(np.uint64).max, np.uint64)
    return bindings.reach(added.prepared, slots, relation.rows, unknown)


def _extended(language: Language, added: Addition, bindings: Bindings, max_bindings: int) -> Bindings:
    return bindings.extended(added.prepared, language.relations[added.shape[0]].rows, -1, 0, max_bindings)
