"""Every estimator fitted on generated data, and a checksum of what it learned.

`python tests/same_bits.py N_JOBS` prints as JSON the checksums, the number of kernels that ran, and those that take a
type of this package.

`python tests/same_bits.py --plainest COMMAND …` runs a command in which numpy, numba and the other libraries that
choose their code by the processor take the plainest that they have.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

Case = Callable[[int], bytes]


def plainest() -> dict[str, str]:
    """Variables for processors of long ago. Numpy refuses names that it does not know, so they are asked from it."""
    try:
        from numpy._core import _multiarray_umath as core
    except ImportError:  # before numpy 2
        from numpy.core import _multiarray_umath as core
    beyond = [name for name in core.__cpu_dispatch__ if core.__cpu_features__.get(name)]
    return {
        "NPY_DISABLE_CPU_FEATURES": " ".join(beyond),
        "NUMBA_CPU_NAME": "generic",
        "OPENBLAS_CORETYPE": "Prescott",
        "ARROW_USER_SIMD_LEVEL": "NONE",
        "GLIBC_TUNABLES": "glibc.cpu.hwcaps=-AVX2,-FMA,-AVX2_Usable,-FMA_Usable",
    }


def checksums(n_jobs: int) -> dict[str, str]:
    """The SHA-256 of each case."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {name: hashlib.sha256(case(n_jobs)).hexdigest() for name, case in cases()}


def kernels() -> Iterator[tuple[str, Any]]:
    """The kernels that have run in this process and are kept on disk, with the types that they took."""
    for module in [module for name, module in sys.modules.items() if name.startswith("hornboost.")]:
        for name, kernel in vars(module).items():
            if getattr(kernel, "signatures", ()) and hasattr(getattr(kernel, "_cache", None), "flush"):
                yield f"{module.__name__}.{name}", kernel.signatures


def name_our_types() -> list[str]:
    """Kernels whose entry in numba's index names a module of this package,
    so that it can be read only while that is as it was.
    """
    from numba.core.serialize import dumps

    return [name for name, signatures in kernels() if b"hornboost" in dumps(signatures)]


def cases() -> Iterator[tuple[str, Case]]:
    """Each estimator with its options, on tables and on a matrix, with weights that are no powers of two."""
    import hornboost as hb

    bank = _Task(hb.datasets.bank(120, transactions=6, noise=0.1, seed=1).database())
    trains = _Task(hb.datasets.trains(80, noise=0.1, seed=2).database())
    pairs = _Task(hb.datasets.skewed_pairs(2000, skew=100, seed=3).database())
    flowers = _flowers()

    yield "HornBoost", bank.saved(hb.HornBoostClassifier, subsample=0.7)
    yield "HornBoost three classes", flowers.saved(hb.HornBoostClassifier, rounds=12)
    yield "HornBoost excluded values", _colours().saved(hb.HornBoostClassifier, negations=True, rounds=12)
    spending = _Task(hb.datasets.spending(120, seed=1).database())
    orders = _Task(hb.datasets.spending(120, counts=True, seed=1).database())
    yield "HornBoost numbers", spending.saved(hb.HornBoostRegressor, subsample=0.7)
    for loss in ("absolute", "quantile"):
        yield f"HornBoost {loss}", spending.saved(hb.HornBoostRegressor, loss=loss, quantile=0.8, rounds=12)
    yield "HornBoost counts", orders.saved(hb.HornBoostRegressor, loss="poisson", rounds=12)
    for features in (None, "margin", *(f"V{k}" for k in range(1, 17))):
        yield (
            f"C2RIB {features}",
            bank.saved(hb.C2RIBClassifier, rounds=25, features=features, trend_window=3, max_literals=3),
        )
    yield (
        "C2RIB existential",
        trains.saved(hb.C2RIBClassifier, rounds=25, features="margin", ranking="existential", stall=2, max_literals=3),
    )
    yield "C2RIB three classes", flowers.saved(hb.C2RIBClassifier, rounds=10, class_weight="balanced")
    yield "C2RIB early stopping", trains.saved(hb.C2RIBClassifier, rounds=30, early_stopping=4, validation_fraction=0.3)
    yield "RankBoost", pairs.saved(hb.RankBoostClassifier, rounds=12)
    for learner in ("clause", "path", "mix1", "mix2", "mix3"):
        yield f"PRankBoost {learner}", pairs.saved(hb.PRankBoostClassifier, weak_learner=learner, rounds=12)
    yield (
        "PRankBoost corrected",
        bank.saved(
            hb.PRankBoostClassifier, weak_learner="path", rounds=12, chance_corrected=True, path_area="total", n_seeds=2
        ),
    )
    yield "PRankBoost three classes", flowers.saved(hb.PRankBoostClassifier, rounds=6)
    for estimator in (hb.KBSClassifier, hb.AdaBoostM1Classifier, hb.LogitBoostClassifier):
        name = estimator.__name__.removesuffix("Classifier")
        yield f"{name} clauses", bank.saved(estimator, base="clause", rounds=10)
        yield f"{name} clauses, three classes", flowers.saved(estimator, base="clause", rounds=6)
        for base in ("stump", "tree"):
            yield f"{name} {base}", flowers.scored(estimator, base=base, rounds=10)
    yield "KBS stratified", trains.saved(hb.KBSClassifier, base="clause", rounds=10, stratify=True, smoothing=0.3)
    yield "KBS bootstrap", flowers.scored(hb.KBSClassifier, base="stump", rounds=10, bootstrap=0.5, cells="class")
    yield "KBS early stopping", flowers.scored(hb.KBSClassifier, base="stump", rounds=30, early_stopping=3)
    known = ['class="2" :- examples(x3>=1.8).', 'class="0" :- examples(x2<=2).']
    yield "KBS prior knowledge", flowers.saved(hb.KBSClassifier, base="clause", rounds=5, prior_knowledge=known)
    for quality in ("wracc", "binomial"):
        yield f"KBSSubgroups {quality}", bank.described(hb.KBSSubgroups, n_subgroups=4, quality=quality)
    for average in (False, True):
        yield f"MLynx average={average}", trains.saved(hb.MLynxClassifier, max_length=2, restarts=10, average=average)
    yield (
        "MLynx positive",
        pairs.saved(hb.MLynxClassifier, max_length=2, restarts=5, support="positive", min_support=0.2),
    )
    for method in ("mrmr", "stochastic"):
        yield f"MutualInformationSelector {method}", flowers.selected(method)
    yield "RelationalAggregates", bank.aggregated()


