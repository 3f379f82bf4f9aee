"""Data sets whose labels are numbers: activities of molecules, scikit-learn's tables, and generated ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

import hornboost as hb

Numeric = tuple[Any, Any, NDArray[np.float64]]
"""A database or None, the examples, and their labels."""

NUMBERS = ("mutagenesis, log activity", "pyrimidines, wins", "diabetes", "Friedman 1", "houses")
FOLDS = {"houses": 3}
"""How many of the ten folds are run where a row takes long."""


def numeric(data: Path, row: str) -> Numeric:
    """The examples of a row."""
    if row == "diabetes":
        from sklearn.datasets import load_diabetes

        X, y = load_diabetes(return_X_y=True, as_frame=True)
        return None, X, y.to_numpy(float)
    if row == "Friedman 1":
        from sklearn.datasets import make_friedman1

        made, y = make_friedman1(1_000, noise=1.0, random_state=0)
        return None, pd.DataFrame(made).add_prefix("x"), y
    if row == "houses":
        return None, *houses()
    return _mutagenesis(data) if row.startswith("mutagenesis") else _pyrimidines(data)


def houses(n: int = 20_000, seed: int = 0) -> tuple[pd.DataFrame, NDArray[np.float64]]:
    """Blocks of houses and their value, made up after the shape of scikit-learn's California housing.

    Values grow with income, less so where it is high; they are high near the coast and around four cities, and lower
    where many share a house. Noise is a factor, so that they are skewed, and values above 5 are cut, as there.

    >>> X, y = houses(1_000)
    >>> X.shape, bool(0.1 < y.min() and y.max() == 5.0)
    ((1000, 8), True)
    """
    rng = np.random.default_rng(seed)
    cities = np.array([[34.0, -118.2], [37.7, -122.4], [32.8, -117.1], [38.6, -121.5]])
    near = rng.choice(5, size=n, p=[0.35, 0.2, 0.1, 0.05, 0.3])
    latitude = np.where(near < 4, cities[near % 4, 0] + rng.normal(0, 0.35, n), rng.uniform(32.6, 41.9, n))
    coast = -117.0 - 1.02 * (latitude - 32.5)
    inland = np.where(near < 4, np.abs(cities[near % 4, 1] - coast + rng.normal(0, 0.35, n)), rng.gamma(2.0, 1.2, n))
    income = np.clip(rng.lognormal(1.25, 0.45, n), 0.5, 15.0)
    age = np.clip(rng.normal(29, 12, n), 1, 52).round()
    rooms = np.clip(1.5 + 0.75 * income + rng.lognormal(0.3, 0.5, n), 1.0, 40.0)
    bedrooms = rooms * np.clip(rng.normal(0.2, 0.03, n), 0.1, 0.5)
    population = rng.lognormal(7.0, 0.7, n).round()
    occupants = np.clip(rng.lognormal(1.05, 0.25, n), 0.8, 12.0)
    at = np.stack([latitude, coast + inland], axis=1)
    distances = np.sqrt(((at[:, None, :] - cities[None]) ** 2).sum(axis=2))
    city = (np.array([0.55, 0.8, 0.45, 0.2]) * np.exp(-((distances / 0.5) ** 2))).max(axis=1)
    level = -0.95 + 1.9 * np.log1p(income / 3.0) + 0.6 * np.exp(-inland / 0.4) + city
    level += np.where(age > 45, 0.15, 0.0) - 0.35 * np.log(occupants) + 0.4 * city * np.log1p(income / 3.0)
    value = np.minimum(np.exp(level + rng.normal(0, 0.22, n)), 5.0)
    columns = {
        "income": income,
        "age": age,
        "rooms": rooms,
        "bedrooms": bedrooms,
        "population": population,
        "occupants": occupants,
        "latitude": latitude,
        "longitude": at[:, 1],
    }
    return pd.DataFrame(columns).round(4), value


def _mutagenesis(data: Path) -> Numeric:
    """The 188 compounds and the measured activities that their classes were cut from."""
    frames = {name: pd.read_csv(data / "mutagenesis" / f"{name}.csv") for name in ("drug", "atom", "bond", "ring")}
    ids = hb.Database.from_folder(data / "mutagenesis").examples()[0]["drug"]
    frames["drug"] = frames["drug"][frames["drug"]["drug"].isin(set(ids))].reset_index(drop=True)
    links = [("atom.drug", "drug.drug"), ("bond.drug", "drug.drug"), ("ring.drug", "drug.drug")]
    links += [("bond.atom1", "atom.atom"), ("bond.atom2", "atom.atom")]
    hidden = ["drug.active", "drug.subset", "drug.fold", "drug.fold_gilps"]
    return _of_drugs(frames, "log_mutag", links, hidden)


def _pyrimidines(data: Path) -> Numeric:
    """The 55 compounds and the number of comparisons that each of them wins."""
    frames = {name: pd.read_csv(data / "pyrimidines" / f"{name}.csv") for name in ("drug", "group", "great")}
    great = frames.pop("great")
    wins = great[great["great"].astype(str) == "1"]["drug1"].value_counts()
    frames["drug"]["wins"] = frames["drug"]["drug"].map(wins).fillna(0).astype(float)
    return _of_drugs(frames, "wins", [(f"drug.group{k}", "group.group") for k in (3, 4, 5)], [])


def _of_drugs(frames: dict[str, pd.DataFrame], label: str, links: list[tuple[str, str]], hidden: list[str]) -> Numeric:
    database = hb.Database.from_frames(
        frames, target="drug", key="drug", label=label, foreign_keys=links, exclude_columns=hidden, predicts="numbers"
    )
    X, y = database.examples()
    return database, X, np.asarray(y, float)
