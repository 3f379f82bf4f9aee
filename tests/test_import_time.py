"""Seconds are processor time of the child process:
what a user waits for when the machine is idle and the files are cached.
"""

from __future__ import annotations

import os
import statistics
import subprocess
import sys

import pytest

import hornboost

HEAVY = [
    "dask",
    "duckdb",
    "jinja2",
    "matplotlib",
    "narwhals",
    "numba",
    "pandas",
    "plotly",
    "polars",
    "pyarrow",
    "scipy",
    "sklearn",
    "sqlglot",
]


def run(*arguments: str) -> str:
    return subprocess.run([sys.executable, *arguments], check=True, capture_output=True, text=True, timeout=60).stdout


def processor_seconds(*arguments: str) -> float:
    before = os.times()
    run(*arguments)
    after = os.times()
    return (after.children_user - before.children_user) + (after.children_system - before.children_system)


@pytest.mark.parametrize(
    ("arguments", "limit"),
    [(("-c", "import hornboost"), 0.4), (("-m", "hornboost", "--help"), 0.6)],
    ids=["import", "help"],
)
def test_starting_is_quick(arguments: tuple[str, ...], limit: float) -> None:
    run(*arguments)
    assert statistics.median(processor_seconds(*arguments) for _ in range(3)) < limit


@pytest.mark.parametrize("module", ["hornboost", "hornboost.cli"])
def test_nothing_heavy_is_imported_before_it_is_needed(module: str) -> None:
    loaded = run("-c", f"import sys, {module}; print([name for name in {HEAVY} if name in sys.modules])")
    assert loaded.strip() == "[]"


def test_every_public_name_can_be_had_and_is_listed() -> None:
    assert hornboost.__all__ == sorted(hornboost.__all__)
    assert set(hornboost.__all__) <= set(dir(hornboost))
    for name in hornboost.__all__:
        assert getattr(hornboost, name).__name__.rpartition(".")[2] == name


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'hornboost' has no attribute 'C3RIB'"):
        _ = hornboost.C3RIB
