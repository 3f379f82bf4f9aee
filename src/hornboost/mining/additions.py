"""Literals that may be added to queries, as the kernels see them:
which index to follow, and what must be equal or differ.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count

import numpy as np
from numpy.typing import NDArray

from hornboost.data.index import KeyIndex
from hornboost.mining import query_kernels as kernels
from hornboost.mining.language import Language
from hornboost.mining.row_kernels import Cutoffs
from hornboost.mining.structure import Skeleton, Structure

Shape = tuple[int, tuple[int, ...]]
"""A literal that may be added: its relation and variables, -1 for a new one."""


@dataclass(eq=False, slots=True)
class Addition:
    """A literal that may be added to all queries of one skeleton.

    As the kernels see it, and under the names that the longer query has.

    A binding joins about `fan_out` rows: so many stand on average beside a row of the relation.
    """

    shape: Shape
    prepared: kernels.Prepared
    skeleton: Skeleton
    fan_out: float
    structure: Structure | None = None


def additions_to(language: Language, skeleton: Skeleton, connected: bool) -> list[Addition]:
    """All literals that may be added to the queries of a skeleton."""
    return [_addition(language, skeleton, shape) for shape in language.shapes(skeleton, connected)]


def _addition(language: Language, skeleton: Skeleton, shape: Shape) -> Addition:
    fresh = count(1 + max((v for _, variables in skeleton for v in variables), default=-1))
    variables = tuple([v if v >= 0 else next(fresh) for v in shape[1]])
    prepared = _prepared(language, skeleton, shape)
    rows = _rows_by_key(prepared, language.cutoffs)
    return Addition(shape, prepared, (*skeleton, (shape[0], variables)), float((rows**2).sum() / max(rows.sum(), 1.0)))


def _rows_by_key(prepared: kernels.Prepared, cutoffs: Cutoffs) -> NDArray[np.float64]:
    """How many rows each key leads to; rows that come after all cutoffs count for nobody."""
    if cutoffs is None or prepared.times is None or not prepared.times.size:
        return np.diff(prepared.offsets).astype(np.float64)
    seen = np.append(0, np.cumsum(prepared.times < cutoffs.max(initial=-np.inf)))
    return np.diff(seen[prepared.offsets]).astype(np.float64)


def _prepared(language: Language, skeleton: Skeleton, shape: Shape) -> kernels.Prepared:
    number, pattern = shape
    relation = language.relations[number]
    assert relation.index is not None
    column = min((k for k, v in enumerate(pattern) if v >= 0), key=lambda k: relation.fan_out[k])
    index = relation.index(relation.columns[column])
    new = [k for k, v in enumerate(pattern) if v < 0]
    equal = [(k, v) for k, v in enumerate(pattern) if v >= 0 and k != column]
    unequal: list[tuple[int, int]] = []
    apart: list[tuple[int, int]] = []
    if language.oi:
        domains = language.domains(skeleton)
        unequal = [(k, v) for k in new for v, domain in domains.items() if domain == relation.domains[k]]
        apart = [
            (k, other) for k in new for other in new if k < other and relation.domains[k] == relation.domains[other]
        ]
    free = {v for _, variables in skeleton for v in variables if v >= language.n_root}
    used = sorted(free & {pattern[column], *(v for _, v in (*equal, *unequal))})
    return kernels.Prepared(
        np.uint32(pattern[column]),
        index.offsets,
        index.rows,
        relation.keys,
        _pairs(equal),
        _pairs(unequal),
        _pairs(apart),
        np.array(new, np.uint32),
        np.array(used, np.uint32),
        len(used) < len(free),
        _times(language, index),
    )


def _times(language: Language, index: KeyIndex) -> NDArray[np.float64] | None:
    """The times of an index's rows: empty where they have none but others do, None where nothing has."""
    if language.cutoffs is None:
        return None
    return np.empty(0) if index.times is None else index.times


def _pairs(found: list[tuple[int, int]]) -> NDArray[np.uint32]:
    return np.array(found, np.uint32).reshape(-1, 2)
