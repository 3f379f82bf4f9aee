"""Customers whose spending, or number of orders, follows from what they did: numbers to predict."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hornboost.datasets.draws import children, nominal, reached
from hornboost.datasets.generated import NOMINAL, NUMERIC, Generated, Plan, check_sizes, key
from hornboost.errors import DataError

_TABLES = {
    "customer": {"customer_id": key("customer"), "age": NUMERIC, "region": NOMINAL},
    "visit": {"visit_id": key("visit"), "customer_id": key("customer"), "channel": NOMINAL, "minutes": NUMERIC},
    "complaint": {"complaint_id": key("complaint"), "customer_id": key("customer"), "kind": NOMINAL},
}
_BODIES = (
    "customer(age>=50).",
    'customer(customer_id=C), visit(customer_id=C, channel="shop", minutes>=45).',
    'customer(customer_id=C), complaint(customer_id=C, kind="late").',
)
BASE = 100.0
MEAN = 2.0


def _plan(label: str, heads: tuple[str, ...]) -> Plan:
    return Plan(
        name="spending",
        title=f"How much customers spend: {label}",
        target="customer",
        key=("customer_id",),
        label=label,
        tables={**_TABLES, "customer": {**_TABLES["customer"], label: NUMERIC}},
        primary_keys={"customer": ("customer_id",), "visit": ("visit_id",), "complaint": ("complaint_id",)},
        foreign_keys=(
            ("visit.customer_id", "customer.customer_id"),
            ("complaint.customer_id", "customer.customer_id"),
        ),
        rules=tuple(f"{head} :- {body}" for head, body in zip(heads, _BODIES, strict=True)),
        is_of_numbers=True,
    )


SPEND = _plan("spend", ("spend += 60", "spend += 120", "spend -= 80"))
ORDERS = _plan("orders", ("orders *= 1.5", "orders *= 3", "orders *= 0.5"))


def spending(n: int, noise: float = 20.0, *, counts: bool = False, seed: int = 0) -> Generated:
    """Generate customers with their visits and complaints, and what they spend.

    An amount is 100, to which each planted rule that covers the customer adds, and normal noise. A count is drawn from
    the Poisson distribution whose mean is 2, multiplied by each such rule.

    Parameters
    ----------
    n : int
        The number of customers.
    noise : float
        The standard deviation of the noise of amounts.
    counts : bool
        Whether the label is the number of orders instead of an amount.
    seed : int
        The seed; the same seed gives the same data.

    Returns
    -------
    Generated
        The tables and the planted rules.

    Examples
    --------
    >>> data = spending(100)
    >>> print(data.rules[0])
    spend += 60 :- customer(age>=50).
    >>> X, y = data.database().examples()
    >>> y.name, y.dtype.kind
    ('spend', 'f')
    """
    check_sizes("spending", 0.0, n=n)
    if not 0.0 <= noise < np.inf:
        raise DataError(f"spending: noise must be a number of at least 0. Got {noise} instead.")
    rng = np.random.default_rng([seed, 7])
    customer_id = np.arange(1, n + 1)
    age = rng.integers(18, 80, size=n)
    visit_of, complaint_of = children(rng, n, 0, 8), children(rng, n, 0, 2)
    channel = nominal(rng, {"web": 0.5, "shop": 0.2, "phone": 0.3}, len(visit_of))
    minutes = 5 * rng.integers(1, 13, size=len(visit_of))
    kind = nominal(rng, {"late": 0.4, "broken": 0.3, "other": 0.3}, len(complaint_of))
    covered = (
        age >= 50,
        reached(visit_of[channel.equals("shop") & (minutes >= 45)], n),
        reached(complaint_of[kind.equals("late")], n),
    )
    plan = ORDERS if counts else SPEND
    sizes = [float(rule.split()[2]) for rule in plan.rules]
    first, second, third = (np.where(rows, size, counts) for rows, size in zip(covered, sizes, strict=True))
    label: NDArray[Any] = BASE + first + second - third + noise * rng.standard_normal(n)
    if counts:
        label = rng.poisson(MEAN * first * second * third)
    tables = {
        "customer": pa.table(
            {
                "customer_id": customer_id,
                "age": age,
                "region": nominal(rng, dict.fromkeys(("north", "east", "south", "west"), 1), n).arrow(),
                plan.label: label,
            }
        ),
        "visit": pa.table(
            {
                "visit_id": np.arange(1, len(visit_of) + 1),
                "customer_id": customer_id[visit_of],
                "channel": channel.arrow(),
                "minutes": minutes,
            }
        ),
        "complaint": pa.table(
            {
                "complaint_id": np.arange(1, len(complaint_of) + 1),
                "customer_id": customer_id[complaint_of],
                "kind": kind.arrow(),
            }
        ),
    }
    return Generated(plan, tables)
