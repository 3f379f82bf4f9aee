"""What a further condition of a rule must be worth: HornBoost on single tables and generated data, by that number.

    python -m benchmarks.worth --data DATA [--worth 0 1 2 3 4 5 8]
    python -m benchmarks.worth --data DATA --errors 0 1 2
    python -m benchmarks.worth --data DATA --ahead never 0.01
    python -m benchmarks.worth --data DATA --fewer 0 0.001 0.02
    python -m benchmarks.worth --data DATA --onwards 0 1
    python -m benchmarks.worth --data DATA --fades 0 0.05 0.1 0.2 1
    python -m benchmarks.worth --said never 0.5
    python -m benchmarks.worth --data DATA --stake loss saved
    python -m benchmarks.worth --sights 1 2 [--aggregates]
    python -m benchmarks.worth --data DATA --negations never auto always

Prints log-loss, accuracy, conditions and processor seconds of a fit for each set and number. With `--errors` the number
is that of standard errors by which another setting must be better to be taken; with `--ahead` it is the share by which
the loss of another setting must be smaller in all rounds but the first ones, or it is given up; with `--fewer` it is
the share of the loss that half as many rounds with corrected votes may lose; with `--onwards` it is 1 if settings that
may say more are also tried from where the best one ended, also on sets with small effects; with `--fades` it is the
share of the curvature at the start below which λ falls with what is left, also on sets without noise. With `--said` it
is the share of what names save that rules without them must save to replace them, on products with effects of their
own; with `--stake` it is what the shares of tuning refer to, the loss or what is saved of it, also on sets with small
effects and on noisy ones. With `--sights` it is the number of clauses that are grown in a round: one that may look at
aggregates, and one that may not; on generated sets of several tables, with `--aggregates` without the choice of leaving
these out. With `--negations` rules may never, if tuning finds that it helps, or always exclude single values; on tables
with nominal columns. Nothing else is given.
"""

from __future__ import annotations

import argparse
import math
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss
from sklearn.model_selection import StratifiedKFold

import hornboost as hb
from benchmarks import flagship
from benchmarks.mixed import mixed_bank
from benchmarks.named import named_products
from benchmarks.papers.markdown import markdown_table
from benchmarks.subtle import friends, star
from hornboost.boosting import descent, tuning
from hornboost.boosting.gradient import GradientBooster

TABLES = ("breast-wisc", "pima", "german-credit", "horse-colic", "hepatitis", "ionosphere")
NOMINAL = (
    "splice-junction, boundary_vs_none",
    "splice-junction",
    "german-credit",
    "horse-colic",
    "cmc",
    "mushroom",
    "adult",
)
"""Single tables that have nominal columns with three values or more, or tasks of such, for `--negations`."""
STAKES: dict[str, Callable[..., float]] = {"loss": lambda _, loss: loss, "saved": tuning.Trial.stake}
NEGATIONS: dict[str, bool | str] = {"never": False, "auto": "auto", "always": True}
GENERATED: dict[str, tuple[str, dict[str, Any]]] = {
    "shop, 100 products": ("shop", {"n": 1_000, "products": 100, "noise": 0.02}),
    "shop, 600 products": ("shop", {"n": 1_000, "products": 600, "noise": 0.02}),
    "bank, 10 % noise": ("bank", {"n": 1_600, "noise": 0.1}),
    "trains, 10 % noise": ("trains", {"n": 1_600, "noise": 0.1}),
    "molecules, 10 % noise": ("molecules", {"n": 800, "noise": 0.1}),
}
MIXED: dict[str, tuple[str, dict[str, Any]]] = {
    "trains, no noise": ("trains", {"n": 1_000}),
    "bank, 2 % noise": ("bank", {"n": 3_000, "noise": 0.02}),
    "mixed bank, 800 loans": ("mixed_bank", {"n": 1_600}),
    "mixed bank, 6,000 loans": ("mixed_bank", {"n": 12_000}),
}
"""Further sets for `--sights`, in which rules about single rows compete with aggregates, or stand beside them."""
SUBTLE: dict[str, tuple[str, dict[str, Any]]] = {
    "friends of friends": ("friends", {"n": 4_200}),
    "star": ("star", {"n": 11_000}),
}
"""Further sets for `--onwards`."""
SEPARATED: dict[str, tuple[str, dict[str, Any]]] = {
    "shop, no noise": ("shop", {"n": 1_000, "products": 100, "noise": 0.0}),
    "bank, no noise": ("bank", {"n": 1_600}),
    "trains, no noise": ("trains", {"n": 1_000}),
    "molecules, no noise": ("molecules", {"n": 800}),
}
"""Further sets for `--fades`, and single tables: labels without noise, or with little."""
NEARLY_SEPARATED = ("mushroom", "hypothyroid", "splice-junction, boundary_vs_none", "splice-junction")
NAMED: dict[str, tuple[str, dict[str, Any]]] = {
    f"{products} products, own {own:g}, described {described:g}": (
        "named_products",
        {"n": n, "products": products, "own": own, "described": described},
    )
    for n, products, own, described in (
        (4_000, 40, 0.3, 0.0),
        (6_000, 200, 0.5, 0.0),
        (1_600, 60, 0.5, 0.0),
        (4_000, 60, 0.3, 1.5),
        (6_000, 300, 0.3, 1.5),
        (4_000, 100, 0.0, 1.0),
        (16_000, 100, 0.2, 0.7),
    )
}
"""Sets for `--said` and `--stake`, in which most of the loss cannot be saved."""
AGED: dict[str, tuple[str, dict[str, Any]]] = {
    f"{products} products, own {own:g}, aged {aged:g}": (
        "named_products",
        {"n": n, "products": products, "own": own, "described": 0.0, "aged": aged},
    )
    for n, products, own, aged in (
        (4_000, 40, 0.5, 0.15),
        (4_000, 40, 0.3, 0.15),
        (6_000, 200, 0.5, 0.3),
        (8_000, 100, 0.4, 0.2),
    )
}
"""Further sets for `--said`, in which most of it can."""
NOISY: dict[str, tuple[str, dict[str, Any]]] = {
    "bank, 30 % noise": ("bank", {"n": 1_600, "noise": 0.3}),
    "trains, 30 % noise": ("trains", {"n": 1_600, "noise": 0.3}),
    "molecules, 25 % noise": ("molecules", {"n": 1_600, "noise": 0.25}),
    "shop, 100 products, 25 % noise": ("shop", {"n": 2_000, "products": 100, "noise": 0.25}),
    "bank, 40 % noise, 8,000 loans": ("bank", {"n": 16_000, "noise": 0.4}),
}
"""Further sets for `--stake`."""
FURTHER = {
    "sights": {**GENERATED, **MIXED},
    "onwards": {**GENERATED, **SUBTLE},
    "fades": {**GENERATED, **SEPARATED},
    "said": {**AGED, **NAMED},
    "stake": {**GENERATED, **SUBTLE, **NAMED, **NOISY},
    "negations": {},
}
"""The generated sets for an option, where these are not the usual ones."""
OURS: dict[str, Callable[..., Any]] = {
    "mixed_bank": mixed_bank,
    "friends": friends,
    "star": star,
    "named_products": named_products,
}


