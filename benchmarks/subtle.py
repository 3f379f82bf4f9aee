"""Generated sets in which some effects are small beside others, so that the first rounds do not find them."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import hornboost as hb

SIZES = (20, 50, 100, 200, 500, 1000, 30, 40, 80, 2000)
"""Rows of the dimensions of the star."""

VALUES = (3, 5, 10, 30, 8)
"""Values of the columns of each of them."""


def friends(n: int, seed: int = 0) -> hb.Database:
    """Persons of whom some buy: those with a young friend in a team, and those with many friends who have such one."""
    draws = np.random.default_rng(seed)
    person = pd.DataFrame(
        {
            "person": [f"u{number}" for number in range(n)],
            "age": draws.integers(15, 70, n),
            "plan": draws.choice(["free", "pro", "team"], n, p=[0.7, 0.2, 0.1]),
            "country": draws.choice([f"k{number}" for number in range(25)], n),
        }
    )
    popular = draws.pareto(2, n) + 0.3
    one, other = draws.integers(0, n, 3 * n), draws.choice(n, 3 * n, p=popular / popular.sum())
    pairs = np.stack([np.append(one, other), np.append(other, one)])
    left, right = np.unique(pairs[:, pairs[0] != pairs[1]], axis=1)
    names = person["person"].to_numpy()
    is_young = ((person["plan"] == "team") & (person["age"] < 30)).to_numpy()
    has_young = np.bincount(left, is_young[right], n) > 0
    share = np.bincount(left, has_young[right], n) / np.maximum(np.bincount(left, minlength=n), 1)
    causes = 2.0 * has_young + 1.5 * (share > 0.34) + 0.02 * (40 - person["age"].to_numpy())
    person["buys"] = _labels(draws, causes, 0.35)
    return hb.Database.from_frames(
        {"person": person, "friend": pd.DataFrame({"a": names[left], "b": names[right]})},
        target="person",
        key="person",
        label="buys",
        positive="yes",
        foreign_keys=[("friend.a", "person.person"), ("friend.b", "person.person")],
    )


def star(n: int, seed: int = 0) -> hb.Database:
    """Facts with ten dimensions of five nominal columns; of one dimension the rows themselves matter as well."""
    draws = np.random.default_rng(seed)
    fact, causes, dimensions = pd.DataFrame({"fact": np.arange(n)}), np.zeros(n), {}
    for number, size in enumerate(SIZES):
        columns = {
            f"a{place}": draws.choice([f"v{value}" for value in range(most)], size) for place, most in enumerate(VALUES)
        }
        names = np.array([f"d{number}_{row}" for row in range(size)])
        dimensions[f"dim{number}"] = pd.DataFrame({"id": names} | columns)
        rows = draws.integers(0, size, n)
        fact[f"k{number}"] = names[rows]
        if number < 4:
            causes += 0.8 * (columns["a1"] == "v1")[rows]
            causes += 0.8 * np.isin(columns["a3"], [f"v{value}" for value in range(10)])[rows]
        if number == 3:
            causes += 0.8 * draws.normal(size=size)[rows]
    fact["label"] = _labels(draws, causes, 0.4)
    return hb.Database.from_frames(
        {"fact": fact, **dimensions},
        target="fact",
        key="fact",
        label="label",
        positive="yes",
        foreign_keys=[(f"fact.k{number}", f"dim{number}.id") for number in range(len(SIZES))],
    )


def _labels(draws: np.random.Generator, causes: NDArray[np.float64], share: float) -> NDArray[np.str_]:
    """Labels of which about this share is "yes", by causes that are nearly three times as strong as chance."""
    log_odds = 2.0 / 0.7 * (causes - causes.mean()) / causes.std()
    low, high = -20.0, 20.0
    for _ in range(60):
        start = (low + high) / 2
        is_low = float(np.mean(1.0 / (1.0 + np.exp(-log_odds - start)))) < share
        low, high = (start, high) if is_low else (low, start)
    return np.where(draws.random(causes.size) < 1.0 / (1.0 + np.exp(-log_odds - low)), "yes", "no")
