"""A bank with risky loans: districts, accounts, clients, permanent orders, and transactions in any number."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

import pyarrow as pa

from hornboost.datasets import accounts, dated_accounts
from hornboost.datasets.generated import Generated, Plan, check_sizes, write_parquet
from hornboost.errors import DataError


def bank(
    n: int,
    transactions: int = 60,
    noise: float = 0.0,
    seed: int = 0,
    *,
    dated: bool = False,
    distractors: int = 0,
) -> Generated:
    """Generate loans, each on an account of its own; about half of them are risky.

    All tables together have about `n * (transactions + 7)` rows. Beyond a few million rows prefer `write_bank`.

    With dates, a planted rule looks at the last 90 days before a loan, and what comes later misleads or tells the
    outcome: withdrawals of what was granted, reminders that are sent when it is not paid back (the table `reminder`),
    and the reason why a card was closed. `Generated.database` declares what was known when, unless it is told not to.

    Parameters
    ----------
    n : int
        The number of loans.
    transactions : int
        About as many transactions are made on each account.
    noise : float
        The share of the labels that are wrong.
    seed : int
        The seed; the same seed gives the same data.
    dated : bool
        Whether loans, transactions and what else happens have dates.
    distractors : int
        The number of columns without a meaning, in the tables `trans`, `contact`, `account` and `loan`; only with
        dates.

    Returns
    -------
    Generated
        The tables and the planted rules.

    Examples
    --------
    >>> data = bank(200, transactions=10)
    >>> data.tables["loan"].num_rows, data.tables["district"].num_rows
    (200, 77)
    >>> print(bank(200, transactions=10, dated=True).rules[0])
    risky="1" :- loan(account_id=A), trans(account_id=A, operation="withdrawal", amount>=3000, age<=90d).
    """
    plan, chunks = _made("bank", n, transactions, noise, seed, dated, distractors)
    parts = list(chunks)
    return Generated(plan, {name: pa.concat_tables([part[name] for part in parts]) for name in plan.tables})


def write_bank(
    folder: str | Path,
    n: int,
    transactions: int = 60,
    noise: float = 0.0,
    seed: int = 0,
    *,
    dated: bool = False,
    distractors: int = 0,
) -> Path:
    """Write the tables of `bank` straight to Parquet, in chunks, so that memory holds one chunk only.

    Ten million rows are `n=93_500, transactions=100`.

    Parameters
    ----------
    folder : path
        The folder to write to.
    n, transactions, noise, seed, dated, distractors
        As in `bank`.

    Returns
    -------
    Path
        The folder.
    """
    plan, chunks = _made("write_bank", n, transactions, noise, seed, dated, distractors)
    return write_parquet(plan, chunks, folder)


def _made(
    generator: str, n: int, transactions: int, noise: float, seed: int, dated: bool, distractors: int
) -> tuple[Plan, Iterator[Mapping[str, pa.Table]]]:
    check_sizes(generator, noise, n=n, transactions=transactions)
    if distractors < 0 or (distractors and not dated):
        raise DataError(
            f"The 'distractors' parameter of {generator} must be an int in [0, inf), and 0 unless dated=True. "
            f"Got {distractors!r} instead."
        )
    if dated:
        return dated_accounts.plan(distractors), dated_accounts.chunks(n, transactions, noise, seed, distractors)
    return accounts.PLAN, accounts.chunks(n, transactions, noise, seed)
