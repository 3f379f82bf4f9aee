"""The columns that tell most about the class, where there are too many for conditions on all of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hornboost.activation.information import entropy, mutual_information
from hornboost.learners.objectives import comparable
from hornboost.mining.additions import additions_to
from hornboost.mining.language import Language
from hornboost.mining.limits import Limits
from hornboost.mining.paths import Family, Path
from hornboost.mining.reachable import Passes
from hornboost.mining.relation import Relation
from hornboost.mining.structure import Skeleton

Floats = NDArray[np.float64]


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
    by_class = np.bincount(classes, weights).astype(np.float64)
    passes = language.passes(classes, weights, len(by_class), Limits(max_bindings=max_bindings))
    for number, support in _supports(language, passes, steps, max_bindings):
        for attribute, found in _by_attribute(language.relations[number], support, by_class):
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


def _by_attribute(relation: Relation, support: Floats, by_class: Floats) -> Iterator[tuple[int, float]]:
    """The attribute of each condition that some example reaches, and what the condition tells about the class.

    Of one class it tells nothing; there the conditions are best that hold for one half of the examples.
    """
    for condition in np.flatnonzero(support.sum(axis=1) > 0).tolist():
        if condition:
            table = np.stack([support[condition], by_class - support[condition]])
            found = mutual_information(table) if np.count_nonzero(by_class) > 1 else entropy(table)
            yield int(relation.attribute[condition]), found


def _supports(language: Language, passes: Passes, steps: int, max_bindings: int) -> Iterator[tuple[int, Floats]]:
    """The weight by class of the examples that reach each condition of each relation,
    on each of the shortest ways there that are not too wide.
    """
    yield 0, next(passes.supports(Family(()), [None]))
    root: Skeleton = ((0, tuple(range(language.n_root))),)
    ways: list[tuple[Skeleton, Path]] = [(root, ())]
    known = {0}
    for _ in range(steps):
        found: list[tuple[Skeleton, Path]] = []
        for skeleton, path in ways:
            family = Family(path)
            new = [added for added in additions_to(language, skeleton, True) if added.shape[0] not in known]
            _, *reached = passes.measured(family, [added.shape for added in new])
            chosen = [added for added, rows in zip(new, reached, strict=True) if rows <= max_bindings]
            for added, support in zip(chosen, passes.supports(family, [a.shape for a in chosen]), strict=True):
                yield added.shape[0], support
                found.append((added.skeleton, (*path, (added.shape, 0))))
        known.update(skeleton[-1][0] for skeleton, _ in found)
        if len(known) == len(language.relations):
            break
        ways = found
