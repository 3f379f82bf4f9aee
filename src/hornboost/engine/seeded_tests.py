"""Tests on the seed's own attributes, weighed value by value.

Of a column of thousands of numbers only the seed's own one is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hornboost.engine import seeded_kernels as kernels
from hornboost.engine.attributes import Layout
from hornboost.engine.blocks import Block
from hornboost.engine.engine import Engine
from hornboost.engine.frontier import Option
from hornboost.engine.joins import Chain
from hornboost.engine.reach import NO_OFFSETS, NO_ROWS, Codes, Longs


@dataclass(frozen=True, eq=False, slots=True)
class OwnTests:
    """The attributes of the examples themselves; `option` names their conditions and holds no pairs."""

    option: Option
    codes: Codes
    layout: Layout

    @classmethod
    def of(cls, engine: Engine) -> OwnTests | None:
        """Those of an engine's examples; None where they have no attributes."""
        attributes = engine.attributes(engine.examples.name, True)
        selected = tuple(range(len(attributes.columns)))
        if not selected:
            return None
        codes, layout = attributes.codes(selected), attributes.layout(selected)
        block = Block(NO_ROWS, NO_OFFSETS, NO_ROWS, NO_ROWS, NO_OFFSETS, NO_OFFSETS, selected, layout.bases[:-1])
        return cls(Option(Chain(0, ()), block, attributes), codes, layout)

    def conditions(self, seeds: Codes) -> tuple[Longs, Longs]:
        """The raw numbers of the conditions that hold for each of some examples,
        thresholds at its own values, and how many they are.
        """
        places, layout = np.arange(seeds.size, dtype=np.int32), self.layout
        return kernels.own_conditions_each(
            seeds.size, places, seeds, False, self.codes, layout.selected, layout.sizes, layout.numeric, layout.bases
        )

    def weigh(self, raw: Longs, live: Longs, classes: Codes) -> Longs:
        """The live weight that satisfies each condition, by class (negatives, positives)."""
        layout, out = self.layout, np.zeros((raw.size, 2), np.int64)
        for label in (0, 1):
            weights = np.where(classes == label, live, 0)
            at = np.flatnonzero(weights)
            everywhere = 4 * at.size > weights.size
            at, weights = (NO_OFFSETS, weights) if everywhere else (at, weights[at])
            kernels.weigh_tests(
                raw, self.codes, layout.selected, layout.sizes, layout.numeric, layout.bases, at, weights, out[:, label]
            )
        return out
