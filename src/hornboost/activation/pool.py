"""The features of a database.

Each attribute on its shortest join path from the examples, ranked by information about the class.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hornboost.activation.discretisation import interval_codes, mdl_cuts, merged, repartition_cuts
from hornboost.activation.information import coverage_information, mutual_information
from hornboost.activation.spread import cmi_of_paths, cmi_of_rows, has_value, spread_joint, spread_shares
from hornboost.engine import Engine, Visible
from hornboost.engine.behind import check_reach, values_behind
from hornboost.engine.joins import FIRST_NEW
from hornboost.engine.reach import AT_ONCE
from hornboost.engine.tree import Join, Ref
from hornboost.errors import LimitError
from hornboost.stopping import check

Floats = NDArray[np.float64]
JoinPath = tuple[Join, ...]


@dataclass(frozen=True, slots=True)
class Feature:
    """An attribute and the shortest paths that reach it (several when it is reached over several keys)."""

    table: str
    column: str
    paths: tuple[JoinPath, ...]


@dataclass(frozen=True, eq=False)
class Reached:
    """The values of a feature behind one path: entry codes by example.

    `distinct` numbers, or None for a nominal feature.
    """

    offsets: NDArray[np.int64]
    codes: NDArray[np.int32]
    n_values: int
    distinct: Floats | None


class FeaturePool:
    """All features that the search may reach, with what is known of their values; one pass over the data each."""

    def __init__(self, engine: Engine, classes: NDArray[np.int32], sample: Floats) -> None:
        self.engine = engine
        self.classes = classes
        self.sample = sample
        self.features = find_features(engine)
        self._best: dict[int, JoinPath] = {}
        self._cuts: dict[int, Floats | None] = {}
        self._intervals: dict[int, Reached] = {}
        self._reached: dict[tuple[int, JoinPath], Reached] = {}

    def rank(self, masses: Floats) -> tuple[list[int], Floats]:
        """Order the features by falling MI with the class (Hoche and Wrobel 2002, equation (2)), and return each MI.

        An attribute with several shortest paths takes the largest MI; ties keep schema order.
        """
        information = np.zeros(len(self.features))
        for k, feature in enumerate(self.features):
            for path in feature.paths:
                check()
                reached = self._reach(k, path)
                joint = spread_joint(reached.offsets, reached.codes, masses, self.classes, reached.n_values)
                table, cuts = joint.table, None
                if reached.distinct is not None:
                    cuts = mdl_cuts(reached.distinct, table, self._n_examples(reached, masses))
                    table = merged(reached.distinct, table, cuts)
                mi = mutual_information(table)
                if k not in self._best or mi > information[k]:
                    information[k] = mi
                    self._best[k] = path
                    self._cuts[k] = cuts
                    self._intervals.pop(k, None)
        return [int(k) for k in np.argsort(-np.round(information, 12), kind="stable")], information

    def rank_existential(self, weights: NDArray[np.int64]) -> tuple[list[int], Floats]:
        """The same by the MI of the best single test of each attribute, from one scoring pass over all of them."""
        information = np.zeros(len(self.features))
        number = {(feature.table, feature.column): k for k, feature in enumerate(self.features)}
        frontier = self.engine.frontier(self.engine.root())
        stats = self.engine.score(frontier, weights, self.classes, 2).astype(np.float64)
        total = np.bincount(self.classes, weights=weights.astype(np.float64), minlength=2)
        values = coverage_information(stats[:, 1], stats[:, 0], float(total[1]), float(total[0]))
        at = 0
        for group in frontier.groups:
            for option in group.options:
                block = option.block
                where = np.searchsorted(block.bases, block.conditions, side="right") - 1
                for position, attribute in enumerate(block.attributes):
                    k = number.get((option.attributes.table.name, option.attributes.columns[attribute].name))
                    mine = values[at : at + block.conditions.size][where == position]
                    if k is not None and mine.size:
                        information[k] = max(information[k], float(mine.max()))
                at += block.conditions.size
        return [int(k) for k in np.argsort(-np.round(information, 12), kind="stable")], information

    def information(self, candidates: NDArray[np.int64], masses: Floats, repartition: bool) -> Floats:
        """MI of some features with the class under the current masses; numbers cut anew when `repartition`."""
        result = []
        for k in candidates:
            reached = self._current(int(k), masses, repartition)
            joint = spread_joint(reached.offsets, reached.codes, masses, self.classes, reached.n_values)
            result.append(mutual_information(joint.table))
        return np.array(result)

    def conditional(self, given: int, candidates: NDArray[np.int64], masses: Floats, repartition: bool) -> Floats:
        """Give the CMI of some features with the class, given another feature.

        Joint values are taken row by row where both features are in one table, otherwise by product.
        """
        known = self._current(given, masses, repartition)
        shares = spread_shares(known.offsets, known.codes, known.n_values)
        result = []
        for k in candidates:
            check()
            reached = self._current(int(k), masses, repartition)
            if self._best[int(k)] == self._best[given]:
                value = cmi_of_rows(
                    known.offsets, known.codes, reached.codes, masses, self.classes, known.n_values, reached.n_values
                )
            else:
                own = spread_shares(reached.offsets, reached.codes, reached.n_values)
                value = cmi_of_paths(shares, own, masses, self.classes)
            result.append(value)
        return np.array(result)

    def visible(self, active: Sequence[int]) -> Visible:
        """What a learner with these features may look at.

        The attributes, their tables, and the tables that lead there.
        """
        features = [self.features[k] for k in active]
        tables = {join.table for feature in features for path in feature.paths for join in path}
        return Visible(frozenset((feature.table, feature.column) for feature in features), frozenset(tables))

    def _current(self, k: int, masses: Floats, repartition: bool) -> Reached:
        check()
        if k not in self._best:
            self._best[k] = self.features[k].paths[0]
        reached = self._reach(k, self._best[k])
        if reached.distinct is None or not repartition:
            if k not in self._intervals:
                self._intervals[k] = _cut(reached, self._cuts.get(k))
            return self._intervals[k]
        joint = spread_joint(reached.offsets, reached.codes, masses, self.classes, reached.n_values)
        return _cut(reached, repartition_cuts(reached.distinct, joint.table, self._n_examples(reached, masses)))

    def _n_examples(self, reached: Reached, masses: Floats) -> float:
        """How many examples contribute a value; one of sample weight 2 counts as two."""
        contributes = has_value(reached.offsets, reached.codes) & (masses > 0)
        return float(self.sample[contributes].sum())

    def _reach(self, k: int, path: JoinPath) -> Reached:
        key = (k, path)
        if key not in self._reached:
            feature = self.features[k]
            attributes = self.engine.attributes(feature.table, not path)
            number = attributes.number[feature.column]
            offsets, values, codes = values_behind(self.engine, path, feature.table, number)
            distinct = np.asarray(values, np.float64) if attributes.numeric[number] else None
            self._reached[key] = Reached(offsets, codes, len(values), distinct)
        return self._reached[key]


def _cut(reached: Reached, cuts: Floats | None) -> Reached:
    """The same feature with its numbers replaced by the intervals between the cuts."""
    if reached.distinct is None or cuts is None:
        return reached
    interval = np.append(interval_codes(reached.distinct, cuts), np.int32(-1)).astype(np.int32)
    interval = np.append(interval[-1:], interval[:-1])  # from the one of no value on
    codes = np.empty_like(reached.codes)
    for start in range(0, codes.size, AT_ONCE):
        check()
        part = slice(start, start + AT_ONCE)
        codes[part] = interval[np.maximum(reached.codes[part], -1) + 1]
    return Reached(reached.offsets, codes, len(cuts) + 1, None)


def find_features(engine: Engine) -> list[Feature]:
    """Breadth first over the joins from the examples: the attributes of each table with all of its shortest paths."""
    root = engine.examples
    shortest: dict[str, list[JoinPath]] = {root.name: [()]}
    level: list[tuple[JoinPath, str, tuple[str, ...]]] = [((), root.name, tuple(column.name for column in root.keys))]
    for depth in range(engine.max_depth):
        found: list[tuple[JoinPath, str, tuple[str, ...]]] = []
        for path, table, columns in level:
            for column in columns:
                source = Ref(0, column) if depth == 0 else Ref(FIRST_NEW - (depth - 1), column)
                for join in engine.graph.joins(table, source, depth == 0):
                    if join.table not in shortest or len(shortest[join.table][0]) == depth + 1:
                        own = tuple(c.name for c in engine.database.tables[join.table].keys if c.name != join.column)
                        found.append(((*path, join), join.table, own))
        for path, table, _ in found:
            shortest.setdefault(table, []).append(path)
        level = [step for step in found if _is_affordable(engine, step[0])]
    features = []
    for table, paths in shortest.items():
        affordable = tuple(path for path in paths if _is_affordable(engine, path))
        attributes = engine.attributes(table, table == root.name).columns
        features += [Feature(table, column.name, affordable) for column in attributes if affordable]
    return features


def _is_affordable(engine: Engine, path: JoinPath) -> bool:
    if not path:
        return True
    try:
        check_reach(engine, path)
    except LimitError:
        return False
    return True
