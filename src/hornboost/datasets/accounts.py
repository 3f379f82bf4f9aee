"""The accounts of the bank: districts, clients, permanent orders, transactions, and loans that are risky or not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa

from hornboost.datasets.draws import Ints, children, flip, label_column, nominal, reached
from hornboost.datasets.generated import NOMINAL, NUMERIC, Plan, key

PLAN = Plan(
    name="bank",
    title="Loans that are risky or not",
    target="loan",
    key=("loan_id",),
    label="risky",
    tables={
        "loan": {
            "loan_id": key("loan"),
            "account_id": key("account"),
            "amount": NUMERIC,
            "duration": NUMERIC,
            "risky": NOMINAL,
        },
        "account": {
            "account_id": key("account"),
            "district_id": key("district"),
            "frequency": NOMINAL,
            "opened_year": NUMERIC,
        },
        "client": {"client_id": key("client"), "district_id": key("district"), "gender": NOMINAL, "age": NUMERIC},
        "disp": {"disp_id": key("disp"), "client_id": key("client"), "account_id": key("account"), "type": NOMINAL},
        "order": {
            "order_id": key("order"),
            "account_id": key("account"),
            "bank_to": NOMINAL,
            "amount": NUMERIC,
            "k_symbol": NOMINAL,
        },
        "trans": {
            "trans_id": key("trans"),
            "account_id": key("account"),
            "month": NUMERIC,
            "operation": NOMINAL,
            "k_symbol": NOMINAL,
            "amount": NUMERIC,
            "balance": NUMERIC,
        },
        "district": {"district_id": key("district"), "region": NOMINAL, "avg_salary": NUMERIC, "unemployment": NUMERIC},
    },
    primary_keys={
        "loan": ("loan_id",),
        "account": ("account_id",),
        "client": ("client_id",),
        "disp": ("disp_id",),
        "order": ("order_id",),
        "trans": ("trans_id",),
        "district": ("district_id",),
    },
    foreign_keys=(
        ("loan.account_id", "account.account_id"),
        ("account.district_id", "district.district_id"),
        ("client.district_id", "district.district_id"),
        ("disp.client_id", "client.client_id"),
        ("disp.account_id", "account.account_id"),
        ("order.account_id", "account.account_id"),
        ("trans.account_id", "account.account_id"),
    ),
    rules=(
        'risky="1" :- loan(account_id=A), trans(account_id=A, operation="cash", k_symbol="penalty", amount>=3000).',
        'risky="1" :- loan(account_id=A), order(account_id=A, amount>=5000, amount<=6500).',
        (
            'risky="1" :- loan(account_id=A), disp(client_id=C, account_id=A, type="disponent"), '
            "client(client_id=C, age<=40)."
        ),
    ),
)

CHUNK = 5000
"""Loans made at a time; part of the definition of the data, since each chunk has its own random stream."""

_DISTRICTS = 77
_MAX_ORDERS = 4


def chunks(n: int, transactions: int, noise: float, seed: int) -> Iterator[Mapping[str, pa.Table]]:
    for start in range(0, n, CHUNK):
        rng = np.random.default_rng([seed, 3, start])
        districts = _district(np.random.default_rng([seed, 4]))
        yield {
            **_accounts(rng, start, min(CHUNK, n - start), transactions, noise),
            "district": districts if start == 0 else districts.slice(0, 0),
        }


def _accounts(rng: np.random.Generator, start: int, n: int, transactions: int, noise: float) -> dict[str, pa.Table]:
    """One chunk of loans with all that belongs to their accounts; identifiers continue from loan number `start`."""
    co_owned = np.flatnonzero(rng.random(n) < 0.5)
    holder = np.concatenate([np.arange(n), co_owned])
    disponent = np.arange(len(holder)) >= n
    age = 5 * rng.integers(4, 16, size=len(holder))

    order_of = children(rng, n, 0, _MAX_ORDERS)
    order_amount = amounts(rng, len(order_of))

    trans_of = children(rng, n, (transactions + 1) // 2, transactions + transactions // 2)
    size = len(trans_of)
    operation = nominal(rng, {"cash": 0.45, "transfer": 0.3, "card": 0.15, "cheque": 0.1}, size)
    # about one penalty an account, however many transactions it has: a rule about a value that everybody has could not
    # be found
    symbols = {"none": 0.5, "household": 0.2, "pension": 0.15, "insurance": 0.15}
    symbol = nominal(rng, {**symbols, "penalty": 1 / transactions}, size)
    amount = amounts(rng, size)

    three_conditions = operation.equals("cash") & symbol.equals("penalty") & (amount >= 3000)
    interval = (order_amount >= 5000) & (order_amount <= 6500)
    two_hops = disponent & (age <= 40)
    truth = reached(trans_of[three_conditions], n) | reached(order_of[interval], n) | reached(holder[two_hops], n)

    account_id = 1 + start + np.arange(n)
    client_id = 1 + 2 * start + np.arange(len(holder))
    return {
        "loan": pa.table(
            {
                "loan_id": account_id,
                "account_id": account_id,
                "amount": amounts(rng, n) * 10,
                "duration": 12 * rng.integers(1, 6, size=n),
                "risky": label_column(flip(rng, truth, noise)),
            }
        ),
        "account": pa.table(
            {
                "account_id": account_id,
                "district_id": _any_district(rng, n),
                "frequency": nominal(rng, {"monthly": 0.7, "weekly": 0.2, "after_transaction": 0.1}, n).arrow(),
                "opened_year": rng.integers(1993, 1999, size=n),
            }
        ),
        "client": pa.table(
            {
                "client_id": client_id,
                "district_id": _any_district(rng, len(holder)),
                "gender": nominal(rng, {"f": 0.5, "m": 0.5}, len(holder)).arrow(),
                "age": age,
            }
        ),
        "disp": pa.table(
            {
                "disp_id": client_id,
                "client_id": client_id,
                "account_id": account_id[holder],
                "type": pa.DictionaryArray.from_arrays(disponent.astype(np.int8), ["owner", "disponent"]).cast(
                    pa.string()
                ),
            }
        ),
        "order": pa.table(
            {
                "order_id": 1 + _MAX_ORDERS * start + np.arange(len(order_of)),
                "account_id": account_id[order_of],
                "bank_to": nominal(rng, dict.fromkeys("ABCDEFGHIJKLM", 1), len(order_of)).arrow(),
                "amount": order_amount,
                "k_symbol": nominal(
                    rng, {"household": 0.5, "insurance": 0.2, "leasing": 0.1, "loan": 0.2}, len(order_of)
                ).arrow(),
            }
        ),
        "trans": pa.table(
            {
                "trans_id": 1 + 2 * transactions * start + np.arange(size),
                "account_id": account_id[trans_of],
                "month": rng.integers(1, 13, size=size),
                "operation": operation.arrow(),
                "k_symbol": symbol.arrow(),
                "amount": amount,
                "balance": 1000 * rng.integers(0, 50, size=size),
            }
        ),
    }


def amounts(rng: np.random.Generator, size: int) -> Ints:
    """Sums of money from 500 to 8,000, many small and few large."""
    return 500 * np.minimum(np.ceil(rng.gamma(2.0, 3.0, size=size)), 16).astype(np.int64)


def _any_district(rng: np.random.Generator, size: int) -> Ints:
    return rng.integers(1, _DISTRICTS + 1, size=size)


def _district(rng: np.random.Generator) -> pa.Table:
    regions = {"north": 1, "east": 1, "south": 1, "west": 1, "centre": 1}
    return pa.table(
        {
            "district_id": np.arange(1, _DISTRICTS + 1),
            "region": nominal(rng, regions, _DISTRICTS).arrow(),
            "avg_salary": 1000 * rng.integers(8, 13, size=_DISTRICTS),
            "unemployment": rng.integers(1, 9, size=_DISTRICTS),
        }
    )