class _Task:
    """Examples, their labels, and the database behind them, or none."""

    def __init__(self, database: Any, X: Any = None, y: Any = None) -> None:
        self.database = database
        self.X, self.y = database.examples() if database is not None else (X, y)
        self.weights = 1.0 + (np.arange(len(self.y)) * 7 % 11) / 3.0

    def saved(self, estimator: Any, **options: Any) -> Case:
        """The bytes of the file, and of the scores."""

        def run(n_jobs: int) -> bytes:
            model = self._fitted(estimator, n_jobs, options)
            with tempfile.TemporaryDirectory() as folder:
                model.save(Path(folder) / "model.json")
                return (Path(folder) / "model.json").read_bytes() + _scores(model, self.X)

        return run

    def scored(self, estimator: Any, **options: Any) -> Case:
        """The bytes of scores and probabilities: a model on scikit-learn's learners is no file."""
        return lambda n_jobs: _scores(self._fitted(estimator, n_jobs, options), self.X)

    def described(self, estimator: Any, **options: Any) -> Case:
        """The table of subgroups, in all digits."""
        return lambda n_jobs: repr(self._fitted(estimator, n_jobs, options).frame().to_dict("records")).encode()

    def selected(self, method: str) -> Case:
        """The columns chosen from three intervals of each column and of each pair's sum, and their information."""

        def run(_n_jobs: int) -> bytes:
            import hornboost as hb

            sums = np.column_stack([self.X[:, i] + self.X[:, j] for i in range(4) for j in range(i, 4)])
            codes = np.floor(3.0 * (sums - sums.min(axis=0)) / (np.ptp(sums, axis=0) + 1.0))
            chosen = hb.MutualInformationSelector(method, restarts=10, random_state=0).fit(codes, self.y, self.weights)
            return chosen.selected_.tobytes() + chosen.relevance_.tobytes()

        return run

    def aggregated(self) -> Case:
        """The columns that aggregates add."""

        def run(_n_jobs: int) -> bytes:
            import hornboost as hb

            table = hb.RelationalAggregates(self.database).fit(self.X, self.y).transform(self.X)
            return str(table.to_dict("list")).encode()

        return run

    def _fitted(self, estimator: Any, n_jobs: int, options: dict[str, Any]) -> Any:
        model = estimator(database=self.database, **options)
        settings = {"random_state": 0, "n_jobs": n_jobs}
        model.set_params(**{name: value for name, value in settings.items() if name in model.get_params()})
        return model.fit(self.X, self.y, sample_weight=self.weights)


def _scores(model: Any, X: Any) -> bytes:
    if not hasattr(model, "decision_function"):
        return np.asarray(model.predict(X)).tobytes()
    return np.asarray(model.decision_function(X)).tobytes() + np.asarray(model.predict_proba(X)).tobytes()


def _flowers() -> _Task:
    from sklearn.datasets import load_iris

    X, y = load_iris(return_X_y=True)
    return _Task(None, X[::2], np.where(np.arange(75) % 13 == 0, (y[::2] + 1) % 3, y[::2]))


def _colours() -> _Task:
    import pandas as pd

    k = np.arange(150)
    one, two, size = k * 7 % 5, k * k % 7 % 4, k * 13 % 31
    X = pd.DataFrame({"one": [f"c{code}" for code in one], "two": [f"c{code}" for code in two], "size": size})
    X.loc[k % 17 == 3, "two"] = None
    return _Task(None, X, np.where((one != 2) & (size > 12), 2, np.where(two != 1, 1, 0)))


if __name__ == "__main__":
    if sys.argv[1] == "--plainest":
        os.execvpe(sys.argv[2], sys.argv[2:], os.environ | plainest())
    else:
        found: dict[str, Any] = {"checksums": checksums(int(sys.argv[1]))}
        print(json.dumps(found | {"kernels": sum(1 for _ in kernels()), "named": name_our_types()}))
