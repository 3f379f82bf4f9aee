"""A small database with much of what partitions must get right."""

from __future__ import annotations

import numpy as np
import pandas as pd

import hornboost as hb

BIG = 2**60 + 1
"""Keys that floats cannot tell apart."""


def pairs_at_school() -> hb.Database:
    """Pairs of persons, composite and partly null keys, text and 64-bit ones, shared rows, times, labels missing."""
    rng = np.random.default_rng(7)
    n = 60
    pair = pd.DataFrame(
        {
            "student": [f"s{k % 20}" for k in range(n)],
            "teacher": pd.array([None if k % 13 == 0 else BIG + k % 7 for k in range(n)], "Int64"),
            "year": np.where(rng.random(n) < 0.1, np.nan, rng.integers(1, 5, n)),
            "day": pd.to_datetime("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, n), "D"),
            "advised": [None if k % 9 == 4 else ("yes" if k % 3 else "no") for k in range(n)],
        }
    )
    taught = pd.DataFrame(
        {
            "teacher": pd.array([None if k % 11 == 0 else BIG + k % 9 for k in range(80)], "Int64"),
            "course": [f"c{k % 15}" for k in range(80)],
            "hours": rng.random(80).round(2),
            "on": pd.to_datetime("2023-12-01") + pd.to_timedelta(rng.integers(0, 90, 80), "D"),
        }
    )
    taken = pd.DataFrame(
        {"student": [f"s{k % 23}" for k in range(90)], "course": [f"c{k * 7 % 17}" for k in range(90)]}
    )
    taken["grade"] = [None if k % 10 == 0 else "ABCD"[k % 4] for k in range(90)]
    course = pd.DataFrame({"course": [f"c{k}" for k in range(19)], "level": [k % 4 for k in range(19)]})
    return hb.Database.from_frames(
        {"pair": pair, "taught": taught, "taken": taken, "course": course},
        target="pair",
        key=["student", "teacher"],
        label="advised",
        positive="yes",
        keys={"taught": ["teacher", "course"], "taken": ["student", "course"], "course": ["course"]},
        foreign_keys=[
            ("taught.teacher", "pair.teacher"),
            ("taken.student", "pair.student"),
            ("taught.course", "course.course"),
            ("taken.course", "course.course"),
        ],
        times={"pair": "day", "taught": "on"},
    )
