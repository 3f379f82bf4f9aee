"""Generated data sets with planted rules, of any size: what is learned from them can be compared with the truth."""

from __future__ import annotations

from hornboost.datasets.banking import bank, write_bank
from hornboost.datasets.chemistry import molecules
from hornboost.datasets.customers import churn
from hornboost.datasets.generated import Generated
from hornboost.datasets.pairs import skewed_pairs
from hornboost.datasets.railway import trains
from hornboost.datasets.shopping import shop
from hornboost.datasets.spending import spending

__all__ = ["Generated", "bank", "churn", "molecules", "shop", "skewed_pairs", "spending", "trains", "write_bank"]
