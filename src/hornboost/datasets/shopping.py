"""A shop in five tables, as an export gives them: dates, gaps, and customers of whom nobody knows yet what they do."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hornboost.datasets.draws import Ints, Mask, Nominal, children, dates, flip, nominal, reached
from hornboost.datasets.generated import DATE, NOMINAL, NUMERIC, Generated, Plan, check_sizes, key

_FIRST = np.datetime64("2024-01-01", "D")
_DAYS = 366
"""All orders and reviews are of the year 2024; whether a customer left is what was seen in 2025."""

_LATE = 182
"""The day from which on a review of one star counts: 2024-07-01."""

_CATEGORIES = ("bag", "book", "cable", "charger", "lamp", "phone")
_REGIONS = ("north", "east", "south", "west")

PLAN = Plan(
    name="shop",
    title="Customers of a shop who left",
    target="customers",
    key=("customer_id",),
    label="churned",
    positive="yes",
    negative="no",
    tables={
        "customers": {"customer_id": key("customer"), "region": NOMINAL, "born": NUMERIC, "churned": NOMINAL},
        "orders": {
            "order_id": key("order"),
            "customer_id": key("customer"),
            "ordered": DATE,
            "channel": NOMINAL,
            "shipping": NUMERIC,
        },
        "items": {
            "item_id": key("item"),
            "order_id": key("order"),
            "product_id": key("product"),
            "quantity": NUMERIC,
        },
        "products": {"product_id": key("product"), "category": NOMINAL, "price": NUMERIC},
        "reviews": {
            "review_id": key("review"),
            "customer_id": key("customer"),
            "product_id": key("product"),
            "written": DATE,
            "stars": NUMERIC,
        },
    },
    primary_keys={
        "customers": ("customer_id",),
        "orders": ("order_id",),
        "items": ("item_id",),
        "products": ("product_id",),
        "reviews": ("review_id",),
    },
    foreign_keys=(
        ("orders.customer_id", "customers.customer_id"),
        ("items.order_id", "orders.order_id"),
        ("items.product_id", "products.product_id"),
        ("reviews.customer_id", "customers.customer_id"),
        ("reviews.product_id", "products.product_id"),
    ),
    rules=(
        (
            'churned="yes" :- customers(customer_id=C), orders(order_id=O, customer_id=C), '
            'items(order_id=O, product_id=P), products(product_id=P, category="charger", price<=20).'
        ),
        'churned="yes" :- customers(customer_id=C), reviews(customer_id=C, written>="2024-07-01", stars<=1).',
    ),
)


def shop(n: int, new: int = 0, products: int = 600, noise: float = 0.0, seed: int = 0) -> Generated:
    """Generate customers of a shop with their orders, the items and products in these, and reviews.

    A customer leaves who bought a cheap charger, which is three joins away, or who wrote a review of one star in the
    second half of the year. Some years of birth, costs of shipping and stars are missing.

    Parameters
    ----------
    n : int
        The number of customers.
    new : int
        How many of them are new: nobody knows yet whether they will leave, so that they have no label.
    products : int
        The number of products, a sixth of them chargers.
    noise : float
        The share of the customers who do the opposite of what the rules say.
    seed : int
        The seed; the same seed gives the same data.

    Returns
    -------
    Generated
        The tables and the planted rules.

    Examples
    --------
    >>> data = shop(100, new=10)
    >>> data.tables["customers"].column("churned").null_count
    10
    >>> print(data.rules[1])
    churned="yes" :- customers(customer_id=C), reviews(customer_id=C, written>="2024-07-01", stars<=1).
    """
    check_sizes("shop", noise, n=n, products=products)
    rng = np.random.default_rng([seed, 19])
    category = Nominal((np.arange(products) % len(_CATEGORIES)).astype(np.int8), _CATEGORIES)
    price = rng.integers(5, 50, size=len(category.codes))
    order_of = children(rng, n, 0, 4)
    item_of = children(rng, len(order_of), 1, 3)
    product_of = rng.integers(0, len(price), size=len(item_of))
    review_of = children(rng, n, 0, 2)
    written, stars = rng.integers(0, _DAYS, size=len(review_of)), rng.integers(1, 6, size=len(review_of))
    has_stars = rng.random(len(stars)) >= 0.1
    is_cheap = category.equals("charger") & (price <= 20)
    is_bad = has_stars & (stars <= 1) & (written >= _LATE)
    leaves = reached(order_of[item_of[is_cheap[product_of]]], n) | reached(review_of[is_bad], n)
    return Generated(
        PLAN,
        {
            "customers": pa.table(
                {
                    "customer_id": np.arange(1, n + 1),
                    "region": nominal(rng, dict.fromkeys(_REGIONS, 1), n).arrow(),
                    "born": _with_gaps(rng, rng.integers(1945, 2007, size=n)),
                    "churned": _labels(flip(rng, leaves, noise), n - new),
                }
            ),
            "orders": pa.table(
                {
                    "order_id": np.arange(1, len(order_of) + 1),
                    "customer_id": order_of + 1,
                    "ordered": dates(_FIRST, rng.integers(0, _DAYS, size=len(order_of))),
                    "channel": nominal(rng, {"web": 0.6, "shop": 0.3, "phone": 0.1}, len(order_of)).arrow(),
                    "shipping": _with_gaps(rng, rng.integers(0, 10, size=len(order_of))),
                }
            ),
            "items": pa.table(
                {
                    "item_id": np.arange(1, len(item_of) + 1),
                    "order_id": item_of + 1,
                    "product_id": product_of + 1,
                    "quantity": rng.integers(1, 5, size=len(item_of)),
                }
            ),
            "products": pa.table(
                {"product_id": np.arange(1, len(price) + 1), "category": category.arrow(), "price": price}
            ),
            "reviews": pa.table(
                {
                    "review_id": np.arange(1, len(review_of) + 1),
                    "customer_id": review_of + 1,
                    "product_id": rng.integers(1, len(price) + 1, size=len(review_of)),
                    "written": dates(_FIRST, written),
                    "stars": pa.array(stars, mask=~has_stars),
                }
            ),
        },
    )


def _with_gaps(rng: np.random.Generator, values: Ints) -> pa.Array:
    """One value in ten is missing."""
    return pa.array(values, mask=rng.random(len(values)) < 0.1)


def _labels(leaves: Mask, known: int) -> pa.Array:
    """Whether customers left, as far as that is known."""
    texts: NDArray[np.object_] = np.where(leaves, "yes", "no").astype(object)
    texts[known:] = None
    return pa.array(texts, pa.string())
