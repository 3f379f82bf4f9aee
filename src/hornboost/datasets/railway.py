"""Michalski's trains in any number: trains have cars, cars carry loads."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from hornboost.datasets.draws import children, flip, label_column, nominal, position_in_parent, reached
from hornboost.datasets.generated import NOMINAL, NUMERIC, Generated, Plan, check_sizes, key

PLAN = Plan(
    name="trains",
    title="Trains that go east or west",
    target="train",
    key=("train",),
    label="eastbound",
    tables={
        "train": {"train": key("train"), "colour": NOMINAL, "speed": NUMERIC, "eastbound": NOMINAL},
        "car": {
            "car": key("car"),
            "train": key("train"),
            "position": NUMERIC,
            "shape": NOMINAL,
            "length": NOMINAL,
            "roof": NOMINAL,
            "wheels": NUMERIC,
            "capacity": NUMERIC,
        },
        "load": {"load": key("load"), "car": key("car"), "shape": NOMINAL, "weight": NUMERIC},
    },
    primary_keys={"train": ("train",), "car": ("car",), "load": ("load",)},
    foreign_keys=(("car.train", "train.train"), ("load.car", "car.car")),
    rules=(
        'eastbound="1" :- train(train=T), car(train=T, length="short", roof="flat", wheels>=3).',
        'eastbound="1" :- train(train=T), car(train=T, capacity>=112, capacity<=116).',
        'eastbound="1" :- train(train=T), car(car=C, train=T, shape="hexagon"), load(car=C, shape="triangle").',
    ),
)


def trains(n: int, noise: float = 0.0, seed: int = 0) -> Generated:
    """Generate trains of two to five cars with up to three loads each; about half of the trains go east.

    Parameters
    ----------
    n : int
        The number of trains.
    noise : float
        The share of the labels that are wrong.
    seed : int
        The seed; the same seed gives the same data.

    Returns
    -------
    Generated
        The tables and the planted rules.

    Examples
    --------
    >>> trains(1000).tables["train"].num_rows
    1000
    """
    check_sizes("trains", noise, n=n)
    rng = np.random.default_rng([seed, 1])
    colour = nominal(rng, {"red": 3, "green": 3, "blue": 2, "black": 2}, n)
    speed = 10 * rng.integers(4, 13, size=n)

    train = children(rng, n, 2, 5)
    cars = len(train)
    shape = nominal(rng, {"rectangle": 0.4, "bucket": 0.25, "hexagon": 0.2, "ellipse": 0.15}, cars)
    length = nominal(rng, {"short": 0.5, "long": 0.5}, cars)
    roof = nominal(rng, {"none": 0.35, "flat": 0.28, "peaked": 0.15, "arc": 0.12, "jagged": 0.1}, cars)
    wheels = 2 + rng.binomial(2, 0.25, size=cars)
    capacity = 4 * rng.integers(5, 35, size=cars)

    car = children(rng, cars, 0, 3)
    loads = len(car)
    load_shape = nominal(rng, {"circle": 0.3, "triangle": 0.25, "square": 0.25, "diamond": 0.2}, loads)
    weight = rng.integers(1, 9, size=loads)

    three_conditions = length.equals("short") & roof.equals("flat") & (wheels >= 3)
    interval = (capacity >= 112) & (capacity <= 116)
    two_hops = shape.equals("hexagon") & reached(car[load_shape.equals("triangle")], cars)
    truth = reached(train[three_conditions | interval | two_hops], n)
    return Generated(
        PLAN,
        {
            "train": pa.table(
                {
                    "train": np.arange(1, n + 1),
                    "colour": colour.arrow(),
                    "speed": speed,
                    "eastbound": label_column(flip(rng, truth, noise)),
                }
            ),
            "car": pa.table(
                {
                    "car": np.arange(1, cars + 1),
                    "train": train + 1,
                    "position": position_in_parent(train),
                    "shape": shape.arrow(),
                    "length": length.arrow(),
                    "roof": roof.arrow(),
                    "wheels": wheels,
                    "capacity": capacity,
                }
            ),
            "load": pa.table(
                {"load": np.arange(1, loads + 1), "car": car + 1, "shape": load_shape.arrow(), "weight": weight}
            ),
        },
    )
