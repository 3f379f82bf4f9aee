"""The path of a model: how good it was with how many rules, round after round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from hornboost.learners.hypotheses import ClauseCells
from hornboost.logic.canonical import canonical
from hornboost.logic.clause import Clause
from hornboost.model.votes import Round

if TYPE_CHECKING:
    import pandas as pd


def path(rounds: Sequence[Round], history: pd.DataFrame, held_out: Sequence[float]) -> pd.DataFrame:
    """A row a round: different rules and their conditions so far, the loss on the training examples, and held out.

    `held_out` are the losses after each round of the trials that settings were chosen by; there are none (NaN) where
    nothing was tried.
    """
    import numpy as np
    import pandas as pd

    known: dict[Clause, int] = {}
    rows = []
    for number, found in enumerate(rounds, start=1):
        for vote in found.votes:
            assert isinstance(vote.hypothesis, ClauseCells)
            clause = vote.hypothesis.clause
            known.setdefault(canonical(clause.with_head(clause.head.label, "")), clause.length)
        loss = held_out[number - 1] if number <= len(held_out) else np.nan
        rows.append((number, len(known), sum(known.values()), loss))
    frame = pd.DataFrame(rows, columns=["round", "rules", "conditions", "held_out_loss"])
    frame.insert(3, "training_loss", history["training_loss"].to_numpy(float)[: len(rows)])
    return frame
