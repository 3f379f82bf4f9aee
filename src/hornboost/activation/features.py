"""The features that a learner sees.

The most informative two at first, more when the margins' growth slows down or learning stalls.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any
from typing import Literal as Choice

import numpy as np
from numpy.typing import NDArray

from hornboost.activation.monitor import ProgressMonitor
from hornboost.activation.pool import FeaturePool
from hornboost.activation.strategies import STRATEGIES, FeatureSet, considered_masses, evolve
from hornboost.dtypes import WEIGHT_ONE
from hornboost.engine import Engine, Visible
from hornboost.stopping import Stopped

Floats = NDArray[np.float64]


class ActiveFeatures:
    """The set of active features, as a strategy lets it evolve."""

    def __init__(
        self,
        engine: Engine,
        y: NDArray[np.int32],
        weights: Floats,
        D: Floats,
        strategy: str,
        window: int,
        threshold: float,
        ranking: Choice["spread", "existential"],
    ) -> None:
        self.strategy = STRATEGIES[strategy]
        self.pool = FeaturePool(engine, y, weights)
        self.monitor = ProgressMonitor(window, threshold)
        self.order, _ = self.pool.rank(D)
        if ranking == "existential":
            self.order, _ = self.pool.rank_existential(np.rint(D * WEIGHT_ONE).astype(np.int64))
        self.current = FeatureSet.start(self.order)
        self.visible: Visible = self.pool.visible(self.current.active)

    def check(self, margin: float, stalled: bool, D: Floats, sign: Floats, votes: Floats) -> dict[str, Any]:
        """CheckLearningProgress (Table 2), and what entered; a feature is also asked for when learning stalls."""
        progress = self.monitor.update(margin)
        activated: tuple[int, ...] = ()
        if progress.asks or stalled:
            with suppress(
                Stopped
            ):  # the round is whole without the next features; the check before the next one ends the run
                activated = self._evolve(D, sign, votes)
        return {
            "gradient": progress.gradient,
            "trend": progress.trend,
            "ratio": progress.ratio,
            "predicted_ratio": progress.predicted,
            "activated": tuple(self.name(k) for k in activated),
            "active_features": tuple(self.name(k) for k in self.current.active),
            "requested": self.current.requested,
        }

    def _evolve(self, D: Floats, sign: Floats, votes: Floats) -> tuple[int, ...]:
        """Let features enter and leave; returns those that entered."""
        masses = considered_masses(self.strategy, D, sign, votes)
        self.current, change = evolve(
            self.strategy,
            self.current,
            self.order,
            lambda candidates: self.pool.information(candidates, masses, self.strategy.repartition),
            lambda given, candidates: self.pool.conditional(given, candidates, masses, self.strategy.repartition),
        )
        if change.added or change.removed:
            self.monitor.forget()
            self.visible = self.pool.visible(self.current.active)
        return change.added

    def name(self, k: int) -> str:
        feature = self.pool.features[k]
        return f"{feature.table}.{feature.column}"
