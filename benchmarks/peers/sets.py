"""The sets of the comparison, each with one task of two classes and its folds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.papers import domains
from benchmarks.papers.domains import DOMAINS, Domain, Examples, Split
from hornboost.errors import DataError


@dataclass(frozen=True, slots=True)
class ComparedSet:
    """A set: a task of the data folder with folds, or a generator and the number of its examples.

    `noise_free` says that some rules separate the classes without an error, which is what a learner of exact programs
    is made for; `planted` that the rules are known. `few` is the number of folds that are compared at most, of large
    sets one.
    """

    domain: Domain | None = None
    generator: str = ""
    options: tuple[tuple[str, Any], ...] = ()
    noise_free: bool = False
    few: int | None = None

    @property
    def planted(self) -> bool:
        return bool(self.generator)


def _generated(generator: str, few: int | None = None, **options: Any) -> ComparedSet:
    return ComparedSet(generator=generator, options=tuple(options.items()), few=few)


RELATIONAL = {
    "mutagenesis": ComparedSet(Domain("mutagenesis", splits="oxford_10fold")),
    "uwcse": ComparedSet(Domain("uwcse", ("advised_by_student_professor",), "leave_one_area_out")),
    "financial": ComparedSet(Domain("financial", ("loan_good_vs_bad",))),
    "kddcup2001": ComparedSet(Domain("kddcup2001", ("localization_nucleus",), "official_split")),
    "trains1000": ComparedSet(Domain("trains1000", ("trains4",)), noise_free=True),
    "cora": ComparedSet(Domain("cora", ("same_author",), "five_fold")),
    "cora-papers": ComparedSet(Domain("cora", ("same_bib",), "five_fold"), few=1),
    "bank-1e5": _generated("bank", n=1_500, transactions=60, noise=0.05),
    "pairs-1e5": _generated("skewed_pairs", n=10_000, related=10, noise=0.05),
    "bank-1e7": _generated("bank", few=1, n=150_000, transactions=60, noise=0.05),
    "pairs-1e7": _generated("skewed_pairs", few=1, n=1_000_000, related=10, noise=0.05),
}
"""Sets of several tables; the numbers in the names of generated ones are their rows in all tables."""

SINGLE = {
    **{name: ComparedSet(DOMAINS[name]) for name in ("breast-wisc", "horse-colic", "hypothyroid")},
    "mushroom": ComparedSet(DOMAINS["mushroom"], noise_free=True),
    **{name: ComparedSet(DOMAINS[name]) for name in ("splice-junction", "pima", "german-credit")},
    "adult": ComparedSet(DOMAINS["adult"], few=1),
    "kdd04-homology": ComparedSet(Domain("kdd04-homology", n_splits=5), few=1),
}
"""Sets of one table."""

SETS = {**RELATIONAL, **SINGLE}
FEW = 5
"""Folds of generated sets."""


def load(name: str, data: Path | None) -> tuple[Examples, Callable[[], list[Split]]]:
    """The examples of a set, and what gives its folds."""
    chosen = SETS[name]
    if chosen.domain is None:
        from hornboost import datasets

        database = getattr(datasets, chosen.generator)(**dict(chosen.options)).database()
        X, y = database.examples()
        examples = Examples(database, X, np.asarray(y), str(database.target.positive))
        return examples, lambda: _stratified(examples)
    if data is None:
        raise DataError(f"the set '{name}' is read from the folder of data sets; name it by --data")
    DOMAINS[f"peers, {name}"] = chosen.domain
    examples = domains.examples(data, f"peers, {name}", chosen.domain.tasks[0])
    return examples, lambda: domains.splits(f"peers, {name}", examples, seed=0)


def _stratified(examples: Examples) -> list[Split]:
    from sklearn.model_selection import StratifiedKFold

    return list(StratifiedKFold(FEW, shuffle=True, random_state=0).split(examples.X, examples.y))
