"""Runs many small jobs over two processes and keeps each result on disk,
so that an interrupted run goes on where it stopped.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

from hornboost import __version__

Result = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Job:
    """A function of plain arguments that returns plain numbers.

    `data` is where the data sets are and does not identify the job.
    """

    function: Callable[..., Result]
    arguments: dict[str, Any]
    data: Path

    @property
    def key(self) -> str:
        """What the result is kept under: the function, all of its settings and the version of the package."""
        name = f"{self.function.__module__}.{self.function.__qualname__}"
        text = json.dumps([__version__, name, self.arguments], sort_keys=True, ensure_ascii=False)
        return hashlib.sha256(text.encode()).hexdigest()[:24]

    def run(self) -> Result:
        """The result, with the seconds of processor time that the whole job took."""
        started = time.process_time()
        result = self.function(self.data, **self.arguments)
        return result | {"job_seconds": time.process_time() - started}


class Cache:
    """Results by key, a line of JSON each in one file that only grows."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._results: dict[str, Result] = {}
        if path.exists():
            for line in path.read_text(encoding="utf-8").splitlines():
                entry = _entry(line)
                if entry is not None:
                    self._results[entry["key"]] = entry["result"]

    def __contains__(self, job: Job) -> bool:
        return job.key in self._results

    def __getitem__(self, job: Job) -> Result:
        return self._results[job.key]

    def add(self, job: Job, result: Result) -> None:
        """Keep a result, on disk before anything else happens."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(
                json.dumps({"key": job.key, "arguments": job.arguments, "result": result}, ensure_ascii=False) + "\n"
            )
        self._results[job.key] = result

    def clear(self) -> None:
        """Forget everything."""
        self.path.unlink(missing_ok=True)
        self._results.clear()


def _entry(line: str) -> dict[str, Any] | None:
    """A line of the file; None for one that was cut off when the run was stopped."""
    try:
        entry = json.loads(line)
    except json.JSONDecodeError:
        return None
    return entry if isinstance(entry, dict) else None


def default_cache() -> Path:
    """The user's cache folder."""
    root = os.environ.get("XDG_CACHE_HOME")
    return (Path(root) if root else Path.home() / ".cache") / "hornboost" / "papers"


def run_jobs(
    jobs: Sequence[Job], cache: Cache, n_jobs: int = 2, done: Callable[[], None] = lambda: None
) -> list[Result]:
    """The result of each job, from the cache where it is known; `done` is called once a job."""
    from joblib import Parallel, delayed

    open_jobs = [job for job in jobs if job not in cache]
    for _ in range(len(jobs) - len(open_jobs)):
        done()
    # a few jobs at a time per process keep the way to it cheap and lose little when the run is stopped
    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=4)
    for index, result in parallel(delayed(_numbered)(index, job) for index, job in enumerate(open_jobs)):
        cache.add(open_jobs[index], result)
        done()
    return [cache[job] for job in jobs]


def _numbered(index: int, job: Job) -> tuple[int, Result]:
    return index, job.run()


def mean_and_deviation(values: Iterable[float]) -> tuple[float, float]:
    """Mean and sample standard deviation (0 for one value).

    >>> mean_and_deviation([1.0, 2.0, 3.0])
    (2.0, 1.0)
    """
    listed = list(values)
    return fmean(listed), stdev(listed) if len(listed) > 1 else 0.0


def over_folds(scores: Sequence[Sequence[float]]) -> tuple[float, float]:
    """Mean over repetitions and folds, and the deviation as papers print it.

    Over the folds of one cross-validation, averaged.

    `scores[r][k]` belongs to fold k of repetition r.

    >>> over_folds([[80.0, 90.0, 100.0], [90.0, 90.0, 90.0]])
    (90.0, 5.0)
    """
    runs = [mean_and_deviation(folds) for folds in scores]
    return fmean(mean for mean, _ in runs), fmean(deviation for _, deviation in runs)


def corrected_t_test(differences: Sequence[float], test_share: float) -> float:
    """Two-sided p of paired differences over repeated cross-validation,
    corrected for overlapping training sets (Nadeau and Bengio 2003).

    `test_share` is the number of test examples for each training example: 1/9 in ten folds.

    >>> round(corrected_t_test([1.0, 2.0, 3.0, 2.0], 1 / 9), 4)
    0.0267
    """
    from scipy.stats import t

    n = len(differences)
    mean, deviation = mean_and_deviation(differences)
    if deviation == 0.0:
        return 1.0 if mean == 0.0 else 0.0
    statistic = mean / (deviation * math.sqrt(1 / n + test_share))
    return float(2 * t.sf(abs(statistic), n - 1))
