"""Customers whose purchases tell something because of which products they are, and of what is said about products."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import hornboost as hb

COLOURS = ("red", "green", "blue", "yellow")
KINDS = ("tools", "toys", "food", "books", "shoes")


def named_products(
    n: int, products: int, own: float, described: float, aged: float = 0.02, seed: int = 0
) -> hb.Database:
    """Customers with about seven purchases each, a few products among them much more often than others.

    Each product has an effect of its own, with the standard deviation `own`; those of one colour whose maker makes
    one kind of things have a further one, `described`. `aged` is what each year of age adds to the log-odds.
    """
    draws = np.random.default_rng(seed)
    makers = products // 5
    effects: NDArray[np.float64] = draws.normal(size=products) * own
    colour, maker = draws.integers(0, len(COLOURS), products), draws.integers(0, makers, products)
    kind = draws.integers(0, len(KINDS), makers)
    effects = effects + described * ((kind[maker] == 1) & (colour == 2))
    customers = np.repeat(np.arange(n), draws.poisson(6, n) + 1)
    bought = draws.zipf(1.3, customers.size) % products
    quantity = draws.integers(1, 5, customers.size)
    log_odds: NDArray[np.float64] = np.bincount(customers, effects[bought], n).astype(np.float64)
    age = draws.integers(18, 80, n)
    log_odds += aged * (age - 50) - np.median(log_odds)
    stays = draws.random(n) < 1.0 / (1.0 + np.exp(-log_odds))
    number = np.arange(customers.size)
    return hb.Database.from_frames(
        {
            "customer": pd.DataFrame({"customer": np.arange(n), "age": age, "stays": np.where(stays, "yes", "no")}),
            "purchase": pd.DataFrame(
                {"purchase": number, "customer": customers, "product": bought, "quantity": quantity}
            ),
            "product": pd.DataFrame(
                {"product": np.arange(products), "colour": np.array(COLOURS)[colour], "maker": maker}
            ),
            "maker": pd.DataFrame({"maker": np.arange(makers), "kind": np.array(KINDS)[kind]}),
        },
        target="customer",
        key="customer",
        label="stays",
        positive="yes",
        keys={"purchase": {"purchase": "purchase"}},
        foreign_keys=[
            ("purchase.customer", "customer.customer"),
            ("purchase.product", "product.product"),
            ("product.maker", "maker.maker"),
        ],
    )