def parts(
    data: Path | None, tables: Sequence[str], generated: Mapping[str, tuple[str, dict[str, Any]]]
) -> Iterator[tuple[Any, ...]]:
    """Name, database, rows, labels, and what is learned from and tested on: five folds, or halves of three seeds."""
    if data is not None:
        for name in tables:
            row, _, task = name.partition(", ")
            loaded = flagship.load(data, row, task or None)
            for train, test in StratifiedKFold(5, shuffle=True, random_state=1).split(loaded.X, loaded.y):
                yield name, loaded.database, loaded.X, loaded.y, train, test
    for name, (generator, options) in generated.items():
        for seed in range(3):
            made = (OURS.get(generator) or getattr(hb.datasets, generator))(**options, seed=seed)
            database = made if isinstance(made, hb.Database) else made.database()
            X, y = database.examples()
            half = len(X) // 2
            yield name, database, X, np.asarray(y), np.arange(half), np.arange(half, len(X))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="folder of the single tables; generated sets alone without it")
    parser.add_argument("--worth", type=float, nargs="+", default=[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 8.0])
    parser.add_argument("--errors", type=float, nargs="+")
    parser.add_argument("--ahead", type=lambda text: -math.inf if text == "never" else float(text), nargs="+")
    parser.add_argument("--fewer", type=float, nargs="+")
    parser.add_argument("--onwards", type=int, nargs="+", choices=(0, 1))
    parser.add_argument("--fades", type=float, nargs="+")
    parser.add_argument("--said", type=lambda text: -1e9 if text == "never" else float(text), nargs="+")
    parser.add_argument("--stake", nargs="+", choices=STAKES)
    parser.add_argument("--sights", type=int, nargs="+", choices=(1, 2))
    parser.add_argument("--aggregates", action="store_true")
    parser.add_argument("--negations", nargs="+", choices=NEGATIONS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    option = next((name for name in (*FURTHER, "fewer", "ahead", "errors") if getattr(arguments, name)), "worth")
    numbers = getattr(arguments, option)
    generated = FURTHER.get(option, GENERATED)
    tables = NOMINAL if option == "negations" else (*TABLES, *NEARLY_SEPARATED) if option == "fades" else TABLES
    sights, goes_further = GradientBooster._sights, tuning._goes_further
    found: dict[str, dict[Any, list[tuple[float, ...]]]] = {}
    for name, database, X, y, train, test in parts(arguments.data, tables, generated):
        for number in numbers:
            given: dict[str, Any] = {"aggregates": True} if arguments.aggregates else {}
            if arguments.negations:
                given["negations"] = NEGATIONS[number]
            elif arguments.sights:
                GradientBooster._sights = lambda *asked, n=number: sights(*asked)[:n]  # type: ignore[method-assign]
            elif arguments.onwards:
                tuning._goes_further = goes_further if number else lambda *_: False
            elif arguments.fewer:
                tuning.FEWER = number
            elif arguments.ahead:
                tuning.AHEAD = number
            elif arguments.fades:
                descent.FADES = number
            elif arguments.said:
                tuning.SAID = number
            elif arguments.stake:
                tuning.Trial.stake = STAKES[number]  # type: ignore[method-assign]
            elif arguments.errors:
                tuning.BY_CHANCE = number
            else:
                given["min_gain"] = number
            started = time.process_time()
            model = hb.HornBoostClassifier(database, **given, random_state=0, n_jobs=1).fit(X.iloc[train], y[train])
            seconds = time.process_time() - started
            proba = model.predict_proba(X.iloc[test])
            accuracy = 100.0 * float(np.mean(np.asarray(model.classes_)[proba.argmax(axis=1)] == y[test]))
            loss = float(log_loss(y[test], proba, labels=list(model.classes_)))
            found.setdefault(name, {}).setdefault(number, []).append((loss, accuracy, model.n_conditions_, seconds))
    rows = [
        [name, *("{:.4f} / {:.1f} / {:.0f} / {:.1f}".format(*np.mean(by[number], axis=0)) for number in numbers)]
        for name, by in found.items()
    ]
    print(markdown_table(["set", *(str(number).removesuffix(".0") for number in numbers)], rows))


if __name__ == "__main__":
    main()
