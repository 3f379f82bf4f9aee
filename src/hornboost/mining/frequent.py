"""What a pass over the bindings of a family finds to be frequent."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray


class Frequent(NamedTuple):
    """The frequent conditions of a literal for the queries of a family, one query's after the other's from `starts` on:
    their support by class, and the examples, as bits, that they hold for.
    """

    starts: list[int]
    conditions: list[int]
    support: list[tuple[float, ...]]
    hits: NDArray[np.uint8]

    @classmethod
    def of(
        cls, starts: NDArray[Any], conditions: NDArray[Any], support: NDArray[np.float64], hits: NDArray[np.uint8]
    ) -> Frequent:
        by_class = support.T.tolist()
        return cls(starts.tolist(), conditions.tolist(), [*zip(*by_class, strict=True)], hits)
