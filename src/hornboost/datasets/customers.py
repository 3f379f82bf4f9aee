"""Customers of a shop who stay or leave, looked at every ninety days: the same customer is many examples."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from hornboost.datasets.draws import Ints, Mask, Nominal, children, dates, label_column, nominal, reached
from hornboost.datasets.generated import DATE, NOMINAL, NUMERIC, Generated, Plan, check_sizes, key

PERIOD = 90
"""Days from one snapshot of a customer to the next, in which those who churn buy nothing."""

_FIRST = np.datetime64("2022-01-01", "D")
_HISTORY = 2
"""Periods before the first snapshot."""

_OLD_PRICES = 3
"""Snapshots up to which customers of the basic plan who look at offers leave."""

_CHANNELS = {"web": 0.5, "shop": 0.3, "phone": 0.2}
_PAGES = {"start": 0.4, "offers": 0.3, "help": 0.2, "cancel": 0.1}
_KINDS = {"delivery": 0.4, "invoice": 0.3, "other": 0.3}

PLAN = Plan(
    name="churn",
    title="Customers who buy nothing in the 90 days after a snapshot",
    target="snapshot",
    key=("snapshot_id",),
    label="churned",
    tables={
        "snapshot": {
            "snapshot_id": key("snapshot"),
            "customer_id": key("customer"),
            "taken": DATE,
            "churned": NOMINAL,
        },
        "customer": {"customer_id": key("customer"), "joined": DATE, "region": NOMINAL, "plan": NOMINAL},
        "purchase": {
            "purchase_id": key("purchase"),
            "customer_id": key("customer"),
            "bought": DATE,
            "channel": NOMINAL,
            "amount": NUMERIC,
        },
        "visit": {
            "visit_id": key("visit"),
            "customer_id": key("customer"),
            "visited": DATE,
            "page": NOMINAL,
            "minutes": NUMERIC,
        },
        "ticket": {
            "ticket_id": key("ticket"),
            "customer_id": key("customer"),
            "opened": DATE,
            "kind": NOMINAL,
            "closed": DATE,
            "outcome": NOMINAL,
        },
        "survey": {"survey_id": key("survey"), "customer_id": key("customer"), "sent": DATE, "answer": NOMINAL},
    },
    primary_keys={
        "snapshot": ("snapshot_id",),
        "customer": ("customer_id",),
        "purchase": ("purchase_id",),
        "visit": ("visit_id",),
        "ticket": ("ticket_id",),
        "survey": ("survey_id",),
    },
    foreign_keys=tuple(
        (f"{table}.customer_id", "customer.customer_id")
        for table in ("snapshot", "purchase", "visit", "ticket", "survey")
    ),
    rules=(
        'churned="1" :- snapshot(customer_id=C), ticket(customer_id=C, kind="delivery", age<=60d).',
        'churned="1" :- snapshot(customer_id=C), visit(customer_id=C, page="cancel", minutes>=4, age<=30d).',
        'churned="1" :- snapshot(count(purchase where age<=90d)<=1).',
    ),
    times={
        "snapshot": "taken",
        "customer": "joined",
        "purchase": "bought",
        "visit": "visited",
        "ticket": "opened",
        "survey": "sent",
    },
    known_later={"ticket": {"closed": ("outcome",)}},
)


@dataclass(frozen=True, eq=False)
class _Events:
    """What customers did: who, on which day, of which kind, and for how long or how much."""

    customer: Ints
    day: Ints
    kind: NDArray[np.int8]
    size: Ints

    @classmethod
    def joined(cls, parts: list[_Events]) -> _Events:
        """Those of several periods, in order of their customers."""
        columns = [np.concatenate([getattr(part, field.name) for part in parts]) for field in fields(cls)]
        order = np.argsort(columns[0], kind="stable")
        return cls(*(column[order] for column in columns))


def churn(n: int, snapshots: int = 8, noise: float = 0.0, seed: int = 0) -> Generated:
    """Generate customers, looked at every 90 days until they leave; they churn if they buy nothing in the next 90.

    A customer leaves because of a late delivery in the last 60 days, after a while on the page that cancels, or if
    there was at most one purchase in 90 days. Up to the third snapshot, under the old prices, so do those with the
    basic plan who looked at offers in the last 30 days, which is no rule any more later. After the snapshot, those who
    left are asked why (the table `survey`), and their tickets are closed with an outcome that tells it.

    Parameters
    ----------
    n : int
        The number of customers.
    snapshots : int
        The most snapshots of a customer.
    noise : float
        The share of the customers who at a snapshot do the opposite of what the rules say.
    seed : int
        The seed; the same seed gives the same data.

    Returns
    -------
    Generated
        The tables and the planted rules.

    Examples
    --------
    >>> data = churn(100)
    >>> data.tables["customer"].num_rows
    100
    >>> print(data.rules[0])
    churned="1" :- snapshot(customer_id=C), ticket(customer_id=C, kind="delivery", age<=60d).
    """
    check_sizes("churn", noise, n=n, snapshots=snapshots)
    rng = np.random.default_rng([seed, 9])
    plan = nominal(rng, {"basic": 0.4, "plus": 0.35, "family": 0.25}, n)
    here = np.arange(n)
    done: list[tuple[_Events, _Events, _Events]] = []
    seen: list[tuple[Ints, Ints, Mask]] = []
    for period in range(_HISTORY + snapshots):
        now = PERIOD * (period + 1)
        done.append((_purchases(rng, here, now), _visits(rng, here, now), _tickets(rng, here, now)))
        if period + 1 < _HISTORY or len(seen) == snapshots:
            continue
        leaves = _leaving(n, now, *done[-1])[here]
        if len(seen) < _OLD_PRICES:
            leaves |= (plan.equals("basic") & _looking(n, now, done[-1][1]))[here]
        leaves ^= rng.random(len(here)) < noise
        seen.append((here, np.full(len(here), now), leaves))
        here = here[~leaves]
    customer, day, churned = (np.concatenate(parts) for parts in zip(*seen, strict=True))
    left = np.full(n, -1)
    left[customer[churned]] = day[churned]
    purchases, visits, tickets = (_Events.joined(list(parts)) for parts in zip(*done, strict=True))
    return Generated(
        PLAN,
        {
            "snapshot": pa.table(
                {
                    "snapshot_id": np.arange(1, len(day) + 1),
                    "customer_id": customer + 1,
                    "taken": dates(_FIRST, day),
                    "churned": label_column(churned),
                }
            ),
            "customer": pa.table(
                {
                    "customer_id": np.arange(1, n + 1),
                    "joined": dates(_FIRST, -rng.integers(1, 1000, size=n)),
                    "region": nominal(rng, dict.fromkeys(("north", "east", "south", "west"), 1), n).arrow(),
                    "plan": plan.arrow(),
                }
            ),
            "purchase": _table("purchase", purchases, "bought", channel=_CHANNELS, amount=5),
            "visit": _table("visit", visits, "visited", page=_PAGES, minutes=1),
            "ticket": _closed(rng, _table("ticket", tickets, "opened", kind=_KINDS), tickets, left),
            "survey": _surveys(rng, left),
        },
    )


def _purchases(rng: np.random.Generator, here: Ints, now: int) -> _Events:
    """Two to seven purchases of each customer in a period, of some customers a single one."""
    number = np.where(rng.random(len(here)) < 0.08, 1, rng.integers(2, 8, size=len(here)))
    return _events(rng, np.repeat(here, number), now - rng.integers(1, PERIOD + 1, size=number.sum()), _CHANNELS, 40)


def _visits(rng: np.random.Generator, here: Ints, now: int) -> _Events:
    customer = here[children(rng, len(here), 0, 6)]
    return _events(rng, customer, now - rng.integers(1, PERIOD + 1, size=len(customer)), _PAGES, 10)


def _tickets(rng: np.random.Generator, here: Ints, now: int) -> _Events:
    customer = here[rng.random(len(here)) < 0.25]
    return _events(rng, customer, now - rng.integers(1, PERIOD + 1, size=len(customer)), _KINDS, 1)


def _events(rng: np.random.Generator, customer: Ints, day: Ints, kinds: Mapping[str, float], most: int) -> _Events:
    size = rng.integers(1, most, size=len(customer), endpoint=True)
    return _Events(customer, day, nominal(rng, kinds, len(customer)).codes, size)


def _leaving(n: int, now: int, purchases: _Events, visits: _Events, tickets: _Events) -> Mask:
    """Who leaves by the planted rules."""
    late = (tickets.kind == list(_KINDS).index("delivery")) & (now - tickets.day <= 60)
    cancels = (visits.kind == list(_PAGES).index("cancel")) & (visits.size >= 4) & (now - visits.day <= 30)
    few = np.bincount(purchases.customer, minlength=n) <= 1
    return reached(tickets.customer[late], n) | reached(visits.customer[cancels], n) | few


def _looking(n: int, now: int, visits: _Events) -> Mask:
    """Who looked at offers in the last 30 days."""
    return reached(visits.customer[(visits.kind == list(_PAGES).index("offers")) & (now - visits.day <= 30)], n)


def _table(name: str, events: _Events, date: str, /, **columns: Mapping[str, float] | int) -> pa.Table:
    """Events as a table: a column of kinds has their names, one of sizes the size of a unit."""
    found = {
        f"{name}_id": np.arange(1, len(events.day) + 1),
        "customer_id": events.customer + 1,
        date: dates(_FIRST, events.day),
    }
    for column, of in columns.items():
        found[column] = events.size * of if isinstance(of, int) else Nominal(events.kind, tuple(of)).arrow()
    return pa.table(found)


def _closed(rng: np.random.Generator, table: pa.Table, tickets: _Events, left: Ints) -> pa.Table:
    """Tickets with the day on which they were closed and the outcome, which tells of those who left in between."""
    day = tickets.day + rng.integers(1, 60, size=len(tickets.day))
    outcome = nominal(rng, {"solved": 0.7, "refund": 0.3, "given up": 0.0}, len(day))
    is_gone = (left[tickets.customer] >= 0) & (left[tickets.customer] < day)
    codes = np.where(is_gone, 2, outcome.codes).astype(np.int8)
    table = table.append_column("closed", dates(_FIRST, day))
    return table.append_column("outcome", Nominal(codes, outcome.values).arrow())


def _surveys(rng: np.random.Generator, left: Ints) -> pa.Table:
    """What those who left answer when they are asked why, after they left."""
    customer = np.flatnonzero((left >= 0) & (rng.random(len(left)) < 0.9))
    answers = {"price": 0.3, "service": 0.4, "other": 0.3}
    return pa.table(
        {
            "survey_id": np.arange(1, len(customer) + 1),
            "customer_id": customer + 1,
            "sent": dates(_FIRST, left[customer] + rng.integers(10, 60, size=len(customer))),
            "answer": nominal(rng, answers, len(customer)).arrow(),
        }
    )
