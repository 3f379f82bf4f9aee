"""Keys that very many rows share: customers whose purchases are mostly of a few articles, and how long a fit takes.

    python -m benchmarks.popular

Prints processor seconds of `HornBoostClassifier` with nothing given, and the joins that it leaves out. The rows that
these reach grow with the square of the purchases.
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import pandas as pd

import hornboost as hb
from benchmarks.papers.markdown import markdown_table

SIZES = ((2_000, 30_000, 1_000), (20_000, 300_000, 5_000), (30_000, 1_000_000, 10_000))
"""Customers, purchases and articles."""


def database(n_customers: int, n_purchases: int, n_articles: int) -> hb.Database:
    """Customers who leave more often if they are young, buy little, or bought something of one group on the web."""
    rng = np.random.default_rng(0)
    articles = pd.DataFrame(
        {
            "article": np.arange(n_articles),
            "group": rng.choice([f"g{k}" for k in range(20)], n_articles),
            "price": rng.gamma(2.0, 15.0, n_articles).round(2),
        }
    )
    purchases = pd.DataFrame(
        {
            "customer": rng.integers(0, n_customers, n_purchases),
            "article": rng.zipf(1.3, n_purchases) % n_articles,
            "paid": rng.gamma(2.0, 14.0, n_purchases).round(2),
            "channel": rng.choice(["web", "store"], n_purchases),
        }
    )
    customers = pd.DataFrame({"customer": np.arange(n_customers), "age": rng.integers(16, 80, n_customers)})
    bought = purchases.merge(articles, on="article")
    of_group = bought[(bought["group"] == "g3") & (bought["channel"] == "web")]["customer"].unique()
    count = np.bincount(purchases["customer"], minlength=n_customers)
    odds = 2.0 * customers["customer"].isin(of_group) - 0.1 * (count - count.mean()) + 0.8 * (customers["age"] < 25) - 1
    customers["left"] = (rng.random(n_customers) < 1.0 / (1.0 + np.exp(-odds))).astype(int)
    return hb.Database.from_frames(
        {"customer": customers, "purchase": purchases, "article": articles},
        target="customer",
        key="customer",
        label="left",
        foreign_keys=[("purchase.customer", "customer.customer"), ("purchase.article", "article.article")],
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    rows = []
    few = database(200, 1_000, 50)  # so that nothing is compiled or loaded while the clock runs
    hb.HornBoostClassifier(few, random_state=0, n_jobs=1).fit(*few.examples())
    for sizes in SIZES:
        made = database(*sizes)
        X, y = made.examples()
        start = time.process_time()
        model = hb.HornBoostClassifier(made, random_state=0, n_jobs=1).fit(X, y)
        seconds = time.process_time() - start
        left_out = "; ".join(
            f"`{name}` ({why.split(' ', 1)[0]})" for name, why in model.left_out_.items() if ">" in name
        )
        rows.append([*(f"{size:,}" for size in sizes), f"{seconds:.1f}", left_out])
    print(markdown_table(["customers", "purchases", "articles", "processor s", "left out (rows)"], rows))


if __name__ == "__main__":
    main()
