"""Models to report about: generated loans, and tables whose names and values try to be markup."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

import hornboost as hb

HOSTILE = '\x00<script>window.hacked = 1</script>"><img src=x onerror="window.hacked = 1"><b2>\'`&lt;'


def bank_model() -> tuple[hb.C2RIBClassifier, Any, Any]:
    db = hb.datasets.bank(300, transactions=8, noise=0.05, seed=0).database()
    X, y = db.examples()
    clf = hb.C2RIBClassifier(db, rounds=25, features="margin", stall=5, ranking="existential", random_state=0)
    return clf.fit(X, y), X, y


def tuned_model() -> tuple[hb.HornBoostClassifier, Any, Any]:
    db = hb.datasets.bank(150, transactions=8, noise=0.05, seed=0).database()
    X, y = db.examples()
    clf = hb.HornBoostClassifier(db, max_rules=8, max_depth=2, constants=False, corrective=False, random_state=0)
    return clf.fit(X, y), X, y


def spending_model() -> tuple[hb.HornBoostRegressor, Any, Any]:
    db = hb.datasets.spending(200, seed=3).database()
    X, y = db.examples()
    return hb.HornBoostRegressor(db, rounds=15, max_literals=2, random_state=0).fit(X, y), X, y


def hostile_model() -> tuple[hb.C2RIBClassifier, Any, Any]:
    """Every name, every key and every value is hostile;
    values of a megabyte are both constants of rules and cells of witnesses.
    """
    rng = np.random.default_rng(0)
    n = 60
    bad = [f"{HOSTILE}{k}" for k in range(n)]
    kind = rng.integers(0, 2, size=n)
    values = np.array([HOSTILE + "v" * 1_000_000, HOSTILE + "</title></svg>"], object)
    table, rows, key, label = f"target {HOSTILE}", f"rows {HOSTILE}", f"key {HOSTILE}", f"label {HOSTILE}"
    target = pd.DataFrame(
        {key: bad, label: np.where((kind == 1) ^ (rng.random(n) < 0.05), f"yes {HOSTILE}", f"no {HOSTILE}")}
    )
    other = pd.DataFrame({key: bad, f"kind {HOSTILE}": values[kind], f"big {HOSTILE}": ["x" * 1_000_000] * n})
    db = hb.Database.from_frames(
        {table: target, rows: other},
        target=table,
        key=key,
        label=label,
        positive=f"yes {HOSTILE}",
        keys={rows: {key: "key"}, table: {key: "key"}},
        types={f"{rows}.big {HOSTILE}": "nominal"},
        foreign_keys=[(f"{rows}.{key}", f"{table}.{key}")],
    )
    X, y = db.examples()
    return hb.C2RIBClassifier(db, rounds=4, random_state=0).fit(X, y), X, y
