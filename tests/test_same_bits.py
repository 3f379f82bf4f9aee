"""A model is the same bytes on any processor, from any number of threads and in any process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from same_bits import plainest

SCRIPT = Path(__file__).with_name("same_bits.py")


def learned(n_jobs: int, variables: Mapping[str, str]) -> dict[str, Any]:
    """What the script prints in a process of its own."""
    environment = {name: value for name, value in os.environ.items() if name not in plainest()} | dict(variables)
    environment["PYTHONPATH"] = str(SCRIPT.parents[1] / "src")
    run = subprocess.run(
        [sys.executable, str(SCRIPT), str(n_jobs)], env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr
    found: dict[str, Any] = json.loads(run.stdout)
    return found


@pytest.fixture(scope="module")
def here() -> dict[str, Any]:
    """What is learned on this machine as it is."""
    return learned(1, {"PYTHONHASHSEED": "0"})


def test_models_are_the_same_bytes_with_the_plainest_instructions(here: dict[str, Any]) -> None:
    assert learned(2, plainest() | {"PYTHONHASHSEED": "1"})["checksums"] == here["checksums"]


def test_no_kernel_on_disk_depends_on_a_type_of_this_version(here: dict[str, Any]) -> None:
    assert here["kernels"] > 30
    assert here["named"] == []


def test_every_estimator_is_compared(here: dict[str, Any]) -> None:
    import hornboost as hb

    learners = [
        name.removesuffix("Classifier") for name in hb.__all__ if name.endswith(("Classifier", "Subgroups", "Selector"))
    ]
    assert len(learners) >= 8
    assert [learner for learner in learners if not any(case.startswith(learner) for case in here["checksums"])] == []
