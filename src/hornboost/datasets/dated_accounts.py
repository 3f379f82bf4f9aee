"""The accounts of the bank with dates: what was known when a loan was granted, and much that came later."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

import numpy as np
import pyarrow as pa

from hornboost.datasets import accounts
from hornboost.datasets.draws import Ints, Mask, children, dates, flip, label_column, nominal, reached
from hornboost.datasets.generated import DATE, NOMINAL, NUMERIC, ColumnSpec, Plan, key

_FIRST = np.datetime64("2001-01-01", "D")
_YEARS = 5
_STEP = 5
"""Transactions come every so many days before and after a loan, so that the planted window is one that data show."""

_WINDOW = 90
_BEFORE, _AFTER = 720, 360
"""Days of transactions that an account has before and after its loan."""

_WITHOUT_TIMES = accounts.PLAN
_LOAN = _WITHOUT_TIMES.tables["loan"]
_SPREAD = ("trans", "contact", "account", "loan")
"""Where columns without a meaning are put, in turn."""


def plan(distractors: int) -> Plan:
    """The schema of the bank with dates and with some columns that mean nothing."""
    tables: dict[str, dict[str, ColumnSpec]] = {name: dict(of) for name, of in _WITHOUT_TIMES.tables.items()}
    tables["loan"] = {name: _LOAN[name] for name in ("loan_id", "account_id")} | {
        "granted": DATE,
        **{name: _LOAN[name] for name in ("amount", "duration", "risky")},
    }
    tables["trans"] = {
        "trans_id": key("trans"),
        "account_id": key("account"),
        "date": DATE,
        "operation": NOMINAL,
        "k_symbol": NOMINAL,
        "amount": NUMERIC,
        "balance": NUMERIC,
    }
    tables["contact"] = {"contact_id": key("contact"), "account_id": key("account"), "date": DATE, "channel": NOMINAL}
    tables["card"] = {
        "card_id": key("card"),
        "account_id": key("account"),
        "issued": DATE,
        "type": NOMINAL,
        "closed": DATE,
        "reason": NOMINAL,
    }
    tables["reminder"] = {
        "reminder_id": key("reminder"),
        "account_id": key("account"),
        "sent": DATE,
        "level": NOMINAL,
    }
    for place in range(distractors):
        tables[_SPREAD[place % len(_SPREAD)]][f"noise_{place + 1}"] = NOMINAL if place // 4 % 2 else NUMERIC
    of_accounts = ("contact", "card", "reminder")
    return replace(
        _WITHOUT_TIMES,
        tables=tables,
        primary_keys={**_WITHOUT_TIMES.primary_keys, **{name: (f"{name}_id",) for name in of_accounts}},
        foreign_keys=(
            *_WITHOUT_TIMES.foreign_keys,
            *((f"{name}.account_id", "account.account_id") for name in of_accounts),
        ),
        rules=(
            (
                'risky="1" :- loan(account_id=A), '
                f'trans(account_id=A, operation="withdrawal", amount>=3000, age<={_WINDOW}d).'
            ),
            *_WITHOUT_TIMES.rules[1:],
        ),
        times={"loan": "granted", "trans": "date", "contact": "date", "card": "issued", "reminder": "sent"},
        known_later={"card": {"closed": ("reason",)}},
    )


def chunks(n: int, transactions: int, noise: float, seed: int, distractors: int) -> Iterator[Mapping[str, pa.Table]]:
    """The tables of some loans at a time; what has no date is as in the bank without."""
    of = plan(distractors)
    for number, chunk in enumerate(accounts.chunks(n, 1, 0.0, seed)):
        start = number * accounts.CHUNK
        rng = np.random.default_rng([seed, 8, start])
        tables = dict(chunk) | _dated(rng, chunk, start, transactions, noise)
        for place in range(distractors):
            table = _SPREAD[place % len(_SPREAD)]
            tables[table] = tables[table].append_column(
                f"noise_{place + 1}", _meaningless(rng, tables[table].num_rows, is_nominal=bool(place // 4 % 2))
            )
        yield {name: tables[name].select(list(columns)) for name, columns in of.tables.items()}


def _dated(
    rng: np.random.Generator, chunk: Mapping[str, pa.Table], start: int, transactions: int, noise: float
) -> dict[str, pa.Table]:
    loan = chunk["loan"]
    n = loan.num_rows
    granted = rng.integers(0, 365 * _YEARS, size=n)
    account_id = 1 + start + np.arange(n)

    trans_of = children(rng, n, (transactions + 1) // 2, transactions + transactions // 2)
    # about two withdrawals an account, however many transactions it has
    others = {"transfer": 0.4, "card": 0.3, "deposit": 0.2, "cheque": 0.1}
    operation = nominal(rng, {**others, "withdrawal": 2 / transactions}, len(trans_of))
    amount = accounts.amounts(rng, len(trans_of))
    is_withdrawal = operation.equals("withdrawal")
    day = np.where(is_withdrawal, _withdrawal_days(rng, len(trans_of)), _days(rng, len(trans_of)))
    recent = is_withdrawal & (amount >= 3000) & (day < 0) & (day >= -_WINDOW)
    truth = reached(trans_of[recent], n) | _without_dates(chunk, start)
    risky = flip(rng, truth, noise)

    # what is granted is spent: most loans that are not risky have a large withdrawal on the day or soon after
    spent = np.flatnonzero(~risky & (rng.random(n) < 0.9))
    order = np.argsort(np.concatenate([trans_of, spent]), kind="stable")
    owner = np.concatenate([trans_of, spent])[order]
    day = np.concatenate([day, _STEP * rng.integers(0, 6, size=len(spent))])[order]
    kinds = np.concatenate([operation.codes, np.full(len(spent), len(others), np.int8)])[order]
    amount = np.concatenate([amount, np.maximum(3000, accounts.amounts(rng, len(spent)))])[order]
    size = len(owner)
    symbols = {"none": 0.5, "household": 0.2, "pension": 0.15, "insurance": 0.15}
    return {
        "loan": loan.set_column(loan.column_names.index("risky"), "risky", label_column(risky)).append_column(
            "granted", dates(_FIRST, granted)
        ),
        "trans": pa.table(
            {
                "trans_id": 1 + 2 * transactions * start + np.arange(size),
                "account_id": account_id[owner],
                "date": dates(_FIRST, granted[owner] + day),
                "operation": replace(operation, codes=kinds).arrow(),
                "k_symbol": nominal(rng, symbols, size).arrow(),
                "amount": amount,
                "balance": 1000 * rng.integers(0, 50, size=size),
            }
        ),
        "contact": _contacts(rng, start, account_id, granted),
        "card": _cards(rng, start, account_id, granted, risky),
        "reminder": _reminders(rng, start, account_id, granted, risky),
    }


def _days(rng: np.random.Generator, size: int) -> Ints:
    """Days from the loan on, negative before it."""
    return _STEP * rng.integers(-_BEFORE // _STEP, _AFTER // _STEP, size=size)


def _withdrawal_days(rng: np.random.Generator, size: int) -> Ints:
    """The same, a third of them in the planted window, a third earlier and a third later."""
    window, before, after = _WINDOW // _STEP, _BEFORE // _STEP, _AFTER // _STEP
    part = rng.integers(0, 3, size=size)
    days = (
        rng.integers(-window, 0, size=size),
        rng.integers(-before, -window, size=size),
        rng.integers(0, after, size=size),
    )
    return _STEP * np.choose(part, days)


def _without_dates(chunk: Mapping[str, pa.Table], start: int) -> Mask:
    """Which loans are risky by the planted rules that look at no date."""
    n = chunk["loan"].num_rows
    order, disp, client = (chunk[name].to_pydict() for name in ("order", "disp", "client"))
    amount, order_of = np.array(order["amount"]), np.array(order["account_id"], np.int64) - 1 - start
    holder, is_owner = np.array(disp["account_id"]) - 1 - start, np.array(disp["type"]) == "owner"
    young = np.array(client["age"]) <= 40
    return reached(order_of[(amount >= 5000) & (amount <= 6500)], n) | reached(holder[~is_owner & young], n)


def _contacts(rng: np.random.Generator, start: int, account_id: Ints, granted: Ints) -> pa.Table:
    """Calls and letters, which mean nothing."""
    owner = children(rng, len(account_id), 0, 6)
    return pa.table(
        {
            "contact_id": 1 + 6 * start + np.arange(len(owner)),
            "account_id": account_id[owner],
            "date": dates(_FIRST, granted[owner] + _days(rng, len(owner))),
            "channel": nominal(rng, {"branch": 0.3, "phone": 0.4, "letter": 0.3}, len(owner)).arrow(),
        }
    )


def _cards(rng: np.random.Generator, start: int, account_id: Ints, granted: Ints, risky: Mask) -> pa.Table:
    """Cards: some were closed before the loan, which tells nothing, and after it those of most risky loans."""
    owner = np.flatnonzero(rng.random(len(account_id)) < 0.6)
    size = len(owner)
    age = rng.integers(30, 1000, size=size)
    before = rng.random(size) < 0.25
    defaulted = ~before & risky[owner] & (rng.random(size) < 0.9)
    is_open = ~before & ~defaulted & (rng.random(size) < 0.7)
    day = np.where(before, -np.ceil(age * rng.random(size)).astype(np.int64), rng.integers(1, _AFTER, size=size))
    reason = nominal(rng, {"moved": 0.5, "lost": 0.5, "default": 0.0}, size)
    codes = np.where(defaulted, 2, reason.codes).astype(np.int8)
    return pa.table(
        {
            "card_id": 1 + start + np.arange(size),
            "account_id": account_id[owner],
            "issued": dates(_FIRST, granted[owner] - age),
            "type": nominal(rng, {"classic": 0.7, "junior": 0.2, "gold": 0.1}, size).arrow(),
            "closed": dates(_FIRST, granted[owner] + day, missing=is_open),
            "reason": pa.DictionaryArray.from_arrays(pa.array(codes, mask=is_open), pa.array(reason.values)).cast(
                pa.string()
            ),
        }
    )


def _reminders(rng: np.random.Generator, start: int, account_id: Ints, granted: Ints, risky: Mask) -> pa.Table:
    """Reminders: some at any time before a loan, and almost only for risky loans a last one after it."""
    n = len(account_id)
    earlier = np.flatnonzero(rng.random(n) < 0.4)
    later = np.flatnonzero(rng.random(n) < np.where(risky, 0.97, 0.03))
    owner = np.concatenate([earlier, later])
    order = np.argsort(owner, kind="stable")
    is_later = np.arange(len(owner)) >= len(earlier)
    day = np.where(
        is_later, rng.integers(30, _AFTER, size=len(owner)), -rng.integers(1, _BEFORE, size=len(owner), endpoint=True)
    )
    level = nominal(rng, {"first": 0.6, "second": 0.4, "final": 0.0}, len(owner))
    codes = np.where(is_later, 2, level.codes).astype(np.int8)
    return pa.table(
        {
            "reminder_id": 1 + 2 * start + np.arange(len(owner)),
            "account_id": account_id[owner[order]],
            "sent": dates(_FIRST, (granted[owner] + day)[order]),
            "level": replace(level, codes=codes[order]).arrow(),
        }
    )


def _meaningless(rng: np.random.Generator, size: int, is_nominal: bool) -> pa.Array:
    if is_nominal:
        return nominal(rng, dict.fromkeys("abcdef", 1), size).arrow()
    return pa.array(rng.integers(0, 100, size=size))
