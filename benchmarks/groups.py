"""Pairs of things of which the stronger one wins: HornBoost tuned on pairs held out one by one, and on things.

    python -m benchmarks.groups [--seeds 3]

Prints the log-loss, the number of conditions and the rounds, on pairs with a thing that was not learned from and on
other pairs of the same things, with `groups=None` and `groups=["a", "b"]`.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.metrics import log_loss

import hornboost as hb
from benchmarks.papers.markdown import markdown_table

SIZES = ((50, 1_200), (200, 3_000), (1_000, 4_000))
"""Things and pairs of them."""

GROUPS: dict[str, Any] = {"single pairs": None, "things": ["a", "b"]}


def contests(n: int, n_pairs: int, own: float, seed: int) -> tuple[hb.Database, NDArray[np.bool_]]:
    """Pairs of `n` things, and which of them hold one of a quarter that is new.

    A thing's strength depends on what is known of it, and on something of its `own` that rules can only learn by heart.
    One pair in twenty is won by the weaker one.
    """
    draws = np.random.default_rng(seed)
    known = draws.normal(size=(n, 6)).round(2)
    strength = known[:, 0] + 0.7 * (known[:, 1] > 0.3) - known[:, 2] * (known[:, 3] > 0) + own * draws.normal(size=n)
    names = np.array([f"t{number}" for number in range(n)])
    thing = pd.DataFrame(known, columns=[f"p{number}" for number in range(6)]).assign(thing=names)
    pairs = np.unique(draws.integers(0, n, (n_pairs, 2)), axis=0)
    one, other = pairs[pairs[:, 0] != pairs[:, 1]].T
    wins = (strength[one] > strength[other]) ^ (draws.random(len(one)) < 0.05)
    pair = pd.DataFrame({"a": names[one], "b": names[other], "wins": np.where(wins, "yes", "no")})
    is_new = draws.random(n) < 0.25
    database = hb.Database.from_frames(
        {"pair": pair, "thing": thing},
        target="pair",
        key=["a", "b"],
        label="wins",
        positive="yes",
        foreign_keys=[("pair.a", "thing.thing"), ("pair.b", "thing.thing")],
    )
    return database, is_new[one] | is_new[other]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3)
    given = parser.parse_args()
    rows = []
    for n, n_pairs in SIZES:
        for own in (1.0, 0.3):
            found: dict[tuple[str, str], list[tuple[float, int, int]]] = {}
            for seed in range(given.seeds):
                database, is_new = contests(n, n_pairs, own, seed)
                X, y = database.examples()
                drawn = np.random.default_rng(seed).random(len(X)) < 0.3
                for tested, part in (("new things", is_new), ("known things", drawn)):
                    for tuned, groups in GROUPS.items():
                        clf = hb.HornBoostClassifier(database, groups=groups, random_state=0).fit(X[~part], y[~part])
                        loss = float(log_loss(y[part], clf.predict_proba(X[part]), labels=list(clf.classes_)))
                        found.setdefault((tested, tuned), []).append((loss, clf.n_conditions_, clf.n_rounds_))
            cells = ["{:.3f} / {:.0f} / {:.0f}".format(*np.mean(one, axis=0)) for one in found.values()]
            rows.append([f"{n:,}", f"{n_pairs:,}", f"{own:g}", *cells])
    columns = [f"{tested}, tuned on {tuned}" for tested in ("new things", "known things") for tuned in GROUPS]
    print(markdown_table(["things", "pairs", "own", *columns], rows))


if __name__ == "__main__":
    main()
