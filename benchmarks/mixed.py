"""Loans whose risk depends on single rows and on aggregates of many rows alike.

The generated bank plants rules about single rows. Here such a rule is one of three causes: the mean amount of an
account's transactions and the number of those in cash are the others.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hornboost import datasets
from hornboost.datasets import Generated

RULE, MEAN, COUNT, START = 3.3, 1.8, 1.2, -0.45
"""What the causes add to the log-odds of a risky loan; the two aggregates as standard scores."""


def mixed_bank(n: int, seed: int = 0) -> Generated:
    """A bank of `n` loans with twenty transactions each."""
    data = datasets.bank(n, transactions=20, seed=seed)
    loans, transactions = data.tables["loan"], data.tables["trans"].to_pandas()
    accounts = loans.column("account_id").to_numpy()
    mean = transactions.groupby("account_id")["amount"].mean()
    cash = transactions[transactions["operation"] == "cash"].groupby("account_id").size()
    log_odds = RULE * (data.labels - 0.5) + MEAN * _standard(mean.reindex(accounts).to_numpy(np.float64))
    log_odds += COUNT * _standard(cash.reindex(accounts, fill_value=0).to_numpy(np.float64)) + START
    is_risky = np.random.default_rng(seed).random(n) < 1.0 / (1.0 + np.exp(-log_odds))
    labels = pa.array(np.where(is_risky, data.plan.positive, data.plan.negative))
    at = loans.column_names.index(data.plan.label)
    return replace(data, tables={**data.tables, "loan": loans.set_column(at, data.plan.label, labels)})


def _standard(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Values as standard deviations from their mean; 0 for those that are missing."""
    scores: NDArray[np.float64] = np.nan_to_num((values - np.nanmean(values)) / np.nanstd(values))
    return scores
